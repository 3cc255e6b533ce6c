/*
 * Ranges as workloads name them: "<workload> key=value key=value …" in the domain nvtally is a
 * configuration. Their payloads say how much work they do.
 */
#ifndef NVT_WORKLOAD_RANGES_H
#define NVT_WORKLOAD_RANGES_H

#include "trace.h"

/* The number behind a key ("\"flops\"") in a payload like {"flops":1,"bytes":2}, or {"flops":{"uint64":1}}, as Python's
 * nvtx has what NumPy holds; NaN when there is none, or it is negative. */
double nvt_declared_number(const char *payload, const char *key);

/* Whether a domain is "nvtally", that of workloads. */
int nvt_is_workloads_domain(const struct nvt_trace *trace, uint32_t domain);

/* How long the workload is in a configuration's name: what stands before the first "key=value", words with blanks
 * between them, or else the first word. */
size_t nvt_configuration_workload(const char *name);

/* Whether a range names a configuration. What lies within none is of the trace's fact "configuration", where it has one:
 * with a window those ranges may be gone. */
int nvt_range_is_configuration(const struct nvt_trace *trace, uint32_t range);

#endif
