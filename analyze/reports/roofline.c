/* roofline: what phases and ranges achieve beside what the machine reaches at their intensity (analyze/studies/roofline.h). */
#include "../../lib/hardware_counters.h"
#include "../studies/roofline.h"

#include <math.h>

#include "report.h"

static void put_roofline_row(struct nvt_table *table, const struct nvt_roofline *roofline,
                             const struct nvt_roof_point *point)
{
    static const char *const bounds[] = {NULL, "compute", "memory", "neither"};
    const int has_flops = point->flops > 0;
    nvt_table_put(table, point->configuration, nvt_text_if_any(point->phase),
                  nvt_text_if_any(point->range),
                  NVT_IF(point->count < 0x1p62, (int64_t)point->count), point->ns / point->count,
                  point->flops / point->bytes, point->flops / point->ns, point->bytes / point->ns,
                  NVT_IF(has_flops, nvt_roof_name(point->roof)),
                  has_flops ? nvt_roof_flops(roofline, point) / 1e9 : NAN,
                  100 * nvt_roof_share(roofline, point), bounds[nvt_roof_bound(roofline, point)],
                  nvt_roof_gain(roofline, point), point->on_device ? "device" : "host");
}

/* --- what was measured --------------------------------------------------------------------------- */

static double per(double amount, double ns)
{
    return ns > 0 ? amount / ns : NAN;
}

static void put_measured_bytes(struct nvt_table *table, const struct nvt_roof_point *point)
{
    const struct nvt_measured_sum *sum = &point->measured;
    const struct nvt_measured_amount *bytes = &sum->bytes;
    const int is_of_dram = bytes->counted_ns > 0 || bytes->sampled_ns > 0;
    const double low =
        is_of_dram ? per(bytes->low, bytes->sampled_ns) : per(sum->missed, sum->missed_ns);
    const char *by = is_of_dram ? "DRAM" : "misses of the last cache";
    const int is_there = nvt_measured_has_bytes(sum);
    nvt_table_put(table, point->configuration, nvt_text_if_any(point->phase),
                  nvt_text_if_any(point->range), "GB/s", point->bytes / point->ns,
                  per(bytes->counted, bytes->counted_ns), per(bytes->sampled, bytes->sampled_ns),
                  low, per(bytes->high, bytes->sampled_ns), is_there ? by : NULL,
                  is_there ? NULL : nvt_unmeasured_text(bytes->why), NAN);
}

static void put_measured_flops(struct nvt_table *table, const struct nvt_roof_point *point)
{
    const struct nvt_measured_sum *sum = &point->measured;
    const struct nvt_measured_amount *flops = &sum->flops;
    const char *by = flops->counted_ns > 0   ? "operations"
                     : flops->sampled_ns > 0 ? "active tensor pipes"
                                             : NULL;
    nvt_table_put(table, point->configuration, nvt_text_if_any(point->phase),
                  nvt_text_if_any(point->range), "GFLOP/s", point->flops / point->ns,
                  per(flops->counted, flops->counted_ns), per(flops->sampled, flops->sampled_ns),
                  per(flops->low, flops->sampled_ns), per(flops->high, flops->sampled_ns), by,
                  by ? NULL : nvt_unmeasured_text(flops->why), per(sum->active, sum->active_ns));
}

/* Counted bytes with counted FLOPs, where there are any; sampled ones with those that are declared. */
static void put_measured_intensity(struct nvt_table *table, const struct nvt_roof_point *point)
{
    const struct nvt_measured_sum *sum = &point->measured;
    const struct nvt_measured_amount *bytes = &sum->bytes;
    const int is_counted = sum->flops.counted_ns > 0;
    const double declared = point->flops / point->ns,
                 flops = is_counted ? per(sum->flops.counted, sum->flops.counted_ns) : declared,
                 missed = per(sum->missed, sum->missed_ns), ns = bytes->sampled_ns;
    if (!nvt_measured_has_bytes(sum) || !(flops > 0))
        return;
    nvt_table_put(table, point->configuration, nvt_text_if_any(point->phase),
                  nvt_text_if_any(point->range), "FLOP/byte", point->flops / point->bytes,
                  flops / per(bytes->counted, bytes->counted_ns),
                  declared / per(bytes->sampled, ns), declared / per(bytes->high, ns),
                  declared / (ns > 0 ? per(bytes->low, ns) : missed),
                  is_counted ? "operations and DRAM" : "declared FLOPs", NVT_NULL, NAN);
}

/* Of points of which anything was measured. */
static void put_measured_rows(struct nvt_table *table, const struct nvt_roof_point *point)
{
    if (!nvt_measured_has_any(&point->measured))
        return;
    put_measured_bytes(table, point);
    if (point->flops > 0 || point->measured.flops.counted_ns > 0)
        put_measured_flops(table, point);
    put_measured_intensity(table, point);
}

/* Of the host's counters, what the first trace says that knows more. */
static const char *why_not_measured(const struct nvt_input *input, enum nvt_unmeasured why)
{
    const char *known = NULL;
    for (size_t i = 0; i < input->trace_count && !known && why == NVT_UNMEASURED_HOST; i++)
        known = nvt_trace_meta(input->traces[i].trace, NVT_FACT_NO_HARDWARE);
    return known ? known : nvt_unmeasured_text(why);
}

