/*
 * Answers that are tables: what ran in a window, names that were searched for, findings.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/bisect.h"
#include "../../lib/count_of.h"
#include "../../lib/grow.h"
#include "../../lib/json.h"
#include "../diagnosis/diagnose.h"
#include "../model/groups.h"
#include "answers.h"

/* --- a window --------------------------------------------------------------------------------- */

struct window {
    const struct nvt_viewer *viewer;
    const struct nvt_view_window *parts; /* 1, or 2 that are compared */
    size_t part_count;
    struct nvt_groups groups; /* a key is a name, a style and a part */
    struct nvt_buffer *out;
    size_t more;
};

enum table { RANGES, OPERATIONS, CALLS };

/* Names are put together once each. NVT_NONE: out of memory. */
static uint32_t group_of(struct window *window, struct nvt_map *seen, const struct nvt_trace *trace,
                         enum table table, uint32_t part, uint32_t row)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    const uint32_t style =
        table == RANGES && ranges->style[row] != NVT_PUSH_POP ? NVT_START_END : NVT_PUSH_POP;
    const uint32_t name = table == RANGES  ? ranges->name[row]
                          : table == CALLS ? trace->apis.name[row]
                                           : trace->ops.name[row];
    uint32_t *group = nvt_map_at(
        &seen[style], (table == RANGES ? (uint64_t)ranges->domain[row] << 32 : 0) | name);
    if (group && *group == NVT_MAP_NONE) {
        const uint32_t key[] = {table == RANGES ? nvt_groups_range(&window->groups, row)
                                                : nvt_groups_string(&window->groups, name),
                                style, part};
        *group = nvt_groups_key(&window->groups, key, 3);
    }
    return group ? *group : NVT_NONE;
}

static void add_rows(struct window *window, uint32_t part, size_t number, enum table table)
{
    const struct nvt_trace *trace = window->viewer->scenes[number].trace;
    const int64_t *starts[] = {trace->ranges.start, trace->ops.start, trace->apis.start};
    const int64_t *ends[] = {trace->ranges.end, trace->ops.end, trace->apis.end};
    const uint32_t counts[] = {trace->ranges.count, trace->ops.count, trace->apis.count};
    const int64_t shift = window->viewer->shifts[number];
    const int64_t from = window->parts[part].from - shift, to = window->parts[part].to - shift;
    struct nvt_map seen[2] = {{0}, {0}};
    uint32_t row = 0;
    NVT_BISECT(row, counts[table], starts[table][row] < from);
    nvt_groups_trace(&window->groups, trace);
    for (; row < counts[table] && starts[table][row] <= to; row++)
        if (table != RANGES || !(trace->ranges.flags[row] & NVT_RANGE_PARTIAL))
            nvt_groups_add(&window->groups, group_of(window, seen, trace, table, part, row),
                           ends[table][row] - starts[table][row]);
    nvt_map_free(&seen[0]);
    nvt_map_free(&seen[1]);
}

/* A line of a table: what a name has in each part. */
struct line {
    uint32_t name, style; /* of the groups */
    uint32_t place;       /* among equal ones */
    size_t count[2];
    int64_t ns[2];
    int64_t weight; /* by which they are put in order */
};

