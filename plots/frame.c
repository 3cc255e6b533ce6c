#include "frame.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/count_of.h"
#include "../lib/text.h"
#include "chart.h"
#include "gnuplot.h"
#include "label.h"

enum {
    TITLE_LINE = 19,
    NOTE_LINE = 15,
    KEY_LINE = 18,
    X_AXIS = 52,       /* one row of tics and label below a panel */
    X_ROW = 17,        /* another one */
    PANEL_TITLE = 26,  /* above it, with several panels */
    SAMPLE = 26,       /* px of a key's line */
    BOX = 12,          /* px of a key's box */
    FIRST_TAG = 10000, /* of labels, arrows and objects of the frame */
    Y_LABEL_TAG = 9999,
    PANEL_TAG = 9998,
};

/* Letters of the title compared with those of labels, which are smaller and not bold. */
#define TITLE_SIZE (14.0 / NVT_LABEL_PX * 1.12)

struct nvt_frame nvt_frame_new(const struct nvt_chart_request *request, const char *name,
                               const char *title)
{
    struct nvt_frame frame = {.format = request->format,
                              .name = name,
                              .width = NVT_FRAME_WIDTH,
                              .is_within_document = request->is_within_document};
    snprintf(frame.title, sizeof(frame.title), "%s", title);
    return frame;
}

void nvt_frame_widen(struct nvt_frame *frame)
{
    if (strcmp(frame->format, "pdf") != 0)
        frame->width = NVT_FRAME_WIDE;
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
    if (used > start && (start || !frame->is_within_document))
        nvt_frame_note(frame, text);
}

/* --- lines of text --- */

/* The end of the line that begins at `text`: the last blank within `room` px of labels, or there. */
static const char *line_end(const char *text, double room)
{
    const char *blank = NULL, *at = text, *next = text;
    char letter[8];
    for (double used = 0; *at; at = next) {
        (void)nvt_utf8_next(&next);
        snprintf(letter, sizeof(letter), "%.*s", (int)(next - at), at);
        used += nvt_label_pixels(letter);
        if (used > room && at > text)
            return blank ? blank : at;
        if (*at == ' ')
            blank = at;
    }
    return at;
}

static int line_count(const char *text, double room)
{
    int count = 0;
    for (; *text; count++) {
        text = line_end(text, room);
        text += strspn(text, " ");
    }
    return count;
}

static double note_room(const struct nvt_frame *frame)
{
    return frame->width - 2 * NVT_FRAME_MARGIN;
}

static double title_room(const struct nvt_frame *frame)
{
    return note_room(frame) / TITLE_SIZE;
}

/* Write the lines of a text as labels, the first `y` px below the top. Returns the last tag. */
static int put_lines(const struct nvt_frame *frame, const char *text, double room, int tag, int y,
                     int step, const char *look, FILE *out)
{
    char line[NVT_FRAME_TEXT];
    for (; *text; y += step) {
        const char *end = line_end(text, room);
        snprintf(line, sizeof(line), "%.*s", (int)(end - text), text);
        fprintf(out, "set label %d ", ++tag);
        nvt_gnuplot_text(line, NVT_FRAME_TEXT, out);
        fprintf(out, " at screen %.4f,screen %.4f left noenhanced %s\n",
                (double)NVT_FRAME_MARGIN / frame->width, 1 - (double)y / frame->height, look);
        text = end + strspn(end, " ");
    }
    return tag;
}

/* --- the legend --- */

static double sample_width(const struct nvt_key *key)
{
    return key->kind == NVT_KEY_BOX || key->kind == NVT_KEY_POINT ? BOX : SAMPLE;
}

static double key_width(const struct nvt_key *key)
{
    return sample_width(key) + 22 + nvt_label_pixels(key->text) * 1.03;
}

/* How many keys from `first` on stand in one row. */
static size_t row_of_keys(const struct nvt_frame *frame, size_t first)
{
    size_t count = 0;
    double width = 0;
    while (first + count < frame->key_count) {
        width += key_width(&frame->keys[first + count]);
        if (count && width > frame->width - NVT_FRAME_MARGIN)
            break;
        count++;
    }
    return count;
}

static int key_rows(const struct nvt_frame *frame)
{
    int rows = 0;
    for (size_t first = 0; first < frame->key_count; rows++)
        first += row_of_keys(frame, first);
    return rows;
}

static void put_key(struct nvt_frame *frame, const struct nvt_key *key, double x, int y, FILE *out)
{
    const double sample = sample_width(key);
    double from = x / frame->width, to = (x + sample) / frame->width;
    double at = 1 - (double)y / frame->height, half = 5.5 / frame->height;
    if (key->kind == NVT_KEY_BOX)
        fprintf(out,
                "set object %d rectangle from screen %.4f,screen %.4f to screen %.4f,screen %.4f "
                "front fillcolor '%s' fillstyle solid 1 noborder\n",
                FIRST_TAG + ++frame->boxes, from, at - half, to, at + half, key->color);
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
    fprintf(out, " at screen %.4f,screen %.4f left noenhanced font ',12'\n",
            (x + sample + 6) / frame->width, at);
}

