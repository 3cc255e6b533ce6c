/*
 * The pipeline study's log, printed: what the lines mean is in gpipe.c, which reads them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "gpipe.h"
#include "published.h"

static const char line_80[] =
    "--------------------------------------------------------------------------------";
static const char double_80[] =
    "================================================================================";

int nvt_gpipe_is_of_launches(const struct nvt_record *record)
{
    return !strcmp(nvt_record_source(record), "published") &&
           !isfinite(nvt_record_number(record, "step_ns_mean")) &&
           !isfinite(nvt_record_number(record, "forward_ns_mean"));
}

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

/* Whether a text can stand in a command as it is, whoever wrote the record. */
static int is_word(const char *text)
{
    return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789._-")];
}

/* An option and its value; a flag has the words that it takes. */
static void put_option(const struct nvt_member *member, FILE *out)
{
    const char *text = member->type != NVT_VALUE_BOOL  ? member->text
                       : !strcmp(member->text, "true") ? "on"
                                                       : "off";
    if (member->type == NVT_VALUE_NULL || !is_word(text) || !is_word(member->key))
        return;
    fputs(" --", out);
    for (const char *at = member->key; *at; at++)
        putc(*at == '_' ? '-' : *at, out);
    fprintf(out, " %s", text);
}

/* The command that gives this row once more: its axes, and how it was measured. */
static void put_command(const struct nvt_record *record, FILE *out)
{
    static const char *const how[] = {"backend", "collect", "warmup", "iterations", "seed"};
    const char *command = nvt_record_text(record, "command");
    int is_axis = 0;
    if (command) {
        fprintf(out, "Running: %s\n", command);
        return;
    }
    fputs("Running: ", out);
    if (nvt_record_number(record, "ranks") > 1)
        fprintf(out, "mpirun -n %lld ", (long long)count_of(record, "ranks"));
    fputs("nvtally run gpipe", out);
    for (size_t i = 0; i < record->count && strcmp(record->members[i].key, "backend"); i++) {
        if (is_axis)
            put_option(&record->members[i], out);
        is_axis |= !strcmp(record->members[i].key, "workload");
    }
    for (size_t i = 0; i < NVT_COUNT_OF(how); i++)
        if (nvt_record_find(record, how[i]))
            put_option(nvt_record_find(record, how[i]), out);
    putc('\n', out);
}

static void put_configuration(const struct nvt_record *record, int torchgpipe, FILE *out)
{
    const char *model = nvt_record_text(record, "model");
    long long partitions = count_of(record, "partitions");
    long long microbatches = count_of(record, "microbatches");
    const char *schedule = nvt_record_text(record, "schedule");
    int other = schedule && strcmp(schedule, "gpipe") != 0;
    int checkpoint = is_set(record, "checkpoint");
    put_command(record, out);
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

static double seconds(const struct nvt_record *record, const char *key)
{
    return nvt_record_number(record, key) / 1e9;
}

/* "Average Forward Time: 0.068 sec", where there is one. */
static void put_time(const struct nvt_record *record, const char *key, const char *name, FILE *out)
{
    double value = seconds(record, key);
    if (isfinite(value))
        fprintf(out, "Average %s: %.3f sec\n", name, value);
}

static void put_throughput(const char *name, double value, FILE *out)
{
    if (isfinite(value))
        fprintf(out, "%s: %.3f samples/sec\n", name, value);
}

/* Samples by the time until all is launched, as the published code has it. NaN: not known. */
static double launch_throughput(const struct nvt_record *record)
{
    double time =
        seconds(record, "forward_launch_ns_mean") + seconds(record, "backward_launch_ns_mean");
    double known = nvt_gpipe_is_of_launches(record)
                       ? nvt_record_number(record, "throughput_samples_per_s")
                       : nvt_record_number(record, "throughput_launch_samples_per_s");
    if (isnan(time))
        time = seconds(record, "step_launch_ns_mean");
    return isfinite(known) ? known : nvt_record_number(record, "batch") / time;
}

/* Whether a row has times of forward and backward: schedules that mix the two have none. */
static int is_apart(const struct nvt_record *record)
{
    return isfinite(nvt_record_number(record, "forward_launch_ns_mean"));
}

/* Launch times, which the published ones are. */
static void put_launch_times(const struct nvt_record *record, FILE *out)
{
    put_time(record, "forward_launch_ns_mean", "Forward Time", out);
    put_time(record, "backward_launch_ns_mean", "Backward Time", out);
    if (!is_apart(record))
        put_time(record, "step_launch_ns_mean", "Step Time", out);
    put_throughput("Throughput", launch_throughput(record), out);
}

/* Those of what was done, with names of their own: the published log has none of these lines, so they stand behind its
 * last one. */
static void put_completed_times(const struct nvt_record *record, FILE *out)
{
    if (nvt_gpipe_is_of_launches(record))
        return;
    if (isfinite(launch_throughput(record)))
        fputs("Times above: when all was launched, as in the published log. When all was done:\n",
              out);
    put_time(record, "forward_ns_mean", "Forward Time (completed)", out);
    put_time(record, "backward_ns_mean", "Backward Time (completed)", out);
    if (!is_apart(record))
        put_time(record, "step_ns_mean", "Step Time (completed)", out);
    put_throughput("Throughput (completed)", nvt_record_number(record, "throughput_samples_per_s"),
                   out);
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
    /* Only the engine that splits the module itself says what that took. */
    size_t count =
        torchgpipe ? 0 : nvt_partition_bytes(record, "parameter_bytes_per_partition", bytes);
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
    put_launch_times(record, out);
    fprintf(out, "Profiling Completed.\n%s\nMax memory per device:\n", line_80);
    count = nvt_partition_bytes(record, "reserved_bytes_per_partition", bytes);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%s:%zu: %s Bytes (%.2f MiB)\n", device, i, with_commas(bytes[i], text),
                (double)bytes[i] / (1 << 20));
    put_completed_times(record, out);
}

/* Whether a row is of a run, whose partitions may share a device. */
static int has_runs(const struct nvt_input *input)
{
    const struct nvt_record *record;
    for (size_t i = 0; (record = nvt_input_record_of(input, "gpipe", &i));)
        if (strcmp(nvt_record_source(record), "published") != 0)
            return 1;
    return 0;
}

int nvt_published_gpipe(struct nvt_input *input, FILE *out, struct nvt_error *err)
{
    if (has_runs(input))
        nvt_note(input, "note: cuda:N, or cpu:N, is partition N, whatever device that was on");
    return nvt_published_records(input, "gpipe", put_record, out, err);
}
