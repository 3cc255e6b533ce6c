#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../lib/clock.h"
#include "../../lib/pages.h"
#include "../wake.h"
#include "calibrate.h"

struct nvt_inject_session nvt_session;

/* While it joins, the process's number stands above JOINING: a child that is forked meanwhile has nobody who would come to
 * an end with that, and begins anew. */
enum { NOT_JOINED, JOINED, REFUSED, JOINING };
static _Atomic uint32_t joined = NOT_JOINED;

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
    if (!fstat(descriptor, &status) && status.st_size >= (off_t)sizeof(*control) &&
        status.st_uid == geteuid() && !(status.st_mode & 077))
        control = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (control == MAP_FAILED)
        return NULL;
    if (control->magic != NVT_CONTROL_MAGIC || control->version != NVT_SHARED_VERSION ||
        control->clock > NVT_CLOCK_CNTVCT) {
        munmap(control, sizeof(*control));
        return NULL;
    }
    return control;
}

static int join(void)
{
    const char *folder = getenv(NVT_SESSION_ENV);
    size_t length = folder ? strlen(folder) : 0;
    if (!length || length >= sizeof(nvt_session.folder))
        return 0;
    memcpy(nvt_session.folder, folder, length + 1);
    struct nvt_control *control = map_control(folder);
    if (!control)
        return 0;
    nvt_session.image = nvt_ticks(control->clock);
    nvt_session.control = control;
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

/* A file that grows past RLIMIT_FSIZE would bring the program SIGXFSZ. */
static int size_is_allowed(size_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY ||
           limit.rlim_cur >= size;
}

static struct nvt_ring *map_ring(const char *path, size_t size)
{
    int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor < 0)
        return NULL;
    struct nvt_ring *ring = MAP_FAILED;
    /* Pages are taken now, so that a full file system is an error here and no SIGBUS later. */
    int cause = posix_fallocate(descriptor, 0, (off_t)size);
    if (!cause)
        ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
    close(descriptor);
    if (ring == MAP_FAILED) {
        unlink(path);
        errno = cause;
        return NULL;
    }
    return ring;
}

/* Whether our process numbers say nothing to the recorder. */
static uint32_t is_foreign(const struct nvt_control *control)
{
    struct stat status;
    return stat(NVT_PID_SPACE, &status) || status.st_ino != control->pid_space;
}

/* Whether the recorder has died: nobody holds its lock. Then nobody takes rings away, and none is made.
 */
static int is_abandoned(struct nvt_control *control)
{
    char path[600];
    snprintf(path, sizeof(path), "%s/%s", nvt_session.folder, NVT_CONTROL_NAME);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0)
        return 0;
    int dead = !flock(descriptor, LOCK_SH | LOCK_NB);
    close(descriptor);
    if (dead)
        atomic_store(&control->ended, 1);
    return dead;
}

/* Have the recorder take away the rings of what has ended, and wait until it has, for ten milliseconds at most. A
 * raw system call, as nanosleep() is a cancellation point. */
static void ask_for_room(struct nvt_control *control)
{
    struct timespec moment = {0, 100000};
    uint32_t before = atomic_load(&control->cleared);
    atomic_store(&control->asked, 1);
    for (int i = 0; i < 100 && atomic_load(&control->cleared) == before; i++) {
        nvt_control_wake(control);
        syscall(SYS_nanosleep, &moment, NULL);
    }
}

/* Who begins to allocate where too little is left takes all of that for a moment, and others would find nothing, of
 * however little: so where room is scarce one thread allocates at a time, of all processes. Who is killed in its turn
 * gives none back: after TURN_NS of the same one the next goes on. 0: without a turn. */
#define TURN_NS INT64_C(50000000)

static uint32_t take_turn(struct nvt_control *control)
{
    struct timespec moment = {0, 100000};
    uint32_t mine = atomic_fetch_add(&control->turns, 1) * 2 + 1; /* never 0 */
    uint32_t holder = 0, seen = 0;
    int64_t since = nvt_monotonic_ns();
    while (!atomic_compare_exchange_strong(&control->turn, &holder, mine)) {
        int64_t now = nvt_monotonic_ns();
        if (holder != seen) {
            seen = holder;
            since = now;
        }
        if (now - since < TURN_NS) {
            syscall(SYS_nanosleep, &moment, NULL);
            holder = 0;
        }
    }
    return mine;
}

