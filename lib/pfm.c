#include "pfm.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* PFM_PLM3, PFM_OS_NONE and PFM_OS_PERF_EVENT of pfmlib.h. */
enum { USER = 8, OS_NONE = 0, PERF_EVENT = 1 };

#define PMUS 2048 /* numbers of kinds of processors, above all that there are */

struct pfm {
    int (*initialize)(void);
    int (*encode)(const char *, int, int, void *);
    const char *(*error)(int);
    int (*pmu)(int, struct nvt_pfm_pmu *);
    int (*next)(int);
    int (*event)(int, int, struct nvt_pfm_event *);
};

static int find(void *library, const char *name, void *function)
{
    *(void **)function = dlsym(library, name);
    return *(void **)function != NULL;
}

/* 1, or 0: it is not installed, or is another one. */
static int load(struct pfm *pfm)
{
    void *library = dlopen("libpfm.so.4", RTLD_NOW | RTLD_LOCAL);
    /* cppcheck-suppress resourceLeak ; it stays loaded, as names of its are used */
    return library && find(library, "pfm_initialize", &pfm->initialize) &&
           find(library, "pfm_get_os_event_encoding", &pfm->encode) &&
           find(library, "pfm_strerror", &pfm->error) &&
           find(library, "pfm_get_pmu_info", &pfm->pmu) &&
           find(library, "pfm_get_event_next", &pfm->next) &&
           find(library, "pfm_get_event_info", &pfm->event);
}

enum nvt_pfm nvt_pfm_encode(const char *name, struct perf_event_attr *attributes, char *why,
                            size_t size)
{
    struct pfm pfm;
    struct nvt_pfm_argument argument = {.attributes = attributes, .size = sizeof(argument)};
    *attributes = (struct perf_event_attr){.size = sizeof(*attributes)};
    if (!load(&pfm))
        return NVT_PFM_MISSING;
    int code = pfm.initialize();
    if (!code)
        code = pfm.encode(name, USER, PERF_EVENT, &argument);
    if (code)
        snprintf(why, size, "%s", pfm.error(code));
    return code ? NVT_PFM_UNKNOWN : NVT_PFM_FOUND;
}

static void suggest_events(const struct pfm *pfm, int first, struct nvt_suggestion *suggestion)
{
    struct nvt_pfm_event event = {.size = sizeof(event)};
    for (int i = first; i >= 0; i = pfm->next(i)) {
        if (!pfm->event(i, OS_NONE, &event))
            nvt_suggest(suggestion, event.name);
    }
}

void nvt_pfm_suggest(struct nvt_suggestion *suggestion)
{
    struct pfm pfm;
    const char *name = suggestion->name, *prefix = strstr(name, "::");
    char event[128];
    snprintf(event, sizeof(event), "%.*s", (int)strcspn(prefix ? prefix + 2 : name, ":"),
             prefix ? prefix + 2 : name);
    if (!load(&pfm) || pfm.initialize())
        return;
    suggestion->name = event;
    for (int i = 0; i < PMUS; i++) {
        struct nvt_pfm_pmu pmu = {.size = sizeof(pmu)};
        if (!pfm.pmu(i, &pmu) && pmu.is_present)
            suggest_events(&pfm, pmu.first_event, suggestion);
    }
    suggestion->name = name;
}
