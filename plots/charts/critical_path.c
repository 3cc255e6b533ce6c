/*
 * critical_path: what the time of a trace waited for, as bars: the kernels, copies and calls with the most time on the
 * critical path, the host's ranges, and what passes in between. Behind each the time of the same that is hidden beside the path.
 */
#include "../../analyze/reports/report.h"
#include "../chart.h"

#include <stdlib.h>
#include <string.h>

#include "../../analyze/path/critical_path.h"
#include "../frame.h"
#include "../gnuplot.h"
#include "../label.h"
#include "../looks.h"

enum { BARS_MAX = 12 };

/* How kinds look, in the order of the legend. Kinds without a label have a bar for each name. */
static const struct {
    enum nvt_path_kind kind;
    const char *color, *key, *label;
} looks[NVT_PATH_KINDS] = {
    {NVT_PATH_COMPUTE, NVT_BLUE, "computation", NULL},
    {NVT_PATH_COMMUNICATION, NVT_ORANGE, "communication", NULL},
    {NVT_PATH_COPY, NVT_GREEN, "copies", NULL},
    {NVT_PATH_CALL, NVT_PURPLE, "CUDA calls", NULL},
    {NVT_PATH_SYSTEM, NVT_YELLOW, "calls of the operating system", NULL},
    {NVT_PATH_HOST, NVT_RED, "host, outside of calls", NULL},
    {NVT_PATH_GAP, NVT_BLACK, "in between", "gaps between operations that follow each other"},
    {NVT_PATH_STALL, NVT_BLACK, "in between", "late for no reason that is on record"},
    {NVT_PATH_LAUNCH, NVT_BLACK, "in between", "from a launch to its start"},
    {NVT_PATH_WAKE, NVT_BLACK, "in between", "from an end to the return of the call that waited"},
};

struct bar {
    double ns, hidden; /* hidden: 0 also where there is no such time */
    size_t look;
    const char *name; /* the table's */
};

struct bars {
    const struct nvt_trace *trace;
    const struct nvt_table *paths;
    struct bar *items; /* descending */
    size_t count;
    double path_ns;
    struct nvt_time_unit unit;
};

static size_t look_of(const char *kind)
{
    size_t look = 0;
    while (look + 1 < NVT_PATH_KINDS && strcmp(nvt_path_kind_name(looks[look].kind), kind) != 0)
        look++;
    return look;
}

static int by_time(const void *left, const void *right)
{
    const struct bar *a = left, *b = right;
    return a->ns < b->ns ? 1 : a->ns > b->ns ? -1 : 0;
}

/* A bar for each row of the table of names, or one for all of their kind. 0, or -1 when out of memory. */
static int gather(struct bars *bars, const struct nvt_table *names)
{
    size_t kind = nvt_table_find(names, "Kind"), name = nvt_table_find(names, "Name");
    size_t time = nvt_table_find(names, "On Path (ns)");
    size_t total = nvt_table_find(names, "Total Time (ns)");
    struct bar *of_kind[NVT_PATH_KINDS] = {NULL};
    bars->items = calloc(nvt_table_rows(names) + 1, sizeof(*bars->items));
    if (!bars->items)
        return -1;
    for (size_t row = 0; row < nvt_table_rows(names); row++) {
        double ns = nvt_table_real(names, row, time), all = nvt_table_real(names, row, total);
        size_t look = look_of(nvt_table_text(names, row, kind));
        bars->path_ns += ns;
        if (!(ns > 0))
            continue;
        if (of_kind[look]) {
            of_kind[look]->ns += ns;
            continue;
        }
        struct bar *bar = &bars->items[bars->count++];
        *bar = (struct bar){ns, all > ns ? all - ns : 0, look, nvt_table_text(names, row, name)};
        if (looks[look].label)
            of_kind[look] = bar;
    }
    qsort(bars->items, bars->count, sizeof(*bars->items), by_time);
    bars->count = bars->count < BARS_MAX ? bars->count : BARS_MAX;
    bars->unit = nvt_time_unit_for(bars->count ? bars->items[0].ns : 0);
    return 0;
}

static struct nvt_label label_of(const struct bar *bar)
{
    if (looks[bar->look].label)
        return (struct nvt_label){looks[bar->look].label, 0};
    if (looks[bar->look].kind == NVT_PATH_HOST)
        return (struct nvt_label){*bar->name ? bar->name : "outside of ranges", 0};
    return (struct nvt_label){bar->name, 1};
}

static void put_critical_path_data(const struct nvt_chart_request *request, const void *what,
                                   const char *name, FILE *out)
{
    const struct bars *bars = what;
    (void)request;
    (void)name;
    fprintf(out, "# on_path_%s\thidden_%s\tpercent_of_path\tcolor\tname\n", bars->unit.name,
            bars->unit.name);
    struct nvt_label items[BARS_MAX];
    struct nvt_labels labels = {items, bars->count};
    for (size_t i = 0; i < bars->count; i++)
        items[i] = label_of(&bars->items[i]);
    for (size_t i = 0; i < bars->count; i++) {
        const struct bar *bar = &bars->items[i];
        fprintf(out, "%.9g\t%.9g\t%.1f\t0x%s\t", bar->ns / bars->unit.ns,
                bar->hidden / bars->unit.ns, 100 * bar->ns / bars->path_ns,
                looks[bar->look].color + 1);
        nvt_label_put(&labels, i, out);
        putc('\n', out);
    }
}

