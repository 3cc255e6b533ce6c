#include "answers.h"

#include <inttypes.h>
#include <stdlib.h>

#include "../../lib/json.h"

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
    return moment - viewer->shifts[trace];
}

static void put_curve(struct tiles *tiles, const struct nvt_scene *scene,
                      const struct nvt_view_lane *lane)
{
    const int64_t width = tiles->to - tiles->from;
    const uint32_t columns =
        tiles->columns < NVT_ANSWER_COLUMNS ? tiles->columns : NVT_ANSWER_COLUMNS;
    nvt_buffer_printf(tiles->out, "{\"curve\":[");
    tiles->is_first = 1;
    for (uint32_t i = 0; i < columns; i++) {
        const int64_t from = tiles->from + (int64_t)((__int128)width * i / columns);
        const int64_t to = tiles->from + (int64_t)((__int128)width * (i + 1) / columns);
        double least, most, last;
        if (to <= from || to <= 0 || from > tiles->viewer->end ||
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

/* Of the names those of operations, with the class of each. */
static void put_classes(const struct tiles *tiles)
{
    nvt_buffer_printf(tiles->out, "],\"classes\":[");
    for (size_t t = 0; t < tiles->viewer->count; t++) {
        const struct nvt_tally *seen = &tiles->seen[t];
        nvt_buffer_printf(tiles->out, "%s{", t ? "," : "");
        for (uint32_t i = 0, count = 0; i < seen->seen_count; i++) {
            const uint8_t class = tiles->viewer->scenes[t].classes[seen->seen[i]];
            if (class)
                nvt_buffer_printf(tiles->out, "%s\"%" PRIu32 "\":%d", count++ ? "," : "",
                                  seen->seen[i], class - 1);
        }
        nvt_buffer_printf(tiles->out, "}");
    }
    nvt_buffer_printf(tiles->out, "]}\n");
}

static void put_names(const struct tiles *tiles)
{
    nvt_buffer_printf(tiles->out, "},\"names\":[");
    for (size_t t = 0; t < tiles->viewer->count; t++) {
        const struct nvt_tally *seen = &tiles->seen[t];
        nvt_buffer_printf(tiles->out, "%s{", t ? "," : "");
        for (uint32_t i = 0; i < seen->seen_count; i++) {
            nvt_buffer_printf(tiles->out, "%s\"%" PRIu32 "\":", i ? "," : "", seen->seen[i]);
            nvt_json_quote(tiles->out, nvt_scene_name(&tiles->viewer->scenes[t], seen->seen[i]));
        }
        nvt_buffer_printf(tiles->out, "}");
    }
    put_classes(tiles);
}

/* Each lane of a list once, as long as it has those that there are. 0; 1 or -1 as of answers. */
static int put_list(struct tiles *tiles, const char *list)
{
    uint8_t *done = calloc(tiles->viewer->first[tiles->viewer->count] + 1, 1);
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
    const size_t count = viewer->count;
    const int64_t most = INT64_C(1) << 61;
    if (to <= from || from < -most || to > most || !columns)
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
