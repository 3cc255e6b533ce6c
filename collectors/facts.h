/*
 * Facts about a recording that go into the trace: where, when and of what it was made.
 */
#ifndef NVT_FACTS_H
#define NVT_FACTS_H

#include "output.h"

/* Write host, date, processor, system, command line, version, clock, and the given pairs (name, value,
 * …, NULL; may be NULL), which replace ours of the same name. 0, or -1 when out of memory. */
int nvt_facts_write(struct nvt_output *output, const char *const *given, char *const argv[],
                    enum nvt_clock clock);

#endif
