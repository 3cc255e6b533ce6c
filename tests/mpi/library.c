/*
 * A stand-in for MPI: every function prints its name and arguments, so that what comes through can be compared. Handles
 * say what they are: a type of n bytes is n, a communicator of n ranks, in which the caller is r, is 16 r + n, between two groups
 * 256 more. Who asks about a type or communicator 0 is ended, as MPI's own errors end a program. What it returns, and whether
 * it returns, the program says.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef intptr_t word;

/* MPI_Barrier calls another function of MPI, as some do. */
int MPI_Comm_free(word communicator);

/* What functions return, with the number of their arguments added; and what a call with this tag does instead. */
extern int made_status;
extern void (*made_leave)(void);
int made_status;
void (*made_leave)(void);

enum { LEAVES = 4242 };

static int show(const char *name, int count, const word *arguments)
{
    printf("%s", name);
    for (int i = 0; i < count; i++)
        printf(" %" PRIdPTR, arguments[i]);
    printf("\n");
    if (!strcmp(name, "MPI_Recv") && arguments[4] == LEAVES && made_leave)
        made_leave();
    return made_status ? made_status + count : 0;
}

static void check(word handle, const char *what)
{
    if (handle > 0)
        return;
    fprintf(stderr, "stand-in: a wrong %s\n", what);
    exit(1);
}

/* What only this MPI has. */
int MPIX_Made(word what);
int MPIX_Made(word what)
{
    check(what, "argument");
    return 0;
}

int PMPI_Type_size(word type, int *size);
int PMPI_Type_size(word type, int *size)
{
    check(type, "type");
    *size = (int)type;
    return 0;
}

int PMPI_Comm_size(word communicator, int *size);
int PMPI_Comm_size(word communicator, int *size)
{
    check(communicator, "communicator");
    *size = (int)communicator & 15;
    return 0;
}

int PMPI_Comm_rank(word communicator, int *rank);
int PMPI_Comm_rank(word communicator, int *rank)
{
    check(communicator, "communicator");
    *rank = (int)communicator >> 4 & 15;
    return 0;
}

int PMPI_Comm_test_inter(word communicator, int *is_between);
int PMPI_Comm_test_inter(word communicator, int *is_between)
{
    check(communicator, "communicator");
    *is_between = (int)communicator >> 8 & 1;
    return 0;
}

#define P0  void
#define P1  word a
#define P2  P1, word b
#define P3  P2, word c
#define P4  P3, word d
#define P5  P4, word e
#define P6  P5, word f
#define P7  P6, word g
#define P8  P7, word h
#define P9  P8, word i
#define P10 P9, word j
#define P11 P10, word k
#define P12 P11, word l
#define P13 P12, word m
#define A0  0
#define A1  a
#define A2  A1, b
#define A3  A2, c
#define A4  A3, d
#define A5  A4, e
#define A6  A5, f
#define A7  A6, g
#define A8  A7, h
#define A9  A8, i
#define A10 A9, j
#define A11 A10, k
#define A12 A11, l
#define A13 A12, m

#define CALL_OF_C(Name, count)                                                                     \
    int MPI_##Name(P##count);                                                                      \
    int MPI_##Name(P##count)                                                                       \
    {                                                                                              \
        const word arguments[] = {A##count};                                                       \
        int status = show("MPI_" #Name, count, arguments);                                         \
        if (#Name[0] == 'B' && #Name[1] == 'a')                                                    \
            MPI_Comm_free(5);                                                                      \
        return status;                                                                             \
    }                                                                                              \
    int PMPI_##Name(P##count);                                                                     \
    int PMPI_##Name(P##count)                                                                      \
    {                                                                                              \
        const word arguments[] = {A##count};                                                       \
        return show("MPI_" #Name, count, arguments);                                               \
    }
#define CALL(Name, fortran, count, with_error)                                                     \
    CALL_OF_C(Name, count)                                                                         \
    void mpi_##fortran##_(P##with_error);                                                          \
    void mpi_##fortran##_(P##with_error)                                                           \
    {                                                                                              \
        const word arguments[] = {A##with_error};                                                  \
        word values[sizeof(arguments) / sizeof(word)];                                             \
        for (size_t at = 0; at < sizeof(arguments) / sizeof(word); at++)                           \
            values[at] = *(const int *)arguments[at];                                              \
        show("mpi_" #fortran "_", with_error, values);                                             \
        *(int *)arguments[with_error - 1] = 77;                                                    \
    }
#include "calls.def"
