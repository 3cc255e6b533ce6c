#include "machine_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../analyze/readers/reader.h"

struct cli_result machine_record(const char *library, const char *wish, const char *what)
{
    char path[4200], asked[64];
    const char *environment[] = {path, asked, NULL};
    const char *argv[] = {"nvtally", "record",
                          "--trace", what,
                          "-o",      cli_in(cli_folder, "t.nvt"),
                          "--",      cli_client("flight"),
                          "500",     NULL};
    snprintf(path, sizeof(path), "LD_LIBRARY_PATH=%s", library ? cli_built(library) : "/nowhere");
    snprintf(asked, sizeof(asked), "NVML_STAND_IN=%s", wish);
    return cli_run_with(&(struct cli_options){.environment = environment}, argv);
}

struct nvt_trace *machine_recorded(const char *library, const char *wish)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct cli_result result = machine_record(library, wish, "nvtx,machine");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = nvt_trace_read(cli_in(cli_folder, "t.nvt"), &err);
    if (!trace)
        fail_msg("%s", err.message);
    return trace;
}
