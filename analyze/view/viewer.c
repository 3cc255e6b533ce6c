/*
 * The viewer: its sides, their lanes, and where each trace lies on its side's axis.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/json.h"
#include "../../lib/text.h"
#include "../device/kernel_class.h"
#include "../input/clocks.h"
#include "../input/ranks.h"
#include "answers.h"

static int64_t begin_of(const struct nvt_viewer *viewer, size_t trace)
{
    return nvt_viewer_axis(viewer, trace, viewer->traces[trace]->trace->first_ns);
}

static int64_t end_of(const struct nvt_viewer *viewer, size_t trace)
{
    return nvt_viewer_axis(viewer, trace, viewer->traces[trace]->trace->last_ns);
}

/* Whether less time lies between a trace and those that are near the first one than these take. */
static int is_near(const struct nvt_viewer *viewer, const struct nvt_view_side *side, size_t trace)
{
    const int64_t room = side->near[1] - side->near[0];
    return begin_of(viewer, trace) - side->near[1] <= room &&
           side->near[0] - end_of(viewer, trace) <= room;
}

/* Traces of different hours on one axis would be slivers. */
static void find_near(const struct nvt_viewer *viewer, struct nvt_view_side *side)
{
    size_t first = side->first;
    while (first + 1 < side->first + side->count &&
           begin_of(viewer, first) == end_of(viewer, first))
        first++; /* an empty one is nowhere */
    side->near[0] = begin_of(viewer, first);
    side->near[1] = end_of(viewer, first);
    for (int grows = 1; grows;) {
        grows = 0;
        for (size_t i = side->first; i < side->first + side->count; i++) {
            const int64_t begin = begin_of(viewer, i), end = end_of(viewer, i);
            if (!is_near(viewer, side, i) || (begin >= side->near[0] && end <= side->near[1]))
                continue;
            side->near[0] = begin < side->near[0] ? begin : side->near[0];
            side->near[1] = end > side->near[1] ? end : side->near[1];
            grows = 1;
        }
    }
}

/* Nothing begins in the window: the trace has no time of its own. */
static int is_empty_part(const struct nvt_trace *trace)
{
    return trace->is_part && !trace->first_ns && !trace->last_ns;
}

/* Where each trace of a side lies on the side's axis, at 0 of which the first one begins as a whole. 0, or -1 when out of memory. */
static int shift_side(struct nvt_viewer *viewer, struct nvt_view_side *side)
{
    const struct nvt_trace **traces = calloc(side->count + 1, sizeof(struct nvt_trace *));
    int64_t *shifts = viewer->shifts + side->first, zero = 0, begin = 0, end = 0;
    size_t count = 0;
    if (!traces)
        return -1;
    for (size_t i = 0; i < side->count; i++)
        traces[i] = viewer->traces[side->first + i]->trace;
    viewer->unaligned += nvt_shifts_to_first(traces, side->count, shifts);
    for (size_t i = 0; i < side->count; i++) {
        const int64_t whole = nvt_trace_begin(traces[i]) + shifts[i];
        const int64_t from = traces[i]->first_ns + shifts[i], to = traces[i]->last_ns + shifts[i];
        if (is_empty_part(traces[i]))
            continue;
        zero = !count || whole < zero ? whole : zero;
        begin = !count || from < begin ? from : begin;
        end = !count++ || to > end ? to : end;
    }
    for (size_t i = 0; i < side->count; i++)
        shifts[i] = is_empty_part(traces[i]) ? begin - zero : shifts[i] - zero;
    find_near(viewer, side);
    side->begin = begin - zero;
    side->end = end - zero;
    viewer->end = side->end > viewer->end ? side->end : viewer->end;
    free(traces);
    return 0;
}

struct iteration {
    int64_t start, length;
};

