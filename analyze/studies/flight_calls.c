#include "flight_calls.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/bisect.h"
#include "../../lib/clock.h"
#include "../../lib/collective_payload.h"
#include "../../lib/grow.h"
#include "../../lib/map.h"
#include "../input/ranks.h"
#include "../model/flight_payload.h"
#include "../model/payload.h"

/* A group, or the messages of a group from one rank to another. */
struct group {
    const char *name, *purpose;
    uint32_t *members; /* numbers of ranks; NULL: whoever calls something of it */
    uint32_t member_count;
    int64_t from, to; /* of messages, numbers of ranks; else -1 */
    /* the lowest of those without an end, behind those that any has seen end */
    uint64_t first_pending;
    uint64_t done;     /* the highest that any rank has seen end, and 1 */
    int is_old;        /* what is pending has waited for long enough */
    int has_timed_out; /* as it says itself */
    int64_t waited;    /* by the time of a file, the longest; INT64_MAX unknown, */
    int64_t timeout;   /* and when that is over: ns, 0 unknown */
};

/* What a rank called in a group. */
struct state {
    uint64_t last;    /* the highest called, and 1; 0 none */
    uint64_t pending; /* the lowest without an end behind `done` of the group, UINT64_MAX none */
    uint32_t pending_range;
};

struct finder {
    struct nvt_flight_job *job;
    struct nvt_strings *texts;
    struct nvt_map group_of, state_of; /* by text; by group << 32 | rank */
    struct group *groups;
    uint32_t group_count;
    struct state *states;
    uint32_t state_count;
    struct nvt_strings *short_keys; /* of the rank that is looked at: its names of groups, */
    uint32_t *short_rows;           /* and the groups, and 1 */
    size_t short_capacity;
};

/* A range of a dump, as its payload has it. */
struct call {
    char group[128], purpose[128], state[16];
    uint64_t sequence;
    int64_t from, to;
    int has_ended, has_timed_out;
    int64_t timeout; /* ns, 0 unknown */
};

static int read_call(const struct nvt_trace *trace, uint32_t range, struct call *call)
{
    if (!(trace->ranges.flags[range] & NVT_RANGE_HAS_PAYLOAD) ||
        strcmp(nvt_domain_name(trace, trace->ranges.domain[range]), NVT_COLLECTIVE_DOMAIN) != 0)
        return 0;
    const char *payload = nvt_name(trace, trace->ranges.payload[range]);
    const double from = nvt_member_number(payload, "\"from\""),
                 to = nvt_member_number(payload, "\"to\""),
                 sequence = nvt_member_number(payload, "\"sequence\"");
    nvt_member_text(payload, "\"group\"", call->group, sizeof(call->group));
    nvt_member_text(payload, "\"purpose\"", call->purpose, sizeof(call->purpose));
    nvt_member_text(payload, "\"state\"", call->state, sizeof(call->state));
    call->sequence = sequence >= 0 && sequence < 9e15 ? (uint64_t)sequence : 0;
    call->from = from >= 0 && from < NVT_NONE ? (int64_t)from : -1;
    call->to = to >= 0 && to < NVT_NONE ? (int64_t)to : -1;
    call->has_ended = !strcmp(call->state, "completed") || !strcmp(call->state, "ended");
    call->has_timed_out = nvt_member_number(payload, "\"timed_out\"") > 0;
    const double timeout = nvt_member_number(payload, "\"timeout_ms\"");
    call->timeout = timeout > 0 && timeout < 1e12 ? (int64_t)timeout * 1000000 : 0;
    /* A message of which an end is unknown cannot be paired. */
    return *call->state && isnan(from) == isnan(to) && (isnan(from) || call->from != call->to);
}

/* --- groups --- */

static int add_number(uint32_t **numbers, uint32_t *count, uint32_t number)
{
    if (nvt_grow(numbers, *count, sizeof(**numbers)))
        return -1;
    (*numbers)[(*count)++] = number;
    return 0;
}

