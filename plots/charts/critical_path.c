/*
 * critical_path: what the time of a trace waited for, as bars: the kernels, copies and calls with the most time on the
 * critical path, the host's ranges, and what passes in between. Behind each the time of the same that is hidden beside the path.
 */
#include "../../analyze/reports/report.h"
#include "../chart.h"

#include <stdlib.h>
#include <string.h>

#include "../../analyze/device/kernel_class.h"
#include "../../analyze/model/cuda_names.h"
#include "../../analyze/path/critical_path.h"
#include "../../lib/quantity_text.h"
#include "../bars.h"
#include "../gnuplot.h"
#include "../looks.h"

enum { BARS_MAX = 12, LABEL_MOST = 52 };

/* Of what passes between things on the path. */
#define BETWEEN "#2F3640"

/* Kinds as they are told: each with a bar for each name, or one for all of them. */
static const struct {
    enum nvt_path_kind kind;
    const char *color, *key; /* NULL: those of the kernel's class */
    const char *all;         /* what the bar of all of them says */
} looks[NVT_PATH_KINDS] = {
    {NVT_PATH_COMPUTE, NULL, NULL, NULL},
    {NVT_PATH_COMMUNICATION, NULL, NULL, NULL},
    {NVT_PATH_COPY, NULL, NULL, NULL},
    {NVT_PATH_CALL, "#5F6B76", "API call", NULL},
    {NVT_PATH_SYSTEM, NVT_CALLS_COLOR, "system call", NULL},
    {NVT_PATH_HOST, NVT_RANGE_COLOR, "host code, by its range", NULL},
    {NVT_PATH_GAP, BETWEEN, "in between", "gaps between operations that follow each other"},
    {NVT_PATH_STALL, BETWEEN, "in between", "late for no recorded reason"},
    {NVT_PATH_LAUNCH, BETWEEN, "in between", "from a launch to its start"},
    {NVT_PATH_WAKE, BETWEEN, "in between", "from an end to the return of the call that waited"},
};

struct bar {
    double ns, hidden; /* hidden: 0 also where there is no such time */
    size_t look;
    enum nvt_kernel_class class; /* of an operation */
    const char *name;            /* the table's */
};

struct path {
    const struct nvt_trace *trace;
    const struct nvt_table *paths;
    struct bar *items; /* descending */
    size_t count;
    double path_ns;
    struct nvt_bar drawn[BARS_MAX];
    char labels[BARS_MAX][NVT_LABEL_SIZE(LABEL_MOST)];
    struct nvt_bars bars;
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

static enum nvt_kernel_class class_of(const char *name)
{
    size_t length;
    char own[NVT_TELLING_NAME_MAX];
    const char *at = nvt_short_name(name, strlen(name), &length);
    snprintf(own, sizeof(own), "%.*s", (int)(length < sizeof(own) ? length : 0), at);
    return nvt_kernel_class_of_name(own, name);
}

/* A bar for each row of the table of names, or one for all of their kind. 0, or -1 when out of memory. */
static int gather(struct path *bars, const struct nvt_table *names)
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
        const char *text = nvt_table_text(names, row, name);
        *bar = (struct bar){ns, all > ns ? all - ns : 0, look, class_of(text), text};
        if (looks[look].all)
            of_kind[look] = bar;
    }
    qsort(bars->items, bars->count, sizeof(*bars->items), by_time);
    bars->count = bars->count < BARS_MAX ? bars->count : BARS_MAX;
    return 0;
}

/* "host in forward", or the name of an operation or a call. */
static const char *write_name(const struct bar *bar, char *out, size_t size)
{
    const char *name = bar->name + (*bar->name == ':' && bar->name[1]);
    if (looks[bar->look].all)
        snprintf(out, size, "%s", looks[bar->look].all);
    else if (looks[bar->look].kind == NVT_PATH_HOST)
        snprintf(out, size, *name ? "host in %s" : "host outside of ranges", name);
    else
        snprintf(out, size, "%s", name);
    return out;
}

/* A range of the host that is a phase has that colour, as everywhere. */
static const char *color_of(const struct bar *bar)
{
    const char *range = strrchr(bar->name, ':');
    const char *known = nvt_known_color(range ? range + 1 : bar->name);
    if (looks[bar->look].kind == NVT_PATH_HOST && known)
        return known;
    return looks[bar->look].color ? looks[bar->look].color : nvt_class_color(bar->class);
}

static const char *key_of(const struct bar *bar)
{
    return looks[bar->look].key ? looks[bar->look].key : nvt_kernel_class_name(bar->class);
}

