/*
 * phases: time of each phase of runs that have no chart of their own (linear layers without fragments among them), the median with
 * a bar from the shortest iteration to the longest; a row a configuration, a mark a phase, a sheet for each thirty rows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../analyze/studies/fragments.h"
#include "../chart.h"
#include "../frame.h"
#include "../gnuplot.h"
#include "../label.h"
#include "../studied.h"
#include "../../lib/words.h"

enum { SHEET_ROWS = 30, PHASES = 3, NAME_LONGEST = 400, FAILED_MOST = 3 };

#define LOG_RATIO 15

static const struct nvt_series phases[PHASES] = {{"forward", "forward", NVT_SKY, 7},
                                                 {"backward", "backward", NVT_ORANGE, 5},
                                                 {"optimizer", "optimizer", NVT_GREEN, 9}};

struct row {
    char name[NAME_LONGEST];
    struct nvt_spread times[PHASES];
    const char *status; /* of one that did not end well, else NULL */
};

/* Of a directory: those that are drawn, and behind them those that did not end well. */
struct rows {
    struct row *items;
    size_t count, failed;
};

/* Of all directories. */
struct source {
    struct nvt_studied studied;
    struct nvt_fragment_row *fragments; /* what the fragment study shows, among others */
    size_t fragment_count;
};

struct sheet {
    const struct source *source;
    const struct nvt_runs *runs;
    const struct rows *all;
    const struct row *rows; /* of them */
    size_t count;
    struct nvt_time_unit unit;
    struct nvt_extent extent; /* ns, with the bars */
};

/* Whether fragments were measured with the size and batch of a record: they have a sheet then. */
static int has_fragments(const struct source *source, const struct nvt_record *record)
{
    double size = nvt_record_number(record, "size"), batch = nvt_record_number(record, "batch");
    for (size_t i = 0; i < source->fragment_count; i++) {
        const struct nvt_fragment_row *row = &source->fragments[i];
        if (row->fragments && nvt_fragment_ok(row) && (double)row->size == size &&
            (double)row->batch == batch)
            return 1;
    }
    return 0;
}

/* Whether a record is in another chart. */
static int has_own(const struct source *source, const char *workload,
                   const struct nvt_record *record)
{
    if (!strcmp(workload, "linear") || !strcmp(workload, "fragmented"))
        return has_fragments(source, record);
    return !strcmp(workload, "switchback") || !strcmp(workload, "gpipe");
}

/* Append "key=value" unless the configuration has it, as a published one may. */
static void add_word(struct row *row, const char *key, const char *value)
{
    char word[64];
    size_t used = strlen(row->name);
    snprintf(word, sizeof(word), " %s=", key);
    if (value && !strstr(row->name, word))
        snprintf(row->name + used, sizeof(row->name) - used, "%s%.12s", word, value);
}

/* Whether it has times, or a status that says why not; a row of neither, or of another chart, is none. */
static int read_row(const struct source *source, const struct nvt_record *record, struct row *row)
{
    const char *workload = nvt_record_text(record, "workload");
    const char *status = nvt_record_text(record, "status");
    char key[64], *configuration;
    int any = 0;
    if (!workload || has_own(source, workload, record))
        return 0;
    *row = (struct row){.status = status && strcmp(status, "ok") ? status : NULL};
    for (int i = 0; i < PHASES; i++) {
        snprintf(key, sizeof(key), "%s_ns", phases[i].block);
        row->times[i] = nvt_spread_of(record, key);
        any |= row->times[i].at > 0;
    }
    row->status = any ? NULL : row->status;
    configuration = any || row->status ? nvt_record_configuration(record) : NULL;
    if (configuration) {
        snprintf(row->name, sizeof(row->name), "%.40s %.300s", workload, configuration);
        add_word(row, "warmup", nvt_record_text(record, "warmup"));
        add_word(row, "collect", nvt_record_text(record, "collect"));
    }
    free(configuration);
    return any || row->status;
}

/* What tells a row apart from all of the directory's, drawn or not. */
static const char *name_of(const void *rows, size_t index)
{
    return ((const struct rows *)rows)->items[index].name;
}

static struct nvt_words words_of(const struct sheet *sheet)
{
    return (struct nvt_words){sheet->all, sheet->all->count + sheet->all->failed, name_of};
}

