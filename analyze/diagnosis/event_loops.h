/*
 * Event loops of Python's asyncio: a thread that runs one runs a turn of it after the other, each of which calls what is due and then
 * waits for events. Whatever else blocks in a turn keeps all tasks of that loop waiting.
 */
#ifndef NVT_EVENT_LOOPS_H
#define NVT_EVENT_LOOPS_H

#include "../model/trace.h"

/*
 * Of each row of call_frames 1: it is a turn of an event loop, or was called from one; else 0. Known by the function's name in
 * Python's library, "_run_once (base_events.py:…)", so not of loops of other libraries (uvloop, trio). The caller's, to be freed;
 * NULL when out of memory.
 */
unsigned char *nvt_event_loop_frames(const struct nvt_trace *trace);

#endif
