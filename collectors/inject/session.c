#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../lib/clock.h"
#include "../../lib/pages.h"
#include "../refusal.h"
#include "../standing.h"
#include "calibrate.h"
#include "counts.h"
#include "dormant.h"
#include "heaps.h"
#include "spending.h"
#include "steps.h"
#include "room.h"

struct nvt_inject_session nvt_session;
int nvt_dormant_watches;

/* While it joins, the process's number stands above JOINING: a child that is forked meanwhile has nobody who would come to
 * an end with that, and begins anew. */
enum { NOT_JOINED, JOINED, REFUSED, JOINING };
static _Atomic uint32_t joined = NOT_JOINED;

/* NULL with errno. */
static struct nvt_control *map_control(const char *folder)
{
    char path[600];
    snprintf(path, sizeof(path), "%s/%s", folder, NVT_CONTROL_NAME);
    int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0)
        return NULL;
    struct stat status;
    struct nvt_control *control = MAP_FAILED;
    /* When the session is over, anybody may put a folder of its name there: only ours is joined. */
    int cause = EPERM;
    if (!fstat(descriptor, &status) && status.st_size >= (off_t)sizeof(*control) &&
        status.st_uid == geteuid() && !(status.st_mode & 077)) {
        control = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        cause = errno;
    }
    close(descriptor);
    errno = cause;
    if (control == MAP_FAILED)
        return NULL;
    if (control->magic != NVT_CONTROL_MAGIC || control->version != NVT_SHARED_VERSION ||
        control->clock > NVT_CLOCK_CNTVCT) {
        munmap(control, sizeof(*control));
        errno = EPROTO;
        return NULL;
    }
    return control;
}

/* Tell the recorder, if it lives, why its session is not joined, or a thread of a process that has joined it gets no buffer. */
static void refuse(const char *folder, int cause, int has_joined)
{
    struct sockaddr_un address;
    struct nvt_refusal refusal = {.pid = getpid(), .cause = cause, .has_joined = has_joined};
    socklen_t length = nvt_refusal_address(folder, &address);
    prctl(PR_GET_NAME, refusal.name);
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0)
        return;
    sendto(descriptor, &refusal, sizeof(refusal), MSG_NOSIGNAL, (struct sockaddr *)&address,
           length);
    close(descriptor);
}

static int join(void)
{
    const char *value = getenv(NVT_SESSION_ENV), *folder = nvt_session.folder;
    struct nvt_standing standing;
    if (!value || nvt_standing_parse(value, &standing))
        return 0;
    memcpy(nvt_session.folder, standing.folder, sizeof(nvt_session.folder));
    const int is_missing = standing.is_standing && nvt_standing_make(&standing, 0, 0);
    struct nvt_control *control = is_missing ? NULL : map_control(folder);
    if (!control) {
        refuse(folder, errno, 0);
        return 0;
    }
    nvt_session.image = nvt_ticks(control->clock);
    nvt_session.control = control;
    atomic_fetch_add(&control->joined, 1);
    nvt_dormant_watches = control->is_dormant != 0;
    nvt_steps_begin();
    nvt_heaps_begin();
    nvt_spending_begin();
    nvt_room_look();
    nvt_counts_are_asked = (control->trace & NVT_TRACE_COUNTERS) != 0;
    nvt_hardware_wish.usual = control->usual_counters;
    nvt_hardware_wish.chosen =
        control->chosen_counters < NVT_CHOSEN_MOST ? control->chosen_counters : NVT_CHOSEN_MOST;
    for (unsigned i = 0; i < nvt_hardware_wish.chosen; i++) {
        nvt_hardware_wish.events[i].type = control->chosen[i].type;
        nvt_hardware_wish.events[i].config = control->chosen[i].config;
    }
    if (control->trace & NVT_TRACE_NVTX)
        nvt_calibrate(&nvt_session.costs);
    return 1;
}

