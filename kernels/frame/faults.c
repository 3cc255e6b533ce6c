#include "faults.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../lib/clock.h"
#include "../../lib/count_of.h"

#define LARGE_PAGE ((size_t)2 << 20)

struct payload {
    uint64_t faults, bytes, cost_ns;
};

/* 4 KiB, on many kernels for Arm 64 KiB. */
static size_t small_page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static struct nvt_fault_count count_now(const struct nvt_faults *faults)
{
    struct nvt_fault_count now = {0, 0};
    struct rusage use;
    char text[128];
    if (!getrusage(RUSAGE_SELF, &use))
        now.faults = (uint64_t)use.ru_minflt + (uint64_t)use.ru_majflt;
    ssize_t size = faults->statm < 0 ? -1 : pread(faults->statm, text, sizeof(text) - 1, 0);
    if (size > 0) {
        text[size] = 0;
        const char *resident = strchr(text, ' '); /* the second number */
        if (resident)
            now.resident = strtoull(resident, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
    }
    return now;
}

double nvt_faults_cost(const struct nvt_faults *faults, uint64_t count, uint64_t bytes)
{
    /* small + large = count, small·page + large·2 MiB = bytes. */
    size_t page = small_page();
    double small_bytes = (double)count * (double)page;
    double large = ((double)bytes - small_bytes) / (double)(LARGE_PAGE - page);
    large = large < 0 ? 0 : large > (double)count ? (double)count : large;
    return ((double)count - large) * faults->small_ns + large * faults->large_ns;
}

static void tell(struct nvt_faults *faults)
{
    struct nvt_fault_count now = count_now(faults), before = faults->before;
    struct payload since = {now.faults - before.faults, 0, 0};
    faults->before = now;
    if (!since.faults)
        return;
    since.bytes = now.resident > before.resident ? now.resident - before.resident : 0;
    since.cost_ns = (uint64_t)nvt_faults_cost(faults, since.faults, since.bytes);
    faults->cost_ns += (double)since.cost_ns;
    nvt_nvtx_mark(faults->nvtx, faults->name, faults->schema, &since, sizeof(since));
}

/* A range of the domain is about to open or to close. */
static void look_at_faults(void *owner)
{
    struct nvt_faults *faults = (struct nvt_faults *)owner;
    if (!pthread_equal(faults->thread, pthread_self()))
        return;
    faults->boundaries++;
    if (!faults->is_calm)
        tell(faults);
}

void nvt_faults_iteration_begin(struct nvt_faults *faults, struct nvt_nvtx *nvtx)
{
    if (nvtx->owner != faults)
        return;
    faults->boundaries = 0;
    faults->cost_ns = 0;
    if (faults->is_calm)
        faults->before = count_now(faults);
}

void nvt_faults_iteration_end(struct nvt_faults *faults, struct nvt_nvtx *nvtx)
{
    if (nvtx->owner != faults)
        return;
    tell(faults);
    faults->is_calm =
        !faults->boundaries || faults->cost_ns <= (double)faults->boundaries * faults->look_ns;
}

/* What a look takes, the least of some. */
static double measure_look(const struct nvt_faults *faults)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < 20; i++) {
        int64_t start = nvt_monotonic_ns();
        struct nvt_fault_count now = count_now(faults);
        int64_t ns = nvt_monotonic_ns() - start;
        least = ns < least && now.faults ? ns : least;
    }
    return least < INT64_MAX ? (double)least : 0;
}

/* What the first touch of a page takes, in the mean of 4 MiB; 0 when there is no memory. */
static double measure(size_t page, int advice)
{
    const size_t size = 2 * LARGE_PAGE, room = size + LARGE_PAGE;
    char *memory =
        (char *)mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 0;
    volatile char *from =
        memory + (LARGE_PAGE - (size_t)((uintptr_t)memory % LARGE_PAGE)) % LARGE_PAGE;
    madvise((void *)(uintptr_t)from, size, advice);
    int64_t start = nvt_monotonic_ns();
    size_t pages = size / page;
    for (size_t i = 0; i < pages; i++)
        from[i * page] = 1;
    double ns = (double)(nvt_monotonic_ns() - start) / (double)pages;
    munmap(memory, room);
    return ns;
}

void nvt_faults_watch(struct nvt_faults *faults, struct nvt_nvtx *nvtx)
{
    static const nvtxPayloadSchemaEntry_t entries[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "faults", NULL, 0, offsetof(struct payload, faults),
         NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "bytes", NULL, 0, offsetof(struct payload, bytes), NULL,
         NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "cost_ns", NULL, 0, offsetof(struct payload, cost_ns),
         NULL, NULL},
    };
    if (!nvtx->domain)
        return;
    faults->nvtx = nvtx;
    faults->name = nvt_nvtx_name(nvtx, "page faults");
    faults->schema = nvt_nvtx_schema(nvtx->domain, "page faults", entries, NVT_COUNT_OF(entries),
                                     sizeof(struct payload));
    faults->thread = pthread_self();
    faults->small_ns = measure(small_page(), MADV_NOHUGEPAGE);
    faults->large_ns = measure(LARGE_PAGE, MADV_HUGEPAGE);
    faults->statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    faults->look_ns = measure_look(faults);
    faults->before = count_now(faults);
    nvtx->boundary = look_at_faults;
    nvtx->owner = faults;
}

void nvt_faults_close(struct nvt_faults *faults, struct nvt_nvtx *nvtx)
{
    if (nvtx->owner != faults || !faults->nvtx)
        return;
    nvtx->boundary = NULL;
    nvtx->owner = NULL;
    if (faults->statm >= 0)
        close(faults->statm);
}
