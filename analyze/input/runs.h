/*
 * The directory that `nvtally run` writes:
 *
 *   results.jsonl  one flat JSON object a line and configuration. The members between `workload`
 * and `backend` are the axes; a null axis does not apply. Times end in _ns_mean, _ns_std …, sizes
 * in _bytes. `status` is ok, oom or error. `trace` is the file name of its trace, relative to the
 * directory, or null. env.json       one object: machine, versions, date, backend, device, command
 * line.
 *
 * Members of nested objects are known by their path, "cpu.model"; arrays are left out.
 */
#ifndef NVT_RUNS_H
#define NVT_RUNS_H

#include <stddef.h>
#include <stdint.h>

#include "../../lib/buffer.h"
#include "../../lib/error.h"
#include "../../lib/table.h"

enum nvt_value_type { NVT_VALUE_NULL, NVT_VALUE_BOOL, NVT_VALUE_NUMBER, NVT_VALUE_TEXT };

struct nvt_member {
    char *key;
    char *text;    /* a text; of a number and a bool, as it was written; "" for null */
    double number; /* NaN unless a number */
    enum nvt_value_type type;
};

/* One JSON object, members in their order. */
struct nvt_record {
    struct nvt_member *members;
    size_t count;
    size_t axis_first, axis_count; /* those behind `workload`, up to `backend` */
    /* The axes are named by a program (rows.h), as it likes, `rank` and `status` too. */
    int is_by_name;
};

struct nvt_runs {
    char *path;                 /* of the directory */
    struct nvt_record *records; /* configurations, in the order of the file */
    size_t count;
    struct nvt_record env; /* empty without env.json */
    int is_of_traces;      /* rows that traces carry (rows.h), and no directory */
    char *warning;         /* one line about what could not be read, or NULL */
};

/*
 * Read a run directory. NULL with err filled: no such directory, no results.jsonl in it, a line
 * that is no JSON object. A last line that was cut (the run was killed) is left out, with a
 * warning; so is an env.json that cannot be read.
 */
struct nvt_runs *nvt_runs_read(const char *path, struct nvt_error *err);
void nvt_runs_free(struct nvt_runs *runs);

/* One without records, by this name. NULL when out of memory. nvt_runs_add: append a record, which becomes its own. 0,
 * or -1 when out of memory. */
struct nvt_runs *nvt_runs_new(const char *name);
int nvt_runs_add(struct nvt_runs *runs, const struct nvt_record *record);

/*
 * Read runs from texts instead of files: results.jsonl and env.json as in a directory of this name. NULL with err
 * filled.
 */
struct nvt_runs *nvt_runs_of_text(const char *name, const struct nvt_buffer *results,
                                  const struct nvt_buffer *env, struct nvt_error *err);

/* Parse one JSON object. 0, or -1 with err filled (offset: byte in the text). */
int nvt_record_parse(struct nvt_record *record, const char *json, size_t size,
                     struct nvt_error *err);
void nvt_record_free(struct nvt_record *record);

/* Whether a member is an axis. */
int nvt_record_is_axis(const struct nvt_record *record, size_t member);

/* A member by name, or NULL. An axis that a program has named is none (nvt_record_axis). */
const struct nvt_member *nvt_record_find(const struct nvt_record *record, const char *key);

/* An axis by name, or NULL. */
const struct nvt_member *nvt_record_axis(const struct nvt_record *record, const char *key);

/* A member's text (numbers as written), or NULL when it is missing or null. */
const char *nvt_record_text(const struct nvt_record *record, const char *key);

/* A member's number, or NaN when it is missing or none. */
double nvt_record_number(const struct nvt_record *record, const char *key);

/* What was measured of a phase ("mean", "median" …), ns: the number PHASE_ns_WHAT, or NaN. */
double nvt_record_phase_ns(const struct nvt_record *record, const char *phase, const char *what);

/* Whether a record is of this workload. */
int nvt_record_is_of(const struct nvt_record *record, const char *workload);

/* Where a record's numbers come from: "published" (nvtally import) or "measured". */
const char *nvt_record_source(const struct nvt_record *record);

/* The axes as "size=256 mode=train graph=off", nulls left out, as a trace's range is named: malloc'ed, NULL when out of memory. */
char *nvt_record_configuration(const struct nvt_record *record);

/* All axes but one (NULL: all), in the order of their names: what two records have in common however they are written. malloc'ed,
 * NULL when out of memory. */
char *nvt_record_sorted_axes(const struct nvt_record *record, const char *without);

/* Backend, device and date of the directory; texts belong to it. */
struct nvt_provenance nvt_runs_provenance(const struct nvt_runs *runs);

/*
 * What a study makes of the records of several directories: an array of elements of `size` bytes, `read` being
 * called for each record with the next element, which counts when it returns 1. malloc'ed, *count of them;
 * NULL with err when out of memory.
 */
typedef int nvt_read_row(const struct nvt_record *record, void *row);
void *nvt_runs_rows(struct nvt_runs *const *runs, size_t run_count, nvt_read_row *read, size_t size,
                    size_t *count, struct nvt_error *err);

#endif
