/*
 * Names of ranges that are no iterations. Who asks for iterations of a range that no process has may have misspelt it: while a request
 * waits and no iteration has ever begun, a few names of other ranges are noted on the control page, NAME or NAME@DOMAIN, for the recorder
 * to say which there are.
 */
#ifndef NVT_INJECT_OTHER_RANGES_H
#define NVT_INJECT_OTHER_RANGES_H

#include "events.h"

/* Called for each push and start that begins no iteration. */
void nvt_other_ranges_note(const struct nvt_event *event);

#endif
