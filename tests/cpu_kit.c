#include "cpu_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record_kit.h"

struct cli_result cpu_run_with(const char *levels, const char *const options[4],
                               const char *const command[])
{
    const char *argv[32] = {"nvtally", "record", "--trace", levels, "-o", recorded_path()};
    size_t count = 6;
    for (size_t i = 0; i < 4 && options && options[i]; i++)
        argv[count++] = options[i];
    argv[count++] = "--";
    while (*command)
        argv[count++] = *command++;
    argv[count] = NULL;
    return cli_run_with(&(struct cli_options){.timeout_s = 120}, argv);
}

struct cli_result cpu_run(const char *what, const char *levels, const char *option,
                          const char *value)
{
    const char *const options[4] = {option, value};
    return cpu_run_with(levels, options,
                        (const char *const[]){cli_client("cpu_samples"), what, NULL});
}

struct nvt_trace *cpu_record_in(int tries, const char *what, const char *levels, const char *option,
                                const char *value)
{
    struct cli_result result = cpu_run(what, levels, option, value);
    for (; --tries > 0 && strstr(result.err, "at full buffers");
         result = cpu_run(what, levels, option, value))
        cli_result_free(&result);
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "lost"));
    assert_null(strstr(result.err, "dropped"));
    assert_null(strstr(result.err, "line "));
    cli_result_free(&result);
    return recorded_trace();
}

struct nvt_trace *cpu_record(const char *what, const char *levels, const char *option,
                             const char *value)
{
    return cpu_record_in(1, what, levels, option, value);
}

int cpu_is_called(const struct nvt_trace *trace, uint32_t frame, const char *name)
{
    const char *found = nvt_name(trace, trace->call_frames.name[frame]);
    size_t length = strlen(name);
    return !strncmp(found, name, length) && (!found[length] || strchr(".( @", found[length]));
}

int cpu_is_in(const struct nvt_trace *trace, uint32_t sample, const char *name)
{
    for (uint32_t at = trace->cpu_samples.frame[sample]; at; at = trace->call_frames.parent[at - 1])
        if (cpu_is_called(trace, at - 1, name))
            return 1;
    return 0;
}

int64_t cpu_time_in(const struct nvt_trace *trace, const char *function, const char *thread)
{
    int64_t ns = 0;
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++)
        if ((!thread ||
             !strcmp(nvt_name(trace, trace->threads.name[trace->cpu_samples.thread[i]]), thread)) &&
            (!function || cpu_is_in(trace, i, function)))
            ns += trace->cpu_samples.cpu_ns[i];
    return ns / 1000000;
}

char cpu_wrong[512];

void cpu_tried(void **state)
{
    void (*const *test)(void **) = *state;
    for (int i = 0; i < CLI_TRIES; i++) {
        cpu_wrong[0] = 0;
        (*test)(NULL);
        if (!cpu_wrong[0])
            return;
        print_message("%s\n", cpu_wrong);
    }
    cli_give_up("%s, %d times", cpu_wrong, CLI_TRIES);
}

void cpu_expect_time(const struct nvt_trace *trace, const char *function, const char *thread,
                     int64_t ms)
{
    int64_t found = cpu_time_in(trace, function, thread), most = ms / 10 + 40;
    if (found < ms - most || found > ms + most)
        snprintf(cpu_wrong, sizeof(cpu_wrong), "%s of %s: %lld ms, not %lld",
                 function ? function : "everything", thread ? thread : "any thread",
                 (long long)found, (long long)ms);
}

struct CMUnitTest cpu_test(const char *name, void (*const *test)(void **))
{
    return (struct CMUnitTest){.name = name, .test_func = cpu_tried, .initial_state = (void *)test};
}
