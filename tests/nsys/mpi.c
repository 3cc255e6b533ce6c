/*
 * By hand: a program of MPI for tests/nsys/check, with every kind of call that nsys tells apart, on two ranks or more. Built
 * with mpicc.
 */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

enum { COUNT = 1000, STEPS = 20 };

static double given[COUNT], got[64 * COUNT];

/* To the next rank, and from the one before. */
static void exchange(int rank, int ranks, int tag)
{
    MPI_Request requests[2];
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    MPI_Irecv(got, COUNT, MPI_DOUBLE, before, tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(given, COUNT, MPI_DOUBLE, next, tag, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(given, COUNT, MPI_DOUBLE, next, tag, got, 2 * COUNT, MPI_DOUBLE, before, tag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(given, COUNT, MPI_DOUBLE, next, tag, before, tag, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    if (rank == 0)
        MPI_Send(given, 10, MPI_INT, 1, 77, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(got, 10, MPI_INT, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void collect(MPI_Comm half)
{
    MPI_Request request;
    MPI_Allreduce(given, got, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(given, COUNT, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    MPI_Reduce(given, got, COUNT, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Allgather(given, 10, MPI_FLOAT, got, 10, MPI_FLOAT, half);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Comm half;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    for (int i = 0; i < STEPS; i++) {
        nvtxRangePushA("step");
        usleep((useconds_t)rank * 200);
        exchange(rank, ranks, i);
        collect(half);
        nvtxRangePop();
    }
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
