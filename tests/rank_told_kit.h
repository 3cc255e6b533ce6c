/* Files of PyTorch's profiler, of the ranks of a job, and what commands say of them. */
#ifndef NVT_TESTS_RANK_TOLD_KIT_H
#define NVT_TESTS_RANK_TOLD_KIT_H

#include <stdio.h>

#include "cli.h"

/* Of a job. */
#define RANKS 4

/* A job: who is late in a step (-1: nobody), how many ranks a group has, and how many steps the file of a rank has. */
struct job {
    const char *name;
    int (*late)(int step);
    int group;
    int steps[RANKS]; /* 0: all */
    double later;     /* us */
};

/* Of a job in which no rank is late. */
int rank_told_nobody(int step);

/* The file of a rank. */
const char *rank_told_path_of(const struct job *job, int rank);

/* A kernel, in us; `more` goes on behind its stream. */
void rank_told_put(FILE *out, const char *name, double start, double end, const char *more);

/* Files do not say of which rank they are. */
extern int rank_told_is_unnumbered;

/* What a file has in front of its events; and the range of a step, before `tail`. */
void rank_told_begin(FILE *out, int rank);
void rank_told_put_step(FILE *out, int step, int rank, double start, double end, const char *tail);

/* What a command says of the files of some ranks, of which `ranks` has the bits. */
struct cli_result rank_told_run(const struct job *job, const char *command, const char *reports,
                                unsigned ranks);

/* A text has a part, or not. */
void rank_told_expect_text(const char *text, const char *part);
void rank_told_expect_none(const char *text, const char *part);

#endif
