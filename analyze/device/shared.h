/*
 * Devices that several files have work on, such as those of ranks that write a trace each. A device is
 * known by its UUID, or by its place on the bus, as in old exports of nsys, which one of another machine
 * may have too (nvt_device_gpu). Times of different files are compared as moments of CLOCK_REALTIME, so
 * a step of that clock between two recordings moves one against the other.
 */
#ifndef NVT_SHARED_H
#define NVT_SHARED_H

#include "devices.h"
#include "../input/input.h"

/* The first two traces that have work on one device and may be of the same time; NULL: none. */
struct nvt_shared {
    const struct nvt_trace *certain[2]; /* by what says which device it is */
    int is_seen;     /* gaps of either leave out what the other does: nvt_shared_work */
    int is_any_seen; /* so it is of these two, or others */
    const struct nvt_trace *possible[2]; /* by its number alone; by their clocks of one time */
};

/* 0, or -1 with err filled (out of memory). */
int nvt_shared_find(struct nvt_shared *shared, const struct nvt_input *input,
                    struct nvt_error *err);

/* The note that two traces have work on one device, of which the gaps of either say nothing. */
void nvt_shared_note(struct nvt_input *input, const struct nvt_trace *const pair[2]);

/*
 * Let the devices of a trace know when other traces of the input have work on them (`elsewhere`), where
 * there are UUIDs and moments can be compared. 0, or -1 with err filled (out of memory).
 */
int nvt_shared_work(struct nvt_used_devices *devices, const struct nvt_trace *trace,
                    const struct nvt_input *input, struct nvt_error *err);

#endif
