/*
 * growth: what the ranges and the device operations of a recorded program cost an iteration over the number that it was
 * run with, on logarithmic axes, where a power is a straight line: a point a run, and the law that describes them
 * (analyze/sweeps/sweeps.h, analyze/sweeps/growth.h), which the legend tells. A sheet for each combination of the other numbers.
 * Workloads of `nvtally run` have charts of their own.
 */
#include "../chart.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../analyze/sweeps/sweeps.h"
#include "../../lib/text.h"
#include "../frame.h"
#include "../gnuplot.h"
#include "../label.h"
#include "../looks.h"

#define LEAST_SHARE 0.01 /* of the iteration */

/* Columns of the legend, of a name and of the axis in a law. */
enum { NAME_MOST = 36, NAME_LEAST = 20, AXIS_MOST = 30, AXIS_NARROW = 13, AXIS_LEAST = 8 };

/* The iteration and what is dearest in it, a panel a kind. */
struct sheet {
    const struct nvt_sweep *sweep;
    const struct nvt_sweep_item *items[NVT_NAMES_MOST]; /* by panel */
    size_t counts[2];                                   /* ranges, device operations */
    size_t left_out;                                    /* of both, for want of room */
    int has_lines, has_joins, has_means;
    double *values; /* n, ascending */
    size_t value_count;
    struct nvt_extent extent; /* ns, of both panels */
    struct nvt_time_unit unit;
};

static int has_line(const struct nvt_sweep_item *item)
{
    return nvt_growth_law(&item->growth)->rises && item->growth.is_described;
}

static int is_shown(const struct nvt_sweep *sweep, const struct nvt_sweep_item *item, int panel)
{
    const enum nvt_sweep_kind kind = panel ? NVT_SWEEP_OPERATION : NVT_SWEEP_RANGE;
    const double share = nvt_sweep_share(sweep, item);
    return item->kind == kind && item->count >= 3 && nvt_sweep_largest(item)->ns > 0 &&
           item->value_count > 1 && !(share < LEAST_SHARE);
}

static int is_dearer(const struct nvt_sweep_item *a, const struct nvt_sweep_item *b)
{
    if (a->is_iteration != b->is_iteration)
        return a->is_iteration;
    return nvt_sweep_largest(a)->ns > nvt_sweep_largest(b)->ns;
}

/* The dearest of a panel behind those of the one before: the iteration first, `most` at most. */
static void fill_panel(struct sheet *sheet, int panel, size_t most)
{
    const struct nvt_sweep_item **items = sheet->items + (panel ? sheet->counts[0] : 0);
    size_t *count = &sheet->counts[panel];
    for (size_t i = 0; i < sheet->sweep->count; i++) {
        const struct nvt_sweep_item *item = &sheet->sweep->items[i];
        if (!is_shown(sheet->sweep, item, panel))
            continue;
        size_t at = *count;
        while (at > 0 && is_dearer(item, items[at - 1]))
            at--;
        if (at == most)
            continue;
        *count += *count < most;
        for (size_t k = *count - 1; k > at; k--)
            items[k] = items[k - 1];
        items[at] = item;
    }
}

/* `values` has room for one of each n that the iteration has. */
static struct sheet new_sheet(const struct nvt_sweep *sweep, double *values)
{
    struct sheet sheet = {.sweep = sweep, .values = values, .extent = nvt_extent_new()};
    size_t ranges = 0, operations = 0;
    for (size_t i = 0; i < sweep->count; i++) {
        ranges += is_shown(sweep, &sweep->items[i], 0) != 0;
        operations += is_shown(sweep, &sweep->items[i], 1) != 0;
    }
    fill_panel(&sheet, 0, operations ? (NVT_NAMES_MOST + 1) / 2 : NVT_NAMES_MOST);
    fill_panel(&sheet, 1, NVT_NAMES_MOST - sheet.counts[0]);
    sheet.left_out = ranges + operations - sheet.counts[0] - sheet.counts[1];
    for (size_t i = 0; i < sheet.counts[0] + sheet.counts[1]; i++) {
        const struct nvt_sweep_item *item = sheet.items[i];
        for (size_t p = 0; p < item->count; p++)
            nvt_extent_add(&sheet.extent, item->points[p].ns, item->points[p].ns);
        sheet.has_lines |= has_line(item);
        sheet.has_joins |= !has_line(item);
        sheet.has_means |= item->is_mean;
    }
    for (size_t i = 0; i < sweep->iteration->value_count; i++)
        values[sheet.value_count++] = sweep->iteration->values[i].n;
    sheet.unit = nvt_time_unit_for(sheet.extent.most);
    return sheet;
}

