/*
 * What the host ran where it is on the critical path: functions in samples of the thread that is followed, taken in
 * host code of the path. CPU time, so that of what is waited for there nothing is seen.
 */
#ifndef NVT_CRITICAL_PATH_CODE_H
#define NVT_CRITICAL_PATH_CODE_H

#include "../path/critical_path.h"
#include "cpu.h"

/* Of all traces. Zero-initialise but for the input; release with nvt_path_code_free. */
struct nvt_path_code {
    struct nvt_cpu_input input; /* nvt_cpu_count's */
    struct nvt_groups functions;
    struct nvt_pairs pairs; /* whole 0; the groups of functions */
    int64_t weight;
    uint64_t samples;
};

/* Add a trace's paths, from one moment each to another. */
struct nvt_path_part {
    const struct nvt_critical_path *path;
    int64_t from, to;
};

/* Nothing is done for a trace without samples. 0, or -1 with err filled. */
int nvt_path_code_add(struct nvt_path_code *code, const struct nvt_trace *trace,
                      const struct nvt_path_part *parts, uint32_t count, struct nvt_error *err);

/* Its table in the report, and the rows of that table. 0, or -1 when out of memory. */
#define NVT_PATH_CODE_TITLE "Host code on the critical path"
#define NVT_PATH_CODE_TABLE                                                                        \
    .title = NVT_PATH_CODE_TITLE,                                                                  \
    .columns = {{"Of Host Code (%)", NVT_PERCENT},                                                 \
                {"CPU Time (ns)", NVT_NS},                                                         \
                {"Samples", NVT_COUNTS},                                                           \
                {"Function", NVT_NAMES},                                                           \
                {"Module", NVT_NAMES}},                                                            \
    .order = {"-Of Host Code (%)", "Function"}
int nvt_path_code_put(struct nvt_table *table, struct nvt_path_code *code);
void nvt_path_code_free(struct nvt_path_code *code);

#endif
