#include "cupti_api.h"

#ifdef HAVE_CUPTI

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cupti_decode.h"

/* CUDA versions that this collector has been written for, the newest first. */
static const int majors[] = {13, 12};
#define MAJORS (sizeof(majors) / sizeof(majors[0]))

/* The library that the process has loaded already: a second copy of CUPTI would get no records, and
 * one of another version could break what comes with this one. */
static void *open_loaded(void)
{
    char name[32];
    for (size_t i = 0; i < MAJORS; i++) {
        snprintf(name, sizeof(name), "libcupti.so.%d", majors[i]);
        void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
        if (library)
            return library;
    }
    return NULL;
}

/* Where CUPTI lies, seen from the folder of libcudart: beside it (toolkits, CUDA 13's wheels), in
 * the toolkit's extras, in the wheel of its own. */
static void *open_near(const char *folder, int major)
{
    static const char *const places[] = {
        "%s/libcupti.so.%d", "%s/../extras/CUPTI/lib64/libcupti.so.%d",
        "%s/../../../extras/CUPTI/lib64/libcupti.so.%d", "%s/../../cuda_cupti/lib/libcupti.so.%d"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (snprintf(path, sizeof(path), places[i], folder, major) >= (int)sizeof(path))
            continue;
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
    }
    return NULL;
}

/* CUPTI for the CUDA runtime of this process, where it has one (it may be linked statically). */
static void *open_beside_runtime(int major)
{
    char name[32];
    Dl_info info;
    snprintf(name, sizeof(name), "libcudart.so.%d", major);
    void *runtime = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    void *symbol = runtime ? dlsym(runtime, "cudaGetDeviceCount") : NULL;
    if (runtime)
        dlclose(runtime);
    if (!symbol || !dladdr(symbol, &info) || !info.dli_fname)
        return NULL;
    char folder[PATH_MAX];
    if (snprintf(folder, sizeof(folder), "%s", info.dli_fname) >= (int)sizeof(folder))
        return NULL;
    char *slash = strrchr(folder, '/');
    if (!slash)
        return NULL;
    *slash = 0;
    void *library = open_near(folder, major);
    snprintf(name, sizeof(name), "libcupti.so.%d", major);
    return library ? library : dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

static void *open_usual(void)
{
    char name[32];
    const char *homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (size_t i = 0; i < MAJORS; i++) {
        snprintf(name, sizeof(name), "libcupti.so.%d", majors[i]);
        void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
    }
    for (size_t i = 0; i < MAJORS * sizeof(homes) / sizeof(homes[0]); i++) {
        const char *home = homes[i / MAJORS];
        char folder[PATH_MAX];
        if (!home || snprintf(folder, sizeof(folder), "%s/lib64", home) >= (int)sizeof(folder))
            continue;
        void *library = open_near(folder, majors[i % MAJORS]);
        if (library)
            return library;
    }
    return NULL;
}

static void *open_library(char *why, size_t size)
{
    const char *given = getenv("NVTALLY_CUPTI");
    void *library = given && *given ? dlopen(given, RTLD_NOW | RTLD_LOCAL) : open_loaded();
    for (size_t i = 0; !library && !(given && *given) && i < MAJORS; i++)
        library = open_beside_runtime(majors[i]);
    if (!library && !(given && *given))
        library = open_usual();
    if (library)
        return library;
    const char *problem = dlerror();
    if (given && *given)
        snprintf(why, size, "NVTALLY_CUPTI=%s cannot be loaded (%s)", given,
                 problem ? problem : "");
    else
        snprintf(why, size,
                 "libcupti was not found: install the CUDA toolkit's CUPTI or pip's "
                 "nvidia-cuda-cupti, or set NVTALLY_CUPTI to its path");
    return NULL;
}

int nvt_cupti_load(struct nvt_cupti_api *api, char *why, size_t size)
{
    void *library = open_library(why, size);
    const char *missing = NULL;
    memset(api, 0, sizeof(*api));
    if (!library)
        return -1;
#define LOAD(function, ...) *(void **)&api->function = dlsym(library, #function);
    NVT_CUPTI_FUNCTIONS(LOAD)
    NVT_CUPTI_OPTIONAL(LOAD)
#define CHECK(function)                                                                            \
    if (!api->function)                                                                            \
        missing = #function;
    NVT_CUPTI_FUNCTIONS(CHECK)
    if (missing) {
        snprintf(why, size, "libcupti has no %s", missing);
        return -1;
    }
    if (api->cuptiGetVersion(&api->version) != CUPTI_SUCCESS || api->version < NVT_CUPTI_OLDEST) {
        snprintf(why, size,
                 "libcupti has API version %u; that of CUDA 11.8 (%u) or later is needed",
                 api->version, NVT_CUPTI_OLDEST);
        return -1;
    }
    return 0;
}

int nvt_cupti_take_zeros(const struct nvt_cupti_api *api)
{
    uint8_t yes = 1;
    size_t size = sizeof(yes);
    return api->cuptiActivitySetAttribute &&
           api->cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size,
                                          &yes) == CUPTI_SUCCESS;
}

#endif
