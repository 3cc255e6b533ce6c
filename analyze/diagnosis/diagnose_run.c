/* Where the whole run went: what a diagnosis of its loop leaves out. */
#include "../studies/run_time.h"
#include "diagnose.h"

#define MOST_TRAINING 0.8

int nvt_diagnose_run(const struct nvt_input *input, struct nvt_buffer *lines, struct nvt_error *err)
{
    struct nvt_run_times times = {0};
    int status = 0;
    if (input->trace_count != 1 || !nvt_input_is_own(&input->traces[0]))
        return 0;
    const struct nvt_trace *trace = input->traces[0].trace;
    if (nvt_run_times_make(&times, trace))
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    const struct nvt_run_time *time = times.items;
    if (times.count == 1 && time->iterations && nvt_run_time_is_whole(time, trace) &&
        (double)time->ns[NVT_RUN_TRAINING] < MOST_TRAINING * (double)(time->to - time->from)) {
        char text[256];
        nvt_run_time_text(time, text, sizeof(text));
        status =
            nvt_buffer_printf(lines, "the whole run took %s (nvtally stats -r run_time)\n", text);
    }
    nvt_run_times_free(&times);
    return status ? nvt_fail(err, "out of memory") : 0;
}
