/*
 * What stands in a box of a flame graph: as much of a name as has room there.
 */
#ifndef NVT_FLAME_LABEL_H
#define NVT_FLAME_LABEL_H

#include <stddef.h>
#include <stdint.h>

enum { NVT_FLAME_BROTHERS = 24 };

struct nvt_flame_label {
    const char *name;
    /* the name of what it lies in, NULL: nothing, or what is no part of its name */
    const char *around;
    uint32_t kind; /* enum nvt_stack_kind */
    /* names of ranges or operations within the same one, from which its label should differ */
    const char *const *brothers;
    size_t brother_count; /* the first NVT_FLAME_BROTHERS are looked at */
    const char *after;    /* stands behind the name where both have room */
    size_t after_room;    /* columns that are kept for that, its own at least */
};

/* The label of a box so many pixels wide; empty: nothing to be read. */
void nvt_flame_label_write(const struct nvt_flame_label *label, double pixels, char *out,
                           size_t size);

#endif
