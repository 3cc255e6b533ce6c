/*
 * GPU metrics that CUPTI samples (record --trace metrics), by CUPTI's names, with the names and units that reports give them.
 *
 * A name of CUPTI's is that of a counter, "dram__bytes_read", a roll-up over the units of the chip, ".sum", and what is made of it,
 * ".per_second" or ".pct_of_peak_sustained_elapsed" ("Metrics Structure" in the guide of Nsight Compute). The counters of
 * nvt_gpu_throughput, and what they mean, are those of the table of PM sampling in CUPTI's manual; all of them together take one
 * pass on a GH100, as its host interface says (tests/test_metric_sets.c asks it).
 */
#ifndef NVT_GPU_METRIC_NAMES_H
#define NVT_GPU_METRIC_NAMES_H

#include <stddef.h>

#define NVT_GPU_METRICS_MOST     16 /* in a recording: samples of one pass have no room for many more */
#define NVT_GPU_METRIC_NAME_MOST 128 /* bytes of a name, with its 0 */

/* The domain of counters that a device counted over ranges, exactly (record --counters-of), without its "GPU 0": a sample lies
 * behind the end of the range that it is of. */
#define NVT_RANGES_DOMAIN "Ranges of "

struct nvt_gpu_metric_name {
    const char *cupti, *name, *unit;
};

/* --trace metrics=throughput, in percent of what the chip can do; ends with NULLs. */
extern const struct nvt_gpu_metric_name nvt_gpu_throughput[];

/* The names of a set, ended by NULL; NULL: there is none of that name. `throughput` is above. For --counters-of there are bytes of DRAM
 * with the FLOPs of tensor cores by the type of their operands (bf16, tf32, fp8), and the instructions in fp32 (fp32): more
 * of these together take more than one pass on a GH100. */
const char *const *nvt_gpu_metric_set(const char *name);

/* What reports call a metric. One that is not among these keeps CUPTI's name, and its unit comes from the ending, "" unknown. */
struct nvt_gpu_metric_name nvt_gpu_metric_named(const char *cupti);

#endif
