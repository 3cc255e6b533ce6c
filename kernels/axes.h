/*
 * Axes of the workloads: what can be varied, over what, and the configurations that a choice of values
 * makes. A workload's axes are one file, axes_<name>.c, with a struct nvt_workload_axes nvt_axes_<name>
 * (NVT_WORKLOADS in workload.h). Options, help, rows and NVTX labels all come from it.
 */
#ifndef NVT_AXES_H
#define NVT_AXES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../lib/axis.h"
#include "../lib/json.h"
#include "workload.h"

#define NVT_AXES_MOST  24    /* of a workload */
#define NVT_AXIS_SCALE 10000 /* of decimals: four digits behind the point */

enum nvt_axis_kind {
    NVT_AXIS_NUMBERS,
    NVT_AXIS_DECIMALS, /* values, least and most are in 1/NVT_AXIS_SCALE */
    NVT_AXIS_WORDS,    /* values are positions in `words` */
    NVT_AXIS_FLAG,     /* words off and on; rows have false and true */
    NVT_AXIS_FIXED,    /* no option: always the first of `words` */
};

struct nvt_axis_spec {
    const char *name;         /* key in rows; the option has '-' for '_' */
    const char *defaults;     /* a list, as an option would have it */
    const char *about;        /* for --help */
    const char *const *words; /* NULL-terminated, of words only */
    enum nvt_axis_kind kind;
    int64_t least, most; /* of numbers and decimals */
};

struct nvt_workload_axes {
    const char *workload, *about;
    const struct nvt_axis_spec *axes;
    size_t count;
    /* Whether an axis has a meaning under the other values; where not, it is null. NULL: always. */
    int (*applies)(const int64_t *values, size_t axis);
    /* Set what was not typed and depends on the other values (a bit in `typed` for each axis that was
     * typed, here and below). NULL: nothing does. */
    void (*settle)(int64_t *values, unsigned typed);
    /* 0, or -1 with err where the values do not go together. NULL: all do. */
    int (*check)(const int64_t *values, unsigned typed, struct nvt_error *err);
    /* 0, or -1 with err where the backend ("host", "cuda") has not got what they ask for. NULL: it has. */
    int (*check_backend)(const int64_t *values, const char *backend, struct nvt_error *err);
    /* Whether a combination is one of the study's, for studies that are no full grid: asked of every
     * one. NULL: all are. */
    int (*belongs)(const int64_t *values, unsigned typed);
    /* What combinations need that do not belong, for who typed them; NULL: nobody wonders. */
    const char *belongs_when;
    /* options of sizes that a processor is done with in a minute or so, or NULL */
    const char *small;
    const char *sized_by;       /* options that say that one has sizes of one's own in mind */
    int64_t warmup, iterations; /* without --warmup and --iterations; 0 iterations: 10 and 100 */
};

/* One configuration. */
struct nvt_configuration {
    int64_t values[NVT_AXES_MOST];
    uint8_t present[NVT_AXES_MOST];    /* 0: the axis does not apply */
    char text[NVT_CONFIGURATION_MAX];  /* "size=256 batch=8 mode=train fragments=32": no nulls */
    char label[NVT_CONFIGURATION_MAX]; /* "size256-batch8-train-fragments32": for file names */
};

/* The axes of a workload, or NULL; of the i-th one, NULL behind the last. */
const struct nvt_workload_axes *nvt_axes_of(const char *workload);
const struct nvt_workload_axes *nvt_axes_at(size_t i);

/* Position of an axis by the name of its option, without "--"; -1 when there is none. */
int nvt_axes_find(const struct nvt_workload_axes *axes, const char *option);

/* Parse the list of an axis. 0, or -1 with err naming the option. */
int nvt_axes_parse(const struct nvt_axis_spec *spec, const char *text, struct nvt_axis *values,
                   struct nvt_error *err);

/* What a choice of values comes to. */
struct nvt_expansion {
    struct nvt_configuration *items; /* malloc'ed */
    size_t count;
    size_t left_out; /* further ones, which do not belong */
};

/*
 * Every combination, the last axis fastest. `chosen` has an entry for each axis; one of count 0 gets the
 * defaults. 0 with *out, or -1 with err: values that do not go together, more than 100,000 combinations, or
 * out of memory.
 */
int nvt_axes_expand(const struct nvt_workload_axes *axes, struct nvt_axis *chosen,
                    struct nvt_expansion *out, struct nvt_error *err);

/* The axes as members of a row. */
void nvt_axes_put(const struct nvt_workload_axes *axes,
                  const struct nvt_configuration *configuration, struct nvt_json *json);

/* The axes as lines of a help text, with defaults. */
void nvt_axes_help(const struct nvt_workload_axes *axes, FILE *out);

#define NVT_DECLARE_AXES(name) extern const struct nvt_workload_axes nvt_axes_##name;
NVT_WORKLOADS(NVT_DECLARE_AXES)
#undef NVT_DECLARE_AXES

#endif
