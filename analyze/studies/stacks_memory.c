#include "stacks_build.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../device/devices.h"
#include "../device/project.h"
#include "../memory/levels.h"

/* "NVIDIA H100 (0)", and whose it is where several processes have memory. */
static uint32_t series_name(struct nvt_stacks_build *build, const struct nvt_levels *levels,
                            const struct nvt_level_series *series)
{
    char text[256];
    uint32_t others = 0;
    for (uint32_t i = 0; i < levels->count; i++)
        others += levels->series[i].process != series->process;
    if (series->device == NVT_NONE ||
        *nvt_device_name(build->trace, series->process, series->device))
        nvt_device_text(build->trace, series->process, series->device, text, sizeof(text));
    else
        snprintf(text, sizeof(text), "device %" PRIu32, series->device);
    size_t used = strlen(text);
    if (others)
        snprintf(text + used, sizeof(text) - used, ", PID %" PRIu64,
                 (uint64_t)build->trace->processes.pid[series->process]);
    return nvt_strings_add_text(build->stacks->names, text);
}

/* What was in use of a series and of no allocation on record, in a row of its own. */
static int add_unseen(struct nvt_stacks_build *build, uint32_t around,
                      const struct nvt_level_peak *peak)
{
    const char *name = peak->lacks_addresses ? NVT_STACKS_NAMELESS : NVT_STACKS_BEFORE;
    uint32_t row = nvt_stacks_row_of(build, around, name, NVT_STACK_RANGE);
    if (row == NVT_NONE)
        return -1;
    nvt_stacks_add(&build->stacks->items[row], 0, peak->unknown);
    return 0;
}

/* The series' own row, which stands around each of its allocations that was in use, and what of it is not known. */
static int add_series(struct nvt_stacks_build *build, const struct nvt_levels *levels,
                      const struct nvt_level_series *series, unsigned flags, uint32_t *around)
{
    struct nvt_level_peak peak = {0};
    int status = nvt_level_peak(&peak, series, build->trace);
    uint32_t row = NVT_NONE;
    int is_shown = peak.unknown && !(flags & NVT_STACKS_NO_UNSEEN);
    build->stacks->unseen = nvt_clock_sum(build->stacks->unseen, peak.unknown);
    build->stacks->has_nameless |= peak.lacks_addresses;
    if (!status && (peak.count || is_shown)) {
        row = nvt_stacks_row(build, NVT_NONE, series_name(build, levels, series), NVT_STACK_RANGE);
        status = row == NVT_NONE ? -1 : 0;
    }
    if (row != NVT_NONE && peak.event != NVT_NONE)
        build->stacks->items[row].at = build->trace->memory.time[series->events[peak.event]];
    if (!status && is_shown)
        status = add_unseen(build, row, &peak);
    for (uint32_t i = 0; i < peak.count && !status; i++)
        around[peak.held[i]] = row;
    free(peak.held);
    return status;
}

static int add_all_series(struct nvt_stacks_build *build, unsigned flags, uint32_t *around)
{
    struct nvt_levels levels = {0};
    uint32_t devices = 0;
    int status = nvt_levels_make(&levels, build->trace);
    for (uint32_t i = 0; i < levels.count; i++)
        devices += levels.series[i].device != NVT_NONE;
    for (uint32_t i = 0; i < levels.count && !status; i++)
        if (levels.series[i].device != NVT_NONE || !devices || !(flags & NVT_STACKS_NO_HOST_MEMORY))
            status = add_series(build, &levels, &levels.series[i], flags, around);
    nvt_levels_free(&levels);
    return status;
}

/* The row of the function that took an allocation, below another row; NVT_NONE: out of memory. */
static uint32_t row_of_calls(struct nvt_stacks_build *build, uint32_t row, uint32_t frame)
{
    const struct nvt_call_frames *frames = &build->trace->call_frames;
    uint32_t path[NVT_NESTING_DEPTH], depth = 0;
    for (; frame && depth < NVT_NESTING_DEPTH; frame = frames->parent[frame - 1])
        path[depth++] = frame - 1;
    while (depth && row != NVT_NONE)
        row = nvt_stacks_row(build, row, nvt_stacks_name_of(build, frames->name[path[--depth]]),
                             NVT_STACK_RANGE);
    return row;
}

int nvt_stacks_has_callers(const struct nvt_trace *trace)
{
    for (uint32_t i = 0; trace->call_frames.count && i < trace->memory.count; i++)
        if (trace->memory.frame[i])
            return 1;
    return 0;
}

/* What stands for the function and range of an allocation of which neither is known; NULL: its range does. */
static const char *stands_for(const struct nvt_stacks_build *build,
                              const struct nvt_stacks_place *place)
{
    if (nvt_stacks_outer(place) != NVT_NONE)
        return NULL;
    return build->has_callers           ? NVT_STACKS_STACKLESS
           : build->trace->ranges.count ? NVT_STACKS_NOWHERE
                                        : NULL;
}

/* An allocation into the row of the function that took it, or else of its innermost range, below that of its series. */
static int add_held(struct nvt_stacks_build *build, uint32_t event, uint32_t around)
{
    static const struct nvt_stacks_place nowhere = {NVT_NONE, NVT_NONE};
    uint32_t row = around, frame = build->trace->memory.frame[event];
    const struct nvt_stacks_place *place =
        build->trace->memory.is_earlier[event] ? &nowhere : &build->places[event];
    const char *instead = frame ? NULL : stands_for(build, place);
    if (instead)
        row = nvt_stacks_row_of(build, row, instead, NVT_STACK_RANGE);
    if (row != NVT_NONE && place->lent != NVT_NONE)
        row = nvt_stacks_row_below(build, row, place->lent);
    if (row != NVT_NONE && place->own != NVT_NONE)
        row = nvt_stacks_row_below(build, row, place->own);
    if (row != NVT_NONE && frame)
        row = row_of_calls(build, row, frame);
    if (row == NVT_NONE)
        return -1;
    nvt_stacks_add(&build->stacks->items[row], 1, (int64_t)build->trace->memory.bytes[event]);
    return 0;
}

int nvt_stacks_of_memory(struct nvt_stacks_build *build, unsigned flags)
{
    uint32_t events = build->trace->memory.count, count = 0;
    uint32_t *around = malloc(((size_t)events + 1) * sizeof(*around));
    uint32_t *held = malloc(((size_t)events + 1) * sizeof(*held));
    build->places = malloc(((size_t)events + 1) * sizeof(*build->places));
    build->threads = build->trace->memory.thread;
    for (uint32_t i = 0; around && i < events; i++)
        around[i] = NVT_NONE;
    int status = around && held && build->places ? add_all_series(build, flags, around) : -1;
    for (uint32_t i = 0; i < events && !status; i++)
        if (around[i] != NVT_NONE)
            held[count++] = i;
    if (!status)
        status = nvt_project_memory(build->trace, flags & NVT_PROJECT_FLAGS, held, count,
                                    nvt_stacks_find_place, build, NULL);
    for (uint32_t i = 0; i < count && !status; i++)
        status = add_held(build, held[i], around[held[i]]);
    free(around);
    free(held);
    return status;
}
