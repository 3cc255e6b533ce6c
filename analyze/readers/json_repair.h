/*
 * JSON as programs write it who do not keep to the format, made into JSON, as a stream:
 *
 *   in strings   control characters; a backslash before what is no escape (paths of Windows; then every backslash of that string
 *                is meant literally, also one before its last quote, if what follows ends a value); quotes of the other kind
 *   values       inf, nan, NaN, Infinity of any sign and None are null, True and False what they say; hexadecimal numbers are
 *                decimal, "+1", ".5", "5." and "007" are numbers; any other bare word is a text, a bare key too
 *   commas       trailing, leading and doubled ones go, a missing one between two objects comes
 *   comments     of C and C++ are white space
 *
 * What is well-formed stays as it is, byte for byte.
 */
#ifndef NVT_JSON_REPAIR_H
#define NVT_JSON_REPAIR_H

#include "../../lib/buffer.h"

/* Zero-initialise; release with nvt_json_repair_free. */
struct nvt_json_repair {
    uint64_t repaired;       /* values, strings, commas and comments that were changed so far */
    struct nvt_buffer token; /* a string from its first quote on, or a bare word, not yet written */
    /* white space behind a comma that is held back, or a quote that may end its string */
    struct nvt_buffer blank;
    int state;
    int quote;     /* of the string */
    int has_comma; /* one is held back until it is known what follows */
    int last;      /* last character written that is no white space, 0: none; 'v' for a value */
};

/* Append to `out` what is known of the text with these bytes behind it. 0, or -1 when out of memory. */
int nvt_json_repair(struct nvt_json_repair *repair, const unsigned char *text, size_t size,
                    struct nvt_buffer *out);
/* The text ends here. */
int nvt_json_repair_end(struct nvt_json_repair *repair, struct nvt_buffer *out);
void nvt_json_repair_free(struct nvt_json_repair *repair);

#endif
