/*
 * Gaps: when a device had nothing to do although work was on its way, and what the host did then.
 *
 * A device is idle between the end of everything it was given and the start of its next operation. The part of it
 * before the call that launched that operation returned was spent on the host, by the thread that launched it: in a
 * wait for the device, in launches, in another call, or in non-CUDA code. The rest is latency, or the operation waited
 * for other streams; the host is not its cause.
 *
 * A device that several processes use has gaps when it has nothing of any of them. Devices of the
 * same number that may be one or not are taken for one, so that no gap is made up. Of a gap in which
 * other files have work on the device what lies behind that is left (shared.h). What lies between two parts of a
 * recording (recorded_parts.h) is no gap.
 */
#ifndef NVT_GAPS_H
#define NVT_GAPS_H

#include "devices.h"
#include "../model/trace.h"

struct nvt_input;

enum nvt_gap_cause {
    NVT_GAP_LATENCY, /* was launched in time, or its launch was not recorded */
    NVT_GAP_WAIT,    /* the host had waited for the device, and only then launched on */
    NVT_GAP_LAUNCH,  /* launches follow each other, but slower than the device works */
    NVT_GAP_LOAD, /* one launch took most of it, and NVT_GAP_LOAD_NS: it loads or compiles code */
    NVT_GAP_CALL, /* another call took most of it: an allocation, a load … */
    NVT_GAP_HOST, /* the thread ran non-CUDA code for most of it, and at least that long: */
};

/* From where on a gap in non-CUDA code is the program's own work: a launch costs 2 to 10 µs of the
 * host, and the operator of a framework around it some tens. */
#define NVT_GAP_HOST_NS 100000

/* From where on a launch does something else than launch, on an idle device: 100 times what one costs.
 * Launches of graphs may be long by what they hold. */
#define NVT_GAP_LOAD_NS 1000000

struct nvt_gap {
    int64_t start, end;     /* ns */
    int64_t host_ns;        /* from its start until the launching call returned, at most its end */
    uint32_t before, after; /* operations */
    uint32_t process, device; /* of `after` */
    uint32_t thread;          /* that launched `after`, NVT_NONE unknown */
    uint32_t call;            /* the wait, or the call that took most of it; NVT_NONE */
    enum nvt_gap_cause cause;
};

/*
 * What is no longer than this, ns, between the end of all before and the start of an operation is no
 * gap: the device went on at once. 1 in profiles of ROCm: PyTorch has each operation begin 1 ns later
 * than the device says, so that viewers draw those apart which follow each other
 * (github.com/pytorch/kineto/pull/992, of 2024). 0 elsewhere. Where a profile has whole µs (PyTorch
 * before 2024) a gap of 1 µs is one: that is what CUDA's devices take from one kernel to the next
 * (0.6 to 1.4 µs where profiles have decimals, never less than 0.5).
 */
int64_t nvt_gap_least(const struct nvt_trace *trace);

/* Whether a device was idle from `until`, the end of all before, to the start of an operation; `least` is nvt_gap_least. */
static inline int nvt_is_gap(int64_t until, int64_t start, int64_t least)
{
    return start > until && start - until > least;
}

typedef void (*nvt_gap_visit)(void *context, const struct nvt_gap *gap);

/* Visit all gaps of all devices, device by device in the order of time; *devices (may be NULL) gets
 * how many were used. `input` has the other files, NULL: there are none. 0, or -1 with err filled (out
 * of memory). */
int nvt_gaps(const struct nvt_trace *trace, const struct nvt_input *input, nvt_gap_visit visit,
             void *context, uint32_t *devices, struct nvt_error *err);

/* Visit the gaps of one device in the order of time, without their causes and calls. */
void nvt_device_gaps(const struct nvt_trace *trace, const struct nvt_used_device *device,
                     nvt_gap_visit visit, void *context);

/* From where on a device that does not begin what was launched is held by something: it takes 2 to
 * 10 µs. */
#define NVT_GAP_STALL_NS 100000

/*
 * Gaps of one cause, added up by the time that the host spent. Or, with `stalls` and whatever their
 * cause, what is left of them behind the launch, where that is NVT_GAP_STALL_NS and more. Of either
 * only what lies in [from, to]; one of which at least half does is counted, and may be one of the
 * longest, which are cut to it: their start, end and host_ns.
 */
struct nvt_gap_sum {
    enum nvt_gap_cause cause;
    int stalls;
    int64_t from, to;
    uint32_t process; /* gaps that its operations end; NVT_NONE: all */
    uint32_t devices;
    uint64_t count;
    int64_t ns;
    struct nvt_gap longest[3]; /* descending */
    int64_t longest_ns[3];
    double share, usual; /* of the devices' time: nvt_view_gaps */
    /* NULL, or called with each gap's part that is added to ns; its host_ns is that, too */
    nvt_gap_visit each;
    void *context;
};

/* cause or stalls, from, to, process and each are given, and how many devices there are in `devices`. 0, or
 * -1 with err filled. */
int nvt_gaps_add_up(const struct nvt_trace *trace, const struct nvt_used_device *devices,
                    struct nvt_gap_sum *sum, struct nvt_error *err);

/* Whether a call of CUDA, HIP or SYCL's runtime waits for the device: cudaStreamSynchronize …, and
 * copies that return when done. */
int nvt_call_waits(const char *name);

/* Whether a call launches kernels or graphs. */
int nvt_call_launches(const char *name);

#endif
