/*
 * env.json: where, when and with what a sweep was run.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "../lib/create_file.h"
#include "../lib/date.h"
#include "../lib/processor.h"
#include "../lib/shell.h"
#include "../lib/version.h"
#include "sweep.h"

#ifndef NVT_GIT_REVISION
#define NVT_GIT_REVISION ""
#endif

static int join_command(const struct nvt_sweep *sweep, struct nvt_buffer *out)
{
    return nvt_buffer_printf(out, "nvtally ") || nvt_shell_join(out, sweep->argv) ||
                   nvt_buffer_append(out, "", 1)
               ? -1
               : 0;
}

static void join_levels(const struct nvt_sweep *sweep, char *out, size_t size)
{
    size_t length = 0;
    out[0] = 0;
    for (size_t i = 0; i < sweep->collect.count && length < size; i++)
        length += (size_t)snprintf(out + length, size - length, "%s%s", i ? "," : "",
                                   nvt_collect_levels[sweep->collect.values[i]]);
}

/* What was measured of it: "peak_flops_fp32" … in FLOP/s, "peak_flops_int8" in operations/s, "peak_bytes" in bytes/s, and when, if before. */
static void put_peak(struct nvt_json *json, const struct nvt_peak *peak, const char *date)
{
    static const char *const keys[] = {"peak_flops_fp32", "peak_flops_tf32", "peak_flops_bf16",
                                       "peak_flops_fp16"};
    for (int i = NVT_FP32; i <= NVT_FP16; i++)
        if (peak->flops[i] > 0)
            nvt_json_number(json, keys[i], peak->flops[i]);
    if (peak->int8 > 0)
        nvt_json_number(json, "peak_flops_int8", peak->int8);
    if (peak->bytes > 0)
        nvt_json_number(json, "peak_bytes", peak->bytes);
    if (*date)
        nvt_json_text(json, "peak_date", date);
}

static void put_machine(struct nvt_json *json, const struct nvt_sweep *sweep)
{
    const struct nvt_backend_facts *backend = &sweep->backend;
    struct utsname system;
    char processor[200];
    uname(&system);
    nvt_processor_name(processor, sizeof(processor));
    nvt_json_text(json, "backend", backend->name);
    nvt_json_text(json, "device", backend->device);
    nvt_json_text(json, "gpu", strcmp(backend->name, "host") ? backend->device : NULL);
    nvt_json_integer(json, "devices", backend->devices);
    nvt_json_text(json, "host", system.nodename);
    nvt_json_text(json, "machine", system.machine);
    nvt_json_text(json, "system", system.sysname);
    nvt_json_text(json, "kernel", system.release);
    nvt_json_text(json, "processor", processor[0] ? processor : NULL);
    nvt_json_integer(json, "cores", sysconf(_SC_NPROCESSORS_ONLN));
    nvt_json_integer(json, "memory_bytes",
                     (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
    if (backend->threads)
        nvt_json_integer(json, "threads", backend->threads);
    else
        nvt_json_null(json, "threads");
    nvt_json_text(json, "libraries", backend->libraries);
    put_peak(json, &sweep->peak, sweep->peak_date);
}

static int write_file(const char *path, const struct nvt_buffer *text, struct nvt_error *err)
{
    FILE *file = nvt_create_stream(path);
    int failed = !file || fwrite(text->data, 1, text->size, file) != text->size;
    int cause = errno;
    if (file && fclose(file) && !failed) {
        failed = 1;
        cause = errno;
    }
    return failed ? nvt_fail_at(err, path, -1, "cannot be written: %s", strerror(cause)) : 0;
}

int nvt_environment_write(const struct nvt_sweep *sweep, struct nvt_error *err)
{
    char path[4096], date[NVT_DATE_SIZE], levels[64];
    struct nvt_buffer out = {0}, command = {0};
    struct nvt_json json;
    nvt_date(time(NULL), date);
    int failed = join_command(sweep, &command);
    join_levels(sweep, levels, sizeof(levels));
    nvt_json_begin(&json, &out);
    nvt_json_text(&json, "date", date);
    put_machine(&json, sweep);
    nvt_json_text(&json, "collect", levels);
    nvt_json_text(&json, "nvtally", NVT_VERSION);
    nvt_json_text(&json, "compiler", __VERSION__);
    nvt_json_text(&json, "git_revision", NVT_GIT_REVISION[0] ? NVT_GIT_REVISION : NULL);
    nvt_json_text(&json, "command", failed ? NULL : (const char *)command.data);
    int status = nvt_json_end(&json) || failed ? nvt_fail(err, "out of memory") : 0;
    snprintf(path, sizeof(path), "%.4000s/env.json", sweep->directory);
    if (!status)
        status = write_file(path, &out, err);
    nvt_buffer_free(&out);
    nvt_buffer_free(&command);
    return status;
}
