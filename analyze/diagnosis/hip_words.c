#include "hip_words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "../../lib/count_of.h"

/* The longer ones first; `hip` is no longer than `cuda`. Names of the program stand in sentences, where only whole phrases are ours. */
static const struct {
    const char *cuda, *hip;
    int is_phrase;
} words[] = {
    {"CUDA_MODULE_LOADING=EAGER; ", "", 1},
    {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", 1},
    {"CUDA graph", "HIP graph", 1},
    {"CUDA call", "HIP call", 1},
    {"CUDA API", "HIP API", 1},
    {"outside of CUDA", "outside of HIP", 1},
    {"non-CUDA code", "non-HIP code", 1},
    {"CUDA", "HIP", 0},
};

static int is_of_name(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_' || byte == '.';
}

/* Which of the words begins here, as a whole one; -1: none. */
static int word_at(const char *at, int has_names)
{
    for (size_t i = 0; i < NVT_COUNT_OF(words); i++) {
        const size_t length = strlen(words[i].cuda);
        if (!strncmp(at, words[i].cuda, length) &&
            (words[i].is_phrase ||
             (!has_names && !isalnum((unsigned char)at[length]) && at[length] != '_')))
            return (int)i;
    }
    return -1;
}

int nvt_is_of_hip(const struct nvt_trace *trace)
{
    const char *backend = nvt_trace_meta(trace, "backend");
    return backend && !strcmp(backend, "hip");
}

void nvt_hip_words(char *text, int has_names)
{
    char *to = text;
    char before = ' '; /* `at`, as it was */
    for (const char *at = text; *at;) {
        const int word = is_of_name(before) ? -1 : word_at(at, has_names);
        before = *at;
        if (word < 0) {
            *to++ = *at++;
            continue;
        }
        const size_t length = strlen(words[word].hip);
        at += strlen(words[word].cuda);
        memmove(to, words[word].hip, length);
        to += length;
    }
    *to = 0;
}

const char *nvt_hip_word(const struct nvt_trace *trace, const char *text, char out[NVT_HIP_WORD])
{
    if (!nvt_is_of_hip(trace))
        return text;
    snprintf(out, NVT_HIP_WORD, "%s", text);
    nvt_hip_words(out, 0);
    return out;
}

int nvt_input_is_of_hip(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        if (!trace || !nvt_is_of_hip(trace))
            return 0;
    }
    return input->trace_count > 0;
}

void nvt_findings_in_hip(struct nvt_findings *findings, const struct nvt_input *input)
{
    for (size_t i = 0; i < findings->count && nvt_input_is_of_hip(input); i++) {
        struct nvt_finding *finding = &findings->items[i];
        nvt_hip_words(finding->what, 1);
        nvt_hip_words(finding->evidence, 1);
        nvt_hip_words(finding->remedy, 0);
    }
}
