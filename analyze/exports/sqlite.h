/*
 * Inside the writer of nsys's schema: what the export_sqlite*.c share.
 */
#ifndef NVT_EXPORT_SQLITE_H
#define NVT_EXPORT_SQLITE_H

#include <sqlite3.h>

#include "../../lib/buffer.h"
#include "../../lib/map.h"
#include "../model/trace.h"

struct nvt_sql {
    const struct nvt_trace *trace;
    const char *path;
    struct nvt_error *err;
    sqlite3 *db;
    sqlite3_stmt *insert; /* into the current table */
    int column;           /* bound so far */
    int64_t *processes;   /* global id of every process */
    uint8_t *used;        /* strings that StringIds must hold */
    uint32_t string_count;
    int has_launches; /* StringIds must hold NVT_EXPORT_LAUNCH, with the id string_count */
};

int nvt_sql_run(struct nvt_sql *sql, const char *text);

/* Rows go into this table from now on; it has so many columns. 0, or -1 with err filled. */
int nvt_sql_prepare(struct nvt_sql *sql, const char *table, int columns);

/* The next cell of the row: a number, nothing, a text, a string of the model as text and by its id,
 * the global id of a process and of a thread. Texts must live until nvt_sql_row. */
void nvt_sql_int(struct nvt_sql *sql, int64_t value);
void nvt_sql_real(struct nvt_sql *sql, double value);
void nvt_sql_null(struct nvt_sql *sql);
void nvt_sql_bytes(struct nvt_sql *sql, uint64_t bytes); /* UINT64_MAX: nothing */
void nvt_sql_text(struct nvt_sql *sql, const char *text);
void nvt_sql_name(struct nvt_sql *sql, uint32_t id);
void nvt_sql_string(struct nvt_sql *sql, uint32_t id);
void nvt_sql_process(struct nvt_sql *sql, uint32_t process);
void nvt_sql_thread(struct nvt_sql *sql, uint32_t thread);

/* Insert the row. 0, or -1 with err filled. */
int nvt_sql_row(struct nvt_sql *sql);

/* Insert a row of two texts. 0, or -1 with err filled. */
int nvt_sql_pair(struct nvt_sql *sql, const char *name, const char *value);

/* The rows of an enumeration: number, name, label. 0, or -1 with err filled. */
int nvt_sql_labels(struct nvt_sql *sql, const char *table, unsigned count,
                   const char *(*label)(unsigned id), const char *const *names);

/* Rows go into a new table of call chains from now on. 0, or -1 with err filled. */
int nvt_sql_stacks(struct nvt_sql *sql, const char *table);

/* The stack of this id: the innermost function (a row of call_frames, and 1; 0: there is none) and its callers, `most` in all. How
 * they were found: a row of ENUM_STACK_UNWIND_METHOD, or NVT_SQL_NO_METHOD. 0, or -1 with err filled. */
#define NVT_SQL_NO_METHOD (-1)
int nvt_sql_stack(struct nvt_sql *sql, int64_t id, uint32_t frame, int method, int64_t most);

/* The parts of the file, in their order: tables and enumerations; NVTX; CUDA; names and facts. */
int nvt_sql_schema(struct nvt_sql *sql);
int nvt_sql_nvtx(struct nvt_sql *sql);
int nvt_sql_cuda(struct nvt_sql *sql);
int nvt_sql_um(struct nvt_sql *sql); /* managed memory */
int nvt_sql_mpi(struct nvt_sql *sql);
int nvt_sql_call_stacks(struct nvt_sql *sql); /* who made calls */
int nvt_sql_samples(struct nvt_sql *sql);     /* of what threads run */
int nvt_sql_facts(struct nvt_sql *sql);

#endif
