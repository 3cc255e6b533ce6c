#include "published.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/version.h"

#define NVT_LAYOUT_LINE(name) &nvt_layout_##name,
static const struct nvt_layout *const layouts[] = {NVT_LAYOUTS(NVT_LAYOUT_LINE)};
#undef NVT_LAYOUT_LINE
#define LAYOUTS NVT_COUNT_OF(layouts)

const struct nvt_layout *const *nvt_layouts(size_t *count)
{
    *count = LAYOUTS;
    return layouts;
}

void nvt_published_free(struct nvt_published *published)
{
    nvt_buffer_free(&published->results);
    *published = (struct nvt_published){0};
}

int nvt_published_read(const char *path, char *text, size_t size, struct nvt_published *out,
                       struct nvt_error *err)
{
    struct nvt_log log = {.path = path, .at = text, .end = text + size};
    for (size_t i = 0; i < LAYOUTS && !out->layout; i++)
        if (memmem(text, size, layouts[i]->mark, strlen(layouts[i]->mark)))
            out->layout = layouts[i];
    if (!out->layout)
        return nvt_fail_at(
            err, path, -1,
            "is in no published layout that nvtally knows (nvtally import --help lists them)");
    if (memchr(text, 0, size))
        return nvt_fail_at(err, path, (const char *)memchr(text, 0, size) - text,
                           "is not text: it has a byte 0");
    out->backend = out->layout->backend;
    if (out->layout->read(&log, out, err))
        return -1;
    return out->count
               ? 0
               : nvt_fail_at(err, path, -1, "holds no complete configuration of the layout %s",
                             out->layout->name);
}

int nvt_published_environment(const struct nvt_published_facts *facts, struct nvt_buffer *out)
{
    struct nvt_json json;
    char condition[700];
    snprintf(condition, sizeof(condition), "published: %.600s", facts->source);
    nvt_json_begin(&json, out);
    nvt_json_text(&json, "date", facts->date);
    nvt_json_text(&json, "backend", facts->backend);
    nvt_json_text(&json, "device", facts->device ? facts->device : "not stated");
    nvt_json_text(&json, "condition", condition);
    nvt_json_text(&json, "source", facts->source);
    nvt_json_text(&json, "layout", facts->layout);
    nvt_json_text(&json, "nvtally", NVT_VERSION);
    nvt_json_text(&json, "command", facts->command);
    return nvt_json_end(&json);
}

char *nvt_log_next(struct nvt_log *log)
{
    if (log->at == log->end)
        return NULL;
    char *line = log->at, *stop = memchr(line, '\n', (size_t)(log->end - line));
    log->number++;
    log->unterminated = !stop;
    if (!stop)
        stop = log->end; /* the owner's terminator */
    log->at = stop < log->end ? stop + 1 : stop;
    *stop = 0;
    if (stop > line && stop[-1] == '\r')
        stop[-1] = 0;
    return line;
}

