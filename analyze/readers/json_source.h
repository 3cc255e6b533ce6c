/*
 * The text of a JSON file, plain or compressed by gzip, in parts: each, where it can be, begins with an item of a list of objects and
 * ends in front of another one. That is only looked for ("},{" with white space), so who reads parts checks it.
 *
 * With repairs, the text is what json_repair.h makes of the file's. What was compressed grows at most NVT_JSON_RATIO-fold.
 */
#ifndef NVT_JSON_SOURCE_H
#define NVT_JSON_SOURCE_H

#include "../../lib/buffer.h"
#include "../../lib/error.h"

/* Bytes that a part has at least, unless it is the last: small enough for a core's cache, large enough to be worth a thread's turn. */
#ifndef NVT_JSON_PART /* tests have smaller ones */
#define NVT_JSON_PART (512 * 1024)
#endif

struct nvt_json_source;

/* NULL with err filled. Close with nvt_json_source_close. */
struct nvt_json_source *nvt_json_source_open(const char *path, int repairs, struct nvt_error *err);
void nvt_json_source_close(struct nvt_json_source *source);

/*
 * The next part replaces what is in the buffer. *offset is where it begins in the whole text. 1; 0: there is no more; -1 with err
 * filled: it cannot be read any further.
 */
int nvt_json_source_next(struct nvt_json_source *source, struct nvt_buffer *part, int64_t *offset,
                         struct nvt_error *err);

/* Whether what was compressed ends in the middle; and how often something was repaired. */
int nvt_json_source_is_cut(const struct nvt_json_source *source);
uint64_t nvt_json_source_repaired(const struct nvt_json_source *source);

#endif
