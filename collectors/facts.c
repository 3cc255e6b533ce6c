#include "facts.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "../lib/count_of.h"
#include "../lib/date.h"
#include "../lib/processor.h"
#include "../lib/shell.h"
#include "../lib/version.h"

/* The longest command line that is kept. */
enum { COMMAND_BYTES_MAX = 4095 };

static int join(char *const argv[], struct nvt_buffer *out)
{
    if (nvt_shell_join(out, argv))
        return -1;
    out->size = out->size < COMMAND_BYTES_MAX ? out->size : COMMAND_BYTES_MAX;
    return nvt_buffer_append(out, "", 1);
}

int nvt_facts_write(struct nvt_output *output, const char *const *given, char *const argv[],
                    enum nvt_clock clock)
{
    static const char *const clocks[] = {"CLOCK_MONOTONIC", "TSC", "CNTVCT"};
    char date[NVT_DATE_SIZE], processor[256], system[256];
    struct nvt_buffer command = {0};
    struct utsname names;
    uname(&names);
    nvt_date(time(NULL), date);
    nvt_processor_name(processor, sizeof(processor));
    int failed = join(argv, &command);
    snprintf(system, sizeof(system), "%s %s", names.sysname, names.release);
    const char *const ours[][2] = {
        {"host", names.nodename},   {"date", date},
        {"device", processor},      {"system", system},
        {"machine", names.machine}, {"command", failed ? "" : (const char *)command.data},
        {"nvtally", NVT_VERSION},   {"clock", clocks[clock]},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(ours) && !failed; i++)
        failed = nvt_output_fact(output, ours[i][0], ours[i][1]);
    for (; given && given[0] && given[1] && !failed; given += 2)
        failed = nvt_output_fact(output, given[0], given[1]);
    nvt_buffer_free(&command);
    return failed ? -1 : 0;
}
