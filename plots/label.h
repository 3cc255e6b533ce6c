/*
 * Names of ranges and kernels as labels of a chart.
 */
#ifndef NVT_LABEL_H
#define NVT_LABEL_H

#include <stdio.h>

/* A name as a field of the data file: one line, no tab, no quote, cut where it is too long for the column of a paper. */
void nvt_label_put(const char *text, FILE *out);

/* The same of a kernel's, without what says little: "void", namespaces, the types of numbers. */
void nvt_label_put_kernel(const char *name, FILE *out);

#endif
