/*
 * Every version of Python that there is here, for what depends on it.
 */
#ifndef NVT_TESTS_PYTHONS_H
#define NVT_TESTS_PYTHONS_H

#include <stdio.h>
#include <string.h>

#include "../lib/count_of.h"
#include "cli.h"

/* Of each version from 3.9 to 3.15, with a GIL and without, the first that is found: in PATH, in .deps/pythons, among those of
 * pyenv. */
static inline int find_python(const char *version, char *out, size_t size)
{
    char script[1024];
    snprintf(
        script, sizeof(script),
        "for python in \"$(command -v python%s)\" .deps/pythons/*/usr/bin/python%s "
        "\"${PYENV_ROOT:-$HOME/.pyenv}\"/versions/*/bin/python%s; do\n"
        "    [ -x \"$python\" ] && \"$python\" -c pass 2>/dev/null && echo \"$python\" && exit\n"
        "done\nexit 1",
        version, version, version);
    struct cli_result result = cli_run((const char *const[]){"sh", "-c", script, NULL});
    int is_there = !result.status && result.out[0];
    snprintf(out, size, "%.*s", (int)strcspn(result.out, "\n"), result.out);
    cli_result_free(&result);
    return is_there;
}

static const char *const versions[] = {"3.9",   "3.10", "3.11",  "3.12", "3.13",
                                       "3.13t", "3.14", "3.14t", "3.15", "3.15t"};

/* Call `check` with each of them; where there is none the test is skipped. */
static inline void with_every_python(void (*check)(const char *python))
{
    char python[1024];
    int count = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(versions); i++) {
        if (!find_python(versions[i], python, sizeof(python))) {
            print_message("no python%s here: not run\n", versions[i]);
            continue;
        }
        print_message("python%s: %s\n", versions[i], python);
        check(python);
        count++;
    }
    if (!count)
        skip();
}

#endif