int nvt_session_join(void)
{
    int saved = errno, cancel;
    uint32_t mine = (uint32_t)syscall(SYS_getpid) << 2 | JOINING, now = atomic_load(&joined);
    /* open() and the like are cancellation points; NVTX's functions are none. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    while (now != JOINED && now != REFUSED) {
        if (now == mine)
            syscall(SYS_sched_yield);
        else if (atomic_compare_exchange_strong(&joined, &now, mine))
            atomic_store(&joined, join() ? JOINED : REFUSED);
        now = atomic_load(&joined);
    }
    pthread_setcancelstate(cancel, NULL);
    errno = saved;
    return now == JOINED;
}

int nvt_session_is_joined(void)
{
    return atomic_load_explicit(&joined, memory_order_acquire) == JOINED;
}

/* The process's arguments, joined by blanks. */
static void read_command(char *out, size_t size)
{
    int descriptor = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t length = descriptor < 0 ? 0 : read(descriptor, out, size - 1);
    if (descriptor >= 0)
        close(descriptor);
    if (length < 0)
        length = 0;
    while (length > 0 && !out[length - 1])
        length--;
    for (ssize_t i = 0; i < length; i++)
        if (!out[i])
            out[i] = ' ';
    out[length] = 0;
}

/* Whether our process numbers say nothing to the recorder. */
static uint32_t is_foreign(const struct nvt_control *control)
{
    struct stat status;
    return stat(NVT_PID_SPACE, &status) || status.st_ino != control->pid_space;
}

/* With the recorder's lock. */
static void end_without_recorder(struct nvt_control *control)
{
    if (!control->is_standing) {
        atomic_store(&control->ended, 1);
    } else if (atomic_exchange(&control->window, NVT_WINDOW_BEFORE) != NVT_WINDOW_BEFORE) {
        syscall(SYS_futex, &control->window, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    }
}

int nvt_session_is_abandoned(void)
{
    struct nvt_control *control = nvt_session.control;
    char path[600];
    snprintf(path, sizeof(path), "%s/%s", nvt_session.folder, NVT_CONTROL_NAME);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0)
        return 0;
    int dead = !flock(descriptor, LOCK_SH | LOCK_NB);
    if (dead)
        end_without_recorder(control);
    close(descriptor);
    return dead;
}

static void name_ring(char *out, size_t size, const char *prefix, int tid, uint32_t serial)
{
    snprintf(out, size, "%s/%s%d.%d.%u.%llx", nvt_session.folder, prefix, getpid(), tid, serial,
             (unsigned long long)nvt_session.image);
}

/* What a ring has memory for at first: most threads make few events. */
#define FIRST_SLOTS 1024

/* A file that grows past RLIMIT_FSIZE would bring the program SIGXFSZ. */
static uint32_t most_slots(const struct nvt_control *control)
{
    struct rlimit limit;
    uint32_t slots = control->slots;
    if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return slots;
    while (slots && nvt_ring_bytes(slots) > limit.rlim_cur)
        slots = slots > FIRST_SLOTS ? slots / 2 : 0;
    return slots;
}

static void describe(struct nvt_ring *ring, uint32_t slots, int pid, int tid)
{
    ring->version = NVT_SHARED_VERSION;
    ring->slots = slots;
    ring->pid = pid;
    ring->parent = getppid();
    ring->foreign = is_foreign(nvt_session.control);
    ring->tid = tid;
    ring->image = nvt_session.image;
    ring->costs = nvt_session.costs;
    prctl(PR_GET_NAME, ring->thread_name);
    read_command(ring->command, sizeof(ring->command));
    atomic_store_explicit(&ring->magic, NVT_RING_MAGIC, memory_order_release);
}

uint32_t nvt_session_serial(void)
{
    return atomic_fetch_add(&nvt_session.serial, 1) + 1;
}

/* The process has become another user's, who may make nothing in the folder: said once. */
static void refuse_ring(void)
{
    static _Atomic int is_said;
    if (!atomic_exchange(&is_said, 1))
        refuse(nvt_session.folder, EACCES, 1);
}

struct nvt_ring *nvt_session_ring(uint32_t *serial, uint64_t *most, int waits)
{
    char fresh[600], path[600];
    struct nvt_control *control = nvt_session.control;
    if (atomic_load(&control->ended) || nvt_session_is_abandoned())
        return NULL;
    int pid = getpid(), tid = (int)syscall(SYS_gettid);
    *serial = nvt_session_serial();
    name_ring(fresh, sizeof(fresh), NVT_FRESH_PREFIX, tid, *serial);
    name_ring(path, sizeof(path), NVT_RING_PREFIX, tid, *serial);
    uint32_t slots = most_slots(control), first = slots < FIRST_SLOTS ? slots : FIRST_SLOTS;
    struct nvt_ring *ring =
        slots ? nvt_room_map(fresh, nvt_ring_bytes(slots), nvt_ring_bytes(first), control, waits)
              : NULL;
    if (!ring && slots && errno == EACCES)
        refuse_ring();
    if (!ring)
        return NULL;
    describe(ring, first, pid, tid);
    *most = slots;
    if (rename(fresh, path)) {
        unlink(fresh);
        munmap(ring, nvt_ring_bytes(slots));
        return NULL;
    }
    return ring;
}

int nvt_session_grow(struct nvt_ring *ring, uint32_t serial, uint32_t slots)
{
    char path[600];
    name_ring(path, sizeof(path), NVT_RING_PREFIX, ring->tid, serial);
    if (nvt_room_grow(path, nvt_ring_bytes(ring->slots), nvt_ring_bytes(slots),
                      nvt_session.control))
        return -1;
    /* Before any record behind the old end. */
    atomic_store_explicit(&ring->slots, slots, memory_order_release);
    return 0;
}

/* Blocks of memory, the newest in front; `used` only grows. */
struct block {
    _Atomic size_t used;
    size_t size;
};

#define BLOCK_BYTES (256 * 1024)
static struct block *_Atomic newest;

static void *take(struct block *block, size_t size)
{
    if (!block)
        return NULL;
    size_t at = atomic_fetch_add(&block->used, size);
    return at + size <= block->size ? (char *)block + at : NULL;
}

void *nvt_session_memory(size_t size)
{
    size = (size + 15) & ~(size_t)15;
    for (;;) {
        struct block *block = atomic_load(&newest);
        void *memory = take(block, size);
        if (memory)
            return memory;
        size_t needed = size + 64 > BLOCK_BYTES ? size + 64 : BLOCK_BYTES;
        struct block *fresh = nvt_pages_new(needed);
        if (!fresh)
            return NULL;
        fresh->size = needed;
        atomic_store(&fresh->used, 64);
        /* Another thread was faster: use its block, give ours back. */
        if (!atomic_compare_exchange_strong(&newest, &block, fresh))
            munmap(fresh, needed);
    }
}
