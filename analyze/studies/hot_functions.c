#include "hot_functions.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/grow.h"
#include "../../lib/map.h"
#include "../../lib/text.h"
#include "../model/cuda_names.h"

/* --- which functions there are --- */

/* "0x1234": an address that has no name. */
static int is_address(const char *name)
{
    if (strncmp(name, "0x", 2) != 0 || !name[2])
        return 0;
    for (name += 2; *name; name++)
        if (!isxdigit((unsigned char)*name))
            return 0;
    return 1;
}

/* "forward (model.py:117)": ends with a line in brackets. */
static int is_interpreted(const char *name)
{
    size_t length = strlen(name), digits = 0;
    if (length < 5 || name[length - 1] != ')')
        return 0;
    while (digits + 1 < length && isdigit((unsigned char)name[length - 2 - digits]))
        digits++;
    return digits && digits + 2 < length && name[length - 2 - digits] == ':' &&
           strstr(name, " (") != NULL;
}

int nvt_is_interpreter(const char *module)
{
    module += strncmp(module, "lib", 3) ? 0 : 3;
    if (strncmp(module, "python", 6) != 0 && strncmp(module, "pypy", 4) != 0)
        return 0;
    module += *module == 'p' && module[2] == 't' ? 6 : 4;
    return !*module || *module == '.' || isdigit((unsigned char)*module);
}

static enum nvt_function_owner owner_of(const char *name, const char *module)
{
    if (!*module)
        return is_interpreted(name) ? NVT_OF_PYTHON : NVT_OF_UNKNOWN;
    if (*module == '[')
        return NVT_OF_SYSTEM;
    if (nvt_is_interpreter(module))
        return NVT_OF_INTERPRETER;
    const char *ending = strstr(module, ".so");
    return ending && (!ending[3] || ending[3] == '.') ? NVT_OF_LIBRARY : NVT_OF_PROGRAM;
}

enum nvt_function_owner nvt_frame_owner(const struct nvt_trace *trace, uint32_t row)
{
    return owner_of(nvt_name(trace, trace->call_frames.name[row]),
                    nvt_file_name(nvt_name(trace, trace->call_frames.module[row])));
}

/* What the linker puts around main(), and Python around a thread's function. */
static int begins_thread(const char *name)
{
    return !strcmp(name, "_start") || !strncmp(name, "_bootstrap", 10) ||
           !strncmp(name, "run (threading.py:", 18);
}

int nvt_is_own_frame(const struct nvt_trace *trace, uint32_t row)
{
    enum nvt_function_owner owner = nvt_frame_owner(trace, row);
    return (owner == NVT_OF_PYTHON || owner == NVT_OF_PROGRAM) &&
           !begins_thread(nvt_name(trace, trace->call_frames.name[row]));
}

int nvt_put_own_callers(const struct nvt_trace *trace, uint32_t frame, struct nvt_buffer *text)
{
    enum { MOST = 3 };
    const struct nvt_call_frames *frames = &trace->call_frames;
    int count = 0, failed = 0;
    for (; frame && count < MOST && !failed; frame = frames->parent[frame - 1]) {
        if (!nvt_is_own_frame(trace, frame - 1))
            continue;
        const struct nvt_sampled_function function = {
            .name = nvt_name(trace, frames->name[frame - 1]),
            .module = nvt_file_name(nvt_name(trace, frames->module[frame - 1])),
            .owner = nvt_frame_owner(trace, frame - 1)};
        failed =
            nvt_buffer_printf(text, "%s%s", count++ ? " < " : "", NVT_FUNCTION_TEXT(&function));
    }
    return failed ? -1 : 0;
}

int nvt_is_nameless(const char *name)
{
    return !*name || is_address(name);
}

static const char *name_after(const char *module, char out[NVT_FRAME_NAME_MAX])
{
    snprintf(out, NVT_FRAME_NAME_MAX, *module == '[' ? "%.250s" : "[%.250s]", module);
    return out;
}

const char *nvt_frame_name(const struct nvt_trace *trace, uint32_t row,
                           char out[NVT_FRAME_NAME_MAX])
{
    const char *name = nvt_name(trace, trace->call_frames.name[row]);
    const char *module = nvt_file_name(nvt_name(trace, trace->call_frames.module[row]));
    if (!nvt_is_nameless(name))
        return name;
    return *module ? name_after(module, out) : NVT_UNKNOWN_FUNCTION;
}

