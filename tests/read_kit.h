/*
 * Reading files from tests: one that has to be read, one that must not be, and exports of nsys made from scripts. For a test
 * that includes cmocka.h.
 */
#ifndef NVT_TESTS_READ_KIT_H
#define NVT_TESTS_READ_KIT_H

#include "../analyze/readers/reader.h"

/* The trace of a file, the caller's; without one the test fails with the reason. */
struct nvt_trace *kit_read(const char *path);
/* The trace of a new file in the test's folder with that text. */
struct nvt_trace *kit_read_text(const char *name, const char *text);

/* The file is not read, for a reason of one line that holds `needle`. */
void kit_expect_unreadable(const char *path, const char *needle);

/* What one thread reads of a file, the caller's, or NULL: so many threads (a number as text) read the same, or say the same of the
 * same place. Otherwise the test fails, which names the file so. */
struct nvt_trace *kit_read_on_threads(const char *path, const char *threads, const char *what);

/* A file is read with one of its bytes changed, or not, and then for a reason. So it is for all bytes in turn, whose distance
 * grows by one in `step` bytes; what is read is a file of that name in the fixture's folder (cli.h). */
void kit_survives_changed_bytes(const char *path, const char *name, size_t step);

#ifdef HAVE_SQLITE
/* A new database from a script, t.sqlite of the fixture's folder (cli.h): its path. */
const char *kit_make_export(const char *script);

/* The number that a query answers with, of a database. */
int64_t kit_asked(const char *path, const char *query);
#endif

/* What `nvtally export` makes of a file, by that name in the fixture's folder: its path. */
const char *kit_exported(const char *from, const char *to, const char *name);

#endif
