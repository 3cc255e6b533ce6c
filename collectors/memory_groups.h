/*
 * How much memory the control groups of this process leave: a container's limit is one of these, and who passes it is killed.
 */
#ifndef NVT_MEMORY_GROUPS_H
#define NVT_MEMORY_GROUPS_H

#include <stdint.h>

#define NVT_MEMORY_GROUPS 4 /* levels that have a limit; further ones are left out */

struct nvt_memory_groups {
    uint32_t count;  /* of `folders` */
    uint32_t is_old; /* the first version of control groups, whose files have other names */
    uint64_t limit;  /* bytes, the least of all; UINT64_MAX: none */
    char folders[NVT_MEMORY_GROUPS][256]; /* the innermost first */
};

/* Find those that have a limit, under /sys/fs/cgroup. Makes system calls only, and changes errno. */
void nvt_memory_groups_find(struct nvt_memory_groups *groups);

/* nvt_memory_groups_find in other places: `self` is a file such as /proc/self/cgroup, `root` a folder such as /sys/fs/cgroup. */
void nvt_memory_groups_find_at(struct nvt_memory_groups *groups, const char *self,
                               const char *root);

/* Bytes that they still leave, without what the system can give back of its page cache. UINT64_MAX: no limit. */
uint64_t nvt_memory_groups_left(const struct nvt_memory_groups *groups);

/* How many processes have been killed for memory in the innermost of these groups that says so; 0: none, or it is not known. */
uint64_t nvt_memory_groups_kills(const struct nvt_memory_groups *groups);

#endif