/* "forward (model.py)" of "forward (model.py:117)", which has the line that runs. */
static uint32_t without_line(struct nvt_strings *texts, const char *name)
{
    char text[512];
    size_t length = (size_t)(strrchr(name, ':') - name);
    snprintf(text, sizeof(text), "%.*s)", (int)(length < 500 ? length : 500), name);
    return nvt_strings_add_text(texts, text);
}

/* "[libx.so.1]" of a module; NULL when out of memory. */
static const char *nameless(struct nvt_sampled_functions *functions, const char *module)
{
    char text[NVT_FRAME_NAME_MAX];
    if (!*module)
        return NVT_UNKNOWN_FUNCTION;
    uint32_t id = nvt_strings_add_text(functions->texts, name_after(module, text));
    return id == NVT_NO_STRING ? NULL : nvt_strings_get(functions->texts, id, NULL);
}

/* Without a name when out of memory. */
static struct nvt_sampled_function function_of(struct nvt_sampled_functions *functions,
                                               uint32_t frame)
{
    const struct nvt_trace *trace = functions->trace;
    struct nvt_sampled_function function = {
        .name = nvt_name(trace, trace->call_frames.name[frame]),
        .module = nvt_file_name(nvt_name(trace, trace->call_frames.module[frame]))};
    function.owner = owner_of(function.name, function.module);
    if (function.owner == NVT_OF_PYTHON) {
        uint32_t id = without_line(functions->texts, function.name);
        function.module = NVT_PYTHON_MODULE;
        function.name = id == NVT_NO_STRING ? NULL : nvt_strings_get(functions->texts, id, NULL);
        return function;
    }
    if (nvt_is_nameless(function.name))
        function.name = nameless(functions, function.module);
    return function;
}

/* What frames of one function have in common. 0, or -1 when out of memory. */
static int find_key(const struct nvt_sampled_functions *functions, uint32_t frame,
                    enum nvt_sampled_functions_by by, uint64_t *key)
{
    const struct nvt_trace *trace = functions->trace;
    const char *name = nvt_name(trace, trace->call_frames.name[frame]);
    const uint32_t module = trace->call_frames.module[frame];
    const int is_python = !module && is_interpreted(name);
    if (by == NVT_BY_MODULE) {
        *key = is_python ? UINT64_MAX : module;
        return 0;
    }
    uint32_t id = nvt_is_nameless(name) ? NVT_NONE : trace->call_frames.name[frame];
    if (is_python) {
        id = without_line(functions->texts, name);
        if (id == NVT_NO_STRING)
            return -1;
    }
    *key = (uint64_t)id << 32 | (is_python ? NVT_NONE : module);
    return 0;
}

/* The function of a frame, new or old. 0, or -1 when out of memory. */
static int find_function(struct nvt_sampled_functions *functions, struct nvt_map *known,
                         enum nvt_sampled_functions_by by, uint32_t frame)
{
    uint64_t key;
    uint32_t *at = find_key(functions, frame, by, &key) ? NULL : nvt_map_at(known, key);
    if (!at)
        return -1;
    if (*at == NVT_MAP_NONE) {
        if (nvt_grow(&functions->items, functions->count, sizeof(*functions->items)))
            return -1;
        functions->items[functions->count] = function_of(functions, frame);
        if (!functions->items[functions->count].name)
            return -1;
        if (by == NVT_BY_MODULE)
            functions->items[functions->count].name = "";
        *at = functions->count++;
    }
    functions->of_frame[frame] = *at;
    return 0;
}

/* --- where they stand --- */

/* Callers are lower rows. */
static void find_own_callers(struct nvt_sampled_functions *functions)
{
    const struct nvt_call_frames *frames = &functions->trace->call_frames;
    const uint32_t *of = functions->of_frame;
    uint32_t *own = functions->own_caller;
    for (uint32_t i = 0; i < frames->count; i++) {
        uint32_t caller = frames->parent[i];
        if (caller && !nvt_is_own_function(functions, of[caller - 1]))
            caller = own[caller - 1];
        if (caller && of[caller - 1] == of[i])
            caller = own[caller - 1];
        own[i] = caller;
    }
}

