#include "rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/json.h"
#include "../../lib/nvtx.h"
#include "../model/named_iterations.h"
#include "../model/workload_ranges.h"
#include "../model/sort.h"

/* Where a trace's row lies: its number in the directory that is made, and which of its ranks the trace is of. */
struct place {
    size_t rows, record;
    double rank;
    int is_by_name;
    uint32_t named;
};

/* The JSON object of a mark, or NULL. */
static const char *row_of(const struct nvt_trace *trace, uint32_t mark)
{
    const char *name = nvt_name(trace, trace->marks.name[mark]);
    if (strncmp(name, NVT_NVTX_RESULT "{", strlen(NVT_NVTX_RESULT "{")) ||
        !nvt_is_workloads_domain(trace, trace->marks.domain[mark]))
        return NULL;
    return name + strlen(NVT_NVTX_RESULT);
}

/* A word "key=value" of a configuration's name. */
struct word {
    const char *text;
    size_t size, key;
};

/* Keys that number repetitions: what differs in nothing else is the same. */
static int is_repetition(const struct word *word)
{
    static const char *const keys[] = {"run", "rep", "repeat", "repetition", "seed", "trial"};
    for (size_t i = 0; i < NVT_COUNT_OF(keys); i++)
        if (strlen(keys[i]) == word->key && !memcmp(keys[i], word->text, word->key))
            return 1;
    return 0;
}

/* The words of a text, *count of them; malloc'ed, NULL when out of memory. */
static struct word *find_words(const char *text, size_t *count)
{
    struct word *words = malloc((strlen(text) / 2 + 1) * sizeof(*words));
    *count = 0;
    for (size_t size; words && *text; text += size) {
        text += strspn(text, " ");
        size = strcspn(text, " ");
        const char *equals = memchr(text, '=', size);
        struct word word = {text, size, equals ? (size_t)(equals - text) : 0};
        if (word.key && !is_repetition(&word))
            words[(*count)++] = word;
    }
    return words;
}

/* A number where it reads as one. */
static void put_axis(struct nvt_json *json, const struct word *word)
{
    char *key = strndup(word->text, word->key), *end;
    char *value = strndup(word->text + word->key + 1, word->size - word->key - 1);
    double number = value ? strtod(value, &end) : 0;
    if (!key || !value)
        json->failed = 1;
    else if (*value && !*end && isfinite(number))
        nvt_json_number(json, key, number);
    else
        nvt_json_text(json, key, value);
    free(key);
    free(value);
}

/* The row of a configuration's name, the axes behind the facts. 0, or -1 when out of memory. */
static int write_row(const char *name, const struct nvt_trace *trace, struct nvt_buffer *out)
{
    struct nvt_json json;
    size_t length = nvt_configuration_workload(name), count;
    char *workload = strndup(name, length);
    struct word *words = find_words(name + length, &count);
    nvt_json_begin(&json, out);
    nvt_json_text(&json, "workload", workload);
    nvt_json_text(&json, "backend", nvt_trace_meta(trace, "backend"));
    nvt_json_text(&json, "device", nvt_trace_meta(trace, "device"));
    for (size_t i = 0; words && i < count; i++)
        put_axis(&json, &words[i]);
    int status =
        !workload || !words || nvt_json_end(&json) || nvt_buffer_append(out, "", 1) ? -1 : 0;
    free(workload);
    free(words);
    return status;
}
enum { ROW_FACTS = 3 }; /* before the axes */

/* What is named within an iteration is a part of the program. */
int nvt_rows_configuration(const struct nvt_trace *trace, uint32_t *name)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    struct nvt_named_iterations iterations = {0};
    uint32_t found = NVT_NO_STRING;
    int status = 0, several = 0;
    for (uint32_t i = 0; i < ranges->count && !status && !several; i++) {
        if (!nvt_range_is_configuration(trace, i))
            continue;
        /* Most traces name none, and need no iterations. */
        if (!iterations.rows && nvt_named_iterations_of(&iterations, trace))
            status = -1;
        else if (nvt_iteration_at(&iterations, ranges->thread[i], NVT_NONE, ranges->start[i]) ==
                 NVT_NONE) {
            several = found != NVT_NO_STRING && found != ranges->name[i];
            found = ranges->name[i];
        }
    }
    *name = several ? NVT_NO_STRING : found;
    nvt_named_iterations_free(&iterations);
    return status;
}

