#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "count_of.h"
#include "one_of.h"
#include "job_mpi.h"
#include "read_file.h"
#include "version.h"

static struct {
    int is_begun; /* 0: this process is by itself */
    int rank, size;
} job = {.size = 1};

/* --- what launchers say --- */

/* What the launcher of a kind of MPI puts into the environment: how many processes there are, and which one this is. */
struct announcement {
    const char *size, *rank;
    enum nvt_job_abi abi;
    const char *needs; /* also there, or there is no MPI between the processes; NULL: nothing */
};

static const struct announcement announcements[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", NVT_JOB_OPEN_MPI, NULL},
    {"PMI_SIZE", "PMI_RANK", NVT_JOB_MPICH, NULL},
    {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", NVT_JOB_MPICH, NULL},
    /* of a step, which srun sets; the script of a batch job has SLURM_NTASKS as well */
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", NVT_JOB_OPEN_MPI, "PMIX_RANK"},
};

static long number_of(const char *name)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : 0;
}

/* That of several processes; NULL: there is one, or no launcher. */
static const struct announcement *find_announcement(void)
{
    for (size_t i = 0; i < NVT_COUNT_OF(announcements); i++)
        if (number_of(announcements[i].size) > 1)
            return &announcements[i];
    return NULL;
}

static int is_launched(void)
{
    /* Names of processes have at most 15 characters. */
    static const char *const launchers[] = {
        "mpirun",     "mpiexec",         "orterun",       "orted", "prte",
        "prterun",    "prted",           "mpiexec.hydra", "srun",  "hydra_pmi_proxy",
        "slurmstepd", "hydra_bstrap_pr", "flux-shell"};
    char path[64], name[32];
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)getppid());
    return nvt_read_line(path, name, sizeof(name)) && NVT_IS_ONE_OF(name, launchers);
}

/* Where the launcher's program is; "" if that is not known. */
static void find_launcher(char *folder, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)getppid());
    const ssize_t length = readlink(path, folder, size - 1);
    folder[length > 0 ? length : 0] = 0;
    char *slash = strrchr(folder, '/');
    *(slash ? slash : folder) = 0;
}

/* --- whether all do the same --- */

/* What all must have in common: the program, as it is built, and its arguments. 0, or -1 when out of memory. */
static int write_identity(struct nvt_buffer *out, int argc, char **argv)
{
    struct stat status = {0};
    (void)stat("/proc/self/exe", &status);
    int failed = nvt_buffer_printf(out, "%s %lld", NVT_VERSION, (long long)status.st_size);
    for (int i = 0; i < argc; i++)
        failed |= nvt_buffer_append(out, "", 1) || nvt_buffer_printf(out, "%s", argv[i]);
    return failed ? -1 : 0;
}

/* The first one compares the others with itself, and answers each: 1, or 0: it is by itself. */
static int compare_all(const struct nvt_buffer *own)
{
    struct nvt_buffer other = {0};
    unsigned char are_alike = 1;
    int failed = 0;
    for (int i = 1; i < job.size && !failed; i++) {
        other.size = 0;
        failed = nvt_job_receive(i, &other, NULL);
        are_alike &=
            !failed && other.size == own->size && !memcmp(other.data, own->data, own->size);
    }
    for (int i = 1; i < job.size && !failed; i++)
        failed = nvt_job_send(i, &are_alike, 1, NULL);
    nvt_buffer_free(&other);
    return !failed && are_alike;
}

static int compare_own(const struct nvt_buffer *own)
{
    struct nvt_buffer answer = {0};
    const int failed =
        nvt_job_send(0, own->data, own->size, NULL) || nvt_job_receive(0, &answer, NULL);
    const int is_alike = !failed && answer.size == 1 && answer.data[0];
    nvt_buffer_free(&answer);
    return is_alike;
}

/* Begin the launcher's MPI. 0, or -1 with err: why there is none between the processes. */
static int begin(const struct announcement *announced, struct nvt_error *err)
{
    char folder[4096];
    int size = 1;
    if (announced->needs && !getenv(announced->needs))
        return nvt_fail(err, "srun has begun no MPI (srun --mpi=pmix does)");
    find_launcher(folder, sizeof(folder));
    if (nvt_job_mpi_begin(announced->abi, folder, &job.rank, &size, err))
        return -1;
    job.is_begun = 1;
    job.size = size;
    if (size < 2)
        return nvt_fail(err, "the MPI that was found does not know the launcher");
    return 0;
}

int nvt_job_begin(int argc, char **argv, struct nvt_error *err)
{
    struct nvt_buffer own = {0};
    struct nvt_error why = NVT_ERROR_INIT;
    char text[1024];
    const struct announcement *announced = find_announcement();
    if (!announced || !is_launched())
        return 0;
    if (begin(announced, &why)) {
        nvt_job_end();
        if (number_of(announced->rank))
            return -1;
        return nvt_fail(
            err,
            "the launcher started %ld processes, but no MPI connects them: %s; without a "
            "launcher, one process reads all files",
            number_of(announced->size), nvt_error_text(&why, text, sizeof(text)));
    }
    if (write_identity(&own, argc, argv) || !(job.rank ? compare_own(&own) : compare_all(&own)))
        nvt_job_end();
    nvt_buffer_free(&own);
    return 0;
}

int nvt_job_rank(void)
{
    return job.rank;
}

int nvt_job_size(void)
{
    return job.size;
}

int nvt_job_send(int to, const void *data, size_t size, struct nvt_error *err)
{
    return nvt_job_mpi_send(to, data, size) ? nvt_fail(err, "MPI: process %d was not reached", to)
                                            : 0;
}

int nvt_job_receive(int from, struct nvt_buffer *buffer, struct nvt_error *err)
{
    size_t size;
    if (nvt_job_mpi_expect(from, &size))
        return nvt_fail(err, "MPI: nothing came from process %d", from);
    if (nvt_buffer_reserve(buffer, size))
        return nvt_fail(err, "out of memory");
    if (nvt_job_mpi_receive(from, buffer->data + buffer->size, size))
        return nvt_fail(err, "MPI: nothing came from process %d", from);
    buffer->size += size;
    return 0;
}

void nvt_job_end(void)
{
    if (job.is_begun)
        nvt_job_mpi_end();
    job.is_begun = 0;
    job.rank = 0;
    job.size = 1;
}
