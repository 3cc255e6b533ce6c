/* How the command ended, where that was no good end, and which iteration that cut. */
#include <inttypes.h>
#include <stdlib.h>

#include "../model/recording.h"
#include "../studies/open_items.h"
#include "diagnose.h"

/* Traces that are told of, and processes of each. */
enum { TRACES = 3, PROCESSES = 3 };

static const char *ordinal(uint32_t number)
{
    static const char *const endings[] = {"th", "st", "nd", "rd"};
    const uint32_t last = number % 10;
    return endings[last > 3 || (number % 100 > 10 && number % 100 < 14) ? 0 : last];
}

/* Which iteration of its process a range is that never ended, from 1. `iterations` are those that did. */
static uint32_t number_of(const struct nvt_trace *trace, const uint32_t *iterations, uint32_t count,
                          uint32_t range)
{
    const uint32_t *process = trace->threads.process, *thread = trace->ranges.thread;
    uint32_t number = 1;
    for (uint32_t i = 0; i < count; i++)
        number += iterations[i] < range && process[thread[iterations[i]]] == process[thread[range]];
    return number;
}

/* ": forward > Net (1.2 s)" of the thread of the process that comes first. 0, or -1 when out of memory. */
static int put_stack(const struct nvt_open_items *open, uint32_t process, struct nvt_buffer *text)
{
    uint32_t from = 0;
    while (from < open->count && nvt_open_process(open, from) != process)
        from++;
    if (from == open->count)
        return 0;
    return nvt_buffer_append(text, ": ", 2) ||
           nvt_open_put_stack(open, from, nvt_open_thread_end(open, from), text);
}

/* ", process 12 in its 21st iteration: …" of each process that was in one, the last one of it. Returns how many, or -1 when out
 * of memory. */
static int put_iterations(const struct nvt_open_items *open, const uint32_t *iterations,
                          uint32_t count, struct nvt_buffer *text)
{
    const struct nvt_trace *trace = open->trace;
    uint32_t last = NVT_NONE;
    int found = 0, failed = 0;
    for (uint32_t i = trace->ranges.count; i-- > 0 && !failed && found < PROCESSES;) {
        const uint32_t process = trace->threads.process[trace->ranges.thread[i]];
        if (!nvt_is_left_open(trace, i) || process == last || !nvt_is_called_iteration(trace, i))
            continue;
        const uint32_t number = number_of(trace, iterations, count, i);
        if (trace->processes.count > 1)
            failed = nvt_buffer_printf(text, "%s process %" PRId64, found ? ";" : ",",
                                       trace->processes.pid[process]);
        failed = failed ||
                 nvt_buffer_printf(text, " in its %" PRIu32 "%s %siteration", number,
                                   ordinal(number), trace->parts.count ? "recorded " : "") ||
                 put_stack(open, process, text);
        last = process;
        found++;
    }
    return failed ? -1 : found;
}

/* Whether a recording on request had been stopped when the threads of the program ended. */
static int was_stopped_before(const struct nvt_trace *trace)
{
    if (!nvt_trace_meta(trace, "recorded") || !trace->parts.count)
        return 0;
    for (uint32_t i = 0; i < trace->threads.count; i++)
        if (trace->threads.ended_ns[i])
            return 0;
    return 1;
}

/* "; recording had been stopped before, after 42 recorded iterations". 0, or -1 when out of memory. */
static int put_stopped(const struct nvt_trace *trace, uint32_t iterations, struct nvt_buffer *text)
{
    const uint32_t count = iterations ? iterations : trace->parts.count;
    return nvt_buffer_printf(text, "; recording had been stopped before, after %" PRIu32 " %s%s",
                             count, iterations ? "recorded iteration" : "part",
                             count == 1 ? "" : "s");
}

/* " within: …"; of several processes, the one that was may be another than the one that ended so: "; process 12 was within: …". 0, or -1
 * when out of memory. */
static int put_within(const struct nvt_open_items *open, uint32_t process, struct nvt_buffer *text)
{
    const struct nvt_processes *processes = &open->trace->processes;
    const int failed =
        processes->count > 1
            ? nvt_buffer_printf(text, "; process %" PRId64 " was within", processes->pid[process])
            : nvt_buffer_append(text, " within", 7);
    return failed || put_stack(open, process, text);
}

/* The command of a trace. What ended by itself, with a status of its own, is told of where it had not come to the end of an
 * iteration or a range. 0, or -1 when out of memory. */
static int put_end(const struct nvt_trace *trace, int is_named, struct nvt_buffer *lines)
{
    struct nvt_open_items open = {0};
    struct nvt_buffer text = {0};
    uint32_t count = 0, *iterations = nvt_iterations(trace, &count);
    int failed = !iterations || nvt_open_items_find(&open, trace);
    int found = failed ? -1 : put_iterations(&open, iterations, count, &text);
    failed = found < 0;
    if (!failed && !found && open.count) {
        found = 1;
        failed = put_within(&open, nvt_open_process(&open, 0), &text);
    }
    if (!failed && !found && was_stopped_before(trace))
        failed = put_stopped(trace, count, &text);
    if (!failed && (found || nvt_recording_has_signal(trace)))
        failed = nvt_buffer_printf(lines, "%s%sthe command %s%.*s\n", is_named ? trace->path : "",
                                   is_named ? ": " : "", nvt_trace_meta(trace, NVT_FACT_ENDED),
                                   (int)text.size, text.size ? (const char *)text.data : "");
    free(iterations);
    nvt_buffer_free(&text);
    nvt_open_items_free(&open);
    return failed;
}

int nvt_diagnose_end(const struct nvt_input *input, struct nvt_buffer *lines, struct nvt_error *err)
{
    int failed = 0;
    for (size_t i = 0, told = 0; i < input->trace_count && told < TRACES && !failed; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        if (trace->is_part || !nvt_trace_meta(trace, NVT_FACT_ENDED))
            continue;
        const size_t before = lines->size;
        failed = put_end(trace, input->trace_count > 1, lines);
        told += lines->size > before;
    }
    return failed ? nvt_fail(err, "out of memory") : 0;
}