static int by_length(const void *left, const void *right)
{
    const struct iteration *a = left, *b = right;
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

static const struct nvt_tracks *iterations_of(const struct nvt_scene *scene)
{
    for (uint32_t i = 0; i < scene->count; i++)
        if (scene->lanes[i].kind == NVT_VIEW_ITERATIONS)
            return &scene->lanes[i].tracks;
    return NULL;
}

static void add_to_loop(struct nvt_view_side *side, int64_t start, int64_t end)
{
    const int is_first = side->loop[0] > side->loop[1];
    side->loop[0] = is_first || start < side->loop[0] ? start : side->loop[0];
    side->loop[1] = is_first || end > side->loop[1] ? end : side->loop[1];
}

/* Of another trace its iterations; where it has none, all that threads and devices do in it. */
static void add_trace_to_loop(const struct nvt_viewer *viewer, struct nvt_view_side *side,
                              size_t trace)
{
    const struct nvt_scene *scene = &viewer->scenes[trace];
    const struct nvt_tracks *iterations = iterations_of(scene);
    for (uint32_t i = 0; i < scene->count; i++) {
        const struct nvt_tracks *tracks = &scene->lanes[i].tracks;
        if (iterations && tracks != iterations)
            continue;
        for (uint32_t t = 0; t < tracks->count; t++)
            if (tracks->items[t].count)
                add_to_loop(side,
                            nvt_viewer_axis(viewer, trace, nvt_track_start(&tracks->items[t], 0)),
                            nvt_viewer_axis(viewer, trace, tracks->items[t].last));
    }
}

/* The loop of all traces that are near the first one; the median and the longest iteration of the first one that has iterations. 0, or -1 when out of memory. */
static int find_loop(const struct nvt_viewer *viewer, struct nvt_view_side *side)
{
    const struct nvt_tracks *tracks = NULL;
    size_t trace = side->first, count = 0;
    for (; trace < side->first + side->count; trace++)
        if ((tracks = iterations_of(&viewer->scenes[trace])))
            break;
    for (uint32_t t = 0; tracks && t < tracks->count; t++)
        count += tracks->items[t].count;
    if (!count)
        return 0;
    struct iteration *all = malloc(count * sizeof(*all));
    if (!all)
        return -1;
    for (uint32_t t = 0; t < tracks->count; t++)
        for (uint32_t i = 0; i < tracks->items[t].count; i++) {
            const struct nvt_track *track = &tracks->items[t];
            const int64_t start = nvt_viewer_axis(viewer, trace, nvt_track_start(track, i));
            const int64_t end = nvt_viewer_axis(viewer, trace, nvt_track_end(track, i));
            all[side->iterations++] = (struct iteration){start, end - start};
        }
    qsort(all, count, sizeof(*all), by_length);
    const struct iteration median = all[(count - 1) / 2], longest = all[count - 1];
    side->median[0] = median.start;
    side->median[1] = median.start + median.length;
    side->longest[0] = longest.start;
    side->longest[1] = longest.start + longest.length;
    side->loop[0] = INT64_MAX;
    side->loop[1] = INT64_MIN;
    for (size_t i = side->first; i < side->first + side->count; i++)
        if (is_near(viewer, side, i))
            add_trace_to_loop(viewer, side, i);
    if (side->loop[0] > side->loop[1])
        memcpy(side->loop, side->near, sizeof(side->loop));
    free(all);
    return 0;
}

/* Room for one more than there are. 0, or -1 when out of memory. */
static int make_room(struct nvt_viewer *viewer, size_t sides, size_t traces)
{
    viewer->sides = calloc(sides, sizeof(*viewer->sides));
    viewer->traces = calloc(traces, sizeof(*viewer->traces));
    viewer->scenes = calloc(traces, sizeof(*viewer->scenes));
    viewer->shifts = calloc(traces, sizeof(*viewer->shifts));
    viewer->first = calloc(traces, sizeof(*viewer->first));
    return viewer->sides && viewer->traces && viewer->scenes && viewer->shifts && viewer->first
               ? 0
               : -1;
}

static int make_viewer(struct nvt_viewer *viewer, struct nvt_input *inputs, size_t sides,
                       int has_path, struct nvt_error *err)
{
    size_t traces = 0;
    for (size_t i = 0; i < sides; i++) {
        if (!inputs[i].trace_count)
            return nvt_fail(err, "view: there is no trace in what was given");
        traces += inputs[i].trace_count;
    }
    if (make_room(viewer, sides + 1, traces + 1))
        return nvt_fail(err, "out of memory");
    for (size_t s = 0; s < sides; s++) {
        struct nvt_view_side *side = &viewer->sides[viewer->side_count++];
        *side = (struct nvt_view_side){
            .input = &inputs[s], .first = viewer->count, .count = inputs[s].trace_count};
        for (size_t i = 0; i < side->count; i++, viewer->count++) {
            struct nvt_scene *scene = &viewer->scenes[viewer->count];
            viewer->traces[viewer->count] = &inputs[s].traces[i];
            if (nvt_scene_make(scene, inputs[s].traces[i].trace, has_path, err)) {
                viewer->count++;
                return -1;
            }
            viewer->first[viewer->count + 1] = viewer->first[viewer->count] + scene->count;
        }
        if (shift_side(viewer, side) || find_loop(viewer, side))
            return nvt_fail(err, "out of memory");
    }
    return 0;
}

int nvt_viewer_make(struct nvt_viewer *viewer, struct nvt_input *inputs, size_t sides,
                    struct nvt_error *err)
{
    return make_viewer(viewer, inputs, sides, 1, err);
}

int nvt_viewer_make_lanes(struct nvt_viewer *viewer, struct nvt_input *inputs, size_t sides,
                          struct nvt_error *err)
{
    return make_viewer(viewer, inputs, sides, 0, err);
}

int nvt_viewer_add_path(struct nvt_viewer *viewer, const struct nvt_viewer *base,
                        struct nvt_error *err)
{
    if (make_room(viewer, base->side_count + 1, base->count + 1))
        return nvt_fail(err, "out of memory");
    for (; viewer->side_count < base->side_count; viewer->side_count++)
        viewer->sides[viewer->side_count] = base->sides[viewer->side_count];
    viewer->end = base->end;
    viewer->unaligned = base->unaligned;
    for (size_t i = 0; i < base->count; i++) {
        viewer->traces[i] = base->traces[i];
        viewer->shifts[i] = base->shifts[i];
        viewer->count++;
        if (nvt_scene_add_path(&viewer->scenes[i], &base->scenes[i], err))
            return -1;
        viewer->first[i + 1] = viewer->first[i] + viewer->scenes[i].count;
    }
    return 0;
}

void nvt_viewer_free(struct nvt_viewer *viewer)
{
    for (size_t i = 0; i < viewer->count; i++)
        nvt_scene_free(&viewer->scenes[i]);
    free(viewer->sides);
    free(viewer->traces);
    free(viewer->scenes);
    free(viewer->shifts);
    free(viewer->first);
    *viewer = (struct nvt_viewer){0};
}

const struct nvt_scene *nvt_viewer_lane(const struct nvt_viewer *viewer, uint32_t *lane,
                                        uint32_t *trace)
{
    for (uint32_t i = 0; i < viewer->count; i++)
        if (*lane < viewer->first[i + 1]) {
            *lane -= viewer->first[i];
            *trace = i;
            return &viewer->scenes[i];
        }
    return NULL;
}

static void put_process(const struct nvt_viewer *viewer, uint32_t trace, uint32_t process,
                        struct nvt_buffer *out)
{
    const struct nvt_scene *scene = &viewer->scenes[trace];
    char text[256] = "";
    if (process != NVT_NONE) {
        const struct nvt_processes *processes = &scene->trace->processes;
        const uint32_t rank = nvt_input_rank(viewer->traces[trace], process);
        int used = rank == NVT_NONE ? 0 : snprintf(text, sizeof(text), "rank %" PRIu32 ", ", rank);
        snprintf(text + used, sizeof(text) - (size_t)used, "process %" PRId64 " %s",
                 processes->pid[process], nvt_name(scene->trace, processes->name[process]));
    }
    nvt_json_quote(out, text);
}

static void put_lane(const struct nvt_viewer *viewer, uint32_t trace, uint32_t lane,
                     struct nvt_buffer *out)
{
    const struct nvt_scene *scene = &viewer->scenes[trace];
    const struct nvt_view_lane *of = &scene->lanes[lane];
    uint64_t events = 0;
    char label[256];
    for (uint32_t i = 0; i < of->tracks.count; i++)
        events += of->tracks.items[i].count;
    nvt_scene_label(scene, lane, label, sizeof(label));
    nvt_buffer_printf(out,
                      "{\"id\":%" PRIu32 ",\"trace\":%" PRIu32 ",\"kind\":%d,\"tracks\":%" PRIu32
                      ",\"events\":%" PRIu64 ",\"label\":",
                      viewer->first[trace] + lane, trace, (int)of->kind, of->tracks.count, events);
    nvt_json_quote(out, label);
    nvt_buffer_printf(out, ",\"process\":");
    if (of->process == NVT_NONE && nvt_view_is_curve(of->kind))
        nvt_json_quote(out, "machine");
    else
        put_process(viewer, trace, of->process, out);
    if (nvt_view_is_curve(of->kind)) {
        nvt_buffer_printf(out, ",\"unit\":");
        nvt_json_quote(out, of->kind == NVT_VIEW_MEMORY
                                ? "B"
                                : nvt_name(scene->trace, scene->trace->counters.unit[of->item]));
    }
    nvt_buffer_printf(out, "}");
}

static void put_side(const struct nvt_viewer *viewer, const struct nvt_view_side *side,
                     struct nvt_buffer *out)
{
    nvt_buffer_printf(out, "{\"name\":");
    nvt_json_quote(out, nvt_file_name(viewer->traces[side->first]->trace->path));
    nvt_buffer_printf(out,
                      ",\"first\":%zu,\"traces\":%zu,\"begin\":%" PRId64 ",\"end\":%" PRId64
                      ",\"near\":[%" PRId64 ",%" PRId64 "],\"iterations\":%zu",
                      side->first, side->count, side->begin, side->end, side->near[0],
                      side->near[1], side->iterations);
    if (side->iterations)
        nvt_buffer_printf(out,
                          ",\"loop\":[%" PRId64 ",%" PRId64 "],\"median\":[%" PRId64 ",%" PRId64
                          "],\"longest\":[%" PRId64 ",%" PRId64 "]",
                          side->loop[0], side->loop[1], side->median[0], side->median[1],
                          side->longest[0], side->longest[1]);
    int goes_on = 0, is_part = 0;
    for (size_t i = 0; i < side->count; i++) {
        goes_on |= viewer->traces[side->first + i]->trace->goes_on;
        is_part |= viewer->traces[side->first + i]->trace->is_part;
    }
    nvt_buffer_printf(out, ",\"goes_on\":%d,\"is_window\":%d}", goes_on, is_part);
}

/* Whether a note says what its trace says, too. */
static int is_of_trace(const struct nvt_input *input, const char *note)
{
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        const size_t length = strlen(trace->path);
        if (trace->warning && !strncmp(note, trace->path, length) &&
            !strncmp(note + length, ": ", 2) && !strcmp(note + length + 2, trace->warning))
            return 1;
    }
    return 0;
}

