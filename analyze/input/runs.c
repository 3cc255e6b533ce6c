#include "runs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/grow.h"
#include "../../lib/read_file.h"

/* env.json is small; what is larger is something else. */
#define ENV_BYTES_MAX (1024 * 1024)

void nvt_record_free(struct nvt_record *record)
{
    for (size_t i = 0; i < record->count; i++) {
        free(record->members[i].key);
        free(record->members[i].text);
    }
    free(record->members);
    *record = (struct nvt_record){0};
}

void nvt_runs_free(struct nvt_runs *runs)
{
    if (!runs)
        return;
    for (size_t i = 0; i < runs->count; i++)
        nvt_record_free(&runs->records[i]);
    nvt_record_free(&runs->env);
    free(runs->records);
    free(runs->path);
    free(runs->warning);
    free(runs);
}

int nvt_record_is_axis(const struct nvt_record *record, size_t member)
{
    return member >= record->axis_first && member < record->axis_first + record->axis_count;
}

const struct nvt_member *nvt_record_find(const struct nvt_record *record, const char *key)
{
    for (size_t i = 0; i < record->count; i++)
        if (!strcmp(record->members[i].key, key) &&
            !(record->is_by_name && nvt_record_is_axis(record, i)))
            return &record->members[i];
    return NULL;
}

const struct nvt_member *nvt_record_axis(const struct nvt_record *record, const char *key)
{
    for (size_t i = 0; i < record->axis_count; i++)
        if (!strcmp(record->members[record->axis_first + i].key, key))
            return &record->members[record->axis_first + i];
    return NULL;
}

const char *nvt_record_text(const struct nvt_record *record, const char *key)
{
    const struct nvt_member *member = nvt_record_find(record, key);
    return member && member->type != NVT_VALUE_NULL ? member->text : NULL;
}

double nvt_record_number(const struct nvt_record *record, const char *key)
{
    const struct nvt_member *member = nvt_record_find(record, key);
    return member && member->type == NVT_VALUE_NUMBER ? member->number : NAN;
}

double nvt_record_phase_ns(const struct nvt_record *record, const char *phase, const char *what)
{
    char key[128];
    snprintf(key, sizeof(key), "%s_ns_%s", phase, what);
    return nvt_record_number(record, key);
}

int nvt_record_is_of(const struct nvt_record *record, const char *workload)
{
    const char *of = nvt_record_text(record, "workload");
    return of && !strcmp(of, workload);
}

const char *nvt_record_source(const struct nvt_record *record)
{
    const char *source = nvt_record_text(record, "source");
    return source && !strcmp(source, "published") ? "published" : "measured";
}

/* A flag has the words of its option, as in the name of a trace's range. */
static const char *word_of(const struct nvt_member *member)
{
    if (member->type != NVT_VALUE_BOOL)
        return member->text;
    return !strcmp(member->text, "true") ? "on" : "off";
}

char *nvt_record_configuration(const struct nvt_record *record)
{
    struct nvt_buffer text = {0};
    int failed = 0;
    for (size_t i = 0; i < record->axis_count && !failed; i++) {
        const struct nvt_member *member = &record->members[record->axis_first + i];
        if (member->type != NVT_VALUE_NULL)
            failed = nvt_buffer_printf(&text, "%s%s=%s", text.size ? " " : "", member->key,
                                       word_of(member));
    }
    if (failed || nvt_buffer_append(&text, "", 1)) {
        nvt_buffer_free(&text);
        return NULL;
    }
    return (char *)text.data;
}

/* Order members by their names, those of one name as the record has them. */
static int by_key(const void *left, const void *right)
{
    const struct nvt_member *const *a = left, *const *b = right;
    int order = strcmp((*a)->key, (*b)->key);
    return order ? order : (*a > *b) - (*a < *b);
}

char *nvt_record_sorted_axes(const struct nvt_record *record, const char *without)
{
    const struct nvt_member **axes = malloc((record->axis_count + 1) * sizeof(const void *));
    struct nvt_buffer text = {0};
    int failed = axes ? 0 : -1;
    for (size_t i = 0; i < record->axis_count && axes; i++)
        axes[i] = &record->members[record->axis_first + i];
    if (axes)
        qsort((void *)axes, record->axis_count, sizeof(const void *), by_key);
    for (size_t i = 0; i < record->axis_count && !failed; i++)
        if (axes[i]->type != NVT_VALUE_NULL && (!without || strcmp(axes[i]->key, without) != 0))
            failed = nvt_buffer_printf(&text, "%s%s=%s", text.size ? " " : "", axes[i]->key,
                                       word_of(axes[i]));
    free((void *)axes);
    if (failed || nvt_buffer_append(&text, "", 1)) {
        nvt_buffer_free(&text);
        return NULL;
    }
    return (char *)text.data;
}

struct nvt_provenance nvt_runs_provenance(const struct nvt_runs *runs)
{
    struct nvt_provenance from = {
        .backend = nvt_record_text(&runs->env, "backend"),
        .device = nvt_record_text(&runs->env, "device"),
        .date = nvt_record_text(&runs->env, "date"),
        .condition = nvt_record_text(&runs->env, "condition"),
    };
    if (!from.backend && runs->count)
        from.backend = nvt_record_text(&runs->records[0], "backend");
    if (!from.device && runs->count)
        from.device = nvt_record_text(&runs->records[0], "device");
    return from;
}

