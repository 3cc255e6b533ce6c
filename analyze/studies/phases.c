#include "phases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../input/conditions.h"
#include "../../lib/map.h"
#include "../../lib/one_of.h"
#include "../model/loop_names.h"
#include "../model/named_iterations.h"
#include "../model/nesting.h"

/* What a range lies within: a bit a phase, and these. */
enum { IN_ITERATION = 1 << NVT_PHASES_COUNT, IN_WARMUP = IN_ITERATION << 1 };

/* Directly within what a phase stands. */
enum step { STEP_NONE, STEP_ITERATION, STEP_LOOP };

/* One configuration and phase. */
struct group {
    struct nvt_phase_row row; /* texts belong to strings */
    double *values;           /* of traces; NULL: row.time comes from a record */
    size_t count;
    double calls; /* of loops, whose means the values are; 0: values are single times */
    const struct nvt_runs *repeats; /* whose records, repetitions, it is of; NULL: of no such */
};

struct nvt_phases {
    struct nvt_strings *strings;
    struct group *groups;
    size_t count;
    size_t values;         /* of traces, in all groups */
    struct nvt_map by_key; /* workload and configuration, with the phase, to its group */
};

/* The ids of a trace's names that mean something here. */
struct vocabulary {
    uint32_t phase[NVT_PHASES_COUNT];
    uint32_t iteration, warmup, loop;
};

static const char *const names[] = {"forward", "backward", "optimizer"};

const char *nvt_phase_name(enum nvt_phase phase)
{
    return names[phase];
}

void nvt_phases_free(struct nvt_phases *phases)
{
    if (!phases)
        return;
    for (size_t i = 0; i < phases->count; i++)
        free(phases->groups[i].values);
    free(phases->groups);
    nvt_map_free(&phases->by_key);
    nvt_strings_free(phases->strings);
    free(phases);
}

size_t nvt_phases_count(const struct nvt_phases *phases)
{
    return phases->count;
}

const struct nvt_phase_row *nvt_phases_row(const struct nvt_phases *phases, size_t index)
{
    return &phases->groups[index].row;
}

static const char *keep(struct nvt_phases *phases, const char *text, size_t size)
{
    uint32_t id = nvt_strings_add(phases->strings, text, size);
    return id == NVT_NO_STRING ? NULL : nvt_strings_get(phases->strings, id, NULL);
}

/* phase: NULL where there is none. */
static struct group *add_group(struct nvt_phases *phases, const char *full_name, int has_workload,
                               const char *phase)
{
    if (nvt_grow(&phases->groups, phases->count, sizeof(*phases->groups)))
        return NULL;
    struct group *group = &phases->groups[phases->count];
    size_t workload = has_workload ? nvt_configuration_workload(full_name) : 0;
    const char *axes = full_name + workload + (full_name[workload] == ' ' && has_workload);
    *group = (struct group){.row.source = "measured"};
    group->row.phase = phase ? keep(phases, phase, strlen(phase)) : NULL;
    group->row.workload = has_workload ? keep(phases, full_name, workload) : NULL;
    group->row.configuration = keep(phases, axes, strlen(axes));
    if (!group->row.configuration || (has_workload && !group->row.workload) ||
        (phase && !group->row.phase))
        return NULL;
    phases->count++;
    return group;
}

/* The group of a configuration and phase, added when new. */
static struct group *group_of(struct nvt_phases *phases, const char *full_name, int has_workload,
                              const char *phase)
{
    uint32_t name = nvt_strings_add_text(phases->strings, full_name);
    uint32_t id = nvt_strings_add_text(phases->strings, phase);
    if (name == NVT_NO_STRING || id == NVT_NO_STRING)
        return NULL;
    uint64_t key = (uint64_t)name << 32 | (uint64_t)id << 1 | (uint64_t)has_workload;
    uint32_t *at = nvt_map_at(&phases->by_key, key);
    if (!at)
        return NULL;
    if (*at == NVT_MAP_NONE) {
        struct group *group = add_group(phases, full_name, has_workload, phase);
        if (group)
            *at = (uint32_t)(group - phases->groups);
        return group;
    }
    return &phases->groups[*at];
}

