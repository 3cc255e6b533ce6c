/*
 * mpi: what the ranks of a job do with their time, a bar each: outside of MPI, in messages, in collectives, in waits and in
 * other calls. Ranks that are early wait in collectives and messages for those that are late.
 */
#include "../../analyze/reports/report.h"
#include "../chart.h"

#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "../gnuplot.h"

#define BARS_MAX 64

enum { PARTS = 5 };

/* Columns of the report mpi_ranks, in the order in which they are drawn; the first is what is left. */
static const struct {
    const char *column, *key, *color;
} parts[PARTS] = {{NULL, "outside of MPI", "#C5CFD8"},
                  {"Point-to-Point (ns)", "messages", NVT_BLUE},
                  {"Collectives (ns)", "collectives", NVT_RED},
                  {"Wait Calls (ns)", "MPI_Wait calls", NVT_YELLOW},
                  {"Other (ns)", "other calls", NVT_PURPLE}};

struct bars {
    const struct nvt_table *table;
    size_t count; /* that are drawn */
    double longest;
    struct nvt_time_unit unit;
};

static double value(const struct bars *bars, size_t row, const char *column)
{
    return (double)nvt_table_int(bars->table, row, nvt_table_find(bars->table, column));
}

/* A call may last longer than what is known of the rank. */
static double outside(const struct bars *bars, size_t row)
{
    double left = value(bars, row, "Span (ns)") - value(bars, row, "In MPI (ns)");
    return left > 0 ? left : 0;
}

/* Threads that are in MPI at once have more time together than their rank: its time is shared among them. */
static double part_of(const struct bars *bars, size_t row, size_t part)
{
    double sum = 0;
    for (size_t i = 1; i < PARTS; i++)
        sum += value(bars, row, parts[i].column);
    double in_mpi = value(bars, row, "In MPI (ns)");
    if (!part)
        return outside(bars, row);
    return value(bars, row, parts[part].column) * (sum > in_mpi ? in_mpi / sum : 1);
}

/* Of a rank whose number is not known, its process. */
static void put_mpi_label(const struct bars *bars, size_t row, FILE *out)
{
    size_t rank = nvt_table_find(bars->table, "Rank");
    int is_known = !nvt_table_is_null(bars->table, row, rank);
    fprintf(out, "%s%lld", is_known ? "rank " : "process ",
            (long long)nvt_table_int(bars->table, row,
                                     is_known ? rank : nvt_table_find(bars->table, "PID")));
}

/* Where each part of a bar begins and ends, and the bar's label and share in MPI. */
static void put_mpi_data(const struct nvt_chart_request *request, const void *what,
                         const char *name, FILE *out)
{
    const struct bars *bars = what;
    (void)request;
    (void)name;
    fprintf(out, "# begin_%s\tend_%s\tbar\tlabel\tin MPI (%%)\n", bars->unit.name, bars->unit.name);
    for (size_t part = 0; part < PARTS; part++) {
        fprintf(out, "%s# %s\n", part ? "\n\n" : "", parts[part].key);
        for (size_t row = 0; row < bars->count; row++) {
            double begin = 0;
            for (size_t before = 0; before < part; before++)
                begin += part_of(bars, row, before);
            fprintf(out, "%.9g\t%.9g\t%zu\t", begin / bars->unit.ns,
                    (begin + part_of(bars, row, part)) / bars->unit.ns, row);
            put_mpi_label(bars, row, out);
            double all = outside(bars, row) + value(bars, row, "In MPI (ns)");
            fprintf(out, "\t%.1f\n", all > 0 ? 100 * value(bars, row, "In MPI (ns)") / all : 0);
        }
    }
}

static void put_mpi_script(const struct nvt_chart_request *request, const void *what,
                           const char *name, FILE *out)
{
    const struct bars *bars = what;
    char text[NVT_FRAME_TEXT];
    struct nvt_frame frame = nvt_frame_new(request, name, "Time of ranks in MPI");
    frame.left = frame.right = 16;
    for (size_t part = 0; part < PARTS; part++)
        nvt_frame_key(&frame, NVT_KEY_BOX, parts[part].color, 1, 0, parts[part].key);
    nvt_frame_note(&frame,
                   "From MPI_Init to MPI_Finalize, as far as calls say, and the share in MPI.");
    snprintf(text, sizeof(text), "%zu more ranks are not shown.",
             nvt_table_rows(bars->table) - bars->count);
    if (nvt_table_rows(bars->table) > bars->count)
        nvt_frame_note(&frame, text);
    nvt_frame_provenance(&frame, "", nvt_table_provenance(bars->table));
    nvt_frame_open(&frame, 34 * (int)bars->count + 30, out);
    fprintf(out,
            "set datafile separator '\\t'\nset border 1\nunset ytics\nset grid noytics\n"
            "set xlabel 'time (%s)'\nset xrange [0:%.9g]\nset yrange [%zu:0]\nplot ",
            bars->unit.name, bars->longest / bars->unit.ns * 1.02, bars->count);
    for (size_t part = 0; part < PARTS; part++)
        fprintf(out,
                "'%s.dat' index '%s' using 1:($3+0.7):1:2:($3+0.48):($3+0.92) with boxxyerror "
                "fillstyle solid noborder fillcolor '%s', \\\n     ",
                name, parts[part].key, parts[part].color);
    fprintf(out,
            "'%s.dat' index '%s' using (0):($3+0.25):(sprintf('%%s · %%.1f %%%% in MPI', "
            "stringcolumn(4), $5)) with labels left font ',12'\n",
            name, parts[0].key);
    nvt_frame_close(&frame, out);
}

static int draw_mpi(const struct nvt_chart_request *request, struct nvt_error *err)
{
    struct nvt_tables tables = {0};
    char name[200];
    int status = nvt_report_make(&nvt_report_mpi_ranks, request->input, &tables, err);
    struct bars bars = {.table = status ? NULL : tables.items[0]};
    size_t rows = bars.table ? nvt_table_rows(bars.table) : 0;
    bars.count = rows < BARS_MAX ? rows : BARS_MAX;
    for (size_t row = 0; row < bars.count; row++) {
        double all = outside(&bars, row) + value(&bars, row, "In MPI (ns)");
        bars.longest = all > bars.longest ? all : bars.longest;
    }
    bars.unit = nvt_time_unit_for(bars.longest);
    nvt_chart_traces_name(request->input, "mpi", name, sizeof(name));
    if (!status && bars.longest > 0)
        status = nvt_chart_draw(request, name, put_mpi_data, put_mpi_script, &bars, err);
    nvt_tables_free(&tables);
    return status;
}

const struct nvt_chart nvt_chart_mpi = {
    .name = "mpi",
    .about = "the time of each rank, in MPI calls and outside of them",
    .part = NVT_CHART_TIME,
    .fits = nvt_input_has_mpi,
    .draw = draw_mpi,
};
