/*
 * The tables are those of Python's tabulate, format "grid": numbers as %g, aligned at their decimal
 * point; texts to the left. Between them there is prose, which names the condition: "With 1 warmup
 * step:", "With no warmup", "With profiling nsys". Without such words: five warm-ups, no collector.
 */
#include "transformer.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "published.h"

enum { NAME, FORWARD, FORWARD_STD, BACKWARD, BACKWARD_STD, COLUMNS };
enum { PLAIN_WARMUP = 5 };

static const char *const headings[] = {"Experiment_name", "Forward time", "Forward std",
                                       "backward time", "backward std"};

/* --- reading ---------------------------------------------------------------------------------- */

/* What else tells tables of ours apart, with the values that are not named; the write-up has none.
 */
static const struct {
    const char *key, *usual;
} others[] = {{"precision", "fp32"},
              {"context", "128"},
              {"batch", "4"},
              {"graph", "false"},
              {"phase", "forward_backward"}};
enum { OTHERS = NVT_COUNT_OF(others), WORD_MOST = 32 };

struct condition {
    int warmup;
    char collect[WORD_MOST];
    char other[OTHERS][WORD_MOST]; /* "": the usual */
};

static const struct condition plain = {PLAIN_WARMUP, "off", {""}};

/* The word behind a text in a line, up to a comma or colon. */
static void read_word(const char *line, const char *before, char out[WORD_MOST])
{
    const char *at = strstr(line, before);
    if (!at)
        return;
    at += strlen(before);
    snprintf(out, WORD_MOST, "%.*s", (int)strcspn(at, ",: \t"), at);
}

/* What the prose before a table says. Ours: "With 5 warmup steps, profiled by nsys,
 * precision=bf16:". */
static void read_prose(const char *line, struct condition *condition)
{
    const char *with = strstr(line, "With ");
    char before[WORD_MOST];
    char *end;
    if (!with)
        return;
    if (!strncmp(with, "With no warmup", 14))
        condition->warmup = 0;
    long count = strtol(with + strlen("With "), &end, 10);
    if (end > with + strlen("With ") && !strncmp(end, " warmup", 7) && count >= 0 &&
        count <= INT_MAX)
        condition->warmup = (int)count;
    if (strstr(with, "nsys"))
        snprintf(condition->collect, sizeof(condition->collect), "nsys");
    read_word(with, "profiled by ", condition->collect);
    for (size_t i = 0; i < OTHERS; i++) {
        snprintf(before, sizeof(before), ", %s=", others[i].key);
        read_word(with, before, condition->other[i]);
    }
}

/* The cells of a row, in place. They stand at the end of a line, behind whatever a logger put
 * there. 0, or -1 when there are not as many. */
static int split(char *line, char *cells[COLUMNS])
{
    size_t length = strlen(line);
    while (length && (line[length - 1] == ' ' || line[length - 1] == '\t'))
        length--;
    if (!length || line[length - 1] != '|')
        return -1;
    char *end = line + length - 1;
    for (int column = COLUMNS - 1; column >= 0; column--) {
        *end = 0;
        char *bar = strrchr(line, '|');
        if (!bar)
            return -1;
        char *text = bar + 1 + strspn(bar + 1, " ");
        while (end > text && end[-1] == ' ')
            *--end = 0;
        cells[column] = text;
        end = bar;
    }
    return 0;
}

static int put_row(char *cells[COLUMNS], const double values[COLUMNS],
                   const struct condition *condition, struct nvt_published *out)
{
    struct nvt_json json;
    nvt_json_begin(&json, &out->results);
    nvt_json_text(&json, "workload", "transformer");
    nvt_json_text(&json, "size", cells[NAME]);
    for (size_t i = 0; i < OTHERS; i++)
        if (condition->other[i][0])
            nvt_json_text(&json, others[i].key, condition->other[i]);
    nvt_json_integer(&json, "warmup", condition->warmup);
    nvt_json_text(&json, "collect", condition->collect);
    nvt_published_origin(&json, NULL);
    nvt_json_text(&json, "status", "ok");
    nvt_json_text(&json, "std_divisor", "n");
    nvt_published_time(&json, "forward_ns_mean", values[FORWARD], 1e9);
    nvt_published_time(&json, "forward_ns_std", values[FORWARD_STD], 1e9);
    nvt_published_time(&json, "backward_ns_mean", values[BACKWARD], 1e9);
    nvt_published_time(&json, "backward_ns_std", values[BACKWARD_STD], 1e9);
    out->count++;
    return nvt_json_end(&json);
}

