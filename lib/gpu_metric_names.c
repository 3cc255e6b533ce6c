#include "gpu_metric_names.h"

#include <string.h>

#include "count_of.h"

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

#define BYTES "dram__bytes_read.sum", "dram__bytes_write.sum"

const char *const *nvt_gpu_metric_set(const char *name)
{
    static const struct {
        const char *name, *metrics[12];
    } sets[] = {
        {"bf16", {"sm__ops_path_tensor_src_bf16_dst_fp32.sum", BYTES}},
        {"tf32", {"sm__ops_path_tensor_src_tf32_dst_fp32.sum", BYTES}},
        {"fp8", {"sm__ops_path_tensor_src_fp8.sum", BYTES}},
        {"fp32",
         {"sm__sass_thread_inst_executed_op_fadd_pred_on.sum",
          "sm__sass_thread_inst_executed_op_fmul_pred_on.sum",
          "sm__sass_thread_inst_executed_op_ffma_pred_on.sum"}},
        {"bytes", {BYTES}},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(sets); i++)
        if (!strcmp(sets[i].name, name))
            return sets[i].metrics;
    return NULL;
}

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
    /* Of ranges: what a roofline looks for (analyze/studies/measured_bytes.h). */
    static const struct nvt_gpu_metric_name counted[] = {
        {"dram__bytes_read.sum", "DRAM bytes read", "B"},
        {"dram__bytes_write.sum", "DRAM bytes written", "B"},
        {"sm__ops_path_tensor_src_bf16_dst_fp32.sum", "Tensor FLOPs, bf16", "FLOP"},
        {"sm__ops_path_tensor_src_tf32_dst_fp32.sum", "Tensor FLOPs, tf32", "FLOP"},
        {"sm__ops_path_tensor_src_fp8.sum", "Tensor FLOPs, fp8", "FLOP"},
        {"sm__sass_thread_inst_executed_op_fadd_pred_on.sum", "fp32 additions", "FLOP"},
        {"sm__sass_thread_inst_executed_op_fmul_pred_on.sum", "fp32 products", "FLOP"},
        {"sm__sass_thread_inst_executed_op_ffma_pred_on.sum", "fp32 fused multiply-adds", "2 FLOP"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(counted); i++)
        if (!strcmp(counted[i].cupti, cupti))
            return counted[i];
    return (struct nvt_gpu_metric_name){cupti, cupti, unit_of(cupti)};
}
