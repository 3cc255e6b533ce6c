#include "overview_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/people.h"
#include "../../lib/quantity_text.h"
#include "../../lib/render.h"
#include "../../lib/text.h"
#include "overview_processes.h"
#include "print.h"
#include "print_end.h"

/* Where nobody says how large a screen is. */
enum { WIDTH = 80, HEIGHT = 24 };
/* Lines of rows at least, and at most where it is no terminal; ranks that are shown. */
enum { ROWS_LEAST = 3, ROWS_MOST = 12, PARTS_MOST = 4 };

size_t nvt_overview_lines(const struct nvt_screen *screen, size_t taken)
{
    const size_t height = screen->height ? screen->height : HEIGHT;
    return height > taken + 1 ? height - taken - 1 : 1;
}

/* "26 %", "0.9 %" of a fraction. */
static const char *share_text(double share, char out[NVT_TIME_MAX])
{
    const double percent = 100 * share;
    snprintf(out, NVT_TIME_MAX, percent > 0 && percent < 0.995 ? "%.1f %%" : "%.0f %%", percent);
    return out;
}

/* --- what it is of --- */

/* The minute of a moment "2026-11-26T08:20:51Z", or its day. */
static void minute_of(const struct nvt_overview *overview, char out[17])
{
    const size_t length = overview->date_length ? overview->date_length : 16;
    snprintf(out, 17, "%.*s", length < 16 ? (int)length : 16, overview->date ? overview->date : "");
    if (strlen(out) > 10 && out[10] == 'T')
        out[10] = ' ';
}

static void put_title(const struct nvt_print *print, const char *input)
{
    const struct nvt_overview *overview = print->overview;
    char text[NVT_TITLE_MAX], programs[64], date[17], gpus[32] = "";
    snprintf(programs, sizeof(programs), "%u different programs", overview->programs);
    const char *what = overview->command        ? overview->command
                       : overview->programs > 1 ? programs
                                                : input;
    const int has_device = overview->device && *overview->device;
    if (overview->gpus > 1)
        snprintf(gpus, sizeof(gpus), has_device ? "%u × " : "%u GPUs", overview->gpus);
    minute_of(overview, date);
    snprintf(text, sizeof(text), "%s%s%s%s%s", has_device || *gpus ? " · " : "", gpus,
             has_device ? overview->device : "", *date ? " · " : "", date);
    const size_t width = print->width, least = width / 3, taken = nvt_text_width(text);
    nvt_paint(print->screen, NVT_PAINT_TITLE, print->out);
    const size_t room = width > taken + least ? width - taken : least;
    const size_t used = nvt_print_ends(print, what, room);
    nvt_paint(print->screen, NVT_PAINT_NONE, print->out);
    nvt_paint(print->screen, NVT_PAINT_FAINT, print->out);
    (void)nvt_print_start(print, text, width - used);
    nvt_paint(print->screen, NVT_PAINT_NONE, print->out);
    putc('\n', print->out);
    if (overview->condition)
        nvt_print_line(print, NVT_PAINT_FAINT, overview->condition);
    putc('\n', print->out);
}

/* --- the headline: a number each, and what it is --- */