static char *join(const char *directory, const char *name)
{
    char *path;
    return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

static void warn(struct nvt_runs *runs, const struct nvt_error *err, const char *consequence)
{
    char text[1100];
    if (runs->warning)
        return;
    if (asprintf(&runs->warning, "%s: %s", nvt_error_text(err, text, sizeof(text)), consequence) <
        0)
        runs->warning = NULL;
}

struct nvt_runs *nvt_runs_new(const char *name)
{
    struct nvt_runs *runs = calloc(1, sizeof(*runs));
    if (runs)
        runs->path = strdup(name);
    if (runs && runs->path)
        return runs;
    nvt_runs_free(runs);
    return NULL;
}

int nvt_runs_add(struct nvt_runs *runs, const struct nvt_record *record)
{
    if (nvt_grow(&runs->records, runs->count, sizeof(*runs->records)))
        return -1;
    runs->records[runs->count++] = *record;
    return 0;
}

/* A line that ends in a line end must be whole; one that does not may have been cut. */
static int read_line(struct nvt_runs *runs, const char *path, int64_t number, const char *line,
                     size_t size, struct nvt_error *err)
{
    struct nvt_record record = {0};
    struct nvt_error broken = NVT_ERROR_INIT;
    if (strspn(line, " \t\r\n") == size)
        return 0;
    if (nvt_record_parse(&record, line, size, &broken)) {
        struct nvt_error placed = NVT_ERROR_INIT;
        nvt_fail_line(&placed, path, number, "%s", broken.message);
        if (line[size - 1] == '\n') {
            *err = placed;
            return -1;
        }
        nvt_fail_line(&placed, path, number, "the last line was cut");
        warn(runs, &placed, "left out, the rest is used");
        return 0;
    }
    if (nvt_runs_add(runs, &record)) {
        nvt_record_free(&record);
        return nvt_fail_at(err, path, -1, "out of memory");
    }
    return 0;
}

static int read_results(struct nvt_runs *runs, struct nvt_error *err)
{
    char *path = join(runs->path, "results.jsonl"), *line = NULL;
    size_t capacity = 0;
    int status = -1;
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file) {
        if (path && errno == ENOENT)
            nvt_fail_at(err, runs->path, -1,
                        "has no results.jsonl: not a directory that 'nvtally run' wrote");
        else
            nvt_fail_at(err, path, -1, "cannot be opened: %s", strerror(errno));
        goto out;
    }
    status = 0;
    for (int64_t number = 1; !status; number++) {
        ssize_t size = getline(&line, &capacity, file);
        if (size < 0)
            break;
        status = read_line(runs, path, number, line, (size_t)size, err);
    }
    /* Neither an error of the file nor its end: getline had no memory. */
    if (!status && !feof(file))
        status = nvt_fail_at(err, path, -1, "cannot be read: %s", strerror(errno));
out:
    if (file)
        fclose(file);
    free(line);
    free(path);
    return status;
}

/* Without it the tables merely lack their captions. */
static void read_env(struct nvt_runs *runs)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_buffer text = {0};
    char *path = join(runs->path, "env.json");
    int status = 0;
    if (!path)
        status = nvt_fail(&err, "env.json: out of memory");
    else if (!access(path, F_OK) || errno != ENOENT)
        status = nvt_read_file(path, ENV_BYTES_MAX, &text, &err);
    if (text.size && !status && nvt_record_parse(&runs->env, (char *)text.data, text.size, &err))
        status = nvt_error_in(&err, path);
    if (status)
        warn(runs, &err, "captions go without it");
    nvt_buffer_free(&text);
    free(path);
}

struct nvt_runs *nvt_runs_read(const char *path, struct nvt_error *err)
{
    struct stat status;
    if (stat(path, &status)) {
        nvt_fail_at(err, path, -1, "cannot be opened: %s", strerror(errno));
        return NULL;
    }
    if (!S_ISDIR(status.st_mode)) {
        nvt_fail_at(err, path, -1, "is not a directory that 'nvtally run' wrote");
        return NULL;
    }
    struct nvt_runs *runs = nvt_runs_new(path);
    if (!runs) {
        nvt_fail_at(err, path, -1, "out of memory");
        return NULL;
    }
    if (read_results(runs, err)) {
        nvt_runs_free(runs);
        return NULL;
    }
    read_env(runs);
    return runs;
}

static int add_lines(struct nvt_runs *runs, const struct nvt_buffer *results, struct nvt_error *err)
{
    const char *at = (const char *)results->data, *end = at ? at + results->size : at;
    for (int64_t number = 1; at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t size = (size_t)((stop ? stop : end) - at);
        struct nvt_record record = {0};
        if (nvt_record_parse(&record, at, size, err) || nvt_runs_add(runs, &record)) {
            nvt_record_free(&record);
            return nvt_fail_line(err, runs->path, number, "is no record");
        }
        at += size + (stop != NULL);
    }
    return 0;
}

struct nvt_runs *nvt_runs_of_text(const char *name, const struct nvt_buffer *results,
                                  const struct nvt_buffer *env, struct nvt_error *err)
{
    struct nvt_runs *runs = nvt_runs_new(name);
    int failed = runs ? add_lines(runs, results, err) : nvt_fail(err, "out of memory");
    if (!failed)
        failed = nvt_record_parse(&runs->env, (const char *)env->data, env->size, err);
    if (!failed)
        return runs;
    nvt_runs_free(runs);
    return NULL;
}

void *nvt_runs_rows(struct nvt_runs *const *runs, size_t run_count, nvt_read_row *read, size_t size,
                    size_t *count, struct nvt_error *err)
{
    size_t records = 0;
    for (size_t i = 0; i < run_count; i++)
        records += runs[i]->count;
    char *rows = malloc((records + 1) * size);
    *count = 0;
    if (!rows) {
        nvt_fail(err, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < run_count; i++)
        for (size_t k = 0; k < runs[i]->count; k++)
            *count += (size_t)read(&runs[i]->records[k], rows + *count * size);
    return rows;
}
