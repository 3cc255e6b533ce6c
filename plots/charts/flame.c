/*
 * flame: where the time of a trace went, names within names: each range is as wide as its time, and
 * below it is what lies within it, the widest first; what is bare below one is its own time. One
 * picture of the host's time, and one of the devices', where kernels and copies stand below the
 * ranges that launched them. memory_at_peak: the same of memory, below the ranges that allocated it. cpu: of processor
 * time, of the functions that samples show below the ranges that their thread was in.
 */
#include <stdlib.h>
#include <string.h>

#include "../../analyze/device/kernel_class.h"
#include "../../lib/quantity_text.h"
#include "../chart.h"
#include "../flame.h"
#include "../flame_label.h"
#include "../frame.h"
#include "../gnuplot.h"
#include "../label.h"
#include "../looks.h"
#include "../svg.h"

enum {
    SIDE = 14,                                     /* pixels beside the boxes */
    WIDTH_MOST = NVT_FRAME_WIDE - 2 * SIDE,        /* of the boxes, all together */
    LEVEL = 22,                                    /* pixels: height of a level */
    DEPTH_MOST = 40,                               /* levels that are drawn */
    BOXES_MOST = DEPTH_MOST * (WIDTH_MOST / 2 + 1) /* a box is two pixels wide at least */
};

enum look {
    RANGE,
    FORWARD,
    BACKWARD,
    OPTIMIZER,
    KERNEL, /* and its classes */
    CALL = KERNEL + NVT_KERNEL_CLASSES,
    PYTHON,
    PROGRAM,
    LIBRARY,
    SYSTEM,
    OTHERS,
    LOOKS
};

/* Those of names and kernels are the colours that these have in all charts. */
static const struct {
    const char *color, *key;
} looks[LOOKS] = {
    [RANGE] = {"#D3DAE1", "ranges"},
    [FORWARD] = {NVT_SKY, "forward"},
    [BACKWARD] = {NVT_ORANGE, "backward"},
    [OPTIMIZER] = {NVT_GREEN, "optimizer"},
    [CALL] = {"#F2C1A0", "OS and MPI calls"},
    [PYTHON] = {"#F4EE9A", "Python"},
    [PROGRAM] = {"#C5E2A3", "the program"},
    [LIBRARY] = {"#F2C1A0", "libraries"},
    [SYSTEM] = {"#D6C6EA", "OS kernel"},
    [OTHERS] = {NVT_OTHERS_COLOR, "too narrow to draw, together"},
};

static const char *color_of(int look)
{
    return look >= KERNEL && look < CALL ? nvt_class_color((enum nvt_kernel_class)(look - KERNEL))
                                         : looks[look].color;
}

static const char *key_of(int look)
{
    return look >= KERNEL && look < CALL
               ? nvt_kernel_class_name((enum nvt_kernel_class)(look - KERNEL))
               : looks[look].key;
}

/* `row` of the stacks, NVT_NONE: several of them. */
struct box {
    uint32_t row, depth;
    double from, to; /* shares of all */
    int look;        /* enum look */
};

/* Of the axis; in it, `one` is 1. */
struct unit {
    const char *name;
    double one; /* ns or bytes */
};

struct sheet {
    const struct nvt_trace *trace;
    struct nvt_stacks stacks;
    enum nvt_stacks_of what;
    struct box *boxes;
    size_t count;
    int width; /* pixels of the boxes, all together */
    uint32_t levels;
    int is_cut; /* there are deeper ones */
    struct unit unit;
};

/* What differs between the pictures. */
static const struct {
    const char *file, *title, *axis, *note; /* note: NULL of memory, see put_notes */
    uint32_t depth;                         /* levels that are drawn */
} pictures[] = {
    [NVT_STACKS_HOST] = {"flame-host", "Host time by range", "time",
                         "Threads added up. A range's own time is bare below it.", 20},
    [NVT_STACKS_DEVICE] = {"flame-device", "Device time by range and kernel", "time",
                           "Kernels and copies below the ranges that launched them, added up.", 20},
    [NVT_STACKS_MEMORY] = {"memory-at-peak", "Memory at its peak", "memory", NULL, 20},
    [NVT_STACKS_CPU] =
        {"cpu", "CPU time by function", "CPU time",
         "Functions in samples, below their callers and the ranges of their thread. Left out: what "
         "starts programs and threads, and calls between functions of libraries that spend no time "
         "of their own.",
         DEPTH_MOST},
};