static int read_row(const struct nvt_log *log, char *line, const struct condition *condition,
                    struct nvt_published *out, struct nvt_error *err)
{
    char *cells[COLUMNS];
    double values[COLUMNS];
    int bad = split(line, cells) || !*cells[NAME];
    for (int column = FORWARD; column < COLUMNS && !bad; column++)
        bad = nvt_log_number(cells[column], "", &values[column], NULL) || values[column] > 1e9;
    if (bad && log->unterminated) {
        snprintf(out->note, sizeof(out->note), "the last row was cut and is left out");
        return 0;
    }
    if (bad)
        return nvt_log_fail(log, err, "is no row of a size and four times in seconds");
    return put_row(cells, values, condition, out) ? nvt_fail(err, "out of memory") : 0;
}

/* What the write-up says behind each of its sums. */
static const struct {
    const char *words, *form;
} sums[] = {{"Pure float32", "fp32"},
            {"Pure float16", "fp16"},
            {"Accumulate result in float32", "mixed"},
            {"explicitly casting float16 to float32", "cast"}};

const char *nvt_published_sum_words(const char *form)
{
    for (size_t i = 0; form && i < NVT_COUNT_OF(sums); i++)
        if (!strcmp(form, sums[i].form))
            return sums[i].words;
    return NULL;
}

/* 0.01 a thousand times: "tensor(9.9531, dtype=torch.float16) -> Pure float16. …". Which one is meant, its words
 * say. */
static int read_sum(const char *line, struct nvt_published *out)
{
    const char *at = nvt_log_value(line, "tensor(");
    char *end;
    double sum = at ? strtod(at, &end) : NAN;
    if (!at || end == at || !(sum >= 0 && sum < 1e9))
        return 0;
    for (size_t i = 0; i < NVT_COUNT_OF(sums); i++) {
        struct nvt_json json;
        if (!strstr(end, sums[i].words))
            continue;
        nvt_json_begin(&json, &out->results);
        nvt_json_text(&json, "workload", "accumulate");
        nvt_json_text(&json, "form", sums[i].form);
        nvt_json_integer(&json, "count", 1000);
        nvt_published_origin(&json, NULL);
        nvt_json_text(&json, "status", "ok");
        nvt_json_number(&json, "sum", sum);
        nvt_json_number(&json, "exact_sum", 10);
        out->count++;
        return nvt_json_end(&json);
    }
    return 0;
}

static int is_border(const char *line)
{
    return strstr(line, "+--") || strstr(line, "+==");
}

static size_t bars(const char *line, const char *end)
{
    size_t count = 0;
    for (; *line && line != end; line++)
        count += *line == '|';
    return count;
}

static int read(struct nvt_log *log, struct nvt_published *out, struct nvt_error *err)
{
    struct condition condition = plain;
    size_t of_prefix = 0; /* a logger's own bars */
    int inside = 0;
    for (char *line; (line = nvt_log_next(log));) {
        const char *heading = strstr(line, nvt_layout_transformer.mark);
        int has_cells = bars(line, NULL) > of_prefix;
        if (heading) {
            of_prefix = bars(line, heading);
            for (int column = NAME; column < COLUMNS; column++)
                if (!log->unterminated && !strstr(line, headings[column]))
                    return nvt_log_fail(log, err, "has no column '%s'", headings[column]);
            inside = 1;
        } else if (inside && has_cells && !is_border(line)) {
            if (read_row(log, line, &condition, out, err))
                return -1;
        } else if (!is_border(line)) {
            /* The condition of a table holds until its end. */
            if (inside)
                condition = plain;
            inside = 0;
            read_prose(line, &condition);
            if (read_sum(line, out))
                return nvt_fail(err, "out of memory");
        }
    }
    return 0;
}

