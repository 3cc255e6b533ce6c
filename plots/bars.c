#include "bars.h"

#include <math.h>

#include "gnuplot.h"
#include "looks.h"
#include "svg.h"

/* Px between a text and an end of its bar. */
#define GAP 5.0

static double longest_of(const struct nvt_bars *bars)
{
    double longest = 0;
    for (size_t i = 0; i < bars->count; i++)
        longest = fmax(longest, bars->items[i].value);
    return longest;
}

/* Where the axis ends: with the longest bar, of what is behind it only a part. */
static double end_of(const struct nvt_bars *bars)
{
    const double longest = longest_of(bars);
    double end = longest;
    for (size_t i = 0; i < bars->count; i++)
        end = fmax(end, fmin(bars->items[i].value + bars->items[i].more, 1.25 * longest));
    return end > 0 ? end : 1;
}

static double visible_end(const struct nvt_bars *bars, size_t i)
{
    return fmin(bars->items[i].value + bars->items[i].more, end_of(bars));
}

/* Whether a text stands within its bar: behind it there is no room. */
static int is_within(const struct nvt_bars *bars, size_t i)
{
    const double width = NVT_FRAME_WIDTH - 2 * NVT_BARS_SIDE;
    return visible_end(bars, i) / end_of(bars) * width + 2 * GAP +
               nvt_label_pixels(bars->items[i].text) >
           width;
}

/* What a text within its bar stands on. */
static const char *ground_of(const struct nvt_bar *bar)
{
    return bar->more > 0 ? NVT_OTHERS_COLOR : bar->color;
}

void nvt_bars_put_data(const struct nvt_bars *bars, FILE *out)
{
    fprintf(out, "# %s_%s\twith_hidden\tcolor\twithin\tink\tname\ttext\n", bars->axis,
            bars->unit.name);
    for (size_t i = 0; i < bars->count; i++) {
        const struct nvt_bar *bar = &bars->items[i];
        fprintf(out, "%.9g\t%.9g\t0x%s\t%d\t0x%s\t", bar->value / bars->unit.ns,
                visible_end(bars, i) / bars->unit.ns, bar->color + 1, is_within(bars, i),
                nvt_ink_on(ground_of(bar)) + 1);
        nvt_label_text(bar->label.name, out);
        putc('\t', out);
        nvt_label_text(bar->text, out);
        putc('\n', out);
    }
}

void nvt_bars_open(const struct nvt_bars *bars, struct nvt_frame *frame, FILE *out)
{
    frame->left = frame->right = NVT_BARS_SIDE;
    nvt_frame_open(frame, NVT_BARS_ROW * (int)bars->count + 6, out);
}

void nvt_bars_put_plot(const struct nvt_bars *bars, const struct nvt_frame *frame, FILE *out)
{
    const double end = end_of(bars) / bars->unit.ns;
    const double gap = GAP / (NVT_FRAME_WIDTH - 2 * NVT_BARS_SIDE) * end;
    fprintf(out,
            "set datafile separator '\\t'\nset border 1\nunset ytics\nset grid noytics\n"
            "set xlabel '%s (%s)'\nset xrange [0:%.9g]\nset yrange [%zu.2:0]\n"
            "plot '%s.dat' using (0):($0+0.72):(0):1:($0+0.5):($0+0.94):3 with boxxyerror "
            "fillstyle solid noborder linecolor rgb variable, \\\n"
            "     '' using 1:($0+0.72):1:2:($0+0.5):($0+0.94) with boxxyerror "
            "fillstyle solid noborder fillcolor '%s', \\\n",
            bars->axis, bars->unit.name, end, bars->count, frame->name, NVT_OTHERS_COLOR);
    fprintf(out,
            "     '' using (0):($0+0.26):6 with labels left font ',12', \\\n"
            "     '' using ($2+%.9g):($4==0?$0+0.73:-9):7 with labels left font ',12' "
            "textcolor '#333333', \\\n"
            "     '' using ($2-%.9g):($4==1?$0+0.73:-9):7:5 with labels right font ',12' "
            "textcolor rgb variable\n",
            gap, gap);
}

void nvt_bars_put_tips(const struct nvt_bars *bars, FILE *out)
{
    char tip[1024];
    for (size_t i = 0; i < bars->count; i++) {
        snprintf(tip, sizeof(tip), "%s · %s", bars->items[i].tip, bars->items[i].text);
        nvt_svg_put_tip(1, tip, out);
    }
}
