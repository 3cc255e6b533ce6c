/*
 * memory: what was allocated and reserved over time, a colour for each device of a process, with
 * the phases behind it, from the memory events of a trace (the report memory_timeline).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../analyze/reports/report.h"
#include "../../lib/quantity_text.h"
#include "../bands.h"
#include "../chart.h"
#include "../frame.h"
#include "../gnuplot.h"
#include "../label.h"

#define SERIES_MOST  6
#define POINTS       1200 /* of a series: more than a picture has columns */
#define TRACES_MOST  4    /* of a run directory */
#define NAME_LONGEST 128

static const char *const colors[SERIES_MOST] = {NVT_BLUE,   NVT_RED, NVT_GREEN,
                                                NVT_PURPLE, NVT_SKY, NVT_BLACK};

/* The columns of the report. */
struct columns {
    size_t time, allocated, reserved, device, pid;
};

struct sheet {
    const struct nvt_trace *trace;
    const struct nvt_table *table;
    struct columns columns;
    struct nvt_bands bands;
    struct nvt_time_unit unit;
    size_t first[SERIES_MOST]; /* a row of each series */
    size_t count, left_out;
};

static int same_series(const struct sheet *sheet, size_t a, size_t b)
{
    const struct columns *c = &sheet->columns;
    return nvt_table_int(sheet->table, a, c->pid) == nvt_table_int(sheet->table, b, c->pid) &&
           !strcmp(nvt_table_text(sheet->table, a, c->device),
                   nvt_table_text(sheet->table, b, c->device));
}

static size_t series_of(const struct sheet *sheet, size_t row)
{
    for (size_t s = 0; s < sheet->count; s++)
        if (same_series(sheet, sheet->first[s], row))
            return s;
    return SERIES_MOST;
}

static void fill_memory(struct sheet *sheet)
{
    for (size_t row = 0; row < nvt_table_rows(sheet->table); row++) {
        if (series_of(sheet, row) < SERIES_MOST)
            continue;
        if (sheet->count < SERIES_MOST)
            sheet->first[sheet->count++] = row;
        else
            sheet->left_out++;
    }
}

/* A point of the picture: the highest level within it, and the last. */
struct point {
    double time, allocated, reserved;
};

static void put_point(const struct point *most, const struct point *last, FILE *out)
{
    fprintf(out, "%.9g\t%.9g\t%.9g\n", most->time, most->allocated, most->reserved);
    if (last->time > most->time)
        fprintf(out, "%.9g\t%.9g\t%.9g\n", last->time, last->allocated, last->reserved);
}

/* The level that a series has where the picture begins is drawn from its edge on, and its last one to where levels are
 * told. */
static void put_series(const struct sheet *sheet, size_t series, FILE *out)
{
    const struct columns *c = &sheet->columns;
    const double length = (double)(sheet->bands.to - sheet->bands.from) / sheet->unit.ns;
    const double told = (double)(sheet->trace->levels_ns - sheet->bands.from) / sheet->unit.ns;
    struct point most = {-1, 0, 0}, last = {-1, 0, 0};
    double begun = -1; /* the column of the picture that both are in */
    for (size_t row = 0; row < nvt_table_rows(sheet->table); row++) {
        if (series_of(sheet, row) != series)
            continue;
        int64_t time = nvt_table_int(sheet->table, row, c->time);
        const struct point at = {
            fmax(0, (double)(time - sheet->bands.from) / sheet->unit.ns),
            nvt_table_is_null(sheet->table, row, c->allocated)
                ? NAN
                : (double)nvt_table_int(sheet->table, row, c->allocated) / NVT_MEBIBYTE,
            nvt_table_is_null(sheet->table, row, c->reserved)
                ? NAN
                : (double)nvt_table_int(sheet->table, row, c->reserved) / NVT_MEBIBYTE};
        int next = at.time - begun > length / POINTS;
        if (next && most.time >= 0)
            put_point(&most, &last, out);
        begun = next ? at.time : begun;
        if (next || at.time <= 0 || at.allocated > most.allocated)
            most = at;
        last = at;
    }
    if (most.time >= 0) {
        put_point(&most, &last, out);
        last.time = fmin(length, fmax(told, last.time));
        put_point(&last, &last, out);
    }
}

static void put_memory_data(const struct nvt_chart_request *request, const void *what,
                            const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    (void)request;
    (void)name;
    fprintf(out, "# time_%s allocated_MiB reserved_MiB; a block a device\n", sheet->unit.name);
    for (size_t s = 0; s < sheet->count; s++) {
        fprintf(out, "%s# s%zu\n", s ? "\n\n" : "", s);
        put_series(sheet, s, out);
    }
}

/* Whether anything is known of what a series has reserved. */
static int has_reserved(const struct sheet *sheet, size_t series)
{
    return !nvt_table_is_null(sheet->table, sheet->first[series], sheet->columns.reserved);
}

