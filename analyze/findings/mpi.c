/* MPI, torch.distributed: a rank spends much of its time in calls of these, and not because of late ranks (rule `late`). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/map.h"
#include "../diagnosis/late_ranks.h"
#include "../model/cover.h"
#include "../model/mpi.h"
#include "../model/recorded_parts.h"

#define LEAST_SHARE 0.1

/* The calls of one name. */
struct calls {
    uint32_t name;
    double count, ns, bytes;
    double known; /* so many say how much they give */
};

struct all {
    struct nvt_map names; /* string -> place */
    struct calls *items;
    uint32_t count;
    double ns;      /* of all threads, one after another */
    double in_mpi;  /* of processes, while any thread of them is */
    int64_t *until; /* of each process: when the last of its calls so far ends */
    struct nvt_mpi_process *processes;
    double ranks; /* that the view takes together */
};

/* Whether a call begins in the part that is looked at: without iterations that of its process, as of late ranks. */
static int is_looked_at(const struct all *all, const struct nvt_view *view, uint32_t process,
                        int64_t start)
{
    const struct nvt_mpi_process *own = &all->processes[process];
    return view->iteration_count ? nvt_is_steady(view, start)
                                 : start >= nvt_late_from(own) && start <= own->last;
}

/* The view of that part; without iterations as long as those of its processes are on average. 0, or -1 when out of memory. */
static int find_part(struct all *all, struct nvt_view *view)
{
    double ns = 0;
    all->processes = nvt_mpi_processes(view->trace);
    for (uint32_t i = 0; all->processes && i < view->trace->processes.count; i++) {
        const struct nvt_mpi_process *own = &all->processes[i];
        if (!own->calls || (view->process != NVT_NONE && view->process != i))
            continue;
        all->ranks++;
        ns += nvt_recorded_ns(view->trace, nvt_late_from(own), own->last);
    }
    if (!view->iteration_count && all->ranks > 0) {
        view->span_ns = ns / all->ranks;
        view->per = nvt_late_per(view->trace);
    }
    return all->processes ? 0 : -1;
}

/* NULL when out of memory. */
static struct calls *calls_of(struct all *all, uint32_t name)
{
    struct calls *calls = nvt_map_item(&all->names, name, &all->items, &all->count, sizeof(*calls));
    if (calls)
        calls->name = name;
    return calls;
}

static int add_up_mpi(const struct nvt_rule *rule, const struct nvt_view *view, struct all *all,
                      struct nvt_finding *finding)
{
    const int is_mpi = rule == &nvt_rule_mpi;
    const struct nvt_mpi_calls *table = &view->trace->mpi_calls;
    all->until = malloc(((size_t)view->trace->processes.count + 1) * sizeof(*all->until));
    for (uint32_t i = 0; all->until && i < view->trace->processes.count; i++)
        all->until[i] = INT64_MIN;
    if (!all->until)
        return -1;
    for (uint32_t i = 0; i < table->count; i++) {
        uint32_t process = view->trace->threads.process[table->thread[i]];
        if ((view->process != NVT_NONE && process != view->process) ||
            !is_looked_at(all, view, process, table->start[i]) || nvt_mpi_is_edge(view->trace, i) ||
            nvt_is_mpi_call(view->trace, i) != is_mpi)
            continue;
        struct calls *calls = calls_of(all, table->name[i]);
        if (!calls)
            return -1;
        double ns = (double)(table->end[i] - table->start[i]);
        calls->count++;
        calls->ns += ns;
        if (table->sent[i] != UINT64_MAX) {
            calls->bytes += (double)table->sent[i];
            calls->known++;
        }
        all->ns += ns;
        all->in_mpi += (double)nvt_cover(&all->until[process], table->start[i], table->end[i]);
        nvt_finding_point(finding, table->start[i]);
    }
    return 0;
}

static int find_mpi(const struct nvt_rule *rule, struct nvt_view *view,
                    const struct nvt_late_jobs *late, struct nvt_findings *findings,
                    struct nvt_error *err)
{
    struct all all = {0};
    int status = find_part(&all, view);
    struct nvt_finding finding = nvt_finding_of(rule, view);
    if (!status && view->span_ns > 0)
        status = add_up_mpi(rule, view, &all, &finding);
    const double ranks = status || !all.count ? 0 : all.ranks;
    double share = ranks > 0 ? fmin(all.in_mpi / (view->span_ns * ranks), 1) : 0;
    double told =
        ranks > 0 ? nvt_late_jobs_told(late, view->trace, view->process) / (view->span_ns * ranks)
                  : 0;
    const struct calls *most = all.items;
    char given[80] = "";
    for (uint32_t i = 1; i < all.count; i++)
        most = all.items[i].ns > most->ns ? &all.items[i] : most;
    if (!status && most && share - told >= LEAST_SHARE) {
        double each = most->count / view->units / ranks;
        finding.cost_ns = (share - told) * view->span_ns / view->units;
        nvt_finding_about(&finding, nvt_name(view->trace, most->name));
        snprintf(finding.what, sizeof(finding.what),
                 "%.0f %% of the time is spent in %s, most of it in %s", 100 * share, rule->cause,
                 finding.subject);
        if (most->known > 0)
            snprintf(given, sizeof(given), " and %s bytes each",
                     NVT_COUNT(most->bytes / most->known));
        snprintf(finding.evidence, sizeof(finding.evidence),
                 "%s: %.0f %% of that time, %s call%s %s%s, %s each%s; there a rank waits for "
                 "others, or for the network",
                 finding.subject, 100 * most->ns / all.ns, NVT_COUNT(each),
                 !strcmp(NVT_COUNT(each), "1") ? "" : "s", view->per, ranks > 1 ? " per rank" : "",
                 NVT_TIME(most->ns / most->count), given);
        if (told > 0)
            nvt_finding_append(&finding,
                               "; %.0f %% of the time are waits for a late rank, which do "
                               "not count here",
                               100 * told);
        status = nvt_findings_add(findings, &finding, err);
    } else if (status) {
        status = nvt_fail(err, "out of memory");
    }
    nvt_map_free(&all.names);
    free(all.items);
    free(all.until);
    free(all.processes);
    return status;
}