static int add_value(struct group *group, double value)
{
    if (nvt_grow(&group->values, group->count, sizeof(*group->values)))
        return -1;
    group->values[group->count++] = value;
    return 0;
}

static void add_work(struct nvt_work *work, double amount, double ns)
{
    if (isnan(amount))
        return;
    work->amount += amount;
    work->ns += ns;
}

static struct vocabulary learn(const struct nvt_trace *trace)
{
    struct vocabulary words;
    for (int phase = 0; phase < NVT_PHASES_COUNT; phase++)
        words.phase[phase] = nvt_strings_find(trace->strings, names[phase], strlen(names[phase]));
    words.iteration = nvt_strings_find(trace->strings, "iteration", strlen("iteration"));
    words.warmup = nvt_strings_find(trace->strings, "warmup", strlen("warmup"));
    words.loop = nvt_strings_find(trace->strings, "loop", strlen("loop"));
    return words;
}

static int phase_of(const struct vocabulary *words, uint32_t name)
{
    for (int phase = 0; phase < NVT_PHASES_COUNT; phase++)
        if (words->phase[phase] == name)
            return phase;
    return -1;
}

/* Most names are compared by their numbers. */
static int is_iteration(const struct nvt_trace *trace, const struct vocabulary *words,
                        uint32_t range)
{
    return nvt_has_own_iterations(trace) ? nvt_is_called_iteration(trace, range)
                                         : trace->ranges.name[range] == words->iteration;
}

static unsigned own_bit(const struct nvt_trace *trace, const struct vocabulary *words,
                        uint32_t range)
{
    int phase = phase_of(words, trace->ranges.name[range]);
    if (phase >= 0)
        return 1u << phase;
    return is_iteration(trace, words, range)            ? IN_ITERATION
           : trace->ranges.name[range] == words->warmup ? IN_WARMUP
                                                        : 0;
}

static int is_ours(const struct nvt_trace *trace, uint32_t range)
{
    return nvt_is_workloads_domain(trace, trace->ranges.domain[range]);
}

/* What a trace's phases are grouped under when no range says it. */
struct fallback {
    const char *name;
    int has_workload;
    const char *suffix; /* behind what a range says: what else sets this run apart */
};

/* The group of what a range says, with what sets the run apart behind it. */
static struct group *group_named(struct nvt_phases *phases, const char *name, const char *suffix,
                                 const char *phase)
{
    char full[2048];
    if (!*suffix)
        return group_of(phases, name, 1, phase);
    snprintf(full, sizeof(full), "%s%s", name, suffix);
    return group_of(phases, full, 1, phase);
}

static enum step step_of(const struct nvt_trace *trace, const struct vocabulary *words,
                         uint32_t parent, uint32_t range)
{
    uint32_t name = parent == NVT_NONE ? NVT_NO_STRING : trace->ranges.name[parent];
    if (name == NVT_NO_STRING || (name != words->iteration && name != words->loop) ||
        !is_ours(trace, parent) || !is_ours(trace, range))
        return STEP_NONE;
    return name == words->loop ? STEP_LOOP : STEP_ITERATION;
}

/* How many calls a loop is of. */
static double calls_of(const struct nvt_trace *trace, uint32_t loop)
{
    if (!(trace->ranges.flags[loop] & NVT_RANGE_HAS_PAYLOAD))
        return 1;
    double calls = strtod(nvt_name(trace, trace->ranges.payload[loop]), NULL);
    return calls >= 1 && calls < 1e15 ? calls : 1;
}

static void add_works(struct group *group, const struct nvt_trace *trace, uint32_t range, double ns)
{
    if (!(trace->ranges.flags[range] & NVT_RANGE_HAS_PAYLOAD))
        return;
    const char *payload = nvt_name(trace, trace->ranges.payload[range]);
    add_work(&group->row.flops, nvt_declared_number(payload, "\"flops\""), ns);
    add_work(&group->row.bytes, nvt_declared_number(payload, "\"bytes\""), ns);
}

