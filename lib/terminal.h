/* The terminal that output may go to. */
#ifndef NVT_TERMINAL_H
#define NVT_TERMINAL_H

#include <stddef.h>
#include <stdio.h>

/* Columns of the terminal that a stream writes to: what COLUMNS says, else what it says itself; 0
 * where the stream is no terminal, or nobody knows. */
size_t nvt_terminal_width(FILE *out);

#endif
