#include "room.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/clock.h"
#include "../memory_groups.h"
#include "../wake.h"
#include "session.h"

/* Of what is left one taker gets one part of so many, as others may follow. */
#define SHARE 8

static struct nvt_memory_groups groups;

void nvt_room_look(void)
{
    nvt_memory_groups_find(&groups);
}

int nvt_room_take(struct nvt_control *control, size_t bytes)
{
    uint64_t taken = atomic_fetch_add(&control->taken, bytes) + bytes;
    if (!groups.count ||
        (taken <= groups.limit / 4 && nvt_memory_groups_left(&groups) / SHARE >= bytes))
        return 0;
    nvt_room_give(control, bytes);
    atomic_store(&control->scarce, groups.limit);
    errno = ENOSPC;
    return -1;
}

void nvt_room_give(struct nvt_control *control, size_t bytes)
{
    atomic_fetch_sub(&control->taken, bytes);
}

static struct nvt_ring *map_ring(const char *path, size_t size, size_t first)
{
    int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor < 0)
        return NULL;
    struct nvt_ring *ring = MAP_FAILED;
    /* Pages are taken now, so that a full file system is an error here and no SIGBUS later. */
    int cause =
        ftruncate(descriptor, (off_t)size) ? errno : posix_fallocate(descriptor, 0, (off_t)first);
    if (!cause) {
        ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        cause = errno;
    }
    close(descriptor);
    if (ring == MAP_FAILED) {
        unlink(path);
        errno = cause;
        return NULL;
    }
    return ring;
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

int nvt_room_in_folder(size_t bytes, uint64_t count)
{
    struct statvfs place;
    return statvfs(nvt_session.folder, &place) || !place.f_blocks ||
           (uint64_t)place.f_bavail * place.f_frsize / count >= bytes;
}

/* Of how many rings there is room where nobody needs to take turns. */
#define PLENTY 64

static struct nvt_ring *map_in_turn(const char *path, size_t size, size_t first,
                                    struct nvt_control *control, int waits)
{
    if (!waits || nvt_room_in_folder(first, PLENTY))
        return map_ring(path, size, first);
    struct nvt_ring *ring = NULL;
    uint32_t mine = take_turn(control);
    errno = ENOSPC;
    if (nvt_room_in_folder(first, 1))
        ring = map_ring(path, size, first);
    atomic_compare_exchange_strong(&control->turn, &mine, 0);
    return ring;
}

/* Others may be faster at what room there is. */
#define TRIES 8

struct nvt_ring *nvt_room_map(const char *path, size_t size, size_t first,
                              struct nvt_control *control, int waits)
{
    struct nvt_ring *ring = NULL;
    for (int i = 0; i < (waits ? TRIES : 1) && !ring && (!i || errno == ENOSPC); i++) {
        if (i)
            ask_for_room(control);
        if (nvt_room_take(control, first))
            continue;
        ring = map_in_turn(path, size, first, control, waits);
        if (!ring)
            nvt_room_give(control, first);
    }
    if (!ring && errno == ENOSPC)
        atomic_store(&control->asked, 1);
    return ring;
}

int nvt_room_grow(const char *path, size_t from, size_t to, struct nvt_control *control)
{
    if (!nvt_room_in_folder(to - from, SHARE) || nvt_room_take(control, to - from))
        return -1;
    int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    int cause =
        descriptor < 0 ? errno : posix_fallocate(descriptor, (off_t)from, (off_t)(to - from));
    if (descriptor >= 0)
        close(descriptor);
    if (!cause)
        return 0;
    nvt_room_give(control, to - from);
    return -1;
}
