/*
 * osrt: what ranges do with their time, a bar each: the share of each kind of the operating system's calls, and of what is
 * left. The ranges with the most time in calls; without ranges, the threads. Ranges within others count in both.
 */
#include "../../analyze/reports/report.h"
#include "../chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../../lib/os_calls.h"
#include "../frame.h"
#include "../gnuplot.h"
#include "../label.h"
#include "../looks.h"

enum { BARS_MAX = 12, NAME_ROOM = 40, PARTS = NVT_OS_KINDS + 1, RUNNING = NVT_OS_KINDS };

/* In the order in which they are drawn, with their columns of the report osrt_threads; the last is what is left. */
static const struct {
    enum nvt_os_kind kind;
    const char *column, *key, *color;
} parts[PARTS] = {{NVT_OS_FILES, "Files (ns)", "files", NVT_BLUE},
                  {NVT_OS_NETWORK, "Network (ns)", "network", NVT_SKY},
                  {NVT_OS_LOCKS, "Locks (ns)", "locks", NVT_RED},
                  {NVT_OS_THREADS, "Threads (ns)", "other threads", NVT_ORANGE},
                  {NVT_OS_POLL, "Poll (ns)", "poll", NVT_YELLOW},
                  {NVT_OS_SLEEPS, "Sleep (ns)", "sleep", NVT_PURPLE},
                  {NVT_OS_PROCESSES, "Processes (ns)", "processes", "#7B4B2A"},
                  {NVT_OS_MEMORY, "Memory (ns)", "memory", NVT_GREEN},
                  {NVT_OS_DEVICES, "Devices (ns)", "devices", NVT_BLACK},
                  {NVT_OS_OTHER, "Other (ns)", "other calls", "#7F7F7F"},
                  {NVT_OS_KINDS, NULL, "outside", NVT_OTHERS_COLOR}};

/* A range or a thread. ns; the parts are those of `parts`, without the last. */
struct bar {
    const char *name; /* of the table */
    int64_t thread;   /* its number, where it is one */
    double all, in_calls, ns[NVT_OS_KINDS];
};

struct bars {
    const struct nvt_table *table;
    struct bar *items;
    uint32_t count, shown;
    int are_threads;
};

/* --- from the tables ---------------------------------------------------------------------------- */

/* The bar of a range, whose names are few. NULL when out of memory. */
static struct bar *bar_of(struct bars *bars, struct nvt_strings *names, const char *name)
{
    uint32_t id = nvt_strings_add_text(names, name);
    while (id != NVT_NO_STRING && bars->count <= id) {
        if (nvt_grow(&bars->items, bars->count, sizeof(*bars->items)))
            return NULL;
        bars->items[bars->count++] = (struct bar){.name = ""};
    }
    if (id == NVT_NO_STRING)
        return NULL;
    bars->items[id].name = name;
    return &bars->items[id];
}

static size_t part_of_kind(const char *kind)
{
    size_t part = 0;
    while (part < NVT_OS_KINDS - 1 && strcmp(kind, nvt_os_kind_name(parts[part].kind)) != 0)
        part++;
    return part;
}

/* Calls within each other are in the table one by one: together they may have more time than the range. */
static int take_ranges(struct bars *bars)
{
    const struct nvt_table *table = bars->table;
    const size_t range = nvt_table_find(table, "NVTX Range"), kind = nvt_table_find(table, "Kind");
    const size_t total = nvt_table_find(table, "Total Time (ns)");
    const size_t share = nvt_table_find(table, "Of Range (%)");
    struct nvt_strings *names = nvt_strings_new();
    int status = names ? 0 : -1;
    for (size_t row = 0; row < nvt_table_rows(table) && !status; row++) {
        double ns = nvt_table_real(table, row, total), percent = nvt_table_real(table, row, share);
        if (nvt_table_is_null(table, row, share) || percent <= 0)
            continue;
        struct bar *bar = bar_of(bars, names, nvt_table_text(table, row, range));
        if (bar) {
            bar->ns[part_of_kind(nvt_table_text(table, row, kind))] += ns;
            bar->in_calls += ns;
            bar->all = fmax(bar->all, 100 * ns / percent);
        }
        status = bar ? 0 : -1;
    }
    nvt_strings_free(names);
    for (uint32_t i = 0; i < bars->count && !status; i++) {
        struct bar *bar = &bars->items[i];
        double fits = bar->in_calls > bar->all ? bar->all / bar->in_calls : 1;
        for (size_t part = 0; part < NVT_OS_KINDS; part++)
            bar->ns[part] *= fits;
        bar->in_calls *= fits;
    }
    return status;
}

