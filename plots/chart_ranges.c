/*
 * ranges: where the time of a trace went: the NVTX ranges with the most total time as bars, with
 * the total, its share and how often the range ran. Nested ranges count within those around them,
 * so shares can exceed 100 % together.
 */
#include "chart.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/text.h"
#include "gnuplot.h"

#define BARS_MAX  20
#define LABEL_MAX 52 /* characters of a name */

/* A file name of a trace's own: its base name without suffix, odd characters as '_'. */
static void chart_name(const char *path, char *name, size_t size)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t length = strcspn(base, ".");
    if (!length || length > 100)
        length = length ? 100 : strlen(base) < 100 ? strlen(base) : 100;
    snprintf(name, size, "%.*s-ranges", (int)length, base);
    for (char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at) && *at != '-' && *at != '_')
            *at = '_';
}

/* A name as a field of the data file: one line, no tab, no quote, at most LABEL_MAX characters. */
static void put_label(const char *text, FILE *out)
{
    size_t left = LABEL_MAX;
    for (uint32_t character; left && (character = nvt_utf8_next(&text)) != 0; left--) {
        if (character < 0x20)
            character = ' ';
        if (character == '"' || character == '\'')
            character = 0x2019;
        if (character == '\\')
            character = '/';
        nvt_utf8_write(nvt_char_visible(character), out);
    }
    fputs(!left && *text ? "…" : "", out);
}

struct unit {
    const char *name;
    double ns;
};

static struct unit unit_for(double ns)
{
    static const struct unit units[] = {{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (ns >= units[i].ns)
            return units[i];
    return (struct unit){"ns", 1};
}

static size_t put_data(const struct nvt_table *table, struct unit unit, FILE *out)
{
    size_t total = nvt_table_find(table, "Total Time (ns)"),
           share = nvt_table_find(table, "Time (%)");
    size_t instances = nvt_table_find(table, "Instances"), name = nvt_table_find(table, "Range");
    size_t bars = nvt_table_rows(table) < BARS_MAX ? nvt_table_rows(table) : BARS_MAX;
    fprintf(out, "# total_%s\tpercent\tinstances\trange\n", unit.name);
    for (size_t row = 0; row < bars; row++) {
        fprintf(out, "%.9g\t%.1f\t%lld\t", nvt_table_real(table, row, total) / unit.ns,
                nvt_table_real(table, row, share), (long long)nvt_table_int(table, row, instances));
        put_label(nvt_table_text(table, row, name), out);
        putc('\n', out);
    }
    return bars;
}

static void put_title(const struct nvt_trace *trace, const struct nvt_table *table, FILE *out)
{
    const struct nvt_provenance *from = nvt_table_provenance(table);
    const char *slash = strrchr(trace->path, '/');
    char text[600];
    snprintf(text, sizeof(text), "NVTX ranges of %s by total time",
             slash ? slash + 1 : trace->path);
    fputs("set label 2 ", out);
    nvt_gnuplot_text(text, 90, out);
    snprintf(text, sizeof(text), "%s%s%s%s%s", from->backend ? from->backend : "",
             from->backend ? " · " : "", from->device ? from->device : "",
             from->device ? " · " : "", from->date ? from->date : "");
    fputs(" at screen 0.5,graph 1 center offset 0,1.2 font ',15' noenhanced\nset label 1 ", out);
    nvt_gnuplot_text(text, 130, out);
    fputs(" at screen 0.5,screen 0.03 center font ',10' textcolor '#555555' noenhanced\n", out);
}

static void put_script(const struct nvt_chart_request *request, const struct nvt_trace *trace,
                       const struct nvt_table *table, const char *name, struct unit unit,
                       size_t bars, FILE *out)
{
    double longest = nvt_table_real(table, 0, nvt_table_find(table, "Total Time (ns)")) / unit.ns;
    int height = 150 + 26 * (int)bars;
    nvt_gnuplot_terminal(request->format, 960, height, name, out);
    put_title(trace, table, out);
    fprintf(
        out,
        "set datafile separator '\\t'\nunset key\nset border 1 linecolor '#555555'\n"
        "set lmargin at screen 0.4\nset rmargin at screen 0.97\n"
        "set bmargin at screen %.3f\nset tmargin at screen %.3f\n"
        "set tics nomirror textcolor '#333333'\nset ytics scale 0 noenhanced\n"
        "set grid xtics linecolor '#dddddd' linetype 1 linewidth 0.5\n"
        "set xlabel 'total time (%s)'\nset xrange [0:%.9g]\nset yrange [%.1f:-0.6]\n"
        "plot '%s.dat' using (0):0:(0):1:($0-0.36):($0+0.36):yticlabels(4) with boxxyerror "
        "fillstyle solid noborder fillcolor '%s', \\\n"
        "     '' using 1:0:(sprintf('%%.4g %s · %%.1f %%%% · %%d×', $1, $2, int($3))) with labels "
        "left offset 0.7,0 font ',10'\n"
        "unset output\n",
        85.0 / height, 1 - 50.0 / height, unit.name, longest > 0 ? longest * 1.55 : 1,
        (double)bars - 0.4, name, NVT_SKY, unit.name);
}

static int draw_trace(const struct nvt_chart_request *request, const struct nvt_trace *trace,
                      const struct nvt_table *table, struct nvt_error *err)
{
    char name[128];
    chart_name(trace->path, name, sizeof(name));
    struct unit unit = unit_for(nvt_table_real(table, 0, nvt_table_find(table, "Total Time (ns)")));
    FILE *data = nvt_chart_open(request, name, "dat", err);
    if (!data)
        return -1;
    size_t bars = put_data(table, unit, data);
    if (nvt_chart_close(data, name, err))
        return -1;
    FILE *script = nvt_chart_open(request, name, "gp", err);
    if (!script)
        return -1;
    put_script(request, trace, table, name, unit, bars, script);
    if (nvt_chart_close(script, name, err))
        return -1;
    return nvt_chart_render(request, name, err);
}

/* The command takes one input, so there is one trace. */
static int draw(const struct nvt_chart_request *request, struct nvt_error *err)
{
    struct nvt_tables tables = {0};
    int status = nvt_report_nvtx_sum.make(request->input, &tables, err);
    if (!status && nvt_table_rows(tables.items[0]))
        status = draw_trace(request, request->input->traces[0].trace, tables.items[0], err);
    else if (!status)
        status = nvt_fail(err, "no range of the trace ended: there is nothing to draw");
    nvt_tables_free(&tables);
    return status;
}

static int fits(const struct nvt_report_input *input)
{
    return input->trace_count == 1 && !input->run_count && input->traces[0].trace->ranges.count > 0;
}

const struct nvt_chart nvt_chart_ranges = {
    .name = "ranges",
    .about = "the NVTX ranges of a trace with the most total time",
    .part = NVT_CHART_TIME,
    .fits = fits,
    .draw = draw,
};
