#include <stdlib.h>
#include <string.h>

#include "../../lib/buffer.h"
#include "../../lib/count_of.h"
#include "pickle_text.h"
#include "snapshot.h"

/* Functions of a stack that are looked at, the innermost ones. */
#define DEPTH 512

/* What only calls what is of interest, or gathers stacks: as the viewer of PyTorch (torch/cuda/_memory_viz.py) leaves it
 * out. */
static const char *const dull_functions[] = {"unwind::unwind",
                                             "CapturedTraceback::gather",
                                             "gather_with_cpp",
                                             "_start",
                                             "__libc_start_main",
                                             "PyEval_",
                                             "PyObject_",
                                             "PyFunction_",
                                             "wrap_kernel_",
                                             "call_boxed",
                                             "clone3",
                                             "start_thread"};
static const char *const dull_files[] = {
    "core/boxing",    "/Register",          "/Redispatch",      "pythonrun.c",
    "Modules/main.c", "Objects/call.c",     "methodobject.c",   "pycore_ceval.h",
    "ceval.c",        "cpython/abstract.h", "CUDACachingAlloc", "RegisterCompositeImplicit"};

static struct nvt_pickle_text text_of(const struct nvt_snapshot *snapshot, uint32_t frame,
                                      const char *key)
{
    return nvt_pickle_member(&snapshot->pickle, frame, key);
}

/* The operator's name in that of the function by which all of them are called: "at::_ops::linear::call(…)". */
static struct nvt_pickle_text operator_of(struct nvt_pickle_text function)
{
    static const char prefix[] = "at::_ops::";
    if (!nvt_pickle_text_begins(function, prefix))
        return (struct nvt_pickle_text){"", 0};
    struct nvt_pickle_text name = {function.at + strlen(prefix), function.size - strlen(prefix)};
    const char *end = memmem(name.at, name.size, "::call(", 7);
    name.size = end ? (size_t)(end - name.at) : 0;
    return name;
}

/* What a frame is. */
enum { PYTHON = 1, DULL = 2, OPERATOR = 4 };

static uint32_t traits_of(struct nvt_pickle_text function, struct nvt_pickle_text file)
{
    uint32_t traits = operator_of(function).size ? OPERATOR : 0;
    if (nvt_pickle_is_python(file))
        return traits | PYTHON |
               (nvt_pickle_text_ends(file, "nn/modules/module.py") &&
                        nvt_pickle_text_ends(function, "_call_impl")
                    ? DULL
                    : 0);
    for (size_t i = 0; i < NVT_COUNT_OF(dull_functions); i++)
        if (nvt_pickle_text_has(function, dull_functions[i]))
            return traits | DULL;
    for (size_t i = 0; i < NVT_COUNT_OF(dull_files); i++)
        if (nvt_pickle_text_has(file, dull_files[i]))
            return traits | DULL;
    return traits;
}

/* What a frame's function and file say of it, found once for each frame. -1 when out of memory. */
static int64_t known_traits(struct nvt_snapshot *snapshot, uint32_t frame)
{
    uint32_t *known = nvt_map_at(&snapshot->traits, frame);
    if (!known)
        return -1;
    if (*known == NVT_MAP_NONE)
        *known = traits_of(text_of(snapshot, frame, "name"), text_of(snapshot, frame, "filename"));
    return *known;
}

/* A C++ function without parameters and template arguments: "at::(anonymous namespace)::wrapper_CUDA_addmm". */
static int write_function(struct nvt_buffer *out, struct nvt_pickle_text function)
{
    static const char anonymous[] = "(anonymous namespace)";
    int depth = 0;
    for (size_t i = 0; i < function.size; i++) {
        struct nvt_pickle_text rest = {function.at + i, function.size - i};
        if (nvt_pickle_text_begins(rest, anonymous)) {
            if (!depth && nvt_buffer_append(out, anonymous, strlen(anonymous)))
                return -1;
            i += strlen(anonymous) - 1;
            continue;
        }
        if (!depth && *rest.at == '(' && out->size)
            break;
        depth += *rest.at == '<';
        if (!depth && nvt_buffer_append(out, rest.at, 1))
            return -1;
        depth -= *rest.at == '>' && depth;
    }
    return out->size ? 0 : nvt_buffer_append(out, function.at, function.size);
}

