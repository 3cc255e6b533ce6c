/*
 * flame_change: what became of the time of a program from side A to another one: a flame graph of each of them, A's above, on one
 * scale, so that what is gone is seen in the first and what is new in the second. Colours tell the change of each box, its label how
 * much that is. One picture of host time, one of device time, and one of processor time, where samples have functions below the
 * ranges. What a box is: the chart flame.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/student.h"
#include "../../lib/text.h"
#include "../changes.h"
#include "../chart.h"
#include "../flame_label.h"
#include "../frame.h"
#include "../gnuplot.h"
#include "../label.h"
#include "../svg.h"
#include "../verdicts.h"

enum {
    SIDE = 14,                              /* pixels beside the boxes */
    WIDTH_MOST = NVT_FRAME_WIDE - 2 * SIDE, /* of the longer side */
    LEVEL = 22,                             /* pixels: height of a level */
    DEPTH_MOST = 30,                        /* levels of a side that are drawn */
    /* of a side: a box is two pixels wide at least */
    BOXES_MOST = DEPTH_MOST * (WIDTH_MOST / 2 + 1),
};

#define SAME 0.05 /* of the time, within which a box has not changed */
#define MUCH 2.0  /* times, from which it has changed much */

enum look { MUCH_LESS, LESS, UNCHANGED, MORE, MUCH_MORE, OTHERS, LOOKS };

/* From blue to red, pale enough to be written on. Without colours less is the darker one, and more has a line around it. */
static const struct {
    const char *color, *line, *key;
} looks[LOOKS] = {
    [MUCH_LESS] = {"#6FAEDB", NULL, "half or less"},
    [LESS] = {"#BFDCF0", NULL, "less"},
    [UNCHANGED] = {"#ECECE6", NULL, NULL},
    [MORE] = {"#FBDCC8", "#B04A1A", "more (outlined)"},
    [MUCH_MORE] = {"#F4A67C", "#8A2D00", "twice or more (outlined)"},
    [OTHERS] = {"#C8C8C8", NULL, "too narrow to draw, together"},
};

struct box {
    uint32_t row, depth; /* row: NVT_NONE: several */
    double from, to;     /* ns or samples, an iteration or a trace */
    enum look look;
};

/* A side's boxes. */
struct half {
    size_t side;
    struct box *boxes;
    size_t count;
    uint32_t levels;
    double total;
};

struct sheet {
    const struct nvt_changes *changes;
    const struct nvt_stack_changes *stacks;
    const struct nvt_verdicts *verdicts; /* of the second half's side */
    struct half halves[2];
    double most;
    int width;     /* pixels of the longer side */
    double surely; /* standard errors, from which samples tell of a change */
    int is_cut;
    const char *unit;
    double one; /* of the unit */
};

static const struct {
    const char *file, *title, *axis, *what;
} pictures[] = {
    [NVT_STACKS_HOST] = {"flame-change-host", "Changes of host time", "time", "ranges"},
    [NVT_STACKS_DEVICE] = {"flame-change-device", "Changes of device time", "time",
                           "kernels and copies, below the ranges that launched them"},
    [NVT_STACKS_CPU] = {"flame-change-cpu", "Changes of CPU time", "CPU time",
                        "functions in samples, below their callers and the ranges of their "
                        "thread"},
};

/* --- boxes --- */

static double value_of(const struct sheet *sheet, uint32_t row, int half)
{
    return nvt_stack_change_value(sheet->stacks, row, sheet->halves[half].side);
}

/* Whether numbers of samples tell of a change (function_value.h has the formula). */
static int is_told(const struct sheet *sheet, uint32_t row)
{
    const size_t sides[2] = {sheet->halves[0].side, sheet->halves[1].side};
    double values[2], error = 0;
    for (int i = 0; i < 2; i++) {
        const double count = (double)nvt_stack_change_count(sheet->stacks, row, sides[i]) + 0.5;
        values[i] = log(count / nvt_stack_changes_units(sheet->stacks, sides[i]));
        error += 1 / count;
    }
    return fabs(values[1] - values[0]) > sheet->surely * sqrt(error);
}

