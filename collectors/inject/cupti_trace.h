/*
 * Recording devices with CUPTI. The CUDA driver loads this library when a program first uses CUDA
 * (CUDA_INJECTION64_PATH) and calls InitializeInjection; libcupti is loaded then and not before.
 *
 * CUPTI fills the collector's buffers and returns full ones at any time. One thread of the collector asks for the
 * others every 100 ms, decodes them all and sends the rows to the recorder; so neither the threads of the program nor
 * CUPTI's wait for the decoder. At the end of the process (exit, quick_exit, _exit) that thread is asked for the rest,
 * and waited for, for a while: it alone calls CUPTI then, so that a process that ends out of a signal handler, with
 * whatever locks held, ends all the same. A process that is killed loses what was still with CUPTI; the rows
 * NVT_DEVICE_DELIVERED say since when.
 *
 * Memory of a forked child is a copy without that thread: there all this is inert.
 */
#ifndef NVT_CUPTI_TRACE_H
#define NVT_CUPTI_TRACE_H

#include <stdint.h>

/* A capture has begun or ended (nvt_capture_is_open): start or stop recording. */
void nvt_cupti_capture(void);

/* Records of CUPTI that have been decoded so far, and the time that it took from threads by its own account; -1: it is not in use in this
 * process. */
int64_t nvt_cupti_records(uint64_t *overhead_ns);

/* The program has named a stream or a context; type is enum nvt_resource_type. */
void nvt_cupti_named(uint32_t type, uint64_t handle, const char *name);

/* Get what CUPTI still has, for the last time. Returns when it is with the recorder, or when
 * nothing has moved for NVT_CUPTI_PATIENCE_NS. */
#define NVT_CUPTI_PATIENCE_NS INT64_C(2000000000)
void nvt_cupti_finish(void);

/* Send what has ended on the devices until now, and wait until that is done. For libnvtally, which finds it
 * by name in the process that it lives in. */
__attribute__((visibility("default"))) void nvtally_inject_hand_over(void);

#ifdef HAVE_CUPTI

#include "../../lib/device_rows.h"

#include "cupti_api.h"

/* Load CUPTI and record, as far as the capture and the window say so now. Once a process, with signals blocked. */
void nvt_cupti_start(void);
/* There is something to do for the thread that asks CUPTI for records. From any thread. */
void nvt_cupti_ring_bell(void);

/* cupti_levels.c: start or stop the kinds of records that the levels in `trace` (enum nvt_trace_what) need. `late`: at
 * the first start the driver was, or may have been, up; pass the same value in every call. `refused` gets the names of
 * what CUPTI refuses, "" when it is nothing. */
void nvt_cupti_levels(const struct nvt_cupti_api *api, uint64_t trace, int on, int late,
                      char *refused, size_t size);
/* "kernels, copies (CUPTI_ERROR_…)": add a name to those in `refused`, each with what CUPTI said last. */
void nvt_cupti_refuse(const struct nvt_cupti_api *api, const char *name, CUptiResult result,
                      char *refused, size_t size);
/* cupti_um.c: start or stop records of managed memory; what CUPTI refuses is added to `refused`. 1: the driver is not
 * up yet, try again; else 0. */
int nvt_cupti_um(const struct nvt_cupti_api *api, int on, char *refused, size_t size);
/* What a libcupti is known to leave out, by NVIDIA's release notes; NULL: nothing of these levels. */
const char *nvt_cupti_defect(const struct nvt_cupti_api *api, uint64_t trace);
/* Devices and contexts, which are recorded when they come up, whatever is captured. */
void nvt_cupti_objects(const struct nvt_cupti_api *api, char *refused, size_t size);
/* Whether CUPTI, which is asked for single calls at `kernel`, has delivered kernels and no call that launched one: by
 * its manual, numbers that link them need the kinds RUNTIME and DRIVER; by its headers, single calls will do. */
struct nvt_cupti_seen;
int nvt_cupti_lacks_calls(uint64_t trace, const struct nvt_cupti_seen *seen);
/* To be asked after each hand-over. 1: it has been so for a second of many kernels, and all calls are recorded from now on. */
int nvt_cupti_ask_for_calls(const struct nvt_cupti_api *api, uint64_t trace,
                            const struct nvt_cupti_seen *seen);
