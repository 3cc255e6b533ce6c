/*
 * mpi_waits: who waits for whom in MPI, a row for each wait state (studies/mpi_waits.h), range and call of the rank that waits, and
 * range of the one that is late: where that is for most of the wait. Of a late rank that is in MPI itself meanwhile the call is
 * told, too: it waits for another one, or for the network. The share is of the time from the end of MPI_Init to the start of
 * MPI_Finalize.
 *
 * What cannot be matched is told in notes.
 */
#include <stdlib.h>

#include "../../lib/quantity_text.h"
#include "../../lib/text.h"
#include "../input/ranks.h"
#include "../model/mpi.h"
#include "../studies/mpi_wait_sums.h"
#include "report.h"

static void put_mpi_waits_row(struct nvt_table *table, struct nvt_groups *groups, uint32_t number,
                              const struct nvt_mpi_job *job, const int64_t *spans)
{
    const struct nvt_group *group = &groups->groups[number];
    const uint32_t *key = group->key;
    const struct nvt_summary summary = nvt_groups_summary(groups, number);
    nvt_table_put(
        table, nvt_mpi_wait_state_name((enum nvt_mpi_wait_state)key[NVT_MPI_WAIT_STATE]),
        job->ranks[key[NVT_MPI_WAIT_RANK]].number,
        nvt_text_if_any(nvt_groups_name(groups, key[NVT_MPI_WAIT_RANGE])),
        nvt_text_if_any(nvt_groups_name(groups, key[NVT_MPI_WAIT_CALL])),
        job->ranks[key[NVT_MPI_WAIT_LATE]].number,
        nvt_text_if_any(nvt_groups_name(groups, key[NVT_MPI_WAIT_LATE_RANGE])),
        nvt_text_if_any(nvt_groups_name(groups, key[NVT_MPI_WAIT_LATE_CALL])), group->count,
        group->total, nvt_percent(group->total, spans[key[NVT_MPI_WAIT_RANK]]), summary.mean,
        (int64_t)summary.max, nvt_file_name(nvt_mpi_trace(job, key[NVT_MPI_WAIT_RANK])->path));
}

/* --- what is left out --------------------------------------------------------------------------- */

static void note_count(struct nvt_input *input, uint64_t count, const char *what)
{
    if (count)
        nvt_note(input, "note: %llu %s", (unsigned long long)count, what);
}

static void note_mpi_waits_left_out(struct nvt_input *input, const struct nvt_mpi_waits *waits)
{
    const struct nvt_mpi_unmatched *unmatched = &waits->unmatched;
    note_count(
        input, unmatched->others + waits->others,
        "calls are left out: they are on another communicator than the first that their process "
        "used");
    note_count(input, unmatched->any,
               "sends and receives are left out: receives from any rank or tag, or those of "
               "MPI_Sendrecv, may have one of several sources");
    note_count(input, unmatched->uneven,
               "sends and receives are left out: their numbers differ, so calls may be missing in "
               "the recording");
    note_count(input, unmatched->threads,
               "sends and receives are left out: several threads send, or receive, from one rank "
               "to another with the same tag");
    note_count(input, unmatched->impossible,
               "sends and receives are left out: messages would be received before they are sent "
               "(the clocks of the ranks differ, or calls are missing)");
    note_count(input, unmatched->alone,
               "sends and receives are left out: their other half is not in the input");
    note_count(input, waits->persistent,
               "calls start persistent requests (MPI_Start, MPI_Startall): their peer was not "
               "recorded, and waits for them are left out");
    note_count(input, waits->apart,
               "collective calls are left out: their order does not match across ranks, or the "
               "clocks of the ranks differ");
    note_count(input, waits->later, "non-blocking collective calls are left out");
    note_count(input, waits->unclear,
               "waits are left out: each may be for one of several messages");
}

