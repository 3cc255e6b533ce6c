#include "unfinished.h"

#include <inttypes.h>

#include "open_items.h"

/* Threads of a process that a note names. */
enum { THREADS = 4 };

/* The first thread is that of the process where it bears its number. */
static int put_owner(const struct nvt_open_items *open, uint32_t item, uint32_t number,
                     struct nvt_buffer *text)
{
    const struct nvt_trace *trace = open->trace;
    uint32_t process = nvt_open_process(open, item), rank = trace->processes.rank[process];
    int64_t pid = trace->processes.pid[process];
    uint32_t thread = open->items[item].thread;
    int64_t tid = trace->threads.tid[thread];
    if (number)
        return nvt_buffer_printf(text, "; thread %" PRId64 "%s: ", tid,
                                 open->items[item].what == NVT_OPEN_OS ? "" : " within");
    int failed = nvt_buffer_printf(text, "process %" PRId64, pid);
    if (rank != NVT_NONE)
        failed |= nvt_buffer_printf(text, " (rank %" PRIu32 ")", rank);
    if (tid != pid)
        failed |= nvt_buffer_printf(text, ", thread %" PRId64 ",", tid);
    const char *state = trace->threads.ended_ns[thread] < trace->open_ns || !trace->open_ns
                            ? "ended"
                        : trace->goes_on ? "is"
                                         : "was";
    return failed | nvt_buffer_printf(text, " %s within: ", state);
}

static int put_thread(const struct nvt_open_items *open, uint32_t from, uint32_t to,
                      uint32_t number, struct nvt_buffer *text)
{
    return put_owner(open, from, number, text) || nvt_open_put_stack(open, from, to, text);
}

/* The process of [from, …): returns where its ranges end, 0 when out of memory. */
static uint32_t put_process(struct nvt_input *input, const struct nvt_open_items *open,
                            uint32_t from)
{
    struct nvt_buffer text = {0};
    uint32_t threads = 0, process = nvt_open_process(open, from), at = from;
    int failed = 0;
    while (at < open->count && nvt_open_process(open, at) == process && !failed) {
        uint32_t end = nvt_open_thread_end(open, at);
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

int nvt_note_unfinished(struct nvt_input *input, struct nvt_error *err)
{
    for (size_t i = 0; i < input->trace_count; i++) {
        struct nvt_open_items open;
        int failed = nvt_open_items_find(&open, input->traces[i].trace);
        for (uint32_t at = 0; at < open.count && !failed;) {
            at = put_process(input, &open, at);
            failed = !at;
        }
        nvt_open_items_free(&open);
        if (failed)
            return nvt_fail(err, "out of memory");
    }
    return 0;
}
