#include "window.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/map.h"
#include "../../lib/quantity_text.h"
#include "extent.h"
#include "named_iterations.h"
#include "nesting.h"

#define CONDITION_MOST 400

/* --- what was typed ----------------------------------------------------------------------------- */

/* A moment of `length` letters. 0 or -1. */
static int read_moment(const char *text, size_t length, struct nvt_moment *moment)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char copy[64], *end;
    if (length >= sizeof(copy) || isspace((unsigned char)*text))
        return -1;
    memcpy(copy, text, length);
    copy[length] = 0;
    moment->is_given = 1;
    errno = 0;
    moment->ns = strtoll(copy, &end, 10);
    if (!*end && end != copy && !errno)
        return 0;
    /* No hexadecimal, no infinity: what a table or a diagnosis prints. */
    if (strspn(copy, "0123456789.-") == 0)
        return -1;
    double number = strtod(copy, &end);
    end += *end == ' ';
    for (size_t i = 0; i < NVT_COUNT_OF(units); i++)
        if (!strcmp(end, units[i].name) && fabs(number * units[i].ns) < 4e18) {
            moment->ns = llround(number * units[i].ns);
            moment->from_begin = 1;
            return 0;
        }
    return -1;
}

/* "part=2". 0, or -1: it is no number of one. */
static int read_part(const char *text, uint32_t *part)
{
    if (strncmp(text, "part=", 5) != 0 || !text[5] || strlen(text + 5) > 9 ||
        text[5 + strspn(text + 5, "0123456789")])
        return -1;
    *part = (uint32_t)strtoul(text + 5, NULL, 10);
    return *part ? 0 : -1;
}

int nvt_window_set_time(struct nvt_window *window, const char *text, struct nvt_error *err)
{
    if (!read_part(text, &window->part)) {
        window->time = text;
        return 0;
    }
    const char *slash = strchr(text, '/');
    struct nvt_moment from = {0}, to = {0};
    if (!slash || !text[1] || (slash > text && read_moment(text, (size_t)(slash - text), &from)) ||
        (slash[1] && read_moment(slash + 1, strlen(slash + 1), &to)))
        return nvt_fail(err,
                        "--filter-time %s: must be FROM/TO, such as 1.2s/1300ms from the beginning "
                        "of the trace, or nanoseconds as in tables; or part=N of a recording in "
                        "parts",
                        text);
    if (from.is_given && to.is_given && from.from_begin == to.from_begin && to.ns < from.ns)
        return nvt_fail(err, "--filter-time %s: ends before it begins", text);
    window->time = text;
    window->from = from;
    window->to = to;
    return 0;
}

int nvt_window_set_range(struct nvt_window *window, const char *text, struct nvt_error *err)
{
    if (!*text || *text == '@')
        return nvt_fail(
            err, "--filter-nvtx %s: must be RANGE, RANGE@DOMAIN, RANGE/N or RANGE@DOMAIN/N", text);
    window->range = text;
    return 0;
}

/* --- finding it in a trace ---------------------------------------------------------------------- */

/* Moments on the trace's axis, both within. */
struct span {
    int64_t from, to;
};

/* The span of each process that is kept; it is empty where a process has no such range. */
struct spans {
    const struct nvt_trace *trace;
    struct span time;
    struct span *ranges; /* a process each, cut to the time */
    struct span all;     /* the first to the last of them */
    struct span *opened; /* the ranges as they are */
    uint64_t others; /* ranges of a process that would be the window, too, as no number was given */
};

static int is_in(struct span span, int64_t time)
{
    return time >= span.from && time <= span.to;
}

/* A range that is looked for: names of `length` letters, of a domain of `domain_length` (NULL: any). */
struct wanted {
    const char *name, *domain;
    size_t length, domain_length;
    uint64_t number;
};

static int is_text(const char *name, const char *text, size_t length)
{
    return !strncmp(name, text, length) && !name[length];
}

