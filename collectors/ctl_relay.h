/*
 * Requests that reach a session by another way than its socket (ctl_file.h, ctl_net.h): they are handed to its recorder, as `nvtally ctl`
 * on its host would do it. Besides those of live.h there is "dump [NS]", which is done here, and "start [FILE]", whose file is the trace
 * of a standing session that has no recorder yet.
 */
#ifndef NVT_CTL_RELAY_H
#define NVT_CTL_RELAY_H

#include <stddef.h>

/* An nvt_ctl_answer; `context` is the session's folder. May take as long as a dump does. */
int nvt_ctl_relay(void *context, const char *request, char *text, size_t size);

#endif
