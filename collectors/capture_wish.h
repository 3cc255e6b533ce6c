/*
 * What --capture asks for: RANGE, with a domain or without, and which of the ranges of that name in each process.
 */
#ifndef NVT_CAPTURE_WISH_H
#define NVT_CAPTURE_WISH_H

#include <stdint.h>

#include "../lib/error.h"

struct nvt_capture_wish {
    char range[256];   /* without the numbers */
    uint64_t from, to; /* counted from 0, both within; all of them: 0 and UINT64_MAX */
};

/* RANGE, RANGE/N, RANGE/FROM-TO. 0, or -1 with err. */
int nvt_capture_wish_parse(const char *text, struct nvt_capture_wish *wish, struct nvt_error *err);

#endif
