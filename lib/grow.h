/*
 * Arrays that grow. Functions take the address of the array's pointer, which is NULL while there are no items, and the size of
 * an item. They return 0, or -1 when out of memory: the array is then as it was.
 */
#ifndef NVT_GROW_H
#define NVT_GROW_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Room for that many items, no more and no fewer. */
static inline int nvt_resize(void *array, size_t count, size_t width)
{
    void *items, *resized;
    size_t bytes;
    memcpy(&items, array, sizeof(items));
    if (__builtin_mul_overflow(count ? count : 1, width, &bytes))
        return -1;
    resized = realloc(items, bytes);
    if (!resized)
        return -1;
    memcpy(array, &resized, sizeof(resized));
    /* cppcheck-suppress memleak ; the caller's pointer is it now */
    return 0;
}

/* Room for one more behind `count` items. The room is the power of two that holds them, so that no capacity has to be kept. The
 * array must have grown by this function alone. For stacks nvt_reserve is quicker. */
static inline int nvt_grow(void *array, size_t count, size_t width)
{
    if (count & (count - 1))
        return 0;
    if (count > (size_t)-1 / 2)
        return -1;
    return nvt_resize(array, count ? count * 2 : 1, width);
}

/* Room for `needed` items; *capacity is for how many there is room, and at least doubles when it grows. */
static inline int nvt_reserve(void *array, size_t *capacity, size_t needed, size_t width)
{
    if (needed <= *capacity)
        return 0;
    const size_t first = 4, doubled = *capacity > (size_t)-1 / 2 ? needed : *capacity * 2;
    const size_t least = needed > first ? needed : first,
                 wanted = doubled > least ? doubled : least;
    if (nvt_resize(array, wanted, width))
        return -1;
    *capacity = wanted;
    return 0;
}

/* As nvt_reserve, in an array whose items are zero until they are set. */
static inline int nvt_reserve_zeroed(void *array, size_t *capacity, size_t needed, size_t width)
{
    const size_t before = *capacity;
    char *items;
    if (nvt_reserve(array, capacity, needed, width))
        return -1;
    memcpy(&items, array, sizeof(items));
    if (*capacity > before)
        memset(items + before * width, 0, (*capacity - before) * width);
    return 0;
}

#endif