static int by_weight(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

/* Put the groups of both parts together by name and style. 0, or -1 when out of memory. */
static int make_lines(const struct window *window, struct line *lines, size_t *count)
{
    const struct nvt_groups *groups = &window->groups;
    struct nvt_map seen = {0};
    uint32_t numbers = 0, at = 0;
    for (uint32_t i = 0; i < groups->count && at != NVT_MAP_NONE; i++) {
        const struct nvt_group *group = &groups->groups[i];
        at = nvt_map_number(&seen, (uint64_t)group->key[1] << 32 | group->key[0], &numbers);
        if (at == NVT_MAP_NONE)
            break;
        if (at == *count)
            lines[(*count)++] =
                (struct line){.name = group->key[0], .style = group->key[1], .place = i};
        lines[at].count[group->key[2]] = group->count;
        lines[at].ns[group->key[2]] = group->total;
    }
    nvt_map_free(&seen);
    for (size_t i = 0; i < *count; i++)
        lines[i].weight =
            window->part_count == 1 ? lines[i].ns[0] : llabs(lines[i].ns[1] - lines[i].ns[0]);
    qsort(lines, *count, sizeof(*lines), by_weight);
    return at == NVT_MAP_NONE ? -1 : 0;
}

static void put_line(struct window *window, enum table table, const struct line *line)
{
    nvt_buffer_printf(window->out, "[");
    nvt_json_quote(window->out, nvt_groups_name(&window->groups, line->name));
    if (table == RANGES)
        nvt_buffer_printf(window->out, ",\"%s\"", nvt_style_name(line->style));
    for (size_t part = 0; part < window->part_count; part++)
        nvt_buffer_printf(window->out, ",%zu,%" PRId64, line->count[part], line->ns[part]);
    nvt_buffer_printf(window->out, "]");
}

static int put_table(struct window *window, enum table table)
{
    struct nvt_groups *groups = &window->groups;
    size_t count = 0;
    for (uint32_t part = 0; part < window->part_count; part++) {
        const struct nvt_view_side *side = &window->viewer->sides[window->parts[part].side];
        for (size_t i = 0; i < side->count; i++)
            add_rows(window, part, side->first + i, table);
    }
    struct line *lines = calloc((size_t)groups->count + 1, sizeof(*lines));
    const int status = lines && !nvt_groups_failed(groups) ? make_lines(window, lines, &count) : -1;
    for (size_t i = 0; i < count && i < NVT_ANSWER_ROWS && !status; i++) {
        nvt_buffer_printf(window->out, "%s", i ? "," : "");
        put_line(window, table, &lines[i]);
    }
    window->more += count > NVT_ANSWER_ROWS ? count - NVT_ANSWER_ROWS : 0;
    free(lines);
    nvt_groups_free(groups);
    *groups = (struct nvt_groups){0};
    return status;
}

int nvt_answer_window(const struct nvt_viewer *viewer, const struct nvt_view_window *windows,
                      size_t count, struct nvt_buffer *out)
{
    const int64_t most = INT64_C(1) << 61;
    struct window window = {.viewer = viewer, .parts = windows, .part_count = count, .out = out};
    for (size_t i = 0; i < count; i++)
        if (windows[i].to < windows[i].from || windows[i].from < -most || windows[i].to > most ||
            windows[i].side >= viewer->side_count)
            return 1;
    nvt_buffer_printf(out, "{\"ranges\":[");
    if (put_table(&window, RANGES))
        return -1;
    nvt_buffer_printf(out, "],\"operations\":[");
    if (put_table(&window, OPERATIONS))
        return -1;
    nvt_buffer_printf(out, "],\"calls\":[");
    if (put_table(&window, CALLS))
        return -1;
    nvt_buffer_printf(out, "],\"more\":%zu}\n", window.more);
    return out->failed ? -1 : 0;
}

/* --- names ------------------------------------------------------------------------------------ */

struct place {
    uint32_t lane, track, span;
};

struct match {
    uint64_t spans;
    uint32_t trace, name;
    int is_found, is_behind; /* `at` is there; it begins behind the moment */
    int64_t start;
    struct place at;
};

/* Of spans behind the moment the first one, before those of others. */
static void see_span(struct match *match, int64_t start, int64_t moment, struct place at)
{
    const int is_behind = start > moment;
    match->spans++;
    if (match->is_found &&
        (match->is_behind > is_behind || (match->is_behind == is_behind && match->start <= start)))
        return;
    match->is_found = 1;
    match->is_behind = is_behind;
    match->start = start;
    match->at = at;
}

/* Names of a trace that hold the text: `of` each their match and 1. NULL when out of memory. */
static uint32_t *matching(const struct nvt_scene *scene, uint32_t trace, const char *text,
                          struct match **matches, uint32_t *count)
{
    uint32_t *of = calloc(scene->names, sizeof(*of));
    *matches = NULL;
    *count = 0;
    for (uint32_t name = 0; name < scene->names && of; name++) {
        if (!strcasestr(nvt_scene_name(scene, name), text))
            continue;
        if (nvt_grow(matches, *count, sizeof(**matches))) {
            free(of);
            return NULL;
        }
        (*matches)[(*count)++] = (struct match){.trace = trace, .name = name};
        of[name] = *count;
    }
    return of;
}

static void see_lane(const struct nvt_scene *scene, uint32_t lane, const uint32_t *of,
                     struct match *matches, int64_t moment)
{
    const struct nvt_tracks *tracks = &scene->lanes[lane].tracks;
    if (scene->lanes[lane].kind == NVT_VIEW_ITERATIONS) /* they are ranges, too */
        return;
    for (uint32_t t = 0; t < tracks->count; t++)
        for (uint32_t i = 0; i < tracks->items[t].count; i++) {
            const uint32_t match = of[nvt_track_name(&tracks->items[t], i)];
            if (match)
                see_span(&matches[match - 1], nvt_track_start(&tracks->items[t], i), moment,
                         (struct place){lane, t, i});
        }
}

static int by_spans(const void *left, const void *right)
{
    const struct match *a = left, *b = right;
    if (a->spans != b->spans)
        return a->spans > b->spans ? -1 : 1;
    if (a->trace != b->trace)
        return a->trace < b->trace ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

static void put_match(const struct nvt_viewer *viewer, const struct match *match, const char *comma,
                      struct nvt_buffer *out)
{
    const struct nvt_scene *scene = &viewer->scenes[match->trace];
    const struct nvt_track *track = &scene->lanes[match->at.lane].tracks.items[match->at.track];
    nvt_buffer_printf(out, "%s[%" PRIu32 ",", comma, match->trace);
    nvt_json_quote(out, nvt_scene_name(scene, match->name));
    nvt_buffer_printf(out,
                      ",%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRId64 ",%" PRId64 "]",
                      match->spans, viewer->first[match->trace] + match->at.lane, match->at.track,
                      track->row[match->at.span],
                      nvt_viewer_axis(viewer, match->trace, nvt_track_start(track, match->at.span)),
                      nvt_viewer_axis(viewer, match->trace, nvt_track_end(track, match->at.span)));
}

/* Append the matches of a trace that occur. 0, or -1 when out of memory. */
static int find_in(const struct nvt_viewer *viewer, uint32_t trace, const char *text,
                   int64_t moment, struct nvt_buffer *found)
{
    const struct nvt_scene *scene = &viewer->scenes[trace];
    struct match *matches;
    uint32_t count, *of = matching(scene, trace, text, &matches, &count);
    int status = of ? 0 : -1;
    for (uint32_t lane = 0; lane < scene->count && count && of; lane++)
        see_lane(scene, lane, of, matches, moment - viewer->shifts[trace]);
    for (uint32_t i = 0; i < count && !status; i++)
        if (matches[i].spans)
            status = nvt_buffer_append(found, &matches[i], sizeof(matches[i]));
    free(matches);
    free(of);
    return status;
}

int nvt_answer_find(const struct nvt_viewer *viewer, const char *text, int64_t moment,
                    struct nvt_buffer *out)
{
    struct nvt_buffer found = {0};
    uint64_t spans = 0;
    int status = !*text || moment > INT64_C(1) << 61 || moment < -(INT64_C(1) << 61);
    for (uint32_t i = 0; i < viewer->count && !status; i++)
        status = find_in(viewer, i, text, moment, &found);
    struct match *matches = (struct match *)(void *)found.data;
    const size_t count = found.size / sizeof(*matches);
    if (count && !status)
        qsort(matches, count, sizeof(*matches), by_spans);
    nvt_buffer_printf(out, "{\"names\":[");
    for (size_t i = 0; i < count && !status; i++) {
        spans += matches[i].spans;
        if (i < NVT_ANSWER_ROWS)
            put_match(viewer, &matches[i], i ? "," : "", out);
    }
    nvt_buffer_printf(out, "],\"spans\":%" PRIu64 "}\n", spans);
    nvt_buffer_free(&found);
    return out->failed ? -1 : status;
}

/* --- findings --------------------------------------------------------------------------------- */

static size_t trace_of(const struct nvt_viewer *viewer, const struct nvt_trace *trace)
{
    size_t i = 0;
    while (i < viewer->count && viewer->scenes[i].trace != trace)
        i++;
    return i;
}

void nvt_answer_finding(const struct nvt_viewer *viewer, const struct nvt_finding *finding,
                        size_t side, struct nvt_buffer *out)
{
    char title[NVT_TITLE_MAX], what[NVT_WHAT_MAX], where[NVT_WHERE_MAX];
    nvt_finding_title(finding, title, sizeof(title));
    nvt_finding_what(finding, what, sizeof(what));
    nvt_finding_where(finding, where, sizeof(where));
    const char *const parts[][2] = {{"title", title},
                                    {"what", what},
                                    {"where", where},
                                    {"evidence", finding->evidence},
                                    {"remedy", finding->remedy}};
    for (size_t i = 0; i < NVT_COUNT_OF(parts); i++) {
        nvt_buffer_printf(out, "%s\"%s\":", i ? "," : "{", parts[i][0]);
        nvt_json_quote(out, parts[i][1]);
    }
    nvt_buffer_printf(out, ",\"moments\":[");
    const size_t trace = trace_of(viewer, finding->trace);
    for (uint32_t i = 0; i < finding->moment_count && trace < viewer->count; i++)
        nvt_buffer_printf(out, "%s%" PRId64, i ? "," : "",
                          nvt_viewer_axis(viewer, trace, finding->moments[i]));
    nvt_buffer_printf(out, "],\"side\":%zu}", side);
}

/* 0, or -1. */
static int put_findings(const struct nvt_viewer *viewer, size_t side, size_t *count,
                        struct nvt_buffer *out)
{
    struct nvt_input *input = viewer->sides[side].input;
    struct nvt_findings findings = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    size_t minor;
    const int status = nvt_diagnose(input, NULL, &findings, &err) ||
                       nvt_findings_fold(&findings, input, &err) ||
                       nvt_findings_leave_minor(&findings, &minor, &err);
    for (size_t i = 0; i < findings.count && !status; i++) {
        nvt_buffer_printf(out, "%s", (*count)++ ? "," : "");
        nvt_answer_finding(viewer, &findings.items[i], side, out);
    }
    free(findings.items);
    return status ? -1 : 0;
}

int nvt_answer_findings(const struct nvt_viewer *viewer, struct nvt_buffer *out)
{
    int status = 0;
    size_t count = 0;
    nvt_buffer_printf(out, "{\"findings\":[");
    for (size_t side = 0; side < viewer->side_count && !status; side++)
        status = put_findings(viewer, side, &count, out);
    nvt_buffer_printf(out, "]}\n");
    return out->failed || status ? -1 : 0;
}
