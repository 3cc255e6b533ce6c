#include "frame.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/count_of.h"
#include "../lib/text.h"
#include "gnuplot.h"
#include "label.h"

enum {
    TITLE_LINE = 18,
    NOTE_LINE = 14,
    KEY_LINE = 16,
    X_AXIS = 50,       /* one row of tics and label below a panel */
    X_ROW = 16,        /* another one */
    Y_AXIS = 64,       /* tics of six characters and label beside it */
    RIGHT = 14,        /* beside a panel */
    LABEL_ROWS = 2,    /* at an x axis */
    PANEL_TITLE = 22,  /* above it, with several panels */
    TITLE_CHARS = 48,  /* of 14 px in a line */
    NOTE_CHARS = 66,   /* of 11 px */
    SAMPLE = 30,       /* px of a key's line */
    FIRST_TAG = 10000, /* of labels, arrows and objects of the frame */
    Y_LABEL_TAG = 9999,
};

/* DejaVu Sans at 11 px. */
#define KEY_CHAR 6.7

/* Room beside the only value of a logarithmic axis: for its half and its double. */
#define ALONE 3.0

struct nvt_frame nvt_frame_new(const char *format, const char *name, const char *title)
{
    struct nvt_frame frame = {.format = format, .name = name};
    snprintf(frame.title, sizeof(frame.title), "%s", title);
    return frame;
}

void nvt_frame_key(struct nvt_frame *frame, enum nvt_key_kind kind, const char *color, int dash,
                   int point, const char *text)
{
    if (frame->key_count == NVT_FRAME_KEYS)
        return;
    struct nvt_key *key = &frame->keys[frame->key_count++];
    *key = (struct nvt_key){kind, color, dash, point, ""};
    const struct nvt_label label = {text, 0};
    nvt_label_fit(&(struct nvt_labels){&label, 1}, 0, NVT_FRAME_KEY_ROOM, key->text,
                  sizeof(key->text));
}

void nvt_frame_note(struct nvt_frame *frame, const char *text)
{
    if (*text && frame->note_count < NVT_FRAME_NOTES)
        snprintf(frame->notes[frame->note_count++], NVT_FRAME_TEXT, "%s", text);
}

void nvt_frame_provenance(struct nvt_frame *frame, const char *before,
                          const struct nvt_provenance *from)
{
    const char *const facts[] = {from->condition, from->backend, from->device, from->date};
    char text[NVT_FRAME_TEXT];
    size_t start = (size_t)snprintf(text, sizeof(text), "%s", before), used = start;
    for (size_t i = 0; i < NVT_COUNT_OF(facts); i++)
        if (facts[i] && *facts[i] && used < sizeof(text))
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
                                     used > start ? " · " : "", facts[i]);
    if (used > start)
        nvt_frame_note(frame, text);
}

/* --- lines of text --- */

/* The end of the line that begins at `text`: the last blank within `most` columns, or there. */
static const char *line_end(const char *text, size_t most)
{
    const char *blank = NULL, *at = text, *next = text;
    for (size_t used = 0; *at; at = next) {
        used += (size_t)nvt_char_width(nvt_char_visible(nvt_utf8_next(&next)));
        if (used > most)
            return blank ? blank : at;
        if (*at == ' ')
            blank = at;
    }
    return at;
}

static int line_count(const char *text, size_t most)
{
    int count = 0;
    for (; *text; count++) {
        text = line_end(text, most);
        text += strspn(text, " ");
    }
    return count;
}

/* Write the lines of a text as labels, the first `y` px below the top. Returns the last tag. */
static int put_lines(const struct nvt_frame *frame, const char *text, size_t most, int tag, int y,
                     int step, const char *look, FILE *out)
{
    char line[NVT_FRAME_TEXT];
    for (; *text; y += step) {
        const char *end = line_end(text, most);
        snprintf(line, sizeof(line), "%.*s", (int)(end - text), text);
        fprintf(out, "set label %d ", ++tag);
        nvt_gnuplot_text(line, most + 1, out);
        fprintf(out, " at screen 0.5,screen %.4f center noenhanced %s\n",
                1 - (double)y / frame->height, look);
        text = end + strspn(end, " ");
    }
    return tag;
}

/* --- the legend --- */

static double key_width(const struct nvt_key *key)
{
    const double usual = KEY_CHAR * (double)nvt_text_width(key->text);
    return SAMPLE + 18 + fmax(usual, nvt_label_pixels(key->text));
}

