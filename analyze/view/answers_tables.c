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
#include "../model/style_name.h"
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

enum table { RANGES, OPERATIONS, CALLS, MPI_CALLS, OS_CALLS, TABLES };

static const char *const table_names[TABLES] = {"ranges", "operations", "calls", "mpi", "os"};

/* The columns of a table that are needed here. */
struct rows {
    uint32_t count;
    const int64_t *start, *end;
    const nvt_text *name;
};

static struct rows rows_of(const struct nvt_trace *trace, enum table table)
{
#define ROWS(of)                                                                                   \
    {                                                                                              \
        trace->of.count, trace->of.start, trace->of.end, trace->of.name                            \
    }
    const struct rows all[TABLES] = {ROWS(ranges), ROWS(ops), ROWS(apis), ROWS(mpi_calls),
                                     ROWS(os_calls)};
#undef ROWS
    return all[table];
}

/* Names are put together once each. NVT_NONE: out of memory. */
static uint32_t group_of(struct window *window, struct nvt_map *seen, const struct nvt_trace *trace,
                         enum table table, uint32_t part, uint32_t row)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    const uint32_t style =
        table == RANGES && ranges->style[row] != NVT_PUSH_POP ? NVT_START_END : NVT_PUSH_POP;
    const uint32_t name = rows_of(trace, table).name[row];
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
    const struct rows rows = rows_of(trace, table);
    const int64_t shift = window->viewer->shifts[number];
    const int64_t from = window->parts[part].from - shift, to = window->parts[part].to - shift;
    struct nvt_map seen[2] = {{0}, {0}};
    uint32_t row = 0;
    NVT_BISECT(row, rows.count, rows.start[row] < from);
    nvt_groups_trace(&window->groups, trace);
    for (; row < rows.count && rows.start[row] <= to; row++)
        if (table != RANGES || !(trace->ranges.flags[row] & NVT_RANGE_PARTIAL))
            nvt_groups_add(&window->groups, group_of(window, seen, trace, table, part, row),
                           rows.end[row] - rows.start[row]);
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
    for (int table = 0; table < TABLES; table++) {
        nvt_buffer_printf(out, "%s\"%s\":[", table ? "]," : "{", table_names[table]);
        if (put_table(&window, (enum table)table))
            return -1;
    }
    nvt_buffer_printf(out, "],\"more\":%zu}\n", window.more);
    return out->failed ? -1 : 0;
}

/* --- names ------------------------------------------------------------------------------------ */

/* A span that was found. In the order of their starts; of those that begin at the same moment in that of their lanes and tracks. */
struct spot {
    int64_t start;        /* on its side's axis */
    uint32_t lane, track; /* lane: of the viewer */
    uint32_t span;
};

struct match {
    uint64_t spans;
    uint32_t trace, name;
    int is_ahead; /* the spot lies where is searched first */
    struct spot spot;
};

struct search {
    const struct nvt_viewer *viewer;
    struct spot from;
    int is_back;
    uint64_t spans, passed; /* passed: that lie before the next one, or up to the one before */
    struct nvt_buffer found;
};

static int order_of(const struct spot *a, const struct spot *b)
{
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    return a->track < b->track ? -1 : a->track > b->track;
}

/* Whether a spot comes before another one in what is searched: what lies ahead first, then the rest, both in its direction. */
static int comes_before(const struct search *search, const struct spot *spot, int is_ahead,
                        const struct match *other)
{
    if (is_ahead != other->is_ahead)
        return is_ahead;
    const int order = order_of(spot, &other->spot);
    return search->is_back ? order > 0 : order < 0;
}