/* --- boxes --- */

/* Where the next one within a row begins; for those drawn, else negative. */
struct place {
    double next;
    int look;
    size_t others; /* the box of what is too narrow within it, 0: none */
};

static int look_of(const struct nvt_trace *trace, const struct nvt_stacks *stacks, uint32_t row,
                   int around)
{
    static const int kinds[] = {[NVT_STACK_CALL] = CALL,
                                [NVT_STACK_PYTHON] = PYTHON,
                                [NVT_STACK_PROGRAM] = PROGRAM,
                                [NVT_STACK_LIBRARY] = LIBRARY,
                                [NVT_STACK_SYSTEM] = SYSTEM};
    const struct nvt_stack *stack = &stacks->items[row];
    if (stack->op != NVT_NONE)
        return KERNEL + (int)nvt_kernel_class_of(trace, stack->op);
    if (stack->kind != NVT_STACK_RANGE)
        return kinds[stack->kind];
    const char *color = nvt_known_color(nvt_stacks_name(stacks, row));
    for (int look = FORWARD; color && look <= OPTIMIZER; look++)
        if (!strcmp(looks[look].color, color))
            return look;
    return around;
}

const char *nvt_flame_color(const struct nvt_trace *trace, const struct nvt_stacks *stacks,
                            uint32_t row, int *look)
{
    *look = look_of(trace, stacks, row, *look);
    return color_of(*look);
}

/* A row into its place within the one around it: a box, or a part of the one for narrow ones. */
static void place_row(struct sheet *sheet, uint32_t row, struct place *around, struct place *own)
{
    const struct nvt_stack *stack = &sheet->stacks.items[row];
    double share = (double)stack->total / (double)sheet->stacks.total;
    struct box box = {row, stack->depth, around->next, around->next + share, RANGE};
    own->next = -1;
    if (around->next < 0 || stack->total <= 0)
        return;
    if (stack->depth >= pictures[sheet->what].depth) {
        sheet->is_cut = 1;
        return;
    }
    around->next = box.to;
    if (around->others) {
        sheet->boxes[around->others].to = box.to;
        return;
    }
    if (sheet->count == BOXES_MOST)
        return;
    box.look = look_of(sheet->trace, &sheet->stacks, row, around->look);
    if (share * sheet->width < 2) {
        around->others = sheet->count;
        box.row = NVT_NONE;
        box.look = OTHERS;
    } else {
        *own = (struct place){box.from, box.look, 0};
        sheet->levels = box.depth + 1 > sheet->levels ? box.depth + 1 : sheet->levels;
    }
    sheet->boxes[sheet->count++] = box;
}

/* Brothers come by their time, so that those too narrow are the last ones, side by side. The first
 * box is that of all. */
static int place_all(struct sheet *sheet)
{
    const struct nvt_stacks *stacks = &sheet->stacks;
    struct place *places = calloc((size_t)stacks->count + 1, sizeof(*places));
    struct place top = {0, RANGE, 0};
    sheet->boxes = calloc(BOXES_MOST, sizeof(*sheet->boxes));
    int status = places && sheet->boxes ? 0 : -1;
    sheet->count = 1; /* 0 stands for none */
    for (uint32_t i = 0; i < stacks->count && !status; i++) {
        uint32_t row = stacks->order[i], parent = stacks->items[row].parent;
        place_row(sheet, row, parent == NVT_NONE ? &top : &places[parent], &places[row]);
    }
    free(places);
    return status;
}

/* --- files --- */

/* In a picture of memory shares are of all, with what is not drawn. */
static double share_of(const struct sheet *sheet, const struct box *box)
{
    double drawn = (double)sheet->stacks.total;
    return (box->to - box->from) * drawn / (drawn + (double)sheet->stacks.unseen);
}