/* Whether phases count within iterations only. */
static unsigned wanted_around(const struct nvt_trace *trace, const struct vocabulary *words)
{
    const int has_any = nvt_has_own_iterations(trace) || words->iteration != NVT_NO_STRING;
    if (nvt_loop_is_inference(trace->loop))
        return 0;
    for (uint32_t i = 0; i < trace->ranges.count && has_any; i++)
        if (trace->ranges.style[i] == NVT_PUSH_POP && is_iteration(trace, words, i))
            return IN_ITERATION;
    return 0;
}

/* Parents precede their children, so what encloses a range is known when it is reached. */
static int count_phases(struct nvt_phases *phases, const struct nvt_trace *trace,
                        struct fallback otherwise, const uint32_t *parent, uint8_t *within,
                        uint32_t *configuration)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    const struct vocabulary words = learn(trace);
    const unsigned wanted = wanted_around(trace, &words);
    for (uint32_t i = 0; i < ranges->count; i++) {
        unsigned around = parent[i] == NVT_NONE ? 0 : within[parent[i]];
        within[i] = (uint8_t)(around | own_bit(trace, &words, i));
        configuration[i] = parent[i] == NVT_NONE ? NVT_NONE : configuration[parent[i]];
        if (nvt_range_is_configuration(trace, i))
            configuration[i] = i;
        int phase = phase_of(&words, ranges->name[i]);
        enum step step = step_of(trace, &words, parent[i], i);
        int is_phase =
            step || (phase >= 0 && !(around & 1u << phase) && (around & wanted) == wanted);
        if (!is_phase || around & IN_WARMUP || ranges->flags[i] & NVT_RANGE_NOT_WHOLE)
            continue;
        const char *name = nvt_name(trace, ranges->name[i]);
        uint32_t named = configuration[i];
        struct group *group =
            named == NVT_NONE
                ? group_of(phases, otherwise.name, otherwise.has_workload, name)
                : group_named(phases, nvt_name(trace, ranges->name[named]), otherwise.suffix, name);
        double ns = (double)(ranges->end[i] - ranges->start[i]);
        double calls = step == STEP_LOOP ? calls_of(trace, parent[i]) : 0;
        if (!group || add_value(group, calls > 0 ? ns / calls : ns))
            return -1;
        group->calls += calls;
        phases->values++;
        add_works(group, trace, i, ns);
    }
    return 0;
}

static int add_trace(struct nvt_phases *phases, const struct nvt_trace *trace,
                     struct fallback otherwise, struct nvt_error *err)
{
    size_t room = (size_t)trace->ranges.count + 1;
    uint32_t *parent = nvt_nest_threads(trace, err);
    uint8_t *within = malloc(room);
    uint32_t *configuration = malloc(room * sizeof(*configuration));
    int status = -1;
    if (parent && within && configuration)
        status = count_phases(phases, trace, otherwise, parent, within, configuration);
    if (status)
        nvt_fail_at(err, trace->path, -1, "out of memory");
    free(parent);
    free(within);
    free(configuration);
    return status;
}

static struct nvt_work declared(const struct nvt_record *record, const char *phase,
                                const char *what, double mean)
{
    char key[128];
    snprintf(key, sizeof(key), "%s_%s", what, phase);
    struct nvt_work work = {0, 0};
    add_work(&work, nvt_record_number(record, key), mean);
    return work;
}

/* "workload key=value …" of a record, malloc'ed. */
static char *record_name(const struct nvt_record *record, const char *suffix)
{
    const char *workload = nvt_record_text(record, "workload");
    char *axes = nvt_record_configuration(record), *name = NULL;
    if (axes &&
        asprintf(&name, "%s%s%s%s", workload ? workload : "?", *axes ? " " : "", axes, suffix) < 0)
        name = NULL;
    free(axes);
    return name;
}

/* Of a record that is one of several repetitions: the group of those before it, or NULL. Several
 * directories may be of several machines, so theirs stay apart. */
