/*
 * Writing made-up events as a trace file of our own, thread by thread, ticks being nanoseconds. For
 * the generator of benchmarks; what a real recording looks like is the business of collectors/.
 */
#ifndef NVT_BENCH_NVT_SINK_H
#define NVT_BENCH_NVT_SINK_H

#include <stdint.h>

#include "lib/error.h"

struct nvt_sink;

/* A new file with one process of so many threads. NULL with err filled. */
struct nvt_sink *nvt_sink_new(const char *path, int threads, struct nvt_error *err);

/* Events; those of one kind and thread in the order of time. Failures show when it is closed. */
void nvt_sink_push(struct nvt_sink *sink, int thread, const char *name, int64_t time);
void nvt_sink_pop(struct nvt_sink *sink, int thread, int64_t time);
void nvt_sink_call(struct nvt_sink *sink, int thread, const char *name, int64_t start, int64_t end,
                   uint64_t correlation);
void nvt_sink_kernel(struct nvt_sink *sink, int thread, const char *name, int64_t start,
                     int64_t end, uint64_t correlation);

/* Write what is pending, close and free. 0, or -1 with err filled. */
int nvt_sink_close(struct nvt_sink *sink, struct nvt_error *err);

#endif
