/*
 * Inside the reader of nsys's SQLite exports: what the read_nsys*.c share.
 *
 * Source: NVIDIA, Nsight Systems Analysis Guide, "SQLite Schema Reference". Columns come and go
 * between its versions, so every table is probed: a column that a file lacks reads as null. No file
 * is trusted: views, virtual tables and generated columns are not read, numbers are checked, and
 * no more rows or text are taken than the size of the file can hold (a b-tree whose pages point at
 * each other would yield more).
 */
#ifndef NVT_READ_NSYS_H
#define NVT_READ_NSYS_H

#include <sqlite3.h>

#include "../../lib/buffer.h"
#include "../../lib/map.h"
#include "../model/os_names.h"
#include "../model/recorded_events.h"
#include "../model/trace.h"
#include "pools.h"

/* A row of a table takes four bytes of its file at the least: a pointer to the cell, the length of
 * the record, the row id. */
#define NVT_NSYS_ROW_BYTES 4

/* Columns of a table that is read, at most. */
#define NVT_NSYS_COLUMNS 24

#define NVT_NSYS_WARNINGS 5

/* Threads that read a long table besides the one that takes its rows, at most: with more of them that one would be the slowest. */
#define NVT_NSYS_HELPERS 3

struct nvt_nsys {
    struct nvt_trace *trace;
    sqlite3 *db;
    sqlite3 *helpers[NVT_NSYS_HELPERS]; /* further connections, of threads that read ahead */
    const char *path;
    void *mapped; /* the file, where it has no name */
    size_t mapped_size;
    uint64_t size;   /* bytes of the file, */
    int length_most; /* and of a text in it; 0: as SQLite has it */
    struct nvt_error *err;
    struct nvt_map strings;    /* StringIds.id -> string of the model */
    struct nvt_map processes;  /* global id without its thread -> row */
    struct nvt_map threads;    /* global id -> row */
    struct nvt_map domain_ids; /* domainId -> small number */
    struct nvt_map domains;    /* process << 32 | small number -> row */
    struct nvt_map categories; /* model domain << 32 | category -> string */
    struct nvt_nsys_category {
        int64_t domain;
        uint32_t process, number, name;
    } * defined;                /* categories, in the order of the file */
    struct nvt_map gpus;        /* TARGET_INFO_GPU.id -> row of devices */
    struct nvt_map calls;       /* process << 32 | correlation -> thread, for memory events */
    struct nvt_map contexts;    /* pid << 32 | context -> device, for waits */
    struct nvt_map collectives; /* NVTALLY_COLLECTIVES.id -> row of collectives and 1 */
    struct nvt_map launched;    /* process << 48 ^ correlation -> one of launches */
    struct nvt_nsys_launch {
        int64_t time;
        uint32_t thread;
    } * launches;                /* of operations whose call was not recorded: see export.h */
    struct nvt_map metric_types; /* typeId of GPU metrics -> small number */
    struct nvt_map metrics;      /* that << 32 | metricId -> row of counters */
    uint32_t metric_type_count, metric_count;
    uint32_t metric_thread;           /* that stands for whoever sampled them */
    struct nvt_nsys_samples *samples; /* while they are read */
    struct nvt_nsys_stacks *stacks;   /* nsys_stacks.h; NULL: nothing has any so far */
    struct nvt_os_names os_names;
    struct nvt_recorded_events events;
    struct nvt_buffer words; /* struct nvt_pool_word, of each row of memory */
    int has_pools;
    int is_ours; /* an export of nvtally, of any format */
    uint32_t defined_count;
    uint32_t launch_count;
    uint32_t domain_count;
    uint32_t gpu_count;
    uint64_t untimed;              /* events that were left out: see the specs' row */
    int forgives;                  /* values that are none cost their row at most, */
    uint64_t odd;                  /* of which there are so many; else they end the reading */
    uint64_t rows_left, text_left; /* that the file can still hold */
    int known;                     /* tables of nsys's that were there */
    uint32_t warnings[NVT_NSYS_WARNINGS], warning_count; /* texts; all but repeated ones */
};

struct nvt_nsys_table;

/* What is read of a table: the row function is called once a row. 0, 1: it has no times and was left out, or -1 to
 * end. */
struct nvt_nsys_spec {
    const char *name;
    const char *where; /* of the rows, NULL: all */
    int needs;         /* without the first `needs` columns the table is left out, with a warning */
    const char *columns[NVT_NSYS_COLUMNS];
    int (*row)(struct nvt_nsys *reader, struct nvt_nsys_table *table);
};

/* A cell that was read ahead, by its type in SQLite. */
struct nvt_nsys_cell {
    union {
        int64_t whole;
        double real;
        const char *text;
    };
    uint32_t size; /* of a text */
    uint32_t type;
};

/* A row being read. Once a cell was not what it should be, `bad` names its column. */
struct nvt_nsys_table {
    const struct nvt_nsys_spec *spec;
    sqlite3_stmt *statement;
    /* of a row that was read ahead; NULL: they are the statement's */
    const struct nvt_nsys_cell *cells;
    uint64_t number; /* of the row, from 1 */
    const char *bad;
    unsigned present; /* bit i: column i is there */
    int is_old;       /* the first by its old name */
    int hides_ids;    /* a column has their name */
    int has_ranges;   /* it is read by ranges of ids, from the first to the last */
    int64_t first, last;
};

