/*
 * Arrays that grow by powers of two of what is used, so that no capacity has to be kept.
 */
#ifndef NVT_GROW_H
#define NVT_GROW_H

#include <stddef.h>
#include <stdlib.h>

/* Room for one more of `width` bytes in an array, whose address is given, of which `count` are used; NULL when there are
 * none. 0, or -1 when out of memory: the array is then as it was. */
static inline int nvt_grow(void *array, size_t count, size_t width)
{
    void **items = array;
    if (count & (count - 1))
        return 0;
    void *grown = realloc(*items, (count ? count * 2 : 1) * width);
    if (!grown)
        return -1;
    *items = grown;
    return 0;
}

#endif
