/* MPI for commands that several processes share (lib/job.h). */
#include <mpi.h>
#include <stdint.h>

#include "../../lib/job.h"

/* Bytes of a message, as MPI counts them in an int. */
#define PART ((size_t)1 << 30)
#define TAG  1

static int begin(int *rank, int *size)
{
    return MPI_Init(NULL, NULL) || MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) ||
           MPI_Comm_rank(MPI_COMM_WORLD, rank) || MPI_Comm_size(MPI_COMM_WORLD, size);
}

static int send_bytes(int to, const void *data, size_t size)
{
    const uint64_t whole = size;
    int failed = MPI_Send(&whole, 1, MPI_UINT64_T, to, TAG, MPI_COMM_WORLD);
    for (size_t at = 0; at < size && !failed; at += PART)
        failed = MPI_Send((const char *)data + at, (int)(size - at < PART ? size - at : PART),
                          MPI_BYTE, to, TAG, MPI_COMM_WORLD);
    return failed;
}

static int expect_bytes(int from, size_t *size)
{
    uint64_t whole = 0;
    const int failed =
        MPI_Recv(&whole, 1, MPI_UINT64_T, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    *size = whole;
    return failed;
}

static int receive_bytes(int from, void *data, size_t size)
{
    int failed = 0;
    for (size_t at = 0; at < size && !failed; at += PART)
        failed = MPI_Recv((char *)data + at, (int)(size - at < PART ? size - at : PART), MPI_BYTE,
                          from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return failed;
}

static void end(void)
{
    MPI_Finalize();
}

extern const struct nvt_job_library nvt_job_library __attribute__((visibility("default")));
const struct nvt_job_library nvt_job_library = {.begin = begin,
                                                .send = send_bytes,
                                                .expect = expect_bytes,
                                                .receive = receive_bytes,
                                                .end = end};