/* Read a table if it is there. 0, or -1 with err filled. */
int nvt_nsys_read(struct nvt_nsys *reader, const struct nvt_nsys_spec *spec);

/*
 * Cells of the current row. A null, and a column that the file does not have, is `missing`. A cell
 * of another type or out of [low, high] makes the row bad, which ends the reading behind it.
 */
int nvt_nsys_type(const struct nvt_nsys_table *table, int column); /* SQLITE_INTEGER … */
int nvt_nsys_is_null(const struct nvt_nsys_table *table, int column);
int64_t nvt_nsys_int(struct nvt_nsys_table *table, int column, int64_t missing);
uint32_t nvt_nsys_u32(struct nvt_nsys_table *table, int column, uint32_t missing);
uint64_t nvt_nsys_size(struct nvt_nsys_table *table, int column); /* bytes, 0 when missing */
int64_t nvt_nsys_time(struct nvt_nsys_table *table, int column);  /* ns, never missing */
/* A text without a place in the model, for as long as the row lasts; NULL: it is none, or a number of a table that is long. */
const char *nvt_nsys_plain_text(const struct nvt_nsys_table *table, int column);
/* What a cell is as a number of both kinds: zeros where it is none. */
void nvt_nsys_number(const struct nvt_nsys_table *table, int column, int64_t *whole, double *real);
/* Whether there was no time: the end is before the start, as CUPTI's records have it then (docs/trace-format.md). */
static inline int nvt_nsys_is_untimed(int64_t start, int64_t end)
{
    return end < start;
}
/* The string of a text cell, or of a cell that holds an id of StringIds; 0 (empty) when null.
 * NVT_NO_STRING when out of memory. */
uint32_t nvt_nsys_text(struct nvt_nsys *reader, struct nvt_nsys_table *table, int column);
uint32_t nvt_nsys_name(struct nvt_nsys *reader, struct nvt_nsys_table *table, int column);

/* Rows of the model for the global ids of a cell: bits 24 … are the process (with the virtual
 * machine above it), bits 0 … 23 the thread. NVT_NONE when out of memory. */
uint32_t nvt_nsys_process(struct nvt_nsys *reader, struct nvt_nsys_table *table, int column);
uint32_t nvt_nsys_thread(struct nvt_nsys *reader, struct nvt_nsys_table *table, int column);

/* What a copy of pages of managed memory has more than others, in these columns; *detail gets its row of migrations. 0, or
 * -1 when out of memory. */
int nvt_nsys_migration(struct nvt_nsys *reader, struct nvt_nsys_table *table, int address,
                       int cause, uint32_t *detail);

/* Fail, naming the table and the row. Returns -1. */
int nvt_nsys_fail(struct nvt_nsys *reader, const struct nvt_nsys_table *table, const char *what);

/* The parts of the reader, in their order. 0, or -1 with err filled. */
int nvt_nsys_read_nvtx(struct nvt_nsys *reader);
int nvt_nsys_read_cuda(struct nvt_nsys *reader);
int nvt_nsys_read_um(struct nvt_nsys *reader); /* faults of managed memory */
int nvt_nsys_read_os(struct nvt_nsys *reader);
int nvt_nsys_read_mpi(struct nvt_nsys *reader);     /* behind those, whose processes get ranks */
int nvt_nsys_read_samples(struct nvt_nsys *reader); /* behind those, whose processes they are of */
int nvt_nsys_read_facts(struct nvt_nsys *reader);
int nvt_nsys_read_metrics(struct nvt_nsys *reader);
/* A note about tables that have rows of what devices did and that are not read. */
int nvt_nsys_note_unread(struct nvt_nsys *reader);

/* Fails for a database that is another program's. 0, or -1 with err filled. */
int nvt_nsys_refuse_foreign(struct nvt_nsys *reader);

#define NVT_ROCPD_REFUSED                                                                          \
    "is a database of ROCm's profilers (rocpd) of another schema than 3 and 4, which is not "      \
    "read: have "                                                                                  \
    "rocprofv3 write --output-format pftrace"
/* Whether a database is rocprofv3's (rocpd.c), which another reader takes. */
int nvt_rocpd_holds(struct nvt_nsys *reader);

/* Pass on what nsys itself warns of, events that it lost, say: the first NVT_NSYS_WARNINGS texts. 0, or -1 with err filled. */
int nvt_nsys_note_warnings(struct nvt_nsys *reader);

/* Open the reader's file, take its measure, for rows_left and text_left, and warn of what SQLite keeps next to it. 0, or -1 with err filled; to be closed in both cases. */
int nvt_nsys_open(struct nvt_nsys *reader);
/* One more connection to that file. A code of SQLite. */
int nvt_nsys_connect(const struct nvt_nsys *reader, sqlite3 **db);
void nvt_nsys_close(struct nvt_nsys *reader);

/* Read an export. As struct nvt_reader's read. */
int nvt_nsys_read_file(const char *path, struct nvt_trace *trace, struct nvt_error *err);

#endif
