/*
 * counters: the levels of a trace's NVTX counters over time, a panel each, with the phases behind. A counter whose
 * samples say how much more there is shows what they have come to.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../analyze/model/counters.h"
#include "../bands.h"
#include "../chart.h"
#include "../frame.h"
#include "../gnuplot.h"
#include "../label.h"

#define PANELS_MOST  8
#define POINTS       600 /* of a panel: more than it has columns */
#define NAME_LONGEST 128
#define ALONE        170 /* height of a panel, and of one among several */
#define AMONG        84

struct sheet {
    const struct nvt_trace *trace;
    struct nvt_counter_courses courses;
    const struct nvt_counter_course *panels[PANELS_MOST];
    size_t count, left_out; /* of counters that have samples */
    struct nvt_bands bands;
    struct nvt_time_unit unit;
};

/* What is sampled beside the program is much, and of interest where it changes; of a process its resident memory. */
static int is_flat(const struct sheet *sheet, const struct nvt_counter_course *course)
{
    const struct nvt_counters *counters = &sheet->trace->counters;
    double lowest, highest;
    if (!nvt_is_sampled_counter(sheet->trace, course->counter))
        return 0;
    if (counters->is_of_process[course->counter] &&
        nvt_process_counter(sheet->trace, counters->process[course->counter],
                            NVT_MACHINE_RESIDENT) != course->counter)
        return 1;
    nvt_course_bounds(course, 0, course->count, &lowest, &highest);
    return lowest == highest;
}

static void choose_panels(struct sheet *sheet)
{
    for (uint32_t i = 0; i < sheet->courses.count; i++) {
        if (!sheet->courses.items[i].count || is_flat(sheet, &sheet->courses.items[i]))
            continue;
        if (sheet->count < PANELS_MOST)
            sheet->panels[sheet->count++] = &sheet->courses.items[i];
        else
            sheet->left_out++;
    }
}

static void put_point(const struct sheet *sheet, int64_t time, double level, FILE *out)
{
    double at = (double)(time - sheet->bands.from) / sheet->unit.ns;
    fprintf(out, "%.9g\t%.9g\n", fmax(0, at), level);
}

/* Where there are more samples than columns, a column has its first, lowest, highest and last one. */
static void put_course(const struct sheet *sheet, const struct nvt_counter_course *course,
                       FILE *out)
{
    int64_t from = sheet->bands.from, to = sheet->bands.to;
    uint32_t at = nvt_course_until(course, from), end = nvt_course_until(course, to);
    at -= at > 0; /* the level that it has where the picture begins */
    double width = (double)(to - from) / POINTS;
    while (at < end) {
        int64_t column =
            from + (int64_t)(floor((double)(course->time[at] - from) / width + 1) * width);
        uint32_t next = nvt_course_until(course, column);
        double lowest, highest;
        next = next > at ? next : at + 1;
        next = next < end ? next : end;
        nvt_course_bounds(course, at, next, &lowest, &highest);
        put_point(sheet, course->time[at], course->level[at], out);
        if (next - at > 3) {
            put_point(sheet, course->time[at + 1], lowest, out);
            put_point(sheet, course->time[next - 2], highest, out);
        }
        for (uint32_t i = next - at > 3 ? next - 1 : at + 1; i < next; i++)
            put_point(sheet, course->time[i], course->level[i], out);
        at = next;
    }
    /* What it was until the end; behind a window nobody knows. */
    if (end && sheet->trace->levels_ns > course->time[end - 1])
        put_point(sheet, to < sheet->trace->levels_ns ? to : sheet->trace->levels_ns,
                  course->level[end - 1], out);
}

static void put_counters_data(const struct nvt_chart_request *request, const void *what,
                              const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    (void)request;
    (void)name;
    fprintf(out, "# time_%s level; a block a counter\n", sheet->unit.name);
    for (size_t i = 0; i < sheet->count; i++) {
        fprintf(out, "%s# c%zu\n", i ? "\n\n" : "", i);
        put_course(sheet, sheet->panels[i], out);
    }
}

/* The lowest and the highest level in the picture; of one that never changes, zero is one of them. */
static void find_bounds(const struct sheet *sheet, const struct nvt_counter_course *course,
                        double *lowest, double *highest)
{
    uint32_t end = nvt_course_until(course, sheet->bands.to);
    nvt_course_bounds(course, 0, end ? end : 1, lowest, highest);
    if (*lowest < *highest)
        return;
    *lowest = fmin(*lowest, 0);
    *highest = fmax(*highest, *lowest < 0 ? 0 : 1);
}

/* The axis from and to whole steps, of which there are few enough for a low panel. */
static void put_scale(double lowest, double highest, int most, FILE *out)
{
    static const double steps[] = {1, 2, 5, 10};
    double power = pow(10, floor(log10((highest - lowest) / most))), step = power;
    for (int i = 0; i < 4 && (highest - lowest) / step > most; i++)
        step = steps[i] * power;
    fprintf(out, "set yrange [%.9g:%.9g]\nset ytics %.9g\n", floor(lowest / step) * step,
            ceil(highest / step) * step, step);
}

