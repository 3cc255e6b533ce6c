/*
 * accumulate: the sums of the workload of that name, a row a form. Its published layout is
 * PyTorch's print of each, four decimals; forms that were not published follow in the same way.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../published/transformer.h"
#include "report.h"

enum { FORM, COUNT, SUM, BITS, EXACT, ERROR, STATUS, SOURCE };

/* The next record of the workload at or behind *i. NULL behind the last. */
static const struct nvt_record *next(const struct nvt_input *input, size_t *run, size_t *i)
{
    for (; *run < input->run_count; ++*run, *i = 0)
        while (*i < input->runs[*run]->count) {
            const struct nvt_record *record = &input->runs[*run]->records[(*i)++];
            if (nvt_record_is_of(record, "accumulate"))
                return record;
        }
    return NULL;
}

static int refuse_accumulate(const struct nvt_input *input, struct nvt_error *err)
{
    return nvt_fail_at(err, input->run_count ? input->runs[0]->path : "input", -1,
                       "holds no run of accumulate");
}

static void put_accumulate_row(struct nvt_table *table, const struct nvt_record *record)
{
    char bits[16] = "";
    const char *status = nvt_record_text(record, "status");
    double count = nvt_record_number(record, "count"), sum = nvt_record_number(record, "sum");
    double exact = nvt_record_number(record, "exact_sum");
    double pattern = nvt_record_number(record, "sum_bits");
    if (pattern >= 0 && pattern <= UINT32_MAX)
        snprintf(bits, sizeof(bits), "0x%08" PRIx32, (uint32_t)pattern);
    nvt_table_put(table, nvt_record_text(record, "form"),
                  NVT_IF(count >= 0 && count <= 9e15, (int64_t)count), sum, nvt_text_if_any(bits),
                  exact, 100 * (sum - exact) / exact, status ? status : "ok",
                  nvt_record_source(record));
}

static int put_accumulate(struct nvt_table *table, const struct nvt_making *making)
{
    size_t run = 0, i = 0;
    const struct nvt_record *record = next(making->input, &run, &i);
    if (!record)
        return refuse_accumulate(making->input, making->err);
    for (; record; record = next(making->input, &run, &i))
        put_accumulate_row(table, record);
    return 0;
}

/* As PyTorch prints a tensor of one number: the type follows unless it is float32. Behind it the words of the
 * write-up. */
static void put_tensor(const struct nvt_record *record, FILE *out)
{
    char text[80];
    const char *form = nvt_record_text(record, "form"), *type = "";
    double sum = nvt_record_number(record, "sum");
    if (form && (!strcmp(form, "fp16") || !strcmp(form, "kahan") || !strcmp(form, "pairwise")))
        type = ", dtype=torch.float16";
    else if (form && strlen(form) >= 4 && !strcmp(form + strlen(form) - 4, "bf16") &&
             strcmp(form, "mixed-bf16"))
        type = ", dtype=torch.bfloat16";
    /* PyTorch leaves the decimals off a whole number: "4." */
    if (isfinite(sum) && sum == floor(sum))
        snprintf(text, sizeof(text), "tensor(%.0f.%s)", sum, type);
    else if (isfinite(sum))
        snprintf(text, sizeof(text), "tensor(%.4f%s)", sum, type);
    else
        snprintf(text, sizeof(text), "Status: error");
    const char *words = isfinite(sum) ? nvt_published_sum_words(form) : NULL;
    if (words)
        fprintf(out, "%-40s-> %s\n", text, words);
    else
        fprintf(out, "%s\n", text);
}

static int published_accumulate(struct nvt_input *input, FILE *out, struct nvt_error *err)
{
    size_t run = 0, i = 0;
    const struct nvt_record *record = next(input, &run, &i);
    if (!record)
        return refuse_accumulate(input, err);
    for (; record; record = next(input, &run, &i))
        put_tensor(record, out);
    return 0;
}

const struct nvt_report nvt_report_accumulate = {
    .name = "accumulate",
    .about = "sums of 0.01 in formats that round each addition",
    .needs = NVT_NEEDS_RUNS,
    .title = "Sums of 0.01",
    .columns = {{"form", NVT_NAMES},
                {"additions", NVT_COUNTS},
                {"sum", NVT_REALS("", NVT_SHORTEST)},
                {"float bits", NVT_NAMES},
                {"exact", NVT_REALS("", NVT_SHORTEST)},
                {"error", NVT_REALS("%", 4)},
                {"status", NVT_NAMES},
                {"source", NVT_NAMES}},
    .of_input = put_accumulate,
    .published = published_accumulate,
};
