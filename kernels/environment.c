/*
 * env.json: where, when and with what a sweep was run.
 */
#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "../lib/version.h"
#include "sweep.h"

#ifndef NVT_GIT_REVISION
#define NVT_GIT_REVISION ""
#endif

static void join_command(const struct nvt_sweep *sweep, struct nvt_buffer *out)
{
    nvt_buffer_printf(out, "nvtally");
    for (int i = 0; i < sweep->argc; i++)
        nvt_buffer_printf(out, " %s", sweep->argv[i]);
    nvt_buffer_append(out, "", 1);
}

static int64_t memory_bytes(void)
{
    return (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

int nvt_environment_write(const struct nvt_sweep *sweep, const char *device, struct nvt_error *err)
{
    char path[4096], date[64];
    struct nvt_buffer out = {0}, command = {0};
    struct nvt_json json;
    struct utsname system;
    struct tm calendar;
    time_t now = time(NULL);
    const char *revision = NVT_GIT_REVISION, *threads = getenv("OMP_NUM_THREADS");
    uname(&system);
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &calendar));
    join_command(sweep, &command);
    nvt_json_begin(&json, &out);
    nvt_json_text(&json, "date", date);
    nvt_json_text(&json, "backend", sweep->backend);
    nvt_json_text(&json, "device", device);
    nvt_json_text(&json, "host", system.nodename);
    nvt_json_text(&json, "machine", system.machine);
    nvt_json_text(&json, "kernel", system.release);
    nvt_json_integer(&json, "cores", sysconf(_SC_NPROCESSORS_ONLN));
    nvt_json_integer(&json, "memory_bytes", memory_bytes());
    nvt_json_text(&json, "threads", threads);
    nvt_json_text(&json, "collect", sweep->collect);
    nvt_json_text(&json, "nvtally", NVT_VERSION);
    nvt_json_text(&json, "compiler", __VERSION__);
    nvt_json_text(&json, "git_revision", revision[0] ? revision : NULL);
    nvt_json_text(&json, "command", (const char *)command.data);
    int status = nvt_json_end(&json);
    snprintf(path, sizeof(path), "%s/env.json", sweep->directory);
    FILE *file = fopen(path, "we");
    if (!file || status || fwrite(out.data, 1, out.size, file) != out.size)
        status = nvt_fail_at(err, path, -1, "cannot be written: %s", strerror(errno));
    if (file && fclose(file) && !status)
        status = nvt_fail_at(err, path, -1, "cannot be written: %s", strerror(errno));
    nvt_buffer_free(&out);
    nvt_buffer_free(&command);
    return status;
}