/* The words of a row alone are all common: they stand below, and its workload here. */
static void put_phases_label(const struct sheet *sheet, const struct row *row, FILE *out)
{
    const struct nvt_words words = words_of(sheet);
    char text[NAME_LONGEST];
    if (words.count < 2 || !nvt_words_pick(&words, row->name, 0, text, sizeof(text)))
        snprintf(text, sizeof(text), "%.*s", (int)strcspn(row->name, " "), row->name);
    char label[NAME_LONGEST];
    nvt_label_ends(text, NVT_LABEL_ROW, label, sizeof(label));
    nvt_gnuplot_text(label, sizeof(label), out);
}

/* "Not drawn: size=2.7B (oom)." */
static void put_failed(const struct sheet *sheet, struct nvt_frame *frame)
{
    const struct nvt_words words = words_of(sheet);
    const struct row *failed = sheet->all->items + sheet->all->count;
    char text[NVT_FRAME_TEXT], name[100];
    size_t used = 0, i = 0;
    for (; i < sheet->all->failed && i < FAILED_MOST; i++) {
        if (!nvt_words_pick(&words, failed[i].name, 0, name, sizeof(name)))
            snprintf(name, sizeof(name), "%.*s", (int)strcspn(failed[i].name, " "), failed[i].name);
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.60s (%.12s)",
                                 i ? ", " : "Not drawn: ", name, failed[i].status);
    }
    if (i < sheet->all->failed)
        used += (size_t)snprintf(text + used, sizeof(text) - used, " and %zu more",
                                 sheet->all->failed - i);
    if (used)
        snprintf(text + used, sizeof(text) - used, ".");
    nvt_frame_note(frame, used ? text : "");
}

static void measure_phases(struct sheet *sheet)
{
    struct nvt_extent extent = nvt_extent_new();
    for (size_t i = 0; i < sheet->count * PHASES; i++)
        nvt_extent_add_spread(&extent, &sheet->rows[i / PHASES].times[i % PHASES]);
    sheet->extent = extent;
    sheet->unit = nvt_time_unit_for(sheet->extent.most);
}

static void put_point(const struct nvt_spread *time, double unit, double place, FILE *out)
{
    if (!(time->at > 0))
        return;
    fprintf(out, "%.9g\t", time->at / unit);
    if (time->low > 0)
        fprintf(out, "%.9g\t%.9g\t%.2f\n", time->low / unit, time->high / unit, place);
    else
        fprintf(out, "NaN\tNaN\t%.2f\n", place);
}

static void put_phases_data(const struct nvt_chart_request *request, const void *what,
                            const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    (void)request;
    (void)name;
    fprintf(out, "# median_%s least_%s most_%s place; a block a phase\n", sheet->unit.name,
            sheet->unit.name, sheet->unit.name);
    for (int p = 0; p < PHASES; p++) {
        fprintf(out, "%s# %s\n", p ? "\n\n" : "", phases[p].block);
        for (size_t i = 0; i < sheet->count; i++)
            put_point(&sheet->rows[i].times[p], sheet->unit.ns, (double)i + 0.56 + 0.16 * p, out);
    }
}

/* The phases that some row has; how many. */
static size_t shown_phases(const struct sheet *sheet, struct nvt_series shown[PHASES])
{
    size_t count = 0;
    for (int p = 0; p < PHASES; p++)
        for (size_t i = 0; i < sheet->count; i++)
            if (sheet->rows[i].times[p].at > 0) {
                shown[count++] = phases[p];
                break;
            }
    return count;
}

static void put_phases_frame(const struct sheet *sheet, struct nvt_frame *frame)
{
    const struct nvt_words words = words_of(sheet);
    struct nvt_provenance from = nvt_runs_provenance(sheet->runs);
    char text[NVT_FRAME_TEXT];
    unsigned kinds = 0;
    frame->left = frame->right = 20;
    for (size_t i = 0; i < sheet->count; i++)
        for (int p = 0; p < PHASES; p++)
            kinds |= nvt_spread_kinds(&sheet->rows[i].times[p]);
    nvt_studied_spread_notes(&sheet->source->studied, kinds, frame);
    put_failed(sheet, frame);
    if (nvt_words_pick(&words, sheet->rows[0].name, 1, text, sizeof(text)))
        nvt_frame_note(frame, text);
    nvt_frame_provenance(frame, "", &from);
}

