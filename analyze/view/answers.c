#include "answers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/json.h"
#include "../../lib/text.h"
#include "../input/clocks.h"
#include "../input/ranks.h"

static int shift_all(struct nvt_viewer *viewer, const struct nvt_input *input)
{
    const struct nvt_trace **traces = calloc(input->trace_count, sizeof(struct nvt_trace *));
    if (!traces)
        return -1;
    for (size_t i = 0; i < input->trace_count; i++)
        traces[i] = input->traces[i].trace;
    viewer->unaligned = nvt_shifts_to_first(traces, input->trace_count, viewer->shifts);
    for (size_t i = 0; i < input->trace_count; i++) {
        const int64_t begin = traces[i]->first_ns + viewer->shifts[i];
        const int64_t end = traces[i]->last_ns + viewer->shifts[i];
        viewer->begin = !i || begin < viewer->begin ? begin : viewer->begin;
        viewer->end = !i || end > viewer->end ? end : viewer->end;
    }
    free(traces);
    return 0;
}

int nvt_viewer_make(struct nvt_viewer *viewer, struct nvt_input *input, struct nvt_error *err)
{
    const size_t count = input->trace_count;
    viewer->input = input;
    if (!count)
        return nvt_fail(err, "view: there is no trace in what was given");
    viewer->scenes = calloc(count, sizeof(*viewer->scenes));
    viewer->shifts = calloc(count, sizeof(*viewer->shifts));
    viewer->first = calloc(count + 1, sizeof(*viewer->first));
    if (!viewer->scenes || !viewer->shifts || !viewer->first || shift_all(viewer, input))
        return nvt_fail(err, "out of memory");
    for (size_t i = 0; i < count; i++) {
        if (nvt_scene_make(&viewer->scenes[i], input->traces[i].trace, err))
            return -1;
        viewer->first[i + 1] = viewer->first[i] + viewer->scenes[i].count;
    }
    return 0;
}

void nvt_viewer_free(struct nvt_viewer *viewer)
{
    for (size_t i = 0; viewer->scenes && i < viewer->input->trace_count; i++)
        if (viewer->scenes[i].trace)
            nvt_scene_free(&viewer->scenes[i]);
    free(viewer->scenes);
    free(viewer->shifts);
    free(viewer->first);
    *viewer = (struct nvt_viewer){0};
}

const struct nvt_scene *nvt_viewer_lane(const struct nvt_viewer *viewer, uint32_t *lane,
                                        uint32_t *trace)
{
    for (uint32_t i = 0; i < viewer->input->trace_count; i++)
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
        const uint32_t rank = nvt_input_rank(&viewer->input->traces[trace], process);
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
    put_process(viewer, trace, of->process, out);
    if (nvt_view_is_curve(of->kind)) {
        nvt_buffer_printf(out, ",\"unit\":");
        nvt_json_quote(out, of->kind == NVT_VIEW_MEMORY
                                ? "B"
                                : nvt_name(scene->trace, scene->trace->counters.unit[of->item]));
    }
    nvt_buffer_printf(out, "}");
}

int nvt_answer_lanes(const struct nvt_viewer *viewer, struct nvt_buffer *out)
{
    nvt_buffer_printf(out, "{\"end\":%" PRId64 ",\"unaligned\":%zu,\"traces\":[",
                      viewer->end - viewer->begin, viewer->unaligned);
    for (size_t i = 0; i < viewer->input->trace_count; i++) {
        nvt_buffer_printf(out, "%s", i ? "," : "");
        nvt_json_quote(out, nvt_file_name(viewer->input->traces[i].trace->path));
    }
    nvt_buffer_printf(out, "],\"kinds\":[");
    for (int i = 0; i < NVT_VIEW_KINDS; i++) {
        nvt_buffer_printf(out, "%s", i ? "," : "");
        nvt_json_quote(out, nvt_view_kind_name((enum nvt_view_kind)i));
    }
    nvt_buffer_printf(out, "],\"lanes\":[");
    for (uint32_t i = 0; i < viewer->input->trace_count; i++)
        for (uint32_t lane = 0; lane < viewer->scenes[i].count; lane++) {
            nvt_buffer_printf(out, "%s", viewer->first[i] + lane ? "," : "");
            put_lane(viewer, i, lane, out);
        }
    nvt_buffer_printf(out, "]}\n");
    return out->failed ? -1 : 0;
}

