#include <stdio.h>
#include <string.h>

#include "../lib/commands.h"
#include "../lib/count_of.h"
#include "../lib/peak_cache.h"
#include "../lib/probe_peak.h"
#include "../lib/program.h"
#include "sweep.h"

/* What cannot be kept is said, and shown all the same. */
static size_t keep(struct nvt_probe_item *items, size_t room, const struct nvt_backend_facts *facts,
                   const struct nvt_peak *peak)
{
    struct nvt_error err = NVT_ERROR_INIT;
    if (!nvt_peak_cache_put(facts, peak, &err) || !room)
        return 0;
    items[0] = (struct nvt_probe_item){.section = "peak", .name = "not kept", .present = true};
    nvt_error_text(&err, items[0].detail, sizeof(items[0].detail));
    return 1;
}

size_t nvt_measure_peaks(struct nvt_probe_item *items, size_t room)
{
    static const char *const libraries[] = {"libnvtally-cuda.so", "libnvtally-host.so"};
    size_t count = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(libraries); i++) {
        struct nvt_error err = NVT_ERROR_INIT;
        struct nvt_backend_facts facts;
        struct nvt_peak peak;
        char library[4096];
        nvt_quiet_threads();
        /* A backend that does not answer is none: the items above say what is missing. */
        if (nvt_find_library(libraries[i], library, sizeof(library), &err) ||
            nvt_ask_backend(library, &facts, &err) || nvt_ask_peak(library, &peak, &err))
            continue;
        count += nvt_probe_put_peak(items + count, room - count, facts.name, &peak, facts.device);
        count += keep(items + count, room - count, &facts, &peak);
    }
    return count;
}
