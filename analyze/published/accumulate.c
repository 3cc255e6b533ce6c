/* The sums of the workload accumulate, as PyTorch prints them. */
#include <math.h>
#include <string.h>

#include "transformer.h"

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

int nvt_published_accumulate(struct nvt_input *input, FILE *out, struct nvt_error *err)
{
    const struct nvt_record *record;
    int is_any = 0;
    for (size_t i = 0; (record = nvt_input_record_of(input, "accumulate", &i)); is_any = 1)
        put_tensor(record, out);
    return is_any ? 0 : nvt_input_refuse(input, "accumulate", err);
}
