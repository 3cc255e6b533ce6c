#include "cupti_profiler.h"

#ifdef HAVE_CUPTI

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"

static CUptiResult new_host(const struct nvt_cupti_pm *pm, int what, const char *chip,
                            const uint8_t *availability, void **host)
{
    struct nvt_host_new fresh = {NVT_PARAMS(nvt_host_new, host), .what = what, .chip = chip,
                                 .availability = availability};
    CUptiResult result = pm->cuptiProfilerHostInitialize(&fresh);
    *host = result == CUPTI_SUCCESS ? fresh.host : NULL;
    return result;
}

static void free_host(const struct nvt_cupti_pm *pm, void *host)
{
    struct nvt_host_free old = {NVT_PARAMS(nvt_host_free, host), .host = host};
    if (host)
        pm->cuptiProfilerHostDeinitialize(&old);
}

static CUptiResult add(const struct nvt_cupti_pm *pm, void *host, const char **names, size_t count)
{
    struct nvt_host_metrics metrics = {NVT_PARAMS(nvt_host_metrics, count), .host = host,
                                       .names = names, .count = count};
    return pm->cuptiProfilerHostConfigAddMetrics(&metrics);
}

void nvt_metric_set_free(struct nvt_metric_set *set, const struct nvt_cupti_pm *pm)
{
    free_host(pm, set->host);
    free(set->config);
    set->host = NULL;
    set->config = NULL;
}

static CUptiResult make_config(struct nvt_metric_set *set, const struct nvt_cupti_pm *pm)
{
    struct nvt_host_config_size size = {NVT_PARAMS(nvt_host_config_size, config_size),
                                        .host = set->host};
    CUptiResult result = pm->cuptiProfilerHostGetConfigImageSize(&size);
    if (result != CUPTI_SUCCESS)
        return result;
    set->config = calloc(1, size.config_size + 1);
    set->config_size = size.config_size;
    struct nvt_host_config config = {NVT_PARAMS(nvt_host_config, config), .host = set->host,
                                     .config_size = set->config_size, .config = set->config};
    struct nvt_host_passes passes = {NVT_PARAMS(nvt_host_passes, passes),
                                     .config_size = set->config_size, .config = set->config};
    if (!set->config)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    result = pm->cuptiProfilerHostGetConfigImage(&config);
    if (result == CUPTI_SUCCESS)
        result = pm->cuptiProfilerHostGetNumOfPasses(&passes);
    set->passes = passes.passes;
    return result;
}

struct chip {
    int what;
    const char *name;
    const uint8_t *availability;
};

/* All names of the set in a host object of their own: what has refused one of them is not used again. */
static CUptiResult make_once(struct nvt_metric_set *set, const struct nvt_cupti_pm *pm,
                             const struct chip *chip)
{
    nvt_metric_set_free(set, pm);
    CUptiResult result = new_host(pm, chip->what, chip->name, chip->availability, &set->host);
    if (result == CUPTI_SUCCESS)
        result = add(pm, set->host, set->names, set->count);
    return result == CUPTI_SUCCESS ? make_config(set, pm) : result;
}

static void refuse(char *refused, size_t size, const char *name)
{
    const size_t used = strlen(refused);
    snprintf(refused + used, size - used, "%s%s", used ? ", " : "", name);
}

/* Leave out names that the chip does not have. */
static void keep_known(struct nvt_metric_set *set, const struct nvt_cupti_pm *pm,
                       const struct chip *chip, char *refused, size_t size)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        void *host;
        if (new_host(pm, chip->what, chip->name, chip->availability, &host) == CUPTI_SUCCESS &&
            add(pm, host, &set->names[i], 1) == CUPTI_SUCCESS)
            set->names[kept++] = set->names[i];
        else
            refuse(refused, size, set->names[i]);
        free_host(pm, host);
    }
    set->count = kept;
}

CUptiResult nvt_metric_set_make(struct nvt_metric_set *set, const struct nvt_cupti_pm *pm, int what,
                                const char *chip, const uint8_t *availability,
                                const char *const *names, uint32_t count, char *refused,
                                size_t size)
{
    const struct chip on = {what, chip, availability};
    const uint32_t most = NVT_COUNT_OF(set->names);
    *set = (struct nvt_metric_set){.count = count < most ? count : most};
    memcpy(set->names, names, set->count * sizeof(*names));
    *refused = 0;
    CUptiResult result = make_once(set, pm, &on);
    if (result != CUPTI_SUCCESS && set->host) {
        keep_known(set, pm, &on, refused, size);
        result = set->count ? make_once(set, pm, &on) : CUPTI_ERROR_INVALID_METRIC_NAME;
    }
    while (result == CUPTI_SUCCESS && set->passes > 1 && set->count > 1) {
        refuse(refused, size, set->names[--set->count]);
        result = make_once(set, pm, &on);
    }
    return result == CUPTI_SUCCESS && set->passes > 1 ? CUPTI_ERROR_NOT_SUPPORTED : result;
}

#else
/* Nothing where CUPTI's headers were not there. */
typedef int nvt_cupti_metric_set_is_empty;
#endif
