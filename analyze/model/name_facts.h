/* What analyses find out of the strings of a trace (trace.h, name_facts). */
#ifndef NVT_NAME_FACTS_H
#define NVT_NAME_FACTS_H

#include "trace.h"

/* Room for them, of the strings that are there now; nvt_trace_finish makes it. 0, or -1 when out of memory. */
int nvt_trace_keep_name_facts(struct nvt_trace *trace);

#endif
