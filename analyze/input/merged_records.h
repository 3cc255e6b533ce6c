/*
 * Records made of others: several as one, and directories of such records. What they are made of outlives them, as texts
 * stay its own.
 */
#ifndef NVT_MERGED_RECORDS_H
#define NVT_MERGED_RECORDS_H

#include "runs.h"

/* Whether a member of a record is a result, as all are from the first such one on. */
int nvt_is_result(const char *key);

/* What stands behind a key for all records together; not finite: nothing. */
typedef double nvt_merged_number(void *context, const char *key);

/* A copy of the first record with the numbers of all `count` behind its results' keys. 0, or -1: out of memory. */
int nvt_records_merge(const struct nvt_record *const *records, size_t count,
                      nvt_merged_number *number, void *context, struct nvt_record *out);

/* Directories like those of `from`, each with the records that `make` appends to `to->records`, which has room for as many
 * as `from` has. Release with nvt_merged_runs_free, also after a failure. 0, or -1: out of memory. */
struct nvt_merged_runs {
    struct nvt_runs **items;
    size_t count;
};
int nvt_merged_runs_make(struct nvt_merged_runs *made, struct nvt_runs *const *from, size_t count,
                         int (*make)(void *context, const struct nvt_runs *from,
                                     struct nvt_runs *to),
                         void *context);
void nvt_merged_runs_free(struct nvt_merged_runs *made);

#endif
