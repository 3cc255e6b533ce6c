/* Findings that several traces, or several sweeps, share, as one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose.h"

/* One rule says it of both, of the same thing. */
static int are_equal(const struct nvt_finding *a, const struct nvt_finding *b)
{
    int of_traces = a->traces && b->traces, of_sweeps = !a->traces && !b->traces && *a->subject;
    return (of_traces || of_sweeps) && !strcmp(a->cause, b->cause) && !strcmp(a->per, b->per) &&
           nvt_findings_agree(a, b);
}

static size_t place_of(const struct nvt_input *input, const struct nvt_trace *trace)
{
    size_t i = 0;
    while (i < input->trace_count && input->traces[i].trace != trace)
        i++;
    return i;
}

/* The first finding that is equal to one: it stands for its group. */
static size_t leader_of(const struct nvt_findings *findings, const size_t *group, size_t finding)
{
    size_t leader = 0;
    while (leader < finding && (group[leader] != leader ||
                                !are_equal(&findings->items[leader], &findings->items[finding])))
        leader++;
    return leader;
}

/* Count the traces of the findings that are in group `leader`, and name the first of them. */
static void sum_up(struct nvt_findings *findings, const size_t *group, size_t leader,
                   const struct nvt_input *input, unsigned char *is_in)
{
    struct nvt_finding *finding = &findings->items[leader];
    memset(is_in, 0, input->trace_count + 1);
    for (size_t i = leader; i < findings->count; i++)
        if (group[i] == leader)
            is_in[place_of(input, findings->items[i].trace)] = 1;
    finding->traces = 0;
    for (size_t i = input->trace_count; i-- > 0;)
        if (is_in[i]) {
            finding->traces++;
            nvt_case_name(&input->traces[i], finding->first, sizeof(finding->first));
        }
    finding->of = input->trace_count;
}

/* Count the sweeps of a group. Where they do not say the same of its subject, that there is something to say of it is
 * what they share. */
static void sum_up_sweeps(struct nvt_findings *findings, const size_t *group, size_t leader)
{
    struct nvt_finding *finding = &findings->items[leader];
    size_t sweeps = 0;
    int is_same = 1;
    for (size_t i = leader; i < findings->count; i++)
        if (group[i] == leader) {
            is_same = is_same && !strcmp(findings->items[i].what, finding->what);
            sweeps++;
        }
    finding->sweeps = sweeps > 1 ? sweeps : 0;
    if (!is_same)
        snprintf(finding->what, sizeof(finding->what), "%s", finding->subject);
}

/* Keep those that stand for themselves, group[i] == i, and let `explained_by` point at what is left. */
static void keep_leaders(struct nvt_findings *findings, const size_t *group, size_t *places)
{
    size_t kept = 0;
    for (size_t i = 0; i < findings->count; i++)
        places[i] = group[i] == i ? ++kept : group[i] < i ? places[group[i]] : 0;
    for (size_t i = 0; i < findings->count; i++)
        if (group[i] == i) {
            struct nvt_finding *finding = &findings->items[places[i] - 1];
            *finding = findings->items[i];
            if (finding->explained_by)
                finding->explained_by = places[finding->explained_by - 1];
        }
    findings->count = kept;
}

int nvt_findings_leave_minor(struct nvt_findings *findings, size_t *count, struct nvt_error *err)
{
    const size_t all = findings->count;
    size_t *group = malloc((all + 1) * sizeof(*group)),
           *places = malloc((all + 1) * sizeof(*places));
    for (size_t i = 0; i < all && group; i++)
        group[i] = nvt_finding_is_minor(&findings->items[i]) ? all : i;
    if (group && places)
        keep_leaders(findings, group, places);
    const int failed = !group || !places;
    free(group);
    free(places);
    *count = all - findings->count;
    return failed ? nvt_fail(err, "out of memory") : 0;
}

int nvt_findings_fold(struct nvt_findings *findings, const struct nvt_input *input,
                      struct nvt_error *err)
{
    size_t *group = calloc(findings->count + 1, sizeof(*group));
    size_t *places = calloc(findings->count + 1, sizeof(*places));
    unsigned char *is_in = malloc(input->trace_count + 1);
    if (!group || !places || !is_in) {
        free(group);
        free(places);
        free(is_in);
        return nvt_fail(err, "out of memory");
    }
    for (size_t i = 0; i < findings->count; i++)
        group[i] = leader_of(findings, group, i);
    for (size_t i = 0; i < findings->count; i++)
        if (group[i] == i && findings->items[i].traces)
            sum_up(findings, group, i, input, is_in);
        else if (group[i] == i)
            sum_up_sweeps(findings, group, i);
    keep_leaders(findings, group, places);
    free(group);
    free(places);
    free(is_in);
    return 0;
}