/* "forward (linear.py:117)"; without what is not known. */
static int write_name(struct nvt_snapshot *snapshot, uint32_t frame, struct nvt_buffer *out)
{
    struct nvt_pickle_text function = text_of(snapshot, frame, "name");
    struct nvt_pickle_text path = text_of(snapshot, frame, "filename"),
                           file = nvt_pickle_base(path);
    int64_t line = nvt_pickle_integer(&snapshot->pickle, frame, "line", 0);
    int status = nvt_pickle_is_python(path) ? nvt_buffer_append(out, function.at, function.size)
                                            : write_function(out, function);
    if (!status && file.size && !(file.size == 2 && !memcmp(file.at, "??", 2))) {
        status =
            nvt_buffer_printf(out, " (%.*s", (int)(file.size > 1000 ? 1000 : file.size), file.at);
        if (!status && line > 0)
            status = nvt_buffer_printf(out, ":%lld", (long long)line);
        if (!status)
            status = nvt_buffer_printf(out, ")");
    }
    return status;
}

/* The name of a frame, each made once; an operator's own is told by its call. NVT_NO_STRING when out of memory. */
static uint32_t name_of(struct nvt_snapshot *snapshot, uint32_t frame, int as_operator)
{
    uint32_t *known = nvt_map_at(&snapshot->names, (uint64_t)frame << 1 | (uint64_t)as_operator);
    if (!known)
        return NVT_NO_STRING;
    if (*known != NVT_MAP_NONE)
        return *known;
    struct nvt_buffer name = {0};
    struct nvt_pickle_text called = operator_of(text_of(snapshot, frame, "name"));
    int status = as_operator ? nvt_buffer_printf(&name, "aten::%.*s", (int)called.size, called.at)
                             : write_name(snapshot, frame, &name);
    if (!status && !name.size)
        status = nvt_buffer_printf(&name, "[unnamed]");
    *known = status ? NVT_NO_STRING
                    : nvt_strings_add(snapshot->trace->strings, (const char *)name.data, name.size);
    nvt_buffer_free(&name);
    return *known;
}

/* The row, and 1, of a function below its caller's. NVT_NONE when out of memory. */
static uint32_t row_below(struct nvt_snapshot *snapshot, uint32_t caller, uint32_t name)
{
    if (name == NVT_NO_STRING)
        return NVT_NONE;
    uint32_t *row = nvt_map_at(&snapshot->rows, (uint64_t)caller << 32 | name);
    if (!row)
        return NVT_NONE;
    if (*row == NVT_MAP_NONE)
        *row = nvt_call_frame_add(snapshot->trace,
                                  &(struct nvt_call_frame){.parent = caller, .name = name});
    return *row == NVT_NONE ? NVT_NONE : *row + 1;
}

struct frame {
    uint32_t at, traits;
};

/* Keep the frames of interest, innermost first. *called: whether the first of them stands for an operator. */
static size_t choose(struct frame *frames, size_t count, int *called)
{
    size_t python = 0, used = 0;
    while (python < count && !(frames[python].traits & PYTHON))
        python++;
    int has_python = python < count;
    *called = 0;
    for (size_t i = python; has_python && i-- > 0 && !*called;)
        if (frames[i].traits & OPERATOR) {
            frames[used++] = frames[i];
            *called = 1;
        }
    for (size_t i = has_python ? python : 0; i < count; i++)
        if (!(frames[i].traits & DULL) && (!has_python || frames[i].traits & PYTHON))
            frames[used++] = frames[i];
    return used;
}

static uint32_t add_stack(struct nvt_snapshot *snapshot, uint32_t list)
{
    struct frame frames[DEPTH];
    uint32_t frame, row = 0;
    size_t count = 0;
    struct nvt_pickle_walk walk = nvt_pickle_walk(&snapshot->pickle, list);
    while (count < DEPTH && nvt_pickle_next(&snapshot->pickle, &walk, &frame)) {
        if (nvt_pickle_kind(&snapshot->pickle, frame) != NVT_PICKLE_DICT)
            continue;
        int64_t traits = known_traits(snapshot, frame);
        if (traits < 0)
            return NVT_NONE;
        frames[count++] = (struct frame){frame, (uint32_t)traits};
    }
    if (!count)
        return 0;
    int called;
    size_t used = choose(frames, count, &called);
    while (used-- > 0 && row != NVT_NONE)
        row = row_below(snapshot, row, name_of(snapshot, frames[used].at, !used && called));
    return row;
}

uint32_t nvt_snapshot_stack(struct nvt_snapshot *snapshot, uint32_t frames)
{
    if (nvt_pickle_kind(&snapshot->pickle, frames) != NVT_PICKLE_LIST ||
        !snapshot->pickle.values[frames].size)
        return 0;
    uint32_t *known = nvt_map_at(&snapshot->stacks, frames);
    if (!known)
        return NVT_NONE;
    if (*known == NVT_MAP_NONE) {
        uint32_t row = add_stack(snapshot, frames);
        if (row == NVT_NONE)
            return NVT_NONE;
        *known = row;
    }
    return *known;
}
