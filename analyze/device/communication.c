#include "communication.h"

#include <stdatomic.h>
#include <string.h>
#include <strings.h>

#include "../../lib/count_of.h"
#include "../model/cuda_names.h"

/* Whether a word begins here, whatever case, and with or without '_' between its parts. */
static int begins(const char *text, const char *word)
{
    for (; *word; text++) {
        if (*text == '_')
            continue;
        if ((*text | 0x20) != *word)
            return 0;
        word++;
    }
    return 1;
}

int nvt_names_word(const char *text, const char *word)
{
    for (; *text; text++)
        if ((*text | 0x20) == *word && begins(text, word))
            return 1;
    return 0;
}

/* Every collective's name begins with one of three letters: most names are done with one pass. */
static int names_collective(const char *text)
{
    static const char *const words[] = {"allreduce", "allgather", "alltoall", "reducescatter",
                                        "crossdevicereduce"};
    for (; *text; text++)
        if ((*text | 0x20) == 'a' || (*text | 0x20) == 'r' || (*text | 0x20) == 'c')
            for (size_t i = 0; i < NVT_COUNT_OF(words); i++)
                if (begins(text, words[i]))
                    return 1;
    return 0;
}

/* Whether what a kernel is depends on its whole name. */
static int may_be_deep_ep(const char *name)
{
    return !strncmp(name, "dispatch", 8) || !strncmp(name, "combine", 7) ||
           !strncmp(name, "notify_", 7) || !strncmp(name, "cached_notify", 13);
}

int nvt_is_communication_name(const char *name, const char *whole)
{
    static const char *const prefixes[] = {"nccl", "nvshmem", "rccl", "msccl", "oneccl"};
    for (size_t i = 0; i < NVT_COUNT_OF(prefixes); i++)
        if (!strncasecmp(name, prefixes[i], strlen(prefixes[i])))
            return 1;
    if (!strncmp(name, "triton_", 7))
        return 0;
    if (names_collective(name))
        return !nvt_names_word(name, "gemm");
    return may_be_deep_ep(name) && strstr(whole, "deep_ep::") != NULL;
}

static int is_kernel(const struct nvt_trace *trace, uint32_t op)
{
    return nvt_is_communication_name(nvt_name(trace, trace->ops.short_name[op]),
                                     nvt_name(trace, trace->ops.name[op]));
}

int nvt_is_communication(const struct nvt_trace *trace, uint32_t op)
{
    enum { NOT_LOOKED_AT, IS, IS_NOT, DEPENDS };
    const uint32_t name = trace->ops.short_name[op];
    if (trace->ops.kind[op] != NVT_OP_KERNEL)
        return trace->ops.copy_kind[op] == NVT_COPY_PTOP;
    if (!trace->name_facts || name >= trace->name_fact_count)
        return is_kernel(trace, op);
    /* Relaxed: it is the whole of what is known, and each thread finds the same. */
    unsigned fact = atomic_load_explicit(&trace->name_facts[name], memory_order_relaxed);
    if (fact == NOT_LOOKED_AT) {
        fact = may_be_deep_ep(nvt_name(trace, name)) ? DEPENDS : is_kernel(trace, op) ? IS : IS_NOT;
        atomic_store_explicit(&trace->name_facts[name], (unsigned char)fact, memory_order_relaxed);
    }
    return fact == DEPENDS ? is_kernel(trace, op) : fact == IS;
}
