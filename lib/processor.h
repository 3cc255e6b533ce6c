/* What processor this is. */
#ifndef NVT_PROCESSOR_H
#define NVT_PROCESSOR_H

#include <stdio.h>

/* The name of the first processor in a text like /proc/cpuinfo: its "model name"; of Arm's, which have none, by the
 * numbers of who made it and of the part (Arm, Main ID Register; NVIDIA's CPUs and those in its GPU systems are known
 * by name). Whether there is one. */
int nvt_processor_of(FILE *cpuinfo, char *out, size_t size);

/* That of this machine, or "unknown processor". */
void nvt_processor_name(char *out, size_t size);

#endif
