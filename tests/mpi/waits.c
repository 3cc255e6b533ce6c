/*
 * waits WHAT [ITERATIONS]: a program of MPI whose ranks wait for each other in the way that is asked for, in
 * iterations of 5 ms; the late rank spends 15 ms more in a range `pack`. They sleep: so that ranks need no processors of their own.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

#include "../../lib/count_of.h"

/* More than MPI buffers. */
enum { LARGE = 1 << 20 };

static char small[8], large[LARGE], got[LARGE];
static int rank, ranks;

static void work(const char *name, long us)
{
    const struct timespec time = {0, us * 1000};
    nvtxRangePushA(name);
    nanosleep(&time, NULL);
    nvtxRangePop();
}

/* Every rank works as long as any other, and then some, if it is late. */
static void compute(int late)
{
    work("compute", 5000);
    if (rank == late)
        work("pack", 15000);
}

static void late_sender(void)
{
    compute(1);
    nvtxRangePushA("exchange");
    if (rank == 1)
        MPI_Send(small, 8, MPI_CHAR, 0, 7, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Recv(got, 8, MPI_CHAR, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    nvtxRangePop();
}

/* Both sides go on at once, and wait for it together. */
static void late_isender(void)
{
    MPI_Request requests[2];
    int other = 1 - rank;
    compute(1);
    if (rank > 1)
        return;
    MPI_Irecv(got, 8, MPI_CHAR, other, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(small, 8, MPI_CHAR, other, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void late_receiver(void)
{
    compute(1);
    if (rank == 0)
        MPI_Send(large, LARGE, MPI_CHAR, 1, 7, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(got, LARGE, MPI_CHAR, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Rank 1 sends at once what is wanted last. */
static void wrong_order(void)
{
    work("compute", 5000);
    if (rank == 1) {
        MPI_Send(small, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
        work("pack", 15000);
        MPI_Send(small, 8, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
    }
    if (rank == 0) {
        MPI_Recv(got, 8, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(got, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void barrier(void)
{
    compute(1);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void nxn(void)
{
    double one = 1, sum;
    compute(1);
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void early_reduce(void)
{
    double one = 1, sum;
    compute(1);
    MPI_Reduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void late_broadcast(void)
{
    compute(1);
    MPI_Bcast(small, 8, MPI_CHAR, 1, MPI_COMM_WORLD);
}

/* Of any rank: who it was nobody knows, where there are several. */
static void any(void)
{
    compute(1);
    if (rank > 0)
        MPI_Send(small, 8, MPI_CHAR, 0, 7, MPI_COMM_WORLD);
    for (int i = 1; i < ranks && rank == 0; i++)
        MPI_Recv(got, 8, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Nobody is late: each gives to the next, all at once. */
static void balanced(void)
{
    MPI_Request requests[2];
    double one = 1, sum;
    compute(-1);
    MPI_Irecv(got, 8, MPI_CHAR, (rank + ranks - 1) % ranks, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(small, 8, MPI_CHAR, (rank + 1) % ranks, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* Ranks of odd numbers, and of even ones: the last of the odd ones is late. The handle is another one in each half. */
static void split(void)
{
    static MPI_Comm half = MPI_COMM_NULL;
    static int turns;
    double one = 1, sum;
    if (turns % 10 == 0) {
        MPI_Comm none;
        if (half != MPI_COMM_NULL)
            MPI_Comm_free(&half);
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
        MPI_Comm_split(MPI_COMM_WORLD, rank ? MPI_UNDEFINED : 0, rank, &none);
        if (none != MPI_COMM_NULL)
            MPI_Comm_free(&none);
    }
    turns++;
    compute(3);
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, half);
}

/* In its 20th iteration rank 1 reads from a pipe that nobody writes to. */
static void stuck(void)
{
    static int turns;
    double one = 1, sum;
    int ends[2];
    char byte;
    compute(1);
    if (++turns == 20 && rank == 1) {
        nvtxRangePushA("pack");
        if (pipe(ends) || read(ends[0], &byte, 1) != 1)
            exit(1);
    }
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    void (*iterate)(void);
} kinds[] = {
    {"late_sender", late_sender},
    {"late_isender", late_isender},
    {"late_receiver", late_receiver},
    {"wrong_order", wrong_order},
    {"barrier", barrier},
    {"nxn", nxn},
    {"early_reduce", early_reduce},
    {"late_broadcast", late_broadcast},
    {"any", any},
    {"balanced", balanced},
    {"split", split},
    {"stuck", stuck},
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long iterations = argc > 2 ? strtol(argv[2], NULL, 10) : 20;
    for (size_t k = 0; k < NVT_COUNT_OF(kinds); k++)
        for (long i = 0; argc > 1 && !strcmp(kinds[k].name, argv[1]) && i < iterations; i++) {
            nvtxRangePushA("iteration");
            kinds[k].iterate();
            nvtxRangePop();
        }
    MPI_Finalize();
    return 0;
}