/* Files that were left out: notes that warn. */
static void put_left_out(const struct nvt_input *input, size_t *count, struct nvt_buffer *out)
{
    static const char begin[] = "warning: ";
    const char *at = (const char *)input->notes.data;
    const char *behind = input->notes.size ? at + input->notes.size : at;
    while (at < behind) {
        const char *end = memchr(at, '\n', (size_t)(behind - at));
        const size_t length = (size_t)((end ? end : behind) - at);
        char text[8192];
        snprintf(text, sizeof(text), "%.*s", (int)length, at);
        if (!strncmp(text, begin, sizeof(begin) - 1) &&
            !is_of_trace(input, text + sizeof(begin) - 1)) {
            nvt_buffer_printf(out, "%s", (*count)++ ? "," : "");
            nvt_json_quote(out, text + sizeof(begin) - 1);
        }
        at = end ? end + 1 : behind;
    }
}

/* What could not be read. */
static void put_warnings(const struct nvt_viewer *viewer, struct nvt_buffer *out)
{
    size_t count = 0;
    nvt_buffer_printf(out, "],\"warnings\":[");
    for (size_t i = 0; i < viewer->side_count; i++)
        put_left_out(viewer->sides[i].input, &count, out);
    for (size_t i = 0; i < viewer->count; i++) {
        const struct nvt_trace *trace = viewer->traces[i]->trace;
        char text[1024];
        if (!trace->warning)
            continue;
        snprintf(text, sizeof(text), "%s: %s", nvt_file_name(trace->path), trace->warning);
        nvt_buffer_printf(out, "%s", count++ ? "," : "");
        nvt_json_quote(out, text);
    }
}