/* "DOMAIN:RANGE" and, of the default domain, ":RANGE". */
static int is_both(const char *domain, const char *name, const struct wanted *wanted)
{
    size_t length = strlen(domain);
    return !wanted->domain && wanted->length > length && !strncmp(wanted->name, domain, length) &&
           wanted->name[length] == ':' &&
           is_text(name, wanted->name + length + 1, wanted->length - length - 1);
}

static int is_wanted(const struct nvt_trace *trace, uint32_t range, const struct wanted *wanted)
{
    const char *name = nvt_name(trace, trace->ranges.name[range]);
    const char *domain = nvt_name(trace, trace->domains.name[trace->ranges.domain[range]]);
    if (is_both(domain, name, wanted))
        return 1;
    return is_text(name, wanted->name, wanted->length) &&
           (!wanted->domain || is_text(domain, wanted->domain, wanted->domain_length));
}

/* The windows of all processes: the number-th of the ranges that are wanted. How many of these there are. */
static uint64_t find_ranges(const struct wanted *wanted, struct spans *spans, uint64_t *seen)
{
    const struct nvt_trace *trace = spans->trace;
    const struct nvt_ranges *ranges = &trace->ranges;
    uint64_t found = 0;
    memset(seen, 0, (trace->processes.count + (size_t)1) * sizeof(*seen));
    for (uint32_t i = 0; i < ranges->count; i++) {
        if (!is_wanted(trace, i, wanted))
            continue;
        uint32_t process = trace->threads.process[ranges->thread[i]];
        found++;
        if (seen[process]++ == wanted->number)
            spans->opened[process] = (struct span){ranges->start[i], ranges->end[i]};
    }
    return found;
}

/* "/N" behind a name taken off it. Whether there is one. */
static int take_number(struct wanted *wanted)
{
    size_t at = wanted->length;
    while (at && isdigit((unsigned char)wanted->name[at - 1]))
        at--;
    if (at < 2 || at == wanted->length || wanted->length - at > 18 || wanted->name[at - 1] != '/')
        return 0;
    wanted->number = strtoull(wanted->name + at, NULL, 10);
    wanted->length = at - 1;
    return 1;
}

/* Cut "@DOMAIN" off the end of the name that is wanted. 1 where it is there. */
static int take_domain(struct wanted *wanted)
{
    const char *at = memrchr(wanted->name, '@', wanted->length);
    if (!at || at == wanted->name)
        return 0;
    size_t length = (size_t)(at - wanted->name);
    int is_any = wanted->length - length == 2 && at[1] == '*';
    wanted->domain = is_any ? NULL : at + 1;
    wanted->domain_length = is_any ? 0 : wanted->length - length - 1;
    wanted->length = length;
    return 1;
}

/* Look for the whole name, then for what is left of it without "/N", without "@DOMAIN" and without both; the first that
 * there is counts. 0, or -1 with err. */
static int place_range(const char *text, struct spans *spans, struct nvt_error *err)
{
    const struct nvt_trace *trace = spans->trace;
    const struct wanted plain = {.name = text, .length = strlen(text)};
    struct wanted ways[4] = {plain, plain, plain, plain};
    int is_way[4] = {1, take_number(&ways[1]), take_domain(&ways[2]), 0};
    uint64_t *seen = calloc(trace->processes.count + (size_t)1, sizeof(*seen)), found = 0;
    ways[3] = ways[1];
    is_way[3] = is_way[1] && take_domain(&ways[3]);
    if (!seen)
        return nvt_fail(err, "out of memory");
    size_t way = 0;
    for (; way < 4; way++)
        if (is_way[way] && (found = find_ranges(&ways[way], spans, seen)))
            break;
    uint64_t most = 0;
    for (uint32_t i = 0; i < trace->processes.count && found; i++)
        most = seen[i] > most ? seen[i] : most;
    free(seen);
    if (!found)
        return nvt_fail_at(err, trace->path, -1, "--filter-nvtx %s: there is no such range", text);
    if (most <= ways[way].number)
        return nvt_fail_at(err, trace->path, -1,
                           "--filter-nvtx %s: there are %llu of them, the last is %llu", text,
                           (unsigned long long)most, (unsigned long long)most - 1);
    spans->others = way % 2 ? 0 : most - 1;
    return 0;
}

