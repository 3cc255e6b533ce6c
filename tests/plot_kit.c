#include "plot_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void plot_write_rows(const char *directory, const char *device)
{
    static const char *const lines[] = {"train\", \"variant\": null",
                                        "inference\", \"variant\": \"looped\"",
                                        "inference\", \"variant\": \"grouped\""};
    char *path = strdup(cli_in(directory, "results.jsonl"));
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    free(path);
    fputs("{\"workload\": \"linear\", \"size\": 64, \"batch\": 1, \"forward_ns_mean\": 20000, "
          "\"forward_ns_std\": 30000, \"backward_ns_mean\": 70000, \"backward_ns_std\": 1000, "
          "\"peak_allocated_bytes\": 1048576, \"parameters\": 4160}\n",
          out);
    for (int line = 0; line < 3; line++)
        for (int fragments = 2; fragments <= 8; fragments *= 4)
            fprintf(out,
                    "{\"workload\": \"fragmented\", \"size\": 64, \"batch\": 1, \"fragments\": %d, "
                    "\"mode\": \"%s, \"forward_ns_mean\": %d, \"forward_ns_std\": 500, "
                    "\"backward_ns_mean\": 90000, \"backward_ns_std\": null, "
                    "\"peak_allocated_bytes\": 2097152, \"parameters\": 4416}\n",
                    fragments, lines[line], 10000 * (line + 1) * fragments);
    fputs("{\"workload\": \"fragmented\", \"size\": 64, \"batch\": 1, \"fragments\": 32, \"mode\": "
          "\"train\", \"status\": \"oom\"}\n",
          out);
    fclose(out);
    char env[1000];
    snprintf(env, sizeof(env), "{\"backend\": \"host\", \"device\": \"%s\"}", device);
    cli_write_file(cli_in(directory, "env.json"), env, strlen(env));
}

struct cli_result plot_run(const char *a, const char *b, const char *c)
{
    const char *const argv[] = {"nvtally", "plot", a, b, c, NULL};
    return cli_run(argv);
}
