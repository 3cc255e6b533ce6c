#include "job.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "count_of.h"
#include "program.h"
#include "version.h"

static struct {
    const struct nvt_job_library *library; /* NULL: this process is by itself */
    int rank, size;
} job = {.size = 1};

/* How many processes the launcher started; as several kinds of MPI say it. */
static long announced_size(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE",
                                        "SLURM_NTASKS"};
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++) {
        const char *text = getenv(names[i]);
        if (text && *text)
            return strtol(text, NULL, 10);
    }
    return 1;
}

static int is_launched(void)
{
    static const char *const launchers[] = {
        "mpirun", "mpiexec",       "orterun", "orted",          "prte",       "prterun",
        "prted",  "mpiexec.hydra", "srun",    "hydra_pmi_prox", "slurmstepd", "hydra_bstrap_p"};
    char path[64], name[32] = "";
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)getppid());
    FILE *in = fopen(path, "re");
    if (!in)
        return 0;
    if (!fgets(name, sizeof(name), in))
        *name = 0;
    fclose(in);
    name[strcspn(name, "\n")] = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(launchers); i++)
        if (!strncmp(name, launchers[i], 15))
            return 1;
    return 0;
}

static const struct nvt_job_library *load(void)
{
    char path[4096];
    if (nvt_find_library("libnvtally-mpi-job.so", path, sizeof(path), NULL))
        return NULL;
    /* Open MPI's own modules look for its symbols among those of all libraries. */
    void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    /* cppcheck-suppress resourceLeak ; in use until the process ends */
    return handle ? dlsym(handle, "nvt_job_library") : NULL;
}

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

void nvt_job_begin(int argc, char **argv)
{
    struct nvt_buffer own = {0};
    if (announced_size() < 2 || !is_launched())
        return;
    job.library = load();
    if (!job.library || job.library->begin(&job.rank, &job.size)) {
        job.library = NULL;
        job.rank = 0;
        job.size = 1;
        return;
    }
    const int failed = write_identity(&own, argc, argv);
    if (failed || job.size < 2 || !(job.rank ? compare_own(&own) : compare_all(&own)))
        nvt_job_end();
    nvt_buffer_free(&own);
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
    return job.library->send(to, data, size) ? nvt_fail(err, "MPI: process %d was not reached", to)
                                             : 0;
}

int nvt_job_receive(int from, struct nvt_buffer *buffer, struct nvt_error *err)
{
    size_t size;
    if (job.library->expect(from, &size))
        return nvt_fail(err, "MPI: nothing came from process %d", from);
    if (nvt_buffer_reserve(buffer, size))
        return nvt_fail(err, "out of memory");
    if (job.library->receive(from, buffer->data + buffer->size, size))
        return nvt_fail(err, "MPI: nothing came from process %d", from);
    buffer->size += size;
    return 0;
}

void nvt_job_end(void)
{
    if (job.library)
        job.library->end();
    job.library = NULL;
    job.rank = 0;
    job.size = 1;
}
