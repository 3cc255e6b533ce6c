// A Google Benchmark that shows the time of an NVTX range as counters.
// Google Benchmark's own clock cannot tell the ranges of an iteration apart.
#include <benchmark/benchmark.h>
#include <nvtally.h>
#include <nvtx3/nvToolsExt.h>
#include <vector>

static void sum(benchmark::State &state)
{
    std::vector<double> values(static_cast<size_t>(state.range(0)), 1.0);
    nvtally_session *session;
    if (int status = nvtally_session_start(&session)) {
        state.SkipWithError(nvtally_status_text(status));
        return;
    }
    for (auto _ : state) {
        nvtxRangePushA("sum");
        double total = 0;
        for (double value : values)
            benchmark::DoNotOptimize(total += value);
        nvtxRangePop();
    }
    nvtally_range_statistics s;
    int status = nvtally_session_stop(session);
    if (!status)
        status = nvtally_range_stats(session, "sum", &s);
    if (status) {
        state.SkipWithError(nvtally_status_text(status));
    } else {
        state.counters["range_ns"] = s.host_mean_ns;
        state.counters["range_std_ns"] = s.host_std_ns;
        if (s.has_device)
            state.counters["device_ns"] = s.device_mean_ns;
    }
    nvtally_session_free(session);
}
// Each run records into memory. The bound on the iterations bounds that memory.
BENCHMARK(sum)->Arg(1000)->Arg(10000)->Iterations(2000);
BENCHMARK_MAIN();
