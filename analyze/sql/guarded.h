/*
 * SQLite's functions that a statement can hide a failure or hours of work in, replaced by ones that call them where they are harmless:
 *
 *   printf, format           SQLite answers NULL where the text gets too long; here the statement ends with an error
 *   instr, replace,          SQLite compares at every place, in one step that no time limit ends; here the lengths of the two
 *   trim, ltrim, rtrim       texts are limited: their product, NVT_SQL_COMPARED_MOST
 *
 * The originals are called on a connection of their own, which has no tables.
 */
#ifndef NVT_SQL_GUARDED_H
#define NVT_SQL_GUARDED_H

#include <sqlite3.h>
#include <stdint.h>

/* Bytes times bytes: two seconds of SQLite's slowest comparison. */
#define NVT_SQL_COMPARED_MOST (INT64_C(1) << 31)

struct nvt_sql_guarded;

/* Replace them for a connection, whose limits hold for the originals too. NULL when out of memory. */
struct nvt_sql_guarded *nvt_sql_guard(sqlite3 *db);
/* After the connection was closed. */
void nvt_sql_unguard(struct nvt_sql_guarded *guarded);

#endif
