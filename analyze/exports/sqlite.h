/*
 * Inside the writer of nsys's schema: what the export_sqlite*.c share.
 */
#ifndef NVT_EXPORT_SQLITE_H
#define NVT_EXPORT_SQLITE_H

#include <sqlite3.h>

#include "../../lib/buffer.h"
#include "../../lib/map.h"
#include "../../lib/table.h"
#include "../model/trace.h"

struct nvt_sql {
    const struct nvt_trace *trace;
    const char *path;
    struct nvt_error *err;
    sqlite3 *db;
    sqlite3_stmt *insert; /* into the current table */
    int column;           /* bound so far */
    int64_t *processes;   /* global id of every process */
    uint8_t *launchers;   /* 1 for every process that only started the program (launchers.h) */
    uint8_t *used;        /* strings that StringIds must hold */
    uint32_t string_count;
    struct nvt_map sequences; /* of kernels that are collectives (sequences.h) */
    int has_launches;         /* StringIds must hold NVT_EXPORT_LAUNCH, with the id string_count */
};

int nvt_sql_run(struct nvt_sql *sql, const char *text);

/* Rows go into this table from now on; it has so many columns. 0, or -1 with err filled. */
int nvt_sql_prepare(struct nvt_sql *sql, const char *table, int columns);

/* Prepare a table, and have a function put the row of each of `count` items that has one. 0, or -1 with err filled. */
int nvt_sql_rows(struct nvt_sql *sql, const char *table, int columns, uint32_t count,
                 int (*put)(struct nvt_sql *sql, uint32_t item));

/* The row's next cells: integers, doubles, texts, NVT_NULL and NVT_IF, as nvt_table_put takes them (lib/table.h). Texts must live
 * until the row is inserted. */
#define nvt_sql_more(sql, ...)                                                                     \
    nvt_sql_more_cells(sql, (const struct nvt_cell[]){NVT_CELLS(__VA_ARGS__), NVT_CELLS_END})
void nvt_sql_more_cells(struct nvt_sql *sql, const struct nvt_cell *cells);
/* a string of the model as text, whatever bytes it has */
void nvt_sql_name(struct nvt_sql *sql, uint32_t id);

/* Insert the row. 0, or -1 with err filled. */
int nvt_sql_row(struct nvt_sql *sql);

/* The row's last cells; insert it. */
#define nvt_sql_put(sql, ...) (nvt_sql_more(sql, __VA_ARGS__), nvt_sql_row(sql))

/* Cells: a string of the model by its id, the global id of a process and of a thread (NVT_NONE: 0, and a null). */
struct nvt_cell nvt_sql_string(struct nvt_sql *sql, uint32_t id);
struct nvt_cell nvt_sql_process(const struct nvt_sql *sql, uint32_t process);
struct nvt_cell nvt_sql_thread(const struct nvt_sql *sql, uint32_t thread);

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
