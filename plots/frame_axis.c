/* Axes of charts: where they begin and end, and their tics (frame.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/count_of.h"
#include "../lib/sample.h"
#include "frame.h"

enum { LABEL_ROWS = 2 }; /* at an x axis */

/* A digit of DejaVu Sans at 12 px. */
#define DIGIT 7.7

/* Room beside the only value of a logarithmic axis: for its half and its double. */
#define ALONE 3.0

struct nvt_extent nvt_extent_new(void)
{
    return (struct nvt_extent){.least = INFINITY};
}

void nvt_extent_add(struct nvt_extent *extent, double low, double high)
{
    extent->least = fmin(extent->least, low);
    extent->most = fmax(extent->most, high);
}

void nvt_extent_add_bar(struct nvt_extent *extent, double mean, double std)
{
    if (isfinite(mean))
        nvt_extent_add(extent, mean, std > 0 ? mean + std : mean);
}

/* Tics of a decade, the fewer the better. */
static const struct {
    double steps[7];
    int count;
} log_tics[] = {{{1, 2, 5}, 3}, {{1, 1.5, 2, 3, 4, 5, 7}, 7}};
enum { LOG_TICS = NVT_COUNT_OF(log_tics), TICS_LEAST = 3, DECADES_MOST = 7 };

/* Write the tics of a choice that lie on an axis, NULL: only count them. */
static int put_log_tics(int choice, double low, double high, FILE *out)
{
    int count = 0;
    for (int power = (int)floor(log10(low)); power <= (int)ceil(log10(high)); power++)
        for (int i = 0; i < log_tics[choice].count; i++) {
            double tic = log_tics[choice].steps[i] * pow(10, power);
            if (tic < low || tic > high)
                continue;
            if (out)
                fprintf(out, "%s%.9g", count ? ", " : "", tic);
            count++;
        }
    return count;
}

/* Powers of ten, and small tics between them: each power where some are left out, else their multiples. */
static void put_decades(double low, double high, FILE *out)
{
    int first = (int)ceil(log10(low)), last = (int)floor(log10(high));
    int step = 1 + (last - first) / DECADES_MOST, count = 0;
    for (int power = first - 1; power <= last; power++)
        for (int i = 1; i < (step > 1 ? 2 : 10); i++) {
            double tic = i * pow(10, power);
            int is_small = i > 1 || power % step;
            if (tic >= low && tic <= high)
                fprintf(out, "%s%s%.9g%s", count++ ? ", " : "", is_small ? "'' " : "", tic,
                        is_small ? " 1" : "");
        }
}

/* Tics of a logarithmic axis. Which ones gnuplot takes differs with its version: powers of ten until 5.4, which leaves one
 * or none where there is less than a decade or two; with 6 also 5, 10, 15, 20, 25, where they lie on each other. */
static void put_tics_of_log(char axis, double low, double high, FILE *out)
{
    fprintf(out, "set format %c '%s'\nset %ctics (", axis,
            high >= 100 * low && (low < 1e-4 || high >= 1e6) ? "1e%L" : "%g", axis);
    int choice = 0;
    while (choice + 1 < LOG_TICS && put_log_tics(choice, low, high, NULL) < TICS_LEAST)
        choice++;
    if (high < 100 * low)
        put_log_tics(choice, low, high, out);
    else
        put_decades(low, high, out);
    fputs(")\n", out);
}

static int is_logarithmic(const struct nvt_extent *extent, double log_ratio)
{
    return extent->least > 0 && extent->most / extent->least > log_ratio;
}

int nvt_frame_scale(char axis, const struct nvt_extent *extent, double unit, double log_ratio,
                    FILE *out)
{
    int is_log = is_logarithmic(extent, log_ratio);
    double low = is_log ? extent->least / 1.5 / unit : 0;
    double high = extent->most > 0 ? extent->most * (is_log ? 1.5 : 1.1) / unit : 1;
    fprintf(out,
            "%s logscale %c%s\nset %crange [%.9g:%.9g]\nfloor = %.9g\nceiling = %.9g\n"
            "lower(value) = value > floor ? value : floor\n"
            "upper(value) = value < ceiling ? value : ceiling\n",
            is_log ? "set" : "unset", axis, is_log ? " 10" : "", axis, low, high, low, high);
    if (is_log)
        put_tics_of_log(axis, low, high, out);
    else
        fprintf(out, "set %ctics autofreq\nset format %c '%s'\n", axis, axis,
                high >= 1e6 ? "%.1te%T" : "%g");
    return is_log;
}