static const char *matches(const struct nvt_record *ours, const struct nvt_record *theirs)
{
    const char *collect = nvt_record_text(theirs, "collect");
    int profiled = collect && !strcmp(collect, "nsys");
    if (!nvt_same_member(ours, theirs, "workload"))
        return NULL;
    if (nvt_record_is_of(theirs, "accumulate"))
        return nvt_same_member(ours, theirs, "form") && nvt_same_member(ours, theirs, "count")
                   ? "published with four decimals"
                   : NULL;
    const char *level = nvt_record_text(ours, "collect");
    if (!nvt_same_member(ours, theirs, "size") || !nvt_same_member(ours, theirs, "warmup") ||
        (level && !strcmp(level, "nsys")) != profiled ||
        (level && (!strcmp(level, "kernel") || !strcmp(level, "full"))))
        return NULL;
    /* What the write-up does not state is taken to be as usual, but for the phases that ran. */
    for (size_t i = 0; i < OTHERS; i++)
        if (strcmp(others[i].key, "phase") && !nvt_member_is(ours, others[i].key, others[i].usual))
            return NULL;
    return "approximate: published batch, context and machine not stated, model compiled; "
           "published std converted from n to n-1";
}

const struct nvt_layout nvt_layout_transformer = {
    .name = "transformer",
    .about = "grid tables of the transformer write-up",
    .mark = "| Experiment_name",
    .read = read,
    .matches = matches,
};

/* --- printing --------------------------------------------------------------------------------- */

/* A column's texts, and how wide they are before and behind the decimal point. */
struct column {
    char (*texts)[NVT_REPR_MAX];
    size_t behind, width;
};

static double value_of(const struct nvt_record *record, int column)
{
    static const char *const keys[] = {"", "forward_ns_mean", "forward_ns_std", "backward_ns_mean",
                                       "backward_ns_std"};
    double value = nvt_record_number(record, keys[column]) / 1e9;
    const char *divisor = nvt_record_text(record, "std_divisor");
    double n = nvt_record_number(record, "iterations");
    if ((column == FORWARD_STD || column == BACKWARD_STD) && !(divisor && !strcmp(divisor, "n")))
        value *= sqrt((n - 1) / n);
    return value;
}

/* Digits behind the point, or behind the exponent's sign: what tabulate counts. */
static size_t behind_point(const char *text)
{
    const char *point = strchr(text, '.');
    if (!point)
        point = strpbrk(text, "eE");
    return point ? strlen(point + 1) : 0;
}

static int has_point(const char *text)
{
    return strpbrk(text, ".eE") != NULL;
}

static void fill_column(struct column *column, const struct nvt_record *const *rows, size_t count,
                        int which)
{
    size_t behind = 0;
    for (size_t i = 0; i < count; i++) {
        double value = value_of(rows[i], which);
        const char *status = nvt_record_text(rows[i], "status");
        if (isfinite(value))
            snprintf(column->texts[i], NVT_REPR_MAX, "%g", value);
        else
            snprintf(column->texts[i], NVT_REPR_MAX, "%.10s",
                     status && strcmp(status, "ok") ? status : "");
        if (behind_point(column->texts[i]) > behind)
            behind = behind_point(column->texts[i]);
    }
    column->width = strlen(headings[which]) + 2;
    for (size_t i = 0; i < count; i++) {
        char *text = column->texts[i];
        size_t length = strlen(text);
        size_t blanks = behind - behind_point(text) + (behind && !has_point(text));
        if (isdigit((unsigned char)*text) && length + blanks < NVT_REPR_MAX) {
            memset(text + length, ' ', blanks);
            text[length + blanks] = 0;
        }
        if (strlen(text) > column->width)
            column->width = strlen(text);
    }
}

static void put_border(const size_t widths[COLUMNS], char with, FILE *out)
{
    for (int column = NAME; column < COLUMNS; column++) {
        putc('+', out);
        for (size_t i = 0; i < widths[column] + 2; i++)
            putc(with, out);
    }
    fputs("+\n", out);
}

