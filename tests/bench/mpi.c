/*
 * What a call of MPI takes, ns: a message to itself (MPI_Irecv, MPI_Isend, MPI_Waitall) and a sum over itself alone (MPI_Allreduce),
 * which do little else. Built with mpicc. mpi [CALLS]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double message(int count)
{
    double sent = 1, received = 0, begin = MPI_Wtime();
    int messages = count / 3;
    for (int i = 0; i < messages; i++) {
        MPI_Request requests[2];
        MPI_Irecv(&received, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &requests[0]);
        MPI_Isend(&sent, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    return (MPI_Wtime() - begin) * 1e9 / (messages * 3);
}

static double sum(int count)
{
    double given = 1, got = 0, begin = MPI_Wtime();
    for (int i = 0; i < count; i++)
        MPI_Allreduce(&given, &got, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    return (MPI_Wtime() - begin) * 1e9 / count;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 300000;
    MPI_Init(&argc, &argv);
    message(count / 10);
    sum(count / 10);
    double one = message(count), other = sum(count);
    MPI_Finalize();
    printf("%.1f %.1f\n", one, other);
    return 0;
}
