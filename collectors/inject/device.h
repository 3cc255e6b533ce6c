/*
 * Rows about devices on their way to the recorder: a batch of them is one record in the ring of the
 * thread that sends it. Not on the event path.
 */
#ifndef NVT_INJECT_DEVICE_H
#define NVT_INJECT_DEVICE_H

#include "../../lib/device_rows.h"

struct nvt_thread;

/* The most bytes of a batch that the ring of a thread takes without trouble; NULL, or one without: the rings of this
 * session, as they were asked for. */
size_t nvt_device_batch_room(const struct nvt_thread *thread);

/* Send the batch and clear it. 0, or -1: dropped, and counted (the ring was full, or there is
 * none). */
int nvt_device_send(struct nvt_device_batch *batch);

/* Send one row; field number `name` becomes the number of `text`, where text is not NULL. */
int nvt_device_send_row(uint32_t kind, uint64_t *fields, uint32_t count, uint32_t name,
                        const char *text);

#endif
