#include "processor.h"

#include <stdlib.h>
#include <string.h>

#include "count_of.h"

/* Arm's (implementer 0x41) and NVIDIA's (0x4e) parts, as Linux's arch/arm64/include/asm/cputype.h has them. */
static const char *name_of_part(unsigned long maker, unsigned long part)
{
    static const struct {
        unsigned maker, part;
        const char *name;
    } parts[] = {{0x41, 0xd03, "Arm Cortex-A53"},  {0x41, 0xd07, "Arm Cortex-A57"},
                 {0x41, 0xd08, "Arm Cortex-A72"},  {0x41, 0xd0c, "Arm Neoverse N1"},
                 {0x41, 0xd40, "Arm Neoverse V1"}, {0x41, 0xd42, "Arm Cortex-A78AE"},
                 {0x41, 0xd49, "Arm Neoverse N2"}, {0x41, 0xd4f, "Arm Neoverse V2"},
                 {0x41, 0xd84, "Arm Neoverse V3"}, {0x41, 0xd8e, "Arm Neoverse N3"},
                 {0x4e, 0x003, "NVIDIA Denver 2"}, {0x4e, 0x004, "NVIDIA Carmel"}};
    for (size_t i = 0; i < NVT_COUNT_OF(parts); i++)
        if (parts[i].maker == maker && parts[i].part == part)
            return parts[i].name;
    return NULL;
}

/* The value of a line "KEY : VALUE", without its end; NULL: it has another key. */
static const char *value_of(char *line, const char *key)
{
    char *colon = strchr(line, ':');
    size_t length = strlen(key);
    if (!colon || strncmp(line, key, length) || line[length + strspn(line + length, " \t")] != ':')
        return NULL;
    colon[1 + strcspn(colon + 1, "\n")] = 0;
    return colon + 1 + strspn(colon + 1, " \t");
}

int nvt_processor_of(FILE *cpuinfo, char *out, size_t size)
{
    char line[512];
    unsigned long maker = 0, part = 0;
    while (fgets(line, sizeof(line), cpuinfo)) {
        const char *value = value_of(line, "model name");
        if (value && *value) {
            snprintf(out, size, "%s", value);
            return 1;
        }
        value = value_of(line, "CPU implementer");
        if (value && !maker)
            maker = strtoul(value, NULL, 16);
        value = value_of(line, "CPU part");
        if (value && !part)
            part = strtoul(value, NULL, 16);
    }
    const char *name = name_of_part(maker, part);
    if (name)
        snprintf(out, size, "%s", name);
    else if (maker)
        snprintf(out, size, "Arm processor 0x%02lx part 0x%03lx", maker, part);
    return maker != 0;
}

void nvt_processor_name(char *out, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (!file || !nvt_processor_of(file, out, size))
        snprintf(out, size, "unknown processor");
    if (file)
        fclose(file);
}
