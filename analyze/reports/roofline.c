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

/* Bytes that were measured, where they were. */
static void put_measured_row(struct nvt_table *table, const struct nvt_roof_point *point)
{
    static const char *const sources[] = {NULL, "DRAM, sampled", "misses of the last cache",
                                          "DRAM, counted"};
    const struct nvt_measured_sum *sum = &point->measured;
    const double counted = sum->flops_ns > 0 ? sum->flops / sum->flops_ns : NAN;
    const double ns = sum->source ? sum->ns : NAN;
    if (!sum->source && isnan(counted))
        return;
    nvt_table_put(table, point->configuration, nvt_text_if_any(point->phase),
                  nvt_text_if_any(point->range), point->bytes / point->ns, sum->bytes / ns,
                  sum->low / ns, isinf(sum->high) ? NAN : sum->high / ns,
                  (isnan(counted) ? point->flops / point->ns : counted) / (sum->bytes / ns),
                  sources[sum->source], counted);
}

/* Why nothing measured bytes, of the first trace that says so. */
static const char *why_not_measured(const struct nvt_input *input)
{
    const char *why = NULL;
    for (size_t i = 0; i < input->trace_count && !why; i++)
        why = nvt_trace_meta(input->traces[i].trace, NVT_FACT_NO_HARDWARE);
    return why ? why : "no GPU metrics of a known GPU, no hardware counters of the host";
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
    size_t unknown = 0, above = 0, measured = 0;
    for (size_t i = 0; i < roofline->count; i++) {
        const double share = nvt_roof_share(roofline, &roofline->points[i]);
        measured += roofline->points[i].measured.source != NVT_BYTES_OF_NONE;
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
    if (measured < roofline->count)
        nvt_note(input, "note: bytes of %zu of %u were not measured: %.384s",
                 roofline->count - measured, roofline->count, why_not_measured(input));
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
        put_measured_row(making->tables[1], &roofline.points[i]);
    if (!status)
        note(making->input, &roofline);
    nvt_roofline_free(&roofline);
    return status;
}

static const struct nvt_table_kind more[] = {
    {.name = "roofline_measured",
     .title = "Measured bytes of phases and ranges",
     .columns = {{"configuration", NVT_NAMES},
                 {"phase", NVT_NAMES},
                 {"range", NVT_NAMES},
                 {"declared GB/s", NVT_REALS("", 3)},
                 {"measured GB/s", NVT_REALS("", 3)},
                 {"at least", NVT_REALS("GB/s", 3)},
                 {"at most", NVT_REALS("GB/s", 3)},
                 {"FLOP/byte, measured", NVT_REALS("", 3)},
                 {"by", NVT_NAMES},
                 {"counted GFLOP/s", NVT_SPARE_REALS("", 3)}},
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