/* How many keys from `first` on stand in one row, and how wide they are together. */
static size_t row_of_keys(const struct nvt_frame *frame, size_t first, double *width)
{
    size_t count = 0;
    *width = 0;
    while (first + count < frame->key_count) {
        double more = key_width(&frame->keys[first + count]);
        if (count && *width + more > NVT_FRAME_WIDTH - 8)
            break;
        *width += more;
        count++;
    }
    return count;
}

static int key_rows(const struct nvt_frame *frame)
{
    double width;
    int rows = 0;
    for (size_t first = 0; first < frame->key_count; rows++)
        first += row_of_keys(frame, first, &width);
    return rows;
}

static void put_key(struct nvt_frame *frame, const struct nvt_key *key, double x, int y, FILE *out)
{
    double from = x / NVT_FRAME_WIDTH, to = (x + SAMPLE) / NVT_FRAME_WIDTH;
    double at = 1 - (double)y / frame->height, half = 5.0 / frame->height;
    if (key->kind == NVT_KEY_BOX)
        fprintf(out,
                "set object %d rectangle from screen %.4f,screen %.4f to screen %.4f,screen %.4f "
                "front fillcolor '%s' fillstyle solid 1 noborder\n",
                FIRST_TAG + ++frame->boxes, (from + to) / 2, at - half, to, at + half, key->color);
    else if (key->kind != NVT_KEY_POINT) {
        /* The SVG of gnuplot 5.4 takes the dashes of the arrow before, where colour and width are the same. */
        const char *width = ++frame->arrows % 2 ? "1.6" : "1.61";
        fprintf(out,
                "set arrow %d from screen %.4f,screen %.4f to screen %.4f,screen %.4f nohead "
                "linecolor '%s' dashtype %d linewidth %s\n",
                FIRST_TAG + frame->arrows, from, at, to, at, key->color, key->dash ? key->dash : 1,
                width);
    }
    if (key->kind == NVT_KEY_POINT || key->kind == NVT_KEY_LINE_POINT)
        fprintf(out,
                "set label %d '' at screen %.4f,screen %.4f point pointtype %d pointsize 0.8 "
                "linecolor '%s'\n",
                FIRST_TAG + ++frame->labels, (from + to) / 2, at, key->point, key->color);
    fprintf(out, "set label %d ", FIRST_TAG + ++frame->labels);
    nvt_gnuplot_text(key->text, NVT_FRAME_TEXT, out);
    fprintf(out, " at screen %.4f,screen %.4f left noenhanced font ',11'\n",
            (x + SAMPLE + 6) / NVT_FRAME_WIDTH, at);
}

static void put_keys(struct nvt_frame *frame, int y, FILE *out)
{
    double width;
    for (size_t first = 0; first < frame->key_count; y += KEY_LINE) {
        size_t count = row_of_keys(frame, first, &width);
        double x = (NVT_FRAME_WIDTH - width) / 2 + 4;
        for (size_t i = first; i < first + count; i++) {
            put_key(frame, &frame->keys[i], x, y, out);
            x += key_width(&frame->keys[i]);
        }
        first += count;
    }
}

/* --- the frame --- */

static int panels(const struct nvt_frame *frame)
{
    return frame->columns * frame->rows;
}

/* Tics and label below a panel. */
static int x_axis(const struct nvt_frame *frame)
{
    return X_AXIS + (frame->x_rows > 1 ? X_ROW : 0);
}

