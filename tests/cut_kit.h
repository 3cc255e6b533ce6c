/*
 * What the tests of cut traces share: cutting a trace that is still being written, reading what is left, and comparing
 * it with the whole.
 */
#ifndef NVT_TESTS_CUT_KIT_H
#define NVT_TESTS_CUT_KIT_H

#include <stdint.h>

#include "../collectors/cut.h"
#include "record_kit.h"

/* Without status 0 the test fails with the reason. */
void cut_expect_good(int status, const struct nvt_error *err);

/* Close a writer. */
void cut_close_good(struct nvt_trace_writer *writer);

/* A copy of a trace that is still open for writing. */
struct nvt_trace_writer *cut_copy_of(const char *from, const char *to);

/* Cut what the writer has written; a few chunks at a time. */
void cut_at(struct nvt_trace_writer *writer, uint64_t ticks);

/* Where ticks are on a trace's axis, in ns, by the moments of its clock. */
int64_t cut_on_axis(const char *path, uint64_t ticks);

/* The trace of a file that is whole, the caller's. */
struct nvt_trace *cut_read_good(const char *path);

#endif
