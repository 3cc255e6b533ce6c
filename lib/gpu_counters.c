#include "gpu_counters.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "keyed_number.h"
#include "read_file.h"

/* Of linux/capability.h. */
#define SYS_ADMIN 21

static int has_capability(void)
{
    uint64_t effective;
    return nvt_keyed_number("/proc/self/status", "CapEff:", 16, &effective) > 0
               ? (int)(effective >> SYS_ADMIN & 1)
               : geteuid() == 0;
}

/* Whether anything has a name of this pattern. */
static int is_any(const char *proc, const char *pattern)
{
    char path[PATH_MAX];
    glob_t found;
    snprintf(path, sizeof(path), "%s/%s", proc, pattern);
    const int status = glob(path, GLOB_NOSORT, NULL, &found);
    if (!status)
        globfree(&found);
    return !status;
}

/* Whether a process of this name runs. */
static int is_running(const char *proc, const char *name)
{
    char path[PATH_MAX], comm[64];
    glob_t found;
    int is = 0;
    snprintf(path, sizeof(path), "%s/[0-9]*/comm", proc);
    if (glob(path, GLOB_NOSORT, NULL, &found))
        return 0;
    for (size_t i = 0; i < found.gl_pathc && !is; i++)
        is = nvt_read_line(found.gl_pathv[i], comm, sizeof(comm)) && !strcmp(comm, name);
    globfree(&found);
    return is;
}

/* What may be in the way of somebody who is allowed to. */
static void tell_others(const char *proc, char *why, size_t size)
{
    if (is_any(proc, "driver/nvidia/capabilities/gpu*/mig/gi*"))
        snprintf(why + strlen(why), size - strlen(why),
                 "; a GPU has MIG instances, in which some metrics are refused");
    if (is_running(proc, "nv-hostengine"))
        snprintf(why + strlen(why), size - strlen(why),
                 "; DCGM runs (nv-hostengine) and may have them (dcgmi profile --pause)");
}

enum nvt_gpu_counters nvt_gpu_counters_in(const char *proc, int is_admin, char *why, size_t size)
{
    char path[PATH_MAX];
    uint64_t is_restricted = 0;
    snprintf(path, sizeof(path), "%s/driver/nvidia/params", proc);
    const int found = nvt_keyed_number(path, "RmProfilingAdminOnly:", 10, &is_restricted);
    *why = 0;
    if (found < 0 && errno == ENOENT)
        return NVT_GPU_COUNTERS_NO_DRIVER;
    if (found <= 0) {
        snprintf(why, size, "cannot tell: %.200s: %s", path,
                 found ? strerror(errno) : "no RmProfilingAdminOnly in it");
        return NVT_GPU_COUNTERS_UNKNOWN;
    }
    if (is_restricted && !is_admin) {
        snprintf(
            why, size,
            "refused (ERR_NVGPUCTRPERM): the driver keeps them for administrators; load it with "
            "NVreg_RestrictProfilingToAdminUsers=0, or run with CAP_SYS_ADMIN");
        return NVT_GPU_COUNTERS_REFUSED;
    }
    snprintf(why, size, "%s", is_restricted ? "allowed, to administrators" : "allowed");
    tell_others(proc, why, size);
    return NVT_GPU_COUNTERS_ALLOWED;
}

enum nvt_gpu_counters nvt_gpu_counters(char *why, size_t size)
{
    return nvt_gpu_counters_in("/proc", has_capability(), why, size);
}
