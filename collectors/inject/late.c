#include "late.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "session.h"

struct kept {
    struct kept *_Atomic next;
    struct kept *before; /* with the same hash */
    int pid;
    struct nvt_late_definition definition; /* its data lie behind it */
};

static struct kept *_Atomic first, *_Atomic last;
static _Atomic size_t used;

#define HASHES 256u
static struct kept *_Atomic latest[HASHES]; /* of each hash of what is defined */

static struct kept *_Atomic *latest_of(const struct nvt_late_definition *definition)
{
    const uint64_t domain = definition->domain ? definition->domain->number : 0;
    const uint64_t mixed = (definition->id ^ domain << 32 ^ (uint64_t)definition->kind << 56) *
                           UINT64_C(0x9e3779b97f4a7c15);
    return &latest[mixed >> 56];
}

static int is_of_same(const struct kept *kept, const struct nvt_late_definition *definition,
                      int pid)
{
    const struct nvt_late_definition *known = &kept->definition;
    return known->kind == definition->kind && known->domain == definition->domain &&
           known->value == definition->value && known->id == definition->id &&
           (known->kind != NVT_DEFINE_THREAD || kept->pid == pid);
}

/* Whether the latest definition of the same thing says the same, as of a program that names it again and again. */
static int is_known(const struct nvt_late_definition *definition, int pid)
{
    const struct kept *kept = atomic_load(latest_of(definition));
    while (kept && !is_of_same(kept, definition, pid))
        kept = kept->before;
    return kept && kept->definition.size == definition->size &&
           (!definition->size || !memcmp(kept + 1, definition->data, definition->size));
}

void nvt_late_keep(const struct nvt_late_definition *definition)
{
    const int pid = (int)syscall(SYS_getpid);
    if (is_known(definition, pid))
        return;
    const size_t size = sizeof(struct kept) + definition->size;
    if (atomic_fetch_add(&used, size) + size > NVT_LATE_MOST) {
        atomic_fetch_sub(&used, size);
        return;
    }
    struct kept *kept = nvt_session_memory(size);
    if (!kept)
        return;
    kept->pid = pid;
    kept->definition = *definition;
    kept->definition.data = kept + 1;
    if (definition->size)
        memcpy(kept + 1, definition->data, definition->size);
    /* Who goes along the list ends where the next one is not there yet. */
    struct kept *before = atomic_exchange(&last, kept);
    atomic_store(before ? &before->next : &first, kept);
    kept->before = atomic_load(latest_of(definition));
    while (!atomic_compare_exchange_weak(latest_of(definition), &kept->before, kept)) {
    }
}

void nvt_late_tell(void (*define)(const struct nvt_late_definition *definition))
{
    const int pid = (int)syscall(SYS_getpid);
    for (struct kept *kept = atomic_load(&first); kept; kept = atomic_load(&kept->next))
        if (kept->definition.kind != NVT_DEFINE_THREAD || kept->pid == pid)
            define(&kept->definition);
}
