#include "workload_ranges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Behind the ':' that follows, NULL: none does. */
static const char *behind_colon(const char *at)
{
    at += strspn(at, " ");
    return *at == ':' ? at + 1 : NULL;
}

double nvt_declared_number(const char *payload, const char *key)
{
    const char *at = strstr(payload, key), *type;
    at = at ? behind_colon(at + strlen(key)) : NULL;
    if (at && !strncmp(at, "{\"", 2) && (type = strchr(at + 2, '"')))
        at = behind_colon(type + 1);
    if (!at)
        return NAN;
    char *end;
    double value = strtod(at, &end);
    return end != at && isfinite(value) && value >= 0 ? value : NAN;
}

int nvt_is_workloads_domain(const struct nvt_trace *trace, uint32_t domain)
{
    return !strcmp(nvt_domain_name(trace, domain), "nvtally");
}

size_t nvt_configuration_workload(const char *name)
{
    const size_t first = strcspn(name, " ");
    for (const char *word = name + first; *word; word += strcspn(word, " ")) {
        word += strspn(word, " ");
        if (*word == '=' || strcspn(word, "=") >= strcspn(word, " "))
            continue;
        size_t end = (size_t)(word - name);
        while (end > first && name[end - 1] == ' ')
            end--;
        return end;
    }
    return first;
}

int nvt_range_is_configuration(const struct nvt_trace *trace, uint32_t range)
{
    if (!nvt_is_workloads_domain(trace, trace->ranges.domain[range]))
        return 0;
    const char *name = nvt_name(trace, trace->ranges.name[range]);
    size_t workload = strcspn(name, " =");
    return workload && name[workload] == ' ' && strchr(name + workload, '=');
}