/* --- tiles ------------------------------------------------------------------------------------ */

struct tiles {
    const struct nvt_viewer *viewer;
    int64_t from, to; /* on the viewer's axis */
    uint32_t columns;
    uint32_t trace;
    struct nvt_tally *tally, *seen; /* of each trace, made when the first of its lanes comes */
    struct nvt_buffer *out;
    int is_first;
};

/* A number and a comma at `end`; where the next one goes. Most of the time of an answer went into printf. */
static char *put_number(char *end, int64_t number)
{
    char digits[20];
    size_t count = 0;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (number < 0)
        *end++ = '-';
    while (count)
        *end++ = digits[--count];
    *end++ = ',';
    return end;
}

static void put_item(void *context, const struct nvt_tile_item *item)
{
    struct tiles *tiles = context;
    char text[6 * 22], *end = text + 1;
    text[0] = ',';
    end = put_number(end, nvt_viewer_axis(tiles->viewer, tiles->trace, item->start));
    end = put_number(end, item->end - item->start);
    end = put_number(end, item->ns);
    end = put_number(end, item->count);
    end = put_number(end, item->name);
    end = put_number(end, item->row) - 1;
    nvt_buffer_append(tiles->out, text + tiles->is_first,
                      (size_t)(end - text) - (size_t)tiles->is_first);
    tiles->is_first = 0;
    if (!tiles->seen[tiles->trace].count[item->name])
        nvt_tally_add(&tiles->seen[tiles->trace], item->name, 1);
}

/* What a trace calls a moment of the axis, within what tiles may ask for. */
static int64_t moment_of(const struct nvt_viewer *viewer, uint32_t trace, int64_t moment)
{
    return moment + viewer->begin - viewer->shifts[trace];
}

static void put_curve(struct tiles *tiles, const struct nvt_scene *scene,
                      const struct nvt_view_lane *lane)
{
    const int64_t width = tiles->to - tiles->from;
    nvt_buffer_printf(tiles->out, "{\"curve\":[");
    tiles->is_first = 1;
    for (uint32_t i = 0; i < tiles->columns; i++) {
        const int64_t from = tiles->from + (int64_t)((__int128)width * i / tiles->columns);
        const int64_t to = tiles->from + (int64_t)((__int128)width * (i + 1) / tiles->columns);
        double least, most, last;
        if (to <= from || to <= 0 || from > tiles->viewer->end - tiles->viewer->begin ||
            !nvt_scene_bounds(scene, lane, moment_of(tiles->viewer, tiles->trace, from),
                              moment_of(tiles->viewer, tiles->trace, to), &least, &most, &last))
            continue;
        nvt_buffer_printf(tiles->out, "%s%" PRId64 ",%.9g,%.9g,%.9g", tiles->is_first ? "" : ",",
                          from, least, most, last);
        tiles->is_first = 0;
    }
    nvt_buffer_printf(tiles->out, "]}");
}

