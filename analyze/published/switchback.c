/*
 * SwitchBack's results: a JSON object a line, flat, with the layer's shape and then a time in ms
 * for each operation and the three totals. The keys keep their names: "standard_fwd" becomes
 * "standard_fwd_ns_mean".
 */
#include "switchback.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/one_of.h"
#include "published.h"

/* What is no time: the shape and the number of calls that a time is the mean of. */
static const char *const shape[] = {"repeat", "batch_size", "dim_out", "dim_in", "wm", "switch"};

static int is_shape(const char *key)
{
    return NVT_IS_ONE_OF(key, shape);
}

static int put_row(const struct nvt_record *row, const char *condition, struct nvt_published *out)
{
    int is_switched = !strcmp(nvt_record_text(row, "switch"), "true");
    char key[160];
    struct nvt_json json;
    nvt_json_begin(&json, &out->results);
    nvt_json_text(&json, "workload", "switchback");
    nvt_json_number(&json, "dim", nvt_record_number(row, is_switched ? "dim_out" : "dim_in"));
    nvt_json_number(&json, "batch", nvt_record_number(row, "batch_size"));
    nvt_json_number(&json, "width_multiplier", nvt_record_number(row, "wm"));
    nvt_json_bool(&json, "switch", is_switched);
    nvt_published_origin(&json, NULL);
    nvt_published_condition(&json, condition);
    nvt_json_text(&json, "status", "ok");
    nvt_json_number(&json, "iterations", nvt_record_number(row, "repeat"));
    nvt_json_number(&json, "dim_in", nvt_record_number(row, "dim_in"));
    nvt_json_number(&json, "dim_out", nvt_record_number(row, "dim_out"));
    for (size_t i = 0; i < row->count; i++) {
        const struct nvt_member *member = &row->members[i];
        if (is_shape(member->key) || member->type != NVT_VALUE_NUMBER)
            continue;
        snprintf(key, sizeof(key), "%.100s_ns_mean", member->key);
        nvt_published_time(&json, key, member->number, 1e6);
    }
    out->count++;
    return nvt_json_end(&json);
}

static int check(const struct nvt_log *log, const struct nvt_record *row, struct nvt_error *err)
{
    for (size_t i = 0; i < NVT_COUNT_OF(shape); i++) {
        const struct nvt_member *member = nvt_record_find(row, shape[i]);
        enum nvt_value_type type = strcmp(shape[i], "switch") ? NVT_VALUE_NUMBER : NVT_VALUE_BOOL;
        if (!member || member->type != type)
            return nvt_log_fail(log, err, "has no \"%s\" of the right kind", shape[i]);
        if (type == NVT_VALUE_NUMBER && !(member->number >= 0 && member->number <= 1e12))
            return nvt_log_fail(log, err, "\"%s\" is out of range", shape[i]);
    }
    return 0;
}

static int read_line(const struct nvt_log *log, const char *object, const char *condition,
                     struct nvt_published *out, struct nvt_error *err)
{
    struct nvt_record row = {0};
    struct nvt_error broken = NVT_ERROR_INIT;
    if (nvt_record_parse(&row, object, strlen(object), &broken)) {
        if (!log->unterminated)
            return nvt_log_fail(log, err, "%s", broken.message);
        snprintf(out->note, sizeof(out->note), "the last line was cut and is left out");
        return 0;
    }
    int status = check(log, &row, err);
    if (!status && put_row(&row, condition, out))
        status = nvt_fail(err, "out of memory");
    nvt_record_free(&row);
    return status;
}

static int read(struct nvt_log *log, struct nvt_published *out, struct nvt_error *err)
{
    char condition[NVT_CONDITION_SIZE] = ""; /* of the lines that follow */
    for (char *line; (line = nvt_log_next(log));) {
        const char *rest = nvt_log_value(line, "{");
        if (!rest)
            nvt_log_condition(line, condition);
        if (rest && read_line(log, rest - 1, condition, out, err))
            return -1;
    }
    return 0;
}

static const char *matches(const struct nvt_record *ours, const struct nvt_record *theirs)
{
    static const char *const keys[] = {"dim", "batch", "switch"};
    for (size_t i = 0; i < NVT_COUNT_OF(keys); i++)
        if (!nvt_same_member(ours, theirs, keys[i]))
            return NULL;
    double apart =
        nvt_record_number(ours, "width_multiplier") - nvt_record_number(theirs, "width_multiplier");
    if (!(fabs(apart) < 1e-3))
        return NULL;
    return nvt_member_is(ours, "timing", "loop") ? "" : "this run is timed call by call";
}

const struct nvt_layout nvt_layout_switchback = {
    .name = "switchback",
    .about = "JSON lines of SwitchBack's speed benchmark",
    .mark = "\"standard_fwd\": ",
    .read = read,
    .matches = matches,
};

/* Python's numbers: whole ones without a point. NaN and what is missing have no place in the
 * layout. */
static void put_number(const char *separator, const char *key, double value, int is_whole,
                       FILE *out)
{
    char text[NVT_REPR_MAX];
    if (is_whole && value == floor(value) && fabs(value) < 1e15)
        snprintf(text, sizeof(text), "%.0f", value);
    else
        nvt_number_repr(value, text);
    fprintf(out, "%s\"%s\": %s", separator, key, text);
}

static void put_line(const struct nvt_record *record, FILE *out)
{
    static const char *const times[] = {"standard_fwd",
                                        "standard_gw",
                                        "standard_gx",
                                        "rowwise_fwd",
                                        "rowwise_bwd",
                                        "global_fwd",
                                        "global_bwd",
                                        "x_quantize_rowwise",
                                        "g_quantize_rowwise",
                                        "w_quantize_rowwise",
                                        "w_quantize_colwise_transpose",
                                        "w_quantize_global",
                                        "w_quantize_global_transpose",
                                        "cast_x",
                                        "cast_g",
                                        "cast_w",
                                        "time_standard",
                                        "time_rowwise",
                                        "time_global"};
    const char *is_switched = nvt_record_text(record, "switch");
    char key[160];
    put_number("{", "repeat", nvt_record_number(record, "iterations"), 1, out);
    put_number(", ", "batch_size", nvt_record_number(record, "batch"), 1, out);
    put_number(", ", "dim_out", nvt_record_number(record, "dim_out"), 1, out);
    put_number(", ", "dim_in", nvt_record_number(record, "dim_in"), 1, out);
    put_number(", ", "wm", nvt_record_number(record, "width_multiplier"), 1, out);
    fprintf(out, ", \"switch\": %s", is_switched ? is_switched : "false");
    for (size_t i = 0; i < NVT_COUNT_OF(times); i++) {
        snprintf(key, sizeof(key), "%s_ns_mean", times[i]);
        double value = nvt_record_number(record, key);
        if (isfinite(value))
            put_number(", ", times[i], value / 1e6, 0, out);
    }
    fputs("}\n", out);
}

int nvt_published_switchback(struct nvt_input *input, FILE *out, struct nvt_error *err)
{
    return nvt_published_records(input, "switchback", put_line, out, err);
}