static enum look look_of(const struct sheet *sheet, uint32_t row)
{
    const double a = value_of(sheet, row, 0), b = value_of(sheet, row, 1);
    const struct nvt_stack_change *stack = &sheet->stacks->items[row];
    const int is_only_one = !(a > 0) || !(b > 0);
    if (fabs(b - a) <= SAME * a)
        return UNCHANGED;
    if (sheet->stacks->what == NVT_STACKS_CPU
            ? !is_told(sheet, row)
            : !is_only_one &&
                  !nvt_verdicts_tell(sheet->verdicts,
                                     nvt_strings_get(sheet->stacks->names, stack->name, NULL),
                                     stack->kind, b > a))
        return UNCHANGED;
    if (b < a)
        return b * MUCH <= a ? MUCH_LESS : LESS;
    return b >= a * MUCH ? MUCH_MORE : MORE;
}

/* How many standard errors are a change of samples at 95 % over all boxes that are wide enough to be drawn (Bonferroni): of fifty
 * boxes some would differ by chance. */
static double surely_of(const struct sheet *sheet)
{
    double boxes = 0;
    for (uint32_t row = 0; row < sheet->stacks->count; row++)
        boxes +=
            fmax(value_of(sheet, row, 0), value_of(sheet, row, 1)) / sheet->most * sheet->width >=
            2;
    return nvt_student_at(0.05 / fmax(boxes, 1), 1e6);
}

/* Where the next one within a row begins; for those drawn, else negative. */
struct place {
    double next;
    size_t others; /* the box of narrow ones that ends there, 0: there is none */
};

/* A row into its place within the one around it. Narrow ones side by side are one box. */
static void place_row(struct sheet *sheet, struct half *half, uint32_t row, double value,
                      struct place *around, struct place *own)
{
    const uint32_t depth = sheet->stacks->items[row].depth;
    own->next = -1;
    own->others = 0;
    if (around->next < 0 || value <= 0)
        return;
    const double from = around->next, to = from + value;
    around->next = to;
    if (depth >= DEPTH_MOST) {
        sheet->is_cut = 1;
        return;
    }
    const int is_narrow = value / sheet->most * sheet->width < 2;
    if (is_narrow && around->others) {
        half->boxes[around->others].to = to;
        return;
    }
    around->others = 0;
    if (half->count == BOXES_MOST)
        return;
    if (is_narrow)
        around->others = half->count;
    else
        own->next = from;
    half->levels = depth + 1 > half->levels && !is_narrow ? depth + 1 : half->levels;
    half->boxes[half->count++] = (struct box){is_narrow ? NVT_NONE : row, depth, from, to,
                                              is_narrow ? OTHERS : look_of(sheet, row)};
}

/* 0, or -1 when out of memory. */
static int place_half(struct sheet *sheet, int which, const uint32_t *order)
{
    struct half *half = &sheet->halves[which];
    struct place *places = calloc((size_t)sheet->stacks->count + 1, sizeof(*places));
    struct place top = {0, 0};
    half->boxes = calloc(BOXES_MOST, sizeof(*half->boxes));
    half->count = 1; /* 0 stands for none */
    for (uint32_t i = 0; places && half->boxes && i < sheet->stacks->count; i++) {
        const uint32_t row = order[i], parent = sheet->stacks->items[row].parent;
        place_row(sheet, half, row, value_of(sheet, row, which),
                  parent == NVT_NONE ? &top : &places[parent], &places[row]);
    }
    free(places);
    return places && half->boxes ? 0 : -1;
}

/* --- data --- */

