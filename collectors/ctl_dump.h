/*
 * `nvtally ctl dump`: a copy of what a recording has by now, which goes on meanwhile.
 */
#ifndef NVT_CTL_DUMP_H
#define NVT_CTL_DUMP_H

#include "ctl_socket.h"

/* The value of a line "NAME\tVALUE\n" of an answer, "" where there is none. Returns `out`. */
const char *nvt_ctl_value(const char *text, const char *name, char *out, size_t size);

/*
 * Have the recorder write what it has, and copy the trace as far as it goes then, in whole chunks, to `output`, which must not be there;
 * NULL: next to it, as trace-dump1.nvt, trace-dump2.nvt, … 0 with the name in `name`, or -1 with err and no file. `last_ns`: only what
 * ended so long ago and later, as far as it is in chunks of its own (cut.h); 0: all.
 */
int nvt_ctl_dump(const struct nvt_ctl_session *session, const char *output, int64_t last_ns,
                 int64_t patience_ns, char *name, size_t size, struct nvt_error *err);

#endif