static int64_t place(const struct nvt_trace *trace, struct nvt_moment moment, int64_t missing)
{
    int64_t time;
    if (!moment.is_given)
        return missing;
    if (!moment.from_begin)
        return moment.ns;
    return __builtin_add_overflow(nvt_trace_begin(trace), moment.ns, &time)
               ? (moment.ns < 0 ? INT64_MIN : INT64_MAX)
               : time;
}

/* From its start to that of the next part: work that a device got in it may begin a moment behind its end. 0, or -1 with err. */
static int place_part(const struct nvt_window *window, struct spans *spans, struct nvt_error *err)
{
    const struct nvt_parts *parts = &spans->trace->parts;
    if (!parts->count)
        return nvt_fail_at(err, spans->trace->path, -1,
                           "--filter-time %s: it was not recorded in parts", window->time);
    if (window->part > parts->count)
        return nvt_fail_at(err, spans->trace->path, -1, "--filter-time %s: there %s %u part%s",
                           window->time, parts->count == 1 ? "is" : "are", parts->count,
                           parts->count == 1 ? "" : "s");
    spans->time =
        (struct span){parts->start[window->part - 1],
                      window->part < parts->count ? parts->start[window->part] - 1 : INT64_MAX};
    return 0;
}

/* The window of each process. 0, or -1 with err. */
static int place_all(const struct nvt_window *window, struct spans *spans, struct nvt_error *err)
{
    static const struct span empty = {INT64_MAX, INT64_MIN}, whole = {INT64_MIN, INT64_MAX};
    const struct nvt_trace *trace = spans->trace;
    const uint32_t count = trace->processes.count;
    spans->time =
        (struct span){place(trace, window->from, INT64_MIN), place(trace, window->to, INT64_MAX)};
    if (window->part && place_part(window, spans, err))
        return -1;
    spans->ranges = calloc(count + (size_t)1, sizeof(*spans->ranges));
    spans->opened = calloc(count + (size_t)1, sizeof(*spans->opened));
    if (!spans->ranges || !spans->opened)
        return nvt_fail(err, "out of memory");
    for (uint32_t i = 0; i < count; i++)
        spans->opened[i] = window->range ? empty : whole;
    if (window->range && place_range(window->range, spans, err))
        return -1;
    spans->all = count ? empty : spans->time;
    for (uint32_t i = 0; i < count; i++) {
        struct span *span = &spans->ranges[i];
        *span = spans->opened[i];
        span->from = span->from > spans->time.from ? span->from : spans->time.from;
        span->to = span->to < spans->time.to ? span->to : spans->time.to;
        if (span->from > span->to)
            continue;
        spans->all.from = span->from < spans->all.from ? span->from : spans->all.from;
        spans->all.to = span->to > spans->all.to ? span->to : spans->all.to;
    }
    return 0;
}

/* --- leaving the rest out ----------------------------------------------------------------------- */

/* Rows that stay, and where they come to lie: place[i] or NVT_NONE. */
struct stay {
    uint32_t *place;
    uint32_t count;
};

static int begin_stay(struct stay *stay, uint32_t rows)
{
    stay->count = 0;
    stay->place = malloc(((size_t)rows + 1) * sizeof(*stay->place));
    return stay->place ? 0 : -1;
}

static void set_stay(struct stay *stay, uint32_t row, int stays)
{
    stay->place[row] = stays ? stay->count++ : NVT_NONE;
}

/* Which rows of a table stay by their own moment. */
static int stay_by_time(const struct spans *spans, const struct nvt_layout_table *table,
                        struct stay *stay)
{
    const uint32_t rows = nvt_layout_rows(spans->trace, table);
    const int64_t *start = nvt_layout_starts(spans->trace, table);
    for (uint32_t i = 0; i < rows; i++)
        set_stay(stay, i,
                 is_in(spans->ranges[nvt_layout_process(spans->trace, table, i)], start[i]));
    return 0;
}

