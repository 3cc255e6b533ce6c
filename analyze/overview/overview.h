/*
 * The overview: what a person wants to see first of a recording, as values. How long an iteration takes, how busy the GPU is in it,
 * what it consists of, and what it is slow for. Whoever shows it reads these structs: on a terminal overview_text.c does.
 *
 * All is of a unit: of an iteration (named_iterations.h), over all iterations of all processes, or, where there are none, of
 * the whole recording. A value of an iteration is the median over iterations, so that the first ones, which are slow, do
 * not count; what less than half of the iterations have is the mean. Where the mean of an iteration is far from its median, as
 * with a checkpoint every 20 iterations, all rows are means, so that their shares are of one whole: without the first tenth
 * of each process's iterations. A range belongs to an iteration when it lies in it on its thread.
 */
#ifndef NVT_OVERVIEW_H
#define NVT_OVERVIEW_H

#include "../diagnosis/diagnose.h"
#include "../input/input.h"

/* A range, within those above it of lower levels; or, where there are no ranges, a kernel. */
struct nvt_overview_row {
    char *name; /* without domain and numbers (plain_names.h, alike_names.h) */
    uint32_t level;
    double cpu_ns; /* of a unit; NaN: not known */
    double gpu_ns; /* time in which the GPU worked for it; NaN: not known */
    double calls;  /* in a unit */
    /* where there is no room for all, those with most are shown; none has more than the one around it */
    double weight;
};

/* One of several ranks or processes, or traces. */
struct nvt_overview_part {
    char name[64];
    double unit_ns;    /* the median of its units */
    double gpu_share;  /* of a unit; NaN: not known */
    double peak_bytes; /* of a GPU's memory; NaN: not known */
    uint32_t units;
};

/* Ranges of a name that never ended. */
struct nvt_overview_open {
    char *name; /* as of rows */
    uint32_t count;
    /* when the first of them began, from the beginning of its trace; NaN: before that */
    double since_ns;
    /* how long it had been open when its thread, or the recording, ended; NaN: not known */
    double open_ns;
};

struct nvt_overview_finding {
    const struct nvt_finding *finding; /* the overview's */
    double share;                      /* of a unit; NaN: not known */
};

/* Findings and rows of an overview, at most. */
enum { NVT_OVERVIEW_FINDINGS = 3, NVT_OVERVIEW_ROWS = 64 };

/* Zero-initialise; release with nvt_overview_free, also after a failure. */
struct nvt_overview {
    int has_iterations; /* a unit is one; else it is the recording */
    /* in a program that infers, where a unit is a forward pass: from one to the next, the median; else NaN */
    double pace_ns;
    uint32_t units;
    double unit_ns;         /* median; NaN: nothing has ended, so there is no unit */
    double low_ns, high_ns; /* between them lies the middle half of all; NaN: too few */
    double mean_ns;  /* what rows are shares of where they are means; NaN: they are medians */
    double first_ns; /* the first iteration of the first process; NaN: there are none */
    double gpu_ns;   /* of a unit, the mean of its GPUs; NaN: none worked, or none was recorded */
    /* of a unit; without iterations of the time from their first operations to their last */
    double gpu_share;
    uint32_t gpus; /* that worked */
    /* of the GPU with most, or of the host without any; NaN: not known */
    double peak_bytes, reserved_bytes;
    int peak_is_host;
    /* before the first iteration, and of the whole run; NaN: not known */
    double start_ns, start_share;

    const char *device;  /* that did the work, NULL: not known; the input's */
    const char *command; /* that was run, or the configuration that it names; NULL: not known */
    const char *date;
    size_t date_length;    /* its first bytes alone; 0: all */
    const char *condition; /* a window, and what else must be known; NULL: nothing */

    struct nvt_overview_row *rows; /* in the order in which they run, each before those in it */
    /* left_out: ranges with less than a hundredth of a unit, or too many */
    uint32_t row_count, left_out;
    /* names of those left out as they fill the range around them, that one stands for them: "a, b" */
    char filled[160];
    int are_kernels; /* rows are */
    int lends;       /* GPU work of one thread counts for ranges of another (project.h) */

    /* in the order in which the first of each began; none is in a row */
    struct nvt_overview_open *open;
    uint32_t open_count;

    /* how commands ended that ended badly, and within what, as diagnose says: lines without the last end; NULL: none did */
    char *ended;
    /* of one trace: processes, and those of them without ranges; 0: not known, or there are none of these */
    uint32_t processes, bare;
    char bare_name[80]; /* the first of those, "python3 (1234)" */
    double bare_ns;     /* their CPU time by samples; NaN: there are none */

    struct nvt_overview_part *parts; /* the slowest first, if there are several */
    uint32_t part_count;
    /* different commands, numbers in them aside, of which the traces are; of several, no value is of all of them */
    uint32_t programs;

    struct nvt_findings all; /* folded, by cost */
    uint32_t found;          /* of them, but for those that cost next to nothing */
    struct nvt_overview_finding findings[NVT_OVERVIEW_FINDINGS];
    uint32_t finding_count;
    uint32_t rules, idle_rules; /* that looked, and that had nothing to look at */
    int is_cut;                 /* not all of a trace could be read */
    /* "iterations 6 to 10 of 10": what costs per iteration are of; "": there are none, or of several traces */
    char cover[80];
};

/* "Iteration", "Forward pass" or "Recording". */
const char *nvt_overview_unit_name(const struct nvt_overview *overview);

/* "median of 400, half of them from 882 us to 1.1 ms", "median of 400, mean 22.5 ms; half 882 us to 22.1 ms", "median of 60, one every 38.2 ms", at most NVT_OVERVIEW_TEXT bytes, in out, which is
   returned. Without iterations, or with a single one, what that means. */
enum { NVT_OVERVIEW_TEXT = 200 };
const char *nvt_overview_unit_text(const struct nvt_overview *overview,
                                   char out[NVT_OVERVIEW_TEXT]);

/* What the times of rows are shares of: a unit, or what of it the GPU works where rows are kernels. */
double nvt_overview_whole(const struct nvt_overview *overview);

/* Whether there is something to show: ranges, GPU work or memory, of traces that stand for themselves. */
int nvt_overview_fits(const struct nvt_input *input);

/* Of the traces of an input, which are read and stay. 0, or -1 with err. */
int nvt_overview_make(struct nvt_overview *overview, const struct nvt_input *input,
                      struct nvt_error *err);
/* Its findings alone, of directories, too. */
int nvt_overview_find(struct nvt_overview *overview, const struct nvt_input *input,
                      struct nvt_error *err);
void nvt_overview_free(struct nvt_overview *overview);

#endif
