/*
 * change: what a comparison comes to: the phases, ranges, kernels and functions whose total time has changed most, each with the
 * ratio of both sides, its interval and its verdict on a logarithmic axis around 1, and the times of both sides beside its name.
 * A picture for each side but A.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../analyze/model/cuda_names.h"
#include "../../lib/count_of.h"
#include "../../lib/text.h"
#include "../../lib/words.h"
#include "../changes.h"
#include "../chart.h"
#include "../frame.h"
#include "../gnuplot.h"
#include "../label.h"

enum { ROWS_MOST = 24, ROW = 34 /* pixels */, NAME_ROOM = 40, SIDE = 20, NAME_SIZE = 400 };

/* What lies beyond is drawn at the end of the axis. */
#define RATIO_MOST 100.0

/* By verdict: a colour and a mark of its own, so that they are told apart in print, too. */
static const struct nvt_series verdicts[] = {
    [NVT_CANNOT_TELL] = {"unclear", "cannot tell", "#888888", 6},
    [NVT_SAME] = {"same", "same", "#888888", 5},
    [NVT_FASTER] = {"faster", "faster", NVT_BLUE, 11},
    [NVT_SLOWER] = {"slower", "slower", NVT_RED, 9},
};
enum { VERDICTS = NVT_COUNT_OF(verdicts) };

struct sheet {
    const struct nvt_changes *changes;
    size_t side;
    const struct nvt_outcome *rows[ROWS_MOST];
    size_t count, all, alone[2]; /* alone: what A has alone, and the side */
    int has_kinds;               /* they are of several kinds */
    char names[ROWS_MOST][NAME_SIZE];
    /* of these, so that those that look alike are cut where they differ */
    struct nvt_label labels[ROWS_MOST];
};

/* ":step" is a range of the default domain. A function in C++ is without scopes and parameters. */
static void write_name(const struct nvt_compared *group, char out[NAME_SIZE])
{
    size_t length = strlen(group->name);
    const char *name = group->name, *module = strrchr(name, '(');
    if (group->kind == NVT_GROUP_RANGE && *name == ':' && name[1]) {
        name++;
        length--;
    }
    if (nvt_is_sampled(group) && *name != '[' && strpbrk(name, "<:") && module)
        name = nvt_short_name(name, length, &length);
    snprintf(out, NAME_SIZE, "%.*s", (int)(length < NAME_SIZE ? length : NAME_SIZE - 1), name);
}

/* The largest changes come first. */
static void choose_rows(struct sheet *sheet)
{
    const struct nvt_outcomes *outcomes = &sheet->changes->comparison.outcomes;
    for (size_t i = 0; i < outcomes->count; i++) {
        const struct nvt_outcome *row = &outcomes->rows[i];
        if (row->side != sheet->side)
            continue;
        if (!nvt_outcome_has_both(row))
            sheet->alone[!row->group->sides[0].count]++;
        if (!nvt_outcome_has_both(row) || !(row->change->ratio > 0))
            continue;
        sheet->all++;
        if (sheet->count == ROWS_MOST)
            continue;
        write_name(row->group, sheet->names[sheet->count]);
        sheet->labels[sheet->count] =
            (struct nvt_label){sheet->names[sheet->count], row->group->kind == NVT_GROUP_KERNEL};
        sheet->rows[sheet->count++] = row;
    }
    for (size_t i = 1; i < sheet->count; i++)
        sheet->has_kinds |= sheet->rows[i]->group->kind != sheet->rows[0]->group->kind;
}

/* --- data --- */

static double held(double ratio)
{
    return fmin(fmax(ratio, 1 / RATIO_MOST), RATIO_MOST);
}

static struct nvt_extent extent_of(const struct sheet *sheet)
{
    struct nvt_extent extent = {1, 1};
    for (size_t i = 0; i < sheet->count; i++) {
        const struct nvt_change *change = sheet->rows[i]->change;
        const double low = isnan(change->low) ? change->ratio : change->low;
        const double high = isnan(change->high) ? change->ratio : change->high;
        nvt_extent_add(&extent, held(low), held(high));
    }
    return extent;
}

static void put_change_data(const struct nvt_chart_request *request, const void *what,
                            const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    (void)request;
    (void)name;
    fputs("# row\tratio\tlow\thigh\tA\tother; a block a verdict\n", out);
    for (int verdict = 0; verdict < VERDICTS; verdict++) {
        fprintf(out, "%s# %s\n-9\t1\t1\t1\t0\t0\n", verdict ? "\n\n" : "", verdicts[verdict].block);
        for (size_t i = 0; i < sheet->count; i++) {
            const struct nvt_change *change = sheet->rows[i]->change;
            if ((int)change->verdict != verdict)
                continue;
            fprintf(out, "%zu\t%.9g\t", i, change->ratio);
            if (isnan(change->low))
                fputs("NaN\tNaN", out);
            else
                fprintf(out, "%.9g\t%.9g", change->low, change->high);
            fprintf(out, "\t%.9g\t%.9g\n", change->typical[0], change->typical[1]);
        }
    }
}