static void put_title(const struct sheet *sheet, uint32_t counter, char *title, size_t size)
{
    const struct nvt_counters *counters = &sheet->trace->counters;
    static const char in_all[] = ", in all";
    int is_sum = counters->values[counter] == NVT_COUNTER_DELTA;
    char name[NVT_LABEL_SIZE(120)];
    const char *domain =
        counters->is_of_machine[counter]
            ? nvt_name(sheet->trace, sheet->trace->domains.name[counters->domain[counter]])
            : "";
    nvt_label_cut(nvt_name(sheet->trace, counters->name[counter]), 120, name, sizeof(name));
    snprintf(title, size - sizeof(in_all), "%.40s%s%s", domain, *domain ? ": " : "", name);
    snprintf(title + strlen(title), size - strlen(title), "%s", is_sum ? in_all : "");
}

static void put_counters_panel(const struct sheet *sheet, size_t index,
                               const struct nvt_frame *frame, const char *name, FILE *out)
{
    static const struct {
        double size;
        const char *prefix;
    } scales[] = {{1e12, "10¹² "}, {1e9, "10⁹ "}, {1e6, "10⁶ "}, {1e3, "10³ "}, {1, ""}};
    const struct nvt_counter_course *course = sheet->panels[index];
    const struct nvt_counters *counters = &sheet->trace->counters;
    const char *unit = nvt_name(sheet->trace, counters->unit[course->counter]);
    char title[NVT_LABEL_SIZE(120) + 16], label[300], name_cut[NVT_LABEL_SIZE(30)];
    char unit_cut[NVT_LABEL_SIZE(30)];
    size_t scale = 0;
    double lowest, highest;
    find_bounds(sheet, course, &lowest, &highest);
    while (scales[scale].size > 1 && fmax(fabs(lowest), fabs(highest)) < 10 * scales[scale].size)
        scale++;
    put_title(sheet, course->counter, title, sizeof(title));
    nvt_label_cut(title, 30, name_cut, sizeof(name_cut));
    nvt_label_cut(unit, sheet->count > 1 ? 30 : 20, unit_cut, sizeof(unit_cut));
    snprintf(label, sizeof(label), "%s%s", scales[scale].prefix, unit_cut);
    if (sheet->count == 1) /* there is no room for a title */
        snprintf(label, sizeof(label), "%s%s%s%s", name_cut,
                 *scales[scale].prefix || *unit ? ", " : "", scales[scale].prefix, unit_cut);
    nvt_frame_panel(frame, (int)index, sheet->count > 1 ? title : NULL, out);
    nvt_frame_y_label(frame, (int)index, label, out);
    nvt_bands_put(&sheet->bands, sheet->unit.ns, out);
    put_scale(lowest / scales[scale].size, highest / scales[scale].size, sheet->count > 1 ? 4 : 8,
              out);
    fprintf(out, "set xrange [0:%.9g]\n",
            (double)(sheet->bands.to - sheet->bands.from) / sheet->unit.ns);
    if (index + 1 == sheet->count)
        fprintf(out, "set xlabel 'time (%s)'\n", sheet->unit.name);
    fprintf(out, "plot '%s.dat' index 'c%zu' using 1:($2/%g) with steps", name, index,
            scales[scale].size);
    nvt_frame_style(NVT_KEY_LINE, NVT_BLUE, 1, 0, out);
    putc('\n', out);
}

static void put_counters_script(const struct nvt_chart_request *request, const void *what,
                                const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    char text[NVT_FRAME_TEXT];
    snprintf(text, sizeof(text), "Counters over time: %s",
             nvt_label_file(sheet->trace->path, (char[NVT_LABEL_FILE]){0}));
    struct nvt_frame frame = nvt_frame_new(request, name, text);
    frame.rows = (int)sheet->count;
    nvt_bands_keys(&sheet->bands, sheet->trace, &frame);
    snprintf(text, sizeof(text), "%zu further counters are not shown.", sheet->left_out);
    nvt_frame_note(&frame, sheet->left_out ? text : "");
    nvt_chart_provenance(request->input, &frame);
    nvt_frame_open(&frame, sheet->count > 1 ? AMONG : ALONE, out);
    for (size_t i = 0; i < sheet->count; i++)
        put_counters_panel(sheet, i, &frame, name, out);
    nvt_frame_close(&frame, out);
}

static int draw_counters_trace(const struct nvt_chart_request *request, const char *base,
                               struct nvt_error *err)
{
    const struct nvt_trace *trace = request->input->traces[0].trace;
    struct sheet sheet = {.trace = trace,
                          .bands = nvt_bands_of(trace, trace->first_ns, trace->last_ns)};
    char name[NAME_LONGEST];
    int status = 0;
    /* All of the time, as counters go on; then there may be too many phases to show. */
    if (sheet.bands.all > sheet.bands.count)
        sheet.bands = (struct nvt_bands){.from = trace->first_ns, .to = trace->last_ns};
    if (nvt_counter_courses(trace, &sheet.courses))
        status = nvt_fail_at(err, trace->path, -1, "out of memory");
    sheet.unit = nvt_time_unit_for((double)(sheet.bands.to - sheet.bands.from));
    choose_panels(&sheet);
    snprintf(name, sizeof(name), "%.100s-counters", base);
    if (!status && sheet.count && sheet.bands.to > sheet.bands.from)
        status = nvt_chart_draw(request, name, put_counters_data, put_counters_script, &sheet, err);
    nvt_counter_courses_free(&sheet.courses);
    return status;
}

static int counters_fits(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (input->traces[i].trace->counter_samples.count)
            return 1;
    return 0;
}

const struct nvt_chart nvt_chart_counters = {
    .name = "counters",
    .about = "NVTX counters over time, in front of the phases",
    .part = NVT_CHART_COUNTERS,
    .fits = counters_fits,
    .draw_trace = draw_counters_trace,
};