/* Whether two rows are those of two ranks of the same run. */
static int is_same_run(const struct nvt_record *left, const struct nvt_record *right)
{
    for (size_t i = 0; i < left->count; i++) {
        const struct nvt_member *member = &left->members[i];
        const struct nvt_member *other = nvt_record_find(right, member->key);
        if (!strcmp(member->key, "rank"))
            return 1;
        if (!other || strcmp(member->text, other->text))
            return 0;
    }
    return 0;
}

/* The row of rank 0 that this one belongs to, among those before it; SIZE_MAX: none. */
static size_t first_rank(const struct nvt_runs *runs, const struct nvt_record *record)
{
    for (size_t i = runs->count; i-- > 0;)
        if (is_same_run(&runs->records[i], record))
            return i;
    return SIZE_MAX;
}

/* Whether a row can be read; `told`: that it cannot has been said. */
static int parse_row(struct nvt_record *record, const char *text, int told, struct nvt_input *input,
                     const struct nvt_trace *trace)
{
    struct nvt_error broken = NVT_ERROR_INIT;
    if (!nvt_record_parse(record, text, strlen(text), &broken))
        return 1;
    if (!told)
        nvt_note(input, "warning: %s: the row of its run %s, left out", trace->path,
                 broken.message);
    return 0;
}

/* A row of rank 0, or of a run without ranks, is new; another is of that one. 0, or -1 when out of memory. */
static int add_row(struct nvt_runs *runs, struct place *place, const char *text, int others,
                   struct nvt_input *input, const struct nvt_trace *trace)
{
    struct nvt_record record;
    if (!parse_row(&record, text, others, input, trace))
        return 0;
    double rank = nvt_record_number(&record, "rank");
    int is_other = rank > 0;
    size_t at = is_other ? first_rank(runs, &record) : runs->count;
    if (others == is_other && at != SIZE_MAX)
        *place = (struct place){place->rows + 1, at, is_other ? rank : 0, 0, 0};
    if (!others && !is_other && !nvt_runs_add(runs, &record))
        return 0;
    nvt_record_free(&record);
    return !others && !is_other ? -1 : 0;
}

/* The rows of all traces in the order in which they began: those that make records, or those of other ranks. */
static int add_rows(struct nvt_runs *runs, struct place *places, const uint32_t *order, int others,
                    struct nvt_input *input)
{
    for (size_t k = 0; k < input->trace_count; k++) {
        size_t i = order ? order[k] : k;
        const struct nvt_trace *trace = input->traces[i].trace;
        for (uint32_t mark = 0; mark < trace->marks.count && !trace->is_part; mark++) {
            const char *text = row_of(trace, mark);
            if (text && add_row(runs, &places[i], text, others, input, trace))
                return -1;
        }
    }
    return 0;
}

/* The row that a trace's ranges name, if they do. 0, or -1 when out of memory. */
static int add_configuration(struct nvt_runs *runs, struct place *place, struct nvt_input *input,
                             const struct nvt_trace *trace)
{
    struct nvt_buffer text = {0};
    struct nvt_record record = {0};
    uint32_t name;
    /* A run of nvtally's that was killed before it had a row has none. */
    if (nvt_trace_meta(trace, "workload"))
        return 0;
    int status = nvt_rows_configuration(trace, &name);
    if (!status && name != NVT_NO_STRING)
        status = write_row(nvt_name(trace, name), trace, &text);
    if (!status && text.size && parse_row(&record, (const char *)text.data, 0, input, trace)) {
        *place = (struct place){1, runs->count, 0, 1, name};
        record.is_by_name = 1;
        record.axis_first = ROW_FACTS;
        record.axis_count = record.count - ROW_FACTS;
        status = nvt_runs_add(runs, &record);
        if (status)
            nvt_record_free(&record);
    }
    nvt_buffer_free(&text);
    return status;
}

/* Traces that carry no row, by what their ranges say. */
static int add_configurations(struct nvt_runs *runs, struct place *places, const uint32_t *order,
                              struct nvt_input *input)
{
    int status = 0;
    for (size_t k = 0; k < input->trace_count && !status; k++) {
        size_t i = order ? order[k] : k;
        if (!places[i].rows && !input->traces[i].trace->is_part)
            status = add_configuration(runs, &places[i], input, input->traces[i].trace);
    }
    return status;
}

