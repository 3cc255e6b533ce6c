/* For who finds nothing: what would show more of the program on any machine. */
#include <stdio.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../model/recording.h"
#include "diagnosed.h"

/* Levels of record --trace that need no device. */
static const struct {
    const char *level;
    const char *what;
} of_host[] = {{"osrt", "what the program waits for"},
               {"cpu", "what it runs"},
               {"machine", "the load of the machine"}};

int nvt_was_recorded(const struct nvt_input *input, const char *level)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (nvt_recording_level(input->traces[i].trace, level) > 0)
            return 1;
    return 0;
}

int nvt_has_machine(const struct nvt_trace *trace)
{
    for (uint32_t c = 0; c < trace->counters.count; c++)
        if (trace->counters.is_of_machine[c])
            return 1;
    return 0;
}

/* Whether there is something of a level in one of the traces, for those that do not say what was on. */
static int has_level(const struct nvt_input *input, const char *level)
{
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        const struct nvt_diagnosed *before = input->traces[i].diagnosed;
        const unsigned has = before ? before->has : 0;
        if ((!strcmp(level, "osrt") && (trace->os_calls.count || has & NVT_RULE_OS_CALLS)) ||
            (!strcmp(level, "cpu") && (trace->cpu_samples.count || has & NVT_RULE_SAMPLES)) ||
            (!strcmp(level, "machine") && (before ? before->has_machine : nvt_has_machine(trace))))
            return 1;
    }
    return 0;
}

/* Whether a trace is a recording of a command of its own, and whether that is Python. */
static int is_recording(const struct nvt_input_trace *from)
{
    return from->trace->recorder == NVT_BY_NVTALLY && nvt_input_is_own(from) &&
           nvt_trace_meta(from->trace, "record");
}

static int is_python(const struct nvt_trace *trace)
{
    const char *command = nvt_trace_meta(trace, "command"), *slash;
    size_t length = command ? strcspn(command, " ") : 0;
    while (length && (slash = memchr(command, '/', length)) != NULL) {
        length -= (size_t)(slash + 1 - command);
        command = slash + 1;
    }
    return length >= 6 && !strncmp(command, "python", 6);
}

int nvt_diagnose_more(const struct nvt_input *input, struct nvt_buffer *lines,
                      struct nvt_error *err)
{
    char levels[48] = "", what[96] = "";
    size_t off = 0;
    int python = input->trace_count > 0;
    for (size_t i = 0; i < input->trace_count; i++) {
        if (!is_recording(&input->traces[i]))
            return 0;
        python &= is_python(input->traces[i].trace);
    }
    for (size_t i = 0; i < NVT_COUNT_OF(of_host) && input->trace_count; i++) {
        if (nvt_was_recorded(input, of_host[i].level) || has_level(input, of_host[i].level))
            continue;
        snprintf(levels + strlen(levels), sizeof(levels) - strlen(levels), ",%s", of_host[i].level);
        snprintf(what + strlen(what), sizeof(what) - strlen(what), "%s%s", off++ ? ", " : "",
                 of_host[i].what);
    }
    const int is_short = python && off == NVT_COUNT_OF(of_host);
    if (off &&
        nvt_buffer_printf(lines, "nvtally record %s%s shows more, with or without a GPU: %s\n",
                          is_short ? "--python" : "--trace nvtx", is_short ? "" : levels, what))
        return nvt_fail(err, "out of memory");
    return 0;
}