/* Whether an operation was launched within the range, and begun at the time. */
static int is_op_in(const struct spans *spans, uint32_t i)
{
    const struct nvt_ops *ops = &spans->trace->ops;
    const int64_t launch = ops->launch[i] == INT64_MIN ? ops->start[i] : ops->launch[i];
    return is_in(spans->time, ops->start[i]) && is_in(spans->opened[ops->process[i]], launch);
}

/* Of what the samples of a counter stay: those of GPUs as long as operations that stay run. */
static struct span span_of_samples(const struct spans *spans, uint32_t counter, int64_t ops_end)
{
    const struct nvt_counters *counters = &spans->trace->counters;
    struct span span = spans->ranges[counters->process[counter]];
    if (!counters->is_of_machine[counter] ||
        strncmp(nvt_domain_name(spans->trace, counters->domain[counter]), "GPU ", 4) != 0)
        return span;
    span = spans->all;
    span.to = span.from <= span.to && ops_end > span.to ? ops_end : span.to;
    return span;
}

/* When the last operation that stays ends, INT64_MIN: none does. */
static int64_t end_of_ops(const struct spans *spans)
{
    const struct nvt_ops *ops = &spans->trace->ops;
    int64_t end = INT64_MIN;
    for (uint32_t i = 0; i < ops->count; i++)
        if (ops->end[i] > end && is_op_in(spans, i))
            end = ops->end[i];
    return end;
}

/* The last sample before the window is what the counter says when it opens; a difference says nothing then. A GPU's
 * metric is of the time before its sample, so that the first one behind the operations is still of them. */
static int stay_samples(const struct spans *spans, struct stay *stay)
{
    const struct nvt_counters *counters = &spans->trace->counters;
    const struct nvt_counter_samples *samples = &spans->trace->counter_samples;
    const int64_t ops_end = end_of_ops(spans);
    uint32_t *last = malloc(((size_t)counters->count + 1) * sizeof(*last));
    struct span *of = calloc((size_t)counters->count + 1, sizeof(*of));
    if (!last || !of) {
        free(last);
        free(of);
        return -1;
    }
    memset(last, 0xff, counters->count * sizeof(*last));
    for (uint32_t i = 0; i < counters->count; i++)
        of[i] = span_of_samples(spans, i, ops_end);
    for (uint32_t i = 0; i < samples->count; i++) {
        uint32_t counter = samples->counter[i];
        struct span span = of[counter];
        if (samples->time[i] < span.from && span.from <= span.to &&
            counters->values[counter] != NVT_COUNTER_DELTA)
            last[counter] = i;
    }
    for (uint32_t i = 0; i < samples->count; i++) {
        uint32_t counter = samples->counter[i];
        const int is_behind =
            ops_end > INT64_MIN && of[counter].to == ops_end && samples->time[i] > ops_end;
        set_stay(stay, i, last[counter] == i || is_behind || is_in(of[counter], samples->time[i]));
        if (is_behind)
            of[counter].to = INT64_MIN;
    }
    free(last);
    free(of);
    return 0;
}

/* Operations that were launched within the range, and begun at the time. */
static int stay_ops(const struct spans *spans, struct stay *stay)
{
    const struct nvt_ops *ops = &spans->trace->ops;
    for (uint32_t i = 0; i < ops->count; i++)
        set_stay(stay, i, is_op_in(spans, i));
    return 0;
}

/* An address of a device, or a source, as a process has it. Devices are spread over all bits: by a few high ones, an address
 * on one would be another on the next. */
static uint64_t place_key(const struct nvt_memory *memory, uint32_t i, uint64_t address)
{
    uint64_t device = (uint64_t)memory->process[i] << 32 | memory->device[i];
    return address ^ device * UINT64_C(0x9E3779B97F4A7C15);
}

/* Before the window: what is in use when it opens, and of an allocator that says how much that is its last word. */
static int note_memory(struct nvt_map *live, struct nvt_map *said, const struct nvt_memory *memory,
                       uint32_t i)
{
    int says = memory->allocated[i] != UINT64_MAX || memory->reserved[i] != UINT64_MAX;
    uint32_t *at = says ? nvt_map_at(said, place_key(memory, i, memory->source[i]))
                        : nvt_map_at(live, place_key(memory, i, memory->address[i]));
    if (!at)
        return -1;
    *at = says || memory->kind[i] == NVT_MEMORY_ALLOC ? i : NVT_NONE;
    return 0;
}

