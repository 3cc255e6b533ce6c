/*
 * A trace that was read, written as its tables (docs/trace-format.md, "Tables"): what the exporter (exports/nvt.c) and
 * the reader (readers/tables.c) have to agree on, beyond layout.h.
 */
#ifndef NVT_TABLE_FILE_H
#define NVT_TABLE_FILE_H

#include "trace.h"

/* Facts of the META chunk: what struct nvt_trace has beside its tables. Numbers are decimal. */
#define NVT_TABLES_FORMAT  "format" /* trace->format */
#define NVT_TABLES_ORIGIN  "origin"
#define NVT_TABLES_FIRST   "first"
#define NVT_TABLES_LAST    "last"
#define NVT_TABLES_LEVELS  "levels"
#define NVT_TABLES_LATE    "late" /* "1": trace->is_late */
#define NVT_TABLES_WARNING "warning"
#define NVT_TABLES_NOTES   "notes"

/* Rows of a chunk, at most; and bytes of it for each, at least, those that are zero behind its columns among them. */
#define NVT_TABLES_ROWS  32768u
#define NVT_TABLES_BYTES 2u

/* Write a trace that was finished; `level` is zstd's, 0: as it is. 0, or -1 with err. */
int nvt_tables_write(const struct nvt_trace *trace, const char *path, int level,
                     struct nvt_error *err);

#endif
