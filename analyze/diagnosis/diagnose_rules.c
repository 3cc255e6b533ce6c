/* What every rule of the diagnosis needs, and the table of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/grow.h"
#include "../../lib/kernel_names.h"
#include "diagnose.h"
#include "hip_words.h"
#include "diagnosed.h"
#include "../device/gaps.h"
#include "../device/gpu_metrics.h"
#include "../model/parallel.h"
#include "../model/recording.h"
#include "../studies/range_counts.h"

#define RULE_ENTRY(name) &nvt_rule_##name,
static const struct nvt_rule *const rules[] = {NVT_RULES(RULE_ENTRY)};

const struct nvt_rule *const *nvt_rules(size_t *count)
{
    *count = NVT_COUNT_OF(rules);
    return rules;
}

static const struct {
    const char *name, *meaning;
} confidences[NVT_CONFIDENCES] = {
    [NVT_SEEN] = {"seen", "measured directly"},
    [NVT_TESTED] = {"tested", "fitted to several runs; about 5 of 100 such findings are noise"},
    [NVT_LIKELY] = {"likely",
                    "the numbers are measured; the cause is inferred, so look at the moments "
                    "before acting on it"},
    [NVT_POSSIBLE] = {"possible",
                      "the numbers are measured, but healthy programs may have them too; "
                      "find out first what happened then"},
};

const char *nvt_confidence_name(enum nvt_confidence confidence)
{
    return confidences[confidence].name;
}

const char *nvt_confidence_meaning(enum nvt_confidence confidence)
{
    return confidences[confidence].meaning;
}

struct nvt_finding nvt_finding_of(const struct nvt_rule *rule, const struct nvt_view *view)
{
    struct nvt_finding finding = {.cause = rule->cause,
                                  .rule = rule,
                                  .whole_ns = view ? view->span_ns / view->units : 0,
                                  .per = view ? view->per : "per iteration",
                                  .confidence = rule->confidence,
                                  .process = view ? view->process : NVT_NONE,
                                  .trace = view ? view->trace : NULL,
                                  .traces = view != NULL,
                                  .from = view ? view->from : 0,
                                  .to = view ? view->to : 0,
                                  .units = view ? view->units : 0};
    const int is_pytorch = rule->in_pytorch && view && nvt_is_pytorch_program(view->trace);
    snprintf(finding.remedy, sizeof(finding.remedy), "%s",
             is_pytorch ? rule->in_pytorch : rule->remedy);
    if (view)
        nvt_case_name(view->input, finding.where, sizeof(finding.where));
    return finding;
}

struct nvt_finding nvt_finding_of_gaps(const struct nvt_rule *rule, const struct nvt_view *view,
                                       const struct nvt_gap_sum *sum)
{
    struct nvt_finding finding = nvt_finding_of(rule, view);
    finding.cost_ns = (double)sum->ns / view->units / sum->devices;
    for (size_t i = 0; i < NVT_MOMENTS; i++)
        nvt_finding_point(&finding, sum->longest[i].start);
    return finding;
}

void nvt_finding_about(struct nvt_finding *finding, const char *subject)
{
    snprintf(finding->subject, sizeof(finding->subject), "%s", subject);
    /* FNV-1a, 64 bits (Fowler, Noll, Vo). */
    finding->about = 14695981039346656037u;
    for (; *subject; subject++)
        finding->about = (finding->about ^ (unsigned char)*subject) * 1099511628211u;
}

void nvt_finding_about_kernel(struct nvt_finding *finding, const char *name)
{
    char label[NVT_TELLING_NAME_MAX];
    nvt_finding_about(finding, nvt_kernel_label(name, label));
}

int nvt_findings_agree(const struct nvt_finding *a, const struct nvt_finding *b)
{
    return a->about == b->about && !strcmp(a->subject, b->subject);
}

void nvt_finding_point(struct nvt_finding *finding, int64_t moment_ns)
{
    if (finding->moment_count < NVT_MOMENTS)
        finding->moments[finding->moment_count++] = moment_ns;
}

void nvt_longest_add(struct nvt_longest *longest, int64_t start, double ns)
{
    size_t at = NVT_MOMENTS;
    for (; at && ns > longest->ns[at - 1]; at--)
        if (at < NVT_MOMENTS) {
            longest->start[at] = longest->start[at - 1];
            longest->ns[at] = longest->ns[at - 1];
        }
    if (at == NVT_MOMENTS)
        return;
    longest->start[at] = start;
    longest->ns[at] = ns;
}

