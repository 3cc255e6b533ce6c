/*
 * What two or more sides measured of the same thing: times of phases, ranges and kernels, by name
 * and configuration, side by side.
 */
#ifndef NVT_COMPARE_SIDES_H
#define NVT_COMPARE_SIDES_H

#include "change.h"
#include "report.h"

#define NVT_SIDES 8

enum nvt_compared_kind { NVT_GROUP_PHASE, NVT_GROUP_RANGE, NVT_GROUP_KERNEL };

/* Times of one side: those of each trace are a series of their own. */
struct nvt_compared_side {
    double *values;
    size_t count, capacity;
    struct nvt_series *series; /* into values, made by nvt_sides_side */
    size_t *starts;            /* of each series */
    size_t series_count, series_capacity;
    uint64_t last_trace; /* that added a time, from 1 */
    double mean, std;    /* of a record without a trace, else NaN */
    size_t n;
};

struct nvt_compared {
    enum nvt_compared_kind kind;
    const char *configuration; /* "" where there is none */
    const char *name;
    struct nvt_compared_side sides[NVT_SIDES];
};

/* Where a side's times come from; "" where that is not known, "several" where it differs. */
struct nvt_origin {
    char backend[64], device[160], date[64], condition[256];
    int given;
};

struct nvt_sides {
    struct nvt_strings *strings;
    struct nvt_compared *items;
    size_t count, capacity;
    struct nvt_map *by_key;
    uint64_t traces; /* added so far */
    struct nvt_origin origins[NVT_SIDES];
};

int nvt_sides_init(struct nvt_sides *groups);
void nvt_sides_free(struct nvt_sides *groups);

/* Add the times of an input (its traces read) to a side. 0, or -1 with err. */
int nvt_sides_add(struct nvt_sides *groups, size_t side, const struct nvt_report_input *input,
                  struct nvt_error *err);

/* The series of a side of a group. 0, or -1 when out of memory. */
int nvt_sides_series(struct nvt_compared *group, size_t side, struct nvt_side *out);

const char *nvt_compared_kind_name(enum nvt_compared_kind kind);

#endif
