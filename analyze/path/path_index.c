#include "path_index.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/bisect.h"
#include "../../lib/clock.h"
#include "../model/cover.h"
#include "../model/cuda_names.h"
#include "../device/gaps.h"
#include "../model/sort.h"

/* What has ended so many operations ago nobody waits for. */
#define LOOKS_AT_MOST 1000

/* --- streams ----------------------------------------------------------------------------------------- */

/* Numbers of devices are small; two streams that have one key, which a made-up trace may have, become one. */
static uint64_t stream_key(uint32_t process, uint32_t device, uint32_t stream)
{
    return (uint64_t)process << 48 ^ (uint64_t)device << 32 ^ stream;
}

static int number_streams(struct nvt_path_index *index)
{
    const struct nvt_ops *ops = &index->trace->ops;
    index->stream_of = malloc(((size_t)ops->count + 1) * sizeof(uint32_t));
    if (!index->stream_of)
        return -1;
    for (uint32_t i = 0; i < ops->count; i++) {
        index->stream_of[i] = nvt_map_number(
            &index->streams, stream_key(ops->process[i], ops->device[i], ops->stream[i]),
            &index->stream_count);
        if (index->stream_of[i] == NVT_MAP_NONE)
            return -1;
    }
    return 0;
}

static int group_ops(struct nvt_path_index *index)
{
    const struct nvt_trace *trace = index->trace;
    uint32_t *order = NULL, count = trace->ops.count;
    if (number_streams(index) || nvt_sort_order(trace->ops.end, NULL, count, &order))
        return -1;
    int status =
        nvt_buckets_make(&index->by_start, index->stream_of, index->stream_count, NULL, count) ||
                nvt_buckets_make(&index->by_end, index->stream_of, index->stream_count, order,
                                 count) ||
                nvt_buckets_make(&index->process_by_end, trace->ops.process, trace->processes.count,
                                 order, count)
            ? -1
            : 0;
    free(order);
    return status;
}

uint32_t nvt_path_stream(const struct nvt_path_index *index, uint32_t process, uint32_t device,
                         uint32_t stream)
{
    const struct nvt_ops *ops = &index->trace->ops;
    uint32_t found = nvt_map_get(&index->streams, stream_key(process, device, stream));
    uint32_t looks = index->stream_count <= NVT_PATH_STREAMS ? index->stream_count : 0;
    for (uint32_t i = 0; i < looks && found == NVT_MAP_NONE; i++) {
        uint32_t op = index->by_start.rows[index->by_start.first[i]];
        if (ops->process[op] == process && ops->stream[op] == stream)
            found = i;
    }
    return found;
}

/* --- calls ------------------------------------------------------------------------------------------- */

/* Those that only ask: a thread may do so all the time, beside its work. */
static int only_asks(const char *name)
{
    return strstr(name, "Query") || strstr(name, "IsCapturing") || strstr(name, "GetCaptureInfo");
}

/* Calls of CUDA that lie in no other one. Owners: the thread, or NVT_NONE. */
static int group_calls(struct nvt_path_index *index)
{
    const struct nvt_trace *trace = index->trace;
    const struct nvt_apis *apis = &trace->apis;
    uint32_t *owner = malloc(((size_t)apis->count + 1) * sizeof(uint32_t));
    int64_t *until = malloc(((size_t)trace->threads.count + 1) * sizeof(int64_t));
    uint8_t *asks = calloc((size_t)nvt_strings_count(trace->strings) + 1, 1);
    int status = owner && until && asks ? 0 : -1;
    for (uint32_t t = 0; t < trace->threads.count && !status; t++)
        until[t] = INT64_MIN;
    for (uint32_t i = 0; i < apis->count && !status; i++) {
        uint32_t thread = apis->thread[i], name = apis->name[i];
        if (!asks[name])
            asks[name] = only_asks(nvt_name(trace, name)) ? 2 : 1;
        int is_of_cuda = nvt_is_cuda_call(apis, i);
        owner[i] = NVT_NONE;
        if (!is_of_cuda)
            continue;
        int is_nested = apis->end[i] <= until[thread];
        index->has_nested |= is_nested;
        if (is_nested || asks[name] == 2)
            continue;
        owner[i] = thread;
        until[thread] = apis->end[i];
    }
    if (!status)
        status = nvt_buckets_make(&index->calls, owner, trace->threads.count, NULL, apis->count);
    free(asks);
    free(until);
    free(owner);
    return status;
}

/* Rows by the call that has their correlation id. */
static uint64_t call_key(uint32_t process, uint64_t correlation)
{
    return (uint64_t)process << 48 ^ correlation;
}