static void note_unmeasured(struct nvt_input *input, const struct nvt_roofline *roofline)
{
    uint32_t counts[NVT_UNMEASURED_COUNT] = {0};
    for (uint32_t i = 0; i < roofline->count; i++) {
        const struct nvt_measured_sum *sum = &roofline->points[i].measured;
        counts[sum->bytes.why] += !nvt_measured_has_bytes(sum);
    }
    for (int why = 0; why < NVT_UNMEASURED_COUNT; why++)
        if (counts[why])
            nvt_note(input, "note: bytes of %u of %u were not measured: %.384s", counts[why],
                     roofline->count, why_not_measured(input, (enum nvt_unmeasured)why));
}

/* Which peaks they are. */
static void note_peaks(struct nvt_input *input, const struct nvt_roofline *roofline)
{
    for (size_t i = 0; i < roofline->peaks_count; i++) {
        const struct nvt_peaks *peaks = &roofline->peaks[i];
        char threads[48] = "";
        if (peaks->threads)
            snprintf(threads, sizeof(threads), " with %d thread%s", peaks->threads,
                     peaks->threads == 1 ? "" : "s");
        nvt_note(input,
                 "note: the roofs are what GEMMs and a copy reached on %.200s%s, measured %s",
                 *peaks->device ? peaks->device : "that machine", threads,
                 *peaks->date ? peaks->date : "with the run");
    }
}

static void note(struct nvt_input *input, const struct nvt_roofline *roofline)
{
    size_t unknown = 0, above = 0;
    for (size_t i = 0; i < roofline->count; i++) {
        const double share = nvt_roof_share(roofline, &roofline->points[i]);
        unknown += isnan(share) != 0;
        above += share > 1;
    }
    if (!roofline->count)
        nvt_note(input, "note: no range declares its FLOPs and bytes; nvtally-stats(1) shows how");
    if (roofline->without)
        nvt_note(input,
                 "note: %zu range%s within phases %s left out: nothing waits for the device in %s, "
                 "and its operations were not recorded (--collect kernel)",
                 roofline->without, roofline->without == 1 ? "" : "s",
                 roofline->without == 1 ? "is" : "are", roofline->without == 1 ? "it" : "them");
    if (!roofline->count)
        return;
    nvt_note(input, "note: bytes are the least that must be moved, as the program declares, not a "
                    "measurement; nested ranges each count their whole time");
    note_unmeasured(input, roofline);
    note_peaks(input, roofline);
    if (above)
        nvt_note(input,
                 "note: %zu above %s roof, faster than the GEMM or the copy that was measured: "
                 "data stayed in a cache, the work writes what it has read, or the machine had "
                 "other work when the roof was measured",
                 above, above == 1 ? "its" : "their");
    if (unknown)
        nvt_note(input,
                 "note: the machine's roof is unknown for %zu of %u; run nvtally info --peak "
                 "there to measure and keep it",
                 unknown, roofline->count);
}

static int put_roofline(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_roofline roofline = {0};
    int status = nvt_roofline_make(&roofline, making->input, making->err);
    for (size_t i = 0; i < roofline.count && !status; i++)
        put_roofline_row(table, &roofline, &roofline.points[i]);
    for (size_t i = 0; i < roofline.count && !status; i++)
        put_measured_rows(making->tables[1], &roofline.points[i]);
    if (!status)
        note(making->input, &roofline);
    nvt_roofline_free(&roofline);
    return status;
}

static const struct nvt_table_kind more[] = {
    {.name = "roofline_measured",
     .title = "Measured work of phases and ranges",
     .columns = {{"configuration", NVT_NAMES},
                 {"phase", NVT_NAMES},
                 {"range", NVT_NAMES},
                 {"quantity", NVT_NAMES},
                 {"declared", NVT_REALS("", 3)},
                 {"counted", NVT_REALS("", 3)},
                 {"sampled", NVT_REALS("", 3)},
                 {"at least", NVT_REALS("", 3)},
                 {"at most", NVT_REALS("", 3)},
                 {"by", NVT_NAMES},
                 {"why not", NVT_NAMES},
                 {"tensor pipes active", NVT_SPARE_REALS("%", 1)}},
     .is_optional = 1},
    {.title = NULL},
};

const struct nvt_report nvt_report_roofline = {
    .name = "roofline",
    .about = "FLOP/s and bytes/s of phases and ranges compared with the machine's roofline",
    .needs = NVT_TAKES_COMPENSATED | NVT_PROJECTS,
    .columns = {{"configuration", NVT_NAMES},
                {"phase", NVT_NAMES},
                {"range", NVT_NAMES},
                {"n", NVT_COUNTS},
                {"mean", NVT_NS_AVERAGE},
                {"FLOP/byte", NVT_REALS("", 3)},
                {"GFLOP/s", NVT_REALS("", 3)},
                {"GB/s", NVT_REALS("", 3)},
                {"precision", NVT_NAMES},
                {"roof", NVT_REALS("GFLOP/s", 3)},
                {"of the roof", NVT_PERCENT},
                {"bound by", NVT_NAMES},
                {"gained at the roof", NVT_REALS("ns", 0)},
                {"clock", NVT_NAMES}},
    .title = "Roofline of phases and ranges",
    .of_input = put_roofline,
    .more = more,
};
