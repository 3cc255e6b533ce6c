/*
 * Environment: facts about each directory and trace. Those that all of them have in
 * common are said once, the others in a row for each.
 */
#include <stdlib.h>
#include <string.h>

#include "../analyze/diagnosis/hip_words.h"
#include "../analyze/model/extent.h"
#include "../lib/grow.h"
#include "story_sections.h"

enum { COLUMNS_MOST = 40 }; /* of facts that differ */

static const struct nvt_column fact_columns[] = {{"fact", NVT_NAMES}, {"value", NVT_NAMES}};

struct fact {
    const char *name; /* the input's, or static: headings are not copied */
    char *value;
};

/* What is known of a directory, or of a trace that was given by itself. */
struct about {
    const char *path;
    struct fact *items;
    size_t count;
};

struct facts {
    struct about *of;
    size_t count;
    int failed; /* out of memory */
};

static void put_fact(struct facts *facts, const char *name, const char *value)
{
    struct about *about = &facts->of[facts->count - 1];
    if (!value || !*value)
        return;
    char *copy = strdup(value);
    if (!copy || nvt_grow(&about->items, about->count, sizeof(*about->items))) {
        free(copy);
        facts->failed = 1;
        return;
    }
    about->items[about->count].name = name;
    about->items[about->count++].value = copy;
}

static void put_count(struct facts *facts, const char *name, size_t count)
{
    char text[32];
    snprintf(text, sizeof(text), "%zu", count);
    put_fact(facts, name, text);
}

static void add_runs(struct facts *facts, const struct nvt_runs *runs)
{
    facts->of[facts->count++].path = runs->path;
    for (size_t i = 0; i < runs->env.count; i++)
        put_fact(facts, runs->env.members[i].key, runs->env.members[i].text);
}

/* "part 3": its beginning and end, which readers alone understand. */
static int is_part(const char *name)
{
    return !strncmp(name, "part ", 5) && name[5] && !name[5 + strspn(name + 5, "0123456789")];
}

static void add_trace(struct facts *facts, const struct nvt_trace *trace)
{
    char length[64], calls[NVT_HIP_WORD];
    const struct nvt_extent all = nvt_extent_of_processes(trace);
    facts->of[facts->count++].path = trace->path;
    snprintf(length, sizeof(length), "%.6f s", (double)(all.last - all.first) / 1e9);
    put_fact(facts, "format", trace->format);
    put_fact(facts, "length", length);
    put_count(facts, "ranges", trace->ranges.count);
    put_count(facts, "device operations", trace->ops.count);
    put_count(facts, nvt_hip_word(trace, "CUDA calls", calls), trace->apis.count);
    put_count(facts, "threads", trace->threads.count);
    for (uint32_t i = 0; i < trace->meta.count; i++)
        if (!is_part(nvt_name(trace, trace->meta.key[i])))
            put_fact(facts, nvt_name(trace, trace->meta.key[i]),
                     nvt_name(trace, trace->meta.value[i]));
}

static void free_facts(struct facts *facts)
{
    for (size_t i = 0; i < facts->count; i++) {
        for (size_t k = 0; k < facts->of[i].count; k++)
            free(facts->of[i].items[k].value);
        free(facts->of[i].items);
    }
    free(facts->of);
}

/* --- what they have in common --- */

/* The value of a fact, or NULL. */
static const char *value_of(const struct about *about, const char *name)
{
    for (size_t i = 0; i < about->count; i++)
        if (!strcmp(about->items[i].name, name))
            return about->items[i].value;
    return NULL;
}

static int is_common(const struct facts *facts, const struct fact *fact)
{
    for (size_t i = 0; i < facts->count; i++) {
        const char *other = value_of(&facts->of[i], fact->name);
        if (!other || strcmp(other, fact->value) != 0)
            return 0;
    }
    return 1;
}

