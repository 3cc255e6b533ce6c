/*
 * Memory straight from the kernel: zeroed, page-aligned, by the function that is safe on a signal
 * handler's and a fresh thread's path alike. munmap() gives it back.
 */
#ifndef NVT_PAGES_H
#define NVT_PAGES_H

#include <stddef.h>
#include <sys/mman.h>

/* NULL when there is none. */
static inline void *nvt_pages_new(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    /* cppcheck-suppress memleak ; MAP_FAILED is no memory */
    return pages == MAP_FAILED ? NULL : pages;
}

#endif