/* Whether there is room for `count` rings of `size` bytes; yes where that cannot be told, or has no limit. */
static int has_room(size_t size, uint64_t count)
{
    struct statvfs place;
    return statvfs(nvt_session.folder, &place) || !place.f_blocks ||
           (uint64_t)place.f_bavail * place.f_frsize / count >= size;
}

/* Of how many rings there is room where nobody needs to take turns. */
#define PLENTY 64

static struct nvt_ring *map_in_turn(const char *path, size_t size, struct nvt_control *control,
                                    int waits)
{
    if (!waits || has_room(size, PLENTY))
        return map_ring(path, size);
    struct nvt_ring *ring = NULL;
    uint32_t mine = take_turn(control);
    errno = ENOSPC;
    if (has_room(size, 1))
        ring = map_ring(path, size);
    atomic_compare_exchange_strong(&control->turn, &mine, 0);
    return ring;
}

/* Others may be faster at what room there is. */
#define TRIES 8

static struct nvt_ring *find_room(const char *path, size_t size, struct nvt_control *control,
                                  int waits, int tries)
{
    struct nvt_ring *ring = map_in_turn(path, size, control, waits);
    for (int i = 1; i < tries && !ring && errno == ENOSPC; i++) {
        ask_for_room(control);
        ring = map_in_turn(path, size, control, waits);
    }
    if (!ring && errno == ENOSPC)
        atomic_store(&control->asked, 1);
    return ring;
}

static void name_ring(char *out, size_t size, const char *prefix, int tid, uint32_t serial)
{
    snprintf(out, size, "%s/%s%d.%d.%u.%llx", nvt_session.folder, prefix, getpid(), tid, serial,
             (unsigned long long)nvt_session.image);
}

/* Where there is no room for a ring as it was asked for, a smaller one will do: of an eighth of what is left, as others may
 * follow, and of 64 KiB at least. Then one of less than the last, 0: there is none. */
#define LEAST_SLOTS 4096

static uint32_t smaller(uint32_t slots)
{
    struct statvfs place;
    uint64_t left = statvfs(nvt_session.folder, &place)
                        ? 0
                        : (uint64_t)place.f_bavail * place.f_frsize / 8 / sizeof(struct nvt_slot);
    if (slots <= LEAST_SLOTS)
        return 0;
    do
        slots /= 2;
    while (slots > LEAST_SLOTS && slots > left);
    return slots;
}

struct nvt_ring *nvt_session_ring(uint32_t *serial, int waits)
{
    char fresh[600], path[600];
    struct nvt_control *control = nvt_session.control;
    uint32_t slots = control->slots;
    size_t size = 0;
    if (atomic_load(&control->ended) || is_abandoned(control))
        return NULL;
    int pid = getpid(), tid = (int)syscall(SYS_gettid);
    *serial = atomic_fetch_add(&nvt_session.serial, 1) + 1;
    name_ring(fresh, sizeof(fresh), NVT_FRESH_PREFIX, tid, *serial);
    name_ring(path, sizeof(path), NVT_RING_PREFIX, tid, *serial);
    struct nvt_ring *ring = NULL;
    for (; !ring && slots; slots = ring ? slots : smaller(slots)) {
        size = NVT_RING_HEADER + (size_t)slots * sizeof(struct nvt_slot);
        if (!size_is_allowed(size))
            continue;
        int tries = waits && (slots == control->slots || slots <= LEAST_SLOTS) ? TRIES : 1;
        ring = find_room(fresh, size, control, waits, tries);
        if (!ring && errno != ENOSPC)
            return NULL;
    }
    if (!ring)
        return NULL;
    ring->version = NVT_SHARED_VERSION;
    ring->slots = slots;
    ring->pid = pid;
    ring->parent = getppid();
    ring->foreign = is_foreign(control);
    ring->tid = tid;
    ring->image = nvt_session.image;
    ring->costs = nvt_session.costs;
    prctl(PR_GET_NAME, ring->thread_name);
    read_command(ring->command, sizeof(ring->command));
    atomic_store_explicit(&ring->magic, NVT_RING_MAGIC, memory_order_release);
    if (rename(fresh, path)) {
        unlink(fresh);
        munmap(ring, size);
        return NULL;
    }
    return ring;
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
