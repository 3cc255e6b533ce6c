#include "live_mark.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/ctl_mark.h"
#include "../lib/event_columns.h"
#include "../lib/grow.h"

/* The last that there is: a program has a number for each domain, from 1 on. */

static int fail_memory(struct nvt_error *err)
{
    return nvt_fail(err, "out of memory");
}

/* Of a process of another pid namespace nothing is known but whether it has rings. */
static int lives(const struct nvt_recorder *recorder, uint32_t process)
{
    struct nvt_owner owner;
    const int is_known =
        process < recorder->owners.count && !recorder->owners.items[process].foreign;
    if (is_known)
        return !nvt_owners_has_ended(&recorder->owners, process);
    for (size_t i = 0; i < recorder->count; i++)
        if (nvt_drain_owner(recorder->drains[i], &owner) == process)
            return 1;
    return 0;
}

/* What is known of each process of the trace. 0, or -1. */
static int make_room(struct nvt_live_marks *marks, uint32_t processes)
{
    while (marks->count < processes) {
        if (nvt_grow(&marks->items, marks->count, sizeof(*marks->items)))
            return -1;
        marks->items[marks->count++] = (struct nvt_live_marked){0};
    }
    return 0;
}

/* The thread and the domain of the marks, once for each process. 0, or -1. */
static int introduce(struct nvt_live_marked *marked, struct nvt_recorder *recorder,
                     uint32_t process)
{
    static const char name[] = NVT_CTL_MARK_NAME;
    if (marked->thread)
        return 0;
    if (nvt_output_define(recorder->output, process, NVT_DEFINITION_DOMAIN, 0, NVT_CTL_MARK_DOMAIN,
                          0, name, strlen(name)))
        return -1;
    const uint32_t thread = nvt_output_thread(recorder->output, process, getpid(), name);
    if (thread == UINT32_MAX)
        return -1;
    marked->thread = thread + 1;
    recorder->totals.device_threads++; /* it is none of the program's */
    return 0;
}

/* Columns of one event. 0, or -1: out of memory. */
static int put_event(struct nvt_buffer *out, uint32_t name)
{
    struct nvt_buffer tokens = {0}, times = {0}, domains = {0};
    const int failed =
        nvt_buffer_varint(&tokens, (uint64_t)name << 3 | NVT_TOKEN_MARK) ||
        nvt_buffer_varint(&times, 0) || nvt_buffer_varint(&domains, NVT_CTL_MARK_DOMAIN) ||
        nvt_buffer_varint(&domains, 1) || nvt_event_column_put(out, NVT_COLUMN_TOKENS, &tokens) ||
        nvt_event_column_put(out, NVT_COLUMN_TIMES, &times) ||
        nvt_event_column_put(out, NVT_COLUMN_DOMAINS, &domains);
    nvt_buffer_free(&tokens);
    nvt_buffer_free(&times);
    nvt_buffer_free(&domains);
    return failed ? -1 : 0;
}

/* That the thread has so many events, and lost none. */
static int put_end(struct nvt_buffer *out, uint64_t events)
{
    int failed = nvt_buffer_varint(out, events);
    for (int i = 0; i < 5; i++)
        failed = failed || nvt_buffer_varint(out, 0);
    return failed ? -1 : 0;
}

static int mark_process(struct nvt_live_marked *marked, struct nvt_recorder *recorder,
                        uint32_t process, uint32_t name, uint64_t ticks, struct nvt_error *err)
{
    struct nvt_buffer event = {0}, end = {0};
    if (introduce(marked, recorder, process))
        return fail_memory(err);
    struct nvt_chunk chunk = {.kind = NVT_CHUNK_EVENTS,
                              .process = process,
                              .thread = marked->thread - 1,
                              .count = 1,
                              .first = ticks,
                              .last = ticks};
    int status = put_event(&event, name) || put_end(&end, marked->count + 1) ? fail_memory(err) : 0;
    if (!status)
        status = nvt_output_chunk(recorder->output, &chunk, event.data, event.size, err);
    if (!status) {
        marked->count++;
        recorder->totals.events++;
        chunk.kind = NVT_CHUNK_THREAD_END;
        chunk.first = 0;
        status = nvt_output_chunk(recorder->output, &chunk, end.data, end.size, err);
    }
    nvt_buffer_free(&event);
    nvt_buffer_free(&end);
    return status;
}

int nvt_live_mark(struct nvt_live_marks *marks, struct nvt_recorder *recorder, const char *text,
                  uint32_t *processes, struct nvt_error *err)
{
    const uint64_t ticks = nvt_ticks(recorder->clock);
    *processes = 0;
    /* A process may have begun a moment ago. */
    nvt_recorder_look(recorder);
    nvt_owners_look(&recorder->owners);
    const uint32_t name = nvt_output_string(recorder->output, text, strlen(text));
    if (name == NVT_NO_STRING || make_room(marks, nvt_output_processes(recorder->output)))
        return fail_memory(err);
    for (uint32_t i = 0; i < marks->count; i++) {
        if (!lives(recorder, i))
            continue;
        if (mark_process(&marks->items[i], recorder, i, name, ticks, err))
            return -1;
        ++*processes;
    }
    return 0;
}

void nvt_live_marks_free(struct nvt_live_marks *marks)
{
    free(marks->items);
    *marks = (struct nvt_live_marks){0};
}
