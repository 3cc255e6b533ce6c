/*
 * --capture: record only while a range is open, or between cudaProfilerStart and cudaProfilerStop; --delay and --duration:
 * only within a window of time.
 * Devices are recorded only then; of NVTX the trace keeps what begins then. With a range nothing else is
 * written, but for what a thread does within ranges of its own that were captured and are still open; with the
 * profiler's calls all is, and the reader leaves out the rest, which costs next to nothing to write.
 */
#ifndef NVT_INJECT_CAPTURE_H
#define NVT_INJECT_CAPTURE_H

#include "events.h"
#include "modules.h"

enum nvt_capture_mode {
    NVT_CAPTURE_ALL,      /* no --capture */
    NVT_CAPTURE_RANGE,    /* RANGE, RANGE@DOMAIN, RANGE@* */
    NVT_CAPTURE_PROFILER, /* cudaProfilerApi */
};

/* What the session asks for. */
enum nvt_capture_mode nvt_capture_mode(void);

/* Whether devices are to be recorded now. */
int nvt_capture_is_open(void);

/* Whether we are within --delay and --duration, and the recording has not ended. */
int nvt_capture_in_window(void);

/* Whether every range is to be looked at: --capture RANGE, --delay or --duration. */
int nvt_capture_asks(void);

/* The name that an event has, of *length bytes; NULL: none. `room` is for those that have to be converted. */
#define NVT_CAPTURE_TEXT 1024
const char *nvt_capture_text(const nvtxEventAttributes_t *attributes, char room[NVT_CAPTURE_TEXT],
                             size_t *length);

/* Whether the event is of that name: RANGE, RANGE@DOMAIN, DOMAIN@RANGE, RANGE@*. */
int nvt_capture_matches(const struct nvt_event *event, const char *wanted);

/* The moments. Several may be open at once; it ends with the last, or with all at once. */
void nvt_capture_begin(void);
void nvt_capture_end(void);
void nvt_capture_forget(void);

/* What the parent had open is none of a forked child's, whose first ring this is. */
void nvt_capture_own(void);

/* So many start/end ranges of that name may be open in a process at once; of more, some begin no capture. */
#define NVT_CAPTURE_STARTS 64

/* Called around events in the mode RANGE. An event that opens a range of that name begins the capture before it is
 * recorded; the end of that range ends it afterwards. Call it for every push and pop. */
int nvt_capture_opens(struct nvt_thread *thread, const struct nvt_event *event);
void nvt_capture_pushed(struct nvt_thread *thread, uint32_t domain, int opens);
void nvt_capture_popped(struct nvt_thread *thread, uint32_t domain);
void nvt_capture_stopped(uint64_t range);

/* The callbacks that look at every range, in place of the short paths; --trace counters takes them too. */
struct nvt_module nvt_module_watch(NvtxCallbackModule module);

/* A whole event's worth of work saved where nvt_capture_asks says no. */
extern int nvt_capture_watches;

/* When what this process captures now began, ticks: behind its edge in the trace. 0: nothing is captured. */
extern _Atomic uint64_t nvt_capture_opened;

#endif