void nvt_frame_open(struct nvt_frame *frame, int panel, FILE *out)
{
    frame->columns = frame->columns ? frame->columns : 1;
    frame->rows = frame->rows ? frame->rows : 1;
    frame->left = frame->left ? frame->left : Y_AXIS;
    frame->right = frame->right ? frame->right : RIGHT;
    frame->panel = panel;
    int several = panels(frame) > 1, notes = 0;
    frame->top = 12 + TITLE_LINE * line_count(frame->title, TITLE_CHARS);
    int below = frame->top + frame->rows * (panel + x_axis(frame) + (several ? PANEL_TITLE : 8));
    for (size_t i = 0; i < frame->note_count; i++)
        notes += line_count(frame->notes[i], NOTE_CHARS);
    frame->height =
        below + KEY_LINE * key_rows(frame) + (frame->key_count ? 6 : 0) + NOTE_LINE * notes + 8;
    nvt_gnuplot_terminal(frame->format, NVT_FRAME_WIDTH, frame->height, frame->name, out);
    fputs("set border 3 linecolor '#555555'\n"
          "set tics nomirror textcolor '#333333' font ',11' scale 0.6\n"
          "set grid xtics ytics linecolor '#dddddd' linetype 1 linewidth 0.5\nunset key\n"
          /* gnuplot's own format has ten characters at times */
          "set format x '%g'\nset format y '%g'\nset ytics offset 0.5,0\n"
          /* gnuplot 6 wipes away what lies around the points of lines with errors */
          "set pointintervalbox 0\n",
          out);
    if (!strcmp(frame->format, "svg")) /* where gnuplot leaves more room above the label */
        fputs("set xlabel offset 0,0.5\n", out);
    int y = 18, tag = put_lines(frame, frame->title, TITLE_CHARS, FIRST_TAG, y, TITLE_LINE,
                                "font ',14'", out);
    y = below + KEY_LINE / 2;
    frame->labels = tag - FIRST_TAG;
    put_keys(frame, y, out);
    y += KEY_LINE * key_rows(frame) + (frame->key_count ? 6 : 0);
    for (size_t i = 0; i < frame->note_count; i++) {
        tag = put_lines(frame, frame->notes[i], NOTE_CHARS, FIRST_TAG + frame->labels, y, NOTE_LINE,
                        "font ',11' textcolor '#555555'", out);
        frame->labels = tag - FIRST_TAG;
        y += NOTE_LINE * line_count(frame->notes[i], NOTE_CHARS);
    }
    if (several)
        fputs("set multiplot\n", out);
    else
        nvt_frame_panel(frame, 0, NULL, out);
}

void nvt_frame_panel(const struct nvt_frame *frame, int index, const char *title, FILE *out)
{
    int several = panels(frame) > 1, column = index % frame->columns;
    double each = (double)NVT_FRAME_WIDTH / frame->columns;
    double left = each * column + frame->left, right = each * (column + 1) - frame->right;
    int top = frame->top + (several ? PANEL_TITLE : 8) +
              index / frame->columns * (frame->panel + x_axis(frame) + PANEL_TITLE);
    for (int i = 1; index && i <= frame->labels; i++)
        fprintf(out, "unset label %d\n", FIRST_TAG + i);
    for (int i = 1; index && i <= frame->arrows; i++)
        fprintf(out, "unset arrow %d\n", FIRST_TAG + i);
    for (int i = 1; index && i <= frame->boxes; i++)
        fprintf(out, "unset object %d\n", FIRST_TAG + i);
    fprintf(out,
            "set lmargin at screen %.4f\nset rmargin at screen %.4f\n"
            "set tmargin at screen %.4f\nset bmargin at screen %.4f\n",
            left / NVT_FRAME_WIDTH, right / NVT_FRAME_WIDTH, 1 - (double)top / frame->height,
            1 - (double)(top + frame->panel) / frame->height);
    if (title) {
        fputs("set title ", out);
        nvt_gnuplot_text(title, 60, out);
        fprintf(out, " font ',%d' offset 0,-0.5 noenhanced\n", frame->columns > 1 ? 11 : 12);
    }
}

void nvt_frame_y_label(const struct nvt_frame *frame, int index, const char *text, FILE *out)
{
    double each = (double)NVT_FRAME_WIDTH / frame->columns;
    fprintf(out, "set label %d ", Y_LABEL_TAG);
    nvt_gnuplot_text(text, 60, out);
    fprintf(out, " at screen %.4f,graph 0.5 center rotate noenhanced\n",
            (each * (index % frame->columns) + 11) / NVT_FRAME_WIDTH);
}

void nvt_frame_close(const struct nvt_frame *frame, FILE *out)
{
    fprintf(out, "%sunset output\n", panels(frame) > 1 ? "unset multiplot\n" : "");
}

void nvt_frame_style(enum nvt_key_kind kind, const char *color, int dash, int point, FILE *out)
{
    fprintf(out, " linecolor '%s' linewidth 1.6", color);
    if (kind == NVT_KEY_LINE || kind == NVT_KEY_LINE_POINT)
        fprintf(out, " dashtype %d", dash ? dash : 1);
    if (kind == NVT_KEY_POINT || kind == NVT_KEY_LINE_POINT)
        fprintf(out, " pointtype %d pointsize 0.7", point);
}

void nvt_frame_series_keys(struct nvt_frame *frame, const struct nvt_series *series, size_t count)
{
    for (size_t i = 0; i < count; i++)
        nvt_frame_key(frame, NVT_KEY_POINT, series[i].color, 1, series[i].point, series[i].title);
}

