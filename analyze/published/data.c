/*
 * The published documents, built into the program from data/published (which says what each is).
 */
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/embed.h"
#include "published.h"

NVT_EMBED(nvt_document_fragments, "data/published/fragments.txt");
NVT_EMBED(nvt_document_switchback, "data/published/switchback.txt");
NVT_EMBED(nvt_document_transformer, "data/published/transformer.md");
NVT_EMBED(nvt_document_gpipe, "data/published/gpipe.log");

static const struct document {
    struct nvt_reference reference;
    const char *text, *end;
} documents[] = {
    {{"fragmented linear",
      "fragmentedlinear6 benchmark results (interrupted due to crippling slowness), author and "
      "year "
      "not stated",
      NULL, "not stated", 100},
     nvt_document_fragments,
     nvt_document_fragments_end},
    {{"switchback",
      "Mitchell Wortsman, bitsandbytes-rocm tests/triton_tests/info.jsonl, commit 5f3d9ada8d, 2023",
      "2023-03-29", "not stated", 0},
     nvt_document_switchback,
     nvt_document_switchback_end},
    {{"transformer accumulate",
      "write-up of a transformer's forward and backward times (\"Benchmarking script\"), author "
      "and "
      "year not stated",
      NULL, "not stated", 10},
     nvt_document_transformer,
     nvt_document_transformer_end},
    {{"gpipe", "log of benchmarks/memory_expr.py, GPT-2 by GPipe, author and year not stated", NULL,
      "cuda:0 to cuda:3, model not stated", 100},
     nvt_document_gpipe,
     nvt_document_gpipe_end},
};

const struct nvt_reference *nvt_reference_at(size_t i)
{
    return i < NVT_COUNT_OF(documents) ? &documents[i].reference : NULL;
}

static int has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; length && (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (!at[length] || at[length] == ' '))
            return 1;
    return 0;
}

const struct nvt_reference *nvt_reference_of(const char *workload)
{
    for (size_t i = 0; i < NVT_COUNT_OF(documents); i++)
        if (has_word(documents[i].reference.workloads, workload))
            return &documents[i].reference;
    return NULL;
}

struct nvt_runs *nvt_reference_runs(const struct nvt_reference *reference,
                                    const struct nvt_layout **layout, struct nvt_error *err)
{
    const struct document *document = (const struct document *)reference;
    size_t size = (size_t)(document->end - document->text);
    char *text = malloc(size + 1);
    struct nvt_published published = {0};
    struct nvt_buffer env = {0};
    struct nvt_runs *runs = NULL;
    int status = text ? 0 : nvt_fail(err, "out of memory");
    if (!status) {
        memcpy(text, document->text, size);
        text[size] = 0;
        status = nvt_published_read(reference->title, text, size, &published, err);
    }
    if (!status) {
        struct nvt_published_facts facts = {reference->title,       reference->date,
                                            published.backend,      reference->device,
                                            published.layout->name, NULL};
        status = nvt_published_environment(&facts, &env) ? nvt_fail(err, "out of memory") : 0;
    }
    if (!status) {
        runs = nvt_runs_of_text(reference->title, &published.results, &env, err);
        *layout = published.layout;
    }
    free(text);
    nvt_buffer_free(&env);
    nvt_published_free(&published);
    return runs;
}