/* *order gets the traces in the order in which they began; NULL: they are. 0, or -1 when out of memory. */
static int order_traces(const struct nvt_input *input, uint32_t **order)
{
    int64_t *began = malloc(input->trace_count * sizeof(*began));
    *order = NULL;
    for (size_t i = 0; began && i < input->trace_count; i++)
        began[i] = input->traces[i].trace->origin_ns;
    int status = began ? nvt_sort_order(began, NULL, (uint32_t)input->trace_count, order) : -1;
    free(began);
    return status;
}

/* What all rows say, or that they differ. */
static const char *common(const struct nvt_runs *runs, const char *key)
{
    const char *first = nvt_record_text(&runs->records[0], key);
    for (size_t i = 1; i < runs->count; i++) {
        const char *other = nvt_record_text(&runs->records[i], key);
        if (!first || !other || strcmp(first, other))
            return first && other ? "several" : first || other ? "not stated for all" : NULL;
    }
    return first;
}

/* The environment: as far as tables have it in their captions. */
static int describe(struct nvt_runs *runs, const struct nvt_input *input, struct nvt_error *err)
{
    struct nvt_buffer text = {0};
    struct nvt_json json;
    nvt_json_begin(&json, &text);
    nvt_json_text(&json, "date", nvt_trace_meta(input->traces[0].trace, "date"));
    nvt_json_text(&json, "backend", common(runs, "backend"));
    nvt_json_text(&json, "device", common(runs, "device"));
    int status = nvt_json_end(&json)
                     ? nvt_fail(err, "out of memory")
                     : nvt_record_parse(&runs->env, (const char *)text.data, text.size, err);
    nvt_buffer_free(&text);
    return status;
}

struct linked {
    struct nvt_input_trace trace;
    double rank;
};

/* Order traces by record and rank, as a directory has them; those of no record come behind. */
static int compare(const void *left, const void *right)
{
    const struct linked *a = left, *b = right;
    if (!a->trace.runs != !b->trace.runs)
        return a->trace.runs ? -1 : 1;
    if (a->trace.record != b->trace.record)
        return a->trace.record < b->trace.record ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static int link_traces(struct nvt_input *input, const struct nvt_runs *runs,
                       const struct place *places)
{
    struct linked *linked = calloc(input->trace_count, sizeof(*linked));
    for (size_t i = 0; linked && i < input->trace_count; i++) {
        linked[i] = (struct linked){input->traces[i], places[i].rank};
        /* Those of no record stay in the order in which they were given. */
        linked[i].trace.record = i;
        if (places[i].rows != 1)
            continue;
        linked[i].trace.runs = runs;
        linked[i].trace.record = places[i].record;
        linked[i].trace.is_by_name = places[i].is_by_name;
        linked[i].trace.named = places[i].named;
    }
    if (!linked)
        return -1;
    qsort(linked, input->trace_count, sizeof(*linked), compare);
    for (size_t i = 0; i < input->trace_count; i++)
        input->traces[i] = linked[i].trace;
    free(linked);
    return 0;
}

int nvt_input_rows(struct nvt_input *input, struct nvt_error *err)
{
    if (!input->trace_count || nvt_window_is_set(input->window))
        return 0;
    uint32_t *order = NULL;
    struct place *places = calloc(input->trace_count, sizeof(*places));
    struct nvt_runs *runs = nvt_runs_new(input->traces[0].trace->path);
    if (runs)
        runs->is_of_traces = 1;
    int status = places && runs ? order_traces(input, &order) : -1;
    if (!status)
        status = add_rows(runs, places, order, 0, input) ||
                         add_rows(runs, places, order, 1, input) ||
                         add_configurations(runs, places, order, input)
                     ? -1
                     : 0;
    if (status)
        nvt_fail(err, "out of memory");
    if (!status && runs->count) {
        status = describe(runs, input, err);
        if (!status && (link_traces(input, runs, places) || nvt_input_take(input, runs)))
            status = nvt_fail(err, "out of memory");
    }
    if (status || (runs && !runs->count))
        nvt_runs_free(runs);
    free(places);
    free(order);
    return status;
}
