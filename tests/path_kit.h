/* Rows of traces whose critical path is looked at. */
#ifndef NVT_TESTS_PATH_KIT_H
#define NVT_TESTS_PATH_KIT_H

#include <stdint.h>

#include "../analyze/path/critical_path.h"

/* A thread of process 10. */
uint32_t path_thread_of(struct nvt_trace *trace, int64_t tid);

/* A call of a thread; an OS call; an operation, which is a copy if its name begins with a '['. */
void path_call(struct nvt_trace *trace, int64_t tid, const char *name, uint64_t correlation,
               int64_t start, int64_t end);
void path_os_call(struct nvt_trace *trace, uint32_t thread, const char *name, int64_t start,
                  int64_t end);
void path_op(struct nvt_trace *trace, const char *name, uint32_t stream, uint64_t correlation,
             int64_t start, int64_t end);

#endif