/* " −57 %", " gone", " new"; nothing where nothing has changed. */
static void write_change(const struct sheet *sheet, const struct box *box, char *out, size_t size)
{
    const double a = value_of(sheet, box->row, 0), b = value_of(sheet, box->row, 1);
    if (box->look == UNCHANGED)
        *out = 0;
    else if (!(b > 0))
        snprintf(out, size, " gone");
    else if (!(a > 0))
        snprintf(out, size, " new");
    else if (b >= 10 * a)
        snprintf(out, size, " %.3g×", b / a);
    else
        snprintf(out, size, " %s%.0f %%", b < a ? "−" : "+", 100 * fabs(b / a - 1));
}

static void write_flame_change_label(const struct sheet *sheet, const struct box *box, char *out,
                                     size_t size)
{
    const struct nvt_stack_change *stack = &sheet->stacks->items[box->row];
    const struct nvt_strings *names = sheet->stacks->names;
    char change[24];
    write_change(sheet, box, change, sizeof(change));
    const struct nvt_flame_label label = {
        .name = nvt_strings_get(names, stack->name, NULL),
        .around = stack->parent == NVT_NONE
                      ? NULL
                      : nvt_strings_get(names, sheet->stacks->items[stack->parent].name, NULL),
        .kind = stack->kind,
        .after = change,
        .after_room = nvt_text_width(change)};
    nvt_flame_label_write(&label, (box->to - box->from) / sheet->most * sheet->width, out, size);
}

/* Levels above those of a half: its heading, and the first half with room behind it. */
static uint32_t levels_above(const struct sheet *sheet, int half)
{
    return half ? sheet->halves[0].levels + 2 : 1;
}

static void put_flame_change_data(const struct nvt_chart_request *request, const void *what,
                                  const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    char label[512];
    (void)request;
    (void)name;
    fprintf(out, "# from_%s\tto_%s\tlevel\tlabel; a block a colour, first A's levels\n",
            sheet->unit, sheet->unit);
    for (int look = 0; look < LOOKS; look++) {
        fprintf(out, "%s# c%d\n-1\t-1\t-9\t\n", look ? "\n\n" : "", look);
        for (int half = 0; half < 2; half++)
            for (size_t i = 1; i < sheet->halves[half].count; i++) {
                const struct box *box = &sheet->halves[half].boxes[i];
                if ((int)box->look != look)
                    continue;
                *label = 0;
                if (box->row != NVT_NONE)
                    write_flame_change_label(sheet, box, label, sizeof(label));
                fprintf(out, "%.9g\t%.9g\t%u\t", box->from / sheet->one, box->to / sheet->one,
                        box->depth + levels_above(sheet, half));
                nvt_label_text(label, out);
                putc('\n', out);
            }
    }
}

/* "matmul · 4.00 → 1.50 ms −62 %" of each box; of several their time. */
static void put_flame_change_tips(const struct nvt_chart_request *request, const void *what,
                                  const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    char tip[1024], change[24];
    (void)request;
    (void)name;
    for (int look = 0; look < LOOKS; look++)
        for (int half = 0; half < 2; half++)
            for (size_t i = 1; i < sheet->halves[half].count; i++) {
                const struct box *box = &sheet->halves[half].boxes[i];
                if ((int)box->look != look)
                    continue;
                if (box->row == NVT_NONE) {
                    snprintf(tip, sizeof(tip), "too narrow to draw, together · %.3g %s",
                             (box->to - box->from) / sheet->one, sheet->unit);
                } else {
                    write_change(sheet, box, change, sizeof(change));
                    snprintf(tip, sizeof(tip), "%.800s · %.3g → %.3g %s%s",
                             nvt_strings_get(sheet->stacks->names,
                                             sheet->stacks->items[box->row].name, NULL),
                             value_of(sheet, box->row, 0) / sheet->one,
                             value_of(sheet, box->row, 1) / sheet->one, sheet->unit, change);
                }
                nvt_svg_put_tip(2 * look + 1, tip, out);
            }
}