/* Of "0,1,8". */
static int read_members(struct group *group, const char *text)
{
    char *end;
    for (; *text; text = *end == ',' ? end + 1 : end) {
        const unsigned long number = strtoul(text, &end, 10);
        if (end == text)
            break;
        if (number < NVT_NONE &&
            add_number(&group->members, &group->member_count, (uint32_t)number))
            return -1;
    }
    return 0;
}

static const char *members_text(const struct nvt_trace *trace, const struct call *call)
{
    const struct nvt_collectives *rows = &trace->collectives;
    for (uint32_t i = 0; i < rows->count; i++)
        if (!strcmp(nvt_name(trace, rows->group[i]), call->group) &&
            (!*call->purpose || !rows->purpose[i] ||
             !strcmp(nvt_name(trace, rows->purpose[i]), call->purpose)))
            return nvt_name(trace, rows->members[i]);
    return "";
}

/* The number in the job of a rank of a group; that itself where it is not known. */
static int64_t member_at(const struct group *group, int64_t place)
{
    return place >= 0 && place < group->member_count ? (int64_t)group->members[place] : place;
}

/* NVT_NONE when out of memory. */
static uint32_t group_named(struct finder *finder, const char *key, const char *members,
                            const struct call *call)
{
    const uint32_t id = nvt_strings_add_text(finder->texts, key);
    const uint32_t before = finder->group_count;
    const uint32_t row = id == NVT_NO_STRING
                             ? NVT_MAP_NONE
                             : nvt_map_row(&finder->group_of, id, &finder->groups,
                                           &finder->group_count, sizeof(*finder->groups));
    if (row == NVT_MAP_NONE)
        return NVT_NONE;
    if (row < before)
        return row;
    struct group *group = &finder->groups[row];
    const uint32_t name = nvt_strings_add_text(finder->texts, call->group),
                   purpose = nvt_strings_add_text(finder->texts, call->purpose);
    *group = (struct group){.from = -1, .to = -1, .first_pending = UINT64_MAX};
    if (name == NVT_NO_STRING || purpose == NVT_NO_STRING || read_members(group, members))
        return NVT_NONE;
    group->name = nvt_strings_get(finder->texts, name, NULL);
    group->purpose = nvt_strings_get(finder->texts, purpose, NULL);
    return row;
}

static uint32_t find_group(struct finder *finder, const struct nvt_trace *trace,
                           const struct call *call)
{
    const char *members = members_text(trace, call);
    struct nvt_buffer key = {0};
    uint32_t row = NVT_NONE;
    int failed = nvt_buffer_printf(&key, "%s\n%s\n%s", call->group, call->purpose, members);
    if (!failed && call->from >= 0)
        failed = nvt_buffer_printf(&key, "\n%" PRId64 " %" PRId64, call->from, call->to);
    if (!failed && !nvt_buffer_append(&key, "", 1))
        row = group_named(finder, (const char *)key.data, members, call);
    if (row != NVT_NONE && call->from >= 0 && finder->groups[row].from < 0) {
        struct group *group = &finder->groups[row];
        group->from = member_at(group, call->from);
        group->to = member_at(group, call->to);
    }
    nvt_buffer_free(&key);
    return row;
}

/* Of what a rank calls by one name, it is found once. */
static uint32_t group_of(struct finder *finder, const struct nvt_trace *trace,
                         const struct call *call)
{
    char key[sizeof(call->group) + sizeof(call->purpose) + 48];
    snprintf(key, sizeof(key), "%s\n%s\n%" PRId64 " %" PRId64, call->group, call->purpose,
             call->from, call->to);
    const uint32_t id = nvt_strings_add_text(finder->short_keys, key);
    if (id == NVT_NO_STRING || nvt_reserve_zeroed(&finder->short_rows, &finder->short_capacity,
                                                  (size_t)id + 1, sizeof(*finder->short_rows)))
        return NVT_NONE;
    if (!finder->short_rows[id]) {
        const uint32_t row = find_group(finder, trace, call);
        if (row == NVT_NONE)
            return NVT_NONE;
        finder->short_rows[id] = row + 1;
    }
    return finder->short_rows[id] - 1;
}