static void put_fact(const struct nvt_print *print, const char *label, const char *value,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

static void put_fact(const struct nvt_print *print, const char *label, const char *value,
                     const char *format, ...)
{
    enum { LABEL = 13, VALUE = 9, BETWEEN = 3 };
    char text[256];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    fprintf(print->out, "%-*s", LABEL, label);
    nvt_print_blanks(print, VALUE - nvt_text_width(value));
    nvt_print_painted(print, NVT_PAINT_TITLE, value);
    nvt_print_blanks(print, BETWEEN);
    nvt_paint(print->screen, NVT_PAINT_FAINT, print->out);
    (void)nvt_print_start(print, text, print->width - LABEL - VALUE - BETWEEN);
    nvt_paint(print->screen, NVT_PAINT_NONE, print->out);
    putc('\n', print->out);
}

static void put_iteration(const struct nvt_print *print)
{
    const struct nvt_overview *overview = print->overview;
    char text[NVT_OVERVIEW_TEXT];
    put_fact(print, nvt_overview_unit_name(overview), NVT_TIME(overview->unit_ns), "%s",
             nvt_overview_unit_text(overview, text));
}

static void put_gpu(const struct nvt_print *print)
{
    const struct nvt_overview *overview = print->overview;
    char share[NVT_TIME_MAX], each[32] = "";
    if (isnan(overview->gpu_share))
        return;
    if (overview->gpus > 1)
        snprintf(each, sizeof(each), ", the mean of %u GPUs", overview->gpus);
    share_text(overview->gpu_share, share);
    if (overview->has_iterations)
        put_fact(print, "GPU busy", share, "within an iteration: %s%s", NVT_TIME(overview->gpu_ns),
                 each);
    else
        put_fact(print, "GPU busy", share, "from its first operation to its last%s", each);
}

static void put_memory(const struct nvt_print *print)
{
    const struct nvt_overview *overview = print->overview;
    char peak[NVT_TIME_MAX], reserved[NVT_TIME_MAX];
    if (isnan(overview->peak_bytes)) {
        if (!isnan(overview->gpu_share))
            put_fact(print, "Peak memory", "-", "not recorded: record --trace kernel,memory");
        return;
    }
    nvt_binary_text(overview->peak_bytes, peak);
    if (isnan(overview->reserved_bytes))
        put_fact(print, "Peak memory", peak, "allocated%s",
                 overview->peak_is_host ? " by the host" : " on a GPU");
    else
        put_fact(print, "Peak memory", peak, "allocated%s, %s reserved",
                 overview->peak_is_host ? " by the host" : " on a GPU",
                 nvt_binary_text(overview->reserved_bytes, reserved));
}

/* Whether the first iteration is worth a word. */
static int is_cold(const struct nvt_overview *overview)
{
    return overview->units > 1 && overview->first_ns > 2 * overview->unit_ns;
}

static void put_start_up(const struct nvt_print *print)
{
    const struct nvt_overview *overview = print->overview;
    char share[NVT_TIME_MAX], first[64] = "";
    if (is_cold(overview))
        snprintf(first, sizeof(first), ", which took %s", NVT_TIME(overview->first_ns));
    if (isnan(overview->start_ns) && is_cold(overview))
        put_fact(print, "Warm-up", NVT_TIME(overview->first_ns), "of the first iteration");
    else if (!isnan(overview->start_ns) && isnan(overview->start_share))
        put_fact(print, "Start-up", NVT_TIME(overview->start_ns), "before the first iteration%s",
                 first);
    else if (!isnan(overview->start_ns))
        put_fact(print, "Start-up", NVT_TIME(overview->start_ns),
                 "%s of the run, until the first iteration%s",
                 share_text(overview->start_share, share), first);
}

static void put_processes(const struct nvt_print *print)
{
    char count[16], text[NVT_OVERVIEW_TEXT];
    snprintf(count, sizeof(count), "%u", print->overview->processes);
    if (print->overview->bare)
        put_fact(print, "Processes", count, "%s", nvt_overview_bare_text(print->overview, text));
}

/* How many lines these take. */
static size_t fact_lines(const struct nvt_overview *overview)
{
    size_t lines = 1u + (overview->bare > 0);
    if (!isnan(overview->gpu_share))
        lines += 2;
    else if (!isnan(overview->peak_bytes))
        lines++;
    if (!isnan(overview->start_ns) || is_cold(overview))
        lines++;
    return lines + 1;
}

/* --- ranks --- */

static void put_part(const struct nvt_print *print, const struct nvt_overview_part *part,
                     size_t name)
{
    char share[NVT_TIME_MAX] = "", peak[NVT_TIME_MAX] = "";
    if (!isnan(part->gpu_share))
        share_text(part->gpu_share, share);
    if (!isnan(part->peak_bytes))
        nvt_binary_text(part->peak_bytes, peak);
    const size_t taken = nvt_print_ends(print, part->name, name);
    const char *time = NVT_TIME(part->unit_ns);
    nvt_print_blanks(print, name - taken + 2 + 9 - nvt_text_width(time));
    fprintf(print->out, "%s  %9s", time, share);
    fprintf(print->out, *peak ? "  %9s\n" : "\n", peak);
}

static size_t parts_shown(const struct nvt_overview *overview)
{
    if (overview->part_count < 2)
        return 0;
    return overview->part_count > PARTS_MOST ? PARTS_MOST : overview->part_count;
}

static size_t part_lines(const struct nvt_overview *overview)
{
    return parts_shown(overview) ? parts_shown(overview) + 2 : 0;
}

/* The slowest ones and, where not all have room, the fastest. */
static void put_parts(const struct nvt_print *print)
{
    const struct nvt_overview *overview = print->overview;
    const size_t shown = parts_shown(overview);
    size_t name = 6;
    char heading[64] = "";
    for (size_t i = 0; i < overview->part_count; i++) {
        const size_t width = nvt_text_width(overview->parts[i].name);
        name = width > name ? width : name;
    }
    name = name > 30 ? 30 : name;
    if (!shown)
        return;
    if (shown < overview->part_count)
        snprintf(heading, sizeof(heading), "slowest %zu and the fastest of %u", shown - 1,
                 overview->part_count);
    nvt_paint(print->screen, NVT_PAINT_FAINT, print->out);
    fprintf(print->out, "%-*s  %9s  %9s  %9s  %s", (int)name, "",
            overview->has_iterations ? "Iteration" : "Recording", "GPU busy", "Peak", heading);
    nvt_paint(print->screen, NVT_PAINT_NONE, print->out);
    putc('\n', print->out);
    for (size_t i = 0; i < shown; i++) {
        const size_t at = i + 1 == shown ? overview->part_count - 1 : i;
        put_part(print, &overview->parts[at], name);
    }
    putc('\n', print->out);
}

/* --- ranges, or kernels --- */

/* How the columns of rows lie. */
struct columns {
    size_t name, bar;
    int has_cpu, has_gpu;
    double whole; /* ns that shares are of */
};

/* Of a time and its share, in front of a bar. */
enum { TIME = 10, SHARE = 7, GAP = 1 };
/* Of a name, at least. */
enum { NAME = 14 };

/* Returns how many columns it takes. */
static size_t put_bar(const struct nvt_print *print, double share, size_t width,
                      enum nvt_paint paint)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    share = share > 1 ? 1 : share;
    size_t parts = (size_t)lround(share * (double)(8 * width)), taken = 0;
    if (!parts && share > 0)
        parts = 1;
    nvt_paint(print->screen, paint, print->out);
    for (; taken < parts / 8; taken++)
        fputs("█", print->out);
    fputs(eighths[parts % 8], print->out);
    nvt_paint(print->screen, NVT_PAINT_NONE, print->out);
    return taken + (parts % 8 > 0);
}

