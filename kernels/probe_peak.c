/* What each backend reaches here, for `nvtally info --peak`. */
#include <stdio.h>
#include <string.h>

#include "../collectors/session.h"
#include "../lib/probe.h"
#include "sweep.h"

static const struct {
    const char *library;
    const char *products[4]; /* by enum nvt_precision */
    const char *copy;
} backends[] = {
    {"libnvtally-cuda.so", {"cuda fp32", "cuda tf32", "cuda bf16", "cuda fp16"}, "cuda copy"},
    {"libnvtally-host.so", {"host fp32", "host tf32", "host bf16", "host fp16"}, "host copy"},
};

static size_t put(struct nvt_probe_item *items, size_t room, const char *name, double rate,
                  const char *unit, const char *device)
{
    if (!room || !(rate > 0))
        return 0;
    items[0] = (struct nvt_probe_item){.section = "peak", .name = name, .present = true};
    snprintf(items[0].detail, sizeof(items[0].detail), "%.4g %s, %s", rate, unit, device);
    return 1;
}

size_t nvt_probe_peaks(struct nvt_probe_item *items, size_t room)
{
    size_t count = 0;
    for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
        struct nvt_error err = NVT_ERROR_INIT;
        struct nvt_backend_facts facts;
        struct nvt_peak peak;
        char library[4096];
        nvt_quiet_threads();
        /* A backend that does not answer is none: the items above say what is missing. */
        if (nvt_find_library(backends[i].library, library, sizeof(library), &err) ||
            nvt_ask_backend(library, &facts, &err) || nvt_ask_peak(library, &peak, &err))
            continue;
        for (int precision = NVT_FP32; precision <= NVT_FP16; precision++)
            count += put(items + count, room - count, backends[i].products[precision],
                         peak.flops[precision] / 1e12, "TFLOP/s", facts.device);
        count += put(items + count, room - count, backends[i].copy, peak.bytes / 1e9, "GB/s",
                     facts.device);
    }
    return count;
}