/* Why a job cannot be looked at. */
static void note_job(struct nvt_input *input, const struct nvt_mpi_job *job)
{
    const char *file = nvt_file_name(job->files[0].from->trace->path);
    if (job->is_ambiguous)
        nvt_note(input, "note: %s: left out, as several processes have the same rank", file);
    else if (job->unnumbered)
        nvt_note(input, "note: %s: left out, as the rank of %s is unknown", file,
                 NVT_COUNTED(job->unnumbered, "process that communicates",
                             "processes that communicate"));
    else if (job->count < 2)
        nvt_note(input, "note: %s: only one rank: give the files of all ranks", file);
    else if (!job->is_complete)
        nvt_note(input,
                 "note: %s: left out, as it has %u ranks of which the last is rank %u: give the "
                 "files of all ranks",
                 file, job->count, job->ranks[job->count - 1].number);
    else
        nvt_note(input,
                 "note: %s: left out, as the time of day of %s is unknown, so times cannot be "
                 "compared",
                 file, NVT_COUNTED((double)job->unknown_clocks, "trace", "traces"));
}

/* Clocks that were set, and how well they are known. */
static void note_clocks(struct nvt_input *input, const struct nvt_mpi_job *job)
{
    nvt_note(input,
             "note: the clocks of %zu of %zu files are set by the ends of collectives, which all "
             "ranks leave together: apart by up to %s, known to %s",
             job->set_clocks, job->file_count, NVT_TIME((double)job->apart_ns),
             NVT_TIME(job->clock_error_ns));
}

/* --- the report --------------------------------------------------------------------------------- */

/* 0, or -1 with err. */
static int add_mpi_waits_job(struct nvt_table *table, const struct nvt_making *making,
                             const size_t *numbers, size_t number)
{
    struct nvt_input *input = making->input;
    struct nvt_error *err = making->err;
    struct nvt_mpi_waits waits = {0};
    struct nvt_groups groups = {0};
    int64_t *spans = NULL;
    int status = nvt_mpi_waits_make(&waits, input, numbers, number, making->err);
    if (!status && waits.job.file_count && nvt_is_torch_alone(waits.job.files[0].from->trace))
        nvt_making_title(making, "Wait states of torch.distributed by range");
    if (!status && waits.job.file_count && !nvt_mpi_is_comparable(&waits.job))
        note_job(input, &waits.job);
    if (!status && waits.job.set_clocks)
        note_clocks(input, &waits.job);
    if (!status && waits.count)
        status = nvt_mpi_wait_sums(&groups, &waits, err);
    if (!status && !(spans = nvt_mpi_rank_spans(&waits.job)))
        status = nvt_fail(err, "out of memory");
    for (uint32_t i = 0; i < groups.count && !status; i++)
        put_mpi_waits_row(table, &groups, i, &waits.job, spans);
    if (!status)
        note_mpi_waits_left_out(input, &waits);
    free(spans);
    nvt_groups_free(&groups);
    nvt_mpi_waits_free(&waits);
    return status;
}

static int put_mpi_waits(struct nvt_table *table, const struct nvt_making *making)
{
    size_t count = 0, *numbers = nvt_input_run_numbers(making->input, &count);
    int status = numbers ? 0 : -1;
    for (size_t i = 0; i < count && !status; i++)
        status = add_mpi_waits_job(table, making, numbers, i);
    free(numbers);
    return status;
}

const struct nvt_report nvt_report_mpi_waits = {
    .name = "mpi_waits",
    .about = "who waits for whom in MPI, and what the late rank does meanwhile",
    .columns = {{"Wait State", NVT_NAMES},
                {"Rank", NVT_IDS},
                {"Range", NVT_RANGES},
                {"Call", NVT_NAMES},
                {"Late Rank", NVT_IDS},
                {"Late Range", NVT_RANGES},
                {"Late Call", NVT_NAMES},
                {"Waits", NVT_COUNTS},
                {"Total Time (ns)", NVT_NS},
                {"Share (%)", NVT_PERCENT},
                {"Avg (ns)", NVT_NS_AVERAGE},
                {"Max (ns)", NVT_NS},
                {"File", NVT_NAMES}},
    .title = "MPI wait states by range",
    .order = {"-Total Time (ns)"},
    .is_in = nvt_input_has_mpi,
    .missing = "no MPI calls in the input (record --trace mpi, nsys profile --trace=mpi)",
    .of_input = put_mpi_waits,
};