void nvt_frame_series_std(const char *name, const struct nvt_bar_columns *columns,
                          const struct nvt_series *series, size_t count, FILE *out)
{
    const char *mean = columns->mean, *std = columns->std, *y = columns->y;
    for (size_t i = 0; i < count; i++) {
        const char *block = series[i].block, *color = series[i].color;
        fprintf(out,
                "%s'%s.dat' index '%s' using (%s):(%s):(%s-%s<floor?%s:low(%s,%s)):(high(%s,%s)) "
                "with xerrorbars",
                i ? ", \\\n     " : "plot ", name, block, mean, y, mean, std, mean, mean, std, mean,
                std);
        nvt_frame_style(NVT_KEY_POINT, color, 1, series[i].point, out);
        fprintf(out,
                ", \\\n     '' index '%s' using (%s-%s<floor?%s:NaN):(%s):(floor-%s):(0) with "
                "vectors head filled size screen 0.016,25 linecolor '%s' linewidth 1.6",
                block, mean, std, mean, y, mean, color);
    }
    putc('\n', out);
}

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
            high >= 100 * low && (low < 1e-3 || high >= 1e6) ? "1e%L" : "%g", axis);
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

double nvt_extent_floor(const struct nvt_extent *extent, double log_ratio)
{
    return is_logarithmic(extent, log_ratio) ? extent->least / 1.5 : 0;
}

int nvt_frame_scale(char axis, const struct nvt_extent *extent, double unit, double log_ratio,
                    FILE *out)
{
    int is_log = is_logarithmic(extent, log_ratio);
    double low = nvt_extent_floor(extent, log_ratio) / unit;
    double high = extent->most > 0 ? extent->most * (is_log ? 1.5 : 1.1) / unit : 1;
    fprintf(out,
            "%s logscale %c%s\nset %crange [%.9g:%.9g]\nfloor = %.9g\nceiling = %.9g\n"
            "lower(value) = value > floor ? value : floor\n"
            "upper(value) = value < ceiling ? value : ceiling\n"
            "low(mean, std) = std > 0 ? (mean - std > floor ? mean - std : floor) : mean\n"
            "high(mean, std) = std > 0 ? mean + std : mean\n",
            is_log ? "set" : "unset", axis, is_log ? " 10" : "", axis, low, high, low, high);
    if (is_log)
        put_tics_of_log(axis, low, high, out);
    else
        fprintf(out, "set %ctics autofreq\nset format %c '%%g'\n", axis, axis);
    return is_log;
}

static int ascending(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
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
    labels.width = (double)NVT_FRAME_WIDTH / columns - (frame->left ? frame->left : Y_AXIS) -
                   (frame->right ? frame->right : RIGHT);
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
    double half = KEY_CHAR / 2 * write_tic(value, text);
    for (*row = 0; *row < rows && at - half <= labels->named[*row] + KEY_CHAR / 2;)
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
        qsort(values, count, sizeof(*values), ascending);
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
        qsort(values, count, sizeof(*values), ascending);
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
    const int half = (int)(KEY_CHAR / 2 * write_tic(value, label)) + 2;
    return half > RIGHT ? half : RIGHT;
}

struct nvt_time_unit nvt_time_unit_for(double ns)
{
    static const struct nvt_time_unit units[] = {{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}};
    for (size_t i = 0; i < NVT_COUNT_OF(units); i++)
        if (ns >= units[i].ns)
            return units[i];
    return (struct nvt_time_unit){"ns", 1};
}

void nvt_frame_time_text(const struct nvt_time_unit *unit, FILE *out)
{
    fprintf(out,
            "ns = %.9g\n"
            "of_time(t) = t*ns >= 1e9 ? sprintf('%%.4g s', t*ns/1e9) : t*ns >= 1e6 ? "
            "sprintf('%%.4g ms', t*ns/1e6) : t*ns >= 1e3 ? sprintf('%%.4g µs', t*ns/1e3) : "
            "sprintf('%%.4g ns', t*ns)\n",
            unit->ns);
}

void nvt_frame_file_name(const char *path, const char *suffix, char *out, size_t size)
{
    const char *base = nvt_file_name(path);
    size_t length = strcspn(base, ".");
    if (!length || length > 100)
        length = length ? 100 : strlen(base) < 100 ? strlen(base) : 100;
    snprintf(out, size, "%.*s%s", (int)length, base, suffix);
    for (char *at = out; *at; at++)
        if (!isalnum((unsigned char)*at) && *at != '-' && *at != '_')
            *at = '_';
}
