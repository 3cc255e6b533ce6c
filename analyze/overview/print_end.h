/* What a screen says of the end: of commands that ended badly, and of ranges that never ended. */
#ifndef NVT_OVERVIEW_PRINT_END_H
#define NVT_OVERVIEW_PRINT_END_H

#include "print.h"

/* How many lines both take. */
size_t nvt_print_end_lines(const struct nvt_overview *overview);

void nvt_print_ended(const struct nvt_print *print);
void nvt_print_open(const struct nvt_print *print);

#endif