/* --- what ranks called --- */

/* NULL when out of memory. */
static struct state *state_of(struct finder *finder, uint32_t group, uint32_t rank)
{
    const uint32_t before = finder->state_count;
    struct state *state =
        nvt_map_item(&finder->state_of, (uint64_t)group << 32 | rank, &finder->states,
                     &finder->state_count, sizeof(*finder->states));
    if (state && finder->state_count > before)
        *state = (struct state){0, UINT64_MAX, NVT_NONE};
    return state;
}

/* NULL: it called nothing of it. */
static const struct state *known_state(const struct finder *finder, uint32_t group, uint32_t rank)
{
    const uint32_t row = nvt_map_get(&finder->state_of, (uint64_t)group << 32 | rank);
    return row == NVT_MAP_NONE ? NULL : &finder->states[row];
}

/* How long what is pending had waited when its dump was written; INT64_MAX: that is not known. */
static int64_t waited_ns(const struct nvt_trace *trace, uint32_t range)
{
    const char *written = nvt_trace_meta(trace, NVT_FLIGHT_WRITTEN);
    return written ? nvt_clock_since(nvt_clock_since(strtoll(written, NULL, 10), trace->origin_ns),
                                     trace->ranges.start[range])
                   : INT64_MAX;
}

static int note_call(struct finder *finder, uint32_t rank, uint32_t range, const struct call *call)
{
    const struct nvt_trace *trace = finder->job->ranks[rank].from->trace;
    const uint32_t group = group_of(finder, trace, call);
    struct state *state = group == NVT_NONE ? NULL : state_of(finder, group, rank);
    if (!state)
        return -1;
    struct nvt_flight_rank *own = &finder->job->ranks[rank];
    if (own->last == NVT_NONE || trace->ranges.start[range] >= trace->ranges.start[own->last])
        own->last = range;
    if (call->sequence + 1 > state->last)
        state->last = call->sequence + 1;
    if (call->has_ended && call->sequence + 1 > finder->groups[group].done)
        finder->groups[group].done = call->sequence + 1;
    return 0;
}

/* The lowest that has no end, behind all that any rank has seen end. Of messages each rank has numbers of its own. */
static int note_pending(struct finder *finder, uint32_t rank, uint32_t range,
                        const struct call *call)
{
    const struct nvt_trace *trace = finder->job->ranks[rank].from->trace;
    if (call->has_ended)
        return 0;
    const uint32_t row = group_of(finder, trace, call);
    struct state *state = row == NVT_NONE ? NULL : state_of(finder, row, rank);
    if (!state)
        return -1;
    struct group *group = &finder->groups[row];
    if (call->sequence >= state->pending || (group->from < 0 && call->sequence < group->done))
        return 0;
    state->pending = call->sequence;
    state->pending_range = range;
    if (call->sequence < group->first_pending) {
        group->first_pending = call->sequence;
        group->is_old = group->has_timed_out = 0;
        group->waited = group->timeout = 0;
    }
    if (call->sequence == group->first_pending) {
        const int64_t waited = waited_ns(trace, range);
        group->is_old |= call->has_timed_out || waited >= NVT_FLIGHT_WAIT_NS;
        group->has_timed_out |= call->has_timed_out;
        group->waited = waited > group->waited ? waited : group->waited;
        group->timeout = call->timeout > group->timeout ? call->timeout : group->timeout;
    }
    return 0;
}

static int for_each(struct finder *finder,
                    int (*note)(struct finder *, uint32_t, uint32_t, const struct call *))
{
    struct call call;
    int failed = 0;
    for (uint32_t i = 0; i < finder->job->rank_count && !failed; i++) {
        const struct nvt_trace *trace = finder->job->ranks[i].from->trace;
        finder->short_keys = nvt_strings_new();
        failed = !finder->short_keys;
        for (uint32_t k = 0; k < trace->ranges.count && !failed; k++)
            if (read_call(trace, k, &call))
                failed = note(finder, i, k, &call);
        nvt_strings_free(finder->short_keys);
        free(finder->short_rows);
        finder->short_rows = NULL;
        finder->short_capacity = 0;
    }
    return failed;
}