/* Kinds that have a bar, each way to look once. */
static void put_critical_path_keys(const struct bars *bars, struct nvt_frame *frame)
{
    int has_hidden = 0;
    for (size_t look = 0; look < NVT_PATH_KINDS; look++) {
        int is_there = 0, was_there = 0;
        for (size_t i = 0; i < bars->count; i++) {
            size_t other = bars->items[i].look;
            is_there |= other == look;
            was_there |= other < look && !strcmp(looks[other].key, looks[look].key);
            has_hidden |= bars->items[i].hidden > 0;
        }
        if (is_there && !was_there)
            nvt_frame_key(frame, NVT_KEY_BOX, looks[look].color, 1, 0, looks[look].key);
    }
    if (has_hidden)
        nvt_frame_key(frame, NVT_KEY_BOX, NVT_OTHERS_COLOR, 1, 0,
                      "the same, hidden beside the path");
}

/* Which part of the trace it is, and how much of it was inferred. */
static void put_critical_path_notes(const struct bars *bars, struct nvt_frame *frame)
{
    char text[NVT_FRAME_TEXT];
    const struct nvt_table *paths = bars->paths;
    size_t last = nvt_table_rows(paths) - 1;
    size_t part = nvt_table_find(paths, "Part"), inferred = nvt_table_find(paths, "Inferred");
    long long guesses = 0;
    int processes = 0;
    const char *of = nvt_table_text(paths, last, part);
    for (size_t row = 0; row <= last; row++) {
        guesses += (long long)nvt_table_int(paths, row, inferred);
        processes += !strcmp(nvt_table_text(paths, row, part), "whole");
    }
    of = strcmp(of, "whole") ? of : "whole trace";
    if (processes > 1)
        snprintf(text, sizeof(text),
                 "Critical paths of %d processes, of the %s, added up: time and share.", processes,
                 of);
    else
        snprintf(text, sizeof(text), "Critical path of the %s: time and share.", of);
    nvt_frame_note(frame, text);
    if (!guesses)
        return;
    snprintf(text, sizeof(text), "%lld steps between streams are inferred from times.", guesses);
    nvt_frame_note(frame, text);
}

/* A bar that goes out of the picture is cut: what is hidden may be many times what is not. */
static void put_critical_path_script(const struct nvt_chart_request *request, const void *what,
                                     const char *name, FILE *out)
{
    const struct bars *bars = what;
    double longest = bars->items[0].ns / bars->unit.ns;
    char title[NVT_FRAME_TEXT];
    snprintf(title, sizeof(title), "What the time of %s was spent waiting for",
             nvt_label_file(bars->trace->path, (char[NVT_LABEL_FILE]){0}));
    struct nvt_frame frame = nvt_frame_new(request, name, title);
    frame.left = frame.right = 16;
    put_critical_path_keys(bars, &frame);
    put_critical_path_notes(bars, &frame);
    nvt_frame_provenance(&frame, "", nvt_table_provenance(bars->paths));
    nvt_frame_open(&frame, 30 * (int)bars->count, out);
    nvt_frame_time_text(&bars->unit, out);
    fprintf(out,
            "set datafile separator '\\t'\nset border 1\nunset ytics\n"
            "set grid noytics\nset xlabel 'time (%s)'\nset xrange [0:%.9g]\n"
            "set yrange [%zu:0]\nmost = %.9g\nend(a, b) = a + b < most ? a + b : most\n"
            "plot '%s.dat' using (0):($0+0.7):(0):1:($0+0.52):($0+0.88):4 with "
            "boxxyerror fillstyle solid noborder linecolor rgb variable, \\\n"
            "     '' using 1:($0+0.7):1:(end($1,$2)):($0+0.52):($0+0.88) with boxxyerror "
            "fillstyle solid noborder fillcolor '%s', \\\n"
            "     '' using (0):($0+0.27):5 with labels left font ',12', \\\n"
            "     '' using (end($1,$2)):($0+0.7):(sprintf('%%s · %%.1f %%%%', of_time($1), $3)) "
            "with labels left offset 0.5,0 font ',12' textcolor '#333333'\n",
            bars->unit.name, longest * 1.75, bars->count, longest * 1.25, name, NVT_OTHERS_COLOR);
    nvt_frame_close(&frame, out);
}

static int draw_critical_path_trace(const struct nvt_chart_request *request, const char *base,
                                    struct nvt_error *err)
{
    char name[160];
    struct nvt_tables tables = {0};
    struct bars bars = {.trace = request->input->traces[0].trace};
    int status = nvt_report_make(nvt_report_find("critical_path"), request->input, &tables, err);
    snprintf(name, sizeof(name), "%s-critical-path", base);
    if (!status && tables.count > 1) {
        bars.paths = tables.items[0];
        status = gather(&bars, tables.items[1]) ? nvt_fail(err, "out of memory") : 0;
    }
    if (!status && bars.count)
        status = nvt_chart_draw(request, name, put_critical_path_data, put_critical_path_script,
                                &bars, err);
    free(bars.items);
    nvt_tables_free(&tables);
    return status;
}

static int draw_critical_path(const struct nvt_chart_request *request, struct nvt_error *err)
{
    return nvt_chart_each_trace(request, draw_critical_path_trace, err);
}

static int has_path(const struct nvt_trace *trace)
{
    return trace->ops.count && trace->apis.count;
}

static int critical_path_fits(const struct nvt_input *input)
{
    return nvt_chart_any_trace(input, has_path);
}

const struct nvt_chart nvt_chart_critical_path = {
    .name = "critical_path",
    .about = "what the time of a trace was spent waiting for, and what is hidden beside it",
    .part = NVT_CHART_TIME,
    .fits = critical_path_fits,
    .draw = draw_critical_path,
};
