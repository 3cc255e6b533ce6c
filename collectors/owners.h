/*
 * The processes that rings belong to, and which of them have ended: a zombie has, and so has the image
 * before an exec. Known by the index that the output gave them.
 */
#ifndef NVT_OWNERS_H
#define NVT_OWNERS_H

#include <stdint.h>
#include <sys/types.h>

/* Zero-initialise; release with nvt_owners_free. */
struct nvt_owners {
    struct nvt_owner {
        pid_t pid;
        uint64_t image; /* as in struct nvt_ring */
        int descriptor; /* of the process (pidfd), or -1 */
        int foreign;    /* `pid` says nothing here: it is of another pid namespace */
        int ended;
    } * items;
    uint32_t count;
    size_t capacity;
    uint32_t descriptors; /* that are open */
};

/* Take note of process number `index`, unless that was done. Of two images of the same process the older one has ended.
 * Without memory it is not known, and taken for one that lives. */
void nvt_owners_add(struct nvt_owners *owners, uint32_t index, const struct nvt_owner *owner);

/* See which have ended by now. */
void nvt_owners_look(struct nvt_owners *owners);

/* Whether it had at the last look. */
int nvt_owners_has_ended(const struct nvt_owners *owners, uint32_t index);

void nvt_owners_free(struct nvt_owners *owners);

#endif
