/* Axes that --by can name: numbers of the runs that were read. */
#include <math.h>
#include <string.h>

#include "../sweeps/curves.h"
#include "diagnose.h"

/* Whether a text is one of those, each behind a ", ", that a list has. */
static int is_listed(const char *list, const char *text)
{
    const size_t length = strlen(text);
    for (const char *at = list; at && *at; at = strstr(at, ", "), at = at ? at + 2 : NULL)
        if (!strncmp(at, text, length) && (!at[length] || !strncmp(at + length, ", ", 2)))
            return 1;
    return 0;
}

/* Add one, with a terminator behind the buffer's size. */
static int add_axis(struct nvt_buffer *list, const char *name)
{
    if (nvt_buffer_printf(list, "%s%s", list->size ? ", " : "", name) ||
        nvt_buffer_append(list, "", 1))
        return -1;
    list->size--;
    return 0;
}

static int list_axes(const struct nvt_runs *runs, struct nvt_buffer *list)
{
    int failed = 0;
    for (size_t i = 0; i < runs->count; i++)
        for (size_t m = 0; m < runs->records[i].count && !failed; m++) {
            const struct nvt_member *member = &runs->records[i].members[m];
            if (member->type == NVT_VALUE_NUMBER && nvt_record_is_axis(&runs->records[i], m) &&
                !is_listed(list->size ? (const char *)list->data : "", member->key))
                failed = add_axis(list, member->key);
        }
    return failed;
}

int nvt_axis_check(const struct nvt_input *input, const char *by, struct nvt_error *err)
{
    struct nvt_buffer list = {0};
    int status = 0;
    for (size_t i = 0; i < input->run_count && !status; i++)
        status = list_axes(input->runs[i], &list);
    for (size_t i = 0; i < input->trace_count && !status; i++)
        status = input->traces[i].runs ? list_axes(input->traces[i].runs, &list) : 0;
    if (status)
        nvt_fail(err, "out of memory");
    else if (!list.size && nvt_input_has_part(input))
        status = nvt_fail(
            err, "--by %s compares whole runs: not parts of them (--filter-nvtx, --filter-time)",
            by);
    else if (!list.size)
        status = nvt_fail(err, "--by %s: no input has a record of its run", by);
    else if (!is_listed((const char *)list.data, by))
        status = nvt_fail(err, "no axis '%s' with numbers in the input; there are: %s", by,
                          (const char *)list.data);
    nvt_buffer_free(&list);
    return status ? -1 : 0;
}

#define LEAST_VALUES 3

/* Add the number of a record to those there are, unless it is among them. */
static void add_value(const struct nvt_record *record, const char *by, double *values,
                      size_t *count)
{
    const struct nvt_member *axis = nvt_record_axis(record, by);
    const double value = axis ? axis->number : NAN;
    for (size_t i = 0; i < *count; i++)
        if (values[i] == value)
            return;
    if (value > 0 && *count < LEAST_VALUES)
        values[(*count)++] = value;
}

int nvt_axis_missing(const struct nvt_input *input, const char *by, struct nvt_buffer *lines,
                     struct nvt_error *err)
{
    double values[LEAST_VALUES];
    size_t count = 0;
    for (size_t i = 0; i < input->run_count; i++)
        for (size_t record = 0; record < input->runs[i]->count; record++)
            add_value(&input->runs[i]->records[record], by, values, &count);
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_record *record = nvt_record_of_trace(&input->traces[i]);
        if (record)
            add_value(record, by, values, &count);
    }
    if (count >= LEAST_VALUES)
        return 0;
    return nvt_buffer_printf(lines, "%zu value%s of %s above 0 in the runs: %s\n", count,
                             count == 1 ? "" : "s", by,
                             count == 2 ? "a crossing of variants needs three"
                                        : "rules along it need three runs with two values")
               ? nvt_fail(err, "out of memory")
               : 0;
}
