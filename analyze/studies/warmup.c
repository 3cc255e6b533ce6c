#include "warmup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../model/named_iterations.h"
#include "../model/nesting.h"
#include "phases.h"

void nvt_warmups_free(struct nvt_warmups *warmups)
{
    if (!warmups)
        return;
    for (size_t i = 0; i < warmups->count; i++) {
        struct nvt_warmup_study *study = &warmups->studies[i];
        for (size_t s = 0; s < study->count; s++) {
            free(study->series[s].rows);
            free(study->series[s].ns);
        }
        free(study->series);
        free(study->name);
    }
    free(warmups->studies);
    free(warmups);
}

/* The study of this name and level, added when new. NULL when out of memory. */
static struct nvt_warmup_study *study_of(struct nvt_warmups *warmups, const char *name,
                                         const char *level)
{
    for (size_t i = 0; i < warmups->count; i++) {
        struct nvt_warmup_study *study = &warmups->studies[i];
        if (!strcmp(study->name, name) &&
            !strcmp(study->level ? study->level : "", level ? level : ""))
            return study;
    }
    if (nvt_grow(&warmups->studies, warmups->count, sizeof(*warmups->studies)))
        return NULL;
    struct nvt_warmup_study *study = &warmups->studies[warmups->count];
    *study = (struct nvt_warmup_study){.name = strdup(name), .level = level};
    if (!study->name)
        return NULL;
    warmups->count++;
    return study;
}

uint32_t nvt_warmup_process(const struct nvt_trace *trace, uint32_t thread)
{
    return thread == NVT_NONE ? NVT_NONE : trace->threads.process[thread];
}

/* The series of a process of a trace in a study; those of a trace stand together. */
static struct nvt_warmup_series *series_of(struct nvt_warmup_study *study,
                                           const struct nvt_trace *trace, uint32_t process)
{
    for (size_t s = study->count; s && study->series[s - 1].trace == trace; s--)
        if (study->series[s - 1].process == process)
            return &study->series[s - 1];
    if (nvt_grow(&study->series, study->count, sizeof(*study->series)))
        return NULL;
    study->series[study->count] = (struct nvt_warmup_series){.trace = trace, .process = process};
    return &study->series[study->count++];
}

static int add_time(struct nvt_warmup_series *series, uint32_t row, int is_warmup)
{
    const struct nvt_ranges *ranges = &series->trace->ranges;
    if (nvt_grow(&series->rows, series->count, sizeof(*series->rows)) ||
        nvt_grow(&series->ns, series->count, sizeof(*series->ns)))
        return -1;
    series->rows[series->count] = row;
    series->ns[series->count++] = (double)(ranges->end[row] - ranges->start[row]);
    series->warmups += (size_t)is_warmup;
    return 0;
}

/* The innermost range around it that names a configuration, NVT_NONE when there is none. */
static uint32_t configuration_of(const struct nvt_trace *trace, const uint32_t *parent,
                                 uint32_t row)
{
    for (row = parent[row]; row != NVT_NONE; row = parent[row])
        if (nvt_range_is_configuration(trace, row))
            break;
    return row;
}

/* Which ranges of a trace are iterations. */
struct naming {
    uint32_t warmup, iteration; /* strings */
    uint8_t style;              /* push/pop, or as `record --pytorch` has them */
    int workloads; /* those of the domain nvtally, as it has some; not those that the user says */
};

static int is_named(const struct nvt_trace *trace, const struct naming *naming, uint32_t row)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    const int is_iteration = nvt_has_own_iterations(trace) ? nvt_is_called_iteration(trace, row)
                                                           : ranges->name[row] == naming->iteration;
    return (ranges->name[row] == naming->warmup || is_iteration) &&
           ranges->style[row] == naming->style && !(ranges->flags[row] & NVT_RANGE_NOT_WHOLE) &&
           (!naming->workloads || nvt_is_workloads_domain(trace, ranges->domain[row]));
}

static int has_some(const struct nvt_trace *trace, const struct naming *naming)
{
    uint32_t i = 0;
    while (i < trace->ranges.count && !is_named(trace, naming, i))
        i++;
    return i < trace->ranges.count;
}

/* Push/pop ranges, or else start/end ranges, which begin and end within those of the program. */
static struct naming naming_of(const struct nvt_trace *trace)
{
    struct naming naming = {nvt_strings_find(trace->strings, "warmup", strlen("warmup")),
                            nvt_strings_find(trace->strings, "iteration", strlen("iteration")),
                            NVT_PUSH_POP, 0};
    if (!has_some(trace, &naming))
        naming.style = NVT_START_END;
    naming.workloads = !nvt_has_own_iterations(trace);
    naming.workloads = naming.workloads && has_some(trace, &naming);
    return naming;
}