/* Frames by their callers: the last of those that each calls, and the one before each; rows and 1, 0 for none. */
struct tree {
    uint32_t *last, *before; /* last[0]: of what nobody called */
};

/* 0, or -1 when out of memory. */
static int make_tree(struct tree *tree, const struct nvt_call_frames *frames)
{
    tree->last = calloc((size_t)frames->count + 1, sizeof(*tree->last));
    tree->before = calloc((size_t)frames->count + 1, sizeof(*tree->before));
    for (uint32_t i = 0; tree->last && tree->before && i < frames->count; i++) {
        tree->before[i] = tree->last[frames->parent[i]];
        tree->last[frames->parent[i]] = i + 1;
    }
    return tree->last && tree->before ? 0 : -1;
}

/* Go through all stacks, counting how often each function is on the present one. */
static void find_outermost(struct nvt_sampled_functions *functions, const struct tree *tree,
                           uint32_t *on_stack)
{
    const struct nvt_call_frames *frames = &functions->trace->call_frames;
    uint32_t row = tree->last[0];
    while (row) {
        uint32_t frame = row - 1;
        functions->is_outermost[frame] = !on_stack[functions->of_frame[frame]]++;
        if (tree->last[row]) {
            row = tree->last[row];
            continue;
        }
        while (row) { /* back to where another one is left */
            frame = row - 1;
            on_stack[functions->of_frame[frame]]--;
            if (tree->before[frame]) {
                row = tree->before[frame];
                break;
            }
            row = frames->parent[frame];
        }
    }
}

static int place(struct nvt_sampled_functions *functions)
{
    struct tree tree = {NULL, NULL};
    uint32_t *on_stack = calloc((size_t)functions->count + 1, sizeof(*on_stack));
    int status = on_stack && !make_tree(&tree, &functions->trace->call_frames) ? 0 : -1;
    if (!status)
        find_outermost(functions, &tree, on_stack);
    free(tree.last);
    free(tree.before);
    free(on_stack);
    return status;
}

static int all_have_times(const struct nvt_cpu_samples *samples)
{
    for (uint32_t i = 0; i < samples->count; i++)
        if (samples->cpu_ns[i] <= 0)
            return 0;
    return 1;
}

int nvt_sampled_functions_make(struct nvt_sampled_functions *functions,
                               const struct nvt_trace *trace, enum nvt_sampled_functions_by by,
                               struct nvt_error *err)
{
    const size_t frames = trace->call_frames.count;
    struct nvt_map known = {0};
    functions->trace = trace;
    functions->has_times = all_have_times(&trace->cpu_samples);
    functions->of_frame = malloc((frames + 1) * sizeof(*functions->of_frame));
    functions->own_caller = malloc((frames + 1) * sizeof(*functions->own_caller));
    functions->is_outermost = calloc(frames + 1, 1);
    functions->texts = nvt_strings_new();
    int status = functions->of_frame && functions->own_caller && functions->is_outermost &&
                         functions->texts &&
                         !nvt_grow(&functions->items, 0, sizeof(*functions->items))
                     ? 0
                     : -1;
    if (!status)
        functions->items[functions->count++] =
            (struct nvt_sampled_function){NVT_UNKNOWN_FUNCTION, "", NVT_OF_UNKNOWN};
    for (uint32_t i = 0; i < frames && !status; i++)
        status = find_function(functions, &known, by, i);
    if (!status) {
        find_own_callers(functions);
        status = place(functions);
    }
    nvt_map_free(&known);
    return status ? nvt_fail_at(err, trace->path, -1, "out of memory") : 0;
}

void nvt_sampled_functions_free(struct nvt_sampled_functions *functions)
{
    free(functions->items);
    free(functions->of_frame);
    free(functions->own_caller);
    free(functions->is_outermost);
    nvt_strings_free(functions->texts);
    *functions = (struct nvt_sampled_functions){0};
}