/* The names of the other boxes within the same one that are of the same kind. Returns how many. */
static size_t find_brothers(const struct sheet *sheet, const struct box *box,
                            const char *names[NVT_FLAME_BROTHERS])
{
    const struct nvt_stack *items = sheet->stacks.items, *stack = &items[box->row];
    size_t count = 0;
    for (size_t i = 1; i < sheet->count && count < NVT_FLAME_BROTHERS; i++) {
        const uint32_t row = sheet->boxes[i].row;
        if (row != NVT_NONE && row != box->row && items[row].parent == stack->parent &&
            items[row].kind == stack->kind)
            names[count++] = nvt_stacks_name(&sheet->stacks, row);
    }
    return count;
}

static void write_flame_label(const struct sheet *sheet, const struct box *box, char *out,
                              size_t size)
{
    const struct nvt_stack *stack = &sheet->stacks.items[box->row];
    const char *brothers[NVT_FLAME_BROTHERS];
    char share[16];
    const struct nvt_flame_label label = {
        .name = nvt_stacks_name(&sheet->stacks, box->row),
        .around = stack->parent == NVT_NONE ? NULL : nvt_stacks_name(&sheet->stacks, stack->parent),
        .kind = stack->kind,
        .brothers = brothers,
        .brother_count = find_brothers(sheet, box, brothers),
        .after = share,
        .after_room = 6};
    snprintf(share, sizeof(share), " %.3g %%", 100 * share_of(sheet, box));
    nvt_flame_label_write(&label, (box->to - box->from) * sheet->width, out, size);
}

static void put_flame_data(const struct nvt_chart_request *request, const void *what,
                           const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    double all = (double)sheet->stacks.total / sheet->unit.one;
    char label[512];
    (void)request;
    (void)name;
    fprintf(out, "# from_%s\tto_%s\tlevel\tlabel; a block a colour\n", sheet->unit.name,
            sheet->unit.name);
    for (int look = 0; look < LOOKS; look++) {
        fprintf(out, "%s# c%d\n-1\t-1\t-9\t\n", look ? "\n\n" : "", look);
        for (size_t i = 1; i < sheet->count; i++) {
            const struct box *box = &sheet->boxes[i];
            if (box->look != look)
                continue;
            *label = 0;
            if (box->row != NVT_NONE)
                write_flame_label(sheet, box, label, sizeof(label));
            fprintf(out, "%.9g\t%.9g\t%u\t", box->from * all, box->to * all, box->depth);
            nvt_label_text(label, out);
            putc('\n', out);
        }
    }
}

/* The whole name of a box, and how much it is. */
static void put_flame_tips(const struct nvt_chart_request *request, const void *what,
                           const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    (void)request;
    (void)name;
    for (int look = 0; look < LOOKS; look++)
        for (size_t i = 1; i < sheet->count; i++) {
            const struct box *box = &sheet->boxes[i];
            char *tip;
            if (box->look != look)
                continue;
            const double amount =
                (box->to - box->from) * (double)sheet->stacks.total / sheet->unit.one;
            const uint32_t op = box->row == NVT_NONE ? NVT_NONE : sheet->stacks.items[box->row].op;
            const char *whole = box->row == NVT_NONE ? "too narrow to draw, together"
                                : op != NVT_NONE
                                    ? nvt_name(sheet->trace, sheet->trace->ops.name[op])
                                    : nvt_stacks_name(&sheet->stacks, box->row);
            if (asprintf(&tip, "%s · %.3g %s · %.3g %%", whole, amount, sheet->unit.name,
                         100 * share_of(sheet, box)) < 0)
                continue;
            nvt_svg_put_tip(2 * look + 1, tip, out);
            free(tip);
        }
}

/* What the boxes are of that are no operations: of memory it may be the program's stack that is known. */
static const char *callers(const struct sheet *sheet)
{
    if (sheet->what != NVT_STACKS_MEMORY || !nvt_stacks_has_callers(sheet->trace))
        return looks[RANGE].key;
    return sheet->trace->ranges.count ? "functions and ranges" : "functions";
}

static void put_flame_keys(const struct sheet *sheet, struct nvt_frame *frame)
{
    for (int look = 0; look < LOOKS; look++) {
        size_t i = 1;
        while (i < sheet->count && sheet->boxes[i].look != look)
            i++;
        if (i < sheet->count)
            nvt_frame_key(frame, NVT_KEY_BOX, color_of(look), 1, 0,
                          look == RANGE ? callers(sheet) : key_of(look));
    }
}