/* The calls that syncs name: that which waits, and that which recorded its event. */
static int link_syncs(struct nvt_path_index *index)
{
    const struct nvt_trace *trace = index->trace;
    const struct nvt_syncs *syncs = &trace->syncs;
    const struct nvt_apis *apis = &trace->apis;
    struct nvt_map waiting = {0}, recording = {0};
    int64_t *starts = malloc(((size_t)syncs->count + 1) * sizeof(int64_t));
    uint32_t events = 0;
    int status = -1;
    if (!starts)
        goto out;
    for (uint32_t i = 0; i < syncs->count; i++) {
        uint32_t *sync = nvt_map_at(&waiting, call_key(syncs->process[i], syncs->correlation[i]));
        if (!sync)
            goto out;
        *sync = i;
        if (!syncs->recorded[i])
            continue;
        uint32_t *event = nvt_map_at(&recording, call_key(syncs->process[i], syncs->recorded[i]));
        if (!event)
            goto out;
        if (*event == NVT_MAP_NONE) {
            *event = events;
            starts[events++] = INT64_MIN;
        }
    }
    for (uint32_t i = 0; i < apis->count; i++) {
        uint32_t thread = apis->thread[i];
        uint64_t key = call_key(trace->threads.process[thread], apis->correlation[i]);
        uint32_t event = nvt_map_get(&recording, key);
        index->sync_of[i] = apis->correlation[i] ? nvt_map_get(&waiting, key) : NVT_NONE;
        if (event != NVT_MAP_NONE)
            starts[event] = apis->start[i];
    }
    for (uint32_t i = 0; i < syncs->count; i++)
        index->recorded_at[i] =
            syncs->recorded[i]
                ? starts[nvt_map_get(&recording, call_key(syncs->process[i], syncs->recorded[i]))]
                : INT64_MIN;
    status = 0;
out:
    free(starts);
    nvt_map_free(&waiting);
    nvt_map_free(&recording);
    return status;
}

uint32_t nvt_path_outermost(const struct nvt_path_index *index, uint32_t call)
{
    const struct nvt_apis *apis = &index->trace->apis;
    uint32_t thread = apis->thread[call];
    if (apis->start[call] == INT64_MAX)
        return call;
    uint32_t outer = nvt_path_call_before(index, thread, apis->start[call] + 1);
    return outer != NVT_NONE && apis->end[outer] >= apis->end[call] ? outer : call;
}

static void link_outermost(struct nvt_path_index *index)
{
    for (uint32_t i = index->trace->apis.count; i-- > 0;) {
        uint32_t outer = nvt_path_outermost(index, i);
        if (outer == i)
            continue;
        if (index->op_of[outer] == NVT_NONE)
            index->op_of[outer] = index->op_of[i];
        if (index->sync_of[outer] == NVT_NONE)
            index->sync_of[outer] = index->sync_of[i];
    }
}

static int link_calls(struct nvt_path_index *index)
{
    const struct nvt_trace *trace = index->trace;
    const struct nvt_ops *ops = &trace->ops;
    size_t calls = (size_t)trace->apis.count + 1;
    index->op_of = malloc(calls * sizeof(uint32_t));
    index->sync_of = malloc(calls * sizeof(uint32_t));
    index->recorded_at = malloc(((size_t)trace->syncs.count + 1) * sizeof(int64_t));
    if (!index->op_of || !index->sync_of || !index->recorded_at || link_syncs(index))
        return -1;
    memset(index->op_of, 0xff, calls * sizeof(uint32_t));
    for (uint32_t i = ops->count; i-- > 0;)
        if (ops->api[i] != NVT_NONE)
            index->op_of[ops->api[i]] = i;
    if (index->has_nested)
        link_outermost(index);
    return 0;
}

/* Syncs that make a stream wait, by stream. */
static int group_waits(struct nvt_path_index *index)
{
    const struct nvt_syncs *syncs = &index->trace->syncs;
    uint32_t *owner = malloc(((size_t)syncs->count + 1) * sizeof(uint32_t));
    if (!owner)
        return -1;
    for (uint32_t i = 0; i < syncs->count; i++)
        owner[i] =
            syncs->type[i] == NVT_SYNC_WAIT_EVENT && index->recorded_at[i] != INT64_MIN
                ? nvt_path_stream(index, syncs->process[i], syncs->device[i], syncs->stream[i])
                : NVT_NONE;
    int status = nvt_buckets_make(&index->waits, owner, index->stream_count, NULL, syncs->count);
    free(owner);
    return status;
}

/* --- ranges ------------------------------------------------------------------------------------------ */

/* The ranges of one thread that are open, innermost last: the one that started last. */
struct open_ranges {
    const struct nvt_ranges *ranges;
    uint32_t *rows; /* has room for all of the thread's */
    uint32_t depth;
};

