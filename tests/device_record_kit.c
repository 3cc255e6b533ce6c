#include "device_record_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "record_kit.h"

struct nvt_trace *device_record(const struct device_record *run, char **messages)
{
    char stand_in[600], refuses[200];
    const char *path = cli_in(cli_folder, "t.nvt");
    const char *argv[12] = {"nvtally", "record", "-o", path};
    size_t count = 4;
    if (run->levels) {
        argv[count++] = "--trace";
        argv[count++] = run->levels;
    }
    if (run->capture) {
        argv[count++] = "--capture";
        argv[count++] = run->capture;
    }
    argv[count++] = "--";
    argv[count++] = cli_client("device");
    argv[count++] = run->how;
    snprintf(stand_in, sizeof(stand_in), "NVTALLY_CUPTI=%s",
             run->library ? run->library : cli_built("tests/libcupti-stand-in.so"));
    snprintf(refuses, sizeof(refuses), "STAND_IN_REFUSES=%s", run->refuses ? run->refuses : "");
    const char *environment[] = {stand_in, refuses, "CUDA_INJECTION64_PATH",
                                 "NVTX_INJECTION64_PATH", NULL};
    const struct cli_options options = {.environment = environment};
    struct cli_result result = cli_run_with(&options, argv);
    if (result.signal != run->signal || (!run->signal && result.status != run->status))
        fail_msg("ended with status %d, signal %d: %s", result.status, result.signal, result.err);
    if (messages)
        *messages = strdup(result.err);
    cli_result_free(&result);
    return recorded_trace_at(path);
}

struct nvt_trace *device_record_plainly(const char *how, const char *levels)
{
    return device_record(&(struct device_record){.how = how, .levels = levels}, NULL);
}

int device_has_note(const struct nvt_trace *trace, const char *text)
{
    return trace->notes && strstr(trace->notes, text);
}

uint32_t device_count_ops(const struct nvt_trace *trace, enum nvt_op_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->ops.count; i++)
        count += trace->ops.kind[i] == kind;
    return count;
}

uint32_t device_find_range(const struct nvt_trace *trace, const char *name)
{
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        if (!strcmp(nvt_name(trace, trace->ranges.name[i]), name))
            return i;
    fail_msg("no range '%s'", name);
    return 0;
}

uint32_t device_count_ranges(const struct nvt_trace *trace, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        count += !strcmp(nvt_name(trace, trace->ranges.name[i]), name);
    return count;
}

uint32_t device_launched_in(const struct nvt_trace *trace, uint32_t range)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->ops.count; i++)
        count += trace->ops.thread[i] == trace->ranges.thread[range] &&
                 trace->ops.launch[i] >= trace->ranges.start[range] &&
                 trace->ops.launch[i] <= trace->ranges.end[range];
    return count;
}

void device_assert_plain_links(const struct nvt_trace *trace)
{
    assert_int_equal(device_launched_in(trace, device_find_range(trace, "forward")), 2);
    assert_int_equal(device_launched_in(trace, device_find_range(trace, "backward")), 1);
    assert_int_equal(device_launched_in(trace, device_find_range(trace, "in a thread")), 3);
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void device_expect_seconds(void (*recording)(void), double least, double most)
{
    double took = 0;
    for (int i = 0; i < CLI_TRIES; i++) {
        const double before = seconds_now();
        recording();
        took = seconds_now() - before;
        assert_true(took >= least);
        if (took < most)
            return;
    }
    cli_give_up("%.2f s; each of %d recordings took more than %.2f s", took, CLI_TRIES, most);
}