static const char *workload_of(const struct nvt_sweep *sweep)
{
    const struct nvt_record *record = &sweep->first->runs->records[sweep->first->record];
    const char *workload = nvt_record_text(record, "workload");
    return workload ? workload : "";
}

static struct nvt_look look_of(const struct sheet *sheet, size_t index)
{
    static const struct nvt_look whole = {"#555555", 2, 13};
    const int begins = sheet->items[0]->is_iteration;
    return begins && !index ? whole : nvt_look_of_variant(index - (size_t)begins);
}

static void put_growth_data(const struct nvt_chart_request *request, const void *what,
                            const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    (void)request;
    (void)name;
    fprintf(out,
            "# %s, then the median of an iteration (or the mean, where that is said) in %s; two "
            "blocks a line: a point "
            "a run, then one for each of its values\n",
            sheet->sweep->axis, sheet->unit.name);
    for (size_t i = 0; i < sheet->counts[0] + sheet->counts[1]; i++) {
        const struct nvt_sweep_item *item = sheet->items[i];
        fputs("# ", out);
        nvt_label_text(item->name, out);
        fputs(item->is_mean ? ", means\n" : "\n", out);
        for (size_t p = 0; p < item->count; p++)
            fprintf(out, "%.9g\t%.9g\n", item->points[p].n, item->points[p].ns / sheet->unit.ns);
        fputs("\n\n", out);
        for (size_t v = 0; v < item->value_count; v++)
            fprintf(out, "%.9g\t%.9g\n", item->values[v].n, item->values[v].ns / sheet->unit.ns);
        fputs("\n\n", out);
    }
}

/* The law of an item with its axis cut to so many columns. */
static void write_law(const struct nvt_sweep_item *item, const char *axis, size_t most,
                      char out[NVT_GROWTH_TEXT])
{
    char name[NVT_LABEL_SIZE(AXIS_MOST)];
    nvt_label_cut(axis, most, name, sizeof(name));
    nvt_growth_text(&item->growth, name, out);
}

/* The law with as much of its axis as goes into the legend with the least of the name; returns what it leaves to that. */
static size_t fit_law(const struct sheet *sheet, size_t index, const char *name,
                      char law[NVT_GROWTH_TEXT])
{
    const char *axis = sheet->sweep->axis;
    const size_t width = nvt_text_width(name), least = width < NAME_LEAST ? width : NAME_LEAST;
    const size_t most = NVT_FRAME_KEY_ROOM - strlen(": ");
    write_law(sheet->items[index], axis, AXIS_MOST, law);
    size_t used = nvt_text_width(law), room = nvt_text_width(axis);
    room = room < AXIS_MOST ? room : AXIS_MOST;
    if (used + least > most) {
        const size_t more = used + least - most + 1;
        write_law(sheet->items[index], axis, room > more + AXIS_LEAST ? room - more : AXIS_LEAST,
                  law);
        used = nvt_text_width(law);
    }
    return used + NAME_LEAST > most  ? NAME_LEAST
           : most - used < NAME_MOST ? most - used
                                     : NAME_MOST;
}

/* "solve: 5.12 ms·(n/32)^2": of a row of the legend the law has what it needs, and the name the rest. */
static void put_growth_keys(const struct sheet *sheet, struct nvt_frame *frame)
{
    struct nvt_label names[NVT_NAMES_MOST];
    const size_t count = sheet->counts[0] + sheet->counts[1];
    const struct nvt_labels labels = {names, count};
    for (size_t i = 0; i < count; i++)
        names[i] = (struct nvt_label){
            strcmp(sheet->items[i]->name, ":") != 0 ? sheet->items[i]->name : "(no name)",
            sheet->items[i]->kind == NVT_SWEEP_OPERATION};
    for (size_t i = 0; i < count; i++) {
        char name[NVT_LABEL_SIZE(NAME_MOST)], law[NVT_GROWTH_TEXT] = "",
                                              text[sizeof(name) + sizeof(law) + 3];
        const struct nvt_look look = look_of(sheet, i);
        const size_t room =
            has_line(sheet->items[i]) ? fit_law(sheet, i, names[i].name, law) : NAME_MOST;
        nvt_label_write(&labels, i, room, name, sizeof(name));
        snprintf(text, sizeof(text), "%s%s%s", name, *law ? ": " : "", law);
        nvt_frame_key(frame, NVT_KEY_LINE_POINT, look.color, look.dash, look.point, text);
    }
}

