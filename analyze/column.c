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

static struct head *map_new(size_t bytes)
{
    struct head *head =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return head == MAP_FAILED ? NULL : head;
}

static struct head *grow_mapped(struct head *old, size_t bytes)
{
    struct head *head = mremap(old, old->bytes, bytes, MREMAP_MAYMOVE);
    return head == MAP_FAILED ? NULL : head;
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