/* "2024-05-01 12:00:00,123 - INFO - ", "[12:00:00] ", "INFO:root:": a time or a level in it. */
static int is_prefix(const char *line, size_t size)
{
    static const char *const levels[] = {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"};
    if (strspn(line, " \t") >= size)
        return 1;
    for (size_t i = 0; i + 4 < size; i++)
        if (isdigit((unsigned char)line[i]) && isdigit((unsigned char)line[i + 1]) &&
            line[i + 2] == ':' && isdigit((unsigned char)line[i + 3]) &&
            isdigit((unsigned char)line[i + 4]))
            return 1;
    for (size_t i = 0; i < NVT_COUNT_OF(levels); i++)
        if (memmem(line, size, levels[i], strlen(levels[i])))
            return 1;
    return 0;
}

const char *nvt_log_value(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    return at && is_prefix(line, (size_t)(at - line)) ? at + strlen(key) : NULL;
}

int nvt_log_fail(const struct nvt_log *log, struct nvt_error *err, const char *format, ...)
{
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    return nvt_fail_line(err, log->path, log->number, "%s", message);
}

int nvt_log_number(const char *text, const char *unit, double *value, const char **rest)
{
    char plain[64], *end;
    size_t used = 0;
    text += strspn(text, " \t");
    while (*text && strchr("0123456789.,eE+-", *text)) {
        if (used + 1 >= sizeof(plain))
            return -1;
        if (*text != ',')
            plain[used++] = *text;
        text++;
    }
    plain[used] = 0;
    *value = strtod(plain, &end);
    if (!used || *end || !isfinite(*value) || *value < 0)
        return -1;
    if (unit) {
        if (strncmp(text, unit, strlen(unit)))
            return -1;
        text += strlen(unit);
        if (text[strspn(text, " \t")])
            return -1;
    }
    if (rest)
        *rest = text;
    return 0;
}

void nvt_published_origin(struct nvt_json *json, const char *backend)
{
    nvt_json_text(json, "backend", backend);
    nvt_json_null(json, "device");
    nvt_json_text(json, "source", "published");
}

void nvt_published_time(struct nvt_json *json, const char *key, double value, double scale)
{
    nvt_json_number(json, key, value * scale);
}

int nvt_same_member(const struct nvt_record *ours, const struct nvt_record *theirs, const char *key)
{
    const char *a = nvt_record_text(ours, key), *b = nvt_record_text(theirs, key);
    return a && b ? !strcmp(a, b) : a == b;
}

int nvt_member_is(const struct nvt_record *ours, const char *key, const char *text)
{
    const char *value = nvt_record_text(ours, key);
    return !value || !strcmp(value, text);
}

const char *nvt_number_repr(double value, char out[NVT_REPR_MAX])
{
    int digits = 1;
    do
        snprintf(out, NVT_REPR_MAX, "%.*g", digits, value);
    while (strtod(out, NULL) != value && ++digits <= 17);
    /* Python writes 1e-05 and 1e+16 that way too, and what lies between without an exponent. */
    if (strpbrk(out, "eE") && fabs(value) >= 1e-4 && fabs(value) < 1e16)
        snprintf(out, NVT_REPR_MAX, "%.0f", value);
    if (!strpbrk(out, ".einf"))
        strncat(out, ".0", NVT_REPR_MAX - strlen(out) - 1);
    return out;
}

/* The records of a workload that ended well, in order; malloc'ed, NULL: out of memory. */
static const struct nvt_record **records_of(const struct nvt_input *input, const char *workload,
                                            size_t *count)
{
    size_t most = 1;
    for (size_t i = 0; i < input->run_count; i++)
        most += input->runs[i]->count;
    const struct nvt_record *record, **records = calloc(most, sizeof(*records));
    *count = 0;
    for (size_t i = 0; records && (record = nvt_input_record_of(input, workload, &i));) {
        const char *status = nvt_record_text(record, "status");
        if (!status || !strcmp(status, "ok"))
            records[(*count)++] = record;
    }
    return records;
}

int nvt_published_records(const struct nvt_input *input, const char *workload,
                          void (*put)(const struct nvt_record *record, FILE *out), FILE *out,
                          struct nvt_error *err)
{
    size_t count = 0;
    const struct nvt_record **records = records_of(input, workload, &count);
    nvt_condition_text_of *conditions = records ? nvt_published_conditions(records, count) : NULL;
    int status = conditions ? 0 : nvt_fail(err, "out of memory");
    if (!status && !count)
        status = nvt_fail(err, "no run of %s that ended well", workload);
    for (size_t i = 0; conditions && i < count;
         i = nvt_published_next_condition(conditions, count, i + 1)) {
        nvt_published_put_condition(conditions[i], !i, out);
        for (size_t k = i; k < count; k++)
            if (!strcmp(conditions[k], conditions[i]))
                put(records[k], out);
    }
    free(conditions);
    free((void *)records);
    return status;
}