/* --- names and times --- */

static const char *configuration_of(const void *rows, size_t index)
{
    const struct nvt_outcome *const *outcomes = rows;
    return outcomes[index]->group->configuration;
}

/* Its name, what kind it is, and which of the configurations, as far as others differ. */
static void write_change_label(const struct sheet *sheet, size_t row, char *out, size_t size)
{
    const struct nvt_compared *group = sheet->rows[row]->group;
    const struct nvt_words words = {sheet->rows, sheet->count, configuration_of};
    const struct nvt_labels labels = {sheet->labels, sheet->count};
    char which[200] = "", text[900], cut[NVT_LABEL_SIZE(NAME_ROOM)];
    if (*group->configuration &&
        !nvt_words_pick(&words, group->configuration, 0, which, sizeof(which)))
        *which = 0;
    const char *kind = sheet->has_kinds ? nvt_compared_kind_name(group->kind) : "";
    const size_t behind =
        (*kind ? nvt_text_width(kind) + 3 : 0) + (*which ? nvt_text_width(which) + 3 : 0);
    nvt_label_fit(&labels, row, behind + 12 < NAME_ROOM ? NAME_ROOM - behind : 12, cut,
                  sizeof(cut));
    snprintf(text, sizeof(text), "%s%s%s%s%s", cut, *kind ? " · " : "", kind, *which ? " · " : "",
             which);
    nvt_label_cut(text, NAME_ROOM + 4, out, size);
}

/* "114 → 49 ms", of functions without times their samples. */
static void write_times(const struct sheet *sheet, size_t row, char *out, size_t size)
{
    const struct nvt_change *change = sheet->rows[row]->change;
    const int counts = nvt_is_sampled(sheet->rows[row]->group) &&
                       sheet->changes->comparison.groups.functions.are_counts;
    const struct nvt_time_unit unit =
        nvt_time_unit_for(fmax(change->typical[0], change->typical[1]));
    if (counts)
        snprintf(out, size, "%zu → %zu samples", change->n[0], change->n[1]);
    else
        snprintf(out, size, "%.3g → %.3g %s", change->typical[0] / unit.ns,
                 change->typical[1] / unit.ns, unit.name);
}

/* Both stand above the row's mark. */
static void put_texts(const struct sheet *sheet, FILE *out)
{
    char text[400];
    for (size_t i = 0; i < sheet->count; i++) {
        write_change_label(sheet, i, text, sizeof(text));
        fprintf(out, "set label %zu ", 2 * i + 1);
        nvt_gnuplot_text(text, NAME_ROOM + 4, out);
        fprintf(out, " at graph 0,first %.2f left noenhanced font ',12'\n", (double)i + 0.25);
        write_times(sheet, i, text, sizeof(text));
        fprintf(out, "set label %zu ", 2 * i + 2);
        nvt_gnuplot_text(text, 30, out);
        fprintf(out, " at graph 1,first %.2f right noenhanced font ',12' textcolor '#333333'\n",
                (double)i + 0.25);
    }
}

/* --- the picture --- */

static void put_change_notes(const struct sheet *sheet, struct nvt_frame *frame)
{
    const struct nvt_comparison *comparison = &sheet->changes->comparison;
    char text[NVT_FRAME_TEXT], side[120];
    int sampled = 0, beyond = 0;
    for (size_t i = 0; i < sheet->count; i++) {
        const struct nvt_change *change = sheet->rows[i]->change;
        sampled |= nvt_is_sampled(sheet->rows[i]->group);
        beyond |= held(change->ratio) != change->ratio ||
                  (!isnan(change->low) &&
                   (held(change->low) != change->low || held(change->high) != change->high));
    }
    if (sheet->count < sheet->all)
        snprintf(text, sizeof(text), "The %zu of %zu whose time in all has changed most.",
                 sheet->count, sheet->all);
    else
        snprintf(text, sizeof(text), "The largest change of time in all comes first.");
    nvt_frame_note(frame, text);
    snprintf(text, sizeof(text), "Bars are intervals of %.4g %%, 95 %% over all rows.",
             100 * comparison->outcomes.level);
    nvt_frame_note(frame, text);
    if (sampled)
        nvt_frame_note(frame, comparison->groups.functions.by_iteration
                                  ? "Functions and call trees: CPU time per iteration."
                                  : "Functions and call trees: CPU time in all.");
    if (sheet->alone[0] || sheet->alone[1]) {
        snprintf(text, sizeof(text), "Not drawn: what only A has (%zu) and what only %c has (%zu).",
                 sheet->alone[0], (char)('A' + sheet->side), sheet->alone[1]);
        nvt_frame_note(frame, text);
    }
    nvt_frame_note(frame, beyond ? "What goes on beyond the axis ends in a triangle." : "");
    nvt_changes_side(sheet->changes, 0, text, sizeof(text));
    nvt_changes_side(sheet->changes, sheet->side, side, sizeof(side));
    snprintf(text + strlen(text), sizeof(text) - strlen(text), " · %s", side);
    nvt_frame_note(frame, text);
    struct nvt_table *origin = nvt_changes_origin(sheet->changes, "");
    if (origin)
        nvt_frame_provenance(frame, "", nvt_table_provenance(origin));
    nvt_table_free(origin);
}

