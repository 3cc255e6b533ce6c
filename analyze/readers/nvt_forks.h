/*
 * Inside of the reader of our own format: what a process has defined before it forks holds in the child, which is a process of its own in
 * the file. Both have the time at which their image joined in common; after exec it is another one.
 *
 * Each of these looks for what a process has not defined itself among those of its image.
 */
#ifndef NVT_READ_NVT_FORKS_H
#define NVT_READ_NVT_FORKS_H

#include "nvt.h"

/* Whether two processes of the file, by their numbers there, are of one image. */
int nvt_file_is_kin(const struct nvt_file_reader *reader, uint32_t a, uint32_t b);

/* The name of a category of a domain of the model, which is of process `number`. NVT_MAP_NONE: there is none. */
uint32_t nvt_file_kin_category(const struct nvt_file_reader *reader, uint32_t number,
                               uint32_t domain, uint32_t category);

/* A schema or an enumeration. NULL: there is none. */
const struct nvt_blob *nvt_file_kin_schema(const struct nvt_file_reader *reader, uint32_t number,
                                           uint64_t id);

/* Have a counter that is not defined be as it was defined there, if it was. */
void nvt_file_kin_counter(const struct nvt_file_reader *reader, struct nvt_file_counter *counter);

#endif
