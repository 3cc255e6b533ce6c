/*
 * Overlap: what a device did at the same time, of computation, communication and copies. What the
 * report `overlap` and the rule `communication` of the diagnosis read.
 *
 * Every moment from the first operation of a device to its last one is one of: idle, only one of the
 * three, or several of them. What is no gap (nvt_gap_least) belongs to the operation behind it.
 * Communication is what nvt_is_communication says, copies are all other copies and memsets,
 * computation all other kernels.
 */
#ifndef NVT_OVERLAP_H
#define NVT_OVERLAP_H

#include "devices.h"

enum nvt_op_class { NVT_CLASS_COMPUTE, NVT_CLASS_COMMUNICATION, NVT_CLASS_COPY, NVT_CLASSES };

enum nvt_op_class nvt_op_class(const struct nvt_trace *trace, uint32_t op);

/* ns by which classes ran: the index is the sum of 1 << class. */
struct nvt_overlap {
    int64_t time[1 << NVT_CLASSES];
};

/* A piece of time in which the same classes ran (the sum of 1 << class). */
typedef void (*nvt_overlap_visit)(void *context, unsigned running, int64_t from, int64_t to);

/* Visit a device, which has an operation at least, from the first one on, piece by piece without a
 * gap. 0, or -1 when out of memory. */
int nvt_overlap_walk(const struct nvt_trace *trace, const struct nvt_used_device *device,
                     nvt_overlap_visit visit, void *context);

/* Add up the time of a device, which has an operation at least, by the classes that ran. 0, or -1 when out of memory. */
int nvt_overlap_make(struct nvt_overlap *overlap, const struct nvt_trace *trace,
                     const struct nvt_used_device *device);

/* Time of a device, which has an operation at least, in which any kernel ran, of whatever class; ns. */
int64_t nvt_kernel_time(const struct nvt_trace *trace, const struct nvt_used_device *device);

/* Time in which all classes of `with` ran (a sum of 1 << class; 0: all the time). */
int64_t nvt_overlap_with(const struct nvt_overlap *overlap, unsigned with);

#endif
