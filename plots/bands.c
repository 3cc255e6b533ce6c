#include "bands.h"

#include <stdlib.h>
#include <string.h>

#include "../analyze/diagnosis/diagnose.h"
#include "../analyze/device/project.h"
#include "../lib/count_of.h"
#include "gnuplot.h"
#include "label.h"
#include "looks.h"

/* Pale forms of colours, which lines of any of them stand out before: of well-known names, and of
 * others in their order. */
static const char *const pale[][2] = {
    {NVT_SKY, "#DDEFFA"}, {NVT_ORANGE, "#FBEBCB"}, {NVT_GREEN, "#D5EFE6"}};
static const char *const tints[NVT_BANDS_NAMES] = {"#F6E4EE", "#EEEEEE", "#F3F0D0", "#DFE0F3",
                                                   "#F7DFD3"};

enum { PHASES = 3 };

/* Ids of the names of phases; one that the trace has not is that of no range. */
static void find_phases(const struct nvt_trace *trace, uint32_t ids[PHASES])
{
    static const char *const phases[PHASES] = {"forward", "backward", "optimizer"};
    for (size_t i = 0; i < PHASES; i++)
        ids[i] = nvt_strings_find(trace->strings, phases[i], strlen(phases[i]));
}

static int is_phase(const struct nvt_trace *trace, uint32_t range, const uint32_t ids[PHASES])
{
    for (size_t i = 0; i < PHASES; i++)
        if (trace->ranges.name[range] == ids[i] && *nvt_name(trace, ids[i]))
            return 1;
    return 0;
}

/* Whether a range could be a phase by where it lies. */
static int is_candidate(const struct nvt_trace *trace, const uint8_t *libraries, uint32_t range,
                        unsigned level)
{
    return trace->ranges.level[range] == level && trace->ranges.style[range] == NVT_PUSH_POP &&
           !nvt_is_operator(trace, libraries, range);
}

/* 0, the outermost ranges, or 1 where those are but the iterations. */
static unsigned choose_level(const struct nvt_trace *trace, const uint8_t *libraries)
{
    uint32_t iterations, outermost = 0, within = 0;
    free(nvt_iterations(trace, &iterations));
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        outermost += (uint32_t)is_candidate(trace, libraries, i, 0);
        within += (uint32_t)is_candidate(trace, libraries, i, 1);
    }
    return iterations && outermost == iterations && within;
}

/* The thread whose outermost ranges take most time, NVT_NONE: there are none. */
static uint32_t main_thread(const struct nvt_trace *trace, const uint8_t *libraries)
{
    uint32_t best = NVT_NONE;
    double *sums = calloc((size_t)trace->threads.count + 1, sizeof(*sums));
    for (uint32_t i = 0; sums && i < trace->ranges.count; i++)
        if (is_candidate(trace, libraries, i, 0)) {
            uint32_t thread = trace->ranges.thread[i];
            sums[thread] += (double)(trace->ranges.end[i] - trace->ranges.start[i]);
            if (best == NVT_NONE || sums[thread] > sums[best])
                best = thread;
        }
    free(sums);
    return best;
}

static const char *tint_of(const struct nvt_trace *trace, uint32_t name, size_t index)
{
    const char *color = nvt_known_color(nvt_name(trace, name));
    for (size_t i = 0; color && i < NVT_COUNT_OF(pale); i++)
        if (!strcmp(pale[i][0], color))
            return pale[i][1];
    return tints[index];
}

/* The place of a name among the bands', or the last one for those that came too late. */
static size_t name_of(struct nvt_bands *bands, const struct nvt_trace *trace, uint32_t name)
{
    for (size_t i = 0; i < bands->name_count; i++)
        if (bands->names[i] == name)
            return i;
    if (bands->name_count < NVT_BANDS_NAMES) {
        bands->names[bands->name_count] = name;
        bands->tints[bands->name_count] = tint_of(trace, name, bands->name_count);
        return bands->name_count++;
    }
    return NVT_BANDS_NAMES;
}

struct nvt_bands nvt_bands_of(const struct nvt_trace *trace, int64_t first, int64_t last)
{
    struct nvt_bands bands = {.from = first, .to = last};
    uint32_t ids[PHASES];
    int phases = 0;
    find_phases(trace, ids);
    for (uint32_t i = 0; i < trace->ranges.count && !phases; i++)
        phases = is_phase(trace, i, ids);
    uint8_t *libraries = phases ? NULL : nvt_library_domains(trace);
    uint32_t thread = libraries ? main_thread(trace, libraries) : NVT_NONE;
    unsigned level = libraries ? choose_level(trace, libraries) : 0;
    size_t next = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        if (phases ? !is_phase(trace, i, ids)
                   : trace->ranges.thread[i] != thread || !is_candidate(trace, libraries, i, level))
            continue;
        size_t name = name_of(&bands, trace, trace->ranges.name[i]);
        if (name == NVT_BANDS_NAMES)
            continue;
        bands.items[next] = (struct nvt_band){trace->ranges.start[i], trace->ranges.end[i], name};
        next = (next + 1) % NVT_BANDS_MOST;
        bands.all++;
    }
    free(libraries);
    bands.count = bands.all < NVT_BANDS_MOST ? bands.all : NVT_BANDS_MOST;
    if (bands.all > bands.count) {
        bands.from = INT64_MAX;
        for (size_t i = 0; i < bands.count; i++)
            bands.from = bands.items[i].start < bands.from ? bands.items[i].start : bands.from;
    }
    return bands;
}

void nvt_bands_keys(const struct nvt_bands *bands, const struct nvt_trace *trace,
                    struct nvt_frame *frame)
{
    enum { NAME_MOST = 40 };
    struct nvt_label items[NVT_BANDS_NAMES];
    const struct nvt_labels labels = {items, bands->name_count};
    char text[NVT_LABEL_SIZE(NAME_MOST)];
    for (size_t i = 0; i < bands->name_count; i++)
        items[i] = (struct nvt_label){nvt_name(trace, bands->names[i]), 0};
    for (size_t i = 0; i < bands->name_count; i++) {
        nvt_label_write(&labels, i, NAME_MOST, text, sizeof(text));
        nvt_frame_key(frame, NVT_KEY_BOX, bands->tints[i], 1, 0, *text ? text : "(no name)");
    }
    char note[NVT_FRAME_TEXT];
    snprintf(note, sizeof(note),
             "The last %zu of %zu such ranges: 0 is %s after the trace's beginning.", bands->count,
             bands->all, NVT_TIME((double)(bands->from - nvt_trace_begin(trace))));
    if (bands->all > bands->count)
        nvt_frame_note(frame, note);
}

void nvt_bands_put(const struct nvt_bands *bands, double unit, FILE *out)
{
    int tag = 0;
    for (size_t i = 0; i < bands->count; i++) {
        const struct nvt_band *band = &bands->items[i];
        int64_t start = band->start > bands->from ? band->start : bands->from;
        int64_t end = band->end < bands->to ? band->end : bands->to;
        if (start < end)
            fprintf(out,
                    "set object %d rectangle from %.9g,graph 0 to %.9g,graph 1 behind fillcolor "
                    "'%s' fillstyle solid 1 noborder\n",
                    ++tag, (double)(start - bands->from) / unit, (double)(end - bands->from) / unit,
                    bands->tints[band->name]);
    }
}
