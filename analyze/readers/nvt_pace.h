/*
 * How fast processes were before the front of a recording was cut off (chunks PACE), and what their threads were in when the recorder
 * looked last (LOOK): rows of the model's `earlier`, threads.waits and processes.is_fed.
 */
#ifndef NVT_READ_PACE_H
#define NVT_READ_PACE_H

#include <stddef.h>
#include <stdint.h>

struct nvt_chunk;
struct nvt_cursor;
struct nvt_file_reader;

/* What threads were in, until it is known whether that was at the end. */
struct nvt_file_looks {
    struct nvt_file_look {
        uint64_t ticks;
        int64_t tid;
        uint32_t process, call; /* of the model; a string of the model */
    } * items;
    size_t count;
};

/* A chunk of either kind. 0, or -1: malformed, or no memory. */
int nvt_file_read_pace(struct nvt_file_reader *reader, const struct nvt_chunk *chunk,
                       struct nvt_cursor cursor);
int nvt_file_read_look(struct nvt_file_reader *reader, const struct nvt_chunk *chunk,
                       struct nvt_cursor cursor);

/* When all is read, the parts included: times become those of the axis, and a look counts where the recording ends. */
void nvt_file_complete_pace(struct nvt_file_reader *reader);

void nvt_file_looks_free(struct nvt_file_looks *looks);

#endif