/* A row's name stands above its points. */
static void put_phases_script(const struct nvt_chart_request *request, const void *what,
                              const char *name, FILE *out)
{
    const struct sheet *sheet = what;
    struct nvt_frame frame = nvt_frame_new(request, name, "Time of each phase");
    struct nvt_series shown[PHASES];
    size_t series = shown_phases(sheet, shown);
    nvt_frame_series_keys(&frame, shown, series);
    put_phases_frame(sheet, &frame);
    nvt_frame_open(&frame, 46 * (int)sheet->count, out);
    int is_log = nvt_frame_scale('x', &sheet->extent, sheet->unit.ns, LOG_RATIO, out);
    fprintf(out,
            "set border 1\nunset ytics\nset grid noytics\n"
            "set xlabel 'time (%s)%s'\nset yrange [%zu:0]\n",
            sheet->unit.name, is_log ? ", log scale" : "", sheet->count);
    for (size_t i = 0; i < sheet->count; i++) {
        fprintf(out, "set label %zu ", i + 1);
        put_phases_label(sheet, &sheet->rows[i], out);
        fprintf(out, " at graph 0,first %.2f left noenhanced font ',12'\n", (double)i + 0.24);
    }
    nvt_frame_series_spread(name, "4", shown, series, out);
    nvt_frame_close(&frame, out);
}

/* The rows of a directory, drawn ones first. */
static int read_rows(const struct source *source, const struct nvt_runs *runs, struct rows *rows)
{
    struct row row;
    *rows = (struct rows){.items = calloc(runs->count + 1, sizeof(*rows->items))};
    for (int failed = 0; rows->items && failed < 2; failed++)
        for (size_t i = 0; i < runs->count; i++) {
            if (!read_row(source, &runs->records[i], &row) || !row.status != !failed)
                continue;
            rows->items[rows->count + rows->failed] = row;
            *(failed ? &rows->failed : &rows->count) += 1;
        }
    return rows->items ? 0 : -1;
}

static int draw_runs(const struct nvt_chart_request *request, const struct source *source,
                     const struct nvt_runs *runs, size_t *number, struct nvt_error *err)
{
    struct rows rows;
    int status = read_rows(source, runs, &rows) ? nvt_fail(err, "out of memory") : 0;
    for (size_t first = 0; first < rows.count && !status; first += SHEET_ROWS) {
        struct sheet sheet = {
            .source = source, .runs = runs, .all = &rows, .rows = rows.items + first};
        char name[32];
        sheet.count = rows.count - first < SHEET_ROWS ? rows.count - first : SHEET_ROWS;
        measure_phases(&sheet);
        snprintf(name, sizeof(name), "phases-%zu", ++*number);
        status = nvt_chart_draw(request, name, put_phases_data, put_phases_script, &sheet, err);
    }
    free(rows.items);
    return status;
}

static void close_source(struct source *source)
{
    nvt_studied_free(&source->studied);
    free(source->fragments);
}

/* To be closed after a failure as well. */
static int open_source(struct source *source, const struct nvt_input *input, struct nvt_error *err)
{
    *source = (struct source){0};
    if (nvt_studied_of(input, NVT_STUDIED_WARMUPS, &source->studied, err))
        return -1;
    source->fragments =
        nvt_fragment_rows(input->runs, input->run_count, &source->fragment_count, err);
    return source->fragments ? 0 : -1;
}

static int draw_phases(const struct nvt_chart_request *request, struct nvt_error *err)
{
    struct source source;
    size_t number = 0;
    int status = open_source(&source, request->input, err);
    for (size_t i = 0; i < source.studied.input.run_count && !status; i++)
        status = draw_runs(request, &source, source.studied.input.runs[i], &number, err);
    close_source(&source);
    return status;
}

static int phases_fits(const struct nvt_input *input)
{
    struct source source;
    struct row row;
    int any = 0, failed = open_source(&source, input, NULL);
    for (size_t i = 0; i < input->run_count && !failed; i++)
        for (size_t k = 0; k < input->runs[i]->count && !any; k++)
            any = read_row(&source, &input->runs[i]->records[k], &row) && !row.status;
    close_source(&source);
    return any;
}

const struct nvt_chart nvt_chart_phases = {
    .name = "phases",
    .about = "time of each phase of runs that have no chart of their own",
    .fits = phases_fits,
    .draw = draw_phases,
};
