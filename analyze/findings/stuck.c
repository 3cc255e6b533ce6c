/* stuck collective: of dumps of PyTorch's flight recorder, the collective or message that ranks wait in, and who has not reached it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../diagnosis/diagnose.h"
#include "../input/ranks.h"
#include "../model/payload.h"
#include "../studies/flight_calls.h"

/* Ranks that are named one by one, and bytes of a stack. */
enum { NAMED = 4, STACK = 120 };

#define GROUP_MAX 88
#define RANKS_MAX 96
#define CALL_MAX  120

/* "group 0 (default_pg)" */
static const char *group_text(const char *name, const char *purpose, char out[GROUP_MAX])
{
    snprintf(out, GROUP_MAX,
             *purpose && strcmp(purpose, "undefined") != 0 ? "group %.30s (%.40s)" : "group %.30s",
             name, purpose);
    return out;
}
#define GROUP_OF(stuck) group_text((stuck)->group, (stuck)->purpose, (char[GROUP_MAX]){0})

/* "rank 3", "ranks 1, 2, 5, 6 and 3 more" */
static const char *ranks_text(const struct nvt_flight_job *job, const uint32_t *rows,
                              uint32_t count, char out[RANKS_MAX])
{
    int at = snprintf(out, RANKS_MAX, "rank%s", count == 1 ? "" : "s");
    for (uint32_t i = 0; i < count && i < NAMED; i++)
        at += snprintf(out + at, (size_t)(RANKS_MAX - at), "%s%u",
                       !i               ? " "
                       : i + 1 == count ? " and "
                                        : ", ",
                       job ? job->ranks[rows[i]].number : rows[i]);
    if (count > NAMED)
        snprintf(out + at, (size_t)(RANKS_MAX - at), " and %u more", count - NAMED);
    return out;
}
#define RANKS_OF(job, rows, count) ranks_text(job, rows, count, (char[RANKS_MAX]){0})

static const struct nvt_trace *trace_of(const struct nvt_flight_job *job, uint32_t rank)
{
    return job->ranks[rank].from->trace;
}

static const char *payload_of(const struct nvt_flight_job *job, uint32_t rank, uint32_t range)
{
    const struct nvt_trace *trace = trace_of(job, rank);
    return nvt_name(trace, trace->ranges.payload[range]);
}

/* " in step (train.py:12) < main (train.py:80)"; nothing where the dump has no stacks. */
static void tell_stack(const struct nvt_flight_job *job, uint32_t rank, uint32_t range,
                       struct nvt_finding *finding)
{
    char stack[STACK + 1];
    nvt_member_text(payload_of(job, rank, range), "\"stack\"", stack, sizeof(stack));
    const size_t length = strlen(stack);
    char *step = length == STACK ? memrchr(stack, '<', length) : NULL;
    if (step && step > stack)
        step[-1] = 0;
    if (*stack)
        nvt_finding_append(finding, " in %s", stack);
}

/* "all_reduce 4 of group 0 (default_pg)" of any range of a dump. */
static void tell_range(const struct nvt_flight_job *job, uint32_t rank, uint32_t range,
                       struct nvt_finding *finding)
{
    const struct nvt_trace *trace = trace_of(job, rank);
    const char *payload = payload_of(job, rank, range);
    char group[64], purpose[64], state[16], text[GROUP_MAX];
    nvt_member_text(payload, "\"group\"", group, sizeof(group));
    nvt_member_text(payload, "\"purpose\"", purpose, sizeof(purpose));
    nvt_member_text(payload, "\"state\"", state, sizeof(state));
    nvt_finding_append(finding, "%.40s %.0f of %s (%s)", nvt_name(trace, trace->ranges.name[range]),
                       nvt_member_number(payload, "\"sequence\""), group_text(group, purpose, text),
                       state);
}

/* "all_reduce 4 of group 0 (default_pg)", "recv 2 of group 0 (default_pg) with rank 3" */
static void name_stuck(const struct nvt_flight_job *job, const struct nvt_flight_stuck *stuck,
                       char *out, size_t size)
{
    const struct nvt_trace *trace = trace_of(job, stuck->calls[0].rank);
    snprintf(out, size, "%.30s %" PRIu64 " of %.60s",
             nvt_name(trace, trace->ranges.name[stuck->calls[0].range]), stuck->sequence,
             GROUP_OF(stuck));
}

