/*
 * SwitchBack's results as its benchmark wrote them: 25 keys of a JSON object a line, times in ms.
 */
#ifndef NVT_PUBLISHED_SWITCHBACK_H
#define NVT_PUBLISHED_SWITCHBACK_H

#include <stdio.h>

#include "../input/input.h"

/* Print the records of the workload in this layout. 0, or -1 with err filled: there is none. */
int nvt_published_switchback(struct nvt_input *input, FILE *out, struct nvt_error *err);

#endif