void nvt_frame_log_range(const struct nvt_extent *extent, double factor, double *left,
                         double *right)
{
    factor = extent->most > extent->least ? factor : ALONE;
    *left = extent->most > 0 ? extent->least / factor : 1;
    *right = extent->most > 0 ? extent->most * factor : 4;
}

/* What stands at a tic. Returns its length. */
static int write_tic(double value, char text[32])
{
    return snprintf(text, 32, value == floor(value) && value < 1e7 ? "%.0f" : "%.6g", value);
}

/* A value with no others has its half and its double beside it. */
static const char *put_neighbours(double value, double left, double right, FILE *out)
{
    const char *separator = "";
    if (value / 2 >= fmax(left, 1)) {
        fprintf(out, "\"%.6g\" %.9g", value / 2, value / 2);
        separator = ", ";
    }
    if (value * 2 <= right) {
        fprintf(out, "%s\"%.6g\" %.9g", separator, value * 2, value * 2);
        separator = ", ";
    }
    return separator;
}

/* The labels of a logarithmic x axis, from the left to the right. */
struct labels {
    double left, right, width; /* of the axis: its ends, and px */
    double named[LABEL_ROWS];  /* where a row's last label ends */
    double marked;             /* where the last tic is */
};

static struct labels labels_of(const struct nvt_frame *frame, double left, double right)
{
    struct labels labels = {.left = left, .right = right, .marked = -INFINITY};
    int columns = frame->columns ? frame->columns : 1;
    labels.width = (double)(frame->width) / columns - (frame->left ? frame->left : NVT_FRAME_LEFT) -
                   (frame->right ? frame->right : NVT_FRAME_MARGIN);
    for (int row = 0; row < LABEL_ROWS; row++)
        labels.named[row] = -INFINITY;
    return labels;
}

/* Whether a value has a tic; *row gets the row of its label, the first of `rows` with room for it, `rows` where there
 * is none. */
static int place_label(struct labels *labels, double value, int rows, int *row)
{
    char text[32];
    double at = labels->width * log(value / labels->left) / log(labels->right / labels->left);
    if (!(value > 0) || at < labels->marked + 2)
        return 0;
    double half = DIGIT / 2 * write_tic(value, text);
    for (*row = 0; *row < rows && at - half <= labels->named[*row] + DIGIT / 2;)
        ++*row;
    if (*row < rows)
        labels->named[*row] = at + half;
    labels->marked = at;
    return 1;
}

int nvt_frame_log_x_rows(const struct nvt_frame *frame, double left, double right, double *values,
                         size_t count)
{
    struct labels labels = labels_of(frame, left, right);
    int row, most = 0;
    if (count)
        nvt_sample_sort(values, count);
    for (size_t i = 0; i < count; i++)
        if (place_label(&labels, values[i], LABEL_ROWS, &row) && row < LABEL_ROWS && row > most)
            most = row;
    return most + 1;
}

void nvt_frame_log_x(const struct nvt_frame *frame, double left, double right, double *values,
                     size_t count, FILE *out)
{
    struct labels labels = labels_of(frame, left, right);
    const int rows = frame->x_rows > 1 ? LABEL_ROWS : 1;
    const char *separator = "";
    fprintf(out, "set logscale x 2\nset xrange [%.9g:%.9g]\nset xtics (", left, right);
    if (count)
        nvt_sample_sort(values, count);
    if (count && values[0] == values[count - 1])
        separator = put_neighbours(values[0], left, right, out);
    for (size_t i = 0; i < count; i++) {
        char text[32], label[40] = "";
        int row;
        if (!place_label(&labels, values[i], rows, &row))
            continue;
        write_tic(values[i], text);
        if (row < rows)
            snprintf(label, sizeof(label), "%s%s", row ? "\\n" : "", text);
        fprintf(out, "%s\"%s\" %.9g", separator, label, values[i]);
        separator = ", ";
    }
    fputs(")\n", out);
    /* gnuplot leaves room for one row. */
    if (rows > 1)
        fprintf(out, "set xlabel offset 0,%g\n", strcmp(frame->format, "svg") ? -0.8 : -0.4);
}

int nvt_frame_log_x_right(double value)
{
    char label[32];
    const int half = (int)(DIGIT / 2 * write_tic(value, label)) + 2;
    return half > NVT_FRAME_MARGIN ? half : NVT_FRAME_MARGIN;
}
