#include "nvtx_time.h"

#include <stdatomic.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/trace_file.h"
#include "session.h"

#define SAMPLE_NS       INT64_C(100000000) /* between two moments of a clock that we read */
#define SAMPLE_LEAST_NS INT64_C(1000000)   /* and between the first two */
#define READS           8
#define SURE_NS         5000
#define SPINS           10000

/* Moments of a clock and of a known one. */
struct line {
    int clock; /* the known one, enum nvt_sample_clock */
    int is_known;
    int64_t first, first_known; /* the first moment of both, */
    int64_t last, last_known;   /* and the last */
    double rate;                /* 0: not known */
};

struct time_domain {
    struct time_domain *next;
    uint64_t id;
    int clock;
    _Atomic int busy; /* somebody reads or changes what follows */
    struct line line;
    int64_t (*source)(void);
    int64_t (*source_with_data)(void *data);
    void *data;
    int64_t sampled; /* CLOCK_MONOTONIC, 0: never */
};

static struct time_domain *_Atomic domains;
static _Atomic uint64_t next_id = NVTX_TIME_DOMAIN_ID_DYNAMIC_START;

static int clock_of_type(uint64_t type)
{
    switch (type) {
    case NVTX_TIMESTAMP_TYPE_NONE:
    case NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED:
        return NVT_SAMPLE_TICKS;
    case NVTX_TIMESTAMP_TYPE_CPU_TSC:
        return nvt_session.control->clock == NVT_CLOCK_TSC ? NVT_SAMPLE_TICKS : -1;
    case NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC:
    case NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC_COARSE:
    case NVTX_TIMESTAMP_TYPE_CPP_STEADY_CLOCK: /* of libstdc++ and libc++ on Linux */
        return NVT_SAMPLE_MONOTONIC;
    case NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_REALTIME:
    case NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_REALTIME_COARSE:
        return NVT_SAMPLE_REALTIME;
    default:
        return -1;
    }
}

static struct time_domain *find(uint64_t id)
{
    for (struct time_domain *known = atomic_load(&domains); known; known = known->next)
        if (known->id == id)
            return known;
    return NULL;
}

/* NULL: there is no memory. */
static struct time_domain *add(uint64_t id, int clock)
{
    struct time_domain *fresh = nvt_session_memory(sizeof(*fresh));
    if (!fresh)
        return NULL;
    memset(fresh, 0, sizeof(*fresh));
    fresh->id = id;
    fresh->clock = clock;
    fresh->next = atomic_load(&domains);
    while (!atomic_compare_exchange_weak(&domains, &fresh->next, fresh)) {
    }
    return fresh;
}

/* That of a type, which nobody registers, too. */
static struct time_domain *get(uint64_t id)
{
    struct time_domain *known = find(id);
    return known ? known : add(id, clock_of_type(id));
}

int nvt_time_clock(uint64_t time_domain)
{
    const struct time_domain *known = find(time_domain);
    return known ? known->clock : clock_of_type(time_domain);
}

uint64_t nvt_time_register(nvtxDomainHandle_t domain, const nvtxTimeDomainAttr_t *from)
{
    (void)domain;
    const struct time_domain *fresh =
        from ? add(from->timeDomainId ? from->timeDomainId : atomic_fetch_add(&next_id, 1),
                   clock_of_type(from->timestampTypeId))
             : NULL;
    return fresh ? fresh->id : NVTX_TIME_DOMAIN_ID_NONE;
}

/* --- clocks that are not known ---------------------------------------------------------------------- */

/* Whether it is ours now; not for one that interrupts who has it. */
static int take(struct time_domain *of)
{
    for (int i = 0; i < SPINS; i++)
        if (!atomic_exchange(&of->busy, 1))
            return 1;
    return 0;
}

static void give(struct time_domain *of)
{
    atomic_store(&of->busy, 0);
}

static void note(struct line *line, int clock, int64_t time, int64_t known)
{
    if (!line->is_known || line->clock != clock) {
        *line = (struct line){clock, 1, time, known, time, known, 0};
        return;
    }
    line->last = time;
    line->last_known = known;
    if (time != line->first)
        line->rate = (double)(known - line->first_known) / (double)(time - line->first);
}