static int compare_mpi(const struct nvt_rule *rule, const struct nvt_case *facts,
                       struct nvt_findings *findings, struct nvt_error *err)
{
    const struct nvt_input *input = facts->input;
    struct nvt_late_jobs late = {0};
    int status = nvt_late_jobs_make(&late, input, err);
    for (size_t i = 0; i < input->trace_count && !status; i++) {
        struct nvt_views views = {0};
        size_t first = findings->count;
        if (!input->traces[i].trace->mpi_calls.count)
            continue;
        status = nvt_views_make(&views, rule, &input->traces[i], input, err);
        for (size_t k = 0; k < views.count && !status; k++)
            status = find_mpi(rule, &views.items[k], &late, findings, err);
        if (!status)
            nvt_views_join(findings, first, views.count);
        nvt_views_free(&views);
    }
    nvt_late_jobs_free(&late);
    return status;
}

const struct nvt_rule nvt_rule_mpi = {
    .cause = "MPI",
    .about = "ranks that spend much of their time in MPI calls",
    .means = "Ranks spend much of their time in MPI: they wait for each other, or for the network. "
             "Neither computes.",
    .found = "Calls that return when they are done are added up; polling calls (MPI_Test), "
             "MPI_Init and MPI_Finalize are not. The finding names the call with most of the time, "
             "how often it comes and how many bytes it sends. Waits for a late rank that is found "
             "by that rule do not count. Needs nvtally record --trace mpi, or nsys.",
    .threshold = "10 % of the time between MPI_Init and MPI_Finalize in calls that return when "
                 "they are done: below that, tuning them has no visible effect; polling calls "
                 "(MPI_Test) are not recorded. Waits for a late rank that was found do not count",
    .remedy = "balance the ranks if one comes last (stats -r stragglers); else fewer and larger "
              "messages, or calls that are waited for later (MPI_Iallreduce), with work in between",
    .helped = "Non-blocking collectives and sends with work in between; several small messages "
              "packed into one; a reduction every n-th iteration; fewer ranks with threads; "
              "neighbourhood collectives instead of all-to-all.",
    .confused = "Late rank: the time is a wait for one rank. Straggler: one rank computes longer "
                "than all others. A busy machine makes ranks late by turns.",
    .show = "stats -r mpi_waits",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_MPI,
    .compare = compare_mpi,
};

const struct nvt_rule nvt_rule_distributed = {
    .cause = "torch.distributed",
    .about = "time in collectives of torch.distributed",
    .means = "Ranks spend much of their time in collectives of PyTorch: they wait for each other, "
             "or for "
             "the network. Neither computes.",
    .found =
        "Collectives whose thread goes on when they are done, waits for those that were launched "
        "before (Work.wait), and what DistributedDataParallel waits for at the end of a "
        "backward pass are added up. The finding names the one with most of the time, how often "
        "it comes and how many bytes a rank gives. Waits for a late rank that is found by that "
        "rule do not count. Needs nvtally record --pytorch. What a device communicates "
        "(NCCL) is exposed communication.",
    .threshold = "10 % of the time in such calls: below that, tuning them has no visible effect. "
                 "Waits for a late rank that was found do not count",
    .remedy = "balance the ranks if one comes last (stats -r stragglers); else fewer and larger "
              "collectives: gradient accumulation with no_sync(), larger buckets (bucket_cap_mb), "
              "bfloat16 gradients, or NCCL on devices",
    .helped = "Gradient accumulation, larger batches, compressed gradients, logging a metric every "
              "n-th step instead of reducing it at each; a network interface that gloo was told "
              "to use (GLOO_SOCKET_IFNAME).",
    .confused = "Late rank: the time is a wait for one rank. Straggler: one rank computes longer "
                "than all others. A busy machine makes ranks late by turns.",
    .show = "stats -r mpi_waits",
    .confidence = NVT_SEEN,
    .needs = NVT_RULE_MPI,
    .compare = compare_mpi,
};
