#include "mpi_ranks.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/count_of.h"
#include "../../lib/grow.h"
#include "../../lib/map.h"
#include "../input/clocks.h"
#include "../input/ranks.h"

/* --- what calls do ------------------------------------------------------------------------------ */

static struct nvt_mpi_does does_of(const char *name, uint8_t kind)
{
    static const struct {
        const char *name;
        struct nvt_mpi_does does;
    } known[] = {
#define ROLE(name, role, flags) {name, {NVT_MPI_DOES_##role, flags, 0}},
#include "mpi_calls.def"
#undef ROLE
    };
    for (size_t i = 0; i < NVT_COUNT_OF(known); i++)
        if (!strcmp(known[i].name, name))
            return known[i].does;
    return (struct nvt_mpi_does){
        kind == NVT_MPI_COLLECTIVE ? NVT_MPI_DOES_TOGETHER : NVT_MPI_DOES_NOTHING, 0, 0};
}

/* Of each call; NULL when out of memory. Each name is looked up once. */
static struct nvt_mpi_does *find_does(const struct nvt_trace *trace)
{
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    struct nvt_mpi_does *does = calloc((size_t)calls->count + 1, sizeof(*does));
    struct nvt_map first = {0}; /* name and kind -> the first such call */
    int failed = !does;
    for (uint32_t i = 0; i < calls->count && !failed; i++) {
        uint32_t *at = nvt_map_at(&first, (uint64_t)calls->name[i] << 8 | calls->kind[i]);
        failed = !at;
        if (failed)
            break;
        if (*at == NVT_MAP_NONE) {
            *at = i;
            does[i] = does_of(nvt_name(trace, calls->name[i]), calls->kind[i]);
        }
        does[i] = does[*at];
    }
    nvt_map_free(&first);
    if (failed) {
        free(does);
        return NULL;
    }
    return does;
}

/* --- ranks -------------------------------------------------------------------------------------- */

/* The ranks of a file, with no more known than their numbers. 0, or -1 when out of memory. */
static int find_ranks(struct nvt_mpi_job *job, uint32_t number)
{
    struct nvt_mpi_file *file = &job->files[number];
    const struct nvt_trace *trace = file->from->trace;
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    uint32_t processes = trace->processes.count;
    file->rank_of = malloc(((size_t)processes + 1) * sizeof(*file->rank_of));
    uint8_t *calls_mpi = calloc((size_t)processes + 1, 1);
    int failed = !file->rank_of || !calls_mpi;
    for (uint32_t i = 0; i < calls->count && !failed; i++)
        calls_mpi[trace->threads.process[calls->thread[i]]] = 1;
    for (uint32_t i = 0; i < processes && !failed; i++) {
        file->rank_of[i] = NVT_NONE;
        if (!calls_mpi[i])
            continue;
        uint32_t rank = nvt_input_rank(file->from, i);
        failed = nvt_grow(&job->ranks, job->count, sizeof(*job->ranks));
        if (rank == NVT_NONE)
            job->unnumbered++;
        else if (!failed)
            job->ranks[job->count++] =
                (struct nvt_mpi_rank){.file = number, .process = i, .number = rank};
    }
    free(calls_mpi);
    return failed ? -1 : 0;
}