static void put_growth_line(const struct sheet *sheet, size_t index, FILE *out)
{
    const struct nvt_growth *growth = &sheet->items[index]->growth;
    const struct nvt_look look = look_of(sheet, index);
    const double unit = sheet->unit.ns;
    if (!has_line(sheet->items[index])) {
        fprintf(out, "'' index %zu using 1:2 with lines linecolor '%s' dashtype 3 linewidth 1",
                2 * index + 1, look.color);
        return;
    }
    fprintf(out, "(x >= %.9g && x <= %.9g ? ", growth->least * (1 - 1e-6),
            growth->most * (1 + 1e-6));
    if (growth->by == NVT_GROWTH_POWER)
        fprintf(out, "%.9g*(x/%.9g)**%.9g", growth->power.last / unit, growth->most, growth->p);
    else
        fprintf(out, "%.9g + %.9g*x", growth->a / unit, growth->b / unit);
    fprintf(out, " : NaN) with lines linecolor '%s' dashtype %d linewidth 1.6", look.color,
            look.dash);
}

static void put_growth_panel(const struct sheet *sheet, int panel, int index,
                             const struct nvt_frame *frame, FILE *out)
{
    static const char *const titles[] = {"Ranges", "Device operations"};
    const char *separator = "plot ";
    char text[64];
    const size_t first = panel ? sheet->counts[0] : 0;
    nvt_frame_panel(frame, index, frame->columns > 1 ? titles[panel] : NULL, out);
    snprintf(text, sizeof(text), "time per iteration (%s)%s", sheet->unit.name,
             nvt_frame_scale('y', &sheet->extent, sheet->unit.ns, 0, out) ? ", log scale" : "");
    nvt_frame_y_label(frame, index, text, out);
    for (size_t i = first; i < first + sheet->counts[panel]; i++) {
        const struct nvt_look look = look_of(sheet, i);
        fprintf(out,
                "%s'%s.dat' index %zu using 1:2 with points pointtype %d pointsize 0.7 "
                "linecolor '%s', \\\n     ",
                separator, frame->name, 2 * i, look.point, look.color);
        put_growth_line(sheet, i, out);
        separator = ", \\\n     ";
    }
    putc('\n', out);
}

/* Tics at what was run. */
static void put_growth_x_axis(const struct sheet *sheet, const struct nvt_frame *frame, FILE *out)
{
    const int is_narrow = frame->columns > 1;
    nvt_frame_log_x(frame, sheet->values[0] / 1.3, sheet->values[sheet->value_count - 1] * 1.3,
                    sheet->values, sheet->value_count, out);
    char axis[NVT_LABEL_SIZE(AXIS_MOST)], text[sizeof(axis) + 20];
    nvt_label_cut(sheet->sweep->axis, is_narrow ? AXIS_NARROW : AXIS_MOST, axis, sizeof(axis));
    snprintf(text, sizeof(text), is_narrow ? "%s, log" : "%s, log scale", axis);
    fputs("set samples 400\nset xlabel ", out);
    nvt_gnuplot_text(text, sizeof(text), out);
    fputs(" noenhanced\n", out);
}

static void put_left_out(const struct sheet *sheet, struct nvt_frame *frame)
{
    char text[NVT_FRAME_TEXT];
    if (sheet->left_out) {
        snprintf(text, sizeof(text),
                 "The %zu most expensive; %zu more of at least 1 %% of the iteration are in "
                 "nvtally stats -r growth.",
                 sheet->counts[0] + sheet->counts[1], sheet->left_out);
        nvt_frame_note(frame, text);
    }
    if (sheet->sweep->without) {
        snprintf(text, sizeof(text), "Without %zu run%s of %.100s with 0 or less.",
                 sheet->sweep->without, sheet->sweep->without == 1 ? "" : "s", sheet->sweep->axis);
        nvt_frame_note(frame, text);
    }
}

