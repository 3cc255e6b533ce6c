#include "cupti_api.h"

#ifdef HAVE_CUPTI

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "../cupti_decode.h"
#include "cupti_find.h"
#include "os.h"

/* Whether it answers, and is not too old. One that does not get on with the driver answers nothing, not even this, as of CUDA
 * 13.3. */
static int check_version(struct nvt_cupti_api *api, char *why, size_t size)
{
    CUptiResult result = api->cuptiGetVersion(&api->version);
    const char *name = NULL;
    if (result != CUPTI_SUCCESS &&
        (api->cuptiGetResultString(result, &name) != CUPTI_SUCCESS || !name))
        name = "unknown error";
    if (result != CUPTI_SUCCESS)
        snprintf(
            why, size,
            "libcupti does not answer (%s, %d): its CUDA version may be later than the driver's",
            name, (int)result);
    else if (api->version < NVT_CUPTI_OLDEST)
        snprintf(why, size,
                 "libcupti has API version %u; that of CUDA 11.8 (%u) or later is needed",
                 api->version, NVT_CUPTI_OLDEST);
    return result == CUPTI_SUCCESS && api->version >= NVT_CUPTI_OLDEST ? 0 : -1;
}

int nvt_cupti_load(struct nvt_cupti_api *api, char *why, size_t size)
{
    void *library = nvt_cupti_find(why, size);
    const char *missing = NULL;
    memset(api, 0, sizeof(*api));
    if (!library)
        return -1;
    api->library = library;
#define LOAD(function, ...) *(void **)&api->function = dlsym(library, #function);
    NVT_CUPTI_FUNCTIONS(LOAD)
    NVT_CUPTI_OPTIONAL(LOAD)
#define LOAD_SECOND(function, ...) *(void **)&api->second.function = dlsym(library, #function);
    NVT_CUPTI_SECOND(LOAD_SECOND)
#define CHECK(function)                                                                            \
    if (!api->function)                                                                            \
        missing = #function;
    NVT_CUPTI_FUNCTIONS(CHECK)
    if (missing) {
        snprintf(why, size, "libcupti has no %s", missing);
        return -1;
    }
    nvt_os_own_library((const void *)api->cuptiGetVersion);
    return check_version(api, why, size);
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
