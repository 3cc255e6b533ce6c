/*
 * A timeline that is part of a document: the answers that its page needs, made before anybody asks.
 */
#include <inttypes.h>

#include "answers.h"

/* What is tried, from the finest: columns of the whole, and of the window where not all of its spans fit. */
enum { WHOLE_MOST = 2000, WHOLE_LEAST = 60, FINE_MOST = 16384, FINE_LEAST = 256 };
/* A span of a tile takes about so many bytes. */
enum { SPAN_BYTES = 48 };

/* Spans that begin in a window. */
static uint64_t spans_in(const struct nvt_viewer *viewer, const struct nvt_view_side *side,
                         const int64_t window[2])
{
    uint64_t spans = 0;
    for (size_t t = side->first; t < side->first + side->count; t++)
        for (uint32_t lane = 0; lane < viewer->scenes[t].count; lane++) {
            const struct nvt_tracks *tracks = &viewer->scenes[t].lanes[lane].tracks;
            for (uint32_t i = 0; i < tracks->count; i++)
                spans += nvt_track_from(&tracks->items[i], 0, window[1] - viewer->shifts[t]) -
                         nvt_track_from(&tracks->items[i], 0, window[0] - viewer->shifts[t]);
        }
    return spans;
}

/* Tiles of all lanes, or null of no time at all. 0, or as of answers. */
static int put_tiles(const struct nvt_viewer *viewer, int64_t from, int64_t to, uint64_t columns,
                     const char *lanes, struct nvt_buffer *out)
{
    if (to <= from)
        return nvt_buffer_printf(out, "null");
    return nvt_answer_tiles(viewer, from, to, (uint32_t)(columns ? columns : 1), lanes, out);
}

/* The whole in three parts, of which the middle one is the window. */
static int put_whole(const struct nvt_viewer *viewer, const struct nvt_view_side *side,
                     const int64_t window[2], uint32_t columns, const char *lanes,
                     struct nvt_buffer *out)
{
    const int64_t at[] = {side->begin, window[0], window[1], side->end + 1};
    int status = 0;
    for (size_t i = 0; i < 3 && !status; i++) {
        const double share = (double)(at[i + 1] - at[i]) / (double)(at[3] - at[0]);
        if (i)
            nvt_buffer_printf(out, ",");
        status = put_tiles(viewer, at[i], at[i + 1], (uint64_t)(share * columns), lanes, out);
    }
    return status;
}

/* As finely as there is room for. 0; 1: there is not enough, or -1 when out of memory. */
static int fit_tiles(const struct nvt_viewer *viewer, const struct nvt_view_side *side,
                     const int64_t window[2], const char *lanes, size_t most,
                     enum nvt_view_detail *detail, struct nvt_buffer *out)
{
    const size_t begin = out->size;
    const uint64_t width = (uint64_t)(window[1] - window[0]);
    int status = 0;
    for (uint32_t columns = WHOLE_MOST; columns >= WHOLE_LEAST && !status; columns /= 2) {
        out->size = begin;
        status = put_whole(viewer, side, window, columns, lanes, out);
        if (out->size - begin <= (most - begin) / 2)
            break;
    }
    const size_t whole = out->size;
    if (status || whole + sizeof(",null") > most)
        return status ? status : 1;
    const int fits =
        width < UINT32_MAX && spans_in(viewer, side, window) < (most - whole) / SPAN_BYTES;
    for (uint64_t columns = fits ? width : FINE_MOST; !status;
         columns = columns > FINE_MOST ? FINE_MOST : columns / 2) {
        out->size = whole;
        *detail = columns < FINE_LEAST && columns != width ? NVT_DETAIL_NONE
                  : columns == width                       ? NVT_DETAIL_FULL
                                                           : NVT_DETAIL_MORE;
        if (*detail == NVT_DETAIL_NONE)
            return nvt_buffer_printf(out, ",null");
        nvt_buffer_printf(out, ",");
        status = put_tiles(viewer, window[0], window[1], columns, lanes, out);
        if (out->size <= most)
            break;
    }
    return status;
}

/* A side's window, and tiles of it and of what is around it, in so many bytes more. 0, or as of answers. */
static int put_side(const struct nvt_viewer *viewer, const struct nvt_view_side *side, size_t most,
                    enum nvt_view_detail *detail, struct nvt_buffer *out)
{
    const int64_t whole[] = {side->begin, side->end + 1};
    const int64_t median[] = {side->median[0], side->median[1] + 1};
    const int64_t *window = side->iterations ? median : whole;
    struct nvt_buffer lanes = {0};
    for (uint32_t i = viewer->first[side->first]; i < viewer->first[side->first + side->count]; i++)
        nvt_buffer_printf(&lanes, "%s%" PRIu32, lanes.size ? "," : "", i);
    nvt_buffer_append(&lanes, "", 1);
    nvt_buffer_printf(out, "{\"window\":[%" PRId64 ",%" PRId64 "],\"tiles\":[", window[0],
                      window[1]);
    const int status = lanes.failed ? -1
                                    : fit_tiles(viewer, side, window, (const char *)lanes.data,
                                                out->size + most, detail, out);
    nvt_buffer_printf(out, "]}");
    nvt_buffer_free(&lanes);
    return status;
}

static int put_findings(const struct nvt_viewer *viewer, const struct nvt_findings *findings,
                        struct nvt_buffer *out)
{
    size_t shown = 0;
    if (!findings)
        return nvt_answer_findings(viewer, out);
    nvt_buffer_printf(out, "{\"findings\":[");
    for (size_t i = 0; i < findings->count; i++) {
        if (nvt_finding_is_minor(&findings->items[i]))
            continue;
        nvt_buffer_printf(out, "%s", shown++ ? "," : "");
        nvt_answer_finding(viewer, &findings->items[i], 0, out);
    }
    nvt_buffer_printf(out, "]");
    return nvt_answer_looked(viewer, out) || nvt_buffer_printf(out, "}") ? -1 : 0;
}

int nvt_answer_embedded(const struct nvt_viewer *viewer, const struct nvt_findings *findings,
                        size_t most, enum nvt_view_detail *detail, struct nvt_buffer *out)
{
    nvt_buffer_printf(out, "{\"lanes\":");
    int status = nvt_answer_lanes(viewer, out);
    nvt_buffer_printf(out, ",\"findings\":");
    if (!status)
        status = put_findings(viewer, findings, out);
    nvt_buffer_printf(out, ",\"sides\":[");
    const size_t left = out->size < most ? most - out->size : 0;
    for (size_t i = 0; i < viewer->side_count && !status; i++) {
        enum nvt_view_detail of_side = NVT_DETAIL_NONE;
        nvt_buffer_printf(out, "%s", i ? "," : "");
        status = put_side(viewer, &viewer->sides[i], left / viewer->side_count, &of_side, out);
        *detail = !i || of_side < *detail ? of_side : *detail;
    }
    nvt_buffer_printf(out, "]}");
    return out->failed ? -1 : status;
}