static int take_threads(struct bars *bars)
{
    const struct nvt_table *table = bars->table;
    for (size_t row = 0; row < nvt_table_rows(table); row++) {
        struct bar bar = {.name = nvt_table_text(table, row, nvt_table_find(table, "Thread")),
                          .thread = nvt_table_int(table, row, nvt_table_find(table, "TID")),
                          .all = nvt_table_real(table, row, nvt_table_find(table, "Span (ns)"))};
        for (size_t part = 0; part < NVT_OS_KINDS; part++) {
            bar.ns[part] = nvt_table_real(table, row, nvt_table_find(table, parts[part].column));
            bar.in_calls += bar.ns[part];
        }
        if (nvt_grow(&bars->items, bars->count, sizeof(*bars->items)))
            return -1;
        bars->items[bars->count++] = bar;
    }
    return 0;
}

static int by_time_in_calls(const void *a, const void *b)
{
    const struct bar *left = a, *right = b;
    if (left->in_calls != right->in_calls)
        return left->in_calls < right->in_calls ? 1 : -1;
    int order = strcmp(left->name, right->name);
    return order ? order : (left->thread > right->thread) - (left->thread < right->thread);
}

/* Those with the most time in calls; `count` is then how many have any. */
static void choose(struct bars *bars)
{
    if (bars->count)
        qsort(bars->items, bars->count, sizeof(*bars->items), by_time_in_calls);
    while (bars->count && bars->items[bars->count - 1].in_calls <= 0)
        bars->count--;
    bars->shown = bars->count < BARS_MAX ? bars->count : BARS_MAX;
}

/* --- the picture -------------------------------------------------------------------------------- */

static double percent(const struct bar *bar, size_t part)
{
    double ns = part == RUNNING ? bar->all - bar->in_calls : bar->ns[part];
    return bar->all > 0 && ns > 0 ? 100 * ns / bar->all : 0;
}

/* "load · 61.3 % of 1.02 s". */
static void put_osrt_label(const struct bars *bars, const struct nvt_labels *labels, size_t which,
                           FILE *out)
{
    const struct bar *bar = &bars->items[which];
    const struct nvt_time_unit unit = nvt_time_unit_for(bar->all);
    char label[NVT_LABEL_SIZE(NAME_ROOM)];
    nvt_label_fit(labels, which, NAME_ROOM, label, sizeof(label));
    nvt_label_text(label, out);
    if (bars->are_threads)
        fprintf(out, "%sthread %lld", *label ? ", " : "", (long long)bar->thread);
    fprintf(out, " · %.1f %% of %.4g %s", 100 - percent(bar, RUNNING), bar->all / unit.ns,
            unit.name);
}

/* A range of the default domain is called as it is. */
static const char *shown_name(const struct bar *bar)
{
    return bar->name + (*bar->name == ':' && bar->name[1]);
}

/* Where each part of a bar begins and ends, and the bar's label. */
static void put_osrt_data(const struct nvt_chart_request *request, const void *what,
                          const char *name, FILE *out)
{
    const struct bars *bars = what;
    struct nvt_label items[BARS_MAX];
    const struct nvt_labels labels = {items, bars->shown};
    (void)request;
    (void)name;
    for (uint32_t i = 0; i < bars->shown; i++)
        items[i] = (struct nvt_label){shown_name(&bars->items[i]), 0};
    fprintf(out, "# begin_percent\tend_percent\tbar\tlabel\n");
    for (size_t part = 0; part < PARTS; part++) {
        fprintf(out, "%s# %s\n", part ? "\n\n" : "", parts[part].key);
        for (uint32_t i = 0; i < bars->shown; i++) {
            double begin = 0;
            for (size_t before = 0; before < part; before++)
                begin += percent(&bars->items[i], before);
            fprintf(out, "%.6g\t%.6g\t%u\t", begin, begin + percent(&bars->items[i], part), i);
            put_osrt_label(bars, &labels, i, out);
            putc('\n', out);
        }
    }
}

