/*
 * The records of run directories as charts of a study show them, a record a configuration: of rows
 * that differ only in their level of collection those of the lowest one, of those that differ only
 * in their warm-ups the ones with the most, and repetitions together.
 */
#ifndef NVT_STUDIED_H
#define NVT_STUDIED_H

#include "../analyze/input/input.h"
#include "../analyze/input/merged_records.h"
#include "frame.h"

enum nvt_studied_flags {
    NVT_STUDIED_WARMUPS = 1, /* rows that differ in their warm-ups stay apart */
    NVT_STUDIED_REPEATS = 2, /* repetitions stay apart: only what was collected is chosen */
};

struct nvt_studied {
    /* Directories with other records, the rest theirs; without traces. In a record of repetitions
     * X_mean is the mean of their means, X_std the standard deviation between those, X_median
     * the median of their medians, X_min and X_max the least and the most; other numbers are means. Texts are
     * those of the first repetition. */
    struct nvt_input input;
    struct nvt_merged_runs made;   /* the input's */
    size_t repeats;                /* of one configuration, at most; 1: there are none */
    char left_out[NVT_FRAME_TEXT]; /* a sentence about rows that are not in it, or "" */
};

/* The records belong to `input`, which outlives it. Release with nvt_studied_free, also after a
 * failure. 0, or -1 with err filled: out of memory. */
int nvt_studied_of(const struct nvt_input *input, unsigned flags, struct nvt_studied *studied,
                   struct nvt_error *err);
void nvt_studied_free(struct nvt_studied *studied);

/* The notes below a chart: what was left out, and what BARS ("Bars") of deviations mean there;
 * `bars` NULL: there are none. */
void nvt_studied_notes(const struct nvt_studied *studied, const char *bars,
                       struct nvt_frame *frame);

/*
 * What a time of a record comes to: the median of its iterations (of repetitions, of their medians), and the shortest and the
 * longest one. Of published figures the mean alone is known. ns.
 */
struct nvt_spread {
    double at, low, high; /* NaN: unknown */
    int is_mean;
};

/* Of a time by its name in the record without "_median", "forward_ns". */
struct nvt_spread nvt_spread_of(const struct nvt_record *record, const char *name);

void nvt_extent_add_spread(struct nvt_extent *extent, const struct nvt_spread *spread);

/* What points and bars of spreads mean, in a note, and what was left out. */
enum nvt_spread_kinds { NVT_SPREAD_BARS = 1, NVT_SPREAD_MEANS = 2, NVT_SPREAD_MEDIANS = 4 };
void nvt_studied_spread_notes(const struct nvt_studied *studied, unsigned kinds,
                              struct nvt_frame *frame);

/* Which of these a spread has. */
unsigned nvt_spread_kinds(const struct nvt_spread *spread);

#endif
