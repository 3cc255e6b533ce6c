/*
 * Traces of a few rows, made one by one: what the tests of the projection look at.
 */
#ifndef NVT_TESTS_SMALL_TRACE_H
#define NVT_TESTS_SMALL_TRACE_H

#include "../analyze/model/trace.h"

/* A new trace, owned by the caller; it is read when it is finished. */
struct nvt_trace *small_trace(void);
void small_trace_finish(struct nvt_trace *trace);

/* The row of a thread, which is made when it is new. */
uint32_t small_thread(struct nvt_trace *trace, int64_t pid, int64_t tid);

/* Times are ns. The device and stream, kind and name of an operation follow from its start; `thread`
 * and `launch` are of one whose call is not there, else NVT_NONE and INT64_MIN. */
void small_range(struct nvt_trace *trace, uint32_t thread, const char *domain, const char *name,
                 int64_t start, int64_t end, uint8_t style);
void small_call(struct nvt_trace *trace, uint32_t thread, uint64_t correlation, int64_t start,
                int64_t end);
void small_op(struct nvt_trace *trace, uint32_t process, uint64_t correlation, int64_t start,
              int64_t end, uint32_t thread, int64_t launch);

/* A call from `start` to `end` and its operation from `from` to `to`. */
void small_launch(struct nvt_trace *trace, uint32_t thread, uint64_t correlation, int64_t start,
                  int64_t end, int64_t from, int64_t to);

#endif
