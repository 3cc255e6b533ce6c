#include "probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif
#ifdef HAVE_SQLITE
#include <sqlite3.h>
#endif
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#include "clock.h"
#include "count_of.h"
#include "gpu_counters.h"
#include "hardware_counters.h"
#include "processor.h"
#include "program.h"

struct probe {
    struct nvt_probe_item *items;
    size_t count;
    const char *section;
};

/* A new item, absent until something is said of it. */
static struct nvt_probe_item *add(struct probe *probe, const char *name, const char *remedy)
{
    struct nvt_probe_item *item = &probe->items[probe->count++];
    *item = (struct nvt_probe_item){.section = probe->section, .name = name, .remedy = remedy};
    return item;
}

__attribute__((format(printf, 2, 3))) static void found(struct nvt_probe_item *item,
                                                        const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(item->detail, sizeof(item->detail), format, arguments);
    va_end(arguments);
    item->present = true;
}

/* The file that has the answer cannot be read, for the reason in errno. */
static void unknown(struct nvt_probe_item *item, const char *path)
{
    snprintf(item->detail, sizeof(item->detail), "cannot tell: %.256s: %s", path, strerror(errno));
}

/* A file that is to be read line by line, NULL when it cannot be. That there is none is an answer;
 * any other reason is told in place of one. */
static FILE *open_text(struct nvt_probe_item *item, const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file && !item->present && errno != ENOENT && errno != ENOTDIR)
        unknown(item, path);
    return file;
}

/* --- built in --------------------------------------------------------------------------------- */

#ifdef HAVE_ZSTD
#define VERSION_OF_ZSTD ZSTD_versionString()
#else
#define VERSION_OF_ZSTD NULL
#endif
#ifdef HAVE_SQLITE
#define VERSION_OF_SQLITE sqlite3_libversion()
#else
#define VERSION_OF_SQLITE NULL
#endif
#ifdef HAVE_ZLIB
#define VERSION_OF_ZLIB zlibVersion()
#else
#define VERSION_OF_ZLIB NULL
#endif
#ifdef HAVE_CBLAS
#define NAME_OF_CBLAS "OpenBLAS"
#else
#define NAME_OF_CBLAS NULL
#endif
#ifdef HAVE_MICROHTTPD /* loaded when it is wanted */
#define NAME_OF_MICROHTTPD "libmicrohttpd"
#else
#define NAME_OF_MICROHTTPD NULL
#endif
#ifdef HAVE_DNNL
#define NAME_OF_DNNL "oneDNN"
#else
#define NAME_OF_DNNL NULL
#endif

static void probe_built_in(struct probe *probe, bool has_workloads)
{
    const struct {
        const char *name, *version, *remedy;
        bool is_of_workloads;
    } parts[] = {
        {"zstd", VERSION_OF_ZSTD, "compresses traces: libzstd-dev, then make", false},
        {"sqlite", VERSION_OF_SQLITE, "reads nsys's .sqlite: libsqlite3-dev, then make", false},
        {"zlib", VERSION_OF_ZLIB, "reads .json.gz: zlib1g-dev, then make", false},
        {"microhttpd", NAME_OF_MICROHTTPD, "serves view: libmicrohttpd-dev, then make", false},
        {"cblas", NAME_OF_CBLAS, "fast GEMMs of the host backend: libopenblas-dev, then make",
         true},
        {"dnnl", NAME_OF_DNNL, "int8 GEMMs of the host backend: libdnnl-dev, then make", true},
    };
    probe->section = "built in";
    for (size_t i = 0; i < NVT_COUNT_OF(parts); i++) {
        if (parts[i].is_of_workloads && !has_workloads)
            continue;
        struct nvt_probe_item *item = add(probe, parts[i].name, parts[i].remedy);
        if (parts[i].version)
            found(item, "%s", parts[i].version);
    }
}

/* --- our libraries ---------------------------------------------------------------------------- */