static struct group *group_of_repeats(struct nvt_phases *phases, const struct group *added)
{
    for (struct group *group = phases->groups; added->repeats && group < added; group++)
        if (group->repeats == added->repeats && group->row.workload == added->row.workload &&
            group->row.configuration == added->row.configuration &&
            group->row.phase == added->row.phase && group->row.status == added->row.status)
            return group;
    return NULL;
}

/* The last group, just added, to that of the repetitions before it, where there is one. */
static void merge_repeats(struct nvt_phases *phases)
{
    struct group *added = &phases->groups[phases->count - 1];
    struct group *group = group_of_repeats(phases, added);
    if (!group || (!added->row.status && (!group->row.time.n || !added->row.time.n)))
        return;
    if (!added->row.status)
        nvt_summary_add(&group->row.time, &added->row.time);
    group->row.flops.amount += added->row.flops.amount;
    group->row.flops.ns += added->row.flops.ns;
    group->row.bytes.amount += added->row.bytes.amount;
    group->row.bytes.ns += added->row.bytes.ns;
    phases->count--;
}

/* A record, and what it is known by here. */
struct named {
    const struct nvt_record *record;
    const char *name;               /* "workload key=value …" with what else sets it apart */
    const struct nvt_runs *repeats; /* its directory, where it is one of several repetitions */
};

static int add_phase(struct nvt_phases *phases, const struct named *of, const char *phase)
{
    const struct nvt_record *record = of->record;
    double mean = nvt_record_phase_ns(record, phase, "mean");
    double iterations = nvt_record_number(record, "iterations");
    if (isnan(mean))
        return 0;
    struct group *group = add_group(phases, of->name, 1, phase);
    if (!group)
        return -1;
    size_t n = iterations >= 1 && iterations < 1e15 ? (size_t)iterations : 0;
    group->row.time = (struct nvt_summary){
        .n = n,
        .sum = mean * (double)n,
        .mean = mean,
        .std = nvt_record_phase_ns(record, phase, "std"),
        .min = nvt_record_phase_ns(record, phase, "min"),
        .median = nvt_record_phase_ns(record, phase, "median"),
        .max = nvt_record_phase_ns(record, phase, "max"),
        .ci95 = NAN,
    };
    group->row.source = nvt_record_source(record);
    group->row.flops = declared(record, phase, "flops", mean);
    group->row.bytes = declared(record, phase, "bytes", mean);
    group->repeats = of->repeats;
    merge_repeats(phases);
    return 0;
}

/* A run that was not ok: what its record says of it. */
static int add_failure(struct nvt_phases *phases, const struct named *of, const char *status)
{
    const char *message = nvt_record_text(of->record, "message");
    struct group *group = add_group(phases, of->name, 1, NULL);
    char text[700];
    if (!group)
        return -1;
    snprintf(text, sizeof(text), "%s%s%s", status, message ? ": " : "", message ? message : "");
    group->row.status = keep(phases, text, strlen(text));
    group->row.source = nvt_record_source(of->record);
    group->row.time = (struct nvt_summary){
        .mean = NAN, .std = NAN, .min = NAN, .median = NAN, .max = NAN, .ci95 = NAN};
    group->repeats = of->repeats;
    if (!group->row.status)
        return -1;
    merge_repeats(phases);
    return 0;
}

/* The three, then those others whose work is known, as run writes it of every phase of a workload. */
static int add_record(struct nvt_phases *phases, const struct named *of)
{
    const struct nvt_record *record = of->record;
    const char *status = nvt_record_text(record, "status");
    if (status && strcmp(status, "ok") != 0)
        return add_failure(phases, of, status);
    for (int i = 0; i < NVT_PHASES_COUNT; i++)
        if (add_phase(phases, of, names[i]))
            return -1;
    for (size_t i = 0; i < record->count; i++) {
        const char *key = record->members[i].key;
        if (!strncmp(key, "flops_", 6) && !NVT_IS_ONE_OF(key + 6, names) &&
            add_phase(phases, of, key + 6))
            return -1;
    }
    return 0;
}