static void put_unseen(const struct sheet *sheet, struct nvt_frame *frame)
{
    char text[NVT_FRAME_TEXT];
    double unseen = (double)sheet->stacks.unseen, drawn = (double)sheet->stacks.total;
    if (sheet->what == NVT_STACKS_CPU)
        snprintf(text, sizeof(text),
                 "Not drawn: %.3g %% of all, in samples without callers. Shares are "
                 "of all.",
                 100 * unseen / (unseen + drawn));
    else
        snprintf(text, sizeof(text),
                 "Not drawn: %.4g %s more, %s. Shares are of all that was in use.",
                 unseen / sheet->unit.one, sheet->unit.name,
                 sheet->stacks.has_nameless
                     ? "of allocations without addresses"
                     : "allocated before the recording, or what is shown of it, began");
    nvt_frame_note(frame, text);
}

/* Of a hang what is on record is where it began. */
static void put_unclosed(const struct sheet *sheet, struct nvt_frame *frame)
{
    char text[NVT_FRAME_TEXT];
    const size_t unclosed =
        sheet->what == NVT_STACKS_HOST ? nvt_chart_unclosed(sheet->trace, 1) : 0;
    snprintf(text, sizeof(text),
             "With %zu range%s that never ended, each up to its thread's last event: a hang after "
             "it is in the timeline alone.",
             unclosed, unclosed == 1 ? "" : "s");
    nvt_frame_note(frame, unclosed ? text : "");
}

static void put_flame_notes(const struct nvt_chart_request *request, const struct sheet *sheet,
                            struct nvt_frame *frame)
{
    char note[NVT_FRAME_TEXT];
    if (sheet->what == NVT_STACKS_CPU) {
        snprintf(note, sizeof(note), "%s of what threads run.",
                 NVT_COUNTED(sheet->trace->cpu_samples.count, "sample", "samples"));
        nvt_frame_note(frame, note);
    }
    if (sheet->what == NVT_STACKS_MEMORY)
        snprintf(note, sizeof(note),
                 "What was allocated and not yet freed when most was allocated, below the %s that "
                 "allocated it.",
                 callers(sheet));
    else
        snprintf(note, sizeof(note), "%s", pictures[sheet->what].note);
    nvt_frame_note(frame, note);
    put_unclosed(sheet, frame);
    if (sheet->stacks.unseen)
        put_unseen(sheet, frame);
    if (sheet->stacks.has_alike)
        nvt_frame_note(
            frame, "* stands for any number: ranges whose names differ in nothing else are one.");
    if (sheet->is_cut)
        nvt_frame_note(frame, "What lies deeper is not drawn.");
    nvt_chart_provenance(request->input, frame);
}

static void put_flame_script(const struct nvt_chart_request *request, const void *what,
                             const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    char title[NVT_FRAME_TEXT];
    double all = (double)sheet->stacks.total / sheet->unit.one, pixel = all / sheet->width;
    snprintf(title, sizeof(title), "%s: %s", pictures[sheet->what].title,
             nvt_label_file(sheet->trace->path, (char[NVT_LABEL_FILE]){0}));
    struct nvt_frame frame = nvt_frame_new(request, name, title);
    nvt_frame_widen(&frame);
    frame.left = frame.right = SIDE;
    put_flame_keys(sheet, &frame);
    put_flame_notes(request, sheet, &frame);
    nvt_frame_open(&frame, (int)sheet->levels * LEVEL + 4, out);
    fprintf(out,
            "set datafile separator '\\t'\nset border 1\nunset ytics\nset grid noytics\n"
            "set style fill solid 1 noborder\nset xrange [0:%.9g]\nset yrange [%.1f:-0.5]\n"
            "set xlabel '%s (%s)'\nuntil(from, to) = to - from > %.9g ? to - %.9g : to\n",
            all, (double)sheet->levels - 0.4, pictures[sheet->what].axis, sheet->unit.name,
            3 * pixel, 0.9 * pixel);
    for (int look = 0; look < LOOKS; look++)
        fprintf(
            out,
            "%s'%s.dat' index 'c%d' using 1:3:1:(until($1,$2)):($3-0.47):($3+0.47) with "
            "boxxyerror fillcolor '%s', \\\n     '' index 'c%d' using ($1+%.9g):3:4 with labels "
            "left font ',12' textcolor '%s'",
            look ? ", \\\n     " : "plot ", name, look, color_of(look), look, 3 * pixel,
            nvt_ink_on(color_of(look)));
    putc('\n', out);
    nvt_frame_close(&frame, out);
}