/* A time, its share and a bar. Returns the blanks that belong behind it, which stand in front of what follows. */
static size_t put_share(const struct nvt_print *print, const struct columns *columns, double ns,
                        size_t behind, enum nvt_paint paint)
{
    char share[NVT_TIME_MAX];
    if (isnan(ns) || ns <= 0)
        return behind + TIME + SHARE + GAP + columns->bar;
    const char *time = NVT_TIME(ns);
    nvt_print_blanks(print, behind + TIME - nvt_text_width(time));
    fprintf(print->out, "%s%*s%*s", time, SHARE, share_text(ns / columns->whole, share), GAP, "");
    return columns->bar - put_bar(print, ns / columns->whole, columns->bar, paint);
}

static void put_row(const struct nvt_print *print, const struct columns *columns,
                    const struct nvt_overview_row *row)
{
    const size_t indent = 2 * (size_t)row->level, most = columns->name;
    const size_t blanks = indent + 8 < most ? indent : most > 8 ? most - 8 : 0;
    nvt_print_blanks(print, blanks);
    const size_t taken = blanks + nvt_print_ends(print, row->name, most - blanks);
    size_t behind = most - taken;
    if (columns->has_cpu)
        behind = put_share(print, columns, row->cpu_ns, behind, NVT_PAINT_CPU);
    if (columns->has_gpu)
        (void)put_share(print, columns, row->gpu_ns, behind, NVT_PAINT_GPU);
    putc('\n', print->out);
}