/* The trace of a record in the input; traces lie there in the order of the records. */
static const struct nvt_trace *trace_of(const struct nvt_input *input, size_t *cursor,
                                        const struct nvt_runs *runs, size_t record)
{
    for (size_t i = *cursor; i < input->trace_count; i++)
        if (input->traces[i].runs == runs && input->traces[i].record == record) {
            *cursor = i + 1;
            return input->traces[i].trace;
        }
    return NULL;
}

/* Whether some trace had phases of this name. */
static int is_known(const struct nvt_phases *phases, const char *full_name)
{
    /* Only group_of, which traces alone take, keeps whole names. */
    return nvt_strings_find(phases->strings, full_name, strlen(full_name)) != NVT_NO_STRING;
}

static int add_runs(struct nvt_phases *phases, const struct nvt_input *input,
                    const struct nvt_runs *runs, struct nvt_error *err)
{
    size_t cursor = 0;
    unsigned of = nvt_conditions_of(input->runs, input->run_count, NVT_OF_COLLECT | NVT_OF_WARMUP);
    for (size_t i = 0; i < runs->count; i++) {
        char text[NVT_CONDITION_SIZE], suffix[NVT_CONDITION_SIZE + 1];
        nvt_condition_text(&runs->records[i], of, text);
        snprintf(suffix, sizeof(suffix), "%s%s", *text ? " " : "", text);
        char *name = record_name(&runs->records[i], suffix);
        if (!name)
            return nvt_fail(err, "out of memory");
        const struct nvt_trace *trace = trace_of(input, &cursor, runs, i);
        size_t before = phases->values;
        int status = trace ? add_trace(phases, trace, (struct fallback){name, 1, suffix}, err) : 0;
        /* A run's own clock was read with the collector's cost in it. */
        if (!status && phases->values == before && !input->compensate &&
            !(runs->is_of_traces && is_known(phases, name)))
            status = add_record(phases, &(struct named){&runs->records[i], name,
                                                        nvt_record_text(&runs->records[i], "repeat")
                                                            ? runs
                                                            : NULL})
                         ? nvt_fail(err, "out of memory")
                         : 0;
        free(name);
        if (status)
            return -1;
    }
    return 0;
}

static void summarise(struct nvt_phases *phases)
{
    for (size_t i = 0; i < phases->count; i++) {
        struct group *group = &phases->groups[i];
        struct nvt_summary *time = &group->row.time;
        if (!group->values)
            continue;
        nvt_sample_summary(group->values, group->count, time);
        if (group->calls <= 0)
            continue;
        time->n = (size_t)group->calls;
        time->min = time->median = time->max = NAN;
    }
}

static int add_traces(struct nvt_phases *phases, const struct nvt_input *input,
                      struct nvt_error *err)
{
    int status = 0;
    for (size_t i = 0; i < input->trace_count && !status; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        const char *name = nvt_trace_meta(trace, "configuration");
        if (!input->traces[i].runs)
            status = add_trace(phases, trace,
                               (struct fallback){name ? name : trace->path, name != NULL, ""}, err);
    }
    return status;
}

struct nvt_phases *nvt_phases_of(const struct nvt_input *input, struct nvt_error *err)
{
    struct nvt_phases *phases = calloc(1, sizeof(*phases));
    if (phases)
        phases->strings = nvt_strings_new();
    int status = phases && phases->strings ? 0 : nvt_fail(err, "out of memory");
    /* Rows that a trace of several runs carries: its own ranges say more. They are the last ones. */
    int traces_first = input->run_count && input->runs[input->run_count - 1]->is_of_traces;
    if (!status && traces_first)
        status = add_traces(phases, input, err);
    for (size_t i = 0; i < input->run_count && !status; i++)
        status = add_runs(phases, input, input->runs[i], err);
    if (!status && !traces_first)
        status = add_traces(phases, input, err);
    if (status) {
        nvt_phases_free(phases);
        return NULL;
    }
    summarise(phases);
    return phases;
}
