#include "levels.h"

#include <stdio.h>
#include <string.h>

#include "../lib/count_of.h"
#include "../lib/suggest.h"
#include "ring.h"

/* The coarser view of graphs apart: with it, less is recorded. */
#define ALL                                                                                        \
    (NVT_TRACE_FULL | NVT_TRACE_UM | NVT_TRACE_MACHINE | NVT_TRACE_MPI | NVT_TRACE_OSRT |          \
     NVT_TRACE_CPU)

/* What a preset records where there is a GPU or not: processes that use no CUDA take no part in `kernel`. */
#define PYTHON                                                                                     \
    (NVT_TRACE_NVTX | NVT_TRACE_KERNEL | NVT_TRACE_OSRT | NVT_TRACE_CPU | NVT_TRACE_MACHINE)

enum word {
    LEVEL,   /* one of ours */
    SEVERAL, /* several of ours: that there is nothing of one of them is no surprise */
    NSYS,    /* a word of nsys, recorded as these */
    LIBRARY  /* a word of nsys: its calls are not recorded, the kernels of some are */
};

static const struct {
    const char *name;
    uint64_t bits;
    enum word word;
    const char *about; /* for --trace list; NULL: it is not listed */
} words[] = {
    {"nvtx", NVT_TRACE_NVTX, LEVEL, "NVTX ranges, marks and counters"},
    {"kernel", NVT_TRACE_KERNEL, LEVEL,
     "kernels, copies and memsets, and the calls that launch them"},
    {"api", NVT_TRACE_API, LEVEL, "every call of the CUDA runtime and driver"},
    {"memory", NVT_TRACE_MEMORY, LEVEL, "allocations and frees on devices"},
    {"sync", NVT_TRACE_SYNC, LEVEL, "waits for devices, streams and events"},
    {"overhead", NVT_TRACE_OVERHEAD, LEVEL,
     "the time that CUPTI and the driver took for themselves"},
    {"external", NVT_TRACE_EXTERNAL, LEVEL, "correlation ids that programs push on calls"},
    {"graph", NVT_TRACE_GRAPH, LEVEL, "a CUDA graph as one operation"},
    {"metrics", NVT_TRACE_METRICS, LEVEL,
     "counters of the GPU, sampled: SMs, tensor cores, DRAM, PCIe"},
    {"um", NVT_TRACE_UM, LEVEL, "managed memory: page faults and migrations"},
    {"machine", NVT_TRACE_MACHINE, LEVEL,
     "clocks, power, heat and load of the machine, and process"},
    {"process", NVT_TRACE_PROCESS, LEVEL, "the memory of each process"},
    {"mpi", NVT_TRACE_MPI | NVT_TRACE_NVTX, LEVEL, "MPI calls"},
    {"nccl", NVT_TRACE_NCCL | NVT_TRACE_NVTX, LEVEL, "NCCL's collectives and network transfers"},
    {"counters", NVT_TRACE_COUNTERS | NVT_TRACE_NVTX, LEVEL,
     "CPU time, page faults and switches of each range"},
    {"osrt", NVT_TRACE_OSRT, LEVEL, "OS calls that block"},
    {"cpu", NVT_TRACE_CPU, LEVEL, "samples of the functions that run on the host"},
    {"full", NVT_TRACE_FULL | NVT_TRACE_MACHINE, LEVEL,
     "all but counters, cpu, graph, metrics, mpi, nccl, osrt and um"},
    {"all", ALL, SEVERAL,
     "all but counters, graph, metrics and nccl, as far as this machine has it"},
    {"cuda", NVT_TRACE_KERNEL | NVT_TRACE_API, NSYS, "as in nsys: kernel,api"},
    {"cuda-sw", NVT_TRACE_KERNEL | NVT_TRACE_API, NSYS, NULL},
    {"cuda-hw", NVT_TRACE_KERNEL | NVT_TRACE_API, NSYS, NULL},
    {"cublas", NVT_TRACE_KERNEL, LIBRARY, NULL},
    {"cublas-verbose", NVT_TRACE_KERNEL, LIBRARY, NULL},
    {"cudla", NVT_TRACE_KERNEL, LIBRARY, NULL},
    {"cudla-verbose", NVT_TRACE_KERNEL, LIBRARY, NULL},
    {"cudnn", NVT_TRACE_KERNEL, LIBRARY, NULL},
    {"cusolver", NVT_TRACE_KERNEL, LIBRARY, NULL},
    {"cusolver-verbose", NVT_TRACE_KERNEL, LIBRARY, NULL},
    {"cusparse", NVT_TRACE_KERNEL, LIBRARY, NULL},
    {"cusparse-verbose", NVT_TRACE_KERNEL, LIBRARY, NULL},
    {"dx11", 0, LIBRARY, NULL},
    {"dx11-annotations", 0, LIBRARY, NULL},
    {"dx12", 0, LIBRARY, NULL},
    {"dx12-annotations", 0, LIBRARY, NULL},
    {"gds", 0, LIBRARY, NULL},
    {"nvvideo", 0, LIBRARY, NULL},
    {"openacc", NVT_TRACE_KERNEL, LIBRARY, NULL},
    {"opengl", 0, LIBRARY, NULL},
    {"opengl-annotations", 0, LIBRARY, NULL},
    {"openmp", 0, LIBRARY, NULL},
    {"openxr", 0, LIBRARY, NULL},
    {"openxr-annotations", 0, LIBRARY, NULL},
    {"oshmem", 0, LIBRARY, NULL},
    {"python-gil", 0, LIBRARY, NULL},
    {"s3", 0, LIBRARY, NULL},
    {"s3-verbose", 0, LIBRARY, NULL},
    {"syscall", 0, LIBRARY, NULL},
    {"tegra-accelerators", 0, LIBRARY, NULL},
    {"ucx", 0, LIBRARY, NULL},
    {"vulkan", 0, LIBRARY, NULL},
    {"vulkan-annotations", 0, LIBRARY, NULL},
    {"wddm", 0, LIBRARY, NULL},
};