/* --- what is stuck --- */

/* The row of a rank; NVT_NONE: there is no dump of it. */
static uint32_t rank_numbered(const struct nvt_flight_job *job, int64_t number)
{
    uint32_t at = 0;
    NVT_BISECT(at, job->rank_count, job->ranks[at].number < number);
    return at < job->rank_count && job->ranks[at].number == number ? at : NVT_NONE;
}

static int add_call(const struct nvt_flight_job *job, struct nvt_flight_stuck *stuck, uint32_t rank,
                    uint32_t range)
{
    if (nvt_grow(&stuck->calls, stuck->call_count, sizeof(*stuck->calls)))
        return -1;
    stuck->calls[stuck->call_count++] = (struct nvt_flight_call){rank, range};
    const struct nvt_trace *trace = job->ranks[rank].from->trace;
    const int64_t since = nvt_clock_sum(trace->origin_ns, trace->ranges.start[range]);
    stuck->since = since < stuck->since ? since : stuck->since;
    return 0;
}

/* A member of the group: whether it has come. 0, or -1 when out of memory. */
static int sort_member(struct finder *finder, struct nvt_flight_stuck *stuck, uint32_t group,
                       uint32_t number)
{
    const uint32_t rank = rank_numbered(finder->job, number);
    if (rank == NVT_NONE)
        return add_number(&stuck->absent, &stuck->absent_count, number);
    const struct state *state = known_state(finder, group, rank);
    if (!state || state->last <= stuck->sequence)
        return add_number(&stuck->missing, &stuck->missing_count, rank);
    return state->pending == stuck->sequence
               ? add_call(finder->job, stuck, rank, state->pending_range)
               : 0;
}

static const char *payload_of(const struct nvt_flight_job *job, const struct nvt_flight_call *call)
{
    const struct nvt_trace *trace = job->ranks[call->rank].from->trace;
    return nvt_name(trace, trace->ranges.payload[call->range]);
}

/* Whether two ranks called the same: the operation, and the sizes of those in which all ranks give the same. */
static int is_alike(const struct nvt_flight_job *job, const struct nvt_flight_call *a,
                    const struct nvt_flight_call *b)
{
    const struct nvt_trace *first = job->ranks[a->rank].from->trace,
                           *second = job->ranks[b->rank].from->trace;
    const char *name = nvt_name(first, first->ranges.name[a->range]);
    char left[128], right[128];
    if (strcmp(name, nvt_name(second, second->ranges.name[b->range])) != 0)
        return 0;
    if (!strstr(name, "all_reduce") && !strstr(name, "allreduce"))
        return 1;
    return !strcmp(nvt_member_text(payload_of(job, a), "\"given\"", left, sizeof(left)),
                   nvt_member_text(payload_of(job, b), "\"given\"", right, sizeof(right)));
}

static int has_started(const struct nvt_flight_job *job, const struct nvt_flight_call *call)
{
    char state[16];
    return !strcmp(nvt_member_text(payload_of(job, call), "\"state\"", state, sizeof(state)),
                   "started");
}

/* What all have called that there are dumps of. */
static void judge_calls(const struct nvt_flight_job *job, struct nvt_flight_stuck *stuck)
{
    uint32_t started = 0, unstarted = 0;
    stuck->kind = stuck->missing_count                       ? NVT_FLIGHT_MISSING
                  : stuck->absent_count || stuck->is_assumed ? NVT_FLIGHT_NO_DUMP
                                                             : NVT_FLIGHT_ALL_IN;
    for (uint32_t i = 0; i < stuck->call_count; i++) {
        if (!stuck->is_message && !is_alike(job, &stuck->calls[0], &stuck->calls[i])) {
            stuck->kind = NVT_FLIGHT_DIFFERENT;
            stuck->differs = i;
            return;
        }
        if (has_started(job, &stuck->calls[i]))
            started++;
        else
            unstarted = i;
    }
    if (stuck->kind == NVT_FLIGHT_ALL_IN && started && started < stuck->call_count) {
        stuck->kind = NVT_FLIGHT_UNSTARTED;
        stuck->differs = unstarted;
    }
}

