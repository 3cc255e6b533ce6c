/*
 * The levels of `record --trace`: what a list of them means, in our words or in those of `nsys profile --trace`.
 */
#ifndef NVT_LEVELS_H
#define NVT_LEVELS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../lib/error.h"
#include "counter_wish.h"
#include "metrics_wish.h"

struct nvt_levels {
    uint64_t trace; /* enum nvt_trace_what bits */
    /* of these, what was named by itself: where nothing of it comes, that is worth a line */
    uint64_t asked;
    struct nvt_metrics_wish metrics; /* of the level of that name */
    int has_counters;                /* counters=NAME,…: which ones */
    int names_counters;              /* while a list is read: another name is a counter's */
    struct nvt_counter_wish counters;
    int is_none; /* "none", a word of nsys, which stands alone: trace is 0 */
    /* words of nsys whose calls are not recorded, with ", " between; "": none */
    char unrecorded[128];
};

/* Parse "nvtx,kernel". 0, or -1 with err: nothing would be recorded, or a word is unknown, which the message names with
 * what there is. */
int nvt_levels_parse(const char *text, struct nvt_levels *levels, struct nvt_error *err);

/* "nvtx,kernel" of the bits, in the order of the manual page. */
void nvt_levels_text(uint64_t trace, char *out, size_t size);

/* What shows more of a program that has no ranges, on a machine without a GPU as well: those levels of it that are not
 * on, as "osrt,cpu,machine". "": all are. */
void nvt_levels_host(uint64_t trace, char *out, size_t size);

/* A line for each word that --trace takes: itself, blanks, what it records. Those of nsys that mean the same are left out. */
void nvt_levels_list(FILE *out);

/* What --preset NAME records. 0, or -1 with err. */
int nvt_levels_preset(const char *name, uint64_t *trace, struct nvt_error *err);

#endif
