/* roofline: what phases and ranges achieve beside what the machine reaches at their intensity (analyze/studies/roofline.h). */
#include "../studies/roofline.h"

#include <math.h>

#include "report.h"

enum {
    CONFIGURATION,
    PHASE,
    RANGE,
    N,
    TIME,
    INTENSITY,
    FLOPS,
    BYTES,
    PRECISION,
    ROOF,
    SHARE,
    BOUND,
    GAIN,
    CLOCK
};

static const struct nvt_column_spec columns[] = {
    [CONFIGURATION] = {"configuration", "", NVT_TEXT, 0, 0},
    [PHASE] = {"phase", "", NVT_TEXT, 0, 0},
    [RANGE] = {"range", "", NVT_TEXT, 0, 0},
    [N] = {"n", "", NVT_INT, 0, 0},
    [TIME] = {"mean", "ns", NVT_REAL, 1, 0},
    [INTENSITY] = {"FLOP/byte", "", NVT_REAL, 3, 0},
    [FLOPS] = {"GFLOP/s", "", NVT_REAL, 3, 0},
    [BYTES] = {"GB/s", "", NVT_REAL, 3, 0},
    [PRECISION] = {"precision", "", NVT_TEXT, 0, 0},
    [ROOF] = {"roof", "GFLOP/s", NVT_REAL, 3, 0},
    [SHARE] = {"of the roof", "%", NVT_REAL, 1, 0},
    [BOUND] = {"bound by", "", NVT_TEXT, 0, 0},
    [GAIN] = {"gained at the roof", "ns", NVT_REAL, 0, 0},
    [CLOCK] = {"clock", "", NVT_TEXT, 0, 0},
};

static void put_row(struct nvt_table *table, const struct nvt_roofline *roofline,
                    const struct nvt_roof_point *point)
{
    static const char *const bounds[] = {NULL, "compute", "memory", "neither"};
    const size_t row = nvt_table_add_row(table);
    nvt_table_set_text(table, row, CONFIGURATION, point->configuration);
    nvt_table_set_name(table, row, PHASE, point->phase);
    nvt_table_set_name(table, row, RANGE, point->range);
    if (point->count < 0x1p62)
        nvt_table_set_int(table, row, N, (int64_t)point->count);
    nvt_table_set_real(table, row, TIME, point->ns / point->count);
    nvt_table_set_real(table, row, INTENSITY, point->flops / point->bytes);
    nvt_table_set_real(table, row, FLOPS, point->flops / point->ns);
    nvt_table_set_real(table, row, BYTES, point->bytes / point->ns);
    if (point->flops > 0) {
        nvt_table_set_text(table, row, PRECISION, nvt_roof_name(point->roof));
        nvt_table_set_real(table, row, ROOF, nvt_roof_flops(roofline, point) / 1e9);
    }
    nvt_table_set_real(table, row, SHARE, 100 * nvt_roof_share(roofline, point));
    nvt_table_set_text(table, row, BOUND, bounds[nvt_roof_bound(roofline, point)]);
    nvt_table_set_real(table, row, GAIN, nvt_roof_gain(roofline, point));
    nvt_table_set_text(table, row, CLOCK, point->on_device ? "device" : "host");
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
                 "note: the roof is what products and a copy reached on %.200s%s, measured %s",
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
        nvt_note(input,
                 "note: no range says its FLOPs and bytes: nvtally-stats(1) tells how one does");
    if (roofline->without)
        nvt_note(input,
                 "note: %zu range%s within phases %s left out: nothing waits for the device in %s, "
                 "and its operations are not on record (--collect kernel)",
                 roofline->without, roofline->without == 1 ? "" : "s",
                 roofline->without == 1 ? "is" : "are", roofline->without == 1 ? "it" : "them");
    if (!roofline->count)
        return;
    nvt_note(input,
             "note: bytes are what must be moved at least, as the program says, and not what "
             "was measured; time in ranges within ranges counts in each of them");
    note_peaks(input, roofline);
    if (above)
        nvt_note(input,
                 "note: %zu above %s roof: faster than the product or the copy was, as data that "
                 "stay in a cache are, or work that writes what it has read; or the machine had "
                 "other work then",
                 above, above == 1 ? "its" : "their");
    if (unknown)
        nvt_note(input,
                 "note: what the machine reaches is not known for %zu of %zu; "
                 "nvtally info --peak, there, measures and keeps it",
                 unknown, roofline->count);
}

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_roofline roofline = {0};
    struct nvt_table *table = NULL;
    if (!nvt_roofline_make(&roofline, input, err))
        table = nvt_report_table(&nvt_report_roofline, input,
                                 "Phases and ranges below the roof of the machine", err);
    for (size_t i = 0; table && i < roofline.count; i++)
        put_row(table, &roofline, &roofline.points[i]);
    if (table)
        note(input, &roofline);
    nvt_roofline_free(&roofline);
    return nvt_report_add(tables, table, err);
}

const struct nvt_report nvt_report_roofline = {
    .name = "roofline",
    .about = "FLOP/s and bytes/s of phases and ranges against the roof of the machine",
    .needs = NVT_NEEDS_TRACES | NVT_TAKES_COMPENSATED,
    .columns = columns,
    .column_count = sizeof(columns) / sizeof(columns[0]),
    .make = make,
};
