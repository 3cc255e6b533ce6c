/*
 * Published layouts: benchmark logs and documents as their authors wrote them, read into the
 * records of a run directory. A new layout is one new file analyze/published/<name>.c and one line
 * in NVT_LAYOUTS; the report of its workload prints it again (`published` of struct
 * nvt_report).
 *
 * The records are those that `nvtally run` writes (runs.h), with "source": "published". What a
 * document does not say is null. Reading takes a document whose lines carry a logger's prefix
 * (time, level) and one whose end was cut: the configuration that is not whole is left out, with a
 * note.
 */
#ifndef NVT_PUBLISHED_H
#define NVT_PUBLISHED_H

#include <stdio.h>

#include "../../lib/buffer.h"
#include "../../lib/error.h"
#include "../../lib/json.h"
#include "../input/conditions.h"
#include "../input/input.h"
#include "../input/runs.h"

/* The text that is being read, a line at a time. */
struct nvt_log {
    const char *path; /* for messages */
    char *at, *end;   /* what is left; lines are terminated in place */
    int64_t number;   /* of the line last given, from 1 */
    int unterminated; /* it had no line end: it may have been cut */
};

/* What was read. Zero-initialise; release with nvt_published_free. */
struct nvt_published {
    const struct nvt_layout *layout;
    const char *backend;       /* that it says it ran on, or NULL; static text */
    struct nvt_buffer results; /* results.jsonl: an object a line */
    size_t count;              /* of configurations */
    char note[200];            /* one line about what was left out, or "" */
};

struct nvt_layout {
    const char *name;
    const char *about;
    const char *mark;    /* a text that every document in this layout has */
    const char *backend; /* that it was made on, or NULL; `read` may set another */
    /* Append the records. 0, or -1 with err filled (nvt_log_fail). */
    int (*read)(struct nvt_log *log, struct nvt_published *out, struct nvt_error *err);
    /*
     * Whether a measured record has the same configuration as a published one of this layout: NULL when not, else what
     * must be known to read their ratio, or "".
     */
    const char *(*matches)(const struct nvt_record *ours, const struct nvt_record *theirs);
};

/* All layouts: X(name of nvt_layout_<name>). */
#define NVT_LAYOUTS(X)                                                                             \
    X(fragments)                                                                                   \
    X(switchback)                                                                                  \
    X(transformer)                                                                                 \
    X(gpipe)

#define NVT_DECLARE_LAYOUT(name) extern const struct nvt_layout nvt_layout_##name;
NVT_LAYOUTS(NVT_DECLARE_LAYOUT)
#undef NVT_DECLARE_LAYOUT

/* All layouts; *count gets how many. */
const struct nvt_layout *const *nvt_layouts(size_t *count);

/*
 * Read a document of any layout; which one, its content says. `text` is changed and has room for a
 * terminator behind its size. 0, or -1 with err
 * filled: no layout that is known, a line that cannot be, no configuration in it.
 */
int nvt_published_read(const char *path, char *text, size_t size, struct nvt_published *out,
                       struct nvt_error *err);
void nvt_published_free(struct nvt_published *published);

/*
 * Published figures that are built in. Times are the document's, their machine is not ours: every
 * table and chart says so.
 */
struct nvt_reference {
    const char *workloads; /* "linear fragmented" */
    const char *title;     /* with author and year, as far as the document names them */
    const char *date;      /* or NULL */
    const char *device;    /* where it is stated */
    int iterations;        /* timed, 0: not known */
};

/* The reference of a workload, NULL when there is none; the i-th one, NULL behind the last. */
const struct nvt_reference *nvt_reference_of(const char *workload);
const struct nvt_reference *nvt_reference_at(size_t i);

/* Its records as a run directory (in memory; nvt_runs_free) and its layout. NULL with err filled.
 */
struct nvt_runs *nvt_reference_runs(const struct nvt_reference *reference,
                                    const struct nvt_layout **layout, struct nvt_error *err);

/* env.json of what was imported. NULL texts are null. 0, or -1 when out of memory. */
struct nvt_published_facts {
    const char *source, *date, *backend, *device, *layout, *command;
};
int nvt_published_environment(const struct nvt_published_facts *facts, struct nvt_buffer *out);

/* Parts that layouts share. */

/* The next line, without its end, or NULL. */
char *nvt_log_next(struct nvt_log *log);

/* What follows `key` in a line that begins with it, behind blanks or a logger's prefix; else NULL.
 */
const char *nvt_log_value(const char *line, const char *key);

/* Fail at the line last given. -1. */
int nvt_log_fail(const struct nvt_log *log, struct nvt_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * A finite number ≥ 0 (thousands may be set off by commas) and what stands behind it, which must be
 * `unit` and then the end of the text when `unit` is not NULL. 0 or -1.
 */
int nvt_log_number(const char *text, const char *unit, double *value, const char **rest);

/* Members that end the axes of a record and say where it comes from. `backend`: where the document states it for each
 * configuration, else NULL. */
void nvt_published_origin(struct nvt_json *json, const char *backend);

/*
 * How rows were measured, in a layout that has no place for it: a line before those that were
 * measured alike, "Measured with collect=nvtx warmup=2:", where a run has rows that differ in it.
 * nvt_log_condition: whether a line is one; `out` gets what it says, as nvt_published_condition
 * makes members of it, which stand behind the origin as they are no axes.
 */
int nvt_log_condition(const char *line, char out[NVT_CONDITION_SIZE]);
void nvt_published_condition(struct nvt_json *json, const char *condition);

/*
 * What distinguishes the i-th of the printed records, "collect=nvtx"; "" where all were measured in the same way.
 * malloc'ed, NULL: out of memory.
 */
typedef char nvt_condition_text_of[NVT_CONDITION_SIZE];
nvt_condition_text_of *nvt_published_conditions(const struct nvt_record *const *records,
                                                size_t count);

/* The first record from `from` on with another condition than all before it, `count`: there is none. */
size_t nvt_published_next_condition(const nvt_condition_text_of *conditions, size_t count,
                                    size_t from);

/* Its line, behind an empty one unless it is the first; nothing where all were measured alike. */
void nvt_published_put_condition(const char *condition, int is_first, FILE *out);

/* A time of the document in ns; `scale` is the ns of its unit. */
void nvt_published_time(struct nvt_json *json, const char *key, double value, double scale);

/* Write every record of a workload that ended well, those measured alike together. 0, or -1 with err when there is none. */
int nvt_published_records(const struct nvt_input *input, const char *workload,
                          void (*put)(const struct nvt_record *record, FILE *out), FILE *out,
                          struct nvt_error *err);

/* Whether both records have the same text there, null being one too. */
int nvt_same_member(const struct nvt_record *ours, const struct nvt_record *theirs,
                    const char *key);

/* Whether ours, when it has the member, has this text. */
int nvt_member_is(const struct nvt_record *ours, const char *key, const char *text);

/* The shortest text that reads back as the same number, as Python prints a float. */
#define NVT_REPR_MAX 40
const char *nvt_number_repr(double value, char out[NVT_REPR_MAX]);

#endif