static int stays_before(const struct nvt_map *live, const struct nvt_map *said,
                        const struct nvt_memory *memory, uint32_t i)
{
    return nvt_map_get(said, place_key(memory, i, memory->source[i])) == i ||
           nvt_map_get(live, place_key(memory, i, memory->address[i])) == i;
}

static int stay_memory(const struct spans *spans, struct nvt_memory *memory, struct stay *stay)
{
    struct nvt_map live = {0}, said = {0};
    int status = 0;
    for (uint32_t i = 0; i < memory->count && !status; i++) {
        struct span span = spans->ranges[memory->process[i]];
        if (span.from <= span.to && memory->time[i] < span.from)
            status = note_memory(&live, &said, memory, i);
    }
    for (uint32_t i = 0; i < memory->count && !status; i++) {
        struct span span = spans->ranges[memory->process[i]];
        int is_before = span.from <= span.to && memory->time[i] < span.from;
        int stays =
            is_before ? stays_before(&live, &said, memory, i) : is_in(span, memory->time[i]);
        set_stay(stay, i, stays);
        /* So the order stays that of their times, also where processes have windows of their own. */
        memory->is_earlier[i] |= (uint8_t)is_before;
        if (stays && memory->time[i] < spans->all.from)
            memory->time[i] = spans->all.from;
    }
    nvt_map_free(&live);
    nvt_map_free(&said);
    return status;
}

/* Rows that refer to rows of a table: to where these come to lie. */
static void relink(uint32_t *rows, uint32_t count, const struct stay *stay)
{
    for (uint32_t i = 0; i < count; i++)
        if (rows[i] != NVT_NONE)
            rows[i] = stay->place[rows[i]];
}

/* A range whose parent is gone is an outermost one, and time in children that are gone is the parent's own. */
static int nest_ranges(struct nvt_ranges *ranges)
{
    for (uint32_t i = 0; i < ranges->count; i++)
        if (ranges->style[i] == NVT_PUSH_POP) {
            uint32_t parent = ranges->parent[i];
            uint16_t above = parent == NVT_NONE ? 0 : ranges->level[parent];
            ranges->level[i] = (uint16_t)(above + (parent != NVT_NONE && above < UINT16_MAX));
        }
    return nvt_nest_children(ranges, ranges->parent, ranges->children, ranges->children_ns);
}

static int cut_table(const struct spans *spans, struct nvt_trace *trace,
                     enum nvt_table_number number)
{
    const struct nvt_layout_table *table = &nvt_layout()[number];
    struct stay stay;
    if (begin_stay(&stay, nvt_layout_rows(trace, table)))
        return -1;
    int status = number == NVT_TABLE_counter_samples ? stay_samples(spans, &stay)
                 : number == NVT_TABLE_ops           ? stay_ops(spans, &stay)
                 : number == NVT_TABLE_memory        ? stay_memory(spans, &trace->memory, &stay)
                                                     : stay_by_time(spans, table, &stay);
    if (!status && number == NVT_TABLE_ranges)
        relink(trace->ranges.parent, trace->ranges.count, &stay);
    if (!status && number == NVT_TABLE_apis)
        relink(trace->ops.api, trace->ops.count, &stay);
    if (!status)
        nvt_layout_keep(trace, table, stay.place, stay.count);
    free(stay.place);
    return status;
}

/* Ranges that end behind the window stay whole, but not what is done in them. */
static void mark_cut(const struct spans *spans, struct nvt_ranges *ranges)
{
    for (uint32_t i = 0; i < ranges->count; i++)
        if (ranges->end[i] > spans->ranges[spans->trace->threads.process[ranges->thread[i]]].to)
            ranges->flags[i] |= NVT_RANGE_CUT;
}

static int cut_tables(const struct spans *spans, struct nvt_trace *trace)
{
    mark_cut(spans, &trace->ranges);
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++)
        if (nvt_layout()[i].times != NVT_TIMELESS &&
            cut_table(spans, trace, (enum nvt_table_number)i))
            return -1;
    return nest_ranges(&trace->ranges);
}

