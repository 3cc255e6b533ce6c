/*
 * A standing session: that of a job whose processes may be recorded later (`nvtally env`). It is there before any recorder, and outlives
 * those that come. Its variable says all of it, so that on each host whoever is first makes it.
 *
 * The value of NVT_SESSION_ENV is FOLDER, or of a standing session FOLDER:TRACE:SLOTS:ITERATION: the bits of enum nvt_trace_what, the
 * slots that a ring may grow to, both in hexadecimal digits, and which ranges are iterations ("": unknown). Behind SLOTS stand the counters
 * that were chosen, if any were: [cUSUAL,TYPE.CONFIG.NAME,…], in hexadecimal digits, [tTOPDOWN] and [mHZ,NAME,…]. The window is closed, and
 * no process has a ring, as long as there is no recorder. Each recorder counts up the page's `epoch`: a thread that finds another one than
 * its ring's takes a new ring, which knows nothing of what was written to the old one.
 */
#ifndef NVT_STANDING_H
#define NVT_STANDING_H

#include <stddef.h>
#include <stdint.h>

struct nvt_control;

#define NVT_STANDING_WISHES 3072 /* bytes that suffice for those */

struct nvt_standing {
    char folder[512];
    int is_standing;     /* else the folder alone is known */
    uint64_t trace;      /* enum nvt_trace_what bits */
    uint32_t slots;      /* a power of two */
    char iteration[250]; /* as in struct nvt_control */
    const char *wishes;  /* the counters that were chosen, within the value; NULL: the usual ones */
    size_t wishes_size;
};

/* 0, or -1: it is no such value, which has to last as long as *out. */
int nvt_standing_parse(const char *value, struct nvt_standing *out);

/* What a page says of counters (`trace`, `chosen`, `topdown`, `metrics`), as it stands in the value. */
void nvt_standing_wishes(const struct nvt_control *page, int has_counters,
                         char out[NVT_STANDING_WISHES]);

/* The value. Whether it fits. */
int nvt_standing_text(const struct nvt_standing *standing, char *out, uint64_t size);

/*
 * Make the folder and its page, unless they are there: others may do so at the same time. `holder` is a process that keeps the session,
 * 0: none, and when that started. 0, or -1 with errno; EPERM: the folder is another user's, or open to others; EPROTO: the counters cannot
 * be read. Allocates nothing.
 */
int nvt_standing_make(const struct nvt_standing *standing, int32_t holder, uint64_t holder_start);

#endif
