#include "column.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* In front of the data, which keeps the alignment of a cache line. */
struct head {
    size_t bytes; /* of the data */
    int mapped;
    char padding[64 - sizeof(size_t) - sizeof(int)];
};

/* From here on, columns are mappings of their own, which grow without being copied. */
#define MAP_FROM (1u << 18)
/* From here on, in huge pages: fewer faults, and little wasted. */
#define HUGE_FROM (1u << 22)
#define HUGE_PAGE ((size_t)2 << 20)
/* In front of the data of a mapped column, with its head at the end: what is written there must not
 * take a huge page of a column that nothing else is written to. A whole page, of the largest that
 * there are (kernels for Arm): what follows can be mapped and moved alone. */
#define FRONT ((size_t)65536)

static struct head *head_of(void *data)
{
    return (struct head *)data - 1;
}

/* Mappings consist of whole pages, however large these are: asked for less, a kernel that is imitated on smaller ones maps
 * less than it believes. */
static size_t whole_pages(size_t bytes)
{
    return (bytes + FRONT - 1) & ~(FRONT - 1);
}

/* Addresses for the front and so much data, nothing behind them yet; large data starts where a huge
 * page can. Returns where the data is to be, NULL when there are none. */
static char *addresses(size_t bytes)
{
    size_t spare = bytes >= HUGE_FROM ? HUGE_PAGE : 0;
    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = whole_pages(bytes);
    char *at = mmap(NULL, FRONT + bytes + spare, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    size_t before = spare ? -(uintptr_t)(at + FRONT) & (HUGE_PAGE - 1) : 0;
    if (before)
        munmap(at, before);
    if (spare > before)
        munmap(at + before + FRONT + bytes, spare - before);
    /* cppcheck-suppress deallocret ; what was given back lies before and behind it */
    return at + before + FRONT;
}

/* Only a wish: without huge pages it works all the same. */
static void want_huge(void *data, size_t bytes)
{
    /* Of all its pages alike: the kernel moves only what is one mapping. */
    if (bytes >= HUGE_FROM)
        (void)madvise(data, whole_pages(bytes), MADV_HUGEPAGE);
}

static void *map_new(size_t bytes)
{
    char *data = addresses(bytes);
    if (!data)
        return NULL;
    /* cppcheck-suppress leakReturnValNotUsed ; where it is to be is known */
    if (mmap(data - FRONT, FRONT + whole_pages(bytes), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
        munmap(data - FRONT, FRONT + whole_pages(bytes));
        return NULL;
    }
    want_huge(data, bytes);
    *head_of(data) = (struct head){.bytes = bytes, .mapped = 1};
    return data;
}

/* The front stays behind and a new one is made: with its data in huge pages it is a mapping of its
 * own, and those cannot be moved together. */
static void *grow_mapped(char *old, size_t bytes)
{
    size_t before = head_of(old)->bytes;
    char *data = addresses(bytes);
    if (!data)
        return NULL;
    /* cppcheck-suppress leakReturnValNotUsed ; where it is to be is known */
    if (mmap(data - FRONT, FRONT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
             -1, 0) == MAP_FAILED ||
        mremap(old, whole_pages(before), whole_pages(bytes), MREMAP_MAYMOVE | MREMAP_FIXED, data) ==
            MAP_FAILED) {
        munmap(data - FRONT, FRONT + whole_pages(bytes));
        return NULL;
    }
    munmap(old - FRONT, FRONT);
    want_huge(data, bytes);
    *head_of(data) = (struct head){.bytes = bytes, .mapped = 1};
    return data;
}

static void *grow_small(void *old, size_t bytes)
{
    void *data;
    if (bytes >= MAP_FROM) {
        data = map_new(bytes);
    } else {
        struct head *head = calloc(1, sizeof(*head) + bytes);
        if (head)
            head->bytes = bytes;
        data = head ? head + 1 : NULL;
        /* cppcheck-suppress memleak ; head_of() finds the head in front of the data */
    }
    if (data && old) {
        memcpy(data, old, head_of(old)->bytes);
        free(head_of(old));
    }
    return data;
}

void *nvt_column_grow(void *column, size_t bytes)
{
    if (column && bytes <= head_of(column)->bytes)
        return column;
    return column && head_of(column)->mapped ? grow_mapped(column, bytes)
                                             : grow_small(column, bytes);
}

void nvt_column_free(void *column)
{
    if (!column)
        return;
    if (head_of(column)->mapped)
        munmap((char *)column - FRONT, FRONT + whole_pages(head_of(column)->bytes));
    else
        free(head_of(column));
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
