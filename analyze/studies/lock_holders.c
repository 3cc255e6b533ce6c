#include "lock_holders.h"

static uint64_t key_of(uint32_t process, int64_t tid)
{
    return (uint64_t)process << 32 | (uint32_t)tid;
}

int nvt_lock_holders_make(struct nvt_lock_holders *holders, const struct nvt_waits *waits)
{
    const struct nvt_trace *trace = waits->trace;
    holders->waits = waits;
    for (uint32_t i = 0; i < trace->threads.count; i++)
        if (nvt_map_set(&holders->threads, key_of(trace->threads.process[i], trace->threads.tid[i]),
                        i))
            return -1;
    return nvt_buckets_make(&holders->calls, trace->os_calls.thread, trace->threads.count, NULL,
                            trace->os_calls.count) ||
                   nvt_buckets_make(&holders->samples, trace->cpu_samples.thread,
                                    trace->threads.count, NULL, trace->cpu_samples.count)
               ? -1
               : 0;
}

void nvt_lock_holders_free(struct nvt_lock_holders *holders)
{
    nvt_buckets_free(&holders->calls);
    nvt_buckets_free(&holders->samples);
    nvt_map_free(&holders->threads);
}

uint32_t nvt_lock_holder(const struct nvt_lock_holders *holders, uint32_t call)
{
    const struct nvt_trace *trace = holders->waits->trace;
    uint32_t holder = nvt_holder_tid(holders->waits, call);
    uint32_t process = trace->threads.process[trace->os_calls.thread[call]];
    uint32_t row = holder ? nvt_map_get(&holders->threads, key_of(process, holder)) : NVT_MAP_NONE;
    return row == NVT_MAP_NONE ? NVT_NONE : row;
}

static int add(const struct nvt_lock_holders *holders, uint32_t frame, int64_t ns, uint32_t whole,
               struct nvt_pairs *places)
{
    uint32_t site = ns > 0 ? nvt_wait_site(holders->waits->trace, frame) : 0;
    return site ? nvt_pairs_add(places, whole, site - 1, ns) : 0;
}

/* Calls of a thread follow each other: the last one that began before the wait may reach into it. While the holder waits for the
 * same lock, it is another's. */
static int add_calls(const struct nvt_lock_holders *holders, uint32_t thread, uint32_t wait,
                     uint32_t whole, struct nvt_pairs *places)
{
    const struct nvt_os_calls *calls = &holders->waits->trace->os_calls;
    const int64_t start = calls->start[wait], end = calls->end[wait];
    const struct nvt_buckets *own = &holders->calls;
    uint32_t at = nvt_buckets_from(own, thread, calls->start, start);
    int failed = 0;
    for (at -= at > own->first[thread]; at < own->first[thread + 1] && !failed; at++) {
        uint32_t row = own->rows[at];
        int64_t from = calls->start[row] > start ? calls->start[row] : start;
        int64_t to = calls->end[row] < end ? calls->end[row] : end;
        if (calls->start[row] >= end)
            break;
        if (calls->address[row] && calls->address[row] == calls->address[wait])
            continue;
        failed = add(holders, holders->waits->frame[row], to - from, whole, places);
    }
    return failed;
}

int nvt_lock_held_in(const struct nvt_lock_holders *holders, uint32_t call, uint32_t whole,
                     struct nvt_pairs *places)
{
    const struct nvt_trace *trace = holders->waits->trace;
    const struct nvt_cpu_samples *samples = &trace->cpu_samples;
    const int64_t start = trace->os_calls.start[call], end = trace->os_calls.end[call];
    uint32_t holder = nvt_lock_holder(holders, call);
    if (holder == NVT_NONE || holder == trace->os_calls.thread[call])
        return 0;
    int failed = add_calls(holders, holder, call, whole, places);
    uint32_t at = nvt_buckets_from(&holders->samples, holder, samples->time, start);
    for (; at < holders->samples.first[holder + 1] && !failed; at++) {
        uint32_t row = holders->samples.rows[at];
        if (samples->time[row] > end)
            break;
        failed = add(holders, samples->frame[row], samples->cpu_ns[row], whole, places);
    }
    return failed;
}
