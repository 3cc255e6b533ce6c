/*
 * Rows by an owner: those of each thread, of each stream, of each process, every time in the order in which they come.
 */
#ifndef NVT_BUCKETS_H
#define NVT_BUCKETS_H

#include <stdint.h>

/* rows[first[k] .. first[k + 1]) are those of owner k. Zero-initialise; release with nvt_buckets_free. */
struct nvt_buckets {
    uint32_t *rows, *first;
};

/*
 * Put the rows 0 … count − 1, in this order (a permutation of them, or NULL: as they are numbered), to their owners:
 * owner[row], of `owners` many; rows of another one are left out. Linear. 0, or -1 when out of memory.
 */
int nvt_buckets_make(struct nvt_buckets *buckets, const uint32_t *owner, uint32_t owners,
                     const uint32_t *order, uint32_t count);
void nvt_buckets_free(struct nvt_buckets *buckets);

/* The first of an owner's rows whose time is at least (behind: more than) a moment, as a place in rows[]; its
 * times ascend. first[owner + 1] where there is none. */
uint32_t nvt_buckets_from(const struct nvt_buckets *buckets, uint32_t owner, const int64_t *time,
                          int64_t moment);
uint32_t nvt_buckets_behind(const struct nvt_buckets *buckets, uint32_t owner, const int64_t *time,
                            int64_t moment);

#endif