/* CUPTI makes records of devices "on CUDA driver initialization", and none where that was before they were asked for
 * (cuptiActivityEnableAndDump in its headers): then they are asked for as already present. */
void nvt_cupti_dump_devices(const struct nvt_cupti_api *api);

/* cupti_endings.c: calls that end a context, and the callbacks before them. */
enum nvt_cupti_ending { NVT_ENDS_NOTHING, NVT_MAY_END_CONTEXT, NVT_ENDS_CONTEXT };
void nvt_cupti_listen_to_endings(const struct nvt_cupti_api *api,
                                 CUpti_SubscriberHandle subscriber);
enum nvt_cupti_ending nvt_cupti_ending(CUpti_CallbackDomain domain, CUpti_CallbackId id);

/* cupti_window.c: --delay and --duration. This process will hand over what the window has, and has; follow the window, where
 * its end has that done; how long to wait for other things, given `ns` ahead of the next. */
void nvt_cupti_window_begin(void);
void nvt_cupti_window_handed(void);
/* That nothing comes behind a hand-over; 0: it may. */
enum { NVT_CUPTI_PROCESS_ENDS = 1, NVT_CUPTI_WINDOW_ENDS };
void nvt_cupti_window_follow(void (*hand_over)(int final));
int64_t nvt_cupti_window_wait(int64_t ns);
/* --dormant, while nothing is recorded: there is nothing to hand over either, until the bell rings. */
int nvt_cupti_window_rests(void);
/* --dormant: start a thread that sleeps until the window opens, and whenever it changes after that, and calls `changed` then.
 * Signals are to be blocked. 0, or -1. */
int nvt_cupti_window_watch(void (*changed)(void));

/* cupti_state.c: callbacks about CUPTI itself, and what one of them says. -1: it is none, or enough has been said. */
void nvt_cupti_listen_to_state(const struct nvt_cupti_api *api, CUpti_SubscriberHandle subscriber);
int nvt_cupti_state(const struct nvt_cupti_api *api, CUpti_CallbackDomain domain,
                    CUpti_CallbackId id, const void *data, char *text, size_t size);

/* cupti_clock.c: the bounds of the collector's clock between which the decoder expects operations: from before the
 * first until now. */
struct nvt_cupti_decoder;
void nvt_cupti_clock_begins(struct nvt_cupti_decoder *decoder);
void nvt_cupti_clock_until(struct nvt_cupti_decoder *decoder);
/* The time that CUPTI takes from us. */
uint64_t CUPTIAPI nvt_cupti_timestamp(void);
/* One moment on both CUPTI's clock and the collector's. 0, or -1 when CUPTI has no time. */
int nvt_cupti_moment(const struct nvt_cupti_api *api, uint64_t fields[NVT_CLOCK_FIELDS]);

/* cupti_buffers.c: what CUPTI fills, and what it has filled. */
struct nvt_cupti_buffers_use {
    void (*bell)(void); /* called, from any thread, when a buffer has been filled */
    int zeroed;         /* CUPTI relies on getting nothing but zeros, and makes none itself */
    int must_give;      /* CUPTI has to get a buffer, however many there are */
};
void nvt_cupti_buffers_init(const struct nvt_cupti_buffers_use *use);
void CUPTIAPI nvt_cupti_buffer_requested(uint8_t **buffer, size_t *size, size_t *most);
void CUPTIAPI nvt_cupti_buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
                                         size_t size, size_t valid);
/* Buffers that CUPTI has asked for so far. */
uint32_t nvt_cupti_buffers_made(void);
/* When CUPTI asked for the oldest of those that it still has with something in it, ns of CLOCK_MONOTONIC; 0: it has none.
 * The records in them are of later than that. One without a record CUPTI may keep whatever it is asked for: "it returns
 * all the activity buffers which have all the activity records completed" (cuptiActivityFlushAll) says nothing of those. */
int64_t nvt_cupti_buffers_oldest(void);
/* Buffers that were never ours and that CUPTI has handed to us: of a tool that had it before. They are left alone. */
uint32_t nvt_cupti_buffers_foreign(void);
/* The next filled buffer and its size; NULL when there is none. Give it back afterwards. */
uint8_t *nvt_cupti_buffer_take(size_t *valid);
void nvt_cupti_buffer_give(uint8_t *buffer);

#endif
#endif
