/* Findings that several traces share, as one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose.h"

/* One rule says it of both, of the same thing. */
static int are_equal(const struct nvt_finding *a, const struct nvt_finding *b)
{
    return a->traces && b->traces && !strcmp(a->cause, b->cause) && !strcmp(a->per, b->per) &&
           !strcmp(a->subject, b->subject);
}

static size_t place_of(const struct nvt_report_input *input, const struct nvt_trace *trace)
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
                   const struct nvt_report_input *input, unsigned char *is_in)
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

int nvt_findings_fold(struct nvt_findings *findings, const struct nvt_report_input *input,
                      struct nvt_error *err)
{
    size_t *group = calloc(findings->count + 1, sizeof(*group)), kept = 0;
    unsigned char *is_in = malloc(input->trace_count + 1);
    if (!group || !is_in) {
        free(group);
        free(is_in);
        return nvt_fail(err, "out of memory");
    }
    for (size_t i = 0; i < findings->count; i++)
        group[i] = leader_of(findings, group, i);
    for (size_t i = 0; i < findings->count; i++)
        if (group[i] == i && findings->items[i].traces)
            sum_up(findings, group, i, input, is_in);
    for (size_t i = 0; i < findings->count; i++)
        if (group[i] == i)
            findings->items[kept++] = findings->items[i];
    findings->count = kept;
    free(group);
    free(is_in);
    return 0;
}
