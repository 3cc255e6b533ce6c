/*
 * Device operations by device: which devices of which processes there are, and the operations of
 * each in the order of their starts.
 */
#ifndef NVT_DEVICES_H
#define NVT_DEVICES_H

#include "../../lib/table.h"
#include "../model/trace.h"

/* A device as a process numbers it. Two processes may give one device different numbers, so what
 * they did is never added up. */
struct nvt_used_device {
    uint32_t process, device;
    uint32_t *ops; /* rows, ascending; within the `rows` of the list */
    uint32_t count;
    uint32_t users; /* processes; `process` is the first */
    /* Intervals in which operations recorded in other files keep it busy, ns of this trace, in the order of their
     * starts; set by nvt_shared_work, else empty. */
    int64_t (*elsewhere)[2];
    size_t elsewhere_count;
};

/* Zero-initialise; release with nvt_used_devices_free. */
struct nvt_used_devices {
    struct nvt_used_device *items; /* in the order of their first operations */
    uint32_t count;
    uint32_t *rows;
    uint32_t doubtful; /* items that may be the same device as another one */
};

/* 0, or -1 with err filled (out of memory). */
int nvt_used_devices_make(struct nvt_used_devices *devices, const struct nvt_trace *trace,
                          struct nvt_error *err);

/*
 * nvt_used_devices_make, but a device that several processes use is one item. Where the identity of devices is unknown and processes
 * use the same number, the devices stay apart and are counted as doubtful, or with `alike` are taken for one device,
 * whose idle time is then certain. 0, or -1 with err filled.
 */
int nvt_used_gpus_make(struct nvt_used_devices *devices, const struct nvt_trace *trace, int alike,
                       struct nvt_error *err);
void nvt_used_devices_free(struct nvt_used_devices *devices);

/* The identity of a process's device (its UUID), which is equal in all processes: a string id, 0 when it is unknown. */
uint32_t nvt_device_gpu(const struct nvt_trace *trace, uint32_t process, uint32_t device);

/* Its row in the list of devices as a process numbers them, else as any does; NVT_NONE: it is in none. */
uint32_t nvt_device_row(const struct nvt_trace *trace, uint32_t process, uint32_t device);

/* The name of a device as a process numbers it; where its number is in no list, that which all of the
 * process's have. "" when it is not known. */
const char *nvt_device_name(const struct nvt_trace *trace, uint32_t process, uint32_t device);

/* "NVIDIA H100 (0)", "(0)" without a name, "host" for NVT_NONE, in out, which is returned; NVT_DEVICE has it where it is used. */
const char *nvt_device_text(const struct nvt_trace *trace, uint32_t process, uint32_t device,
                            char *out, size_t size);
/* The text of a device for sentences: "GPU 0" without a name. */
const char *nvt_device_words(const struct nvt_trace *trace, uint32_t process, uint32_t device,
                             char *out, size_t size);
#define NVT_DEVICE_TEXT 256
#define NVT_DEVICE(trace, process, device)                                                         \
    nvt_device_text(trace, process, device, (char[NVT_DEVICE_TEXT]){0}, NVT_DEVICE_TEXT)

/*
 * Hands over each kernel of a device that is alone there for some time between `from` and `to`, and how long: from the end of every
 * earlier kernel until the next one begins. Kernels of other streams fill what it leaves free.
 */
void nvt_each_alone(const struct nvt_trace *trace, const struct nvt_used_device *device,
                    int64_t from, int64_t to,
                    void (*each)(void *context, uint32_t op, int64_t alone_ns), void *context);

#endif
