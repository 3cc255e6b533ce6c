/*
 * What is loaded at an address: found without a lock, in a signal handler too. glibc 2.35 and later can say it, whichever one this was
 * built with; with an older one nothing is found, and stacks have addresses alone.
 */
#ifndef NVT_FIND_OBJECT_H
#define NVT_FIND_OBJECT_H

#include <stdint.h>

struct nvt_object {
    const void *from, *to;   /* where it is mapped */
    uintptr_t base;          /* what its symbols count from */
    const char *path;        /* the linker's, as long as it is loaded; "" for the program itself */
    const uint8_t *eh_frame; /* .eh_frame_hdr, NULL: it has none */
};

/* 0, or -1: nothing is loaded there, or nobody can say. */
int nvt_find_object(uintptr_t address, struct nvt_object *found);

#endif