static int by_weight(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return *a < *b ? 1 : *a > *b ? -1 : 0;
}

/* The least weight of the rows that are shown when there is room for `room`. */
static double least_weight(const struct nvt_overview *overview, size_t room)
{
    double weights[NVT_OVERVIEW_ROWS];
    for (uint32_t i = 0; i < overview->row_count; i++)
        weights[i] = overview->rows[i].weight;
    if (overview->row_count <= room)
        return -INFINITY;
    qsort(weights, overview->row_count, sizeof(*weights), by_weight);
    return weights[room - 1];
}

static struct columns columns_of(const struct nvt_print *print)
{
    const struct nvt_overview *overview = print->overview;
    struct columns columns = {.whole = nvt_overview_whole(overview)};
    size_t name = 16;
    for (uint32_t i = 0; i < overview->row_count; i++) {
        const struct nvt_overview_row *row = &overview->rows[i];
        const size_t width = 2 * (size_t)row->level + nvt_text_width(row->name);
        name = width > name ? width : name;
        columns.has_cpu |= !isnan(row->cpu_ns);
        columns.has_gpu |= row->gpu_ns > 0;
    }
    const size_t count = (size_t)columns.has_cpu + (size_t)columns.has_gpu;
    const size_t fixed = count * (TIME + SHARE + GAP), room = print->width - fixed;
    columns.bar = 10;
    while (columns.bar > 4 && room < count * columns.bar + NAME)
        columns.bar--;
    columns.name = room - count * columns.bar;
    if (columns.name > name) {
        columns.bar += (columns.name - name) / (count ? count : 1);
        columns.name = name;
    }
    columns.bar = columns.bar > 20 ? 20 : columns.bar;
    return columns;
}

static void put_headings(const struct nvt_print *print, const struct columns *columns)
{
    const struct nvt_overview *overview = print->overview;
    const char *heading = overview->are_kernels       ? "Kernels, of the GPU's work"
                          : !isnan(overview->mean_ns) ? "Ranges, mean iteration"
                          : overview->has_iterations  ? "Ranges, per iteration"
                                                      : "Ranges";
    const size_t place = TIME + SHARE + GAP + columns->bar;
    nvt_paint(print->screen, NVT_PAINT_FAINT, print->out);
    const size_t taken = nvt_print_start(print, heading, columns->name + TIME - 4);
    nvt_print_blanks(print, columns->name + TIME - 3 - taken);
    if (columns->has_cpu)
        fprintf(print->out, columns->has_gpu ? "CPU%*s" : "CPU", (int)place - 3, "");
    if (columns->has_gpu)
        fputs("GPU", print->out);
    nvt_paint(print->screen, NVT_PAINT_NONE, print->out);
    putc('\n', print->out);
}