static int put_table(const struct nvt_record *const *rows, size_t count, FILE *out)
{
    struct column columns[COLUMNS] = {{0}};
    size_t widths[COLUMNS] = {strlen(headings[NAME]) + 2, 0, 0, 0, 0};
    int status = 0;
    for (int column = FORWARD; column < COLUMNS && !status; column++) {
        columns[column].texts = calloc(count + 1, sizeof(*columns[column].texts));
        status = columns[column].texts ? 0 : -1;
        if (!status)
            fill_column(&columns[column], rows, count, column);
        widths[column] = columns[column].width;
    }
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(nvt_record_text(rows[i], "size"));
        widths[NAME] = length > widths[NAME] ? length : widths[NAME];
    }
    if (!status) {
        put_border(widths, '-', out);
        fprintf(out, "| %-*s |", (int)widths[NAME], headings[NAME]);
        for (int column = FORWARD; column < COLUMNS; column++)
            fprintf(out, " %*s |", (int)widths[column], headings[column]);
        putc('\n', out);
        put_border(widths, '=', out);
        for (size_t i = 0; i < count; i++) {
            fprintf(out, "| %-*s |", (int)widths[NAME], nvt_record_text(rows[i], "size"));
            for (int column = FORWARD; column < COLUMNS; column++)
                fprintf(out, " %*s |", (int)widths[column], columns[column].texts[i]);
            putc('\n', out);
            put_border(widths, '-', out);
        }
    }
    for (int column = FORWARD; column < COLUMNS; column++)
        free(columns[column].texts);
    return status;
}

static int same_condition(const struct nvt_record *a, const struct nvt_record *b)
{
    int same = nvt_same_member(a, b, "warmup") && nvt_same_member(a, b, "collect");
    for (size_t i = 0; i < OTHERS; i++)
        same &= nvt_same_member(a, b, others[i].key);
    return same;
}

static void put_condition(const struct nvt_record *row, FILE *out)
{
    const char *collect = nvt_record_text(row, "collect");
    double warmup = nvt_record_number(row, "warmup");
    int profiled = collect && strcmp(collect, "off");
    fprintf(out, "With %.0f warmup step%s%s%s", isfinite(warmup) ? warmup : 0,
            warmup == 1 ? "" : "s", profiled ? ", profiled by " : "", profiled ? collect : "");
    for (size_t i = 0; i < OTHERS; i++)
        if (!nvt_member_is(row, others[i].key, others[i].usual))
            fprintf(out, ", %s=%s", others[i].key, nvt_record_text(row, others[i].key));
    fputs(":\n", out);
}

/* The records of the workload, in order; malloc'ed. */
static const struct nvt_record **rows_of(const struct nvt_input *input, size_t *count)
{
    size_t most = 1;
    for (size_t i = 0; i < input->run_count; i++)
        most += input->runs[i]->count;
    const struct nvt_record **rows = malloc(most * sizeof(*rows));
    *count = 0;
    for (size_t i = 0; rows && i < input->run_count; i++)
        for (size_t k = 0; k < input->runs[i]->count; k++) {
            const struct nvt_record *record = &input->runs[i]->records[k];
            if (nvt_record_is_of(record, "transformer") && nvt_record_text(record, "size"))
                rows[(*count)++] = record;
        }
    return rows;
}

int nvt_published_transformer(struct nvt_input *input, FILE *out, struct nvt_error *err)
{
    size_t count, done = 0;
    const struct nvt_record **rows = rows_of(input, &count);
    int status = 0;
    if (rows && !count)
        status = nvt_fail(err, "the published layout of phases is that of the workload "
                               "transformer, which was not run here");
    /* The rows of a condition to the front, in their order; those done stay before them. */
    for (size_t first = 0; rows && first < count && !status; first = done) {
        for (size_t i = first; i < count; i++)
            if (same_condition(rows[first], rows[i])) {
                const struct nvt_record *row = rows[i];
                memmove(&rows[done + 1], &rows[done], (i - done) * sizeof(*rows));
                rows[done++] = row;
            }
        if (first)
            putc('\n', out);
        put_condition(rows[first], out);
        if (put_table(rows + first, done - first, out))
            status = nvt_fail(err, "out of memory");
    }
    free(rows);
    return rows ? status : nvt_fail(err, "out of memory");
}