static int fail_unknown(const char *text, const char *word, size_t length, struct nvt_error *err)
{
    char known[256] = "", name[64], hint[80];
    snprintf(name, sizeof(name), "%.*s", (int)length, word);
    struct nvt_suggestion suggestion = {.name = name};
    for (size_t i = 0; i < NVT_COUNT_OF(words); i++) {
        nvt_suggest(&suggestion, words[i].name);
        if (words[i].about)
            snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
                     *known ? ", " : "", words[i].name);
    }
    return nvt_fail(err, "--trace %.80s: there is no '%s'%s; the list may hold %s", text, name,
                    nvt_suggestion_text(&suggestion, hint, sizeof(hint)), known);
}

static void add(struct nvt_levels *levels, size_t word)
{
    size_t used = strlen(levels->unrecorded);
    levels->trace |= words[word].bits;
    if (words[word].word == LEVEL || words[word].word == NSYS)
        levels->asked |= words[word].bits;
    if (words[word].word == LIBRARY)
        snprintf(levels->unrecorded + used, sizeof(levels->unrecorded) - used, "%s%s",
                 used ? ", " : "", words[word].name);
}

/* The word of that text; as many as there are words: none is. */
static size_t word_of(const char *text, size_t length)
{
    size_t i = 0;
    while (i < NVT_COUNT_OF(words) &&
           (strlen(words[i].name) != length || strncmp(text, words[i].name, length) != 0))
        i++;
    return i;
}

/* A word of the list. Behind "metrics=" come names of metrics, up to a rate or a word that is a level; behind "counters=" those of
 * counters. */
static int take_word(const char *text, const char *at, size_t length, struct nvt_levels *levels,
                     struct nvt_error *err)
{
    static const char metrics[] = "metrics", counters[] = "counters=";
    const size_t prefix = sizeof(metrics) - 1, name = sizeof(counters) - 1;
    if (length >= prefix && !strncmp(at, metrics, prefix) &&
        (length == prefix || strchr("=@", at[prefix]))) {
        add(levels, word_of(metrics, prefix));
        levels->names_counters = 0;
        return nvt_metrics_wish_begin(&levels->metrics, at + prefix, length - prefix, err);
    }
    if (length >= name && !strncmp(at, counters, name)) {
        add(levels, word_of(counters, name - 1));
        levels->metrics.is_open = 0;
        levels->has_counters = levels->names_counters = 1;
        return nvt_counter_wish_add(&levels->counters, at + name, length - name, err);
    }
    const size_t word = word_of(at, length);
    if (word < NVT_COUNT_OF(words))
        add(levels, word);
    else if (levels->names_counters)
        return nvt_counter_wish_add(&levels->counters, at, length, err);
    else
        return levels->metrics.is_open ? nvt_metrics_wish_add(&levels->metrics, at, length, err)
                                       : fail_unknown(text, at, length, err);
    levels->metrics.is_open = levels->names_counters = 0;
    return 0;
}

int nvt_levels_parse(const char *text, struct nvt_levels *levels, struct nvt_error *err)
{
    *levels = (struct nvt_levels){0};
    const char *at = text;
    levels->is_none = !strcmp(text, "none");
    if (levels->is_none)
        return 0;
    do {
        const size_t length = strcspn(at, ",");
        if (take_word(text, at, length, levels, err))
            return -1;
        at += length;
    } while (*at++);
    if (levels->trace & NVT_TRACE_METRICS)
        nvt_metrics_wish_end(&levels->metrics);
    return levels->trace
               ? 0
               : nvt_fail(err,
                          "--trace %.80s: calls of %s are not recorded, and nothing else was named",
                          text, levels->unrecorded);
}

void nvt_levels_text(uint64_t trace, char *out, size_t size)
{
    *out = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(words) && words[i].word == LEVEL; i++) {
        size_t used = strlen(out);
        uint64_t bits = words[i].bits == NVT_TRACE_NVTX ? words[i].bits
                                                        : words[i].bits & ~(uint64_t)NVT_TRACE_NVTX;
        /* Those of one bit: what is several is made of these. */
        if (!(bits & (bits - 1)) && trace & bits)
            snprintf(out + used, size - used, "%s%s", used ? "," : "", words[i].name);
    }
}

void nvt_levels_host(uint64_t trace, char *out, size_t size)
{
    /* What tells most comes first. */
    snprintf(out, size, "%s%s%s", trace & NVT_TRACE_OSRT ? "" : ",osrt",
             trace & NVT_TRACE_CPU ? "" : ",cpu", trace & NVT_TRACE_MACHINE ? "" : ",machine");
    memmove(out, out + (*out == ','), strlen(out) + (*out != ','));
}

int nvt_levels_preset(const char *name, uint64_t *trace, struct nvt_error *err)
{
    *trace = PYTHON;
    return strcmp(name, "python") != 0 ? nvt_fail(err, "--preset %.80s: there is only python", name)
                                       : 0;
}

void nvt_levels_list(FILE *out)
{
    for (size_t i = 0; i < NVT_COUNT_OF(words); i++)
        if (words[i].about)
            fprintf(out, "%-9s %s\n", words[i].name, words[i].about);
}