void nvt_finding_point_longest(struct nvt_finding *finding, const struct nvt_longest *longest)
{
    for (size_t i = 0; i < NVT_MOMENTS && longest->ns[i] > 0; i++)
        nvt_finding_point(finding, longest->start[i]);
}

int nvt_findings_add(struct nvt_findings *findings, const struct nvt_finding *finding,
                     struct nvt_error *err)
{
    if (nvt_grow(&findings->items, findings->count, sizeof(*findings->items)))
        return nvt_fail(err, "out of memory");
    findings->items[findings->count++] = *finding;
    return 0;
}

double nvt_usual_time(double ns, double count, double longest_ns, double second_ns)
{
    return count < 3 ? 0 : fmin(ns, (ns - longest_ns - second_ns) / (count - 2) * count);
}

int nvt_view_gaps(const struct nvt_view *view, struct nvt_gap_sum *sum, struct nvt_error *err)
{
    sum->from = view->from;
    sum->to = view->to;
    sum->share = sum->usual = 0;
    if (!view->trace->apis.count)
        return 0;
    sum->process = view->process;
    sum->devices = view->device_count;
    if (!sum->devices)
        return 0;
    if (nvt_gaps_add_up(view->trace, view->devices, sum, err))
        return -1;
    sum->share = (double)sum->ns / (view->span_ns * sum->devices);
    sum->usual = nvt_usual_time((double)sum->ns, (double)sum->count, (double)sum->longest_ns[0],
                                (double)sum->longest_ns[1]) /
                 (view->span_ns * sum->devices);
    return 0;
}

static const char *text_of(const struct nvt_record *record, const char *key)
{
    const char *text = nvt_record_text(record, key);
    return text ? text : "";
}

/* Whether another row of the run has the same configuration and another `key`. */
static int is_varied(const struct nvt_runs *runs, const struct nvt_record *record,
                     const char *configuration, const char *key)
{
    for (size_t i = 0; i < runs->count; i++) {
        const struct nvt_record *other = &runs->records[i];
        if (!*text_of(other, "trace") || !strcmp(text_of(other, key), text_of(record, key)) ||
            strcmp(text_of(other, "workload"), text_of(record, "workload")) != 0)
            continue;
        char *others = nvt_record_configuration(other);
        int is_same = others && !strcmp(others, configuration);
        free(others);
        if (is_same)
            return 1;
    }
    return 0;
}

void nvt_case_name(const struct nvt_input_trace *from, char *out, size_t size)
{
    static const char *const conditions[] = {"backend", "collect", "warmup", "repeat"};
    const struct nvt_record *record = nvt_record_of_trace(from);
    char *configuration = record ? nvt_record_configuration(record) : NULL;
    if (!configuration) {
        snprintf(out, size, "%s", from->trace->path);
        return;
    }
    const char *workload = text_of(record, "workload");
    size_t used =
        (size_t)snprintf(out, size, "%s%s%s", workload, *workload ? " " : "", configuration);
    for (size_t i = 0; i < NVT_COUNT_OF(conditions) && used < size; i++)
        if (is_varied(from->runs, record, configuration, conditions[i]))
            used += (size_t)snprintf(out + used, size - used, " %s=%s", conditions[i],
                                     text_of(record, conditions[i]));
    free(configuration);
}

/* The views of a trace, and the counts of its ranges, which many rules share. */
enum { VIEWS = 16 };
struct looked_at {
    struct nvt_views views[VIEWS];
    uint8_t is_made[VIEWS];
    struct nvt_counted_ranges counted;
    int is_counted;
};

/* Which of them a rule's are: by all that nvt_views_make asks of it. */
static unsigned views_of(const struct nvt_rule *rule)
{
    const int of_devices = (rule->needs & NVT_RULE_OPS) != 0;
    return (unsigned)of_devices | (of_devices && rule->has_gaps ? 2u : 0u) |
           (rule->is_of_operations ? 4u : 0u) | (rule->is_whole ? 8u : 0u);
}

static void free_views(struct looked_at *all)
{
    nvt_counted_ranges_free(&all->counted);
    for (size_t i = 0; i < VIEWS; i++)
        nvt_views_free(&all->views[i]);
}