static void tell_waiting(const struct nvt_flight_job *job, const struct nvt_flight_stuck *stuck,
                         struct nvt_finding *finding)
{
    const struct nvt_flight_call *first = &stuck->calls[0];
    nvt_finding_append(finding, "rank %u", job->ranks[first->rank].number);
    if (stuck->call_count > 1)
        nvt_finding_append(finding, " and %u more", stuck->call_count - 1);
    nvt_finding_append(finding, stuck->call_count > 1 ? " wait" : " waits");
    tell_stack(job, first->rank, first->range, finding);
}

static void tell_missing(const struct nvt_flight_job *job, const struct nvt_flight_stuck *stuck,
                         struct nvt_finding *finding)
{
    for (uint32_t i = 0; i < stuck->missing_count && i < 2; i++) {
        const struct nvt_flight_rank *rank = &job->ranks[stuck->missing[i]];
        nvt_finding_append(finding, "%srank %u ", i ? "; " : "", rank->number);
        if (rank->last == NVT_NONE) {
            nvt_finding_append(finding, "has called nothing");
            continue;
        }
        nvt_finding_append(finding, "last called ");
        tell_range(job, stuck->missing[i], rank->last, finding);
        tell_stack(job, stuck->missing[i], rank->last, finding);
    }
    nvt_finding_append(finding, "; ");
    tell_waiting(job, stuck, finding);
}

static void judge_missing(const struct nvt_flight_job *job, const struct nvt_flight_stuck *stuck,
                          const char *name, int is_cycle, struct nvt_finding *finding)
{
    const char *ranks = RANKS_OF(job, stuck->missing, stuck->missing_count);
    if (stuck->is_message)
        snprintf(finding->what, sizeof(finding->what),
                 "rank %u waits in %s for %s, which has not reached it",
                 job->ranks[stuck->calls[0].rank].number, name, ranks);
    else
        snprintf(finding->what, sizeof(finding->what),
                 "%s %s not reached %s, in which %u of %u ranks wait", ranks,
                 stuck->missing_count == 1 ? "has" : "have", name, stuck->call_count, stuck->size);
    tell_missing(job, stuck, finding);
    if (stuck->held_count)
        nvt_finding_append(finding, "; %u more %s not reached it: waiting elsewhere",
                           stuck->held_count, stuck->held_count == 1 ? "has" : "have");
    if (is_cycle)
        nvt_finding_append(finding, "; that is a cycle: they wait for each other");
    snprintf(finding->remedy, sizeof(finding->remedy), "%s",
             is_cycle ? "call the collectives of several groups in the same order on all ranks"
                      : "look at what that rank does behind its last call (py-spy dump, its own "
                        "log): the others only wait for it");
}

static void judge_absent(const struct nvt_flight_job *job, const struct nvt_flight_stuck *stuck,
                         const char *name, struct nvt_finding *finding)
{
    const char *ranks = RANKS_OF(NULL, stuck->absent, stuck->absent_count);
    finding->confidence = NVT_POSSIBLE;
    if (stuck->absent_count)
        snprintf(finding->what, sizeof(finding->what),
                 "%u of %u ranks wait in %s, and there is no dump of %s", stuck->call_count,
                 stuck->size, name, ranks);
    else
        snprintf(finding->what, sizeof(finding->what),
                 "%u rank%s in %s; whether its group has others is not recorded", stuck->call_count,
                 stuck->call_count == 1 ? " waits" : "s wait", name);
    tell_waiting(job, stuck, finding);
    snprintf(finding->remedy, sizeof(finding->remedy),
             "give the dumps of all ranks; one that wrote none may have crashed, see its log");
}