static void put_change_keys(const struct sheet *sheet, struct nvt_frame *frame)
{
    static const enum nvt_verdict order[] = {NVT_SLOWER, NVT_FASTER, NVT_SAME, NVT_CANNOT_TELL};
    for (size_t v = 0; v < VERDICTS; v++)
        for (size_t i = 0; i < sheet->count; i++)
            if (sheet->rows[i]->change->verdict == order[v]) {
                nvt_frame_series_keys(frame, &verdicts[order[v]], 1);
                break;
            }
}

/* A mark and its interval, cut at the ends of the axis, with a triangle there. */
static void put_plot(const char *name, FILE *out)
{
    for (int i = 0; i < VERDICTS; i++) {
        const char *block = verdicts[i].block, *color = verdicts[i].color;
        fprintf(out, "%s'%s.dat' index '%s' using (upper(lower($2))):($1+0.68) with points",
                i ? ", \\\n     " : "plot ", name, block);
        nvt_frame_style(NVT_KEY_POINT, color, 1, verdicts[i].point, out);
        fprintf(out,
                ", \\\n     '' index '%s' using "
                "($3>0?upper(lower($2)):NaN):($1+0.68):(upper(lower($3))):"
                "(upper(lower($4))) with xerrorbars pointtype 0 linecolor '%s' linewidth 1.6",
                block, color);
        for (int end = 0; end < 2; end++)
            fprintf(out,
                    ", \\\n     '' index '%s' using ($%d%cends%d?ends%d%s:NaN):($1+0.68):"
                    "(ends%d-ends%d%s):(0) with vectors head filled size screen 0.016,25 "
                    "linecolor '%s' linewidth 1.6",
                    block, end ? 4 : 3, end ? '>' : '<', end, end, end ? "/1.02" : "*1.02", end,
                    end, end ? "/1.02" : "*1.02", color);
    }
    putc('\n', out);
}

static void put_change_script(const struct nvt_chart_request *request, const void *what,
                              const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    const struct nvt_extent extent = extent_of(sheet);
    struct nvt_frame frame = nvt_frame_new(request, name, "Largest changes");
    frame.left = frame.right = SIDE;
    put_change_keys(sheet, &frame);
    put_change_notes(sheet, &frame);
    nvt_frame_open(&frame, ROW * (int)sheet->count, out);
    fprintf(out,
            "set border 1\nunset ytics\nunset grid\n"
            "set xlabel 'time of %c / time of A, log scale'\nset yrange [%zu:0]\n",
            (char)('A' + sheet->side), sheet->count);
    nvt_frame_scale('x', &extent, 1, 0, out);
    fputs("ends0 = floor\nends1 = ceiling\n", out);
    for (size_t row = 0; row < sheet->count; row++)
        fprintf(out,
                "set arrow %zu from 1,%zu.54 to 1,%zu.84 nohead linecolor '#333333' dashtype 2\n",
                row + 1, row, row);
    put_texts(sheet, out);
    put_plot(name, out);
    nvt_frame_close(&frame, out);
}

static int draw_change(const struct nvt_chart_request *request, const struct nvt_changes *changes,
                       struct nvt_error *err)
{
    int status = 0;
    for (size_t side = 1; side < changes->comparison.sides && !status; side++) {
        struct sheet sheet = {.changes = changes, .side = side};
        char name[16] = "change";
        if (side > 1)
            snprintf(name, sizeof(name), "change-%c", (char)('a' + side));
        choose_rows(&sheet);
        if (sheet.count)
            status = nvt_chart_draw(request, name, put_change_data, put_change_script, &sheet, err);
    }
    return status;
}

const struct nvt_change_chart nvt_change_chart_change = {
    .name = "change",
    .about = "what has changed most, with intervals and verdicts",
    .draw = draw_change,
};