/* Of a time on a line. Whether the line is known. */
static int follow(const struct line *line, int64_t *time)
{
    const double since = (double)(*time - line->last) * line->rate;
    if (!(line->rate > 0) || !(since > -9e18 && since < 9e18))
        return 0;
    *time = (int64_t)((uint64_t)line->last_known + (uint64_t)(int64_t)since);
    return 1;
}

static int64_t read_source(const struct time_domain *of)
{
    return of->source ? of->source() : of->source_with_data(of->data);
}

/* Read it as often as that says more. It is the program's own function. */
static void sample(struct time_domain *of)
{
    const int64_t now = nvt_monotonic_ns();
    if ((!of->source && !of->source_with_data) ||
        (of->sampled && now - of->sampled < (of->line.rate > 0 ? SAMPLE_NS : SAMPLE_LEAST_NS)))
        return;
    of->sampled = now;
    int64_t best = INT64_MAX, time = 0, known = 0;
    /* Who is interrupted in between reads it once more. */
    for (int i = 0; i < READS && best > SURE_NS; i++) {
        const int64_t before = nvt_monotonic_ns(), read = read_source(of);
        const int64_t took = nvt_monotonic_ns() - before;
        if (took >= best)
            continue;
        best = took;
        time = read;
        known = before + took / 2;
    }
    note(&of->line, NVT_SAMPLE_MONOTONIC, time, known);
}

int nvt_time_convert(uint64_t time_domain, int64_t *time)
{
    int clock = nvt_time_clock(time_domain);
    struct time_domain *of = clock < 0 ? find(time_domain) : NULL;
    if (!of || !take(of))
        return clock;
    sample(of);
    if (follow(&of->line, time))
        clock = of->line.clock;
    give(of);
    return clock;
}

/* `known` is a time of another domain, which can be told. Whether that is so. */
static int note_moment(uint64_t time_domain, int64_t time, uint64_t other, int64_t known)
{
    const int clock = nvt_time_convert(other, &known);
    struct time_domain *of =
        clock >= 0 && nvt_time_clock(time_domain) < 0 ? get(time_domain) : NULL;
    if (!of || !take(of))
        return 0;
    note(&of->line, clock, time, known);
    give(of);
    return 1;
}

void nvt_time_sync(nvtxDomainHandle_t domain, uint64_t first, uint64_t second, int64_t first_time,
                   int64_t second_time)
{
    (void)domain;
    if (!note_moment(first, first_time, second, second_time))
        note_moment(second, second_time, first, first_time);
}

void nvt_time_sync_table(nvtxDomainHandle_t domain, uint64_t first, uint64_t second,
                         const nvtxSyncPoint_t *points, size_t count)
{
    for (size_t i = 0; points && i < count; i++)
        nvt_time_sync(domain, first, second, points[i].src, points[i].dst);
}

void nvt_time_rate(nvtxDomainHandle_t domain, uint64_t from, uint64_t to, double rate,
                   int64_t from_time, int64_t to_time)
{
    (void)domain;
    const int clock = nvt_time_clock(to);
    struct time_domain *of = clock >= 0 && rate > 0 && nvt_time_clock(from) < 0 ? get(from) : NULL;
    if (!of || !take(of))
        return;
    of->line = (struct line){clock, 1, from_time, to_time, from_time, to_time, rate};
    give(of);
}

static void begin_source(uint64_t time_domain, int64_t (*source)(void),
                         int64_t (*with_data)(void *data), void *data)
{
    struct time_domain *of = nvt_time_clock(time_domain) < 0 ? get(time_domain) : NULL;
    if (!of || !take(of))
        return;
    of->source = source;
    of->source_with_data = with_data;
    of->data = data;
    sample(of);
    give(of);
}

void nvt_time_source(nvtxDomainHandle_t domain, uint64_t time_domain, uint64_t flags,
                     int64_t (*source)(void))
{
    (void)domain;
    (void)flags;
    begin_source(time_domain, source, NULL, NULL);
}

void nvt_time_source_with_data(nvtxDomainHandle_t domain, uint64_t time_domain, uint64_t flags,
                               int64_t (*source)(void *data), void *data)
{
    (void)domain;
    (void)flags;
    begin_source(time_domain, NULL, source, data);
}
