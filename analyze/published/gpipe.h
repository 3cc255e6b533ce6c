/*
 * The log of the pipeline-parallel memory study: a block of lines a configuration.
 */
#ifndef NVT_PUBLISHED_GPIPE_H
#define NVT_PUBLISHED_GPIPE_H

#include <stdint.h>
#include <stdio.h>

#include "../input/input.h"

#define NVT_PARTITIONS_MOST 64

/* Bytes by partition as records have them: "400556032;367607808". How many, at most
 * NVT_PARTITIONS_MOST; 0 when there are none or the text is no such list. */
size_t nvt_partition_bytes(const struct nvt_record *record, const char *key,
                           int64_t bytes[NVT_PARTITIONS_MOST]);

/* Whether a record's times and throughput are of launches alone, as those of the published log are. */
int nvt_gpipe_is_of_launches(const struct nvt_record *record);

/* Print the records of the workload as the log has them. 0, or -1 with err filled. */
int nvt_published_gpipe(struct nvt_input *input, FILE *out, struct nvt_error *err);

#endif