/* --- the picture --- */

static void put_flame_change_keys(const struct sheet *sheet, struct nvt_frame *frame)
{
    static const enum look order[] = {MUCH_LESS, LESS, UNCHANGED, MORE, MUCH_MORE, OTHERS};
    for (size_t k = 0; k < LOOKS; k++) {
        const enum look look = order[k];
        int is_there = 0;
        for (int half = 0; half < 2; half++)
            for (size_t i = 1; i < sheet->halves[half].count; i++)
                is_there |= sheet->halves[half].boxes[i].look == look;
        if (is_there)
            nvt_frame_key(frame, NVT_KEY_BOX, looks[look].color, 1, 0,
                          look != UNCHANGED ? looks[look].key : "within 5 %, or cannot tell");
    }
}

static void put_flame_change_notes(const struct sheet *sheet, struct nvt_frame *frame)
{
    const struct nvt_stack_changes *stacks = sheet->stacks;
    const char *per = nvt_stack_changes_are_inside(stacks)
                          ? "Mean of the typical iterations, as nvtally compare has it"
                          : "All time over the traces";
    char text[NVT_FRAME_TEXT];
    snprintf(text, sizeof(text),
             "%s: %s. Both on one scale, in one order; coloured by the change from A to %c.", per,
             pictures[stacks->what].what, (char)('A' + sheet->halves[1].side));
    nvt_frame_note(frame, text);
    if (stacks->unseen[sheet->halves[0].side] > 0 || stacks->unseen[sheet->halves[1].side] > 0)
        nvt_frame_note(frame, "Samples without callers are not drawn.");
    nvt_frame_note(
        frame, stacks->has_alike
                   ? "* stands for any number: ranges whose names differ in nothing else are one."
                   : "");
    nvt_frame_note(frame, sheet->is_cut ? "What lies deeper is not drawn." : "");
    struct nvt_table *origin = nvt_changes_origin(sheet->changes, "");
    if (origin)
        nvt_frame_provenance(frame, "", nvt_table_provenance(origin));
    nvt_table_free(origin);
}

/* What stands above a half: "A: before.nvt · 114 ms per iteration". */
static void put_heading(const struct sheet *sheet, int half, FILE *out)
{
    char text[200];
    nvt_changes_side(sheet->changes, sheet->halves[half].side, text, 120);
    char cut[NVT_LABEL_SIZE(36)];
    nvt_label_cut(text, 36, cut, sizeof(cut));
    snprintf(text, sizeof(text), "%s · %.3g %s %s", cut, sheet->halves[half].total / sheet->one,
             sheet->unit,
             nvt_stack_changes_are_inside(sheet->stacks) ? "per iteration" : "per trace");
    fprintf(out, "set label %d ", half + 1);
    nvt_gnuplot_text(text, 60, out);
    fprintf(out, " at graph 0,first %u left noenhanced font ',12'\n",
            levels_above(sheet, half) - 1);
}

static void put_boxes(const char *name, double pixel, FILE *out)
{
    for (int look = 0; look < LOOKS; look++) {
        fprintf(out,
                "%s'%s.dat' index 'c%d' using 1:3:1:(until($1,$2)):($3-0.47):($3+0.47) with "
                "boxxyerror fillcolor '%s' fillstyle solid 1 ",
                look ? ", \\\n     " : "plot ", name, look, looks[look].color);
        if (looks[look].line)
            fprintf(out, "border rgb '%s' linewidth 0.7", looks[look].line);
        else
            fputs("noborder", out);
        fprintf(out,
                ", \\\n     '' index 'c%d' using ($1+%.9g):3:4 with labels left font ',12' "
                "textcolor '#101010'", /* on boxes, also in the dark */
                look, 3 * pixel);
    }
    putc('\n', out);
}