/* Whether a trace lacks the rows that a rule is about, which few traces have: then the rule has nothing to work out. */
static int lacks_rows(const struct nvt_rule *rule, const struct nvt_trace *trace)
{
    return (rule->needs & NVT_RULE_COUNTS && !trace->range_counts.count) ||
           (rule->needs & NVT_RULE_METRICS && !nvt_has_gpu_metrics(trace));
}

/* For a rule that needs the counts of ranges: those of the trace, made once. 0, or -1 with err. */
static int give_counts(const struct nvt_rule *rule, const struct nvt_trace *trace,
                       struct looked_at *all, struct nvt_views *views, struct nvt_error *err)
{
    int status = 0;
    if (!(rule->needs & NVT_RULE_COUNTS))
        return 0;
    if (!all->is_counted)
        status = nvt_counted_ranges_make(&all->counted, trace, err);
    all->is_counted = 1;
    for (size_t i = 0; i < views->count; i++)
        views->items[i].counted = &all->counted;
    return status;
}

static int look_at(const struct nvt_rule *rule, const struct nvt_input_trace *from,
                   const struct nvt_input *input, struct looked_at *all,
                   struct nvt_findings *findings, struct nvt_error *err)
{
    struct nvt_views *views = &all->views[views_of(rule)];
    size_t first = findings->count;
    if (lacks_rows(rule, from->trace))
        return 0;
    int status = all->is_made[views_of(rule)] ? 0 : nvt_views_make(views, rule, from, input, err);
    all->is_made[views_of(rule)] = 1;
    if (!status)
        status = give_counts(rule, from->trace, all, views, err);
    for (size_t i = 0; i < views->count && !status; i++) {
        size_t own = findings->count;
        if (views->items[i].span_ns > 0)
            status = rule->look(rule, &views->items[i], findings, err);
        for (; own < findings->count; own++)
            if (!(findings->items[own].total_ns > 0))
                findings->items[own].total_ns =
                    findings->items[own].cost_ns * views->items[i].units;
    }
    if (!status)
        nvt_views_join(findings, first, views->count);
    return status;
}

int nvt_rule_apply(const struct nvt_rule *rule, const struct nvt_case *facts,
                   struct nvt_findings *findings, struct nvt_error *err)
{
    int status = 0;
    if (rule->compare)
        return rule->compare(rule, facts, findings, err);
    for (size_t i = 0; i < facts->input->trace_count && !status; i++) {
        struct looked_at all = {0};
        status = look_at(rule, &facts->input->traces[i], facts->input, &all, findings, err);
        free_views(&all);
    }
    return status;
}

static int is_of_one_process(const struct nvt_finding *a, const struct nvt_finding *b)
{
    return a->trace == b->trace &&
           (a->process == b->process || a->process == NVT_NONE || b->process == NVT_NONE);
}

/* Whether a finding says why there is another one: its rule is among the reasons, it costs about as much there, and it is no mere
 * possibility. */
static int explains(const struct nvt_finding *finding, const struct nvt_finding *symptom)
{
    const struct nvt_rule *const *reason = symptom->rule->reasons;
    while (reason && *reason && *reason != finding->rule)
        reason++;
    return reason && *reason && finding->confidence != NVT_POSSIBLE &&
           is_of_one_process(finding, symptom) && finding->cost_ns >= 0.8 * symptom->cost_ns;
}

/* Whether it may be why iterations are slow, or why others are not: what is told of all of them costs less than the slow ones. */
static int may_slow(const struct nvt_finding *finding, const struct nvt_finding *slow)
{
    return slow->rule == &nvt_rule_iterations && finding->rule != slow->rule && finding->traces &&
           finding->confidence != NVT_POSSIBLE && is_of_one_process(finding, slow) &&
           finding->cost_ns >= 0.5 * slow->cost_ns;
}

/* What only says what happens, and not why, comes behind those that say why. */
static void put_causes_first(struct nvt_findings *findings)
{
    for (size_t i = findings->count; i-- > 0;) {
        const struct nvt_finding symptom = findings->items[i];
        size_t last = i;
        for (size_t k = i + 1; k < findings->count; k++)
            if (explains(&findings->items[k], &symptom) || may_slow(&findings->items[k], &symptom))
                last = k;
        memmove(&findings->items[i], &findings->items[i + 1], (last - i) * sizeof(symptom));
        findings->items[last] = symptom;
    }
    for (size_t i = 0; i < findings->count; i++)
        for (size_t k = i; k-- > 0;)
            if (explains(&findings->items[k], &findings->items[i]))
                findings->items[i].explained_by = k + 1;
}