/* Those that all have, which of one alone are all. */
static void put_common(const struct facts *facts, struct nvt_document *document)
{
    const struct about *first = &facts->of[0];
    struct nvt_table *table =
        nvt_table_new("facts", facts->count > 1 ? "What all of them have in common" : first->path,
                      fact_columns, 2);
    for (size_t i = 0; table && i < first->count; i++)
        if (is_common(facts, &first->items[i]))
            nvt_table_put(table, first->items[i].name, first->items[i].value);
    document->failed |= !table;
    if (table && nvt_table_rows(table))
        nvt_document_table(document, table, NULL);
    else
        nvt_table_free(table);
}

static int has_column(const struct nvt_column *columns, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(columns[i].heading, name))
            return 1;
    return 0;
}

/* Columns for what differs, the first for the path. Returns how many. */
static size_t different(const struct facts *facts, struct nvt_column *columns)
{
    size_t count = 1;
    columns[0] = (struct nvt_column){"input", "", NVT_TEXT, 0, 0};
    for (size_t i = 0; i < facts->count; i++)
        for (size_t k = 0; k < facts->of[i].count; k++) {
            const struct fact *fact = &facts->of[i].items[k];
            if (count < COLUMNS_MOST && !is_common(facts, fact) &&
                !has_column(columns, count, fact->name))
                columns[count++] = (struct nvt_column){fact->name, "", NVT_TEXT, 0, 0};
        }
    return count;
}

/* A row for each of them. */
static void put_different(const struct facts *facts, struct nvt_document *document)
{
    struct nvt_column columns[COLUMNS_MOST];
    size_t count = different(facts, columns);
    struct nvt_table *table = nvt_table_new("facts", "How they differ", columns, count);
    document->failed |= !table;
    for (size_t i = 0; table && i < facts->count; i++) {
        nvt_table_put(table, facts->of[i].path);
        for (size_t column = 1; column < count; column++)
            nvt_table_more(table, value_of(&facts->of[i], columns[column].heading));
    }
    if (table)
        nvt_document_table(document, table, NULL);
}

/* --- together --- */

int nvt_story_published(const struct nvt_runs *runs)
{
    return runs->count && !strcmp(nvt_record_source(&runs->records[0]), "published");
}

static void tell_runs(const struct nvt_runs *runs, struct nvt_document *document)
{
    size_t ok = 0, oom = 0;
    for (size_t i = 0; i < runs->count; i++) {
        const char *status = nvt_record_text(&runs->records[i], "status");
        ok += !status || !strcmp(status, "ok");
        oom += status && !strcmp(status, "oom");
    }
    const char *source = nvt_record_text(&runs->env, "source");
    if (nvt_story_published(runs))
        nvt_document_text(document,
                          "%s: %zu published configurations, measured on another machine and not "
                          "here. Source: %s.",
                          runs->path, runs->count, source ? source : "not stated");
    else
        nvt_document_text(document,
                          "%s: %zu configuration%s, %zu measured, %zu out of memory, %zu with an "
                          "error.",
                          runs->path, runs->count, runs->count == 1 ? "" : "s", ok, oom,
                          runs->count - ok - oom);
}

void nvt_story_where(const struct nvt_input *input, struct nvt_document *document)
{
    struct facts facts = {calloc(input->run_count + input->trace_count + 1, sizeof(*facts.of)), 0,
                          0};
    if (!facts.of) {
        document->failed = 1;
        return;
    }
    nvt_document_heading(document, "Environment");
    for (size_t i = 0; i < input->run_count; i++) {
        tell_runs(input->runs[i], document);
        add_runs(&facts, input->runs[i]);
    }
    for (size_t i = 0; i < input->trace_count; i++)
        if (nvt_input_is_own(&input->traces[i]))
            add_trace(&facts, input->traces[i].trace);
    document->folds = 1;
    if (facts.count)
        put_common(&facts, document);
    if (facts.count > 1)
        put_different(&facts, document);
    document->folds = 0;
    document->failed |= facts.failed;
    free_facts(&facts);
}