static void put_memory_keys(const struct sheet *sheet, struct nvt_frame *frame)
{
    char text[300], whose[NVT_LABEL_SIZE(40)];
    int any_reserved = 0;
    for (size_t s = 0; s < sheet->count; s++) {
        const char *device = nvt_table_text(sheet->table, sheet->first[s], sheet->columns.device);
        nvt_label_cut(device, 40, whose, sizeof(whose));
        size_t length = strlen(whose);
        if (*whose == '(' && whose[length - 1] == ')') /* it has a number alone */
            snprintf(text, sizeof(text), "device %.*s, allocated", (int)length - 2, whose + 1);
        else
            snprintf(text, sizeof(text), "%s, allocated", whose);
        if (sheet->count > 1)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), ", PID %lld",
                     (long long)nvt_table_int(sheet->table, sheet->first[s], sheet->columns.pid));
        nvt_frame_key(frame, NVT_KEY_LINE, colors[s], 1, 0, text);
        any_reserved |= has_reserved(sheet, s);
    }
    if (any_reserved)
        nvt_frame_key(frame, NVT_KEY_LINE, "#555555", 3, 0, "reserved");
    nvt_bands_keys(&sheet->bands, sheet->trace, frame);
}

static void put_memory_script(const struct nvt_chart_request *request, const void *what,
                              const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    const char *separator = "plot ";
    char text[NVT_FRAME_TEXT];
    snprintf(text, sizeof(text), "Memory over time: %s",
             nvt_label_file(sheet->trace->path, (char[NVT_LABEL_FILE]){0}));
    struct nvt_frame frame = nvt_frame_new(request, name, text);
    put_memory_keys(sheet, &frame);
    snprintf(text, sizeof(text), "Not shown, of further devices: %s.",
             NVT_COUNTED((double)sheet->left_out, "event", "events"));
    nvt_frame_note(&frame, sheet->left_out ? text : "");
    nvt_frame_provenance(&frame, "", nvt_table_provenance(sheet->table));
    nvt_frame_open(&frame, 190, out);
    nvt_frame_y_label(&frame, 0, "memory (MiB)", out);
    nvt_bands_put(&sheet->bands, sheet->unit.ns, out);
    fprintf(out, "set xrange [0:%.9g]\nset yrange [0:*<1e12]\nset xlabel 'time (%s)'\n",
            (double)(sheet->bands.to - sheet->bands.from) / sheet->unit.ns, sheet->unit.name);
    for (size_t s = 0; s < sheet->count; s++)
        for (int column = has_reserved(sheet, s) ? 3 : 2; column >= 2; column--) {
            fprintf(out, "%s'%s.dat' index 's%zu' using 1:%d with steps", separator, name, s,
                    column);
            nvt_frame_style(NVT_KEY_LINE, colors[s], column == 3 ? 3 : 1, 0, out);
            separator = ", \\\n     ";
        }
    putc('\n', out);
    nvt_frame_close(&frame, out);
}

/* Where the picture begins and ends: ranges and operations too, so that phases are seen whole. */
static int draw_memory_trace(const struct nvt_chart_request *request, size_t index,
                             struct nvt_error *err)
{
    struct nvt_input_trace *from = &request->input->traces[index];
    struct nvt_input one = {.traces = from, .trace_count = 1};
    struct nvt_tables tables = {0};
    const struct nvt_report *report = nvt_report_find("memory_timeline");
    char name[NAME_LONGEST], base[NAME_LONGEST - 16];
    int status = nvt_report_make(report, &one, &tables, err);
    if (!status && nvt_table_rows(tables.items[0])) {
        const struct nvt_table *table = tables.items[0];
        struct sheet sheet = {
            .trace = from->trace,
            .table = table,
            .columns = {nvt_table_find(table, "Time (ns)"),
                        nvt_table_find(table, "Allocated (bytes)"),
                        nvt_table_find(table, "Reserved (bytes)"), nvt_table_find(table, "Device"),
                        nvt_table_find(table, "PID")},
            .bands = nvt_bands_of(from->trace, from->trace->first_ns, from->trace->last_ns)};
        sheet.unit = nvt_time_unit_for((double)(sheet.bands.to - sheet.bands.from));
        fill_memory(&sheet);
        nvt_chart_trace_name(request->input, index, base, sizeof(base));
        snprintf(name, sizeof(name), "%s-memory", base);
        if (sheet.bands.to > sheet.bands.from)
            status = nvt_chart_draw(request, name, put_memory_data, put_memory_script, &sheet, err);
    }
    nvt_tables_free(&tables);
    nvt_buffer_free(&one.notes);
    return status;
}

static int draw_memory(const struct nvt_chart_request *request, struct nvt_error *err)
{
    struct nvt_input *input = request->input;
    int status = input->trace_count ? 0 : nvt_input_traces(input, err);
    for (size_t i = 0, own = 0, drawn = 0; i < input->trace_count && !status; i++) {
        own += nvt_input_is_own(&input->traces[i]) != 0;
        if (drawn == TRACES_MOST || !input->traces[i].trace->memory.count ||
            (nvt_input_is_own(&input->traces[i]) && own > NVT_CHART_TRACES))
            continue;
        status = draw_memory_trace(request, i, err);
        drawn++;
    }
    return status;
}

/* Traces of a directory are read when they are drawn: only those of a device have such events. */
static int memory_fits(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (input->traces[i].trace->memory.count)
            return 1;
    const struct nvt_record *record;
    for (size_t i = 0; !input->trace_count && (record = nvt_input_record_of(input, NULL, &i));) {
        const char *backend = nvt_record_text(record, "backend");
        if (nvt_record_text(record, "trace") && backend && !strcmp(backend, "cuda"))
            return 1;
    }
    return 0;
}

const struct nvt_chart nvt_chart_memory = {
    .name = "memory",
    .about = "what was allocated and reserved over time, in front of the phases",
    .part = NVT_CHART_MEMORY,
    .fits = memory_fits,
    .draw = draw_memory,
};
