/*
 * CPU samples as a flame chart in the order of time: a function is a span from the first to the last of the samples of a
 * thread that have it at the same place of their stacks, without a break. A sample stands for CPU time up to its moment:
 * it reaches back over that, as far as the sample before it. A pause of a quarter of that is none: timers are late. A
 * sample without a stack has no name.
 */
#include <stdlib.h>

#include "../model/buckets.h"
#include "scene.h"

/* Functions that are running, the outermost first; those deeper than the tracks are not among them, but for the
 * innermost, which is the last. */
struct stack {
    struct nvt_tracks *tracks;
    uint32_t frames[NVT_TRACKS_MAX], first[NVT_TRACKS_MAX];
    int64_t start[NVT_TRACKS_MAX];
    uint32_t depth;
    int64_t until;
};

/* Of a sample's frame, the outermost function first. Returns how many there are. */
static uint32_t functions_of(const struct nvt_trace *trace, uint32_t frame,
                             uint32_t frames[NVT_TRACKS_MAX])
{
    uint32_t depth = 0;
    for (uint32_t at = frame; at; at = trace->call_frames.parent[at - 1])
        depth++;
    uint32_t place = depth;
    for (uint32_t at = frame; at; at = trace->call_frames.parent[at - 1])
        if (--place < NVT_TRACKS_MAX)
            frames[place] = at - 1;
    if (depth > NVT_TRACKS_MAX) {
        depth = NVT_TRACKS_MAX;
        frames[NVT_TRACKS_MAX - 1] = frame - 1;
    }
    return depth;
}

/* End the functions from a place on. */
static int leave(struct stack *stack, const struct nvt_trace *trace, uint32_t place)
{
    int status = 0;
    for (uint32_t i = place; i < stack->depth && !status; i++)
        status = nvt_tracks_put_on(stack->tracks, i, stack->start[i], stack->until,
                                   trace->call_frames.name[stack->frames[i]], stack->first[i]);
    stack->depth = place < stack->depth ? place : stack->depth;
    return status;
}

static int put_sample(struct stack *stack, const struct nvt_trace *trace, uint32_t row)
{
    const struct nvt_cpu_samples *samples = &trace->cpu_samples;
    const int64_t time = samples->time[row];
    const int64_t period = samples->cpu_ns[row] > 0 ? samples->cpu_ns[row] : 0;
    int64_t from = time - period;
    uint32_t frames[NVT_TRACKS_MAX] = {0}, same = 0;
    const uint32_t depth = functions_of(trace, samples->frame[row], frames);
    if (stack->until != INT64_MIN && from - stack->until <= period / 4)
        from = stack->until;
    else if (leave(stack, trace, 0))
        return -1;
    while (same < depth && same < stack->depth && stack->frames[same] == frames[same])
        same++;
    if (leave(stack, trace, same))
        return -1;
    for (uint32_t i = same; i < depth; i++) {
        stack->frames[i] = frames[i];
        stack->first[i] = row;
        stack->start[i] = from;
    }
    stack->depth = depth;
    if (!depth && nvt_tracks_put_on(stack->tracks, 0, from, time, 0, row))
        return -1;
    stack->until = time > stack->until ? time : stack->until;
    return 0;
}

int nvt_scene_samples(struct nvt_scene *scene)
{
    const struct nvt_trace *trace = scene->trace;
    struct nvt_buckets of = {0};
    if (!trace->cpu_samples.count)
        return 0;
    int status = nvt_buckets_make(&of, trace->cpu_samples.thread, trace->threads.count, NULL,
                                  trace->cpu_samples.count);
    for (uint32_t thread = 0; thread < trace->threads.count && !status; thread++) {
        if (of.first[thread] == of.first[thread + 1])
            continue;
        struct nvt_view_lane *lane =
            nvt_scene_add(scene, NVT_VIEW_SAMPLES, trace->threads.process[thread]);
        if (!lane) {
            status = -1;
            break;
        }
        lane->thread = thread;
        struct stack stack = {.tracks = &lane->tracks, .until = INT64_MIN};
        for (uint32_t i = of.first[thread]; i < of.first[thread + 1] && !status; i++)
            status = put_sample(&stack, trace, of.rows[i]);
        if (!status)
            status = leave(&stack, trace, 0);
    }
    nvt_buckets_free(&of);
    return status;
}
