/*
 * What an earlier sweep left in the directory of a new one. Only kernels/sweep.c uses this.
 */
#ifndef NVT_SWEEP_EARLIER_H
#define NVT_SWEEP_EARLIER_H

#include <stddef.h>

#include "../lib/buffer.h"
#include "../lib/error.h"

/* The rows of an earlier sweep, each with its line feed; a last line that was cut is none. */
struct nvt_earlier {
    struct nvt_buffer text;
    struct nvt_buffer lines; /* where each begins, as size_t */
    size_t count;
};

/* Read results.jsonl of a directory; nothing where there is none. 0, or -1 with err. nvt_earlier_free in any case. */
int nvt_earlier_read(const char *directory, struct nvt_earlier *earlier, struct nvt_error *err);
void nvt_earlier_free(struct nvt_earlier *earlier);

/* The row that begins so and ended: ok, or out of memory, which is an answer too; with the trace that it names, if it does.
 * Its length goes to *size. NULL: there is none. */
const char *nvt_earlier_find(const struct nvt_earlier *earlier, const char *directory,
                             const char *begin, size_t length, size_t *size);

struct nvt_earlier_wish {
    int overwrite; /* remove them, instead of keeping them in a directory of their own */
    int ranks;     /* of the new run; what those beside rank 0 may be writing by now stays */
    /* rows of theirs that are rows of the new sweep, too: so are their traces */
    const struct nvt_buffer *staying;
};

/*
 * Make room for a new sweep: the results.jsonl and env.json of a directory, and the traces that the rows name, move to one beside
 * it whose name ends in ".old", in place of the results that were there; or they are removed. A line on stderr says so;
 * where there are no results, nothing happens. A trace is a regular file in the directory itself whose name ends in
 * .nvt or .nsys-rep; all else stays. 0, or -1 with err: they cannot be kept, and are still there.
 */
int nvt_earlier_clear(const char *directory, const struct nvt_earlier_wish *wish,
                      struct nvt_error *err);

#endif
