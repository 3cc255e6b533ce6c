#include "plain_names.h"

#include <stdlib.h>
#include <string.h>

/* Where a name's own part ends: at the first of the numbers that emit_nvtx appends. */
static size_t plain_length(const char *name)
{
    const char *op = strstr(name, ", op_id = "), *sequence = strstr(name, ", seq = ");
    const char *end = op && (!sequence || op < sequence) ? op : sequence;
    return end && end > name ? (size_t)(end - name) : strlen(name);
}

/* " at 0x7f8fee516940>" is where an object lay in one process: " at 0x*>". Shortens the name. */
static char *without_addresses(char *name)
{
    static const char at[] = " at 0x";
    size_t length = sizeof(at) - 1;
    for (char *found = name; found && (found = strstr(found, at)); found += length) {
        size_t digits = strspn(found + length, "0123456789abcdef");
        if (digits < 2 || found[length + digits] != '>')
            continue;
        found[length] = '*';
        memmove(found + length + 1, found + length + digits, strlen(found + length + digits) + 1);
    }
    return name;
}

char *nvt_plain_name(const char *name)
{
    static const char step[] = "ProfilerStep#";
    size_t prefix = sizeof(step) - 1;
    if (!strncmp(name, step, prefix) && name[prefix] &&
        !name[prefix + strspn(name + prefix, "0123456789")])
        return strdup("ProfilerStep#*");
    return without_addresses(strndup(name, plain_length(name)));
}

static const char functions_domain[] = "python_function";
#define DOMAIN_LENGTH (sizeof(functions_domain) - 1)

static int is_module(const char *name)
{
    static const char module[] = "nn.Module: ";
    return !strncmp(name, module, sizeof(module) - 1);
}

int nvt_is_python_function(const char *name)
{
    return !strncmp(name, functions_domain, DOMAIN_LENGTH) && name[DOMAIN_LENGTH] == ':' &&
           !is_module(name + DOMAIN_LENGTH + 1);
}

int nvt_is_function_of(const struct nvt_trace *trace, uint32_t functions, uint32_t range)
{
    return trace->domains.name[trace->ranges.domain[range]] == functions &&
           !is_module(nvt_name(trace, trace->ranges.name[range]));
}

uint32_t nvt_python_functions(const struct nvt_trace *trace)
{
    uint32_t found = nvt_strings_find(trace->strings, functions_domain, DOMAIN_LENGTH);
    for (uint32_t i = 0; found != NVT_NO_STRING && i < trace->ranges.count; i++)
        if (!nvt_is_function_of(trace, found, i))
            return found;
    return NVT_NONE;
}

/* The id of a name's plain form, NVT_NO_STRING when out of memory. */
static uint32_t plain(struct nvt_trace *trace, uint32_t id)
{
    char *shorter = nvt_plain_name(nvt_name(trace, id));
    uint32_t found = shorter ? nvt_strings_add_text(trace->strings, shorter) : NVT_NO_STRING;
    free(shorter);
    return found;
}

int nvt_plain_names(struct nvt_trace *trace, struct nvt_error *err)
{
    struct nvt_ranges *ranges = &trace->ranges;
    uint32_t count = nvt_strings_count(trace->strings);
    uint32_t *known = malloc(((size_t)count + 1) * sizeof(*known));
    for (uint32_t id = 0; known && id < count; id++)
        known[id] = NVT_NONE;
    int status = known ? 0 : -1;
    for (uint32_t i = 0; i < ranges->count && !status; i++) {
        uint32_t id = ranges->name[i];
        if (known[id] == NVT_NONE)
            known[id] = plain(trace, id);
        status = known[id] == NVT_NO_STRING ? -1 : 0;
        ranges->name[i] = known[id];
    }
    free(known);
    return status ? nvt_fail_at(err, trace->path, -1, "out of memory") : 0;
}
