#include "pytorch_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

char pytorch_stand_in[PATH_MAX]; /* folder */

int pytorch_has_python(void)
{
    const char *const argv[] = {"python3", "-c", "import ctypes", NULL};
    struct cli_result result = cli_run(argv);
    int there = result.status == 0;
    cli_result_free(&result);
    if (!there)
        print_message("not run: there is no python3\n");
    return there;
}

struct cli_result pytorch_record(const char *path, const char *option, const char *argument)
{
    char variable[3 * PATH_MAX];
    snprintf(variable, sizeof(variable), "PYTHONPATH=%s", path);
    const char *const environment[] = {variable, NULL};
    const char *const argv[] = {"nvtally", "record",  "--pytorch", "-o",     recorded_path(),
                                "--",      "python3", option,      argument, NULL};
    struct cli_options options = {.environment = environment, .timeout_s = 60};
    return cli_run_with(&options, argv);
}

void pytorch_expect_count(const struct nvt_trace *trace, const char *name, uint32_t count)
{
    if (recorded_count(trace, name) != count)
        fail_msg("%u ranges %s, not %u", recorded_count(trace, name), name, count);
}

int pytorch_find_stand_in(void **state)
{
    return realpath("tests/pytorch", pytorch_stand_in) ? recorded_set_up(state) : -1;
}
