#include "device_words.h"

#include <stdio.h>
#include <string.h>

#include "../../lib/count_of.h"

static const struct words {
    const char *backend; /* the fact of a trace */
    const char *device;  /* for "CUDA GPU" */
    const char *calls;   /* for "CUDA" */
} kinds[] = {
    {"hip", "HIP GPU", "HIP"}, {"xpu", "XPU", "XPU"}, {"npu", "NPU", "NPU"}, {"tpu", "TPU", "TPU"}};

/* The words that all traces have in common; NULL: CUDA's. */
static const struct words *words_of(const struct nvt_input *input)
{
    const char *backend = NULL;
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        const char *own = trace ? nvt_trace_meta(trace, "backend") : NULL;
        if (!own || (backend && strcmp(own, backend) != 0))
            return NULL;
        backend = own;
    }
    for (size_t i = 0; i < NVT_COUNT_OF(kinds) && backend; i++)
        if (!strcmp(kinds[i].backend, backend))
            return &kinds[i];
    return NULL;
}

void nvt_device_title(const struct nvt_input *input, const char *title, char *out, size_t size)
{
    const struct words *words = strstr(title, "CUDA") ? words_of(input) : NULL;
    const char *const at = words ? strstr(title, "CUDA") : title;
    const size_t taken = !words ? 0 : !strncmp(at, "CUDA GPU", 8) ? 8 : 4;
    const char *word = taken == 8 ? words->device : taken ? words->calls : "";
    snprintf(out, size, "%.*s%s%s", (int)(at - title), title, word, at + taken);
}
