#include "facts.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "../lib/version.h"

static void read_processor(char *out, size_t size)
{
    char line[512];
    FILE *file = fopen("/proc/cpuinfo", "re");
    snprintf(out, size, "unknown");
    while (file && fgets(line, sizeof(line), file)) {
        char *value = strncmp(line, "model name", 10) ? NULL : strchr(line, ':');
        if (value) {
            value[strcspn(value, "\n")] = 0;
            snprintf(out, size, "%s", value + 2);
            break;
        }
    }
    if (file)
        fclose(file);
}

static void join(char *const argv[], char *out, size_t size)
{
    size_t used = 0;
    out[0] = 0;
    for (int i = 0; argv[i] && used < size - 1; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? " " : "", argv[i]);
}

int nvt_facts_write(struct nvt_output *output, const char *const *given, char *const argv[],
                    enum nvt_clock clock)
{
    static const char *const clocks[] = {"CLOCK_MONOTONIC", "TSC", "CNTVCT"};
    char date[64], processor[256], command[4096], system[256];
    struct utsname names;
    time_t now = time(NULL);
    struct tm calendar;
    uname(&names);
    gmtime_r(&now, &calendar);
    (void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &calendar); /* it fits */
    read_processor(processor, sizeof(processor));
    join(argv, command, sizeof(command));
    snprintf(system, sizeof(system), "%s %s", names.sysname, names.release);
    const char *const ours[][2] = {
        {"host", names.nodename},   {"date", date},
        {"device", processor},      {"system", system},
        {"machine", names.machine}, {"command", command},
        {"nvtally", NVT_VERSION},   {"clock", clocks[clock]},
    };
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
        if (nvt_output_fact(output, ours[i][0], ours[i][1]))
            return -1;
    for (; given && given[0] && given[1]; given += 2)
        if (nvt_output_fact(output, given[0], given[1]))
            return -1;
    return 0;
}