static void add_piece(struct nvt_path_index *index, uint32_t thread, int64_t time, uint32_t range)
{
    uint32_t *end = &index->first_piece[thread + 1];
    if (*end > index->first_piece[thread] && index->pieces[*end - 1].time == time)
        --*end;
    index->pieces[(*end)++] = (struct nvt_path_piece){time, range};
}

/* Close what ends at `until` at the latest: where a range ends that others started in and outlast, they stay. */
static void close_until(struct nvt_path_index *index, uint32_t thread, struct open_ranges *open,
                        int64_t until)
{
    while (open->depth && open->ranges->end[open->rows[open->depth - 1]] <= until) {
        int64_t end = open->ranges->end[open->rows[--open->depth]];
        while (open->depth && open->ranges->end[open->rows[open->depth - 1]] <= end)
            open->depth--;
        add_piece(index, thread, end, open->depth ? open->rows[open->depth - 1] : NVT_NONE);
    }
}

static int make_pieces(struct nvt_path_index *index)
{
    const struct nvt_trace *trace = index->trace;
    const struct nvt_ranges *ranges = &trace->ranges;
    struct nvt_buckets by_thread = {0};
    struct open_ranges open = {ranges, malloc(((size_t)ranges->count + 1) * sizeof(uint32_t)), 0};
    index->pieces = malloc((2 * (size_t)ranges->count + 1) * sizeof(*index->pieces));
    index->first_piece = calloc((size_t)trace->threads.count + 2, sizeof(uint32_t));
    int status = open.rows && index->pieces && index->first_piece
                     ? nvt_buckets_make(&by_thread, ranges->thread, trace->threads.count, NULL,
                                        ranges->count)
                     : -1;
    for (uint32_t t = 0; t < trace->threads.count && !status; t++) {
        index->first_piece[t + 1] = index->first_piece[t];
        for (uint32_t i = by_thread.first[t]; i < by_thread.first[t + 1]; i++) {
            uint32_t row = by_thread.rows[i];
            if (ranges->style[row] != NVT_PUSH_POP)
                continue;
            close_until(index, t, &open, ranges->start[row]);
            open.rows[open.depth++] = row;
            add_piece(index, t, ranges->start[row], row);
        }
        close_until(index, t, &open, INT64_MAX);
    }
    free(open.rows);
    nvt_buckets_free(&by_thread);
    return status;
}

/* --- looking up -------------------------------------------------------------------------------------- */

uint32_t nvt_path_last(const struct nvt_path_index *index, struct nvt_path_ops of, int64_t after,
                       int64_t until, int64_t launched)
{
    const struct nvt_ops *ops = &index->trace->ops;
    int is_of_stream = of.stream != NVT_NONE;
    const struct nvt_buckets *buckets = is_of_stream ? &index->by_end : &index->process_by_end;
    uint32_t owner = is_of_stream ? of.stream : of.process;
    uint32_t i = nvt_buckets_behind(buckets, owner, ops->end, until);
    for (int looks = 0; i > buckets->first[owner] && looks < LOOKS_AT_MOST; looks++) {
        uint32_t op = buckets->rows[--i];
        if (ops->end[op] <= after)
            return NVT_NONE;
        if (ops->launch[op] <= launched &&
            (of.device == NVT_NONE || ops->device[op] == of.device) &&
            (of.context == NVT_NONE || ops->context[op] == of.context))
            return op;
    }
    return NVT_NONE;
}

/* Where in rows[from … to), which ascend, the first is that is at least `row`. */
static uint32_t row_from(const uint32_t *rows, uint32_t from, uint32_t to, uint32_t row)
{
    NVT_BISECT(from, to, rows[from] < row);
    return from;
}

uint32_t nvt_path_place(const struct nvt_path_index *index, uint32_t op)
{
    uint32_t stream = index->stream_of[op];
    const uint32_t *first = index->by_start.first;
    return row_from(index->by_start.rows, first[stream], first[stream + 1], op);
}

uint32_t nvt_path_before(const struct nvt_path_index *index, uint32_t op)
{
    const struct nvt_ops *ops = &index->trace->ops;
    uint32_t stream = index->stream_of[op];
    uint32_t to = nvt_buckets_behind(&index->by_end, stream, ops->end, ops->start[op]);
    uint32_t from = nvt_buckets_from(&index->by_end, stream, ops->end, ops->start[op]);
    /* Operations of no length may end where they start: of those that end at this moment, those before it have
     * lower rows. */
    uint32_t at = row_from(index->by_end.rows, from, to, op);
    return at > index->by_end.first[stream] ? index->by_end.rows[at - 1] : NVT_NONE;
}

int nvt_path_launch_class(const struct nvt_trace *trace, uint32_t op)
{
    uint32_t detail = trace->ops.detail[op];
    if (trace->ops.kind[op] != NVT_OP_KERNEL)
        return trace->ops.kind[op];
    return detail != NVT_NONE && trace->kernels.graph[detail] ? 3 : NVT_OP_KERNEL;
}

