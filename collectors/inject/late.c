#include "late.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "session.h"

struct kept {
    struct kept *_Atomic next;
    int pid;
    struct nvt_late_definition definition; /* its data lie behind it */
};

static struct kept *_Atomic first, *_Atomic last;
static _Atomic size_t used;

void nvt_late_keep(const struct nvt_late_definition *definition)
{
    const size_t size = sizeof(struct kept) + definition->size;
    if (atomic_fetch_add(&used, size) + size > NVT_LATE_MOST) {
        atomic_fetch_sub(&used, size);
        return;
    }
    struct kept *kept = nvt_session_memory(size);
    if (!kept)
        return;
    kept->pid = (int)syscall(SYS_getpid);
    kept->definition = *definition;
    kept->definition.data = kept + 1;
    if (definition->size)
        memcpy(kept + 1, definition->data, definition->size);
    /* Who goes along the list ends where the next one is not there yet. */
    struct kept *before = atomic_exchange(&last, kept);
    atomic_store(before ? &before->next : &first, kept);
}

void nvt_late_tell(void (*define)(const struct nvt_late_definition *definition))
{
    const int pid = (int)syscall(SYS_getpid);
    for (struct kept *kept = atomic_load(&first); kept; kept = atomic_load(&kept->next))
        if (kept->definition.kind != NVT_DEFINE_THREAD || kept->pid == pid)
            define(&kept->definition);
}
