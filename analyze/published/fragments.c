/*
 * The log of the fragment study:
 *
 *   Benchmarking with input_size=2048, output_size=2048, batch_size=1
 *   Detailed Results:
 *   Linear Layer:
 *     Forward time: 0.12ms
 *     Backward time: 1.01ms
 *     Peak memory: 96.3MB          (MiB, after its numbers)
 *     Parameters: 4196352
 *   FragmentedLinear (Train) Results:
 *   Fragments: 2
 *     …
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "published.h"

/* The configuration that the next numbers belong to. NaN: not said yet. */
struct block {
    double size, batch, fragments;
    const char *mode, *variant; /* NULL: none yet */
    double forward, backward, peak, parameters;
    const char *status;
    char condition[NVT_CONDITION_SIZE]; /* how all that follows was measured, "" */
    int open;
};

static const char not_whole[] = "the last configuration is incomplete and left out";

static void start(struct block *block, double fragments)
{
    block->fragments = fragments;
    block->forward = block->backward = block->peak = block->parameters = NAN;
    block->status = "ok";
    block->open = 1;
}

static void put_count(struct nvt_json *json, const char *key, double value)
{
    if (isnan(value))
        nvt_json_null(json, key);
    else
        nvt_json_integer(json, key, (int64_t)llround(value));
}

static int put_block(struct block *block, struct nvt_published *out)
{
    struct nvt_json json;
    nvt_json_begin(&json, &out->results);
    nvt_json_text(&json, "workload", "fragmented");
    put_count(&json, "size", block->size);
    put_count(&json, "batch", block->batch);
    nvt_json_text(&json, "mode", block->mode);
    put_count(&json, "fragments", block->fragments);
    nvt_json_text(&json, "variant", block->variant);
    nvt_published_origin(&json, NULL);
    nvt_published_condition(&json, block->condition);
    nvt_json_text(&json, "status", block->status);
    nvt_published_time(&json, "forward_ns_mean", block->forward, 1e6);
    nvt_published_time(&json, "backward_ns_mean", block->backward, 1e6);
    put_count(&json, "peak_allocated_bytes", block->peak * NVT_MEBIBYTE);
    put_count(&json, "parameters", block->parameters);
    out->count++;
    block->open = 0;
    return nvt_json_end(&json);
}

/* Close a configuration where another one begins, or the text ends. */
static int finish(const struct nvt_log *log, struct block *block, struct nvt_published *out,
                  int is_end, struct nvt_error *err)
{
    if (!block->open)
        return 0;
    if (strcmp(block->status, "ok") || !isnan(block->parameters))
        return put_block(block, out) ? nvt_fail(err, "out of memory") : 0;
    if (!is_end)
        return nvt_log_fail(log, err, "the configuration before this line has no 'Parameters'");
    snprintf(out->note, sizeof(out->note), "%s", not_whole);
    return 0;
}

static int read_heading(const struct nvt_log *log, const char *sizes, struct block *block,
                        struct nvt_error *err)
{
    double in, result;
    const char *at = sizes;
    /* A comma behind a number is read with it, so the number ends at the blank. */
    if (nvt_log_number(at, NULL, &in, &at) || !(at = strstr(at, "output_size=")) ||
        nvt_log_number(at + strlen("output_size="), NULL, &result, &at) ||
        !(at = strstr(at, "batch_size=")) ||
        nvt_log_number(at + strlen("batch_size="), "", &block->batch, NULL) || in < 1 || in > 1e9 ||
        block->batch < 1 || block->batch > 1e9)
        return nvt_log_fail(log, err, "is no 'input_size=N, output_size=N, batch_size=N'");
    if (in != result)
        return nvt_log_fail(log, err, "input_size and output_size differ: the study has none such");
    block->size = in;
    block->mode = NULL;
    return 0;
}

/* Numbers of a configuration. 1: the line is one, 0: it is none, -1 with err. */
static int read_number(const struct nvt_log *log, const char *line, struct block *block,
                       struct nvt_error *err)
{
    const struct {
        const char *key, *unit;
        double *value, most;
    } numbers[] = {{"Forward time: ", "ms", &block->forward, 1e12},
                   {"Backward time: ", "ms", &block->backward, 1e12},
                   {"Peak memory: ", "MB", &block->peak, 1e9},
                   {"Parameters: ", "", &block->parameters, 9e15}};
    for (size_t i = 0; i < NVT_COUNT_OF(numbers); i++) {
        const char *value = nvt_log_value(line, numbers[i].key);
        if (!value)
            continue;
        if (!block->open)
            return nvt_log_fail(log, err, "'%s' of no configuration", numbers[i].key);
        if (!nvt_log_number(value, numbers[i].unit, numbers[i].value, NULL) &&
            *numbers[i].value <= numbers[i].most)
            return 1;
        *numbers[i].value = NAN;
        return log->unterminated ? 1
                                 : nvt_log_fail(log, err, "'%s' needs a number%s%s", numbers[i].key,
                                                *numbers[i].unit ? " in " : "", numbers[i].unit);
    }
    return 0;
}