static int by_number(const void *left, const void *right)
{
    const struct nvt_mpi_rank *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

/* Sort them, and let their files know where they are. */
static void order_ranks(struct nvt_mpi_job *job)
{
    if (!job->ranks)
        return;
    qsort(job->ranks, job->count, sizeof(*job->ranks), by_number);
    job->is_complete = !job->unnumbered;
    for (uint32_t i = 0; i < job->count; i++) {
        const struct nvt_mpi_rank *rank = &job->ranks[i];
        if (i && rank->number == rank[-1].number)
            job->is_ambiguous = 1;
        if (rank->number != i)
            job->is_complete = 0;
        job->files[rank->file].rank_of[rank->process] = i;
    }
}

/* Which of its rank's a communicator is. Those behind the last are not told apart, as those that named groups take. */
static uint8_t communicator_of(const struct nvt_mpi_job *job, struct nvt_mpi_rank *rank,
                               uint64_t handle)
{
    uint8_t i = 0;
    while (i < rank->handle_count && rank->handles[i] != handle)
        i++;
    if (i == rank->handle_count && i < NVT_MPI_COMMUNICATORS)
        rank->handles[rank->handle_count++] = handle;
    return i + job->named_count < NVT_MPI_COMMUNICATORS ? i : NVT_MPI_OTHER_ONE;
}

/* The groups of a file's calls that are the same on all ranks. */
static void find_named(struct nvt_mpi_job *job, const struct nvt_mpi_file *file)
{
    const struct nvt_mpi_calls *calls = &file->from->trace->mpi_calls;
    for (uint32_t i = 0; i < calls->count; i++) {
        uint8_t k = 0;
        while (calls->ranks[i] && k < job->named_count && job->named[k] != calls->communicator[i])
            k++;
        if (!calls->ranks[i] || k < job->named_count || k == NVT_MPI_COMMUNICATORS)
            continue;
        job->named[k] = calls->communicator[i];
        job->named_ranks[k] = calls->ranks[i];
        job->named_count++;
    }
}

static uint8_t named_of(const struct nvt_mpi_job *job, uint64_t group)
{
    for (uint8_t k = 0; k < job->named_count; k++)
        if (job->named[k] == group)
            return (uint8_t)(NVT_MPI_COMMUNICATORS - 1 - k);
    return NVT_MPI_OTHER_ONE;
}

int nvt_mpi_has_communicator(const struct nvt_mpi_file *file, uint32_t call)
{
    const enum nvt_mpi_role role = file->does[call].role;
    return file->from->trace->mpi_calls.communicator[call] ||
           (role >= NVT_MPI_DOES_SENDS && role <= NVT_MPI_DOES_BOTH) ||
           role >= NVT_MPI_DOES_BARRIER;
}

/* Communicators of ranks, and whether all calls from the first on are there. */
static void look_at_calls(struct nvt_mpi_job *job, const struct nvt_mpi_file *file)
{
    const struct nvt_trace *trace = file->from->trace;
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    for (uint32_t i = 0; i < calls->count; i++) {
        uint32_t number = file->rank_of[trace->threads.process[calls->thread[i]]];
        struct nvt_mpi_rank *rank = number == NVT_NONE ? NULL : &job->ranks[number];
        enum nvt_mpi_role role = file->does[i].role;
        job->has_parts |= role == NVT_MPI_DOES_PARTS;
        if (!rank)
            continue;
        if ((role == NVT_MPI_DOES_BEGINS || calls->ranks[i]) && !trace->is_part && !trace->is_late)
            rank->is_whole = 1;
        if (calls->ranks[i])
            file->does[i].communicator = named_of(job, calls->communicator[i]);
        else if (nvt_mpi_has_communicator(file, i))
            file->does[i].communicator = communicator_of(job, rank, calls->communicator[i]);
    }
}

/* What makes a rank one of which calls may be missing; and without knowing their ranks, only the first communicator counts. */
static void look_again(struct nvt_mpi_job *job, const struct nvt_mpi_file *file)
{
    const struct nvt_trace *trace = file->from->trace;
    const struct nvt_mpi_calls *calls = &trace->mpi_calls;
    for (uint32_t i = 0; i < calls->count; i++) {
        uint32_t number = file->rank_of[trace->threads.process[calls->thread[i]]];
        if (number != NVT_NONE && file->does[i].role == NVT_MPI_DOES_STARTS)
            job->ranks[number].is_whole = 0;
        if (job->has_parts && !calls->ranks[i] && file->does[i].communicator)
            file->does[i].communicator = NVT_MPI_OTHER_ONE;
    }
    for (uint32_t i = 0; i < trace->threads.count; i++) {
        uint32_t number = file->rank_of[trace->threads.process[i]];
        if (number != NVT_NONE && trace->threads.dropped[i])
            job->ranks[number].is_whole = 0;
    }
}

/* 0, or -1 when out of memory. */
static int find_shifts(struct nvt_mpi_job *job)
{
    const struct nvt_trace **traces = malloc((job->file_count + 1) * sizeof(*traces));
    int64_t *shifts = malloc((job->file_count + 1) * sizeof(*shifts));
    if (traces && shifts) {
        for (size_t i = 0; i < job->file_count; i++)
            traces[i] = job->files[i].from->trace;
        job->unknown_clocks = nvt_shifts_to_first(traces, job->file_count, shifts);
        for (uint32_t i = 0; i < job->count; i++)
            job->ranks[i].shift = shifts[job->ranks[i].file];
    }
    int failed = !traces || !shifts;
    free(traces);
    free(shifts);
    return failed ? -1 : 0;
}

int nvt_mpi_job_make(struct nvt_mpi_job *job, const struct nvt_input *input, const size_t *numbers,
                     size_t number, struct nvt_error *err)
{
    int failed = 0;
    for (size_t i = 0; i < input->trace_count && !failed; i++) {
        if (numbers[i] != number || !input->traces[i].trace->mpi_calls.count)
            continue;
        failed = nvt_grow(&job->files, job->file_count, sizeof(*job->files));
        if (failed)
            break;
        struct nvt_mpi_file *file = &job->files[job->file_count++];
        *file = (struct nvt_mpi_file){.from = &input->traces[i]};
        file->does = find_does(file->from->trace);
        failed = !file->does || find_ranks(job, (uint32_t)(job->file_count - 1));
    }
    if (!failed) {
        order_ranks(job);
        for (size_t i = 0; i < job->file_count; i++)
            find_named(job, &job->files[i]);
        for (size_t i = 0; i < job->file_count; i++)
            look_at_calls(job, &job->files[i]);
        for (size_t i = 0; i < job->file_count; i++)
            look_again(job, &job->files[i]);
        failed = find_shifts(job) || nvt_mpi_set_clocks(job);
    }
    return failed ? nvt_fail(err, "out of memory") : 0;
}

void nvt_mpi_job_free(struct nvt_mpi_job *job)
{
    for (size_t i = 0; i < job->file_count; i++) {
        free(job->files[i].does);
        free(job->files[i].rank_of);
    }
    free(job->files);
    free(job->ranks);
    *job = (struct nvt_mpi_job){0};
}

int64_t nvt_mpi_time(const struct nvt_mpi_job *job, uint32_t from, uint32_t to, int64_t time)
{
    const struct nvt_mpi_rank *a = &job->ranks[from], *b = &job->ranks[to];
    if (a->file == b->file || (!a->clock.count && !b->clock.count))
        return nvt_clock_sum(time, nvt_clock_since(a->shift, b->shift));
    int64_t first = nvt_clock_sum(time, a->shift);
    if (a->clock.count)
        first = nvt_clock_fit_apply(&a->clock, first);
    return nvt_clock_since(b->clock.count ? nvt_clock_fit_revert(&b->clock, first) : first,
                           b->shift);
}
