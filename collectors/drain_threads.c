/*
 * The threads whose ring it is, one after the other: each has rows of its own in the trace.
 */
#include <string.h>

#include "drain_state.h"

void nvt_drain_note_no_memory(struct nvt_drain *drain)
{
    if (!drain->totals.error.message[0])
        nvt_fail(&drain->totals.error, "out of memory");
}

int nvt_drain_begin_thread(struct nvt_drain *drain, int tid, const char *thread_name)
{
    char name[sizeof(drain->ring->thread_name) + 1];
    memcpy(name, thread_name, sizeof(drain->ring->thread_name));
    name[sizeof(name) - 1] = 0;
    drain->thread = nvt_output_thread(drain->output, drain->process, tid, name);
    drain->has_ended = 0;
    drain->task = 0;
    drain->tasks.size = 0;
    drain->owners++;
    drain->os.thread = drain->cpu.thread = drain->thread;
    drain->os.tid = tid;
    drain->os.told = 0;
    return drain->thread == UINT32_MAX ? -1 : 0;
}

/* What the ring counts of all its threads, less what those before have had. */
static uint64_t since(_Atomic uint64_t *counter, uint64_t *before)
{
    uint64_t now = atomic_load(counter), more = now - *before;
    *before = now;
    return more;
}

/* `now`: when the thread's end was noticed, or that of its recording where it lives on. */
static void write_end(struct nvt_drain *drain, uint64_t now, int lives)
{
    struct nvt_buffer row = {0};
    struct nvt_drain_totals *totals = &drain->totals;
    struct nvt_chunk chunk = {.kind = NVT_CHUNK_THREAD_END,
                              .process = drain->process,
                              .thread = drain->thread,
                              .count = 1,
                              .last = now};
    totals->dropped = since(&drain->ring->dropped, &drain->before.dropped);
    totals->nested = since(&drain->ring->nested, &drain->before.nested);
    totals->waited_ns = since(&drain->ring->waited_ns, &drain->before.waited_ns);
    if (!nvt_buffer_varint(&row, totals->events) && !nvt_buffer_varint(&row, totals->dropped) &&
        !nvt_buffer_varint(&row, totals->nested) && !nvt_buffer_varint(&row, totals->unwritten) &&
        !nvt_buffer_varint(&row, totals->waited_ns) && !nvt_buffer_varint(&row, lives != 0))
        nvt_output_chunk(drain->output, &chunk, row.data, row.size, NULL);
    else
        nvt_drain_note_no_memory(drain);
    nvt_buffer_free(&row);
}

void nvt_drain_add_totals(struct nvt_drain_totals *sum, const struct nvt_drain_totals *more)
{
    sum->events += more->events;
    sum->device_records += more->device_records;
    sum->os_calls += more->os_calls;
    sum->cpu_samples += more->cpu_samples;
    sum->sampled_ns += more->sampled_ns;
    for (int i = 0; i < NVT_PYTHON_STATES; i++)
        sum->python.samples[i] += more->python.samples[i];
    sum->batches += more->batches;
    sum->device_threads += more->device_threads;
    sum->dropped += more->dropped;
    sum->too_deep |= more->too_deep;
    sum->nested += more->nested;
    sum->unwritten += more->unwritten;
    sum->waited_ns += more->waited_ns;
    if (!sum->error.message[0])
        sum->error = more->error;
}

void nvt_drain_end_thread(struct nvt_drain *drain, uint64_t now, int lives)
{
    struct nvt_drain_totals *totals = &drain->totals;
    if (drain->has_ended)
        return;
    nvt_drain_os_take_open(&drain->os, &drain->ring->calling, now);
    nvt_drain_flush(drain, 1);
    write_end(drain, now, lives);
    totals->device_threads =
        totals->batches && !totals->events && !totals->os_calls && !totals->cpu_samples;
    nvt_drain_add_totals(&drain->past, totals);
    *totals = (struct nvt_drain_totals){0};
    drain->has_ended = 1;
}

void nvt_drain_take_owner(struct nvt_drain *drain, uint64_t ticks, const uint8_t *data, size_t size)
{
    uint64_t tid;
    char name[sizeof(drain->ring->thread_name)];
    if (size < 2 * sizeof(tid) + sizeof(name))
        return;
    memcpy(&tid, data, sizeof(tid));
    memcpy(name, data + 2 * sizeof(tid), sizeof(name));
    nvt_drain_end_thread(drain, ticks, 0);
    if (nvt_drain_begin_thread(drain, (int)tid, name)) {
        nvt_drain_note_no_memory(drain);
        drain->broken = 1;
    }
}