uint32_t nvt_path_call_before(const struct nvt_path_index *index, uint32_t thread, int64_t moment)
{
    uint32_t at = nvt_buckets_from(&index->calls, thread, index->trace->apis.start, moment);
    return at > index->calls.first[thread] ? index->calls.rows[at - 1] : NVT_NONE;
}

/* The first of a thread's pieces that does not begin before a moment. */
static uint32_t piece_from(const struct nvt_path_index *index, uint32_t thread, int64_t moment)
{
    uint32_t low = index->first_piece[thread];
    NVT_BISECT(low, index->first_piece[thread + 1], index->pieces[low].time < moment);
    return low;
}

uint32_t nvt_path_piece_before(const struct nvt_path_index *index, uint32_t thread, int64_t moment)
{
    uint32_t at = piece_from(index, thread, moment);
    return at > index->first_piece[thread] ? at - 1 : NVT_NONE;
}

uint32_t nvt_path_range_at(const struct nvt_path_index *index, uint32_t thread, int64_t moment)
{
    if (thread == NVT_NONE || moment == INT64_MAX)
        return NVT_NONE;
    uint32_t at = nvt_path_piece_before(index, thread, moment + 1);
    return at == NVT_NONE ? NVT_NONE : index->pieces[at].range;
}

int64_t nvt_path_edge_before(const struct nvt_path_index *index, uint32_t thread, int64_t moment)
{
    const struct nvt_apis *apis = &index->trace->apis;
    uint32_t call = nvt_path_call_before(index, thread, moment);
    uint32_t piece = nvt_path_piece_before(index, thread, moment);
    int64_t edge = INT64_MIN;
    if (call != NVT_NONE)
        edge = apis->end[call] < moment ? apis->end[call] : apis->start[call];
    if (piece != NVT_NONE && index->pieces[piece].time > edge)
        edge = index->pieces[piece].time;
    return edge;
}

int64_t nvt_path_edge_from(const struct nvt_path_index *index, uint32_t thread, int64_t moment)
{
    const struct nvt_apis *apis = &index->trace->apis;
    uint32_t next = nvt_buckets_from(&index->calls, thread, apis->start, moment);
    uint32_t piece = piece_from(index, thread, moment);
    int64_t edge = INT64_MAX;
    if (next < index->calls.first[thread + 1])
        edge = apis->start[index->calls.rows[next]];
    if (next > index->calls.first[thread]) {
        int64_t end = apis->end[index->calls.rows[next - 1]];
        edge = end >= moment && end < edge ? end : edge;
    }
    if (piece < index->first_piece[thread + 1] && index->pieces[piece].time < edge)
        edge = index->pieces[piece].time;
    return edge;
}

/* --- the operating system ---------------------------------------------------------------------------- */

/* Sort the calls of the operating system that begin in no other one by their threads. */
static int group_os_calls(struct nvt_path_index *index)
{
    const struct nvt_os_calls *calls = &index->trace->os_calls;
    const uint32_t threads = index->trace->threads.count;
    uint32_t *owner = malloc(((size_t)calls->count + 1) * sizeof(*owner));
    int64_t *until = malloc(((size_t)threads + 1) * sizeof(*until));
    int status = owner && until ? 0 : -1;
    for (uint32_t t = 0; t < threads && !status; t++)
        until[t] = INT64_MIN;
    for (uint32_t i = 0; i < calls->count && !status; i++)
        owner[i] = nvt_cover_begins(&until[calls->thread[i]], calls->start[i], calls->end[i])
                       ? calls->thread[i]
                       : NVT_NONE;
    if (!status)
        status = nvt_buckets_make(&index->os_calls, owner, threads, NULL, calls->count);
    free(until);
    free(owner);
    return status;
}

/* --- all of it --------------------------------------------------------------------------------------- */

int nvt_path_index_make(struct nvt_path_index *index, const struct nvt_trace *trace)
{
    *index = (struct nvt_path_index){.trace = trace};
    if (group_ops(index) || group_calls(index) || link_calls(index) || group_waits(index) ||
        group_os_calls(index) || make_pieces(index))
        return -1;
    nvt_path_measure(index);
    return 0;
}

void nvt_path_index_free(struct nvt_path_index *index)
{
    free(index->stream_of);
    nvt_map_free(&index->streams);
    nvt_buckets_free(&index->by_start);
    nvt_buckets_free(&index->by_end);
    nvt_buckets_free(&index->process_by_end);
    nvt_buckets_free(&index->waits);
    nvt_buckets_free(&index->calls);
    nvt_buckets_free(&index->os_calls);
    free(index->op_of);
    free(index->sync_of);
    free(index->recorded_at);
    free(index->pieces);
    free(index->first_piece);
}