/* Whether any bar has some of it. */
static int occurs(const struct bars *bars, size_t part)
{
    for (uint32_t i = 0; i < bars->shown; i++)
        if (percent(&bars->items[i], part) > 0)
            return 1;
    return 0;
}

static void put_osrt_notes(struct nvt_frame *frame, const struct bars *bars)
{
    char text[NVT_FRAME_TEXT];
    uint32_t left_out = bars->count - bars->shown;
    nvt_frame_note(frame, bars->are_threads
                              ? "How long each thread was recorded, and the share in OS calls."
                              : "The time of each range, and its share in OS calls. What lies "
                                "within another counts in both.");
    snprintf(text, sizeof(text), "%u more %s%s with calls not drawn.", left_out,
             bars->are_threads ? "thread" : "range", left_out == 1 ? "" : "s");
    if (left_out)
        nvt_frame_note(frame, text);
    nvt_frame_provenance(frame, "", nvt_table_provenance(bars->table));
}

static void put_osrt_script(const struct nvt_chart_request *request, const void *what,
                            const char *name, FILE *out)
{
    const struct bars *bars = what;
    const char *separator = "plot ";
    struct nvt_frame frame = nvt_frame_new(request, name, "OS calls");
    frame.left = frame.right = 16;
    for (size_t part = 0; part < PARTS; part++)
        if (occurs(bars, part))
            nvt_frame_key(&frame, NVT_KEY_BOX, parts[part].color, 1, 0, parts[part].key);
    put_osrt_notes(&frame, bars);
    nvt_frame_open(&frame, 34 * (int)bars->shown + 30, out);
    fprintf(out,
            "set datafile separator '\\t'\nset border 1\nunset ytics\nset grid noytics\n"
            "set xlabel 'share of the %s time (%%)'\nset xrange [0:100]\nset yrange [%u:0]\n",
            bars->are_threads ? "thread''s" : "range''s", bars->shown);
    for (size_t part = 0; part < PARTS; part++) {
        if (!occurs(bars, part))
            continue;
        fprintf(out,
                "%s'%s.dat' index '%s' using 1:($3+0.7):1:2:($3+0.48):($3+0.92) with boxxyerror "
                "fillstyle solid noborder fillcolor '%s'",
                separator, name, parts[part].key, parts[part].color);
        separator = ", \\\n     ";
    }
    fprintf(out, "%s'%s.dat' index '%s' using (0):($3+0.25):4 with labels left font ',12'\n",
            separator, name, parts[0].key);
    nvt_frame_close(&frame, out);
}

/* --- drawing ------------------------------------------------------------------------------------ */

/* Nothing is drawn where no bar has any time in calls; *drawn tells. */
static int draw_report(const struct nvt_chart_request *request, const struct nvt_report *report,
                       int are_threads, int *drawn, struct nvt_error *err)
{
    struct nvt_tables tables = {0};
    struct bars bars = {.are_threads = are_threads};
    char name[200];
    int status = nvt_report_make(report, request->input, &tables, err);
    if (!status) {
        bars.table = tables.items[0];
        if (are_threads ? take_threads(&bars) : take_ranges(&bars))
            status = nvt_fail(err, "out of memory");
    }
    if (!status)
        choose(&bars);
    *drawn = !status && bars.shown > 0;
    nvt_chart_traces_name(request->input, "osrt", name, sizeof(name));
    if (*drawn)
        status = nvt_chart_draw(request, name, put_osrt_data, put_osrt_script, &bars, err);
    free(bars.items);
    nvt_tables_free(&tables);
    return status;
}

static int draw_osrt(const struct nvt_chart_request *request, struct nvt_error *err)
{
    int drawn = 0;
    int status = draw_report(request, &nvt_report_nvtx_osrt_sum, 0, &drawn, err);
    if (!status && !drawn)
        status = draw_report(request, &nvt_report_osrt_threads, 1, &drawn, err);
    return status;
}

const struct nvt_chart nvt_chart_osrt = {
    .name = "osrt",
    .about = "the time of ranges, or else of threads, in OS calls by kind",
    .part = NVT_CHART_TIME,
    .fits = nvt_input_has_os_calls,
    .draw = draw_osrt,
};
