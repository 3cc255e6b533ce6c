#include "mfu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../device/devices.h"
#include "../input/data_sheet.h"
#include "../readers/operator_work.h"
#include "model_flops.h"

/* The peaks of a range's device. */
static enum nvt_peak_source find_peaks(const struct nvt_trace *trace,
                                       const struct nvt_flops_range *range, struct nvt_peaks *peaks)
{
    const int is_host = range->device == NVT_NONE;
    const char *host = nvt_trace_meta(trace, "host"),
               *device = is_host ? nvt_trace_meta(trace, "device")
                                 : nvt_device_name(trace, range->process, range->device);
    *peaks = (struct nvt_peaks){.bytes = 0};
    if (nvt_peaks_cached(host, is_host ? "host" : "cuda", device, peaks))
        return NVT_PEAK_MEASURED;
    return !is_host && nvt_data_sheet(device, peaks) ? NVT_PEAK_STATED : NVT_PEAK_UNKNOWN;
}

/* Why a range has no share, once. */
static void note_no_share(struct nvt_input *input, const struct nvt_trace *trace,
                          const struct nvt_flops_range *range, enum nvt_peak_source source)
{
    const int is_host = range->device == NVT_NONE;
    const char *device = is_host ? nvt_trace_meta(trace, "device")
                                 : nvt_device_name(trace, range->process, range->device);
    const struct nvt_buffer *notes = &input->notes;
    char text[512];
    snprintf(text, sizeof(text), "note: no MFU without a peak: %s is known of %.200s%s",
             source == NVT_PEAK_UNKNOWN ? "none" : "none of a format that is used",
             device && *device ? device
             : is_host         ? "the host"
                               : "the GPU",
             source == NVT_PEAK_UNKNOWN ? "; run nvtally info --peak there to measure and keep it"
                                        : "");
    if (!notes->size || !memmem(notes->data, notes->size, text, strlen(text)))
        nvt_note(input, "%s", text);
}

/* How many products there are whose FLOPs are not known, beside others. */
static void note_unknown(struct nvt_input *input, const struct nvt_trace *trace)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t count = 0;
    for (uint32_t i = 0; i < ranges->count; i++)
        count += !(ranges->flags[i] & NVT_RANGE_HAS_PAYLOAD) &&
                 nvt_is_operator_with_work(nvt_name(trace, ranges->name[i]));
    if (count)
        nvt_note(input,
                 "note: FLOPs of %u of PyTorch's products are left out: their shapes or types were "
                 "not recorded, or do not fit",
                 count);
}

/* Whether a name has the word flops=, and yet says no work. */
static int says_no_work(const char *name)
{
    const char *word = strstr(name, "flops=");
    if (!word || (word > name && word[-1] != ' '))
        return 0;
    char *plain = NULL;
    const struct nvt_declared work = nvt_declared_in_name(name, &plain);
    free(plain);
    return isnan(work.flops);
}

static void note_no_work(struct nvt_input *input, const struct nvt_trace *trace)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t count = 0, before = NVT_NONE;
    int is_before = 0;
    for (uint32_t i = 0; i < ranges->count; i++) {
        if (ranges->name[i] != before)
            is_before = says_no_work(nvt_name(trace, ranges->name[i]));
        before = ranges->name[i];
        count += is_before != 0;
    }
    if (count)
        nvt_note(input,
                 "note: names of %u ranges have flops= and declare no work: flops= and bytes= must "
                 "both be numbers from 0 to %g",
                 count, NVT_DECLARED_LESS);
}

/* Adds a range whose device has these peaks. 0, or -1 when out of memory. */
static int add_range(struct nvt_groups *groups, const struct nvt_flops_range *range,
                     enum nvt_peak_source source, const struct nvt_peaks *peaks, int *has_share)
{
    const uint32_t parts[] = {nvt_groups_range(groups, range->range), source};
    struct nvt_mfu *mfu = nvt_groups_item(groups, nvt_groups_key(groups, parts, 2));
    const double ns = nvt_model_flops_at_peak(range->flops, peaks);
    if (!mfu)
        return -1;
    for (int roof = 0; roof < NVT_ROOFS; roof++)
        mfu->flops[roof] += range->flops[roof];
    mfu->instances++;
    mfu->ns += range->ns;
    mfu->untyped += range->untyped;
    mfu->peak_ns += range->untyped > 0 ? NAN : ns;
    mfu->source = source;
    *has_share = !isnan(ns);
    return 0;
}

int nvt_mfu_add(struct nvt_groups *groups, struct nvt_input *input,
                const struct nvt_input_trace *from, struct nvt_error *err)
{
    const struct nvt_trace *trace = from->trace;
    struct nvt_model_flops model = {.items = NULL};
    struct nvt_peaks peaks = {.bytes = 0};
    enum nvt_peak_source source = NVT_PEAK_UNKNOWN;
    int status = nvt_model_flops_make(&model, trace, nvt_record_of_trace(from),
                                      nvt_input_projection(input), err);
    for (uint32_t i = 0; i < model.count && !status; i++) {
        const struct nvt_flops_range *range = &model.items[i];
        int has_share = 1;
        if (!i || range->device != range[-1].device || range->process != range[-1].process)
            source = find_peaks(trace, range, &peaks);
        status = add_range(groups, range, source, &peaks, &has_share);
        if (!has_share)
            note_no_share(input, trace, range, source);
    }
    if (model.count)
        note_unknown(input, trace);
    note_no_work(input, trace);
    free(model.items);
    return status;
}

/* Whether a name says work, in words or by shapes. */
static int says_work(const char *name)
{
    return nvt_has_shapes_in_name(name) || strstr(name, "flops=") != NULL;
}

static int declares(const struct nvt_trace *trace)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t before = NVT_NONE;
    for (uint32_t i = 0; i < ranges->count; i++) {
        if ((ranges->flags[i] & NVT_RANGE_HAS_PAYLOAD &&
             strstr(nvt_name(trace, ranges->payload[i]), "\"flops\"")) ||
            (ranges->name[i] != before && says_work(nvt_name(trace, ranges->name[i]))))
            return 1;
        before = ranges->name[i];
    }
    return 0;
}

int nvt_has_flops(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (declares(input->traces[i].trace))
            return 1;
    return 0;
}
