#include "cupti_find.h"

#ifdef HAVE_CUPTI

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"

/* CUDA versions that this collector has been written for, the newest first. */
static const struct version {
    int major;
    const char *cupti, *runtime;
} versions[] = {
    {13, "libcupti.so.13", "libcudart.so.13"},
    {12, "libcupti.so.12", "libcudart.so.12"},
    {11, "libcupti.so.11.8", "libcudart.so.11.0"},
};
#define VERSIONS NVT_COUNT_OF(versions)

/* --- what the process has --- */

/* "libcupti.so.12" and "libcupti-1a2b3c4d.so.11.8", but no tool that is named after it. */
static int is_cupti(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t length = strlen("libcupti");
    if (strncmp(name, "libcupti", length) || (name[length] != '.' && name[length] != '-'))
        return 0;
    const char *end = strstr(name, ".so");
    return end && (end[3] == 0 || end[3] == '.');
}

/* Looks on while the loader's list is locked, and opens nothing. */
static int remember(struct dl_phdr_info *object, size_t size, void *path)
{
    (void)size;
    if (!object->dlpi_name || !is_cupti(object->dlpi_name))
        return 0;
    return snprintf(path, PATH_MAX, "%s", object->dlpi_name) < PATH_MAX;
}

static void *open_loaded(char *path)
{
    path[0] = 0;
    if (!dl_iterate_phdr(remember, path))
        return NULL;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
}

/* Drivers by the branch in their file's name, and the major version of CUDA that each is of: table "CUDA Toolkit and
 * Corresponding Driver Versions" of CUDA's release notes. */
static const struct {
    int branch, major;
} drivers[] = {{580, 13}, {525, 12}, {450, 11}};

/* Of the driver, 0: not known. It is coming up while this is asked, and so it is told by the name of its file,
 * libcuda.so.580.65.06, and by no call, which might wait for that. */
static int driver_major(void)
{
    struct link_map *map = NULL;
    char path[PATH_MAX];
    int major = 0;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (!driver)
        return 0;
    if (!dlinfo(driver, RTLD_DI_LINKMAP, &map) && realpath(map->l_name, path)) {
        const char *name = strrchr(path, '/'), *end = name ? strstr(name, ".so.") : NULL;
        long branch = end ? strtol(end + 4, NULL, 10) : 0;
        for (size_t i = 0; !major && i < NVT_COUNT_OF(drivers); i++)
            major = branch >= drivers[i].branch ? drivers[i].major : 0;
    }
    dlclose(driver);
    return major;
}

/* The first that the driver can drive: one of a later minor version it can, too. */
static size_t first_for(int major)
{
    size_t first = 0;
    while (major && first < VERSIONS && versions[first].major > major)
        first++;
    return first;
}

/* --- where others may be --- */

/* Where CUPTI lies, seen from the folder of libcudart: beside it (toolkits, CUDA 13's wheels), in
 * the toolkit's extras, in the wheel of its own. */
static void *open_near(const char *folder, const struct version *version)
{
    static const char *const places[] = {"%s/%s", "%s/../extras/CUPTI/lib64/%s",
                                         "%s/../../../extras/CUPTI/lib64/%s",
                                         "%s/../../cuda_cupti/lib/%s"};
    char path[PATH_MAX];
    for (size_t i = 0; i < NVT_COUNT_OF(places); i++) {
        if (snprintf(path, sizeof(path), places[i], folder, version->cupti) >= (int)sizeof(path))
            continue;
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
    }
    return NULL;
}

/* CUPTI for the CUDA runtime of this process, where it has one (it may be linked statically). */
static void *open_beside_runtime(const struct version *version)
{
    Dl_info info;
    void *runtime = dlopen(version->runtime, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
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
    void *library = open_near(folder, version);
    return library ? library : dlopen(version->cupti, RTLD_NOW | RTLD_LOCAL);
}

static void *open_usual(size_t first)
{
    const char *homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (size_t i = first; i < VERSIONS; i++) {
        void *library = dlopen(versions[i].cupti, RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
    }
    for (size_t home = 0; home < NVT_COUNT_OF(homes); home++) {
        char folder[PATH_MAX];
        if (!homes[home] ||
            snprintf(folder, sizeof(folder), "%s/lib64", homes[home]) >= (int)sizeof(folder))
            continue;
        for (size_t i = first; i < VERSIONS; i++) {
            void *library = open_near(folder, &versions[i]);
            if (library)
                return library;
        }
    }
    return NULL;
}

/* Of pip's packages, where this library came as one (lib/nvtally in the same environment). */
static void *open_of_pip(size_t first)
{
    Dl_info own;
    char pattern[PATH_MAX];
    glob_t found;
    void *library = NULL;
    const char *slash = dladdr((void *)(uintptr_t)nvt_cupti_find, &own) && own.dli_fname
                            ? strrchr(own.dli_fname, '/')
                            : NULL;
    for (size_t i = first; slash && i < VERSIONS && !library; i++) {
        if (snprintf(pattern, sizeof(pattern), "%.*s/../python3*/site-packages/nvidia/*/lib/%s",
                     (int)(slash - own.dli_fname), own.dli_fname,
                     versions[i].cupti) >= (int)sizeof(pattern))
            break;
        if (!glob(pattern, GLOB_NOSORT, NULL, &found))
            for (size_t k = 0; k < found.gl_pathc && !library; k++)
                library = dlopen(found.gl_pathv[k], RTLD_NOW | RTLD_LOCAL);
        globfree(&found);
    }
    return library;
}

static void *open_suitable(char *why, size_t size)
{
    const int driver = driver_major();
    const size_t first = first_for(driver);
    void *library = NULL;
    for (size_t i = first; !library && i < VERSIONS; i++)
        library = open_beside_runtime(&versions[i]);
    if (!library)
        library = open_usual(first);
    if (!library)
        library = open_of_pip(first);
    if (!library && driver)
        snprintf(
            why, size,
            "libcupti for this driver (CUDA %d) was not found: install the CUPTI of CUDA %d, or "
            "set NVTALLY_CUPTI to its path",
            driver, driver);
    else if (!library)
        snprintf(why, size,
                 "libcupti was not found: install the CUDA toolkit's CUPTI or pip's "
                 "nvidia-cuda-cupti, or set NVTALLY_CUPTI to its path");
    return library;
}

static void *open_given(const char *given, char *why, size_t size)
{
    char path[PATH_MAX];
    void *loaded = open_loaded(path);
    void *library = dlopen(given, RTLD_NOW | RTLD_LOCAL);
    const char *problem = library ? NULL : dlerror();
    if (!library)
        snprintf(why, size, "NVTALLY_CUPTI=%s cannot be loaded (%s)", given,
                 problem ? problem : "");
    else if (loaded && loaded != library)
        snprintf(why, size,
                 "the program has loaded another libcupti than NVTALLY_CUPTI (%s), and only one of "
                 "them gets records",
                 path);
    if (loaded)
        dlclose(loaded);
    return library;
}

void *nvt_cupti_find(char *why, size_t size)
{
    const char *given = getenv("NVTALLY_CUPTI");
    char path[PATH_MAX];
    why[0] = 0;
    if (given && *given)
        return open_given(given, why, size);
    void *library = open_loaded(path);
    return library ? library : open_suitable(why, size);
}

#endif
