/*
 * program [all | sizes | weak | past | errors | fortran | hang | jump | local PLUGIN]: calls the stand-in for MPI within a range: each
 * function with arguments of its own (all); with arguments that mean something (sizes); whether there are such (weak); some past the library in front of MPI (past); with wrong ones; from Fortran; one that
 * never returns; one that is left otherwise; or from a library that was loaded for itself alone.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

typedef intptr_t word;

#define P0                     void
#define P1                     word
#define P2                     P1, word
#define P3                     P2, word
#define P4                     P3, word
#define P5                     P4, word
#define P6                     P5, word
#define P7                     P6, word
#define P8                     P7, word
#define P9                     P8, word
#define P10                    P9, word
#define P11                    P10, word
#define P12                    P11, word
#define P13                    P12, word
#define CALL_OF_C(Name, count) int MPI_##Name(P##count);
#define CALL(Name, fortran, count, with_error)                                                     \
    CALL_OF_C(Name, count)                                                                         \
    void mpi_##fortran##_(P##with_error);
#include "calls.def"
#undef CALL
#undef CALL_OF_C

int PMPI_Send(word, word, word, word, word, word);
int PMPI_Barrier(word);
int MPIX_Made(word);

/* Asked for as programs do that go with every MPI. */
#pragma weak MPI_Send_c
extern int MPI_Session_flush_buffer(word) __attribute__((weak));

extern int made_status;
extern void (*made_leave)(void);

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
#define G13                                    G12, W(13)
#define CALL_OF_C(Name, count)                 printf("= %d\n", MPI_##Name(G##count));
#define CALL(Name, fortran, count, with_error) CALL_OF_C(Name, count)

static void call_all(void)
{
    made_status = 77;
#include "calls.def"
}
#undef CALL

/* Of four ranks, as the first or as another one. */
enum { FIRST = 4, SECOND = 16 + 4, BETWEEN = 256 + 16 + 4 };

static void call_with_sizes(void)
{
    MPI_Init(0, 0);
    MPI_Send(100, 10, 8, 3, 42, SECOND);
    MPI_Send_c(100, 5000000000, 8, 3, 42, SECOND);
    MPI_Recv(100, 10, 4, 2, -1, SECOND, 0);
    MPI_Sendrecv(100, 10, 8, 3, 42, 200, 20, 4, 2, 43, SECOND, 0);
    MPI_Send(100, 10, 8, -1, 42, SECOND);    /* to nobody, as any MPI but Open MPI has it */
    MPI_Recv(100, 10, 4, -2, -1, SECOND, 0); /* from anybody */
    MPI_Exscan(100, 200, 10, 8, 5, FIRST);   /* nothing comes before the first */
    MPI_Exscan(100, 200, 10, 8, 5, SECOND);
    MPI_Bcast(100, 10, 8, 0, FIRST);
    MPI_Bcast(100, 10, 8, 0, SECOND);
    MPI_Reduce(100, 200, 10, 8, 5, 0, SECOND);
    MPI_Reduce(100, 200, 10, 8, 5, 0, FIRST);
    MPI_Allreduce(100, 200, 10, 8, 5, SECOND);
    MPI_Gather(100, 10, 8, 0, 0, 0, 0, SECOND);  /* what only the root needs is anything */
    MPI_Gather(-1, 0, 0, 200, 10, 8, 0, FIRST);  /* in place */
    MPI_Scatter(0, 0, 0, 200, 10, 8, 0, SECOND); /* only the root sends */
    MPI_Scatter(100, 10, 8, 1, 0, 0, 0, FIRST);
    MPI_Allgather(1, 0, 0, 200, 10, 8, SECOND);
    MPI_Alltoall(100, 10, 8, 200, 10, 8, SECOND);
    MPI_Reduce_scatter_block(100, 200, 10, 8, 5, SECOND);
    MPI_Reduce(100, 200, 10, 0, 5, 0, BETWEEN); /* between groups nothing is looked at */
    MPI_Barrier(SECOND);                        /* and what MPI calls of itself is no call */
    MPI_Waitall(2, 0, 0);
    MPI_Finalize();
}

/* MPI says so, and nothing but that call is asked about them. */
static void call_with_errors(void)
{
    made_status = 1;
    MPI_Send(100, 10, 0, 3, 42, 0);
    MPI_Allreduce(100, 200, 10, 0, 5, 0);
    MPI_Allgather(1, 0, 0, 200, 10, 0, 0);
}

static jmp_buf back;

static void jump(void)
{
    longjmp(back, 1);
}

/* As in an operator of the program's own. */
static void die(void)
{
    nvtxRangePushA("operator");
    raise(SIGKILL);
}

__attribute__((noinline)) static void receive_and_jump(void)
{
    MPI_Recv(100, 10, 4, 2, 4242, SECOND, 0);
}

/* More of the stack than a call has, and all of it is written. */
__attribute__((noinline)) static void send_from_below(void)
{
    volatile char much[4096];
    for (size_t i = 0; i < sizeof(much); i++)
        much[i] = (char)i;
    MPI_Send(100, 10, 8, much[3], 42, SECOND);
}

/* As who has given MPI an error handler that jumps. */
static void call_and_jump(void)
{
    made_leave = jump;
    if (!setjmp(back))
        receive_and_jump();
    send_from_below();
    if (!setjmp(back))
        receive_and_jump();
    nvtxRangePushA("after");
    MPI_Barrier(SECOND);
    nvtxRangePop();
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
    if (!strcmp(what, "weak"))
        printf("MPI_Send_c %d MPI_Session_flush_buffer %d\n", MPI_Send_c != NULL,
               MPI_Session_flush_buffer != NULL);
    if (!strcmp(what, "past")) {
        MPI_Send(100, 10, 8, 3, 42, SECOND);
        PMPI_Send(100, 10, 8, 3, 42, SECOND);
        MPIX_Made(5);
        if (argc > 7)
            PMPI_Barrier(SECOND);
        MPI_Finalize();
    }
    if (!strcmp(what, "errors"))
        call_with_errors();
    if (!strcmp(what, "jump"))
        call_and_jump();
    if (!strcmp(what, "hang")) {
        made_leave = die;
        MPI_Recv(100, 10, 4, 2, 4242, SECOND, 0);
    }
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
