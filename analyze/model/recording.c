#include "recording.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "../../lib/count_of.h"

/* "SIGKILL", until the end of the block. */
#define SIGNAL_NAME(number) signal_name((number), (char[32]){0})

static const char *signal_name(int number, char out[32])
{
    static const struct {
        int number;
        const char *name;
    } names[] = {{SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"},
                 {SIGILL, "SIGILL"},   {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"},
                 {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},   {SIGKILL, "SIGKILL"},
                 {SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
                 {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},
                 {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"}};
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++)
        if (names[i].number == number)
            return names[i].name;
    snprintf(out, 32, "signal %d", number);
    return out;
}

/* What the program itself did wrong, rather than somebody who sent it. */
static int is_crash(int number)
{
    return number == SIGSEGV || number == SIGABRT || number == SIGBUS || number == SIGFPE ||
           number == SIGILL || number == SIGTRAP || number == SIGSYS;
}

int nvt_recording_set_ended(struct nvt_trace *trace, int wait_status)
{
    char text[80];
    int number = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    int code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0;
    if (number)
        snprintf(text, sizeof(text), is_crash(number) ? "crashed with %s" : "was killed by %s",
                 SIGNAL_NAME(number));
    else if (code > 128 && code < 128 + 65)
        snprintf(text, sizeof(text), "ended with exit status %d, as a shell does after %s", code,
                 SIGNAL_NAME(code - 128));
    else if (code)
        snprintf(text, sizeof(text), "ended with exit status %d", code);
    else
        return 0;
    return nvt_trace_set_meta(trace, NVT_FACT_ENDED, text);
}

int nvt_recording_has_signal(const struct nvt_trace *trace)
{
    const char *ended = nvt_trace_meta(trace, NVT_FACT_ENDED);
    return ended && strncmp(ended, "ended", 5) != 0;
}

int nvt_recording_goes_on(const struct nvt_trace *trace)
{
    return trace->goes_on || nvt_trace_meta(trace, "copy") ||
           (nvt_trace_meta(trace, "duration") && trace->open_ns);
}

int nvt_recording_level(const struct nvt_trace *trace, const char *level)
{
    const char *levels = nvt_trace_meta(trace, "trace");
    size_t length = strlen(level);
    if (!levels)
        return -1;
    for (const char *at = levels; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
        if (strcspn(at, ",") == length && !strncmp(at, level, length))
            return 1;
    return 0;
}

int nvt_is_recorders_range(const struct nvt_trace *trace, uint32_t range)
{
    /* As Chrome's events such a trace passes for one of PyTorch's profiler, which has no such category. */
    return (trace->recorder == NVT_BY_NVTALLY || trace->recorder == NVT_BY_PYTORCH) &&
           !strcmp(nvt_name(trace, trace->domains.name[trace->ranges.domain[range]]), "PyTorch");
}

int nvt_is_pytorch_program(const struct nvt_trace *trace)
{
    if (trace->recorder == NVT_BY_PYTORCH)
        return 1;
    for (uint32_t i = 0; i < trace->domains.count; i++)
        if (!strcmp(nvt_name(trace, trace->domains.name[i]), "PyTorch"))
            return 1;
    /* Names are those of ranges, kernels, functions and more: any of them will do. */
    for (uint32_t id = 0; id < nvt_strings_count(trace->strings); id++) {
        const char *name = nvt_strings_get(trace->strings, id, NULL);
        if (!strncmp(name, "aten::", 6) || strstr(name, "at::native::"))
            return 1;
    }
    return 0;
}