/* Whether the file holds this text: an undefined symbol, or a name given to dlsym. 0, or -1 with errno: it cannot be read. */
static int file_mentions(const char *path, const char *text, bool *mentioned)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC), status = -1;
    *mentioned = false;
    if (fd < 0)
        return -1;
    if (!fstat(fd, &info)) {
        size_t size = (size_t)info.st_size;
        void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data != MAP_FAILED) {
            *mentioned = memmem(data, size, text, strlen(text));
            munmap(data, size);
            status = 0;
        }
    }
    const int error = errno;
    close(fd);
    errno = error;
    return status;
}

static bool probe_library(struct probe *probe, const char *name, const char *remedy, char *path)
{
    char somewhere[PATH_MAX];
    struct nvt_probe_item *item = add(probe, name, remedy);
    if (nvt_find_library(name, somewhere, sizeof(somewhere), NULL) || !realpath(somewhere, path))
        return false;
    found(item, "%s", path);
    return true;
}

static void probe_libraries(struct probe *probe, bool has_workloads)
{
    char path[PATH_MAX];
    probe->section = "libraries";
    bool inject = probe_library(probe, "libnvtally-inject.so",
                                "the collector of `record`: make, or set NVTALLY_LIBDIR", path);
    struct nvt_probe_item *item =
        add(probe, "CUDA activity",
            "kernels and copies in a trace: the collector was built without "
            "it, so traces hold NVTX ranges only");
    bool mentioned = false;
    if (inject && file_mentions(path, "cuptiActivityRegisterCallbacks", &mentioned))
        unknown(item, path);
    if (mentioned)
        found(item, "built into the collector, through CUPTI");
    if (!has_workloads)
        return;
    probe_library(probe, "libnvtally-host.so",
                  "the host backend of `run`: make, or set NVTALLY_LIBDIR", path);
    probe_library(probe, "libnvtally-cuda.so",
                  "the CUDA backend of `run`: it is not part of this build", path);
}

/* --- this machine ----------------------------------------------------------------------------- */

static void probe_processor(struct probe *probe)
{
    char name[256];
    struct nvt_probe_item *item = add(probe, "processor", NULL);
    FILE *file = open_text(item, "/proc/cpuinfo");
    if (file && nvt_processor_of(file, name, sizeof(name)))
        found(item, "%s", name);
    if (file)
        fclose(file);
    if (!*item->detail)
        found(item, "unknown");
}

static void probe_machine(struct probe *probe)
{
    static const char *const clocks[] = {"CLOCK_MONOTONIC, a call for each event", "invariant TSC",
                                         "virtual counter"};
    struct utsname names;
    cpu_set_t allowed;
    probe->section = "this machine";
    probe_processor(probe);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int usable = sched_getaffinity(0, sizeof(allowed), &allowed) ? 0 : CPU_COUNT(&allowed);
    found(add(probe, "processors", NULL), "%ld online, %d usable here", online, usable);
    double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    found(add(probe, "memory", NULL), "%.1f GiB", bytes / (1024.0 * 1024 * 1024));
    found(add(probe, "clock", NULL), "%s", clocks[nvt_clock_best()]);
    struct nvt_probe_item *counters = add(probe, "hardware counters", NULL);
    if (nvt_hardware_counters(counters->detail, sizeof(counters->detail)))
        found(counters, "cycles, instructions, misses (record --trace counters)");
    if (!uname(&names))
        found(add(probe, "system", NULL), "%s %s %s", names.sysname, names.release, names.machine);
}

/* --- CUDA ------------------------------------------------------------------------------------- */

/* The parts of the driver's interface that are asked; 0 is success. */
struct driver {
    int (*init)(unsigned flags);
    int (*version)(int *version);
    int (*count)(int *count);
    int (*name)(char *name, int size, int device);
    int (*memory)(size_t *bytes, int device);
    int (*attribute)(int *value, int attribute, int device);
};

enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76 }; /* CUdevice_attribute in cuda.h */

static bool load_driver(struct driver *driver)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return false;
    *(void **)&driver->init = dlsym(library, "cuInit");
    *(void **)&driver->version = dlsym(library, "cuDriverGetVersion");
    *(void **)&driver->count = dlsym(library, "cuDeviceGetCount");
    *(void **)&driver->name = dlsym(library, "cuDeviceGetName");
    *(void **)&driver->memory = dlsym(library, "cuDeviceTotalMem_v2");
    *(void **)&driver->attribute = dlsym(library, "cuDeviceGetAttribute");
    /* cppcheck-suppress resourceLeak ; a driver stays loaded: it has threads of its own */
    return driver->init && driver->version && driver->count && driver->name && driver->memory &&
           driver->attribute;
}

static void describe_gpus(struct nvt_probe_item *item, const struct driver *driver)
{
    int count = 0, major = 0, minor = 0;
    size_t bytes = 0;
    char name[128];
    if (driver->init(0) || driver->count(&count) || count < 1 ||
        driver->name(name, sizeof(name), 0) || driver->memory(&bytes, 0))
        return;
    driver->attribute(&major, CAPABILITY_MAJOR, 0);
    driver->attribute(&minor, CAPABILITY_MINOR, 0);
    found(item, "%d × %s, %.1f GiB, compute capability %d.%d", count, name,
          (double)bytes / (1024.0 * 1024 * 1024), major, minor);
}

static void probe_driver(struct probe *probe)
{
    struct driver driver = {0};
    bool loaded = load_driver(&driver);
    int version = 0;
    char line[256];
    struct nvt_probe_item *item =
        add(probe, "driver", "needed to record or run on a GPU: NVIDIA's driver (libcuda.so.1)");
    if (loaded && !driver.version(&version))
        found(item, "supports CUDA %d.%d", version / 1000, version % 1000 / 10);
    FILE *file = open_text(item, "/proc/driver/nvidia/version");
    if (file && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = 0;
        found(item, "%s", line);
    }
    if (file)
        fclose(file);
    item = add(probe, "GPU", "needed for device times; everything else works without one");
    if (loaded)
        describe_gpus(item, &driver);
    item = add(probe, "GPU counters", "needed for GPU metrics: NVIDIA's driver");
    if (nvt_gpu_counters(item->detail, sizeof(item->detail)) == NVT_GPU_COUNTERS_ALLOWED)
        item->present = true;
}

/* Where toolkits are: $CUDA_HOME, the usual folder, or where Debian's packages have theirs. */
static const char *toolkit(void)
{
    const char *home = getenv("CUDA_HOME"), *usual = "/usr/local/cuda";
    if (home && *home)
        return home;
    return access(usual, F_OK) && !access("/usr/include/cuda.h", F_OK) ? "/usr" : usual;
}

/* CUDA_VERSION of the toolkit's cuda.h, 0 when there is none. */
static int toolkit_version(struct nvt_probe_item *item)
{
    char path[PATH_MAX], line[512];
    int version = 0;
    snprintf(path, sizeof(path), "%s/include/cuda.h", toolkit());
    FILE *file = open_text(item, path);
    while (file && !version && fgets(line, sizeof(line), file))
        if (!strncmp(line, "#define CUDA_VERSION ", 21))
            version = (int)strtol(line + 21, NULL, 10);
    if (file)
        fclose(file);
    return version;
}

/* Whether a folder of this colon-separated list holds the file; its path goes to the item. */
static bool find_file(struct nvt_probe_item *item, const char *folders, const char *name)
{
    while (folders && *folders) {
        char path[PATH_MAX];
        int length = (int)strcspn(folders, ":");
        int size = snprintf(path, sizeof(path), "%.*s/%s", length, folders, name);
        if (size > 0 && size < PATH_MAX && !access(path, R_OK)) {
            found(item, "%s", path);
            return true;
        }
        folders += length + (folders[length] == ':');
    }
    return false;
}

