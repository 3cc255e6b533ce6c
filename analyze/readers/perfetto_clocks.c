/* Clocks of Perfetto's traces: BOOTTIME is the trace's, and snapshots say what others showed at the same moment. */
#include "perfetto.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"

/* Times beyond are none: the difference of two has to be a number. */
#define MOST (INT64_C(1) << 61)

/* The clock of a number, of the trace or the sequence; NULL: out of memory. */
static struct nvt_perfetto_clock *clock_of(struct nvt_perfetto *reader,
                                           struct nvt_perfetto_sequence *sequence, uint32_t id)
{
    if (id < NVT_PERFETTO_OWN_CLOCKS)
        return &reader->clock[id];
    for (uint32_t i = 0; i < sequence->clock_count; i++)
        if (sequence->clocks[i].id == id)
            return &sequence->clocks[i];
    if (sequence->clock_count == 64 ||
        nvt_grow(&sequence->clocks, sequence->clock_count, sizeof(*sequence->clocks)))
        return NULL;
    sequence->clocks[sequence->clock_count] = (struct nvt_perfetto_clock){.id = id, .unit = 1};
    return &sequence->clocks[sequence->clock_count++];
}

static int scale(uint64_t value, int64_t unit, int64_t *out)
{
    if (value > (uint64_t)MOST || __builtin_mul_overflow((int64_t)value, unit ? unit : 1, out))
        return -1;
    return *out > MOST ? -1 : 0;
}

int nvt_perfetto_moment(struct nvt_perfetto *reader, struct nvt_perfetto_sequence *sequence,
                        uint32_t clock, uint64_t value, int64_t *out)
{
    int64_t ns;
    const int is_own = !clock || clock == NVT_PERFETTO_BOOTTIME;
    struct nvt_perfetto_clock *from = is_own ? NULL : clock_of(reader, sequence, clock);
    if (scale(value, from ? from->unit : 1, &ns))
        return -1;
    if (from && from->is_incremental) {
        if (__builtin_add_overflow(from->last, ns, &ns) || ns > MOST)
            return -1;
        from->last = ns;
    }
    *(from && !from->has_moment ? &reader->untold_times : &reader->told_times) += 1;
    if (from && from->has_moment &&
        (__builtin_add_overflow(ns, from->to - from->from, &ns) || ns > MOST || ns < -MOST))
        return -1;
    *out = ns;
    return 0;
}

struct reading {
    uint32_t id;
    int is_incremental;
    int64_t unit, ns;
    int is_good;
};

static struct reading read_clock(struct nvt_wire clock)
{
    struct reading reading = {.unit = 1};
    struct nvt_wire_field field;
    uint64_t value = 0;
    while (nvt_wire_next(&clock, &field) > 0) {
        if (field.type != NVT_WIRE_VARINT)
            continue;
        if (field.number == 1)
            reading.id = (uint32_t)field.value;
        else if (field.number == 2)
            value = field.value;
        else if (field.number == 3)
            reading.is_incremental = field.value != 0;
        else if (field.number == 4 && field.value < 1000000000)
            reading.unit = (int64_t)field.value;
    }
    reading.is_good = reading.id && !scale(value, reading.unit, &reading.ns);
    return reading;
}

#define MOST_READINGS 32

int nvt_perfetto_snapshot(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                          struct nvt_wire snapshot)
{
    struct reading readings[MOST_READINGS];
    unsigned count = 0;
    int64_t boot = INT64_MIN;
    struct nvt_wire_field field;
    while (nvt_wire_next(&snapshot, &field) > 0 && count < MOST_READINGS) {
        if (field.number != 1 || field.type != NVT_WIRE_BYTES)
            continue;
        readings[count] = read_clock(nvt_wire_in(&field));
        if (readings[count].is_good && readings[count].id == NVT_PERFETTO_BOOTTIME)
            boot = readings[count].ns;
        count += readings[count].is_good != 0;
    }
    /* Without the trace's clock: by another one that is known. */
    for (unsigned i = 0; i < count && boot == INT64_MIN; i++) {
        const uint32_t id = readings[i].id;
        if (id >= NVT_PERFETTO_OWN_CLOCKS || !reader->clock[id].has_moment)
            continue;
        const int64_t ns = readings[i].ns + (reader->clock[id].to - reader->clock[id].from);
        boot = ns > MOST || ns < -MOST ? INT64_MIN : ns;
    }
    if (boot == INT64_MIN && count)
        boot = readings[0].ns;
    for (unsigned i = 0; i < count; i++) {
        struct nvt_perfetto_clock *clock = clock_of(reader, packet->sequence, readings[i].id);
        if (!clock)
            return nvt_kineto_no_memory(&reader->kineto);
        clock->is_incremental = readings[i].is_incremental;
        clock->unit = readings[i].unit;
        clock->last = clock->from = readings[i].ns;
        clock->to = boot;
        clock->has_moment = 1;
        if (readings[i].id == NVT_PERFETTO_REALTIME && !reader->has_origin) {
            reader->has_origin = 1;
            reader->kineto.trace->origin_ns = readings[i].ns - boot;
        }
    }
    return 0;
}
