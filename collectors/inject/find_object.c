#include "find_object.h"

#include <link.h>

/* As glibc's <dlfcn.h> has it; an older one does not. */
struct dl_object {
    unsigned long long flags;
    void *from, *to;
    struct link_map *map;
    void *eh_frame;
    unsigned long long reserved[9];
};

/* Weak: the library starts without it. */
extern int dl_find_object(void *address, struct dl_object *found) __asm__("_dl_find_object")
    __attribute__((weak));

int nvt_find_object(uintptr_t address, struct nvt_object *found)
{
    struct dl_object object;
    void *place = (void *)address; // NOLINT(performance-no-int-to-ptr): of code
    if (!dl_find_object || dl_find_object(place, &object))
        return -1;
    *found = (struct nvt_object){.from = object.from,
                                 .to = object.to,
                                 .base = object.map->l_addr,
                                 .path = object.map->l_name,
                                 .eh_frame = object.eh_frame};
    return 0;
}
