#include "clocks.h"

#include <math.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../model/payload.h"
#include "../model/workload_ranges.h"

#define RANKS_MOST 65536
/* An axis that begins here and later is CLOCK_REALTIME itself: 2001. */
#define EPOCH_NS INT64_C(1000000000000000000)

struct nvt_rank_clock nvt_rank_clock_of(const struct nvt_trace *trace)
{
    struct nvt_rank_clock clock = {0};
    const struct nvt_marks *marks = &trace->marks;
    uint32_t i = 0;
    while (i < marks->count && (strcmp(nvt_name(trace, marks->name[i]), "clock offset") != 0 ||
                                !nvt_is_workloads_domain(trace, marks->domain[i])))
        i++;
    if (i == marks->count)
        return clock;
    const char *payload = nvt_name(trace, marks->payload[i]);
    double number = nvt_member_number(payload, "\"rank\"");
    double ranks = nvt_member_number(payload, "\"ranks\"");
    if (ranks >= 1 && ranks <= RANKS_MOST && number >= 0 && number < floor(ranks)) {
        clock.rank = (int)number;
        clock.ranks = (int)ranks;
    }
    clock.to_rank0 = nvt_member_time(payload, "\"offset_ns\"");
    int64_t time = nvt_member_time(payload, "\"time_ns\"");
    if (time)
        clock.to_rank0 += time - marks->time[i];
    if (clock.to_rank0 < -NVT_PAYLOAD_TIME_MOST || clock.to_rank0 > NVT_PAYLOAD_TIME_MOST)
        clock.to_rank0 = 0;
    return clock;
}

int nvt_has_realtime(const struct nvt_trace *trace)
{
    return trace->origin_ns || trace->first_ns >= EPOCH_NS;
}

int64_t nvt_realtime_shift(const struct nvt_trace *from, const struct nvt_trace *to)
{
    return nvt_clock_since(from->origin_ns, to->origin_ns);
}

size_t nvt_shifts_to_first(const struct nvt_trace *const *traces, size_t count, int64_t *shifts)
{
    const struct nvt_rank_clock first =
        count ? nvt_rank_clock_of(traces[0]) : (struct nvt_rank_clock){0};
    size_t unknown = 0, by_mark = first.ranks > 0;
    for (size_t i = 0; i < count; i++) {
        const struct nvt_rank_clock clock = nvt_rank_clock_of(traces[i]);
        by_mark = by_mark && clock.ranks == first.ranks;
        shifts[i] = nvt_clock_since(clock.to_rank0, first.to_rank0);
    }
    for (size_t i = 0; i < count && !by_mark; i++) {
        const int is_known = !i || (nvt_has_realtime(traces[0]) && nvt_has_realtime(traces[i]));
        shifts[i] = !i         ? 0
                    : is_known ? nvt_realtime_shift(traces[i], traces[0])
                               : nvt_clock_since(traces[0]->first_ns, traces[i]->first_ns);
        unknown += !is_known;
    }
    return unknown;
}