static void judge_different(const struct nvt_flight_job *job, const struct nvt_flight_stuck *stuck,
                            struct nvt_finding *finding)
{
    const struct nvt_flight_call *calls[] = {&stuck->calls[0], &stuck->calls[stuck->differs]};
    finding->confidence = NVT_SEEN;
    snprintf(finding->what, sizeof(finding->what),
             "ranks %u and %u call different collectives as number %" PRIu64 " of %s",
             job->ranks[calls[0]->rank].number, job->ranks[calls[1]->rank].number, stuck->sequence,
             GROUP_OF(stuck));
    for (int i = 0; i < 2; i++) {
        const struct nvt_trace *trace = trace_of(job, calls[i]->rank);
        char given[64];
        nvt_member_text(payload_of(job, calls[i]->rank, calls[i]->range), "\"given\"", given,
                        sizeof(given));
        nvt_finding_append(finding, "%srank %u calls %.40s of %s", i ? "; " : "",
                           job->ranks[calls[i]->rank].number,
                           nvt_name(trace, trace->ranges.name[calls[i]->range]), given);
        tell_stack(job, calls[i]->rank, calls[i]->range, finding);
    }
    snprintf(
        finding->remedy, sizeof(finding->remedy),
        "make all ranks of the group call the same collectives, of the same sizes, in the same "
        "order: a branch that not all take is the usual cause");
}

static void judge_all_in(const struct nvt_flight_job *job, const struct nvt_flight_stuck *stuck,
                         const char *name, struct nvt_finding *finding)
{
    const int is_unstarted = stuck->kind == NVT_FLIGHT_UNSTARTED;
    const uint32_t rank = stuck->calls[stuck->differs].rank;
    if (is_unstarted)
        snprintf(finding->what, sizeof(finding->what),
                 "all %u ranks have called %s, and the device of rank %u has not begun it",
                 stuck->call_count, name, job->ranks[rank].number);
    else if (stuck->is_message)
        snprintf(finding->what, sizeof(finding->what),
                 "both ranks of %s have called it, and it does not end", name);
    else
        snprintf(finding->what, sizeof(finding->what),
                 "all %u ranks have called %s, and it does not end", stuck->call_count, name);
    tell_waiting(job, stuck, finding);
    snprintf(finding->remedy, sizeof(finding->remedy), "%s",
             is_unstarted ? "look at what its device runs before it: an endless kernel, or a "
                            "collective of another group in another order"
                          : "look at the interconnect and NCCL's own log (NCCL_DEBUG=INFO)");
}

/* Whether those that have not reached it wait for others in turn, and these at last for the first. */
static int is_cycle(const struct nvt_flight_job *job, uint32_t item)
{
    uint32_t at = item;
    for (uint32_t steps = 0; steps < job->count && job->items[at].explained; steps++) {
        at = job->items[at].explained - 1;
        if (at == item)
            return 1;
    }
    return 0;
}

/* Of a cycle the first. */
static int is_first_of_cycle(const struct nvt_flight_job *job, uint32_t item)
{
    for (uint32_t at = job->items[item].explained - 1; at != item;
         at = job->items[at].explained - 1)
        if (at < item)
            return 0;
    return 1;
}

/* Others whose ranks wait because of one. */
static uint32_t count_explained(const struct nvt_flight_job *job, uint32_t item)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < job->count; i++) {
        uint32_t at = i, steps = 0;
        while (job->items[at].explained && at != item && steps++ < job->count)
            at = job->items[at].explained - 1;
        count += i != item && at == item;
    }
    return count;
}

/* How long it had waited, as far as files tell; where they tell nothing, what is said is conditional. */
static void tell_age(const struct nvt_flight_stuck *stuck, struct nvt_finding *finding)
{
    char what[sizeof(finding->what)];
    if (stuck->waited < 0)
        return;
    nvt_finding_append(finding, "; it had waited %s when its file was last changed",
                       NVT_TIME((double)stuck->waited));
    if (!stuck->is_unsure)
        return;
    snprintf(what, sizeof(what), "if the job hung: %.230s", finding->what);
    snprintf(finding->what, sizeof(finding->what), "%s", what);
    finding->confidence = NVT_POSSIBLE;
    nvt_finding_append(finding, ", long behind its time-out, which did not come up: the file is a "
                                "copy, so whether the job hung is unknown (cp -p keeps its time)");
}

