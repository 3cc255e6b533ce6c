/* Copies and memsets whose size a file does not tell: it is unknown in every report and export, never 0 and never part of a sum. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cli.h"
#include "read_kit.h"

#define OP(category, name, us, more)                                                               \
    "{\"ph\":\"X\",\"cat\":\"" category "\",\"name\":\"" name "\",\"pid\":0,\"tid\":7,\"ts\":" #us \
    ",\"dur\":5,\"args\":{\"device\":0,\"stream\":7,\"correlation\":" #us more "}}"
#define COPY "Memcpy HtoD (Pageable -> Device)"

static const char some[] =
    "{\"schemaVersion\":1,\"traceEvents\":[" OP("gpu_memcpy", COPY, 10, "") "," OP(
        "gpu_memcpy", COPY, 20, ",\"bytes\":1000000") "," OP("gpu_memset", "Memset (Device)", 30,
                                                             "") "]}";

static const char *write_some(void)
{
    const char *path = cli_in(cli_folder, "some.json");
    cli_write_file(path, some, strlen(some));
    return path;
}

static void expect_report(const char *report, const char *path, const char *expected)
{
    struct cli_result result =
        cli_run((const char *const[]){"nvtally", "stats", "-r", report, "-f", "csv", path, NULL});
    cli_expect_status(&result, 0);
    if (!strstr(result.out, expected))
        fail_msg("'%s' is not in '%s'", expected, result.out);
    cli_result_free(&result);
}

static void reports_leave_it_out(void **state)
{
    (void)state;
    const char *path = write_some();
    expect_report("cuda_gpu_mem_size_sum", path,
                  "\n1.000,1,1.000,1.000,1.000,1.000,0.000,[CUDA memcpy Host-to-Device]\n");
    expect_report("cuda_gpu_mem_time_sum", path, ",10000,2,");
    expect_report("cuda_gpu_trace", path, ",,,Pageable,Device,");
    expect_report("cuda_gpu_trace", path, ",1.000,200000.000,Pageable,Device,");
}

/* What is exported is read again with what was known. */
static void exports_leave_it_out(void **state)
{
    static const char *const formats[][2] = {
#ifdef HAVE_SQLITE
        {"sqlite", "s.sqlite"},
#endif
        {"chrome", "s.json"},
        {"perfetto", "s.pftrace"},
        {"nvt", "s.nvt"},
    };
    (void)state;
    const char *path = write_some();
    for (size_t i = 0; i < NVT_COUNT_OF(formats); i++) {
        const char *exported = kit_exported(path, formats[i][0], formats[i][1]);
        struct nvt_trace *trace = kit_read(exported);
        assert_int_equal(trace->ops.count, 3);
        for (uint32_t op = 0; op < 3; op++)
            assert_int_equal(trace->ops.bytes[op], op == 1 ? 1000000 : 0);
        nvt_trace_free(trace);
    }
    char *text = cli_read_file(kit_exported(path, "chrome", "t.json"), NULL);
    assert_null(strstr(text, "\"bytes\":0"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_leave_it_out),
        cmocka_unit_test(exports_leave_it_out),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
