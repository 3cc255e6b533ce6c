#include "column.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* In front of the data, which keeps the alignment of a cache line. */
struct head {
    size_t bytes; /* with this head */
    int mapped;
    char padding[64 - sizeof(size_t) - sizeof(int)];
};

/* From here on, columns are mappings of their own, which grow without being copied. */
#define MAP_FROM (1u << 18)
/* From here on, in huge pages: fewer faults, and little wasted. */
#define HUGE_FROM (1u << 22)

#define HUGE_PAGE ((size_t)2 << 20)

/* Addresses for so many bytes, nothing behind them yet; those of large columns start where a huge
 * page can. MAP_FAILED when there are none. */
static void *addresses(size_t bytes)
{
    size_t spare = bytes >= HUGE_FROM ? HUGE_PAGE : 0;
    if (bytes > SIZE_MAX - spare)
        return MAP_FAILED;
    char *at = mmap(NULL, bytes + spare, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                    0);
    if (at == MAP_FAILED || !spare)
        return at;
    size_t before = -(uintptr_t)at & (HUGE_PAGE - 1);
    if (before)
        munmap(at, before);
    /* Mappings consist of whole pages. */
    size_t page = 4096, used = (bytes + page - 1) & ~(page - 1);
    if (spare - before > used - bytes)
        munmap(at + before + used, spare + bytes - before - used);
    return at + before;
}

static struct head *map_new(size_t bytes)
{
    void *at = addresses(bytes);
    if (at == MAP_FAILED)
        return NULL;
    struct head *head = mmap(at, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return head == MAP_FAILED ? NULL : head;
}

static struct head *grow_mapped(struct head *old, size_t bytes)
{
    void *at = addresses(bytes);
    if (at == MAP_FAILED)
        return NULL;
    struct head *head = mremap(old, old->bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at);
    if (head == MAP_FAILED) {
        munmap(at, bytes);
        return NULL;
    }
    return head;
}

static struct head *grow_small(struct head *old, size_t bytes)
{
    struct head *head = bytes < MAP_FROM ? calloc(1, bytes) : map_new(bytes);
    if (!head)
        return NULL;
    if (old)
        memcpy(head, old, old->bytes);
    free(old);
    head->mapped = bytes >= MAP_FROM;
    return head;
}

void *nvt_column_grow(void *column, size_t bytes)
{
    struct head *old = column ? (struct head *)column - 1 : NULL;
    if (bytes > SIZE_MAX - sizeof(*old))
        return NULL;
    bytes += sizeof(*old);
    if (old && bytes <= old->bytes)
        return column;
    struct head *head = old && old->mapped ? grow_mapped(old, bytes) : grow_small(old, bytes);
    if (!head)
        return NULL;
    head->bytes = bytes;
    /* Only a wish: without huge pages it works all the same. */
    if (bytes >= HUGE_FROM)
        (void)madvise(head, bytes, MADV_HUGEPAGE);
    return head + 1;
}

void nvt_column_free(void *column)
{
    if (!column)
        return;
    struct head *head = (struct head *)column - 1;
    if (head->mapped)
        munmap(head, head->bytes);
    else
        free(head);
}

void *nvt_large_alloc(size_t bytes)
{
    void *memory;
    if (bytes < HUGE_FROM)
        return malloc(bytes ? bytes : 1);
    if (posix_memalign(&memory, HUGE_PAGE, bytes))
        return NULL;
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}
