#include "turns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAGIC        0x736e7275542e766eu /* "nv.Turns" */
#define MAKER        NVT_TURNS_MOST      /* the byte that the maker of the file has locked */
#define LOOK_AFTER_S 1                   /* how long nothing may happen before somebody looks why */

/* What lies in the file. */
struct page {
    uint64_t magic;
    uint32_t count;
    /* Whose turn it is in the low byte; from bit 8 on, a bit for each who is gone. It is read with acquire
     * and written with release: what the one before us did is done when it is our turn. */
    _Atomic uint32_t word;
    _Atomic uint32_t joined; /* a bit for each who has come; set when its lock is held */
};

struct nvt_turns {
    struct page *page;
    char *path; /* of the maker, else NULL */
    int descriptor;
    uint32_t who, count;
};

static uint32_t holder(uint32_t word)
{
    return word & 0xff;
}

static uint32_t gone_bit(uint32_t who)
{
    return 1u << (8 + who);
}

/* The word when `who` hands its turn on; it stays where it is when all others are gone. */
static uint32_t behind(uint32_t word, uint32_t who, uint32_t count)
{
    for (uint32_t i = 1; i <= count; i++) {
        uint32_t next = (who + i) % count;
        if (!(word & gone_bit(next)))
            return (word & ~0xffu) | next;
    }
    return word;
}

/* Only the one whose turn it is wakes up: another one would take time from it. */
static void wake(struct page *page, uint32_t who)
{
    syscall(SYS_futex, &page->word, FUTEX_WAKE_BITSET, INT32_MAX, NULL, NULL, 1u << who);
}

/* Until the word is no longer `seen`, a second at most. */
static void wait_for_change(struct page *page, uint32_t seen, uint32_t who)
{
    struct timespec limit;
    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec += LOOK_AFTER_S;
    syscall(SYS_futex, &page->word, FUTEX_WAIT_BITSET, seen, &limit, NULL, 1u << who);
}

static void leave(struct page *page, uint32_t count, uint32_t who)
{
    uint32_t word = atomic_load_explicit(&page->word, memory_order_acquire), after;
    do {
        after = word | gone_bit(who);
        if (holder(word) == who)
            after = behind(after, who, count);
    } while (!atomic_compare_exchange_weak_explicit(&page->word, &word, after, memory_order_acq_rel,
                                                    memory_order_acquire));
    if (holder(after) != holder(word))
        wake(page, holder(after));
}

/* --- the locks that say who lives ------------------------------------------------------------- */

/* Our lock on a byte of the file. Not inherited by children, unlike a descriptor. */
static int lock(int descriptor, off_t byte)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    return fcntl(descriptor, F_SETLK, &lock);
}

static int is_locked(int descriptor, off_t byte)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    return fcntl(descriptor, F_GETLK, &lock) || lock.l_type != F_UNLCK;
}

/* Nothing has happened for a while: is the one whose turn it is dead? Whoever has not arrived yet is still
 * expected as long as the one lives that starts us all. */
static void look_after(struct nvt_turns *turns, uint32_t who)
{
    struct page *page = turns->page;
    int has_come = atomic_load_explicit(&page->joined, memory_order_acquire) >> who & 1;
    if (!is_locked(turns->descriptor, has_come ? (off_t)who : MAKER))
        leave(page, turns->count, who);
}

/* --- the file --------------------------------------------------------------------------------- */

static struct nvt_turns *new_turns(int descriptor, const char *path)
{
    struct nvt_turns *turns = (struct nvt_turns *)calloc(1, sizeof(*turns));
    if (!turns)
        return NULL;
    turns->descriptor = descriptor;
    turns->path = path ? strdup(path) : NULL;
    turns->page = (struct page *)mmap(NULL, sizeof(*turns->page), PROT_READ | PROT_WRITE,
                                      MAP_SHARED, descriptor, 0);
    int is_mapped = turns->page != MAP_FAILED;
    if (is_mapped && (!path || turns->path))
        return turns;
    if (is_mapped)
        munmap(turns->page, sizeof(*turns->page));
    free(turns->path);
    free(turns);
    return NULL;
}

