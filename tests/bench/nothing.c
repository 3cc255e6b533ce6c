/*
 * An NVTX tool that reads the clock and returns: what any tool's pair costs at least, through NVTX's own
 * calls. NVTX_INJECTION64_PATH names it. With NVTALLY_BENCH_NO_CLOCK it only returns: what a tool's pair costs at least that
 * records nothing.
 */
#include <nvtx3/nvToolsExt.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/clock.h"

static volatile uint64_t sink;

static int push(const char *message)
{
    (void)message;
    sink = nvt_ticks(NVT_CLOCK_TSC);
    return 0;
}

static int pop(void)
{
    sink = nvt_ticks(NVT_CLOCK_TSC);
    return 0;
}

static int push_nothing(const char *message)
{
    (void)message;
    return 0;
}

static int pop_nothing(void)
{
    return 0;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table = NULL;
    unsigned size = 0;
    if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size))
        return 0;
    const int has_clock = !getenv("NVTALLY_BENCH_NO_CLOCK");
    *table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)(has_clock ? push : push_nothing);
    *table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)(has_clock ? pop : pop_nothing);
    return 1;
}