static void put_rows(const struct nvt_print *print, size_t room)
{
    const struct nvt_overview *overview = print->overview;
    const struct columns columns = columns_of(print);
    const double least = least_weight(overview, room);
    size_t left = room;
    char text[NVT_OVERVIEW_TEXT * 2];
    snprintf(text, sizeof(text), "--every-name shows what fills the range around it: %s",
             overview->filled);
    if (!overview->row_count)
        return;
    put_headings(print, &columns);
    /* Of those with the same weight, the first. */
    for (uint32_t i = 0; i < overview->row_count && left; i++)
        if (overview->rows[i].weight >= least) {
            put_row(print, &columns, &overview->rows[i]);
            left--;
        }
    if (overview->lends)
        nvt_print_line(print, NVT_PAINT_FAINT,
                       "GPU work launched by other threads counts for the range that waits for it");
    if (*overview->filled)
        nvt_print_line(print, NVT_PAINT_FAINT, text);
    putc('\n', print->out);
}

/* --- findings --- */

static void put_finding(const struct nvt_print *print, size_t number, size_t cause)
{
    enum { NUMBER = 3, FROM = 20 }; /* FROM: columns of the trace that it is of, at most */
    const struct nvt_overview_finding *finding = &print->overview->findings[number];
    char line[NVT_FINDING_LINE_MAX];
    const char *of = nvt_file_name(finding->finding->where);
    const int has_several = print->overview->programs > 1 && finding->finding->traces == 1;
    nvt_finding_line(finding->finding, cause, print->width - NUMBER - (has_several ? 2 + FROM : 0),
                     line, sizeof(line));
    fprintf(print->out, "%zu  ", number + 1);
    nvt_paint(print->screen, finding->share >= 0.2 ? NVT_PAINT_BAD : NVT_PAINT_WARN, print->out);
    const char *rest = nvt_text_skip(line, cause);
    nvt_print_part(print, line, rest);
    nvt_paint(print->screen, NVT_PAINT_NONE, print->out);
    nvt_render_visible(rest, print->out);
    if (has_several) {
        nvt_paint(print->screen, NVT_PAINT_FAINT, print->out);
        nvt_print_blanks(print, 2);
        (void)nvt_print_ends(print, of, FROM);
        nvt_paint(print->screen, NVT_PAINT_NONE, print->out);
    }
    putc('\n', print->out);
}

static size_t finding_lines(const struct nvt_overview *overview)
{
    return overview->finding_count + 2u;
}

/* And how many there are of them all. */
static void put_finding_heading(const struct nvt_print *print)
{
    const struct nvt_overview *overview = print->overview;
    char text[200], more[48] = "";
    if (overview->found > overview->finding_count)
        snprintf(more, sizeof(more), ", the first %u of %u", overview->finding_count,
                 overview->found);
    snprintf(text, sizeof(text), "Findings%s%s%s", more, *overview->cover ? "; costs are of " : "",
             overview->cover);
    nvt_print_line(print, NVT_PAINT_FAINT, text);
}

static void put_findings(const struct nvt_print *print)
{
    const struct nvt_overview *overview = print->overview;
    char text[160];
    size_t cause = 8;
    for (uint32_t i = 0; i < overview->finding_count; i++) {
        const size_t width = nvt_text_width(overview->findings[i].finding->cause);
        cause = width > cause ? width : cause;
    }
    if (overview->finding_count)
        put_finding_heading(print);
    else {
        snprintf(text, sizeof(text), "No findings%s: %u of %u rules looked%s",
                 overview->is_cut ? " in the part that could be read" : "", overview->rules,
                 overview->rules + overview->idle_rules,
                 overview->idle_rules && !overview->is_cut
                     ? "; the others need data that the input lacks"
                     : "");
        nvt_print_line(print, overview->is_cut ? NVT_PAINT_WARN : NVT_PAINT_GOOD, text);
    }
    for (size_t i = 0; i < overview->finding_count; i++)
        put_finding(print, i, cause > 28 ? 28 : cause);
    putc('\n', print->out);
}

/* --- what to type next --- */

enum { COMMANDS = 2 };

