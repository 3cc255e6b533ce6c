/* PyTorch's memory snapshots, pickled as Python does it. */
#ifndef NVT_TESTS_SNAPSHOT_KIT_H
#define NVT_TESTS_SNAPSHOT_KIT_H

#include <stddef.h>
#include <stdint.h>

#include "../analyze/readers/reader.h"
#include "../lib/buffer.h"

/* The pickle. */
extern struct nvt_buffer snapshot_bytes;

/* Bytes of it as they are; a new pickle; a text. */
void snapshot_put(const void *data, size_t size);
void snapshot_begin(void);
void snapshot_text(const char *value);

/* LONG1 of eight bytes. */
void snapshot_integer(int64_t value);

/* A list and a dict, from their beginning to their end. */
void snapshot_list(void);
void snapshot_list_ends(void);
void snapshot_dict(void);
void snapshot_dict_ends(void);

/* A key of a dict, and a number or a text as its value. */
void snapshot_pair(const char *key, int64_t value);
void snapshot_pair_text(const char *key, const char *value);

/* "function file line", innermost first, after one another, with ';' between. */
void snapshot_frames(const char *all);

/* An event of the allocator with its stack; a time below 0 is left out. */
void snapshot_entry(const char *action, int64_t time, int64_t address, int64_t size,
                    const char *stack);

/* A block of a segment, a segment, which goes on until it ends, and an annotation. */
void snapshot_block(const char *state, int64_t address, int64_t size, int64_t requested,
                    const char *stack);
void snapshot_segment(int64_t device, int64_t address, int64_t size);
void snapshot_segment_ends(void);
void snapshot_annotation(const char *stage, const char *name, int64_t time);

/* The pickle in a file of the fixture's folder (cli.h): its path; the trace that is read of it, the caller's. */
const char *snapshot_write_pickle(void);
struct nvt_trace *snapshot_read_it(void);

#endif
