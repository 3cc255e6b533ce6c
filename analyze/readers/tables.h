/*
 * Inside the reader of files of tables: what tables.c, which finds out what there is, and table_rows.c, which puts it
 * into the model, share.
 */
#ifndef NVT_READ_TABLES_H
#define NVT_READ_TABLES_H

#include <pthread.h>

#include "../../lib/trace_file.h"
#include "../model/layout.h"
#include "../model/table_file.h"
#include "nvt_strings.h"

#define NVT_TABLE_COLUMNS_MOST 256u

/* A column as the file has it. */
struct nvt_file_column {
    const struct nvt_layout_column *is; /* NULL: not known here, or not wanted */
    uint32_t number;                    /* in the table's layout */
    uint32_t base; /* column of the file that it is a difference to, and 1; 0: none */
    uint64_t most; /* of numbers the largest; of rows and texts how many there are */
};

struct nvt_file_table {
    const struct nvt_layout_table *is; /* NULL: not known here */
    uint64_t claimed;                  /* rows that there are to be */
    uint32_t rows;                     /* of chunks that are there */
    struct nvt_file_column *columns;
    uint32_t count;
};

struct nvt_file_part {
    struct nvt_chunk header;
    int64_t offset;
    uint32_t table;
};

struct nvt_tables_reading {
    struct nvt_trace *trace;
    struct nvt_trace_file *file;
    struct nvt_file_strings strings;
    int is_same_text; /* the file's ids are the model's */
    struct nvt_file_table *tables;
    uint32_t table_count;
    uint32_t open; /* the table whose rows come now */
    struct nvt_file_part *parts;
    size_t part_count;
    int has_tables, has_facts, ended;
    char source[NVT_TABLES_NAME];
    int64_t source_bytes;
    int64_t first, last, levels;
    /* Of the second step: */
    pthread_mutex_t lock;
    size_t next;
    size_t damaged; /* the first part that could not be read */
    int no_memory;
    struct nvt_error err; /* of that */
};

/*
 * When all parts are found: unpack them into the trace's tables, up to the first that is damaged. 0; or -1 when
 * there is no memory (reading->no_memory), or with err.
 */
int nvt_tables_fill(struct nvt_tables_reading *reading, struct nvt_error *err);

#endif
