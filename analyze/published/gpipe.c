/*
 * A configuration begins with "Running: COMMAND" and ends with the reserved memory of each device.
 * Times are means over the batches, taken without waiting for the device: they are launch times and
 * go into the keys of those; the throughput is of them. Sizes are exact, in bytes.
 *
 * Of a run of ours the same lines say the same, launch times and their throughput; a device in them is a
 * partition. Behind a configuration's last line stand, as "NAME (completed): …", which is no line of that
 * layout, the times until all was done. Where a schedule has no forward and backward, there are times of
 * a step instead. COMMAND tells the axes that the log has no lines for.
 */
#include "gpipe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "published.h"

/* What a command of ours begins with, behind a launcher's. */
#define OUR_COMMAND "nvtally run gpipe "

enum {
    PARTITIONS,
    MICROBATCHES,
    BATCH,
    PARAMETERS,
    STATES,
    ACTIVATION,
    TOTAL,
    THROUGHPUT,
    FORWARD,
    BACKWARD,
    STEP,
    FORWARD_DONE,
    BACKWARD_DONE,
    STEP_DONE,
    THROUGHPUT_DONE,
    NUMBERS
};
enum { ALWAYS = TOTAL + 1 }; /* those before it stand in every configuration */

/* Where each number stands. Those of a device come in two lists: parameters, then what was
 * reserved. */
static const struct number {
    const char *key, *unit; /* unit: what follows it, NULL: anything in brackets */
    double least, most;
} numbers[NUMBERS] = {
    [PARTITIONS] = {"num_partitions: ", "", 1, NVT_PARTITIONS_MOST},
    [MICROBATCHES] = {"num_microbatches: ", "", 1, 1e6},
    [BATCH] = {"batch_size: ", "", 1, 1e9},
    [PARAMETERS] = {"# of Model Parameters: ", "", 0, 9e15},
    [STATES] = {"Total Model Parameter Memory: ", NULL, 0, 9e15},
    [ACTIVATION] = {"Peak Activation Memory: ", NULL, 0, 9e15},
    [TOTAL] = {"Total Memory: ", NULL, 0, 9e15},
    [THROUGHPUT] = {"Throughput: ", "samples/sec", 0, 1e15},
    [FORWARD] = {"Average Forward Time: ", "sec", 0, 1e9},
    [BACKWARD] = {"Average Backward Time: ", "sec", 0, 1e9},
    [STEP] = {"Average Step Time: ", "sec", 0, 1e9},
    [FORWARD_DONE] = {"Average Forward Time (completed): ", "sec", 0, 1e9},
    [BACKWARD_DONE] = {"Average Backward Time (completed): ", "sec", 0, 1e9},
    [STEP_DONE] = {"Average Step Time (completed): ", "sec", 0, 1e9},
    [THROUGHPUT_DONE] = {"Throughput (completed): ", "samples/sec", 0, 1e15},
};

struct list {
    int64_t bytes[NVT_PARTITIONS_MOST];
    size_t count;
};

struct block {
    char command[1200], model[64];
    double values[NUMBERS];             /* NaN: not said yet */
    int checkpoint, torchgpipe, resnet; /* -1: not said yet */
    struct list held, reserved;
    int open, behind, on_host; /* a configuration; past "Max memory per device"; of a host */
};

static void start(struct block *block, const char *command)
{
    *block = (struct block){.checkpoint = -1, .torchgpipe = -1, .resnet = -1, .open = 1};
    for (int i = 0; i < NUMBERS; i++)
        block->values[i] = NAN;
    snprintf(block->command, sizeof(block->command), "%s", command);
}

/* What follows an option of a command of ours, up to a blank, in `out`; NULL where it has none. */
static const char *option_of(const char *command, const char *key, char out[64])
{
    char option[72];
    const char *at = strstr(command, OUR_COMMAND);
    snprintf(option, sizeof(option), " --%s ", key);
    for (char *c = option; *c; c++)
        *c = (char)(*c == '_' ? '-' : *c);
    at = at ? strstr(at, option) : NULL;
    if (!at)
        return NULL;
    at += strlen(option);
    snprintf(out, 64, "%.*s", (int)strcspn(at, " "), at);
    return *out ? out : NULL;
}

/* Whether a schedule has no times of forward and backward. */
static int is_mixed(const struct block *block)
{
    char schedule[64];
    return option_of(block->command, "schedule", schedule) && strcmp(schedule, "gpipe") != 0;
}

static int is_whole(const struct block *block)
{
    const double *values = block->values;
    for (int i = 0; i < ALWAYS; i++)
        if (isnan(values[i]))
            return 0;
    int has_both = !isnan(values[FORWARD]) && !isnan(values[BACKWARD]);
    int has_throughput = !isnan(values[THROUGHPUT]) || !isnan(values[THROUGHPUT_DONE]);
    return (has_both || is_mixed(block)) && has_throughput && block->checkpoint >= 0 &&
           block->torchgpipe >= 0 && (double)block->reserved.count >= values[PARTITIONS];
}