static void put_keys(struct nvt_frame *frame, int y, FILE *out)
{
    for (size_t first = 0; first < frame->key_count; y += KEY_LINE) {
        const size_t count = row_of_keys(frame, first);
        double x = NVT_FRAME_MARGIN;
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

/* Where the notes begin, and with the heights of all of it the frame's own. */
static int measure(struct nvt_frame *frame, int panel)
{
    int several = panels(frame) > 1, notes = 0;
    frame->panel = panel;
    frame->top = 14 + TITLE_LINE * line_count(frame->title, title_room(frame)) +
                 KEY_LINE * key_rows(frame) + (frame->key_count ? 6 : 0);
    int below =
        frame->top + frame->rows * (panel + x_axis(frame) + (several ? PANEL_TITLE : 8)) + 4;
    for (size_t i = 0; i < frame->note_count; i++)
        notes += line_count(frame->notes[i], note_room(frame));
    frame->height = below + NOTE_LINE * notes + 4;
    return below;
}

static void put_style(const struct nvt_frame *frame, FILE *out)
{
    fputs("set border 3 linecolor '" NVT_DIM "'\n"
          "set tics nomirror textcolor '" NVT_DIM "' font ',12' scale 0.6\n"
          "set grid xtics ytics linecolor '" NVT_GRID "' linetype 1 linewidth 0.5\nunset key\n"
          /* gnuplot's own format has ten characters at times */
          "set format x '%g'\nset format y '%g'\nset ytics offset 0.5,0\n"
          /* gnuplot 6 wipes away what lies around the points of lines with errors */
          "set pointintervalbox 0\nset errorbars 0\n",
          out);
    if (!strcmp(frame->format, "svg")) /* where gnuplot leaves more room above the label */
        fputs("set xlabel offset 0,0.5\n", out);
}

void nvt_frame_open(struct nvt_frame *frame, int panel, FILE *out)
{
    frame->columns = frame->columns ? frame->columns : 1;
    frame->rows = frame->rows ? frame->rows : 1;
    frame->left = frame->left ? frame->left : NVT_FRAME_LEFT;
    frame->right = frame->right ? frame->right : NVT_FRAME_MARGIN;
    int several = panels(frame) > 1, y = measure(frame, panel) + NOTE_LINE / 2;
    nvt_gnuplot_terminal(frame->format, frame->width, frame->height, frame->name, out);
    put_style(frame, out);
    int tag = put_lines(frame, frame->title, title_room(frame), FIRST_TAG, 19, TITLE_LINE,
                        "font 'DejaVu Sans:Bold,14'", out);
    frame->labels = tag - FIRST_TAG;
    put_keys(frame, 16 + TITLE_LINE * line_count(frame->title, title_room(frame)) + KEY_LINE / 2,
             out);
    for (size_t i = 0; i < frame->note_count; i++) {
        tag = put_lines(frame, frame->notes[i], note_room(frame), FIRST_TAG + frame->labels, y,
                        NOTE_LINE, "font ',12' textcolor '" NVT_DIM "'", out);
        frame->labels = tag - FIRST_TAG;
        y += NOTE_LINE * line_count(frame->notes[i], note_room(frame));
    }
    if (several)
        fputs("set multiplot\n", out);
    else
        nvt_frame_panel(frame, 0, NULL, out);
}

void nvt_frame_panel(const struct nvt_frame *frame, int index, const char *title, FILE *out)
{
    int several = panels(frame) > 1, column = index % frame->columns;
    double each = (double)frame->width / frame->columns;
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
            left / frame->width, right / frame->width, 1 - (double)top / frame->height,
            1 - (double)(top + frame->panel) / frame->height);
    if (title) {
        fprintf(out, "set label %d ", PANEL_TAG);
        nvt_gnuplot_text(title, 60, out);
        fprintf(out, " at screen %.4f,screen %.4f left noenhanced\n",
                (each * column + (column ? 24 : NVT_FRAME_MARGIN)) / frame->width,
                1 - (double)(top - 17) / frame->height);
    }
}

void nvt_frame_y_label(const struct nvt_frame *frame, int index, const char *text, FILE *out)
{
    double each = (double)frame->width / frame->columns;
    fprintf(out, "set label %d ", Y_LABEL_TAG);
    nvt_gnuplot_text(text, 60, out);
    fprintf(out, " at screen %.4f,graph 0.5 center rotate noenhanced\n",
            (each * (index % frame->columns) + 11) / frame->width);
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

void nvt_frame_series_spread(const char *name, const char *y, const struct nvt_series *series,
                             size_t count, FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        const char *block = series[i].block, *color = series[i].color;
        fprintf(out,
                "%s'%s.dat' index '%s' using 1:%s:2:3 with xerrorbars pointtype 0 linecolor '%s' "
                "linewidth 1.2, \\\n     '' index '%s' using 1:%s with points",
                i ? ", \\\n     " : "plot ", name, block, y, color, block, y);
        nvt_frame_style(NVT_KEY_POINT, color, 1, series[i].point, out);
    }
    putc('\n', out);
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
