/* LTTng-UST tracepoints that say what an NVTX push and pop say: a name, and nothing. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER nvtally_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/bench/lttng_pair_tp.h"

#if !defined(NVT_LTTNG_PAIR_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define NVT_LTTNG_PAIR_TP_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(nvtally_bench, push, LTTNG_UST_TP_ARGS(const char *, name),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_string(name, name)))
LTTNG_UST_TRACEPOINT_EVENT(nvtally_bench, pop, LTTNG_UST_TP_ARGS(int, unused),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, unused, unused)))

#endif
#include <lttng/tracepoint-event.h>