int nvt_answer_lanes(const struct nvt_viewer *viewer, struct nvt_buffer *out)
{
    nvt_buffer_printf(out, "{\"end\":%" PRId64 ",\"unaligned\":%zu,\"traces\":[", viewer->end,
                      viewer->unaligned);
    for (size_t i = 0; i < viewer->count; i++) {
        nvt_buffer_printf(out, "%s", i ? "," : "");
        nvt_json_quote(out, nvt_file_name(viewer->traces[i]->trace->path));
    }
    nvt_buffer_printf(out, "],\"spans\":[");
    for (size_t i = 0; i < viewer->count; i++)
        nvt_buffer_printf(out, "%s[%" PRId64 ",%" PRId64 "]", i ? "," : "", begin_of(viewer, i),
                          end_of(viewer, i));
    put_warnings(viewer, out);
    nvt_buffer_printf(out, "],\"sides\":[");
    for (size_t i = 0; i < viewer->side_count; i++) {
        nvt_buffer_printf(out, "%s", i ? "," : "");
        put_side(viewer, &viewer->sides[i], out);
    }
    nvt_buffer_printf(out, "],\"kinds\":[");
    for (int i = 0; i < NVT_VIEW_KINDS; i++) {
        nvt_buffer_printf(out, "%s", i ? "," : "");
        nvt_json_quote(out, nvt_view_kind_name((enum nvt_view_kind)i));
    }
    nvt_buffer_printf(out, "],\"classes\":[");
    for (int i = 0; i < NVT_KERNEL_CLASSES; i++) {
        nvt_buffer_printf(out, "%s", i ? "," : "");
        nvt_json_quote(out, nvt_kernel_class_name((enum nvt_kernel_class)i));
    }
    nvt_buffer_printf(out, "],\"lanes\":[");
    for (uint32_t i = 0; i < viewer->count; i++)
        for (uint32_t lane = 0; lane < viewer->scenes[i].count; lane++) {
            nvt_buffer_printf(out, "%s", viewer->first[i] + lane ? "," : "");
            put_lane(viewer, i, lane, out);
        }
    nvt_buffer_printf(out, "]}\n");
    return out->failed ? -1 : 0;
}
