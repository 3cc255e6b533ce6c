/*
 * Samples of what threads run, as V8's profiler writes them into Chrome's traces: events of the phase P, "Profile" and
 * "ProfileChunk", a profile a thread. Perfetto makes tracks of samples of them, and flame graphs of what is marked there
 * (src/trace_processor/importers/json/json_trace_tokenizer.cc, ParseV8SampleEvent); of "stackFrames" and "samples", which the
 * format's description has, it reads nothing. Times are whole microseconds there.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "../../lib/clock.h"
#include "../../lib/json.h"
#include "chrome_args.h"

/* Samples of an event. */
#define CHUNK 1000
/* Ids of nodes: of what is not known, and of all whose callers nobody looked for; then row of call_frames and FIRST. */
#define NODE_UNKNOWN 1
#define NODE_ALONE   2
#define FIRST        3

struct profiles {
    const struct nvt_trace *trace;
    int64_t first;
    FILE *out;
    int *events;
    /* The last thread and 1 whose profile has a node: by row of call_frames, of functions below their callers and below NODE_ALONE;
     * and by id, of the nodes that are no functions. */
    uint32_t *told, *told_alone, told_other[FIRST];
    uint32_t *path;
    struct nvt_buffer nodes, samples, deltas;
    uint32_t thread;
    int64_t last_us;
};

static int64_t us_of(const struct profiles *profiles, uint32_t sample)
{
    return nvt_clock_since(profiles->trace->cpu_samples.time[sample], profiles->first) / 1000;
}

static int put_node(struct profiles *profiles, uint64_t id, uint64_t parent, const char *name,
                    const char *module)
{
    struct nvt_buffer *nodes = &profiles->nodes;
    int failed = nvt_buffer_printf(nodes, "%s{\"id\":%" PRIu64, nodes->size ? "," : "", id);
    if (parent)
        failed |= nvt_buffer_printf(nodes, ",\"parent\":%" PRIu64, parent);
    failed |= nvt_buffer_printf(nodes, ",\"callFrame\":{\"functionName\":") ||
              nvt_json_quote(nodes, name) || nvt_buffer_printf(nodes, ",\"url\":") ||
              nvt_json_quote(nodes, module) || nvt_buffer_printf(nodes, ",\"scriptId\":0}}");
    return failed ? -1 : 0;
}

/* One of the nodes that are no functions, told once a thread. */
static int tell_chrome_samples(struct profiles *profiles, uint32_t id, const char *name)
{
    if (profiles->told_other[id] == profiles->thread + 1)
        return 0;
    profiles->told_other[id] = profiles->thread + 1;
    return put_node(profiles, id, 0, name, "");
}

/* The node of a sample in *node; those that its thread has not told of yet are put. 0 or -1. */
static int put_path(struct profiles *profiles, uint32_t sample, uint64_t *node)
{
    const struct nvt_trace *trace = profiles->trace;
    const struct nvt_call_frames *frames = &trace->call_frames;
    uint32_t frame = trace->cpu_samples.frame[sample], count = 0;
    int is_alone = frame && trace->cpu_samples.flags[sample] & NVT_CPU_SAMPLE_NO_CALLERS;
    *node = NODE_UNKNOWN;
    if (!frame)
        return tell_chrome_samples(profiles, NODE_UNKNOWN, "[unknown]");
    *node = (uint64_t)frame - 1 + FIRST + (is_alone ? frames->count : 0);
    uint32_t *told = is_alone ? profiles->told_alone : profiles->told;
    if (is_alone && tell_chrome_samples(profiles, NODE_ALONE, "[callers not recorded]"))
        return -1;
    for (uint32_t at = frame; at && told[at - 1] != profiles->thread + 1;
         at = is_alone ? 0 : frames->parent[at - 1]) {
        told[at - 1] = profiles->thread + 1;
        profiles->path[count++] = at - 1;
    }
    while (count-- > 0) {
        uint32_t row = profiles->path[count], parent = frames->parent[row];
        if (put_node(profiles, is_alone ? *node : (uint64_t)row + FIRST,
                     is_alone ? NODE_ALONE
                     : parent ? (uint64_t)parent - 1 + FIRST
                              : 0,
                     nvt_name(trace, frames->name[row]), nvt_name(trace, frames->module[row])))
            return -1;
    }
    return 0;
}