int nvt_turns_create(const char *path, int64_t count, struct nvt_turns **turns,
                     struct nvt_error *err)
{
    if (count < 1 || count > NVT_TURNS_MOST)
        return nvt_fail(err, "at most %d processes can take turns", NVT_TURNS_MOST);
    int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return nvt_fail_at(err, path, -1, "cannot be made: %s", strerror(errno));
    *turns = NULL;
    if (!ftruncate(descriptor, sizeof(struct page)) && !lock(descriptor, MAKER))
        *turns = new_turns(descriptor, path);
    if (!*turns) {
        nvt_fail_at(err, path, -1, "cannot be shared: %s", strerror(errno));
        close(descriptor);
        unlink(path);
        return -1;
    }
    (*turns)->count = (*turns)->page->count = (uint32_t)count;
    (*turns)->page->magic = MAGIC;
    return 0;
}

void nvt_turns_leave(struct nvt_turns *turns, int64_t who)
{
    if (who >= 0 && who < turns->count)
        leave(turns->page, turns->count, (uint32_t)who);
}

/* Whether the file is what nvt_turns_create makes, and the place is one of it. */
static int check(struct nvt_turns *turns, const char *path, int64_t who, struct nvt_error *err)
{
    const struct page *page = turns->page;
    if (page->magic != MAGIC || page->count < 1 || page->count > NVT_TURNS_MOST)
        return nvt_fail_at(err, path, -1, "is not a file of turns");
    if (who < 0 || who >= page->count)
        return nvt_fail_at(err, path, -1, "has no place %lld", (long long)who);
    turns->count = page->count;
    turns->who = (uint32_t)who;
    if (lock(turns->descriptor, (off_t)who))
        return nvt_fail_at(err, path, -1, "place %lld is taken: %s", (long long)who,
                           strerror(errno));
    return 0;
}

static void release(struct nvt_turns *turns)
{
    munmap(turns->page, sizeof(*turns->page));
    close(turns->descriptor);
    free(turns->path);
    free(turns);
}

int nvt_turns_join(const char *path, int64_t who, struct nvt_turns **turns, struct nvt_error *err)
{
    struct stat status;
    int descriptor = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    *turns = NULL;
    if (descriptor < 0)
        return nvt_fail_at(err, path, -1, "cannot be opened: %s", strerror(errno));
    /* What lies behind a file's end cannot be touched. */
    if (fstat(descriptor, &status) || status.st_size != sizeof(struct page)) {
        close(descriptor);
        return nvt_fail_at(err, path, -1, "is not a file of turns");
    }
    struct nvt_turns *made = new_turns(descriptor, NULL);
    if (!made) {
        close(descriptor);
        return nvt_fail_at(err, path, -1, "cannot be shared: %s", strerror(errno));
    }
    if (check(made, path, who, err)) {
        release(made);
        return -1;
    }
    atomic_fetch_or_explicit(&made->page->joined, 1u << made->who, memory_order_release);
    *turns = made;
    return 0;
}

int nvt_turns_take(struct nvt_turns *turns, struct nvt_error *err)
{
    struct page *page = turns->page;
    for (;;) {
        uint32_t word = atomic_load_explicit(&page->word, memory_order_acquire);
        if (word & gone_bit(turns->who))
            return nvt_fail(err,
                            "this process was taken for dead by those that it takes turns with");
        if (holder(word) == turns->who)
            return 0;
        if (holder(word) >= turns->count)
            return nvt_fail(err, "the file of turns is damaged");
        wait_for_change(page, word, turns->who);
        if (atomic_load_explicit(&page->word, memory_order_acquire) == word)
            look_after(turns, holder(word));
    }
}

void nvt_turns_pass(struct nvt_turns *turns)
{
    struct page *page = turns->page;
    uint32_t word = atomic_load_explicit(&page->word, memory_order_acquire), after;
    do {
        if (holder(word) != turns->who)
            return;
        after = behind(word, turns->who, turns->count);
    } while (!atomic_compare_exchange_weak_explicit(&page->word, &word, after, memory_order_acq_rel,
                                                    memory_order_acquire));
    if (holder(after) != turns->who)
        wake(page, holder(after));
}

void nvt_turns_close(struct nvt_turns *turns)
{
    if (!turns)
        return;
    if (turns->path)
        unlink(turns->path);
    else
        leave(turns->page, turns->count, turns->who);
    release(turns);
}