/* What the rules that look at traces find in one of them: those of each rule behind those of the one before. */
struct looking {
    const struct nvt_input *input;
    const struct nvt_input_trace *from;
    struct nvt_findings findings;
    size_t ends[NVT_COUNT_OF(rules)];
    struct nvt_error err;
    int status;
};

static void look_by_all(void *context, size_t i)
{
    struct looking *looking = &((struct looking *)context)[i];
    const struct nvt_diagnosed *before = looking->from->diagnosed;
    struct looked_at all = {0};
    for (size_t k = 0; k < NVT_COUNT_OF(rules) && !looking->status && !before; k++) {
        if (rules[k]->look)
            looking->status = look_at(rules[k], looking->from, looking->input, &all,
                                      &looking->findings, &looking->err);
        looking->ends[k] = looking->findings.count;
    }
    free_views(&all);
}

int nvt_diagnosed_look(struct nvt_diagnosed *diagnosed, const struct nvt_input *input,
                       struct nvt_error *err)
{
    struct nvt_input_trace item = input->traces[0];
    item.diagnosed = NULL;
    struct looking looking = {.input = input, .from = &item, .err = NVT_ERROR_INIT};
    look_by_all(&looking, 0);
    diagnosed->findings = looking.findings;
    diagnosed->ends = malloc(sizeof(looking.ends));
    if (diagnosed->ends)
        memcpy(diagnosed->ends, looking.ends, sizeof(looking.ends));
    else
        looking.status = nvt_fail_at(&looking.err, item.trace->path, -1, "out of memory");
    if (looking.status && err)
        *err = looking.err;
    return looking.status;
}

/* Traces are looked at several at a time. malloc'ed; NULL with err. */
static struct looking *look_at_all(const struct nvt_input *input, struct nvt_error *err)
{
    struct looking *all = calloc(input->trace_count + 1, sizeof(*all));
    if (!all) {
        nvt_error_set(err, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < input->trace_count; i++)
        all[i] = (struct looking){.input = input, .from = &input->traces[i], .err = NVT_ERROR_INIT};
    nvt_parallel(look_by_all, all, input->trace_count);
    return all;
}

/* Append what a rule found in all traces, in their order. 0, or -1 with err. */
static int take_looked(const struct looking *all, size_t rule, size_t traces,
                       struct nvt_findings *findings, struct nvt_error *err)
{
    for (size_t i = 0; i < traces; i++) {
        const struct nvt_diagnosed *before = all[i].from->diagnosed;
        const size_t *ends = before ? before->ends : all[i].ends;
        const struct nvt_findings *found = before ? &before->findings : &all[i].findings;
        size_t at = rule ? ends[rule - 1] : 0;
        if (all[i].status) {
            if (err)
                *err = all[i].err;
            return -1;
        }
        for (; at < ends[rule]; at++)
            if (nvt_findings_add(findings, &found->items[at], err))
                return -1;
    }
    return 0;
}

int nvt_diagnose(const struct nvt_input *input, const char *by, struct nvt_findings *findings,
                 struct nvt_error *err)
{
    const struct nvt_case facts = {input, by};
    int status = by ? nvt_axis_check(input, by, err) : 0;
    struct looking *looked = by || status ? NULL : look_at_all(input, err);
    if (!by && !looked)
        status = -1;
    for (size_t i = 0; i < NVT_COUNT_OF(rules) && !status; i++) {
        if (rules[i]->compare && (!by || rules[i]->is_along))
            status = rules[i]->compare(rules[i], &facts, findings, err);
        else if (looked && rules[i]->look)
            status = take_looked(looked, i, input->trace_count, findings, err);
    }
    for (size_t i = 0; looked && i < input->trace_count; i++)
        free(looked[i].findings.items);
    free(looked);
    if (!status) {
        nvt_findings_sort(findings, 0);
        put_causes_first(findings);
        nvt_findings_in_hip(findings, input);
    }
    return status;
}
