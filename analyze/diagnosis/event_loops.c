#include "event_loops.h"

#include <stdlib.h>
#include <string.h>

static int is_turn(const char *function)
{
    static const char turn[] = "_run_once (base_events.py";
    return !strncmp(function, turn, sizeof(turn) - 1);
}

unsigned char *nvt_event_loop_frames(const struct nvt_trace *trace)
{
    const struct nvt_call_frames *frames = &trace->call_frames;
    unsigned char *is_in = malloc((size_t)frames->count + 1);
    for (uint32_t i = 0; is_in && i < frames->count; i++) /* callers come first */
        is_in[i] = (unsigned char)((frames->parent[i] && is_in[frames->parent[i] - 1]) ||
                                   is_turn(nvt_name(trace, frames->name[i])));
    return is_in;
}