/* Of a message: its two ends. */
static int sort_ends(struct finder *finder, struct nvt_flight_stuck *stuck, uint32_t group)
{
    const int64_t ends[] = {finder->groups[group].from, finder->groups[group].to};
    for (int i = 0; i < 2; i++) {
        const uint32_t rank = rank_numbered(finder->job, ends[i]);
        const struct state *state = rank == NVT_NONE ? NULL : known_state(finder, group, rank);
        int failed = 0;
        if (rank == NVT_NONE)
            failed = add_number(&stuck->absent, &stuck->absent_count, (uint32_t)ends[i]);
        else if (state && state->pending != UINT64_MAX)
            failed = add_call(finder->job, stuck, rank, state->pending_range);
        else
            failed = add_number(&stuck->missing, &stuck->missing_count, rank);
        if (failed)
            return -1;
    }
    return 0;
}

/* The ranks that called something of it, where the dumps do not list any. 0, or -1 when out of memory. */
static int complete_members(struct finder *finder, uint32_t group)
{
    struct group *of = &finder->groups[group];
    const int is_world = !strcmp(of->purpose, "default_pg");
    for (uint32_t i = 0; i < finder->job->rank_count; i++)
        if ((is_world || known_state(finder, group, i)) &&
            add_number(&of->members, &of->member_count, finder->job->ranks[i].number))
            return -1;
    return 0;
}

static int add_stuck(struct finder *finder, uint32_t group)
{
    struct nvt_flight_job *job = finder->job;
    struct group *of = &finder->groups[group];
    const int is_assumed = !of->member_count && of->from < 0;
    if (nvt_grow(&job->items, job->count, sizeof(*job->items)) ||
        (is_assumed && complete_members(finder, group)))
        return -1;
    struct nvt_flight_stuck *stuck = &job->items[job->count++];
    *stuck = (struct nvt_flight_stuck){
        .group = of->name,
        .purpose = of->purpose,
        .is_message = of->from >= 0,
        .is_assumed = is_assumed,
        .size = of->from >= 0 ? 2 : of->member_count,
        .sequence = of->first_pending,
        .since = INT64_MAX,
        .waited = of->has_timed_out || of->waited == INT64_MAX ? -1 : of->waited};
    stuck->is_unsure = of->timeout && stuck->waited > of->timeout &&
                       stuck->waited - of->timeout > NVT_FLIGHT_LATE_NS;
    stuck->blocked = of->has_timed_out                        ? of->timeout
                     : stuck->waited > 0 && !stuck->is_unsure ? stuck->waited
                                                              : 0;
    int failed = of->from >= 0 ? sort_ends(finder, stuck, group) : 0;
    for (uint32_t i = 0; of->from < 0 && i < of->member_count && !failed; i++)
        failed = sort_member(finder, stuck, group, of->members[i]);
    judge_calls(job, stuck);
    return failed;
}

/* The first two that each rank waits in, and 1; 0: it waits in none. NULL when out of memory. */
static uint32_t (*find_waits(const struct nvt_flight_job *job))[2]
{
    uint32_t(*waits)[2] = calloc((size_t)job->rank_count + 1, sizeof(*waits));
    for (uint32_t i = 0; waits && i < job->count; i++)
        for (uint32_t k = 0; k < job->items[i].call_count; k++) {
            uint32_t *of = waits[job->items[i].calls[k].rank];
            if (!of[0] || !of[1])
                of[of[0] != 0] = i + 1;
        }
    return waits;
}