/* Where a configuration or a section begins. As read_number. */
static int read_start(const struct nvt_log *log, const char *line, struct block *block,
                      struct nvt_published *out, struct nvt_error *err)
{
    static const struct {
        const char *heading, *mode, *variant;
    } sections[] = {{"FragmentedLinear (Train) Results:", "train", NULL},
                    {"FragmentedLinear (Inference) Results:", "inference", "looped"},
                    {"FragmentedLinear (Inference, grouped) Results:", "inference", "grouped"}};
    const char *value = nvt_log_value(line, "Benchmarking with input_size=");
    if (value)
        return finish(log, block, out, 0, err) || read_heading(log, value, block, err) ? -1 : 1;
    if (nvt_log_value(line, "Linear Layer:")) {
        if (finish(log, block, out, 0, err))
            return -1;
        block->mode = "linear";
        block->variant = NULL;
        start(block, NAN);
        return 1;
    }
    for (size_t i = 0; i < NVT_COUNT_OF(sections); i++)
        if (nvt_log_value(line, sections[i].heading)) {
            if (finish(log, block, out, 0, err))
                return -1;
            block->mode = sections[i].mode;
            block->variant = sections[i].variant;
            return 1;
        }
    return 0;
}

static int read_line(const struct nvt_log *log, const char *line, struct block *block,
                     struct nvt_published *out, struct nvt_error *err)
{
    char condition[NVT_CONDITION_SIZE];
    double fragments;
    if (nvt_log_condition(line, condition)) {
        if (finish(log, block, out, 0, err))
            return -1;
        memcpy(block->condition, condition, sizeof(condition));
        block->mode = NULL;
        return 0;
    }
    int taken = read_start(log, line, block, out, err);
    if (!taken)
        taken = read_number(log, line, block, err);
    if (taken)
        return taken < 0 ? -1 : 0;
    const char *value = nvt_log_value(line, "Fragments: ");
    if (value) {
        if (finish(log, block, out, 0, err))
            return -1;
        if (nvt_log_number(value, "", &fragments, NULL) || fragments < 1 || fragments > 1e9 ||
            !block->mode || !strcmp(block->mode, "linear"))
            return log->unterminated ? 0
                                     : nvt_log_fail(log, err, "is no 'Fragments: N' of a section");
        start(block, fragments);
    }
    value = nvt_log_value(line, "Status: ");
    if (value && block->open)
        block->status = strcmp(value, "oom") ? "error" : "oom";
    return 0;
}

/* A number of parameters that was cut looks like a smaller one. The study's counts are known. */
static int was_cut(const struct nvt_log *log, const struct block *block)
{
    double n = block->size;
    double whole =
        block->mode && !strcmp(block->mode, "linear") ? n * n + n : n + n * n + 2 * n * (n / 32);
    return log->unterminated && block->open && block->parameters < whole;
}

static int read(struct nvt_log *log, struct nvt_published *out, struct nvt_error *err)
{
    struct block block = {.size = NAN};
    for (char *line; (line = nvt_log_next(log));) {
        int is_first = isnan(block.size);
        if (is_first && !nvt_log_value(line, "Benchmarking with input_size=")) {
            nvt_log_condition(line, block.condition);
            continue;
        }
        if (is_first && log->unterminated)
            break;
        if (log->unterminated && nvt_log_value(line, "Benchmarking with input_size="))
            break;
        if (read_line(log, line, &block, out, err))
            return -1;
    }
    if (was_cut(log, &block))
        block.parameters = NAN;
    return finish(log, &block, out, 1, err);
}

/* The published layer loops over its fragments in inference. */
static const char *matches(const struct nvt_record *ours, const struct nvt_record *theirs)
{
    static const char *const keys[] = {"size", "batch", "mode", "fragments"};
    for (size_t i = 0; i < NVT_COUNT_OF(keys); i++)
        if (!nvt_same_member(ours, theirs, keys[i]))
            return NULL;
    return nvt_same_member(ours, theirs, "variant") ? "" : "published inference is looped";
}

const struct nvt_layout nvt_layout_fragments = {
    .name = "fragments",
    .about = "log of the fragment study",
    .mark = "Benchmarking with input_size=",
    .read = read,
    .matches = matches,
};