/* 0, or -1 when out of memory. */
static int put_tiles(struct tiles *tiles, const struct nvt_scene *scene, uint32_t lane)
{
    const struct nvt_view_lane *of = &scene->lanes[lane];
    struct nvt_tally *tally = &tiles->tally[tiles->trace], *seen = &tiles->seen[tiles->trace];
    if (!tally->count) {
        tally->names = seen->names = scene->names;
        if (nvt_tally_begin(tally) || nvt_tally_begin(seen))
            return -1;
    }
    if (nvt_view_is_curve(of->kind)) {
        put_curve(tiles, scene, of);
        return 0;
    }
    nvt_buffer_printf(tiles->out, "{\"tracks\":[");
    for (uint32_t i = 0; i < of->tracks.count; i++) {
        nvt_buffer_printf(tiles->out, "%s[", i ? "," : "");
        tiles->is_first = 1;
        nvt_track_tile(&of->tracks.items[i], moment_of(tiles->viewer, tiles->trace, tiles->from),
                       moment_of(tiles->viewer, tiles->trace, tiles->to), tiles->columns, tally,
                       put_item, tiles);
        nvt_buffer_printf(tiles->out, "]");
    }
    nvt_buffer_printf(tiles->out, "]}");
    return 0;
}

static void put_names(const struct tiles *tiles)
{
    nvt_buffer_printf(tiles->out, "},\"names\":[");
    for (size_t t = 0; t < tiles->viewer->input->trace_count; t++) {
        const struct nvt_tally *seen = &tiles->seen[t];
        nvt_buffer_printf(tiles->out, "%s{", t ? "," : "");
        for (uint32_t i = 0; i < seen->seen_count; i++) {
            nvt_buffer_printf(tiles->out, "%s\"%" PRIu32 "\":", i ? "," : "", seen->seen[i]);
            nvt_json_quote(tiles->out, nvt_scene_name(&tiles->viewer->scenes[t], seen->seen[i]));
        }
        nvt_buffer_printf(tiles->out, "}");
    }
    nvt_buffer_printf(tiles->out, "]}\n");
}

/* Each lane of a list once, as long as it has those that there are. 0; 1 or -1 as of answers. */
static int put_list(struct tiles *tiles, const char *list)
{
    uint8_t *done = calloc(tiles->viewer->first[tiles->viewer->input->trace_count] + 1, 1);
    int status = done ? 0 : -1, count = 0;
    while (!status && *list) {
        char *end = (char *)(intptr_t)list;
        const unsigned long number = *list >= '0' && *list <= '9' ? strtoul(list, &end, 10) : ~0ul;
        uint32_t lane = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
        const struct nvt_scene *scene = nvt_viewer_lane(tiles->viewer, &lane, &tiles->trace);
        if (!scene || (*end && *end != ',')) {
            status = 1;
            break;
        }
        if (!done[number]++) {
            nvt_buffer_printf(tiles->out, "%s\"%lu\":", count++ ? "," : "", number);
            status = put_tiles(tiles, scene, lane);
        }
        list = *end ? end + 1 : end;
    }
    free(done);
    return status;
}

int nvt_answer_tiles(const struct nvt_viewer *viewer, int64_t from, int64_t to, uint32_t columns,
                     const char *lanes, struct nvt_buffer *out)
{
    const size_t count = viewer->input->trace_count;
    const int64_t most = INT64_C(1) << 61;
    if (to <= from || from < -most || to > most || !columns || columns > NVT_ANSWER_COLUMNS)
        return 1;
    struct tiles tiles = {.viewer = viewer,
                          .from = from,
                          .to = to,
                          .columns = columns,
                          .out = out,
                          .tally = calloc(count, sizeof(*tiles.tally)),
                          .seen = calloc(count, sizeof(*tiles.seen))};
    int status = tiles.tally && tiles.seen ? 0 : -1;
    nvt_buffer_printf(out, "{\"lanes\":{");
    if (!status)
        status = put_list(&tiles, lanes);
    if (!status)
        put_names(&tiles);
    for (size_t i = 0; i < count && tiles.tally && tiles.seen; i++) {
        nvt_tally_free(&tiles.tally[i]);
        nvt_tally_free(&tiles.seen[i]);
    }
    free(tiles.tally);
    free(tiles.seen);
    return out->failed ? -1 : status;
}