const char *nvt_function_text(const struct nvt_sampled_function *function,
                              char out[NVT_FUNCTION_TEXT_MAX])
{
    enum { NAME = 56, MODULE = 36 };
    size_t length = strlen(function->name);
    const char *own = function->name;
    int has_module = *function->module && *own != '[' && function->owner != NVT_OF_PYTHON;
    if (function->owner != NVT_OF_PYTHON && *own != '[' && strpbrk(own, "(<:"))
        own = nvt_short_name(own, length, &length);
    snprintf(out, NVT_FUNCTION_TEXT_MAX, "%.*s%s%.*s%s", (int)(length < NAME ? length : NAME), own,
             has_module ? " (" : "", MODULE, has_module ? function->module : "",
             has_module ? ")" : "");
    return out;
}

/* --- samples --- */

int nvt_hot_begin(struct nvt_hot *hot, const struct nvt_sampled_functions *functions)
{
    const size_t frames = functions->trace->call_frames.count;
    *hot = (struct nvt_hot){.functions = functions};
    hot->items = calloc((size_t)functions->count + 1, sizeof(*hot->items));
    hot->frame_all = calloc(frames + 1, sizeof(*hot->frame_all));
    hot->frame_samples = calloc(frames + 1, sizeof(*hot->frame_samples));
    return hot->items && hot->frame_all && hot->frame_samples ? 0 : -1;
}

static void add_to(int64_t *sum, int64_t weight)
{
    *sum = nvt_clock_sum(*sum, weight);
}

void nvt_hot_add(struct nvt_hot *hot, uint32_t sample)
{
    const struct nvt_cpu_samples *samples = &hot->functions->trace->cpu_samples;
    const int64_t weight = nvt_sample_weight(hot->functions, sample);
    struct nvt_hot_function *item = &hot->items[nvt_function_of(hot->functions, sample)];
    const int is_alone = samples->flags[sample] & NVT_CPU_SAMPLE_NO_CALLERS;
    const uint32_t frame = samples->frame[sample];
    add_to(&item->self, weight);
    item->samples++;
    add_to(&hot->all, weight);
    hot->samples++;
    hot->alone += is_alone != 0;
    if (!frame || is_alone) {
        add_to(&item->total, weight);
        item->total_samples++;
        return;
    }
    add_to(&hot->frame_all[frame - 1], weight);
    hot->frame_samples[frame - 1]++;
}

void nvt_hot_finish(struct nvt_hot *hot)
{
    const struct nvt_sampled_functions *functions = hot->functions;
    const struct nvt_call_frames *frames = &functions->trace->call_frames;
    for (uint32_t i = frames->count; i-- > 0;) {
        if (!hot->frame_samples[i])
            continue;
        if (frames->parent[i]) {
            add_to(&hot->frame_all[frames->parent[i] - 1], hot->frame_all[i]);
            hot->frame_samples[frames->parent[i] - 1] += hot->frame_samples[i];
        }
        if (!functions->is_outermost[i])
            continue;
        struct nvt_hot_function *item = &hot->items[functions->of_frame[i]];
        add_to(&item->total, hot->frame_all[i]);
        item->total_samples += hot->frame_samples[i];
    }
}

void nvt_hot_free(struct nvt_hot *hot)
{
    free(hot->items);
    free(hot->frame_all);
    free(hot->frame_samples);
    *hot = (struct nvt_hot){0};
}

/* Where two functions have the same time, the one with the lesser number comes first. */
uint32_t nvt_hot_most(const struct nvt_hot *hot, uint32_t *functions, uint32_t most)
{
    uint32_t count = 0, with_any = 0;
    for (uint32_t i = 0; i < hot->functions->count; i++) {
        const struct nvt_hot_function *item = &hot->items[i];
        if (!item->samples)
            continue;
        with_any++;
        uint32_t at = count;
        while (at && hot->items[functions[at - 1]].self < item->self)
            at--;
        if (at == most)
            continue;
        count += count < most;
        memmove(&functions[at + 1], &functions[at], (count - at - 1) * sizeof(*functions));
        functions[at] = i;
    }
    return with_any;
}

int nvt_hot_make(struct nvt_hot *hot, const struct nvt_sampled_functions *functions,
                 struct nvt_error *err)
{
    if (nvt_hot_begin(hot, functions))
        return nvt_fail_at(err, functions->trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < functions->trace->cpu_samples.count; i++)
        nvt_hot_add(hot, i);
    nvt_hot_finish(hot);
    return 0;
}
