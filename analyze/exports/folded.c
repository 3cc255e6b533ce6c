/*
 * Collapsed stacks, "outer;inner;kernel 1234" with nanoseconds, bytes, or numbers of samples: what flamegraph.pl, inferno and
 * speedscope draw.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "../../lib/text.h"
#include "../model/nesting.h"
#include "../device/project.h"
#include "../studies/stacks.h"
#include "export.h"

/* One line, without what parts names from each other. */
static void put_folded_name(const char *name, FILE *out)
{
    fputs(*name ? "" : "(no name)", out);
    for (uint32_t character; (character = nvt_utf8_next(&name)) != 0;)
        nvt_utf8_write(character == ';' ? ',' : nvt_char_visible(character), out);
}

/* The path of a row from its outermost name down, of which `path` has room for the last ones. */
static void put_path(const struct nvt_stacks *stacks, uint32_t row, FILE *out)
{
    uint32_t path[NVT_NESTING_DEPTH], depth = 0;
    for (uint32_t at = row; at != NVT_NONE && depth < NVT_NESTING_DEPTH;
         at = stacks->items[at].parent)
        path[depth++] = at;
    fputs(stacks->items[row].depth >= NVT_NESTING_DEPTH ? "…;" : "", out);
    while (depth) {
        put_folded_name(nvt_stacks_name(stacks, path[--depth]), out);
        fputs(depth ? ";" : "", out);
    }
}

/* 0, 1: there are none, or -1. */
static int put_folded_stacks(const struct nvt_trace *trace, enum nvt_stacks_of what, FILE *out,
                             struct nvt_error *err)
{
    struct nvt_stacks stacks = {0};
    int status = nvt_stacks_make(&stacks, trace, what, NVT_ACROSS_WAITS, err), is_empty = 1;
    for (uint32_t i = 0; !status && i < stacks.count; i++) {
        uint32_t row = stacks.order[i];
        if (stacks.items[row].self <= 0)
            continue;
        put_path(&stacks, row, out);
        fprintf(out, " %" PRId64 "\n", stacks.items[row].self);
        is_empty = 0;
    }
    nvt_stacks_free(&stacks);
    return status ? status : is_empty;
}

static int write_host(const struct nvt_trace *trace, FILE *out, struct nvt_error *err)
{
    return put_folded_stacks(trace, NVT_STACKS_HOST, out, err);
}

static int write_device(const struct nvt_trace *trace, FILE *out, struct nvt_error *err)
{
    return put_folded_stacks(trace, NVT_STACKS_DEVICE, out, err);
}

static int write_memory(const struct nvt_trace *trace, FILE *out, struct nvt_error *err)
{
    return put_folded_stacks(trace, NVT_STACKS_MEMORY, out, err);
}

static int write_cpu(const struct nvt_trace *trace, FILE *out, struct nvt_error *err)
{
    return put_folded_stacks(trace, NVT_STACKS_CPU, out, err);
}

const struct nvt_exporter nvt_exporter_folded = {.name = "folded",
                                                 .about = "collapsed stacks: host time by ranges",
                                                 .of = "push/pop range",
                                                 .write = write_host};

const struct nvt_exporter nvt_exporter_folded_device = {
    .name = "folded-device",
    .about = "collapsed stacks: device time by ranges and operations",
    .of = "device operation",
    .write = write_device};

const struct nvt_exporter nvt_exporter_folded_memory = {
    .name = "folded-memory",
    .about = "collapsed stacks: memory in use at the peak, by the ranges that allocated it",
    .of = "memory event",
    .write = write_memory};

const struct nvt_exporter nvt_exporter_folded_cpu = {
    .name = "folded-cpu",
    .about = "collapsed stacks: CPU time by ranges and functions, from samples",
    .of = "CPU sample",
    .write = write_cpu};
