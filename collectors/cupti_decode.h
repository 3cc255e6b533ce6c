/*
 * A buffer of CUPTI's activity records to rows of a trace. A function of its arguments alone: it
 * runs wherever CUPTI's headers are, with hand-made buffers as with those of a device.
 *
 * Only fields are read that have stood at the same place of their record since CUDA 11.8, or since there
 * are records of that sort, so that a libcupti of another version than the headers' may have filled the
 * buffer; which record follows which is asked of that very libcupti. Each is read as the oldest of its types that has
 * what is read, which later headers have as well: those of CUDA 12.4 and later will do.
 */
#ifndef NVT_CUPTI_DECODE_H
#define NVT_CUPTI_DECODE_H

#ifdef HAVE_CUPTI

#include <cupti.h>

#include "../lib/device_rows.h"

/* CUPTI's API version of CUDA 11.8: older records lie otherwise. */
#define NVT_CUPTI_OLDEST 18u

struct nvt_cupti_decoder {
    /* Of the libcupti that filled the buffer. */
    CUptiResult (*next)(uint8_t *buffer, size_t size, CUpti_Activity **record);
    CUptiResult (*callback_name)(CUpti_CallbackDomain domain, uint32_t cbid, const char **name);
    /* The whole record of one that has selected fields, in `whole`, of 512 bytes; NULL: it cannot be had. NULL: all are whole. */
    const CUpti_Activity *(*whole)(const CUpti_Activity *record, void *whole);
    /* Called when the batch is full: hand it on and clear it. */
    void (*full)(void *context, struct nvt_device_batch *batch);
    void *context;
    /* What has been seen so far; NULL: not wanted. */
    struct nvt_cupti_seen {
        /* linked: kernels that have the number of a call; records: all */
        uint64_t devices, calls, kernels, linked, records;
        uint64_t overhead_ns; /* of threads, by its records of that */
    } * seen;
    /* Frees what that libcupti allocated for a record and leaves to its reader. NULL: it is not freed. */
    void (*release)(void *memory);
    /* Between which moments operations lie, where that is known; latest 0: it is not. CUPTI may take the times of its own
     * clock for an operation (PyTorch issue 192021: off by 10^14 ns), and a single one of those would make a trace years long.
     * Such times are moved by what that clock is ahead; those that do not fit then either are left out, both. */
    uint64_t earliest, latest, ahead;
};

/*
 * Append the rows of all records in buffer[0 … size) to the batch. Returns how many records were of
 * kinds that have no row, or could not be read.
 */
uint64_t nvt_cupti_decode(const struct nvt_cupti_decoder *decoder, uint8_t *buffer, size_t size,
                          struct nvt_device_batch *batch);

/*
 * Which API calls a level needs when it does not record all of them; `name` is CUPTI's, such as
 * "cudaLaunchKernel_v7000" or "cuMemcpyHtoDAsync_v2".
 */
int nvt_cupti_is_launch(const char *name);        /* starts work on a device */
int nvt_cupti_is_kernel_launch(const char *name); /* starts a kernel */
int nvt_cupti_is_graph_launch(const char *name);  /* starts a graph */
int nvt_cupti_is_memory_call(const char *name);   /* takes memory or gives it back */
int nvt_cupti_is_sync_call(const char *name); /* waits, lets a stream wait, or records an event */
int nvt_cupti_is_question(const char *name);  /* only asks, and is called all the time */

#endif
#endif
