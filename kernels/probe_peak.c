#include "probe_peak.h"

#include <stdio.h>
#include <string.h>

#include "../collectors/session.h"
#include "kept_peak.h"
#include "sweep.h"

static const struct backend {
    const char *name, *library;
    const char *products[4]; /* by enum nvt_precision */
    const char *int8, *copy;
} backends[] = {
    {"cuda",
     "libnvtally-cuda.so",
     {"cuda fp32", "cuda tf32", "cuda bf16", "cuda fp16"},
     "cuda int8",
     "cuda copy"},
    {"host",
     "libnvtally-host.so",
     {"host fp32", "host tf32", "host bf16", "host fp16"},
     "host int8",
     "host copy"},
};

static size_t put(struct nvt_probe_item *items, size_t room, const char *name, double rate,
                  const char *unit, const char *from)
{
    if (!room || !(rate > 0))
        return 0;
    items[0] = (struct nvt_probe_item){.section = "peak", .name = name, .present = true};
    snprintf(items[0].detail, sizeof(items[0].detail), "%.4g %s, %s", rate, unit, from);
    return 1;
}

/* All that is known of a backend; `from`: what it was measured on. */
static size_t put_backend(struct nvt_probe_item *items, size_t room, const struct backend *backend,
                          const struct nvt_peak *peak, const char *from)
{
    size_t count = 0;
    for (int precision = NVT_FP32; precision <= NVT_FP16; precision++)
        count += put(items + count, room - count, backend->products[precision],
                     peak->flops[precision] / 1e12, "TFLOP/s", from);
    count += put(items + count, room - count, backend->int8, peak->int8 / 1e12, "TOP/s", from);
    return count + put(items + count, room - count, backend->copy, peak->bytes / 1e9, "GB/s", from);
}

/* What cannot be kept is said, and shown all the same. */
static size_t keep(struct nvt_probe_item *items, size_t room, const struct nvt_backend_facts *facts,
                   const struct nvt_peak *peak)
{
    struct nvt_error err = NVT_ERROR_INIT;
    if (!nvt_kept_peak_keep(facts, peak, &err) || !room)
        return 0;
    items[0] = (struct nvt_probe_item){.section = "peak", .name = "not kept", .present = true};
    nvt_error_text(&err, items[0].detail, sizeof(items[0].detail));
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
        count += put_backend(items + count, room - count, &backends[i], &peak, facts.device);
        count += keep(items + count, room - count, &facts, &peak);
    }
    return count;
}

size_t nvt_probe_kept_peaks(struct nvt_probe_item *items, size_t room)
{
    struct nvt_kept_peak kept[NVT_PROBE_MAX];
    size_t count = 0, all = nvt_kept_peaks(kept, NVT_PROBE_MAX);
    for (size_t k = 0; k < all; k++) {
        char from[256];
        snprintf(from, sizeof(from), "%s, measured %s", kept[k].backend.device, kept[k].date);
        for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++)
            if (!strcmp(backends[i].name, kept[k].backend.name))
                count +=
                    put_backend(items + count, room - count, &backends[i], &kept[k].peak, from);
    }
    return count;
}
