#include "record_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/pages.h"

static char *directory;

int recorded_set_up(void **state)
{
    (void)state;
    directory = cli_tempdir();
    return directory ? 0 : -1;
}

int recorded_tear_down(void **state)
{
    (void)state;
    cli_tempdir_remove(directory);
    return 0;
}

bool recorded_wipes(void)
{
    int status = 1;
    char *page = nvt_pages_new(1);
    assert_non_null(page);
    *page = 1;
    pid_t child = madvise(page, 1, MADV_WIPEONFORK) ? -1 : fork();
    if (!child)
        _exit(*page);
    if (child > 0)
        assert_int_equal(waitpid(child, &status, 0), child);
    munmap(page, 1);
    if (status)
        print_message("MADV_WIPEONFORK does nothing here: what forks is not run\n");
    return !status;
}

const char *recorded_in(const char *name)
{
    return cli_in(directory, name);
}

const char *recorded_path(void)
{
    return recorded_in("t.nvt");
}

struct cli_result recorded_run(const char *client, const char *argument)
{
    const char *argv[] = {"nvtally", "record",           "-o",     recorded_path(),
                          "--",      cli_client(client), argument, NULL};
    return cli_run(argv);
}

struct nvt_trace *recorded_trace_at(const char *path)
{
    char text[1200];
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_read(path, &err);
    if (!trace)
        fail_msg("%s", nvt_error_text(&err, text, sizeof(text)));
    return trace;
}

bool recorded_preloads(void)
{
    static const char sanitizer[] = "__asan_init", other[] = "__tsan_init";
    size_t size = 0;
    char *library = cli_read_file(cli_built("libnvtally-inject.so"), &size);
    assert_non_null(library);
    const bool has_one = memmem(library, size, sanitizer, strlen(sanitizer)) ||
                         memmem(library, size, other, strlen(other));
    free(library);
    if (has_one)
        print_message("the collector has a sanitizer: it is not preloaded\n");
    return !has_one;
}

struct nvt_trace *recorded_trace(void)
{
    return recorded_trace_at(recorded_path());
}

uint32_t recorded_calls(const struct nvt_trace *trace, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->apis.count; i++)
        count += !strcmp(nvt_name(trace, trace->apis.name[i]), name);
    return count;
}

uint32_t recorded_count(const struct nvt_trace *trace, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        count += !strcmp(nvt_name(trace, trace->ranges.name[i]), name) &&
                 !(trace->ranges.flags[i] & NVT_RANGE_UNCLOSED);
    return count;
}

uint32_t recorded_range(const struct nvt_trace *trace, const char *name)
{
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        if (!strcmp(nvt_name(trace, trace->ranges.name[i]), name))
            return i;
    fail_msg("no range '%s'", name);
    return 0;
}

uint32_t recorded_mark(const struct nvt_trace *trace, const char *name)
{
    for (uint32_t i = 0; i < trace->marks.count; i++)
        if (!strcmp(nvt_name(trace, trace->marks.name[i]), name))
            return i;
    fail_msg("no mark '%s'", name);
    return 0;
}