/* Ranks that wait in others themselves are not why one is stuck, unless all are that have not reached it. */
static void find_causes(struct nvt_flight_job *job, uint32_t item, uint32_t (*waits)[2])
{
    struct nvt_flight_stuck *stuck = &job->items[item];
    uint32_t kept = 0;
    for (uint32_t m = 0; m < stuck->missing_count; m++) {
        const uint32_t *of = waits[stuck->missing[m]];
        const uint32_t elsewhere = of[0] == item + 1 ? of[1] : of[0];
        if (!elsewhere)
            stuck->missing[kept++] = stuck->missing[m];
        else if (!stuck->explained)
            stuck->explained = elsewhere;
    }
    if (!kept)
        return;
    stuck->held_count = stuck->missing_count - kept;
    stuck->missing_count = kept;
    stuck->explained = 0;
}

/* A rank that has not reached several is one cause: the one that was waited in first stands for the others. */
static void join_causes(struct nvt_flight_job *job, uint32_t *owners)
{
    memset(owners, 0, ((size_t)job->rank_count + 1) * sizeof(*owners));
    for (uint32_t i = 0; i < job->count; i++) {
        struct nvt_flight_stuck *stuck = &job->items[i];
        for (uint32_t m = 0; m < stuck->missing_count && !stuck->explained; m++)
            stuck->explained = owners[stuck->missing[m]];
        for (uint32_t m = 0; m < stuck->missing_count && !stuck->explained; m++)
            owners[stuck->missing[m]] = i + 1;
    }
}

static int by_wait(const void *left, const void *right)
{
    const struct nvt_flight_stuck *a = left, *b = right;
    return (a->since > b->since) - (a->since < b->since);
}

/* 0, or -1 when out of memory. */
static int explain(struct nvt_flight_job *job)
{
    if (job->count)
        qsort(job->items, job->count, sizeof(*job->items), by_wait);
    uint32_t(*waits)[2] = find_waits(job);
    for (uint32_t i = 0; waits && i < job->count; i++)
        find_causes(job, i, waits);
    if (waits)
        join_causes(job, waits[0]);
    free(waits);
    return waits ? 0 : -1;
}

static int by_number(const void *left, const void *right)
{
    const struct nvt_flight_rank *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

static int find_ranks(struct nvt_flight_job *job, const struct nvt_input *input,
                      const size_t *numbers, size_t run)
{
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_input_trace *from = &input->traces[i];
        if (numbers[i] != run || !nvt_trace_meta(from->trace, NVT_FLIGHT_FACT))
            continue;
        const uint32_t number = nvt_input_rank(from, 0);
        if (number == NVT_NONE)
            continue;
        if (nvt_grow(&job->ranks, job->rank_count, sizeof(*job->ranks)))
            return -1;
        job->ranks[job->rank_count++] = (struct nvt_flight_rank){from, number, NVT_NONE};
    }
    if (job->rank_count)
        qsort(job->ranks, job->rank_count, sizeof(*job->ranks), by_number);
    return 0;
}

int nvt_flight_job_make(struct nvt_flight_job *job, const struct nvt_input *input,
                        const size_t *numbers, size_t run)
{
    struct finder finder = {.job = job, .texts = nvt_strings_new()};
    int failed = !finder.texts || find_ranks(job, input, numbers, run) ||
                 for_each(&finder, note_call) || for_each(&finder, note_pending);
    for (uint32_t i = 0; i < finder.group_count && !failed; i++)
        if (finder.groups[i].first_pending != UINT64_MAX && finder.groups[i].is_old)
            failed = add_stuck(&finder, i);
    failed = failed || explain(job);
    for (uint32_t i = 0; i < finder.group_count; i++)
        free(finder.groups[i].members);
    free(finder.groups);
    free(finder.states);
    nvt_map_free(&finder.group_of);
    nvt_map_free(&finder.state_of);
    job->texts = finder.texts;
    return failed ? -1 : 0;
}

void nvt_flight_free(struct nvt_flight_job *job)
{
    for (uint32_t i = 0; i < job->count; i++) {
        free(job->items[i].calls);
        free(job->items[i].missing);
        free(job->items[i].absent);
    }
    nvt_strings_free(job->texts);
    free(job->items);
    free(job->ranks);
    *job = (struct nvt_flight_job){0};
}
