/*
 * A configuration begins with "Running: COMMAND" and ends with the reserved memory of each device.
 * Times are means over the batches, taken without waiting for the device: they are launch times and
 * go into the keys of those. Sizes are exact, in bytes.
 */
#include "gpipe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "published.h"

/* --- reading ---------------------------------------------------------------------------------- */

enum {
    PARTITIONS,
    MICROBATCHES,
    BATCH,
    PARAMETERS,
    STATES,
    ACTIVATION,
    TOTAL,
    FORWARD,
    BACKWARD,
    THROUGHPUT,
    NUMBERS
};

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
    [FORWARD] = {"Average Forward Time: ", "sec", 0, 1e9},
    [BACKWARD] = {"Average Backward Time: ", "sec", 0, 1e9},
    [THROUGHPUT] = {"Throughput: ", "samples/sec", 0, 1e15},
};

struct list {
    int64_t bytes[NVT_PARTITIONS_MOST];
    size_t count;
};

struct block {
    char command[256], model[64];
    double values[NUMBERS];             /* NaN: not said yet */
    int checkpoint, torchgpipe, resnet; /* -1: not said yet */
    struct list held, reserved;
    int open, behind; /* a configuration; past "Max memory per device" */
};

static void start(struct block *block, const char *command)
{
    *block = (struct block){.checkpoint = -1, .torchgpipe = -1, .resnet = -1, .open = 1};
    for (int i = 0; i < NUMBERS; i++)
        block->values[i] = NAN;
    snprintf(block->command, sizeof(block->command), "%s", command);
}

