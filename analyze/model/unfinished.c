#include "unfinished.h"

#include <inttypes.h>
#include <stdlib.h>

#include "../../lib/text.h"
#include "../diagnosis/diagnose.h"

/* Threads of a process, and ranges on either side of a deep stack, that a note names. */
enum { THREADS = 4, OUTERMOST = 2, INNERMOST = 4, NAME = 100 };

/* Unclosed push/pop ranges: row numbers, by process, thread and start. */
struct open {
    const struct nvt_trace *trace;
    uint32_t *rows;
    uint32_t count;
};

static int is_open(const struct nvt_trace *trace, uint32_t i)
{
    return trace->ranges.flags[i] & NVT_RANGE_UNCLOSED && trace->ranges.style[i] == NVT_PUSH_POP;
}

static uint32_t process_of(const struct open *open, uint32_t i)
{
    return open->trace->threads.process[open->trace->ranges.thread[open->rows[i]]];
}

static int compare(const void *left, const void *right, void *context)
{
    const struct nvt_trace *trace = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    uint32_t one = trace->ranges.thread[a], other = trace->ranges.thread[b];
    uint32_t own = trace->threads.process[one], others = trace->threads.process[other];
    if (own != others)
        return own < others ? -1 : 1;
    if (one != other)
        return one < other ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* 0, or -1 when out of memory. */
static int find_open(struct open *open)
{
    const struct nvt_trace *trace = open->trace;
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        count += is_open(trace, i) != 0;
    open->rows = malloc(((size_t)count + 1) * sizeof(*open->rows));
    if (!open->rows)
        return -1;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        if (is_open(trace, i))
            open->rows[open->count++] = i;
    qsort_r(open->rows, open->count, sizeof(*open->rows), compare, (void *)trace);
    return 0;
}

/* A name, long ones cut between two characters, with "…". */
static int put_name(const char *name, struct nvt_buffer *text)
{
    const char *at = name;
    size_t kept = 0;
    for (size_t count = 0; *at && count < NAME; count++) {
        kept = (size_t)(at - name);
        (void)nvt_utf8_next(&at);
    }
    return *at ? nvt_buffer_printf(text, "%.*s…", (int)kept, name)
               : nvt_buffer_printf(text, "%s", name);
}

/* Since when a range has been open: longer than the trace goes back, it may be. `carried`: how many of its thread's that
 * do have been asked for. */
static int64_t begin_of(const struct nvt_trace *trace, uint32_t range, uint32_t *carried)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    const struct nvt_carried *table = &trace->carried;
    if (!(ranges->flags[range] & NVT_RANGE_CARRIED))
        return ranges->start[range];
    uint32_t left = (*carried)++;
    for (uint32_t i = 0; i < table->count; i++)
        if (table->thread[i] == ranges->thread[range] && !left--)
            return table->begun[i];
    return ranges->start[range];
}

/* "name (5.2 s)": how long it had been open when its thread ended, where that is known. */
static int put_range(const struct open *open, uint32_t range, int64_t begun,
                     struct nvt_buffer *text)
{
    const struct nvt_trace *trace = open->trace;
    int64_t ended = trace->threads.ended_ns[trace->ranges.thread[range]];
    if (put_name(nvt_name(trace, trace->ranges.name[range]), text))
        return -1;
    return ended > begun ? nvt_buffer_printf(text, " (%s)", NVT_TIME((double)(ended - begun))) : 0;
}

/* The ranges [from, to) of a thread: none of them ended, so each lies in the one before it. */
static int put_stack(const struct open *open, uint32_t from, uint32_t to, struct nvt_buffer *text)
{
    uint32_t carried = 0;
    int failed = 0;
    for (uint32_t i = from; i < to && !failed; i++) {
        int64_t begun = begin_of(open->trace, open->rows[i], &carried);
        if (i - from >= OUTERMOST && to - from > OUTERMOST + INNERMOST + 1 && to - i > INNERMOST) {
            failed = i - from == OUTERMOST && nvt_buffer_printf(text, " > …");
            continue;
        }
        failed = nvt_buffer_printf(text, "%s", i > from ? " > " : "") ||
                 put_range(open, open->rows[i], begun, text);
    }
    return failed;
}

/* The first thread is that of the process where it bears its number. */
static int put_thread(const struct open *open, uint32_t from, uint32_t to, uint32_t number,
                      struct nvt_buffer *text)
{
    const struct nvt_trace *trace = open->trace;
    int64_t pid = trace->processes.pid[process_of(open, from)];
    int64_t tid = trace->threads.tid[trace->ranges.thread[open->rows[from]]];
    int failed = 0;
    if (number)
        failed = nvt_buffer_printf(text, "; thread %" PRId64 " within: ", tid);
    else if (tid == pid)
        failed = nvt_buffer_printf(text, "process %" PRId64 " ended within: ", pid);
    else
        failed = nvt_buffer_printf(
            text, "process %" PRId64 ", thread %" PRId64 ", ended within: ", pid, tid);
    return failed || put_stack(open, from, to, text);
}

/* The process of [from, …): returns where its ranges end, 0 when out of memory. */
static uint32_t put_process(struct nvt_report_input *input, const struct open *open, uint32_t from)
{
    const struct nvt_ranges *ranges = &open->trace->ranges;
    struct nvt_buffer text = {0};
    uint32_t threads = 0, process = process_of(open, from), at = from;
    int failed = 0;
    while (at < open->count && process_of(open, at) == process && !failed) {
        uint32_t end = at;
        while (end < open->count &&
               ranges->thread[open->rows[end]] == ranges->thread[open->rows[at]])
            end++;
        if (threads < THREADS)
            failed = put_thread(open, at, end, threads, &text);
        threads++;
        at = end;
    }
    if (threads > THREADS)
        failed =
            failed || nvt_buffer_printf(&text, "; and %" PRIu32 " more threads", threads - THREADS);
    if (!failed)
        nvt_note(input, "note: %s: %.*s", open->trace->path, (int)text.size,
                 (const char *)text.data);
    nvt_buffer_free(&text);
    return failed ? 0 : at;
}

int nvt_note_unfinished(struct nvt_report_input *input, struct nvt_error *err)
{
    for (size_t i = 0; i < input->trace_count; i++) {
        struct open open = {.trace = input->traces[i].trace};
        int failed = find_open(&open);
        for (uint32_t at = 0; at < open.count && !failed;) {
            at = put_process(input, &open, at);
            failed = !at;
        }
        free(open.rows);
        if (failed)
            return nvt_fail(err, "out of memory");
    }
    return 0;
}