static void put_growth_script(const struct nvt_chart_request *request, const void *what,
                              const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    const struct nvt_sweep *sweep = sheet->sweep;
    char text[NVT_FRAME_TEXT];
    int panel = 0;
    const char *workload = workload_of(sweep);
    snprintf(text, sizeof(text), "Cost of %.100s over %.100s", workload, sweep->axis);
    struct nvt_frame frame = nvt_frame_new(request, name, text);
    frame.columns = (sheet->counts[0] > 0) + (sheet->counts[1] > 0);
    frame.right = nvt_frame_log_x_right(sheet->values[sheet->value_count - 1]);
    put_growth_keys(sheet, &frame);
    nvt_frame_note(&frame, "Points: medians of the iterations; what is entered several times in "
                           "one is added up.");
    nvt_frame_note(&frame,
                   sheet->has_means
                       ? "What at most half of a run's iterations have is shown by its mean."
                       : "");
    nvt_frame_note(&frame, sheet->has_lines
                               ? "Lines: the line or the power that is closer, by least squares."
                               : "");
    nvt_frame_note(&frame, sheet->has_joins
                               ? "Dotted: joins points that show no growth of a quarter or more at "
                                 "95 %, or that grow but are off by more than 20 %."
                               : "");
    put_left_out(sheet, &frame);
    /* The other numbers. */
    const char *others = strstr(sweep->where, workload) == sweep->where
                             ? sweep->where + strlen(workload)
                             : sweep->where;
    nvt_frame_note(&frame, others + strspn(others, " "));
    nvt_chart_provenance(request->input, &frame);
    nvt_frame_open(&frame, 200, out);
    put_growth_x_axis(sheet, &frame, out);
    for (int kind = 0; kind < 2; kind++)
        if (sheet->counts[kind])
            put_growth_panel(sheet, kind, panel++, &frame, out);
    nvt_frame_close(&frame, out);
}

/* How many different values the sweep's iterations have. */
static size_t values_of(const struct nvt_sweep *sweep)
{
    return sweep->iteration && sweep->iteration->count >= 3 ? sweep->iteration->value_count : 0;
}

/* Whether a sweep is drawn: of a program's own runs, along the axis that was varied most (the first of equals). */
static int is_drawn(const struct nvt_sweeps *sweeps, size_t index)
{
    const struct nvt_sweep *sweep = &sweeps->items[index];
    size_t most = 0;
    const char *best = NULL;
    if (!nvt_input_is_own(sweep->first) || values_of(sweep) < 2)
        return 0;
    for (size_t i = 0; i < sweeps->count; i++)
        if (!strcmp(workload_of(&sweeps->items[i]), workload_of(sweep)) &&
            values_of(&sweeps->items[i]) > most) {
            most = values_of(&sweeps->items[i]);
            best = sweeps->items[i].axis;
        }
    return best && !strcmp(best, sweep->axis);
}

static int draw_growth_sheet(const struct nvt_chart_request *request, const struct nvt_sweep *sweep,
                             struct nvt_error *err)
{
    char name[160];
    double *values = malloc(sweep->iteration->value_count * sizeof(*values));
    if (!values)
        return nvt_fail(err, "out of memory");
    const struct sheet sheet = new_sheet(sweep, values);
    snprintf(name, sizeof(name), "growth-%.40s-%.100s", sweep->axis, sweep->where);
    for (char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at) && *at != '-')
            *at = '_';
    int status = nvt_chart_draw(request, name, put_growth_data, put_growth_script, &sheet, err);
    free(values);
    return status;
}

static int draw_growth(const struct nvt_chart_request *request, struct nvt_error *err)
{
    struct nvt_sweeps sweeps = {0};
    int status = nvt_sweeps_of(request->input, NULL, &sweeps, err);
    for (size_t i = 0; i < sweeps.count && !status; i++)
        if (is_drawn(&sweeps, i))
            status = draw_growth_sheet(request, &sweeps.items[i], err);
    nvt_sweeps_free(&sweeps);
    return status;
}

static int growth_fits(const struct nvt_input *input)
{
    struct nvt_sweeps sweeps = {0};
    int fitting = 0;
    if (nvt_chart_own_traces(input) >= 3 && !nvt_sweeps_of(input, NULL, &sweeps, NULL))
        for (size_t i = 0; i < sweeps.count && !fitting; i++)
            fitting = is_drawn(&sweeps, i);
    nvt_sweeps_free(&sweeps);
    return fitting;
}

const struct nvt_chart nvt_chart_growth = {
    .name = "growth",
    .about = "cost of a program's ranges and operations over a number that was varied",
    .part = NVT_CHART_GROWTH,
    .fits = growth_fits,
    .draw = draw_growth,
};
