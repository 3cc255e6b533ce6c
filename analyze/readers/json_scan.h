/*
 * A scanner of JSON in memory, strict: it calls a handler for each token, may be given the text in pieces, and stops between
 * tokens, so that a piece need not end where a value does. It allocates only for texts with escapes.
 *
 * The grammar is that of RFC 8259, with two allowances: bytes of texts need not be UTF-8, since names come from programs, and
 * form feeds and vertical tabs are white space. Of a bracket that the handler skips, only texts and brackets are looked at, as far as
 * its end is in the same piece. Sixteen bytes are looked at at once, where the processor can.
 */
#ifndef NVT_JSON_SCAN_H
#define NVT_JSON_SCAN_H

#include "../../lib/buffer.h"
#include "json_memo.h"
#include "json_stream.h"

/* Problems that are worded by who reads a file; what nests too deep has none. */
#define NVT_JSON_TOO_LONG  "too long"
#define NVT_JSON_SEVERAL   "several"
#define NVT_JSON_NO_MEMORY "out of memory"

enum nvt_json_scanned {
    NVT_JSON_GOES_ON, /* within the scanner alone */
    NVT_JSON_MORE, /* all whole tokens were taken: what is left, if anything, needs more text behind it */
    NVT_JSON_STOPPED, /* by the handler */
    NVT_JSON_WRONG    /* `problem` says what is no JSON */
};

/* Set handler and context, and zero the rest; release with nvt_json_scan_free. */
struct nvt_json_scan {
    const struct nvt_json_handler *handler;
    void *context;
    int depth;       /* open brackets */
    uint64_t arrays; /* bit i: the one around depth i + 1 is an array */
    int expects;     /* what may come next */
    int skipped;     /* depth from which on nothing is called, 0: all is */
    int is_unwanted; /* the value of the key before is not called either */
    size_t used;     /* bytes of the text that were taken; after an error, where it is */
    int base;        /* depth of a list whose items are of interest, 0: none, */
    /* and where in the text the last item ended that has brackets; NULL: none did */
    const char *closed;
    const char *problem;
    struct nvt_buffer plain; /* a text without its escapes */
    struct nvt_json_memo memo;
};

/* Take the tokens of a text. is_last: nothing follows, so that a number may end with it. */
enum nvt_json_scanned nvt_json_scan(struct nvt_json_scan *scan, const char *text, size_t size,
                                    int is_last);

/* Whether the text may end here: one value was read, and no bracket is open. */
int nvt_json_scan_is_whole(const struct nvt_json_scan *scan);

/* Whether the item of a list is expected, behind a comma; and state that it is, in a list within that many brackets, all of them
 * arrays. */
int nvt_json_scan_is_at_item(const struct nvt_json_scan *scan);
void nvt_json_scan_start_item(struct nvt_json_scan *scan, int depth);
/* State that an item of the list was read by another. */
void nvt_json_scan_end_item(struct nvt_json_scan *scan);

void nvt_json_scan_free(struct nvt_json_scan *scan);

#endif
