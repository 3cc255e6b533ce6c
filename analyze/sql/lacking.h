/*
 * What statements read and the input has not. No row then means nothing: it was not recorded, or the window has none of it. A level of
 * `record --trace` that was on is no such case: there is nothing of the kind.
 */
#ifndef NVT_SQL_LACKING_H
#define NVT_SQL_LACKING_H

#include "connection.h"

/* Forget which tables were read. */
void nvt_sql_forget_reads(struct nvt_sql *sql);

/* A statement that is being prepared reads a table. */
void nvt_sql_note_read(struct nvt_sql *sql, const char *table);

/*
 * Of the tables that were read since: find the first that lacks its rows (sql->lacks), and with `notes` put that, and what reports
 * noted as they were made, into the input's notes, each line once. 0, or -1 when out of memory.
 */
int nvt_sql_look_for_lacks(struct nvt_sql *sql, int notes);

#endif
