/*
 * A trace that was read, written as its tables (docs/trace-format.md, "Tables"): what the exporter (exports/nvt.c) and
 * the reader (readers/tables.c) have to agree on, beyond layout.h.
 */
#ifndef NVT_TABLE_FILE_H
#define NVT_TABLE_FILE_H

#include "trace.h"

/* Facts of the META chunk: what struct nvt_trace has besides its tables. Numbers are decimal. */
#define NVT_TABLES_FORMAT          "format" /* trace->format */
#define NVT_TABLES_ORIGIN          "origin"
#define NVT_TABLES_FIRST           "first"
#define NVT_TABLES_LAST            "last"
#define NVT_TABLES_LEVELS          "levels"
#define NVT_TABLES_LATE            "late"    /* "1": trace->is_late */
#define NVT_TABLES_STOPPED         "stopped" /* "1": trace->was_stopped */
#define NVT_TABLES_OPEN            "open"    /* trace->open_ns */
#define NVT_TABLES_WARNING         "warning"
#define NVT_TABLES_TRUNCATED       "truncated" /* "1": trace->is_truncated */
#define NVT_TABLES_NOTES           "notes"
#define NVT_TABLES_PART            "part" /* "1": trace->is_part */
#define NVT_TABLES_CUT             "cut"  /* trace->cut_ns */
#define NVT_TABLES_SOURCE          "source" /* name of the file that it was made of, without its folder */
#define NVT_TABLES_BYTES_OF_SOURCE "bytes of source"

/* A text of them, at most, and tables in the directory. */
#define NVT_TABLES_FACT_BYTES (1u << 20)
#define NVT_TABLES_MOST       64u

/* Rows of a chunk, at most; and bytes of it for each, at least, those that are zero behind its columns among them. */
#define NVT_TABLES_ROWS  32768u
#define NVT_TABLES_BYTES 2u

/*
 * What a file of tables was made of: 1 with the name of that file, which has no folder, and its bytes. 0: it is none,
 * or of a part of a trace, or unknown.
 */
#define NVT_TABLES_NAME 256
int nvt_tables_source(const char *path, char name[NVT_TABLES_NAME], uint64_t *bytes);

/* Write a trace that was finished; `level` is zstd's, 0: uncompressed. 0, or -1 with err. */
int nvt_tables_write(const struct nvt_trace *trace, const char *path, int level,
                     struct nvt_error *err);

#endif
