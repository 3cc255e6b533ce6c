/*
 * mfu: FLOPs of ranges, modules and iterations, and their share of the peak, by name, over all traces (model_flops.h). The peak is
 * what was measured on the machine (info --peak), else what the maker states (data_sheet.h); the table says which. Above 100 % something of it is
 * wrong, and the share is left out.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../device/devices.h"
#include "../input/data_sheet.h"
#include "../model/groups.h"
#include "../readers/operator_work.h"
#include "../studies/model_flops.h"
#include "report.h"

enum source { UNKNOWN, MEASURED, STATED };

static const char *const sources[] = {NULL, "measured", "data sheet"};

struct mfu {
    uint64_t instances;
    double ns, flops[NVT_ROOFS], untyped;
    double peak_ns; /* that they take at the peak; NaN: unknown */
    enum source source;
};

/* The peaks of a range's device. */
static enum source find_peaks(const struct nvt_trace *trace, const struct nvt_flops_range *range,
                              struct nvt_peaks *peaks)
{
    const int is_host = range->device == NVT_NONE;
    const char *host = nvt_trace_meta(trace, "host"),
               *device = is_host ? nvt_trace_meta(trace, "device")
                                 : nvt_device_name(trace, range->process, range->device);
    *peaks = (struct nvt_peaks){.bytes = 0};
    if (nvt_peaks_cached(host, is_host ? "host" : "cuda", device, peaks))
        return MEASURED;
    return !is_host && nvt_data_sheet(device, peaks) ? STATED : UNKNOWN;
}

static const struct nvt_record *record_of(const struct nvt_input_trace *from)
{
    return from->runs && from->record < from->runs->count ? &from->runs->records[from->record]
                                                          : NULL;
}

/* Why a range has no share, once. */
static void note_no_share(const struct nvt_making *making, const struct nvt_trace *trace,
                          const struct nvt_flops_range *range, enum source source)
{
    const int is_host = range->device == NVT_NONE;
    const char *device = is_host ? nvt_trace_meta(trace, "device")
                                 : nvt_device_name(trace, range->process, range->device);
    const struct nvt_buffer *notes = &making->input->notes;
    char text[512];
    snprintf(text, sizeof(text), "note: no MFU without a peak: %s is known of %.200s%s",
             source == UNKNOWN ? "none" : "none of a format that is used",
             device && *device ? device
             : is_host         ? "the host"
                               : "the GPU",
             source == UNKNOWN ? "; run nvtally info --peak there to measure and keep it" : "");
    if (!notes->size || !memmem(notes->data, notes->size, text, strlen(text)))
        nvt_note(making->input, "%s", text);
}

/* How many products there are whose FLOPs are not known, beside others. */
static void note_unknown(const struct nvt_making *making, const struct nvt_trace *trace)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t count = 0;
    for (uint32_t i = 0; i < ranges->count; i++)
        count += !(ranges->flags[i] & NVT_RANGE_HAS_PAYLOAD) &&
                 nvt_is_operator_with_work(nvt_name(trace, ranges->name[i]));
    if (count)
        nvt_note(making->input,
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

static void note_no_work(const struct nvt_making *making, const struct nvt_trace *trace)
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
        nvt_note(making->input,
                 "note: names of %u ranges have flops= and declare no work: flops= and bytes= must "
                 "both be numbers from 0 to %g",
                 count, NVT_DECLARED_LESS);
}

static int group_mfu(struct nvt_groups *groups, const struct nvt_trace *trace,
                     const struct nvt_making *making)
{
    struct nvt_model_flops model = {.items = NULL};
    struct nvt_peaks peaks = {.bytes = 0};
    enum source source = UNKNOWN;
    int status = nvt_model_flops_make(&model, trace, record_of(making->from),
                                      nvt_input_projection(making->input), making->err);
    for (uint32_t i = 0; i < model.count && !status; i++) {
        const struct nvt_flops_range *range = &model.items[i];
        if (!i || range->device != range[-1].device || range->process != range[-1].process)
            source = find_peaks(trace, range, &peaks);
        const uint32_t parts[] = {nvt_groups_range(groups, range->range), source};
        struct mfu *mfu = nvt_groups_item(groups, nvt_groups_key(groups, parts, 2));
        if (!mfu)
            status = -1;
        for (int roof = 0; roof < NVT_ROOFS && mfu; roof++)
            mfu->flops[roof] += range->flops[roof];
        if (mfu) {
            mfu->instances++;
            mfu->ns += range->ns;
            mfu->untyped += range->untyped;
            const double ns = nvt_model_flops_at_peak(range->flops, &peaks);
            mfu->peak_ns += range->untyped > 0 ? NAN : ns;
            if (isnan(ns))
                note_no_share(making, trace, range, source);
            mfu->source = source;
        }
    }
    if (model.count)
        note_unknown(making, trace);
    note_no_work(making, trace);
    free(model.items);
    return status;
}

/* "bf16", "fp32 bf16". */
static void precisions(const struct mfu *mfu, char *out, size_t size)
{
    *out = 0;
    for (int roof = 0; roof < NVT_ROOFS; roof++)
        if (mfu->flops[roof] > 0)
            snprintf(out + strlen(out), size - strlen(out), "%s%s", *out ? " " : "",
                     nvt_roof_name((enum nvt_roof)roof));
}

static void put_mfu(struct nvt_table *table, struct nvt_groups *groups, uint32_t group)
{
    const struct mfu *mfu = nvt_groups_item(groups, group);
    const double share = mfu->peak_ns / mfu->ns;
    double flops = mfu->untyped;
    char text[64];
    for (int roof = 0; roof < NVT_ROOFS; roof++)
        flops += mfu->flops[roof];
    precisions(mfu, text, sizeof(text));
    nvt_table_put(table, nvt_groups_part(groups, group, 0), mfu->instances, (int64_t)mfu->ns,
                  flops / (double)mfu->instances / 1e9, flops / mfu->ns / 1e3,
                  nvt_text_if_any(text), share <= 1 ? 100 * share : NAN,
                  share > 1          ? "above 100 %"
                  : mfu->untyped > 0 ? "type unknown"
                                     : sources[mfu->source]);
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

static int is_in(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (declares(input->traces[i].trace))
            return 1;
    return 0;
}

const struct nvt_report nvt_report_mfu = {
    .name = "mfu",
    .about = "FLOPs of ranges, modules and iterations, and their share of the peak (MFU)",
    .needs = NVT_PROJECTS,
    .title = "Model FLOPs utilization",
    .columns = {{"Range", NVT_RANGES},
                {"Instances", NVT_COUNTS},
                {"Time (ns)", NVT_NS},
                {"GFLOP each", NVT_REALS("", NVT_SHORTEST)},
                {"TFLOP/s", NVT_REALS("", NVT_SHORTEST)},
                {"Precision", NVT_NAMES},
                {"MFU (%)", NVT_PERCENT},
                {"Peak", NVT_NAMES}},
    .order = {"-Time (ns)", "Range"},
    .missing =
        "no FLOPs in the input (record_shapes=True in torch.profiler, or ranges that declare "
        "flops and bytes)",
    .nothing = "no range with FLOPs has time on the device",
    .is_in = is_in,
    .group = group_mfu,
    .put_group = put_mfu,
    .group_size = sizeof(struct mfu),
};
