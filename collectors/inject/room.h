/*
 * What memory the rings of this process may take: of the session's folder (a file system of its own), and of the control groups
 * that hold the process. Recording must never be why a program finds no memory.
 */
#ifndef NVT_INJECT_ROOM_H
#define NVT_INJECT_ROOM_H

#include <stddef.h>
#include <stdint.h>

#include "../ring.h"

/* Learn the limits; once, before the first ring. */
void nvt_room_look(void);

/* Whether the control groups have room for `bytes` more of the session: these, eight times over, as others want some too, and
 * with them all rings together at most a quarter of the least limit. Then they are counted. 0, or -1 with errno ENOSPC. */
int nvt_room_take(struct nvt_control *control, size_t bytes);

/* Of what was counted, `bytes` have not been taken. */
void nvt_room_give(struct nvt_control *control, size_t bytes);

/* Whether the folder has room for `count` times `bytes`; yes where that cannot be told. */
int nvt_room_in_folder(size_t bytes, uint64_t count);

/* Make the file at `path`, of `size` bytes of which the first `first` have memory, and map it. Where the folder is full the
 * recorder is asked to take away what has ended; `waits`: and may be waited for. NULL with errno. */
struct nvt_ring *nvt_room_map(const char *path, size_t size, size_t first,
                              struct nvt_control *control, int waits);

/* Have memory for the file's bytes from `from` to `to`. 0, or -1. */
int nvt_room_grow(const char *path, size_t from, size_t to, struct nvt_control *control);

#endif
