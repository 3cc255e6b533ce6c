#include "probe_peak.h"

#include <stdio.h>
#include <string.h>

#include "count_of.h"
#include "peak_cache.h"

static const struct backend {
    const char *name;
    const char *products[4]; /* by enum nvt_precision */
    const char *int8, *copy;
} backends[] = {
    {"cuda", {"cuda fp32", "cuda tf32", "cuda bf16", "cuda fp16"}, "cuda int8", "cuda copy"},
    {"host", {"host fp32", "host tf32", "host bf16", "host fp16"}, "host int8", "host copy"},
};

#define BACKENDS NVT_COUNT_OF(backends)

static size_t put(struct nvt_probe_item *items, size_t room, const char *name, double rate,
                  const char *unit, const char *from)
{
    if (!room || !(rate > 0))
        return 0;
    items[0] = (struct nvt_probe_item){.section = "peak", .name = name, .present = true};
    snprintf(items[0].detail, sizeof(items[0].detail), "%.4g %s, %s", rate, unit, from);
    return 1;
}

size_t nvt_probe_put_peak(struct nvt_probe_item *items, size_t room, const char *backend,
                          const struct nvt_peak *peak, const char *from)
{
    size_t count = 0, at = 0;
    while (at < BACKENDS && strcmp(backends[at].name, backend) != 0)
        at++;
    if (at == BACKENDS)
        return 0;
    for (int precision = NVT_FP32; precision <= NVT_FP16; precision++)
        count += put(items + count, room - count, backends[at].products[precision],
                     peak->flops[precision] / 1e12, "TFLOP/s", from);
    count += put(items + count, room - count, backends[at].int8, peak->int8 / 1e12, "TOP/s", from);
    return count +
           put(items + count, room - count, backends[at].copy, peak->bytes / 1e9, "GB/s", from);
}

size_t nvt_probe_cached_peaks(struct nvt_probe_item *items, size_t room)
{
    struct nvt_cached_peak cached[NVT_PROBE_MAX];
    size_t count = 0, all = nvt_peak_cache_read(NULL, cached, NVT_PROBE_MAX);
    for (size_t i = 0; i < all; i++) {
        char from[256];
        snprintf(from, sizeof(from), "%s, measured %s", cached[i].backend.device, cached[i].date);
        count += nvt_probe_put_peak(items + count, room - count, cached[i].backend.name,
                                    &cached[i].peak, from);
    }
    return count;
}
