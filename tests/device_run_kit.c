#include "device_run_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../lib/count_of.h"

/* NAME=VALUE, unless the test has set that itself. */
static const char *unless_set(const char *name, const char *setting)
{
    return getenv(name) ? NULL : setting;
}

struct cli_result device_run(const char *dry, const char *work, const char *iterations,
                             const char *const parts[])
{
    static char variables[5][4200];
    const char *argv[16] = {"tests/device/run"};
    snprintf(variables[0], sizeof(variables[0]), "BUILD=%s",
             cli_built(strcmp(dry, "emulated") ? "" : "emulated"));
    snprintf(variables[1], sizeof(variables[1]), "WORK=%s", cli_in(cli_folder, work));
    snprintf(variables[2], sizeof(variables[2]), "OUT=%s", cli_in(cli_folder, "packed"));
    snprintf(variables[3], sizeof(variables[3]), "ITERATIONS=%s", iterations);
    snprintf(variables[4], sizeof(variables[4]), "DRY=%s", dry);
    const char *environment[9] = {variables[0], variables[1], variables[2], variables[3],
                                  variables[4]};
    const char *const longer[] = {unless_set("WITHIN", "WITHIN=5400"),
                                  unless_set("LIMIT", "LIMIT=4800"),
                                  unless_set("ROW_LIMIT", "ROW_LIMIT=600")};
    for (size_t i = 0, count = 5; i < NVT_COUNT_OF(longer); i++)
        if (longer[i])
            environment[count++] = longer[i];
    struct cli_options options = {.environment = environment, .timeout_s = 600};
    for (size_t i = 0; parts[i]; i++)
        argv[i + 1] = parts[i];
    return cli_run_with(&options, argv);
}

const char device_failing_program[] =
    "#!/bin/sh\n"
    "while [ $# -gt 1 ]; do shift; done\n"
    "mkdir -p \"$1\"\n"
    "echo '{\"status\": \"error\", \"message\": \"an illegal address\"}' >\"$1/results.jsonl\"\n";

/* dmon tells who it is and stays. */
static const char held_device[] = "#!/bin/sh\n"
                                  "[ \"$1\" = dmon ] || exit 0\n"
                                  "echo $$ >\"$HELD\"\n"
                                  "exec sleep 300\n";

void device_put_program(const char *folder, const char *name, const char *text)
{
    mkdir(cli_in(cli_folder, folder), 0777);
    cli_write_file(cli_in(cli_in(cli_folder, folder), name), text, strlen(text));
    chmod(cli_in(cli_in(cli_folder, folder), name), 0777);
}

void device_put(const char *folder, const char *program)
{
    device_put_program(folder, "nvtally", program);
    device_put_program(folder, "libnvtally-cuda.so", "");
    device_put_program(folder, "nvidia-smi", held_device);
}

struct cli_result device_run_stood_in(const char *programs, const char *dry,
                                      const char *const parts[])
{
    char variables[7][4200], folder[4096];
    const char *argv[8] = {"tests/device/run"};
    snprintf(folder, sizeof(folder), "%s", cli_in(cli_folder, programs));
    snprintf(variables[0], sizeof(variables[0]), "BUILD=%s", folder);
    snprintf(variables[1], sizeof(variables[1]), "WORK=%s/work", folder);
    snprintf(variables[2], sizeof(variables[2]), "OUT=%s", cli_in(cli_folder, "packed"));
    snprintf(variables[3], sizeof(variables[3]), "HELD=%s/held", folder);
    snprintf(variables[4], sizeof(variables[4]), "PATH=%s:%s", folder, getenv("PATH"));
    snprintf(variables[5], sizeof(variables[5]), "DRY=%s", dry);
    const char *rounds = getenv("STANDS_IN_ROUNDS");
    snprintf(variables[6], sizeof(variables[6]), "ROUNDS=%s", rounds ? rounds : "1");
    const char *const environment[] = {variables[0], variables[1], variables[2], variables[3],
                                       variables[4], variables[5], variables[6], NULL};
    struct cli_options options = {.environment = environment, .timeout_s = 120};
    for (size_t i = 0; parts[i]; i++)
        argv[i + 1] = parts[i];
    return cli_run_with(&options, argv);
}

const char device_ok_program[] =
    "#!/bin/sh\n"
    "for word; do [ \"$before\" != -o ] || out=$word; before=$word; done\n"
    "[ \"$word\" != --list ] || { echo one; exit; }\n"
    "mkdir -p \"$out\"\n"
    "echo '{\"status\": \"ok\"}' >\"$out/results.jsonl\"\n";

void device_expect_steps(const char *log, const char *const steps[])
{
    for (size_t i = 0; steps[i]; i++) {
        const char *at = strstr(log, steps[i]);
        if (!at)
            fail_msg("no '%s' at this place in\n%s", steps[i], log);
        log = at + strlen(steps[i]);
    }
}

void device_expect_line(const struct cli_result *result, const char *goal, const char *said)
{
    const char *line = strstr(result->out, goal), *at = line ? strstr(line, said) : NULL;
    if (!at || at - line > (ptrdiff_t)strcspn(line, "\n"))
        fail_msg("'%s' does not say '%s' in\n%s", goal, said, result->out);
}
