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

const char *nvt_um_label(unsigned kind)
{
    static const char *const labels[] = {[NVT_UM_CPU_FAULT] = "CPU page fault",
                                         [NVT_UM_GPU_FAULT] = "GPU page fault",
                                         [NVT_UM_THRASHING] = "Thrashing",
                                         [NVT_UM_THROTTLING] = "Throttling",
                                         [NVT_UM_REMOTE_MAP] = "Remote map"};
    return kind >= NVT_UM_CPU_FAULT && kind <= NVT_UM_REMOTE_MAP ? labels[kind] : "Unknown";
}

const char *nvt_um_access_label(unsigned access)
{
    static const char *const labels[NVT_UM_ACCESSES] = {"Unknown", "Read", "Write", "Atomic",
                                                        "Prefetch"};
    return labels[access < NVT_UM_ACCESSES ? access : 0];
}

const char *nvt_um_move_label(unsigned cause)
{
    static const char *const labels[NVT_UM_MOVES] = {"Unknown",    "User prefetch",
                                                     "Page fault", "Speculative prefetch",
                                                     "Eviction",   "Access counters"};
    return labels[cause < NVT_UM_MOVES ? cause : 0];
}

const char *nvt_um_map_label(unsigned cause)
{
    static const char *const labels[NVT_UM_MAPS] = {"Unknown", "Coherence",     "Thrashing",
                                                    "Policy",  "Out of memory", "Eviction"};
    return labels[cause < NVT_UM_MAPS ? cause : 0];
}

int nvt_is_migration(unsigned copy_kind)
{
    return copy_kind >= NVT_COPY_UNIFIED_HTOD && copy_kind <= NVT_COPY_UNIFIED_DTOD;
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

size_t nvt_call_name_length(const char *name, size_t size)
{
    size_t end = size;
    while (end && isdigit((unsigned char)name[end - 1]))
        end--;
    if (size - end < 4 || size - end > 5 || end < 3 || memcmp(name + end - 2, "_v", 2))
        return size;
    return end - 2;
}

int nvt_is_bare_uuid(const char *text)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    size_t i = 0;
    while (form[i] && (form[i] == '-' ? text[i] == '-' : isxdigit((unsigned char)text[i])))
        i++;
    return !form[i] && !text[i];
}