static void put_flame_change_script(const struct nvt_chart_request *request, const void *what,
                                    const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    const uint32_t levels = levels_above(sheet, 1) + sheet->halves[1].levels;
    const double most = sheet->most / sheet->one, pixel = most / sheet->width;
    struct nvt_frame frame = nvt_frame_new(request, name, pictures[sheet->stacks->what].title);
    nvt_frame_widen(&frame);
    frame.left = frame.right = SIDE;
    put_flame_change_keys(sheet, &frame);
    put_flame_change_notes(sheet, &frame);
    nvt_frame_open(&frame, (int)levels * LEVEL + 4, out);
    fprintf(out,
            "set datafile separator '\\t'\nset border 1\nunset ytics\nset grid noytics\n"
            "set xrange [0:%.9g]\nset yrange [%.1f:-0.5]\n"
            "set xlabel '%s (%s)'\nuntil(from, to) = to - from > %.9g ? to - %.9g : to\n",
            most, (double)levels - 0.4, pictures[sheet->stacks->what].axis, sheet->unit, 3 * pixel,
            0.9 * pixel);
    put_heading(sheet, 0, out);
    put_heading(sheet, 1, out);
    put_boxes(name, pixel, out);
    nvt_frame_close(&frame, out);
}

static int draw_flame_change_sheet(const struct nvt_chart_request *request,
                                   const struct nvt_changes *changes,
                                   const struct nvt_stack_changes *stacks, size_t side,
                                   struct nvt_error *err)
{
    struct sheet sheet = {.changes = changes, .stacks = stacks, .unit = "samples", .one = 1};
    static const struct nvt_chart_parts parts = {put_flame_change_data, put_flame_change_script,
                                                 put_flame_change_tips};
    uint32_t *order = nvt_stack_changes_order(stacks, 0, side);
    struct nvt_verdicts verdicts = {0};
    struct nvt_frame frame = nvt_frame_new(request, "", "");
    char name[64];
    nvt_frame_widen(&frame);
    sheet.width = frame.width - 2 * SIDE;
    sheet.verdicts = &verdicts;
    int status = order ? nvt_verdicts_make(&verdicts, &changes->comparison, side) : -1;
    sheet.halves[1].side = side;
    for (int half = 0; half < 2; half++) {
        struct half *of = &sheet.halves[half];
        of->total = nvt_stack_changes_value(stacks, of->side);
        sheet.most = fmax(sheet.most, of->total);
    }
    sheet.surely = surely_of(&sheet);
    for (int half = 0; half < 2 && !status; half++)
        status = place_half(&sheet, half, order);
    if (!stacks->counts_samples) {
        const struct nvt_time_unit unit = nvt_time_unit_for(sheet.most);
        sheet.unit = unit.name;
        sheet.one = unit.ns;
    }
    snprintf(name, sizeof(name), "%s", pictures[stacks->what].file);
    if (side > 1)
        snprintf(name, sizeof(name), "%s-%c", pictures[stacks->what].file, (char)('a' + side));
    status = status ? nvt_fail(err, "out of memory")
                    : nvt_chart_draw_tipped(request, name, &parts, &sheet, err);
    nvt_verdicts_free(&verdicts);
    free(order);
    free(sheet.halves[0].boxes);
    free(sheet.halves[1].boxes);
    return status;
}

static int draw_flame_change(const struct nvt_chart_request *request,
                             const struct nvt_changes *changes, struct nvt_error *err)
{
    for (size_t side = 1; side < changes->comparison.sides; side++)
        for (size_t k = 0; k < NVT_CHANGES_STACKS; k++)
            if (nvt_stack_changes_has(&changes->stacks[k], 0, side) &&
                draw_flame_change_sheet(request, changes, &changes->stacks[k], side, err))
                return -1;
    return 0;
}

const struct nvt_change_chart nvt_change_chart_flame_change = {
    .name = "flame_change",
    .about = "flame graphs of both sides, coloured by what has changed",
    .draw = draw_flame_change,
};
