#include "cuda_names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const char *nvt_copy_label(unsigned kind)
{
    static const char *const labels[NVT_COPY_KINDS] = {"Unknown",
                                                       "Host-to-Device",
                                                       "Device-to-Host",
                                                       "Host-to-Array",
                                                       "Array-to-Host",
                                                       "Array-to-Array",
                                                       "Array-to-Device",
                                                       "Device-to-Array",
                                                       "Device-to-Device",
                                                       "Host-to-Host",
                                                       "Peer-to-Peer",
                                                       "Unified Host-to-Device",
                                                       "Unified Device-to-Host",
                                                       "Unified Device-to-Device"};
    return labels[kind < NVT_COPY_KINDS ? kind : 0];
}

const char *nvt_memory_label(unsigned kind)
{
    static const char *const labels[NVT_KINDS] = {"Unknown",       "Pageable",      "Pinned",
                                                  "Device",        "Array",         "Managed",
                                                  "Device Static", "Managed Static"};
    return labels[kind < NVT_KINDS ? kind : 0];
}

const char *nvt_sync_label(unsigned type)
{
    static const char *const labels[NVT_SYNC_TYPES] = {"Unknown", "Event sync", "Stream wait sync",
                                                       "Stream sync", "Context sync"};
    return labels[type < NVT_SYNC_TYPES ? type : 0];
}

const char *nvt_overhead_label(unsigned type)
{
    static const char *const labels[NVT_OVERHEAD_TYPES] = {"Undefined",
                                                           "Unknown",
                                                           "Driver JIT compiler",
                                                           "Buffer flush",
                                                           "Instrumentation",
                                                           "Resource creation/destruction",
                                                           "Runtime module loading",
                                                           "Lazy function loading",
                                                           "Command buffer full"};
    return labels[type < NVT_OVERHEAD_TYPES ? type : 0];
}

unsigned nvt_overhead_type(const char *label)
{
    for (unsigned type = 0; type < NVT_OVERHEAD_TYPES; type++)
        if (!strcmp(label, nvt_overhead_label(type)))
            return type;
    return NVT_OVERHEAD_UNKNOWN;
}

const char *nvt_copy_name(unsigned kind, char out[NVT_COPY_NAME_MAX])
{
    snprintf(out, NVT_COPY_NAME_MAX, "[CUDA memcpy %s]", nvt_copy_label(kind));
    return out;
}

static const char graph_name[] = "[CUDA graph ";

const char *nvt_graph_name(uint64_t graph, char out[NVT_GRAPH_NAME_MAX])
{
    snprintf(out, NVT_GRAPH_NAME_MAX, "%s%llu]", graph_name, (unsigned long long)graph);
    return out;
}

int nvt_is_graph_name(const char *name)
{
    return !strncmp(name, graph_name, sizeof(graph_name) - 1);
}

static int is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '~' || c == '$';
}

/* "(anonymous namespace)" is part of a scope, not a list of parameters. */
static int is_anonymous(const char *name, size_t size, size_t at)
{
    static const char text[] = "(anonymous namespace)";
    return size - at >= sizeof(text) - 1 && !memcmp(name + at, text, sizeof(text) - 1);
}

/* A length as mangled names have it in front of a word; 0 where there is none that fits. */
static size_t word_length(const char *name, size_t size, size_t *at)
{
    size_t length = 0;
    while (*at < size && isdigit((unsigned char)name[*at]) && length <= size)
        length = length * 10 + (size_t)(name[(*at)++] - '0');
    return length <= size - *at ? length : 0;
}

/* The last word of a mangled function's scopes and name, of _ZN5aiter11rmsnorm_fwdIDF16b…; 0: it is none.
 * Scopes of kernels are namespaces, so what templates take stands behind it. */
static size_t mangled_word(const char *name, size_t size, size_t *length)
{
    size_t at = 2, start = 0;
    if (size < 4 || memcmp(name, "_Z", 2) != 0)
        return 0;
    int nested = name[at] == 'N';
    at += (size_t)nested;
    do {
        at += at + 1 < size && name[at] == 'L' && isdigit((unsigned char)name[at + 1]);
        size_t part = at < size ? word_length(name, size, &at) : 0;
        if (!part)
            break;
        start = at;
        *length = part;
        at += part;
    } while (nested);
    return start;
}

const char *nvt_short_name(const char *name, size_t size, size_t *length)
{
    size_t mangled = mangled_word(name, size, length);
    if (mangled)
        return name + mangled;
    size_t start = 0, end = 0;
    int depth = 0;
    /* The last word outside of any bracket before the parameters. */
    for (size_t i = 0; i < size; i++) {
        char c = name[i];
        if (c == '(' && !depth && end && !is_anonymous(name, size, i))
            break;
        if (c == '<' || c == '(' || c == '{' || c == '[')
            depth++;
        else if ((c == '>' && (!i || name[i - 1] != '-')) || c == ')' || c == '}' || c == ']')
            depth -= depth > 0;
        else if (!depth && is_word(c)) {
            if (end != i)
                start = i;
            end = i + 1;
        }
    }
    *length = end ? end - start : size;
    return end ? name + start : name;
}

size_t nvt_call_name_length(const char *name, size_t size)
{
    size_t end = size;
    while (end && isdigit((unsigned char)name[end - 1]))
        end--;
    if (size - end < 4 || size - end > 5 || end < 3 || memcmp(name + end - 2, "_v", 2))
        return size;
    return end - 2;
}