static void make_bars(struct path *path)
{
    char names[BARS_MAX][512];
    struct nvt_label items[BARS_MAX];
    const struct nvt_labels labels = {items, path->count};
    for (size_t i = 0; i < path->count; i++)
        items[i] = (struct nvt_label){write_name(&path->items[i], names[i], sizeof(names[i])),
                                      !looks[path->items[i].look].key};
    for (size_t i = 0; i < path->count; i++) {
        const struct bar *bar = &path->items[i];
        nvt_label_fit(&labels, i, LABEL_MOST, path->labels[i], sizeof(path->labels[i]));
        path->drawn[i] = (struct nvt_bar){.value = bar->ns,
                                          .more = bar->hidden,
                                          .color = color_of(bar),
                                          .label = {path->labels[i], 0},
                                          .tip = *bar->name ? bar->name : path->labels[i]};
        snprintf(path->drawn[i].text, sizeof(path->drawn[i].text), "%s · %.1f %%",
                 NVT_TIME(bar->ns), 100 * bar->ns / path->path_ns);
    }
    path->bars = (struct nvt_bars){.items = path->drawn,
                                   .count = path->count,
                                   .unit = nvt_time_unit_for(path->items[0].ns),
                                   .axis = "time"};
}

static void put_critical_path_data(const struct nvt_chart_request *request, const void *what,
                                   const char *name, FILE *out)
{
    (void)request;
    (void)name;
    nvt_bars_put_data(&((const struct path *)what)->bars, out);
}

static void put_critical_path_tips(const struct nvt_chart_request *request, const void *what,
                                   const char *name, FILE *out)
{
    (void)request;
    (void)name;
    nvt_bars_put_tips(&((const struct path *)what)->bars, out);
}

/* Each colour that says what kind a bar is once. */
static void put_critical_path_keys(const struct path *path, struct nvt_frame *frame)
{
    int has_hidden = 0;
    for (size_t i = 0; i < path->count; i++) {
        const struct bar *bar = &path->items[i];
        const int is_phase =
            looks[bar->look].kind == NVT_PATH_HOST && strcmp(color_of(bar), NVT_RANGE_COLOR) != 0;
        int was_there = is_phase;
        for (size_t k = 0; k < i; k++)
            was_there |= !strcmp(key_of(&path->items[k]), key_of(bar)) &&
                         !strcmp(color_of(&path->items[k]), color_of(bar));
        has_hidden |= bar->hidden > 0;
        if (!was_there)
            nvt_frame_key(frame, NVT_KEY_BOX, color_of(bar), 1, 0, key_of(bar));
    }
    if (has_hidden)
        nvt_frame_key(frame, NVT_KEY_BOX, NVT_OTHERS_COLOR, 1, 0, "overlapped");
}

/* Which part of the trace it is, and how much of it was inferred. */
static void put_critical_path_notes(const struct path *bars, struct nvt_frame *frame)
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
        snprintf(text, sizeof(text), "Of %d processes, of the %s, added up.", processes, of);
    else
        snprintf(text, sizeof(text), "Of the %s: time on the path, and its share of it.", of);
    nvt_frame_note(frame, text);
    if (!guesses)
        return;
    snprintf(text, sizeof(text), "%lld steps between streams are inferred from times.", guesses);
    nvt_frame_note(frame, text);
}

static void put_critical_path_script(const struct nvt_chart_request *request, const void *what,
                                     const char *name, FILE *out)
{
    const struct path *path = what;
    char title[NVT_FRAME_TEXT];
    snprintf(title, sizeof(title), "Critical path of %s",
             nvt_label_file(path->trace->path, (char[NVT_LABEL_FILE]){0}));
    struct nvt_frame frame = nvt_frame_new(request, name, title);
    put_critical_path_keys(path, &frame);
    put_critical_path_notes(path, &frame);
    nvt_frame_provenance(&frame, "", nvt_table_provenance(path->paths));
    nvt_bars_open(&path->bars, &frame, out);
    nvt_bars_put_plot(&path->bars, &frame, out);
    nvt_frame_close(&frame, out);
}

static int draw_critical_path_trace(const struct nvt_chart_request *request, const char *base,
                                    struct nvt_error *err)
{
    static const struct nvt_chart_parts parts = {put_critical_path_data, put_critical_path_script,
                                                 put_critical_path_tips};
    char name[160];
    struct nvt_tables tables = {0};
    struct path path = {.trace = request->input->traces[0].trace};
    int status = nvt_report_make(nvt_report_find("critical_path"), request->input, &tables, err);
    snprintf(name, sizeof(name), "%s-critical-path", base);
    if (!status && tables.count > 1) {
        path.paths = tables.items[0];
        status = gather(&path, tables.items[1]) ? nvt_fail(err, "out of memory") : 0;
    }
    if (!status && path.count) {
        make_bars(&path);
        status = nvt_chart_draw_tipped(request, name, &parts, &path, err);
    }
    free(path.items);
    nvt_tables_free(&tables);
    return status;
}

static int has_path(const struct nvt_trace *trace)
{
    return trace->ops.count && trace->apis.count;
}

const struct nvt_chart nvt_chart_critical_path = {
    .name = "critical_path",
    .about = "the critical path of a trace, and what is overlapped",
    .part = NVT_CHART_TIME,
    .has = has_path,
    .draw_trace = draw_critical_path_trace,
};
