#include "peaks.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "../../lib/peak_cache.h"

enum { KEPT_MOST = 64 };

static const char *const names[NVT_ROOFS] = {"fp32", "tf32", "bf16", "fp16", "int8", "fp64", "fp8"};

const char *nvt_roof_name(enum nvt_roof roof)
{
    return roof < NVT_ROOFS ? names[roof] : NULL;
}

enum nvt_roof nvt_roof_named(const char *word)
{
    int roof = NVT_ROOF_FP32;
    while (roof < NVT_ROOFS && (strncmp(word, names[roof], strlen(names[roof])) != 0 ||
                                isalnum((unsigned char)word[strlen(names[roof])])))
        roof++;
    return (enum nvt_roof)roof;
}

static double stated(const struct nvt_record *env, const char *key)
{
    const double value = nvt_record_number(env, key);
    return value > 0 && value < 1e30 ? value : 0;
}

static void copy_text(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text ? text : "");
}

int nvt_peaks_stated(const struct nvt_record *env, struct nvt_peaks *peaks)
{
    int any = 0;
    *peaks = (struct nvt_peaks){.bytes = stated(env, "peak_bytes")};
    for (int roof = 0; roof < NVT_ROOFS; roof++) {
        char key[32];
        snprintf(key, sizeof(key), "peak_flops_%s", names[roof]);
        peaks->flops[roof] = stated(env, key);
        any |= peaks->flops[roof] > 0;
    }
    const double threads = nvt_record_number(env, "threads");
    peaks->threads = threads >= 1 && threads < 1e6 ? (int)threads : 0;
    copy_text(peaks->device, sizeof(peaks->device), nvt_record_text(env, "device"));
    copy_text(peaks->date, sizeof(peaks->date), nvt_record_text(env, "peak_date"));
    return any || peaks->bytes > 0;
}

int nvt_peaks_same(const struct nvt_peaks *a, const struct nvt_peaks *b)
{
    int same = a->bytes == b->bytes && a->threads == b->threads && !strcmp(a->device, b->device) &&
               !strcmp(a->date, b->date);
    for (int roof = 0; roof < NVT_ROOFS; roof++)
        same &= a->flops[roof] == b->flops[roof];
    return same;
}

static double known(double value)
{
    return value > 0 && value < 1e30 ? value : 0;
}

int nvt_peaks_cached(const char *host, const char *backend, const char *device,
                     struct nvt_peaks *peaks)
{
    struct nvt_cached_peak kept[KEPT_MOST];
    const struct nvt_cached_peak *last = NULL;
    size_t count = host && *host && device ? nvt_peak_cache_read(host, kept, KEPT_MOST) : 0;
    for (size_t i = 0; i < count; i++)
        if (!strcmp(kept[i].backend.name, backend) && *kept[i].backend.device &&
            strstr(device, kept[i].backend.device) &&
            (!last || strcmp(kept[i].date, last->date) > 0))
            last = &kept[i];
    if (!last)
        return 0;
    *peaks = (struct nvt_peaks){.bytes = known(last->peak.bytes),
                                .threads = last->backend.threads > 0 ? last->backend.threads : 0};
    for (int roof = NVT_ROOF_FP32; roof <= NVT_ROOF_FP16; roof++)
        peaks->flops[roof] = known(last->peak.flops[roof]);
    peaks->flops[NVT_ROOF_INT8] = known(last->peak.int8);
    copy_text(peaks->device, sizeof(peaks->device), last->backend.device);
    copy_text(peaks->date, sizeof(peaks->date), last->date);
    return 1;
}