/* Whether all memory events were there before the window, which begins with what was allocated then. */
static int is_all_earlier(const struct nvt_memory *memory)
{
    for (uint32_t i = 0; i < memory->count; i++)
        if (!memory->is_earlier[i])
            return 0;
    return 1;
}

/* Of what is left, as nvt_trace_finish has it; a sample from before the window is not of it. */
static void set_extent(const struct spans *spans, struct nvt_trace *trace)
{
    struct nvt_extent extent = {INT64_MAX, INT64_MIN};
    const int64_t begin = nvt_trace_begin(trace);
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++)
        if (i != NVT_TABLE_memory)
            nvt_extent_widen_by(trace, &nvt_layout()[i], spans->all.from, &extent);
    const int begins_nothing = extent.first > extent.last && is_all_earlier(&trace->memory);
    nvt_extent_widen_by(trace, &nvt_layout()[NVT_TABLE_memory], spans->all.from, &extent);
    int is_empty = extent.first > extent.last;
    if (begins_nothing)
        nvt_trace_note(trace,
                       "nothing begins in the window: the trace is %s long (%lld to %lld ns in "
                       "tables)",
                       NVT_TIME((double)trace->last_ns - (double)begin), (long long)trace->first_ns,
                       (long long)trace->last_ns);
    trace->first_ns = is_empty ? 0 : extent.first;
    trace->last_ns = is_empty ? 0 : extent.last;
    trace->levels_ns = spans->all.to < trace->last_ns ? spans->all.to : trace->last_ns;
    if (spans->time.to != INT64_MAX)
        trace->cut_ns = spans->time.to;
    if (__builtin_sub_overflow(trace->first_ns, begin, &trace->before_ns))
        trace->before_ns = 0;
}

/* Say so where the window cuts all iterations that begin in it. 0, or -1 when out of memory. */
static int note_cut(struct nvt_trace *trace)
{
    uint32_t count, cut, *rows = nvt_whole_iterations(trace, &count, &cut);
    if (rows && cut && !count)
        nvt_trace_note(trace,
                       "no iteration lies within the window, which cuts %u: nothing is counted "
                       "per iteration",
                       cut);
    free(rows);
    return rows ? 0 : -1;
}

/* What tables, charts and documents say of the window. */
static int set_condition(const struct nvt_window *window, struct nvt_trace *trace)
{
    const char *before = nvt_trace_meta(trace, "condition");
    char text[CONDITION_MOST];
    snprintf(text, sizeof(text), "%.200s%s%s%.80s%s%s%.60s", before ? before : "",
             before ? ", " : "", window->range ? "within " : "", window->range ? window->range : "",
             window->range && window->time ? ", " : "", window->time ? "time " : "",
             window->time ? window->time : "");
    return nvt_trace_set_meta(trace, "condition", text);
}

int nvt_window_cut(const struct nvt_window *window, struct nvt_trace *trace, struct nvt_error *err)
{
    struct spans spans = {.trace = trace};
    if (!nvt_window_is_set(window))
        return 0;
    int status = place_all(window, &spans, err);
    if (!status && (cut_tables(&spans, trace) || set_condition(window, trace)))
        status = nvt_fail_at(err, trace->path, -1, "out of memory");
    /* Of a job that is said once. */
    const int is_told = !trace->processes.count || trace->processes.rank[0] == NVT_NONE ||
                        trace->processes.rank[0] == 0;
    if (!status && spans.others && is_told)
        nvt_trace_note(trace,
                       "the window is the first of %llu ranges '%.80s': behind the name, /1 is the "
                       "second, /%llu the last",
                       (unsigned long long)spans.others + 1, window->range,
                       (unsigned long long)spans.others);
    if (!status)
        set_extent(&spans, trace);
    if (!status && note_cut(trace))
        status = nvt_fail_at(err, trace->path, -1, "out of memory");
    trace->is_part = !status;
    free(spans.ranges);
    free(spans.opened);
    return status;
}
