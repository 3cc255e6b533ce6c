#include "gpu_metric_names.h"

#include <string.h>

#define PERCENT "avg.pct_of_peak_sustained_elapsed"
#define UNIT    "Throughput %"

const struct nvt_gpu_metric_name nvt_gpu_throughput[] = {
    {"gr__cycles_active.sum.pct_of_peak_sustained_elapsed", "GR Active", UNIT},
    {"sm__cycles_active." PERCENT, "SMs Active", UNIT},
    {"sm__inst_executed_realtime." PERCENT, "SM Issue", UNIT},
    {"sm__pipe_tensor_cycles_active_realtime." PERCENT, "Tensor Active", UNIT},
    {"dramc__read_throughput." PERCENT, "DRAM Read Bandwidth", UNIT},
    {"dramc__write_throughput." PERCENT, "DRAM Write Bandwidth", UNIT},
    {"pcie__read_bytes." PERCENT, "PCIe Read Throughput", UNIT},
    {"pcie__write_bytes." PERCENT, "PCIe Write Throughput", UNIT},
    {NULL, NULL, NULL},
};

static int ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), least = strlen(end);
    return length >= least && !strcmp(text + length - least, end);
}

static const char *unit_of(const char *cupti)
{
    const int is_rate = ends_with(cupti, ".per_second");
    if (strstr(cupti, ".pct_of_peak"))
        return UNIT;
    if (strstr(cupti, "__bytes") || strstr(cupti, "_bytes"))
        return is_rate ? "B/s" : "B";
    if (strstr(cupti, "__cycles"))
        return is_rate ? "Hz" : "cycles";
    return is_rate ? "1/s" : "";
}

struct nvt_gpu_metric_name nvt_gpu_metric_named(const char *cupti)
{
    for (const struct nvt_gpu_metric_name *known = nvt_gpu_throughput; known->cupti; known++)
        if (!strcmp(known->cupti, cupti))
            return *known;
    return (struct nvt_gpu_metric_name){cupti, cupti, unit_of(cupti)};
}
