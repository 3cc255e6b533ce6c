/*
 * program [all | sizes | fortran | hang | local PLUGIN]: calls the stand-in for MPI within a range, each function with arguments of its own (all);
 * with arguments that mean something (sizes); from Fortran; one that never returns; or from a library that was loaded for itself
 * alone.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

typedef intptr_t word;

#define P0  void
#define P1  word
#define P2  P1, word
#define P3  P2, word
#define P4  P3, word
#define P5  P4, word
#define P6  P5, word
#define P7  P6, word
#define P8  P7, word
#define P9  P8, word
#define P10 P9, word
#define P11 P10, word
#define P12 P11, word
#define P13 P12, word
#define CALL(Name, fortran, count, with_error)                                                     \
    int MPI_##Name(P##count);                                                                      \
    void mpi_##fortran##_(P##with_error);
#include "calls.def"
#undef CALL

/* Every one is another, and wider than an int. */
#define W(n) (((word)1 << 40) + (n))
#define G0
#define G1                                     W(1)
#define G2                                     G1, W(2)
#define G3                                     G2, W(3)
#define G4                                     G3, W(4)
#define G5                                     G4, W(5)
#define G6                                     G5, W(6)
#define G7                                     G6, W(7)
#define G8                                     G7, W(8)
#define G9                                     G8, W(9)
#define G10                                    G9, W(10)
#define G11                                    G10, W(11)
#define G12                                    G11, W(12)
#define CALL(Name, fortran, count, with_error) printf("= %d\n", MPI_##Name(G##count));

static void call_all(void)
{
#include "calls.def"
}
#undef CALL

/* Of four ranks, as the first or as another one. */
enum { FIRST = 4, SECOND = 16 + 4, BETWEEN = 256 + 16 + 4 };

static void call_with_sizes(void)
{
    MPI_Init(0, 0);
    MPI_Send(100, 10, 8, 3, 42, SECOND);
    MPI_Recv(100, 10, 4, 2, -1, SECOND, 0);
    MPI_Sendrecv(100, 10, 8, 3, 42, 200, 20, 4, 2, 43, SECOND, 0);
    MPI_Send(100, 0, 0, -2, 42, SECOND); /* nothing, to nobody */
    MPI_Bcast(100, 10, 8, 0, FIRST);
    MPI_Bcast(100, 10, 8, 0, SECOND);
    MPI_Reduce(100, 200, 10, 8, 5, 0, SECOND);
    MPI_Reduce(100, 200, 10, 8, 5, 0, FIRST);
    MPI_Allreduce(100, 200, 10, 8, 5, SECOND);
    MPI_Gather(100, 10, 8, 0, 0, 0, 0, SECOND);  /* what only the root needs is anything */
    MPI_Gather(-1, 0, 0, 200, 10, 8, 0, FIRST);  /* in place */
    MPI_Scatter(0, 0, 0, 200, 10, 8, 0, SECOND); /* likewise */
    MPI_Scatter(100, 10, 8, 1, 0, 0, 0, FIRST);
    MPI_Allgather(1, 0, 0, 200, 10, 8, SECOND);
    MPI_Alltoall(100, 10, 8, 200, 10, 8, SECOND);
    MPI_Reduce_scatter_block(100, 200, 10, 8, 5, SECOND);
    MPI_Reduce(100, 200, 10, 0, 5, 0, BETWEEN); /* between groups nothing is looked at */
    MPI_Barrier(SECOND);                        /* and what MPI calls of itself is no call */
    MPI_Waitall(2, 0, 0);
    MPI_Finalize();
}

static void call_from_fortran(void)
{
    int count = 10, type = 3, peer = 2, tag = 9, communicator = 5, buffer = 1, error = 0;
#define AT(x) ((word) & (x))
    mpi_init_(AT(error));
    mpi_send_(AT(buffer), AT(count), AT(type), AT(peer), AT(tag), AT(communicator), AT(error));
    printf("= %d\n", error);
    mpi_sendrecv_(AT(buffer), AT(count), AT(type), AT(peer), AT(tag), AT(buffer), AT(count),
                  AT(type), AT(peer), AT(tag), AT(communicator), AT(buffer), AT(error));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "all";
    setvbuf(stdout, NULL, _IOLBF, 0);
    nvtxRangePushA("step");
    if (!strcmp(what, "all"))
        call_all();
    if (!strcmp(what, "sizes"))
        call_with_sizes();
    if (!strcmp(what, "hang"))
        MPI_Recv(100, 10, 4, 2, 4242, SECOND, 0);
    if (!strcmp(what, "fortran"))
        call_from_fortran();
    if (!strcmp(what, "local")) {
        void *plugin = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
        void (*run)(void) = plugin ? (void (*)(void))dlsym(plugin, "run") : NULL;
        if (!run)
            printf("%s\n", dlerror());
        else
            run();
        if (plugin)
            dlclose(plugin);
    }
    nvtxRangePop();
    return 0;
}