static int tell(const struct nvt_rule *rule, const struct nvt_flight_job *job, uint32_t item,
                int cycle, struct nvt_findings *findings, struct nvt_error *err)
{
    const struct nvt_flight_stuck *stuck = &job->items[item];
    const struct nvt_flight_call *first = &stuck->calls[0];
    const uint32_t others = count_explained(job, item);
    struct nvt_finding finding = nvt_finding_of(rule, NULL);
    char name[CALL_MAX];
    nvt_case_name(job->ranks[first->rank].from, finding.where, sizeof(finding.where));
    finding.trace = trace_of(job, first->rank);
    finding.per = "at the end";
    finding.cost_ns = (double)stuck->blocked;
    finding.whole_ns = 0;
    name_stuck(job, stuck, name, sizeof(name));
    switch (stuck->kind) {
    case NVT_FLIGHT_MISSING:
        judge_missing(job, stuck, name, cycle, &finding);
        break;
    case NVT_FLIGHT_NO_DUMP:
        judge_absent(job, stuck, name, &finding);
        break;
    case NVT_FLIGHT_DIFFERENT:
        judge_different(job, stuck, &finding);
        break;
    default:
        judge_all_in(job, stuck, name, &finding);
    }
    if (others && !cycle)
        nvt_finding_append(&finding, "; ranks in %u other group%s wait for these", others,
                           others == 1 ? "" : "s");
    tell_age(stuck, &finding);
    nvt_finding_point(&finding, finding.trace->ranges.start[first->range]);
    return nvt_findings_add(findings, &finding, err);
}

/* Those that are not for another's sake. */
static int judge_job(const struct nvt_rule *rule, const struct nvt_flight_job *job,
                     struct nvt_findings *findings, struct nvt_error *err)
{
    int status = 0;
    for (uint32_t i = 0; i < job->count && !status; i++) {
        const int cycle = is_cycle(job, i);
        if (job->items[i].call_count &&
            (!job->items[i].explained || (cycle && is_first_of_cycle(job, i))))
            status = tell(rule, job, i, cycle, findings, err);
    }
    return status;
}

static int compare_stuck(const struct nvt_rule *rule, const struct nvt_case *facts,
                         struct nvt_findings *findings, struct nvt_error *err)
{
    size_t runs, *numbers = nvt_input_run_numbers(facts->input, &runs);
    int status = numbers ? 0 : nvt_fail(err, "out of memory");
    for (size_t run = 0; run < runs && !status; run++) {
        struct nvt_flight_job job = {0};
        status = nvt_flight_job_make(&job, facts->input, numbers, run)
                     ? nvt_fail(err, "out of memory")
                     : judge_job(rule, &job, findings, err);
        nvt_flight_free(&job);
    }
    free(numbers);
    return status;
}

const struct nvt_rule nvt_rule_stuck = {
    .cause = "stuck collective",
    .about = "a collective or message that ranks wait in, and the rank that has not reached it",
    .means = "A collective ends on no rank before all ranks of its group have called it. One rank "
             "that does something else, has crashed or calls another one blocks all of them, "
             "until the time is up.",
    .found =
        "The dumps that PyTorch's flight recorder writes when a collective times out are compared: "
        "nvtally diagnose with the dumps of all ranks. In each process group, the first collective "
        "that was called and has ended on no rank is the stuck one; ranks whose last call there "
        "has a lower number have not reached it. The finding has their last call, with its line. "
        "Where a "
        "missing rank waits in another group itself, the rank that this one waits for is reported "
        "instead. JSON dumps have no stacks.",
    .threshold = "no end 5 s after the call, or a timeout that expired. When the dump was written "
                 "is taken from the file's last change; a dump of a job that runs on has some rank "
                 "a little behind the others, which is not reported",
    .remedy = "look at what the rank that has not reached it does (py-spy dump, its own log)",
    .helped = "A branch that not all ranks take (a log, a checkpoint, a last batch that only some "
              "have) moved out of the way of collectives. The order of collectives of several "
              "groups made the same on all ranks. An exception on one rank made to end all.",
    .confused = "Hang says the same of recorded processes, which need no timeout. Straggler: the "
                "rank comes in the end. A long first batch or a checkpoint can be longer than the "
                "timeout without a bug.",
    .is_fatal = 1,
    .confidence = NVT_LIKELY,
    .compare = compare_stuck,
};
