#include "python_stacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const reasons[NVT_PYTHON_STATES] = {
    [NVT_PYTHON_NOT_YET] = ("nvtally's sitecustomize had not run (Python was starting, runs with "
                            "-S, -I or -E, or is embedded without site)"),
    [NVT_PYTHON_NO_HANDLER] = "this Python has no working faulthandler.register",
    [NVT_PYTHON_SILENT] =
        ("Python's faulthandler wrote nothing (the thread has no Python state, or "
         "another dump was under way)"),
    [NVT_PYTHON_BUSY] = "other threads or a fork kept Python's faulthandler busy",
    [NVT_PYTHON_LEFT] =
        "Python's faulthandler failed on a broken frame and has written nothing since",
    [NVT_PYTHON_UNREGISTERED] = "the program called faulthandler.unregister for all signals",
    [NVT_PYTHON_ENDS] = "Python was coming to an end",
    [NVT_PYTHON_TAKEN_BACK] =
        "Python came to an end, or the program called faulthandler.unregister for all signals",
};

int nvt_python_note(const struct nvt_python_stacks *stacks, char *out, size_t size)
{
    uint64_t missing = 0;
    for (int state = NVT_PYTHON_TOLD + 1; state < NVT_PYTHON_STATES; state++)
        missing += stacks->samples[state];
    uint64_t all = missing + stacks->samples[NVT_PYTHON_TOLD];
    if (missing < NVT_PYTHON_FEW || missing * 10 <= all)
        return 0;
    snprintf(out, size, "Python's stack is missing in %.0f %% of %" PRIu64 " samples of Python",
             100 * (double)missing / (double)all, all);
    const char *between = ": ";
    for (int state = NVT_PYTHON_TOLD + 1; state < NVT_PYTHON_STATES; state++) {
        size_t length = strlen(out);
        if (stacks->samples[state] * 10 < missing)
            continue;
        snprintf(out + length, size - length, "%s%" PRIu64 ": %s", between, stacks->samples[state],
                 reasons[state]);
        between = "; ";
    }
    return 1;
}