static struct unit unit_for(enum nvt_stacks_of part, const struct nvt_stacks *stacks)
{
    const double total = (double)stacks->total;
    static const struct unit bytes[] = {{"GiB", 1073741824}, {"MiB", 1048576}, {"KiB", 1024}};
    const struct nvt_time_unit time = nvt_time_unit_for(total);
    size_t i = 0;
    while (i < 2 && total < 2 * bytes[i].one)
        i++;
    if (stacks->counts_samples)
        return (struct unit){"samples", 1};
    return part == NVT_STACKS_MEMORY ? bytes[i] : (struct unit){time.name, time.ns};
}

/* Names that lie in no other are what the chart `ranges` shows better. */
static int draw_part(const struct nvt_chart_request *request, const char *base,
                     enum nvt_stacks_of part, struct nvt_error *err)
{
    static const struct nvt_chart_parts parts = {put_flame_data, put_flame_script, put_flame_tips};
    struct nvt_frame frame = nvt_frame_new(request, base, "");
    struct sheet sheet = {.trace = request->input->traces[0].trace, .what = part};
    char name[160];
    nvt_frame_widen(&frame);
    sheet.width = frame.width - 2 * SIDE;
    int status = nvt_stacks_make(&sheet.stacks, sheet.trace, part, NVT_FLAME_STACKS, err);
    snprintf(name, sizeof(name), "%s-%s", base, pictures[part].file);
    if (!status && sheet.stacks.total > 0) {
        sheet.unit = unit_for(part, &sheet.stacks);
        status = place_all(&sheet) ? nvt_fail(err, "out of memory") : 0;
    }
    if (!status && (sheet.levels > 1 || (part == NVT_STACKS_CPU && sheet.levels)))
        status = nvt_chart_draw_tipped(request, name, &parts, &sheet, err);
    nvt_stacks_free(&sheet.stacks);
    free(sheet.boxes);
    return status;
}

static int draw_flame_trace(const struct nvt_chart_request *request, const char *base,
                            struct nvt_error *err)
{
    int status = draw_part(request, base, NVT_STACKS_DEVICE, err);
    return status ? status : draw_part(request, base, NVT_STACKS_HOST, err);
}

const struct nvt_chart nvt_chart_flame = {
    .name = "flame",
    .about = "where host and device time of a trace went, ranges within ranges",
    .part = NVT_CHART_TIME,
    .has = nvt_chart_has_time,
    .draw_trace = draw_flame_trace,
};

/* --- memory_at_peak --- */

static int draw_memory_of(const struct nvt_chart_request *request, const char *base,
                          struct nvt_error *err)
{
    return draw_part(request, base, NVT_STACKS_MEMORY, err);
}

static int has_memory(const struct nvt_trace *trace)
{
    return trace->memory.count > 0 && (trace->ranges.count > 0 || nvt_stacks_has_callers(trace));
}

const struct nvt_chart nvt_chart_memory_at_peak = {
    .name = "memory_at_peak",
    .about = "what memory was in use for at its peak, by the ranges that allocated it",
    .part = NVT_CHART_MEMORY,
    .has = has_memory,
    .draw_trace = draw_memory_of,
};

/* --- cpu --- */

static int draw_cpu_of(const struct nvt_chart_request *request, const char *base,
                       struct nvt_error *err)
{
    return draw_part(request, base, NVT_STACKS_CPU, err);
}

const struct nvt_chart nvt_chart_cpu = {
    .name = "cpu",
    .about = "CPU time by function, from samples, below the ranges they ran in",
    .part = NVT_CHART_CPU,
    .fits = nvt_input_has_cpu_samples,
    .draw_trace = draw_cpu_of,
};