static int is_whole(const struct block *block)
{
    for (int i = 0; i < NUMBERS; i++)
        if (isnan(block->values[i]))
            return 0;
    return block->checkpoint >= 0 && block->torchgpipe >= 0 &&
           (double)block->reserved.count >= block->values[PARTITIONS];
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

static int put_block(const struct block *block, struct nvt_published *out)
{
    struct nvt_json json;
    nvt_json_begin(&json, &out->results);
    nvt_json_text(&json, "workload", "gpipe");
    nvt_json_text(&json, "model", block->model);
    nvt_json_integer(&json, "partitions", (int64_t)block->values[PARTITIONS]);
    nvt_json_integer(&json, "microbatches", (int64_t)block->values[MICROBATCHES]);
    nvt_json_bool(&json, "checkpoint", block->checkpoint);
    nvt_json_text(&json, "engine", block->torchgpipe ? "torchgpipe" : "self");
    nvt_json_integer(&json, "batch", (int64_t)block->values[BATCH]);
    nvt_published_origin(&json);
    nvt_json_text(&json, "status", "ok");
    nvt_json_text(&json, "command", block->command);
    nvt_published_time(&json, "forward_launch_ns_mean", block->values[FORWARD], 1e9);
    nvt_published_time(&json, "backward_launch_ns_mean", block->values[BACKWARD], 1e9);
    nvt_json_number(&json, "throughput_samples_per_s", block->values[THROUGHPUT]);
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
        return nvt_log_fail(log, err, "the configuration before this line is not whole");
    snprintf(out->note, sizeof(out->note), "the last configuration is not whole: left out");
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
    if (!value)
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
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
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
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (!nvt_same_member(ours, theirs, keys[i]))
            return NULL;
    static const char *const usual[][2] = {
        {"schedule", "gpipe"}, {"sequence", "128"}, {"vocabulary", "3000"}, {"d_model", "768"},
        {"layers", "12"},      {"heads", "12"},     {"d_ff", "3072"}};
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        if (!nvt_member_is(ours, usual[i][0], usual[i][1]))
            return NULL;
    return nvt_member_is(ours, "attention_axis", "batch")
               ? "published times are launch times, and its throughput is of them"
               : "published times are launch times, its throughput is of them, and its attention "
                 "is across the samples";
}

const struct nvt_layout nvt_layout_gpipe = {
    .name = "gpipe",
    .about = "log of the pipeline-parallel memory study",
    .mark = "num_microbatches: ",
    .backend = "cuda",
    .read = read,
    .matches = matches,
};

/* --- printing --------------------------------------------------------------------------------- */

static const char line_80[] =
    "--------------------------------------------------------------------------------";
static const char double_80[] =
    "================================================================================";

size_t nvt_partition_bytes(const struct nvt_record *record, const char *key,
                           int64_t bytes[NVT_PARTITIONS_MOST])
{
    const char *text = nvt_record_text(record, key);
    size_t count = 0;
    /* Those of a run are members of their own: KEY.0, KEY.1 … */
    for (; !text && count < NVT_PARTITIONS_MOST; count++) {
        char name[80];
        snprintf(name, sizeof(name), "%s.%zu", key, count);
        double value = nvt_record_number(record, name);
        if (!(value >= 0) || value > 9e15)
            return count;
        bytes[count] = (int64_t)value;
    }
    while (text && *text && count < NVT_PARTITIONS_MOST) {
        char *end;
        double value = strtod(text, &end);
        if (end == text || !(value >= 0) || value > 9e15)
            return 0;
        bytes[count++] = (int64_t)value;
        text = end + strspn(end, ";, ");
    }
    return count;
}

static const char *with_commas(int64_t value, char out[32])
{
    char plain[24];
    size_t length = (size_t)snprintf(plain, sizeof(plain), "%lld", (long long)value), used = 0;
    for (size_t i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = plain[i];
    }
    out[used] = 0;
    return out;
}

static int64_t count_of(const struct nvt_record *record, const char *key)
{
    double value = nvt_record_number(record, key);
    return value >= 0 && value <= 9e15 ? (int64_t)value : 0;
}

static int is_set(const struct nvt_record *record, const char *key)
{
    const char *text = nvt_record_text(record, key);
    return text && (!strcmp(text, "true") || !strcmp(text, "on"));
}

static void put_bytes(const char *label, int64_t bytes, FILE *out)
{
    char text[32];
    fprintf(out, "%s: %s Bytes (%.2f GiB)\n", label, with_commas(bytes, text),
            (double)bytes / (1 << 30));
}

static void put_configuration(const struct nvt_record *record, int torchgpipe, FILE *out)
{
    const char *model = nvt_record_text(record, "model");
    const char *command = nvt_record_text(record, "command");
    long long partitions = count_of(record, "partitions");
    long long microbatches = count_of(record, "microbatches");
    const char *schedule = nvt_record_text(record, "schedule");
    int other = schedule && strcmp(schedule, "gpipe") != 0;
    int checkpoint = is_set(record, "checkpoint");
    if (command)
        fprintf(out, "Running: %s\n", command);
    else
        fprintf(out,
                "Running: nvtally run gpipe --partitions %lld --microbatches %lld --checkpoint %s "
                "--engine %s%s%s\n",
                partitions, microbatches, checkpoint ? "on" : "off",
                torchgpipe ? "torchgpipe" : "self", other ? " --schedule " : "",
                other ? schedule : "");
    fprintf(out, "Initialize logger for experiment: %s_K%lld_M%lld%s_%s%s%s\n", model ? model : "?",
            partitions, microbatches, checkpoint ? "_check" : "",
            torchgpipe ? "torchgpipe" : "self", other ? "_" : "", other ? schedule : "");
    fprintf(
        out,
        "%s\nConfiguration\nnum_partitions: %lld\nnum_microbatches: %lld\n"
        "checkpoint_enabled: %s\nuse_torchgpipe: %s\nuse_resnet: %s\nbatch_size: %lld\n%s\n%s\n",
        double_80, partitions, microbatches, checkpoint ? "True" : "False",
        torchgpipe ? "True" : "False", model && !strcmp(model, "resnet") ? "True" : "False",
        (long long)count_of(record, "batch"), double_80, line_80);
}

static double launch_seconds(const struct nvt_record *record, const char *phase)
{
    char key[64];
    snprintf(key, sizeof(key), "%s_launch_ns_mean", phase);
    return nvt_record_number(record, key) / 1e9;
}

/* Weights, gradients and momentum: by definition what of the total is no activation. */
static int64_t state_bytes(const struct nvt_record *record)
{
    if (nvt_record_text(record, "parameter_bytes_x3"))
        return count_of(record, "parameter_bytes_x3");
    return count_of(record, "total_reserved_bytes") - count_of(record, "peak_activation_bytes");
}

static void put_record(const struct nvt_record *record, FILE *out)
{
    int64_t bytes[NVT_PARTITIONS_MOST];
    char label[32], text[32];
    const char *engine = nvt_record_text(record, "engine");
    int torchgpipe = engine && !strcmp(engine, "torchgpipe");
    const char *model = nvt_record_text(record, "model");
    const char *backend = nvt_record_text(record, "backend");
    const char *device = backend && !strcmp(backend, "host") ? "cpu" : "cuda";
    put_configuration(record, torchgpipe, out);
    if (torchgpipe)
        fputs("Pipelining model with torchgpipe...\n", out);
    else
        fprintf(out,
                "Pipelining model with self-implemented GPipe...\n%s\n"
                "Splitting the module in MyGPipe...\n",
                line_80);
    size_t count = nvt_partition_bytes(record, "parameter_bytes_per_partition", bytes);
    for (size_t i = 0; i < count; i++) {
        snprintf(label, sizeof(label), "%s:%zu", device, i);
        put_bytes(label, bytes[i], out);
    }
    fprintf(out, "Running %s expr...\n%s\nProfiling parameters...\n# of Model Parameters: %s\n",
            model && !strcmp(model, "resnet") ? "ResNet" : "GPT-2", line_80,
            with_commas(count_of(record, "parameters"), text));
    put_bytes("Total Model Parameter Memory", state_bytes(record), out);
    fprintf(out, "%s\nProfiling...\n%s\n", line_80, line_80);
    put_bytes("Peak Activation Memory", count_of(record, "peak_activation_bytes"), out);
    put_bytes("Total Memory", count_of(record, "total_reserved_bytes"), out);
    /* Schedules that mix the two have no time of either. */
    if (isfinite(launch_seconds(record, "forward")))
        fprintf(out, "Average Forward Time: %.3f sec\nAverage Backward Time: %.3f sec\n",
                launch_seconds(record, "forward"), launch_seconds(record, "backward"));
    fprintf(out, "Throughput: %.3f samples/sec\nProfiling Completed.\n%s\nMax memory per device:\n",
            nvt_record_number(record, "throughput_samples_per_s"), line_80);
    count = nvt_partition_bytes(record, "reserved_bytes_per_partition", bytes);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%s:%zu: %s Bytes (%.2f MiB)\n", device, i, with_commas(bytes[i], text),
                (double)bytes[i] / (1 << 20));
}

int nvt_published_gpipe(struct nvt_report_input *input, FILE *out, struct nvt_error *err)
{
    return nvt_published_records(input, "gpipe", put_record, out, err);
}
