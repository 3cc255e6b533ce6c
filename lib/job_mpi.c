#include "job_mpi.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#include "count_of.h"

/* Bytes of a message, as MPI counts them in an int. */
#define PART ((size_t)1 << 30)
#define TAG  1

/* A handle is an address in one interface and a number in the other; both are passed in a whole register. */
typedef uintptr_t handle;

/* The functions that are called: name, arguments; all return an int. */
#define FUNCTIONS(ONE)                                                                             \
    ONE(MPI_Init, (int *argc, char ***argv))                                                       \
    ONE(MPI_Finalize, (void))                                                                      \
    ONE(MPI_Comm_set_errhandler, (handle world, handle errors))                                    \
    ONE(MPI_Comm_rank, (handle world, int *rank))                                                  \
    ONE(MPI_Comm_size, (handle world, int *size))                                                  \
    ONE(MPI_Send, (const void *data, int count, handle type, int to, int tag, handle world))       \
    ONE(MPI_Recv,                                                                                  \
        (void *data, int count, handle type, int from, int tag, handle world, void *status))

#define DECLARE(name, arguments) int(*name) arguments;
#define LOAD(name, arguments)    *(void **)&mpi.name = find(#name, &is_missing);

static struct {
    void *library;
    FUNCTIONS(DECLARE)
    handle world, byte, returns; /* MPI_COMM_WORLD, MPI_BYTE, MPI_ERRORS_RETURN */
    void *ignored;               /* MPI_STATUS_IGNORE */
} mpi;

/* --- the library --- */

static void *load_from(const char *folder, const char *name)
{
    static const char *const places[] = {"../lib", "../lib64", "../lib/release"};
    char path[4200];
    void *library = NULL;
    for (size_t i = 0; i < NVT_COUNT_OF(places) && !library && *folder; i++) {
        snprintf(path, sizeof(path), "%s/%s/%s", folder, places[i], name);
        /* Open MPI's own modules look for its symbols among those of all libraries. */
        library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    }
    return library ? library : dlopen(name, RTLD_NOW | RTLD_GLOBAL);
}

static void *load(enum nvt_job_abi abi, const char *folder, struct nvt_error *err)
{
    const char *name = abi == NVT_JOB_OPEN_MPI ? "libmpi.so.40" : "libmpi.so.12";
    void *library = load_from(folder, name);
    if (!library && abi == NVT_JOB_MPICH)
        library = load_from("", "libmpich.so.12"); /* as Debian calls it */
    if (!library)
        (void)nvt_fail(err, "%s of %s cannot be loaded", name,
                       abi == NVT_JOB_OPEN_MPI ? "Open MPI" : "MPICH or Intel MPI");
    return library;
}

/* NULL with *is_missing set: the library has no such symbol. */
static void *find(const char *name, int *is_missing)
{
    void *found = dlsym(mpi.library, name);
    *is_missing |= !found;
    return found;
}

/* 0, or -1: the library lacks something. */
static int find_all(enum nvt_job_abi abi)
{
    int is_missing = 0;
    FUNCTIONS(LOAD)
    if (abi == NVT_JOB_OPEN_MPI) {
        mpi.world = (handle)find("ompi_mpi_comm_world", &is_missing);
        mpi.byte = (handle)find("ompi_mpi_byte", &is_missing);
        mpi.returns = (handle)find("ompi_mpi_errors_return", &is_missing);
        mpi.ignored = NULL;
    } else {
        mpi.world = 0x44000000;
        mpi.byte = 0x4c00010d;
        mpi.returns = 0x54000001;
        mpi.ignored = (void *)(uintptr_t)1;
    }
    return is_missing ? -1 : 0;
}

int nvt_job_mpi_begin(enum nvt_job_abi abi, const char *folder, int *rank, int *size,
                      struct nvt_error *err)
{
    mpi.library = load(abi, folder, err);
    if (!mpi.library)
        return -1;
    if (find_all(abi))
        return nvt_fail(err, "the library of MPI lacks functions");
    if (mpi.MPI_Init(NULL, NULL) || mpi.MPI_Comm_set_errhandler(mpi.world, mpi.returns) ||
        mpi.MPI_Comm_rank(mpi.world, rank) || mpi.MPI_Comm_size(mpi.world, size))
        return nvt_fail(err, "MPI cannot be begun");
    return 0;
}

/* --- messages --- */

static int send_part(int to, const void *data, size_t size)
{
    return mpi.MPI_Send(data, (int)size, mpi.byte, to, TAG, mpi.world);
}

static int receive_part(int from, void *data, size_t size)
{
    return mpi.MPI_Recv(data, (int)size, mpi.byte, from, TAG, mpi.world, mpi.ignored);
}

static size_t part_of(size_t left)
{
    return left < PART ? left : PART;
}

int nvt_job_mpi_send(int to, const void *data, size_t size)
{
    const uint64_t whole = size;
    int failed = send_part(to, &whole, sizeof(whole));
    for (size_t at = 0; at < size && !failed; at += PART)
        failed = send_part(to, (const char *)data + at, part_of(size - at));
    return failed;
}

int nvt_job_mpi_expect(int from, size_t *size)
{
    uint64_t whole = 0;
    const int failed = receive_part(from, &whole, sizeof(whole));
    *size = whole;
    return failed;
}

int nvt_job_mpi_receive(int from, void *data, size_t size)
{
    int failed = 0;
    for (size_t at = 0; at < size && !failed; at += PART)
        failed = receive_part(from, (char *)data + at, part_of(size - at));
    return failed;
}

void nvt_job_mpi_end(void)
{
    (void)mpi.MPI_Finalize();
}