/* A command line, and what it shows where there is room for that. */
static void put_command(const struct nvt_print *print, size_t indent, const char *command,
                        const char *input, const char *what)
{
    char text[NVT_TITLE_MAX];
    snprintf(text, sizeof(text), "nvtally %s %s", command, input);
    const size_t taken = indent + nvt_print_ends(print, text, print->width - indent);
    if (taken + strlen(what) <= print->width)
        nvt_print_painted(print, NVT_PAINT_FAINT, what);
}

static void put_commands(const struct nvt_print *print, const char *input)
{
    static const char label[] = "Next  ";
    const size_t indent = sizeof(label) - 1;
    nvt_print_painted(print, NVT_PAINT_FAINT, label);
    put_command(print, indent, "diagnose", input, "   evidence, remedies");
    putc('\n', print->out);
    nvt_print_blanks(print, indent);
    put_command(print, indent, "report", input, "   all as one HTML page");
    putc('\n', print->out);
}

static struct nvt_print print_of(const struct nvt_overview *overview,
                                 const struct nvt_overview_view *view, FILE *out)
{
    enum { NARROWEST = 60 };
    const size_t width = view->screen.width ? view->screen.width : WIDTH;
    return (struct nvt_print){overview, &view->screen, width < NARROWEST ? NARROWEST : width, out};
}

void nvt_overview_print(const struct nvt_overview *overview, const struct nvt_overview_view *view,
                        FILE *out)
{
    const struct nvt_print print = print_of(overview, view, out);
    const size_t notes = (overview->condition ? 1u : 0u) + (overview->lends ? 1u : 0u) +
                         (*overview->filled ? 1u : 0u);
    const size_t taken = 4 + notes + nvt_print_end_lines(overview) + fact_lines(overview) +
                         part_lines(overview) + finding_lines(overview) + COMMANDS;
    size_t rows = view->lines > taken + ROWS_LEAST ? view->lines - taken : ROWS_LEAST;
    if (!view->screen.height)
        rows = ROWS_MOST;
    put_title(&print, view->input);
    nvt_print_ended(&print);
    if (overview->programs > 1) {
        put_parts(&print);
        nvt_print_line(&print, NVT_PAINT_FAINT,
                       "Ranges: nvtally stats TRACE, nvtally compare A vs B");
        putc('\n', out);
    } else {
        put_iteration(&print);
        put_gpu(&print);
        put_memory(&print);
        put_start_up(&print);
        put_processes(&print);
        putc('\n', out);
        put_parts(&print);
        put_rows(&print, rows);
        nvt_print_open(&print);
    }
    put_findings(&print);
    put_commands(&print, view->input);
}

/* --- directories of runs --- */

void nvt_overview_print_study(const struct nvt_overview_study *study,
                              const struct nvt_overview_view *view, FILE *out)
{
    const struct nvt_print print = print_of(NULL, view, out);
    char runs[NVT_TIME_MAX], peak[NVT_TIME_MAX], bad[64] = ", all ok";
    snprintf(runs, sizeof(runs), "%u", study->runs);
    if (study->out_of_memory || study->failed)
        snprintf(bad, sizeof(bad), ", %u out of memory, %u failed", study->out_of_memory,
                 study->failed);
    put_fact(&print, "Runs", runs, "%s%s%s", *study->workloads ? "of " : "", study->workloads, bad);
    if (study->peak_of)
        put_fact(&print, "Peak memory", nvt_binary_text(study->peak_bytes, peak), "at most, of %s",
                 study->peak_of);
    putc('\n', out);
}

size_t nvt_overview_end_lines(const struct nvt_overview *overview)
{
    return 1 + (overview->finding_count ? finding_lines(overview) : 0) + COMMANDS;
}

void nvt_overview_print_end(const struct nvt_overview *overview,
                            const struct nvt_overview_view *view, FILE *out)
{
    const struct nvt_print print = print_of(overview, view, out);
    putc('\n', out);
    if (overview->finding_count)
        put_findings(&print);
    put_commands(&print, view->input);
}