/* The begin of an event of the thread's profile, which has no end yet. */
static void begin_chrome_samples(const struct profiles *profiles, const char *name)
{
    const struct nvt_threads *threads = &profiles->trace->threads;
    int64_t pid = profiles->trace->processes.pid[threads->process[profiles->thread]];
    fprintf(profiles->out,
            "%s\n{\"ph\":\"P\",\"pid\":%" PRId64 ",\"tid\":%" PRId64
            ",\"ts\":0,\"cat\":\"disabled-by-default-v8.cpu_profiler\",\"name\":\"%s\","
            "\"id\":\"0x%" PRIx32 "\",\"args\":{\"data\":{",
            (*profiles->events)++ ? "," : "", pid, threads->tid[profiles->thread], name,
            profiles->thread + 1);
}

static void put_text(const struct nvt_buffer *text, const char *before, FILE *out)
{
    fputs(before, out);
    if (text->size)
        fwrite(text->data, 1, text->size, out);
}

static int put_chunk(struct profiles *profiles, const uint32_t *order, uint32_t count)
{
    profiles->nodes.size = profiles->samples.size = profiles->deltas.size = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t node;
        int64_t us = us_of(profiles, order[i]);
        const char *comma = i ? "," : "";
        if (put_path(profiles, order[i], &node) ||
            nvt_buffer_printf(&profiles->samples, "%s%" PRIu64, comma, node) ||
            nvt_buffer_printf(&profiles->deltas, "%s%" PRId64, comma, us - profiles->last_us))
            return -1;
        profiles->last_us = us;
    }
    begin_chrome_samples(profiles, "ProfileChunk");
    put_text(&profiles->nodes, "\"cpuProfile\":{\"nodes\":[", profiles->out);
    put_text(&profiles->samples, "],\"samples\":[", profiles->out);
    put_text(&profiles->deltas, "]},\"timeDeltas\":[", profiles->out);
    fputs("]}}}", profiles->out);
    return 0;
}

static int put_chrome_samples_thread(struct profiles *profiles, const uint32_t *order,
                                     uint32_t count)
{
    int status = 0;
    profiles->last_us = 0;
    if (!count)
        return 0;
    begin_chrome_samples(profiles, "Profile");
    fputs("\"startTime\":0}}}", profiles->out);
    for (uint32_t from = 0; from < count && !status; from += CHUNK)
        status = put_chunk(profiles, order + from, count - from < CHUNK ? count - from : CHUNK);
    return status;
}

/* Samples thread by thread, each one's in the order of time; ends[thread]: where they end. */
static void sort_samples(const struct nvt_trace *trace, uint32_t *order, uint32_t *ends)
{
    const struct nvt_cpu_samples *samples = &trace->cpu_samples;
    uint32_t sum = 0;
    for (uint32_t i = 0; i < samples->count; i++)
        ends[samples->thread[i]]++;
    for (uint32_t i = 0; i < trace->threads.count; i++) {
        uint32_t count = ends[i];
        ends[i] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < samples->count; i++)
        order[ends[samples->thread[i]]++] = i;
}

static int put_chrome_samples_threads(struct profiles *profiles)
{
    const struct nvt_trace *trace = profiles->trace;
    uint32_t *order = calloc((size_t)trace->cpu_samples.count + 1, sizeof(*order));
    uint32_t *ends = calloc((size_t)trace->threads.count + 1, sizeof(*ends)), from = 0;
    int status = order && ends ? 0 : -1;
    if (!status)
        sort_samples(trace, order, ends);
    for (uint32_t i = 0; !status && i < trace->threads.count; i++) {
        profiles->thread = i;
        status = put_chrome_samples_thread(profiles, order + from, ends[i] - from);
        from = ends[i];
    }
    free(order);
    free(ends);
    return status;
}

int nvt_chrome_samples(const struct nvt_trace *trace, int64_t first, FILE *out, int *events)
{
    struct profiles profiles = {.trace = trace, .first = first, .out = out, .events = events};
    size_t frames = (size_t)trace->call_frames.count + 1;
    if (!trace->cpu_samples.count)
        return 0;
    profiles.told = calloc(frames, sizeof(*profiles.told));
    profiles.told_alone = calloc(frames, sizeof(*profiles.told_alone));
    profiles.path = malloc(frames * sizeof(*profiles.path));
    int status = profiles.told && profiles.told_alone && profiles.path
                     ? put_chrome_samples_threads(&profiles)
                     : -1;
    free(profiles.told);
    free(profiles.told_alone);
    free(profiles.path);
    nvt_buffer_free(&profiles.nodes);
    nvt_buffer_free(&profiles.samples);
    nvt_buffer_free(&profiles.deltas);
    return status;
}
