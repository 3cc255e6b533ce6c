/*
 * Where in the program calls were made from, by their stacks (os_calls.frame, apis.frame): the innermost function of
 * the program's own on the stack (nvt_is_own_frame), of Python with the line. What is in a module and of no known name
 * is one function.
 */
#ifndef NVT_CALL_SITES_H
#define NVT_CALL_SITES_H

#include "../model/trace.h"

/* Zero-initialise; release with nvt_call_sites_free. Rows of call_frames, and 1, for each row of it. */
struct nvt_call_sites {
    const struct nvt_trace *trace;
    /* the first one with the name and the module of that function; 0: there is none */
    uint32_t *own;
    uint32_t *library; /* the innermost one that lies in another module than the row itself; 0 */
};

/* Linear in the trace's frames. 0, or -1 when out of memory. */
int nvt_call_sites_make(struct nvt_call_sites *sites, const struct nvt_trace *trace);
void nvt_call_sites_free(struct nvt_call_sites *sites);

/* The function of the program's own that a stack was in: a row of call_frames, and 1, the same one for all stacks in that function
 * at that line. `frame`: as calls have it. 0: there is none, or no stack. */
static inline uint32_t nvt_call_site(const struct nvt_call_sites *sites, uint32_t frame)
{
    return frame ? sites->own[frame - 1] : 0;
}

/* A row of call_frames that lies in the library or program that called, of a stack without such a function: not in the one that was
 * called, which is the innermost, unless there is no other. */
static inline uint32_t nvt_calling_library(const struct nvt_call_sites *sites, uint32_t frame)
{
    return (sites->library[frame - 1] ? sites->library[frame - 1] : frame) - 1;
}

#endif