/* Where pip puts NVIDIA's packages, if the program came by pip, too: folders as find_file takes them. */
static void folders_of_pip(char *out, size_t size)
{
    char self[PATH_MAX], pattern[PATH_MAX];
    size_t length = 0;
    glob_t found = {0};
    const ssize_t end = readlink("/proc/self/exe", self, sizeof(self) - 1);
    *out = 0;
    if (end <= 0)
        return;
    self[end] = 0;
    *strrchr(self, '/') = 0;
    if (snprintf(pattern, sizeof(pattern), "%s/../lib/python3*/site-packages/nvidia/*/lib", self) >=
        (int)sizeof(pattern))
        return;
    if (!glob(pattern, 0, NULL, &found))
        for (size_t i = 0; i < found.gl_pathc && length + strlen(found.gl_pathv[i]) + 2 < size; i++)
            length += (size_t)snprintf(out + length, size - length, "%s:", found.gl_pathv[i]);
    globfree(&found);
}

/* A shared library of NVIDIA's, by any of its names. It is not loaded: it would start threads. */
static void probe_shared(struct probe *probe, const char *name, const char *const *names,
                         const char *remedy)
{
    char toolkits[PATH_MAX], pip[PATH_MAX];
    folders_of_pip(pip, sizeof(pip));
    snprintf(toolkits, sizeof(toolkits), "%1$s/lib64:%1$s/lib:%1$s/extras/CUPTI/lib64", toolkit());
    const char *const lists[] = {getenv("LD_LIBRARY_PATH"), toolkits,
                                 "/usr/lib/x86_64-linux-gnu:/usr/lib64:/usr/lib:/usr/local/lib",
                                 pip};
    struct nvt_probe_item *item = add(probe, name, remedy);
    for (; *names; names++)
        for (size_t i = 0; i < NVT_COUNT_OF(lists); i++)
            if (find_file(item, lists[i], *names))
                return;
}

static void probe_cuda(struct probe *probe)
{
    static const char *const cupti[] = {"libcupti.so.13", "libcupti.so.12", NULL};
    static const char *const cublas[] = {"libcublas.so.13", "libcublas.so.12", NULL};
    static const char *const nccl[] = {"libnccl.so.2", NULL};
    probe->section = "CUDA";
    probe_driver(probe);
    struct nvt_probe_item *item =
        add(probe, "toolkit", "builds device code: NVIDIA's CUDA toolkit, in CUDA_HOME");
    int version = toolkit_version(item);
    if (version)
        found(item, "%d.%d in %s", version / 1000, version % 1000 / 10, toolkit());
    probe_shared(probe, "CUPTI", cupti, "records device activity: part of the CUDA toolkit");
    probe_shared(probe, "cuBLAS", cublas, "GEMMs on a GPU: part of the CUDA toolkit");
    probe_shared(probe, "NCCL", nccl, "tensors between GPUs: NVIDIA's libnccl2");
}

/* --- programs --------------------------------------------------------------------------------- */

static void probe_program(struct probe *probe, const char *name, const char *remedy)
{
    char path[PATH_MAX];
    struct nvt_probe_item *item = add(probe, name, remedy);
    if (!nvt_find_program(name, path, sizeof(path)))
        found(item, "%s", path);
}

size_t nvt_probe(struct nvt_probe_item items[NVT_PROBE_MAX], bool has_workloads)
{
    struct probe probe = {items, 0, NULL};
    probe_built_in(&probe, has_workloads);
    probe_libraries(&probe, has_workloads);
    probe_machine(&probe);
    probe_cuda(&probe);
    probe.section = "programs";
    probe_program(&probe, "gnuplot", "draws the charts of `plot`: gnuplot-nox");
    probe_program(&probe, "nsys", "optional, for comparison: NVIDIA Nsight Systems");
    return probe.count;
}