static void put_list(struct nvt_json *json, const char *key, const struct list *list)
{
    char text[NVT_PARTITIONS_MOST * 24] = "";
    size_t used = 0;
    for (size_t i = 0; i < list->count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%lld", i ? ";" : "",
                                 (long long)list->bytes[i]);
    nvt_json_text(json, key, list->count ? text : NULL);
}

/* Axes that only the command tells. */
static void put_axes(struct nvt_json *json, const char *command)
{
    static const struct {
        const char *key;
        int is_number;
    } axes[] = {{"schedule", 0},  {"virtual_stages", 1},
                {"transport", 0}, {"attention_axis", 0},
                {"sequence", 1},  {"vocabulary", 1},
                {"d_model", 1},   {"layers", 1},
                {"heads", 1},     {"d_ff", 1}};
    char text[64], *end;
    for (size_t i = 0; i < NVT_COUNT_OF(axes); i++) {
        if (!option_of(command, axes[i].key, text))
            continue;
        long long value = strtoll(text, &end, 10);
        if (!axes[i].is_number)
            nvt_json_text(json, axes[i].key, text);
        else if (!*end && value > 0)
            nvt_json_integer(json, axes[i].key, value);
    }
}

/* Those that it has: a published document has no key for the others. */
static void put_times(struct nvt_json *json, const double *values)
{
    static const struct {
        const char *key;
        int number;
    } times[] = {{"step_launch_ns_mean", STEP},
                 {"forward_ns_mean", FORWARD_DONE},
                 {"backward_ns_mean", BACKWARD_DONE},
                 {"step_ns_mean", STEP_DONE}};
    nvt_published_time(json, "forward_launch_ns_mean", values[FORWARD], 1e9);
    nvt_published_time(json, "backward_launch_ns_mean", values[BACKWARD], 1e9);
    for (size_t i = 0; i < NVT_COUNT_OF(times); i++)
        if (!isnan(values[times[i].number]))
            nvt_published_time(json, times[i].key, values[times[i].number], 1e9);
    int is_done = !isnan(values[THROUGHPUT_DONE]);
    nvt_json_number(json, "throughput_samples_per_s",
                    values[is_done ? THROUGHPUT_DONE : THROUGHPUT]);
    if (is_done)
        nvt_json_number(json, "throughput_launch_samples_per_s", values[THROUGHPUT]);
}

static int put_block(const struct block *block, struct nvt_published *out)
{
    struct nvt_json json;
    const char *backend = block->on_host ? "host" : NULL;
    nvt_json_begin(&json, &out->results);
    nvt_json_text(&json, "workload", "gpipe");
    nvt_json_text(&json, "model", block->model);
    nvt_json_integer(&json, "partitions", (int64_t)block->values[PARTITIONS]);
    nvt_json_integer(&json, "microbatches", (int64_t)block->values[MICROBATCHES]);
    nvt_json_bool(&json, "checkpoint", block->checkpoint);
    nvt_json_text(&json, "engine", block->torchgpipe ? "torchgpipe" : "self");
    nvt_json_integer(&json, "batch", (int64_t)block->values[BATCH]);
    put_axes(&json, block->command);
    nvt_published_origin(&json, backend);
    out->backend = backend ? backend : out->backend;
    nvt_json_text(&json, "status", "ok");
    nvt_json_text(&json, "command", block->command);
    put_times(&json, block->values);
    nvt_json_integer(&json, "parameters", (int64_t)block->values[PARAMETERS]);
    nvt_json_integer(&json, "parameter_bytes_x3", (int64_t)block->values[STATES]);
    nvt_json_integer(&json, "peak_activation_bytes", (int64_t)block->values[ACTIVATION]);
    nvt_json_integer(&json, "total_reserved_bytes", (int64_t)block->values[TOTAL]);
    put_list(&json, "parameter_bytes_per_partition", &block->held);
    put_list(&json, "reserved_bytes_per_partition", &block->reserved);
    out->count++;
    return nvt_json_end(&json);
}

static int finish(const struct nvt_log *log, struct block *block, struct nvt_published *out,
                  int is_end, struct nvt_error *err)
{
    if (!block->open)
        return 0;
    block->open = 0;
    if (is_whole(block))
        return put_block(block, out) ? nvt_fail(err, "out of memory") : 0;
    if (!is_end)
        return nvt_log_fail(log, err, "the configuration before this line is incomplete");
    snprintf(out->note, sizeof(out->note), "the last configuration is incomplete and left out");
    return 0;
}

/* "gpt2_K1_M1_check_self": the model is what stands before the number of partitions. */
static void read_name(const char *name, struct block *block)
{
    const char *end = strstr(name, "_K");
    size_t length = end ? (size_t)(end - name) : strlen(name);
    snprintf(block->model, sizeof(block->model), "%.*s", length > 60 ? 60 : (int)length, name);
}