/* Whether it lies in no other one: a solver's own loop may be called so too. */
static int is_outermost(const struct nvt_trace *trace, const struct naming *naming,
                        const uint32_t *parent, uint32_t row)
{
    do
        row = parent[row];
    while (row != NVT_NONE && !is_named(trace, naming, row));
    return row == NVT_NONE;
}

static int add_trace(struct nvt_warmups *warmups, const struct nvt_trace *trace, const char *level,
                     struct nvt_error *err)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    const struct naming naming = naming_of(trace);
    if (trace->is_late) {
        warmups->late += (size_t)has_some(trace, &naming);
        return 0;
    }
    uint32_t *parent = nvt_nest_threads(trace, err);
    int status = parent ? 0 : -1;
    for (uint32_t i = 0; i < ranges->count && !status; i++) {
        if (!is_named(trace, &naming, i) || !is_outermost(trace, &naming, parent, i))
            continue;
        const uint32_t named = configuration_of(trace, parent, i);
        struct nvt_warmup_study *study = study_of(
            warmups, named == NVT_NONE ? trace->path : nvt_name(trace, ranges->name[named]), level);
        const uint32_t process = nvt_warmup_process(trace, ranges->thread[i]);
        struct nvt_warmup_series *series = study ? series_of(study, trace, process) : NULL;
        if (!series || add_time(series, i, ranges->name[i] == naming.warmup))
            status = nvt_fail(err, "out of memory");
    }
    free(parent);
    return status;
}

int nvt_warmup_summary(const struct nvt_warmup_study *study, size_t from, size_t warmups,
                       struct nvt_summary *summary)
{
    size_t room = 1, n = 0;
    for (size_t s = 0; s < study->count; s++)
        room += study->series[s].count;
    double *values = malloc(room * sizeof(*values));
    if (!values)
        return -1;
    for (size_t s = 0; s < study->count; s++)
        for (size_t i = from; i < study->series[s].count &&
                              (warmups == NVT_ANY_WARMUPS || study->series[s].warmups == warmups);
             i++)
            values[n++] = study->series[s].ns[i];
    nvt_sample_summary(values, n, summary);
    free(values);
    return 0;
}

/* The median of all behind the change-point. */
static int set_steady(struct nvt_warmup_study *study)
{
    struct nvt_summary summary;
    if (nvt_warmup_summary(study, study->slow, NVT_ANY_WARMUPS, &summary))
        return -1;
    study->steady = summary.median;
    return 0;
}

/* The change-point, whether it counts, and what iterations take behind it. */
static int judge(struct nvt_warmup_study *study)
{
    study->length = SIZE_MAX;
    for (size_t s = 0; s < study->count; s++)
        if (study->series[s].count < study->length)
            study->length = study->series[s].count;
    const double **times = malloc(study->count * sizeof(const double *));
    if (!times)
        return -1;
    for (size_t s = 0; s < study->count; s++)
        times[s] = study->series[s].ns;
    int status = nvt_change_point_find(times, study->count, study->length, NVT_WARMUP_EFFECT,
                                       &study->change);
    free(times);
    const struct nvt_change_point *change = &study->change;
    if (change->p < NVT_WARMUP_ALPHA && change->is_slower)
        study->slow = change->at;
    status |= set_steady(study);
    return status;
}

struct nvt_warmups *nvt_warmups_of(const struct nvt_input *input, struct nvt_error *err)
{
    struct nvt_warmups *warmups = calloc(1, sizeof(*warmups));
    int status = warmups ? 0 : nvt_fail(err, "out of memory");
    for (size_t i = 0; i < input->trace_count && !status; i++) {
        const struct nvt_input_trace *from = &input->traces[i];
        const struct nvt_record *record = nvt_record_of_trace(from);
        status = add_trace(warmups, from->trace, record ? nvt_record_text(record, "collect") : NULL,
                           err);
    }
    for (size_t i = 0; warmups && i < warmups->count && !status; i++)
        if (judge(&warmups->studies[i]))
            status = nvt_fail(err, "out of memory");
    if (status) {
        nvt_warmups_free(warmups);
        return NULL;
    }
    return warmups;
}

void nvt_warmup_at(const struct nvt_warmup_study *study, size_t i, double *scratch,
                   struct nvt_summary *summary)
{
    size_t n = 0;
    for (size_t s = 0; s < study->count; s++)
        if (i < study->series[s].count)
            scratch[n++] = study->series[s].ns[i];
    nvt_sample_summary(scratch, n, summary);
}