static void see_span(struct search *search, struct match *match, const struct spot *spot)
{
    const int order = order_of(spot, &search->from);
    const int is_ahead = search->is_back ? order < 0 : order > 0;
    search->spans++;
    search->passed += is_ahead == search->is_back ? 1u : 0u;
    if (match->spans++ && !comes_before(search, spot, is_ahead, match))
        return;
    match->is_ahead = is_ahead;
    match->spot = *spot;
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

static void see_lane(struct search *search, uint32_t trace, uint32_t lane, const uint32_t *of,
                     struct match *matches)
{
    const struct nvt_scene *scene = &search->viewer->scenes[trace];
    const struct nvt_tracks *tracks = &scene->lanes[lane].tracks;
    if (scene->lanes[lane].kind == NVT_VIEW_ITERATIONS) /* they are ranges, too */
        return;
    for (uint32_t t = 0; t < tracks->count; t++)
        for (uint32_t i = 0; i < tracks->items[t].count; i++) {
            const uint32_t match = of[nvt_track_name(&tracks->items[t], i)];
            if (!match)
                continue;
            const int64_t start =
                nvt_viewer_axis(search->viewer, trace, nvt_track_start(&tracks->items[t], i));
            see_span(search, &matches[match - 1],
                     &(struct spot){start, search->viewer->first[trace] + lane, t, i});
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

static void put_match(const struct nvt_viewer *viewer, const struct match *match,
                      struct nvt_buffer *out)
{
    const struct nvt_scene *scene = &viewer->scenes[match->trace];
    const struct spot *spot = &match->spot;
    const uint32_t lane = spot->lane - viewer->first[match->trace];
    const struct nvt_track *track = &scene->lanes[lane].tracks.items[spot->track];
    nvt_buffer_printf(out, "[%" PRIu32 ",", match->trace);
    nvt_json_quote(out, nvt_scene_name(scene, match->name));
    nvt_buffer_printf(out,
                      ",%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRId64 ",%" PRId64 "]",
                      match->spans, spot->lane, spot->track, track->row[spot->span], spot->start,
                      nvt_viewer_axis(viewer, match->trace, nvt_track_end(track, spot->span)));
}

/* Append the matches of a trace that occur. 0, or -1 when out of memory. */
static int find_in(struct search *search, uint32_t trace, const char *text)
{
    const struct nvt_scene *scene = &search->viewer->scenes[trace];
    struct match *matches;
    uint32_t count, *of = matching(scene, trace, text, &matches, &count);
    int status = of ? 0 : -1;
    for (uint32_t lane = 0; lane < scene->count && count && of; lane++)
        see_lane(search, trace, lane, of, matches);
    for (uint32_t i = 0; i < count && !status; i++)
        if (matches[i].spans)
            status = nvt_buffer_append(&search->found, &matches[i], sizeof(matches[i]));
    free(matches);
    free(of);
    return status;
}

/* The one to go to, of all names. */
static void put_next(const struct search *search, const struct match *matches, size_t count,
                     struct nvt_buffer *out)
{
    const struct match *next = matches;
    for (size_t i = 1; i < count; i++)
        if (comes_before(search, &matches[i].spot, matches[i].is_ahead, next))
            next = &matches[i];
    const uint64_t place = search->is_back ? (next->is_ahead ? search->passed : search->spans)
                                           : (next->is_ahead ? search->passed + 1 : 1);
    nvt_buffer_printf(out, ",\"place\":%" PRIu64 ",\"next\":", place);
    put_match(search->viewer, next, out);
}

int nvt_answer_find(const struct nvt_viewer *viewer, const char *text,
                    const struct nvt_view_from *from, struct nvt_buffer *out)
{
    const int64_t most = INT64_C(1) << 61;
    struct search search = {.viewer = viewer,
                            .from = {from->moment, from->lane, from->track, 0},
                            .is_back = from->is_back};
    int status = !*text || from->moment > most || from->moment < -most;
    for (uint32_t i = 0; i < viewer->count && !status; i++)
        status = find_in(&search, i, text);
    struct match *matches = (struct match *)(void *)search.found.data;
    const size_t count = search.found.size / sizeof(*matches);
    if (count && !status)
        qsort(matches, count, sizeof(*matches), by_spans);
    nvt_buffer_printf(out, "{\"names\":[");
    for (size_t i = 0; i < count && i < NVT_ANSWER_ROWS && !status; i++) {
        nvt_buffer_printf(out, "%s", i ? "," : "");
        put_match(viewer, &matches[i], out);
    }
    nvt_buffer_printf(out, "],\"spans\":%" PRIu64, search.spans);
    if (count && !status)
        put_next(&search, matches, count, out);
    nvt_buffer_printf(out, "}\n");
    nvt_buffer_free(&search.found);
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

/* The event that begins at a moment and shows it best: a gap before the operation behind it, what is done before the range around
 * it. `lane` of the viewer, NVT_NONE: none does. */
static uint32_t event_at(const struct nvt_viewer *viewer, size_t trace, int64_t moment,
                         uint32_t *number, uint32_t *span)
{
    static const enum nvt_view_kind kinds[] = {
        NVT_VIEW_GAPS,      NVT_VIEW_STREAM, NVT_VIEW_CALLS, NVT_VIEW_OS_CALLS,
        NVT_VIEW_MPI_CALLS, NVT_VIEW_RANGES, NVT_VIEW_MARKS};
    const struct nvt_scene *scene = &viewer->scenes[trace];
    for (size_t k = 0; k < NVT_COUNT_OF(kinds); k++)
        for (uint32_t lane = 0; lane < scene->count; lane++)
            for (uint32_t t = 0;
                 scene->lanes[lane].kind == kinds[k] && t < scene->lanes[lane].tracks.count; t++) {
                const struct nvt_track *track = &scene->lanes[lane].tracks.items[t];
                *number = t;
                *span = nvt_track_from(track, 0, moment);
                if (*span < track->count && nvt_track_start(track, *span) == moment)
                    return viewer->first[trace] + lane;
            }
    return NVT_NONE;
}

/* A lane's number among all but those of critical paths, which an edition may have come without. */
static uint32_t without_paths(const struct nvt_viewer *viewer, uint32_t lane)
{
    uint32_t number = 0, trace;
    for (uint32_t i = 0; i < lane; i++) {
        uint32_t own = i;
        const struct nvt_scene *scene = nvt_viewer_lane(viewer, &own, &trace);
        number += scene->lanes[own].kind != NVT_VIEW_PATH;
    }
    return number;
}

static void put_moment(const struct nvt_viewer *viewer, size_t trace,
                       const struct nvt_finding *finding, uint32_t which, struct nvt_buffer *out)
{
    const int64_t moment = finding->moments[which];
    char text[NVT_TIME_MAX];
    uint32_t number = 0, span = 0;
    uint32_t lane = event_at(viewer, trace, moment, &number, &span);
    nvt_buffer_printf(out, "{\"at\":%" PRId64 ",\"text\":\"%s\"",
                      nvt_viewer_axis(viewer, trace, moment),
                      nvt_finding_moment_text(finding, which, text));
    if (lane != NVT_NONE) {
        const struct nvt_scene *scene = &viewer->scenes[trace];
        const struct nvt_track *track =
            &scene->lanes[lane - viewer->first[trace]].tracks.items[number];
        nvt_buffer_printf(out,
                          ",\"lane\":%" PRIu32 ",\"track\":%" PRIu32 ",\"row\":%" PRIu32
                          ",\"end\":%" PRId64 ",\"name\":",
                          without_paths(viewer, lane), number, track->row[span],
                          nvt_viewer_axis(viewer, trace, nvt_track_end(track, span)));
        nvt_json_quote(out, nvt_scene_name(scene, nvt_track_name(track, span)));
    }
    nvt_buffer_printf(out, "}");
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
    for (uint32_t i = 0; i < finding->moment_count && trace < viewer->count; i++) {
        nvt_buffer_printf(out, "%s", i ? "," : "");
        put_moment(viewer, trace, finding, i, out);
    }
    nvt_buffer_printf(out, "],\"side\":%zu", side);
    if (trace < viewer->count)
        nvt_buffer_printf(out, ",\"trace\":%zu", trace);
    nvt_buffer_printf(out, "}");
}

int nvt_answer_looked(const struct nvt_viewer *viewer, struct nvt_buffer *out)
{
    int status = 0;
    nvt_buffer_printf(out, ",\"looked\":[");
    for (size_t side = 0; side < viewer->side_count && !status; side++) {
        struct nvt_buffer lines = {0};
        struct nvt_error err = NVT_ERROR_INIT;
        status = nvt_diagnose_looked(viewer->sides[side].input, &lines, &err) ||
                 nvt_diagnose_missing(viewer->sides[side].input, &lines, &err) ||
                 nvt_buffer_append(&lines, "", 1);
        char *rest = (char *)lines.data;
        nvt_buffer_printf(out, "%s[", side ? "," : "");
        for (const char *line; !status && (line = strsep(&rest, "\n")) && *line;) {
            nvt_buffer_printf(out, "%s", line == (const char *)lines.data ? "" : ",");
            nvt_json_quote(out, line);
        }
        nvt_buffer_printf(out, "]");
        nvt_buffer_free(&lines);
    }
    nvt_buffer_printf(out, "]");
    return status ? -1 : 0;
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
    nvt_buffer_printf(out, "]");
    if (!status)
        status = nvt_answer_looked(viewer, out);
    nvt_buffer_printf(out, "}\n");
    return out->failed || status ? -1 : 0;
}