/* "cuda:1: 367,607,808 Bytes (0.34 GiB)". 1 when it was one, 0, or -1: cannot be. */
static int read_device(const char *line, struct block *block)
{
    const char *value = nvt_log_value(line, "cuda:");
    int is_host = !value;
    if (is_host)
        value = nvt_log_value(line, "cpu:");
    struct list *list = block->behind ? &block->reserved : &block->held;
    double bytes;
    char *end;
    if (!value)
        return 0;
    (void)strtoul(value, &end, 10);
    if (end == value || strncmp(end, ": ", 2))
        return 0;
    if (list->count == NVT_PARTITIONS_MOST || nvt_log_number(end + 2, NULL, &bytes, &value) ||
        bytes > 9e15 || strncmp(value, " Bytes (", 8) || !strchr(value, ')'))
        return -1;
    block->on_host = is_host;
    list->bytes[list->count++] = (int64_t)bytes;
    return 1;
}

static int read_number(const char *line, struct block *block)
{
    for (int i = 0; i < NUMBERS; i++) {
        const struct number *number = &numbers[i];
        const char *rest, *value = nvt_log_value(line, number->key);
        if (!value)
            continue;
        if (nvt_log_number(value, NULL, &block->values[i], &rest) ||
            block->values[i] < number->least || block->values[i] > number->most)
            return -1;
        rest += strspn(rest, " ");
        if (number->unit ? strncmp(rest, number->unit, strlen(number->unit)) != 0
                         : strncmp(rest, "Bytes (", 7) || !strchr(rest, ')')) {
            block->values[i] = NAN;
            return -1;
        }
        return 1;
    }
    return 0;
}

static int read_flag(const char *line, struct block *block)
{
    const struct {
        const char *key;
        int *value;
    } flags[] = {{"checkpoint_enabled: ", &block->checkpoint},
                 {"use_torchgpipe: ", &block->torchgpipe},
                 {"use_resnet: ", &block->resnet}};
    for (size_t i = 0; i < NVT_COUNT_OF(flags); i++) {
        const char *value = nvt_log_value(line, flags[i].key);
        if (!value)
            continue;
        *flags[i].value = !strncmp(value, "True", 4) ? 1 : !strncmp(value, "False", 5) ? 0 : -1;
        return *flags[i].value < 0 ? -1 : 1;
    }
    return 0;
}

static int read_line(const struct nvt_log *log, const char *line, struct block *block,
                     struct nvt_published *out, struct nvt_error *err)
{
    const char *value = nvt_log_value(line, "Running: ");
    if (value) {
        if (finish(log, block, out, 0, err))
            return -1;
        start(block, value);
        return 0;
    }
    if (!block->open)
        return 0;
    if ((value = nvt_log_value(line, "Initialize logger for experiment: ")))
        read_name(value, block);
    if (nvt_log_value(line, "Max memory per device:"))
        block->behind = 1;
    int taken = read_device(line, block);
    if (!taken)
        taken = read_number(line, block);
    if (!taken)
        taken = read_flag(line, block);
    if (taken < 0 && !log->unterminated)
        return nvt_log_fail(log, err, "has no number or no unit where this line always has them");
    return 0;
}

static int read(struct nvt_log *log, struct nvt_published *out, struct nvt_error *err)
{
    struct block block = {0};
    for (char *line; (line = nvt_log_next(log));)
        if (read_line(log, line, &block, out, err))
            return -1;
    return finish(log, &block, out, 1, err);
}

static const char *matches(const struct nvt_record *ours, const struct nvt_record *theirs)
{
    static const char *const keys[] = {"model",      "partitions", "microbatches",
                                       "checkpoint", "engine",     "batch"};
    for (size_t i = 0; i < NVT_COUNT_OF(keys); i++)
        if (!nvt_same_member(ours, theirs, keys[i]))
            return NULL;
    static const char *const usual[][2] = {
        {"schedule", "gpipe"}, {"sequence", "128"}, {"vocabulary", "3000"}, {"d_model", "768"},
        {"layers", "12"},      {"heads", "12"},     {"d_ff", "3072"}};
    for (size_t i = 0; i < NVT_COUNT_OF(usual); i++)
        if (!nvt_member_is(ours, usual[i][0], usual[i][1]))
            return NULL;
    return nvt_member_is(ours, "attention_axis", "batch")
               ? "published times are launch times, and so is the throughput"
               : "published times are launch times, and so is the throughput; published attention "
                 "is across samples";
}

const struct nvt_layout nvt_layout_gpipe = {
    .name = "gpipe",
    .about = "log of the pipeline-parallel memory study",
    .mark = "num_microbatches: ",
    .backend = "cuda",
    .read = read,
    .matches = matches,
};
