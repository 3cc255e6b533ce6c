/*
 * Who made calls of CUDA, in profiles with stacks (with_stack=True): PyTorch writes each call of a function in Python as an event of
 * the category python_function, "train.py(12): step", with the line that the function begins in. Those that are open where a call
 * begins are its stack.
 *
 * Functions of the program's own are taken, not those around them and below them: PyTorch's ("torch/nn/modules/module.py(1783):
 * _call_impl"), what is built in ("<built-in method …>"), modules ("nn.Module: Linear_0"), and what of Python's library stands
 * between functions. PyTorch cuts off where packages lie, so of others it is not known whose they are: they are taken.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/buffer.h"
#include "../../lib/one_of.h"
#include "../model/sort.h"
#include "frames.h"
#include "kineto.h"

#define FUNCTIONS "python_function"

struct stacks {
    struct nvt_trace *trace;
    uint32_t functions; /* string of their domains */
    /* string of a range's name -> that of its function, 0: none of the program's own */
    struct nvt_map names;
    struct nvt_frame_tree tree;
    uint32_t *innermost; /* of each thread: the range of its innermost open function, NVT_NONE */
    /* Of each range: the one around it, NVT_NONE; and its stack, as calls have it. */
    uint32_t *around, *frame;
    uint32_t *range_order, *call_order; /* by their starts; NULL: they are in that order */
};

/* Where "(12): step" begins; NULL: it is no function in Python. */
static const char *line_of(const char *name)
{
    for (const char *at = name; (at = strchr(at, '(')); at++) {
        size_t digits = strspn(at + 1, "0123456789");
        if (digits && !strncmp(at + 1 + digits, "): ", 3))
            return at;
    }
    return NULL;
}

static int is_library(const char *name)
{
    static const char *const begins[] = {
        "<", "torch/", "contextlib.py(", "functools.py(", "runpy.py(", "threading.py("};
    static const char *const within[] = {"/site-packages/", "/dist-packages/", "/lib/python3."};
    return NVT_BEGINS_WITH_ONE_OF(name, begins) || NVT_HAS_ONE_OF(name, within);
}

/* "step (train.py:12)" of "/home/me/train.py(12): step": a string of the trace; 0: it is none of the program's own. NVT_NO_STRING when
 * out of memory. */
static uint32_t make_name(struct stacks *stacks, const char *name)
{
    struct nvt_buffer text = {0};
    const char *line = line_of(name);
    uint32_t made = NVT_NO_STRING;
    if (!line || is_library(name))
        return 0;
    int digits = (int)strspn(line + 1, "0123456789");
    const char *file = line;
    while (file > name && file[-1] != '/' && file[-1] != '\\')
        file--;
    if (!nvt_buffer_printf(&text, "%s (%.*s:%.*s)", line + 1 + digits + 3, (int)(line - file), file,
                           digits, line + 1))
        made = nvt_strings_add(stacks->trace->strings, (const char *)text.data, text.size);
    nvt_buffer_free(&text);
    return made;
}

/* The string of a function's name as stacks have it, made once for each name of a range. */
static uint32_t name_of(struct stacks *stacks, uint32_t range)
{
    uint32_t name = stacks->trace->ranges.name[range];
    uint32_t *at = nvt_map_at(&stacks->names, name);
    if (!at)
        return NVT_NO_STRING;
    if (*at == NVT_MAP_NONE)
        *at = make_name(stacks, nvt_name(stacks->trace, name));
    return *at;
}

/* The innermost function of a thread that is open at a moment. */
static uint32_t open_at(struct stacks *stacks, uint32_t thread, int64_t time)
{
    uint32_t *innermost = &stacks->innermost[thread];
    while (*innermost != NVT_NONE && stacks->trace->ranges.end[*innermost] <= time)
        *innermost = stacks->around[*innermost];
    return *innermost;
}

/* A range begins. 0, or -1 when out of memory. */
static int begin_range(struct stacks *stacks, uint32_t range)
{
    const struct nvt_ranges *ranges = &stacks->trace->ranges;
    uint32_t thread = ranges->thread[range];
    if (ranges->style[range] != NVT_PUSH_POP ||
        stacks->trace->domains.name[ranges->domain[range]] != stacks->functions)
        return 0;
    uint32_t around = open_at(stacks, thread, ranges->start[range]);
    uint32_t name = name_of(stacks, range), frame = around == NVT_NONE ? 0 : stacks->frame[around];
    if (name && name != NVT_NO_STRING) {
        frame = nvt_frames_below(&stacks->tree, stacks->trace, frame, name, 0);
        name = frame ? name : NVT_NO_STRING;
    }
    stacks->around[range] = around;
    stacks->frame[range] = frame;
    stacks->innermost[thread] = range;
    return name == NVT_NO_STRING ? -1 : 0;
}

/* Ranges and calls in the order of time. 0, or -1 when out of memory. */
static int walk(struct stacks *stacks)
{
    const struct nvt_ranges *ranges = &stacks->trace->ranges;
    struct nvt_apis *apis = &stacks->trace->apis;
    uint32_t next = 0;
    for (uint32_t i = 0; i < apis->count; i++) {
        uint32_t call = stacks->call_order ? stacks->call_order[i] : i;
        for (; next < ranges->count; next++) {
            uint32_t range = stacks->range_order ? stacks->range_order[next] : next;
            if (ranges->start[range] > apis->start[call])
                break;
            if (begin_range(stacks, range))
                return -1;
        }
        uint32_t function = open_at(stacks, apis->thread[call], apis->start[call]);
        if (function != NVT_NONE && stacks->frame[function])
            apis->frame[call] = stacks->frame[function];
    }
    return 0;
}

int nvt_kineto_stacks(struct nvt_trace *trace)
{
    struct stacks stacks = {.trace = trace,
                            .functions =
                                nvt_strings_find(trace->strings, FUNCTIONS, sizeof(FUNCTIONS) - 1)};
    if (stacks.functions == NVT_NO_STRING || !trace->apis.count || !trace->ranges.count)
        return 0;
    const size_t ranges = trace->ranges.count, threads = (size_t)trace->threads.count + 1;
    stacks.innermost = malloc(threads * sizeof(*stacks.innermost));
    stacks.around = malloc(ranges * sizeof(*stacks.around));
    stacks.frame = calloc(ranges, sizeof(*stacks.frame));
    int status = -1;
    if (stacks.innermost && stacks.around && stacks.frame) {
        memset(stacks.innermost, 0xff, threads * sizeof(*stacks.innermost));
        status = nvt_sort_order(trace->ranges.start, trace->ranges.end, trace->ranges.count,
                                &stacks.range_order) ||
                         nvt_sort_order(trace->apis.start, trace->apis.end, trace->apis.count,
                                        &stacks.call_order)
                     ? -1
                     : walk(&stacks);
    }
    nvt_map_free(&stacks.names);
    nvt_frame_tree_free(&stacks.tree);
    free(stacks.innermost);
    free(stacks.around);
    free(stacks.frame);
    free(stacks.range_order);
    free(stacks.call_order);
    return status;
}
