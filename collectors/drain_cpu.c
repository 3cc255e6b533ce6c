#include "drain_cpu.h"

#include <stdlib.h>
#include <string.h>

/* More frames than a record has: those of Python, which are 100 at most, and those of the thread. */
#define FRAMES_MOST 512u

struct frame {
    uint32_t name, module; /* strings of the output */
};

/* A stack in the making, the innermost function first. */
struct stack {
    struct nvt_function native[FRAMES_MOST];
    uint32_t native_count;
    struct frame python[FRAMES_MOST];
    uint32_t python_count;
};

static void forget_chunk(struct nvt_drain_cpu *cpu)
{
    nvt_frame_tree_free(&cpu->tree);
    cpu->frames.size = cpu->rows.size = 0;
    cpu->frame_count = cpu->count = cpu->asked = 0;
    cpu->sampled_ns = 0;
    memset(&cpu->python, 0, sizeof(cpu->python));
    cpu->failed = 0;
}

void nvt_drain_cpu_free(struct nvt_drain_cpu *cpu)
{
    forget_chunk(cpu);
    nvt_map_free(&cpu->files);
    nvt_buffer_free(&cpu->frames);
    nvt_buffer_free(&cpu->rows);
}

void nvt_drain_cpu_define(struct nvt_drain_cpu *cpu, uint64_t id, const char *path, size_t length)
{
    struct nvt_functions *functions = nvt_output_functions(cpu->output);
    char *text = functions ? strndup(path, length) : NULL;
    uint32_t *file = text ? nvt_map_at(&cpu->files, id) : NULL;
    if (file)
        *file = nvt_functions_file(functions, text);
    free(text);
}

/* --- Python's stack --------------------------------------------------------------------------------- */

/* The last part of a path, of a package's __init__.py the last two. */
static const char *short_path(const char *path)
{
    const char *slash = strrchr(path, '/'), *at = slash;
    if (!slash || strcmp(slash, "/__init__.py"))
        return slash ? slash + 1 : path;
    while (at > path && at[-1] != '/')
        at--;
    return at;
}

/* A line `  File "PATH", line N in NAME` as "NAME (FILE:N)". 0, or -1: it is none, or there is no memory. What imports modules
 * is left out, as Python leaves it out of its own messages, and so is what we have put around PyTorch's functions. */
static int take_line(struct nvt_drain_cpu *cpu, char *line, struct stack *stack)
{
    static const char begin[] = "  File \"", middle[] = "\", line ", in[] = " in ";
    static const char importer[] = "<frozen importlib.";
    struct nvt_buffer text = {0};
    if (strncmp(line, begin, sizeof(begin) - 1))
        return -1;
    char *path = line + sizeof(begin) - 1, *at = strstr(path, middle);
    for (char *next = at; next; next = strstr(next + 1, middle))
        at = next;
    char *name = at ? strstr(at, in) : NULL;
    if (!name || stack->python_count == FRAMES_MOST)
        return -1;
    *at = *name = 0;
    if (!strncmp(path, importer, sizeof(importer) - 1) ||
        !strcmp(short_path(path), "nvtally_pytorch.py"))
        return 0;
    uint32_t string = NVT_NO_STRING;
    if (!nvt_buffer_printf(&text, "%s (%s:%s)", name + sizeof(in) - 1, short_path(path),
                           at + sizeof(middle) - 1))
        string = nvt_output_string(cpu->output, (const char *)text.data, text.size);
    nvt_buffer_free(&text);
    if (string == NVT_NO_STRING) {
        cpu->failed = 1;
        return -1;
    }
    stack->python[stack->python_count++] = (struct frame){string, 0};
    return 0;
}

/* What follows the last end of a line was cut off. */
static void read_python(struct nvt_drain_cpu *cpu, const uint8_t *data, size_t size,
                        struct stack *stack)
{
    char *text = size ? strndup((const char *)data, size) : NULL;
    for (char *line = text, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        take_line(cpu, line, stack);
    }
    free(text);
}

/* --- stacks ----------------------------------------------------------------------------------------- */

static void read_native(struct nvt_drain_cpu *cpu, const uint8_t *data, uint32_t count,
                        struct stack *stack)
{
    struct nvt_functions *functions = nvt_output_functions(cpu->output);
    for (uint32_t i = 0; i < count && stack->native_count < FRAMES_MOST; i++) {
        uint64_t frame;
        struct nvt_function *to = &stack->native[stack->native_count];
        memcpy(&frame, data + i * sizeof(frame), sizeof(frame));
        uint32_t file =
            NVT_CPU_FRAME_FILE(frame) ? nvt_map_get(&cpu->files, NVT_CPU_FRAME_FILE(frame)) : 0;
        if (!functions || nvt_functions_find(functions, file == NVT_MAP_NONE ? 0 : file,
                                             NVT_CPU_FRAME_PLACE(frame), to)) {
            cpu->failed = 1;
            return;
        }
        if (to->kind == NVT_FUNCTION_OURS)
            continue;
        /* Functions of one file that nobody knows by name are one. */
        if (!to->is_known && stack->native_count && to[-1].name == to->name)
            continue;
        stack->native_count++;
    }
    while (stack->native_count > 1 &&
           stack->native[stack->native_count - 1].kind == NVT_FUNCTION_START)
        stack->native_count--;
}

static int is_interpreter(const struct nvt_function *function)
{
    return function->kind == NVT_FUNCTION_EVALUATES || function->kind == NVT_FUNCTION_INTERPRETER;
}

/* Whether it is Python that ran, and whether its stack is there: enum nvt_python_state. */
static unsigned state_of(const struct nvt_ring_cpu_sample *sample, const struct stack *stack)
{
    if (stack->python_count)
        return NVT_PYTHON_TOLD;
    if (sample->text || sample->python >= NVT_PYTHON_STATES) /* "<no Python frame>" */
        return NVT_PYTHON_NONE;
    for (uint32_t i = 0; i < stack->native_count; i++)
        if (is_interpreter(&stack->native[i]))
            return sample->python;
    return NVT_PYTHON_NONE;
}

/* How many of the native functions the innermost one of Python has called: those before Python's loop. Of these, what Python
 * itself has between its function and that of a library is left out, and what nobody knows by name. */
static uint32_t called_by_python(const struct stack *stack)
{
    uint32_t count = 0, other = 0;
    while (count < stack->native_count && stack->native[count].kind != NVT_FUNCTION_EVALUATES)
        count++;
    if (count == stack->native_count) /* the loop is not known by name: Python's first function */
        for (count = 0; count < stack->native_count && !is_interpreter(&stack->native[count]);)
            count++;
    for (uint32_t i = 0; i < count; i++)
        other = is_interpreter(&stack->native[i]) ? other : i + 1;
    if (other)
        return other;
    return count && !stack->native[count - 1].is_known ? 0 : count;
}

/* The frame of a function below another one, both as numbers and 1. 0: no memory. */
static uint32_t frame_below(struct nvt_drain_cpu *cpu, uint32_t parent, struct frame frame)
{
    uint32_t *number = nvt_frame_tree_at(&cpu->tree, parent, frame.name, frame.module);
    if (!number)
        return 0;
    if (*number == NVT_MAP_NONE) {
        if (nvt_buffer_varint(&cpu->frames, parent) ||
            nvt_buffer_varint(&cpu->frames, frame.name) ||
            nvt_buffer_varint(&cpu->frames, frame.module)) {
            cpu->frames.failed = 1;
            return 0;
        }
        *number = ++cpu->frame_count;
    }
    return *number;
}

/* The innermost frame of a stack, and 1. 0: no memory. */
static uint32_t frame_of(struct nvt_drain_cpu *cpu, const struct stack *stack)
{
    uint32_t frame = 0,
             native = stack->python_count ? called_by_python(stack) : stack->native_count;
    for (uint32_t i = stack->python_count; i-- > 0;)
        if (!(frame = frame_below(cpu, frame, stack->python[i])))
            return 0;
    for (uint32_t i = native; i-- > 0;)
        if (!(frame = frame_below(cpu, frame,
                                  (struct frame){stack->native[i].name, stack->native[i].module})))
            return 0;
    return frame;
}

static void put(struct nvt_drain_cpu *cpu, uint64_t ticks, uint64_t cpu_ns, unsigned flags,
                const struct stack *stack)
{
    uint32_t frame = frame_of(cpu, stack);
    if (!frame)
        cpu->failed = 1;
    if (!cpu->count)
        cpu->first = cpu->last = ticks;
    uint64_t step = ticks > cpu->last ? ticks - cpu->last : 0;
    if (nvt_buffer_varint(&cpu->rows, step) || nvt_buffer_varint(&cpu->rows, cpu_ns) ||
        nvt_buffer_varint(&cpu->rows, frame) || nvt_buffer_varint(&cpu->rows, flags)) {
        cpu->failed = 1;
        return;
    }
    cpu->last += step;
    cpu->sampled_ns += cpu_ns;
    cpu->count++;
    if (flags & NVT_CPU_ROW_WAITS)
        cpu->asked++;
    else
        cpu->python.samples[flags / NVT_CPU_ROW_PYTHON]++;
}

void nvt_drain_cpu_take(struct nvt_drain_cpu *cpu, uint64_t ticks, const uint8_t *data, size_t size)
{
    struct nvt_ring_cpu_sample sample;
    if (size < sizeof(sample))
        return;
    memcpy(&sample, data, sizeof(sample));
    data += sizeof(sample);
    size -= sizeof(sample);
    if (sample.frames > size / sizeof(uint64_t) ||
        sample.text > size - sample.frames * sizeof(uint64_t))
        return;
    struct stack *stack = calloc(1, sizeof(*stack));
    if (!stack) {
        cpu->failed = 1;
        return;
    }
    read_native(cpu, data, sample.frames, stack);
    read_python(cpu, data + sample.frames * sizeof(uint64_t), sample.text, stack);
    if (stack->native_count || stack->python_count) /* else it is the collector's own */
        put(cpu, sample.ticks ? sample.ticks : ticks, sample.cpu_ns,
            (sample.frames == 1 && !stack->python_count ? NVT_CPU_ROW_ALONE : 0) |
                (sample.cpu_ns ? 0 : NVT_CPU_ROW_WAITS) |
                state_of(&sample, stack) * NVT_CPU_ROW_PYTHON,
            stack);
    free(stack);
}

/* --- chunks ----------------------------------------------------------------------------------------- */

static int put_chunk(struct nvt_drain_cpu *cpu, struct nvt_buffer *out)
{
    return cpu->failed || cpu->frames.failed || nvt_buffer_varint(out, cpu->frame_count) ||
                   nvt_buffer_varint(out, NVT_CPU_FRAME_FIELDS) ||
                   nvt_buffer_append(out, cpu->frames.data, cpu->frames.size) ||
                   nvt_buffer_varint(out, NVT_CPU_ROW_FIELDS) ||
                   nvt_buffer_append(out, cpu->rows.data, cpu->rows.size)
               ? -1
               : 0;
}

void nvt_drain_cpu_flush(struct nvt_drain_cpu *cpu, int force, struct nvt_drain_totals *totals)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_buffer out = {0};
    const struct nvt_chunk chunk = {.kind = NVT_CHUNK_CPU_SAMPLES,
                                    .process = cpu->process,
                                    .thread = cpu->thread,
                                    .count = cpu->count,
                                    .first = cpu->first,
                                    .last = cpu->last};
    if ((!cpu->count && !cpu->failed) ||
        (cpu->frames.size + cpu->rows.size < nvt_output_chunk_bytes(cpu->output) && !force))
        return;
    int status = put_chunk(cpu, &out)
                     ? nvt_fail(&err, "out of memory")
                     : nvt_output_chunk(cpu->output, &chunk, out.data, out.size, &err);
    *(status ? &totals->unwritten : &totals->cpu_samples) += cpu->count - cpu->asked;
    totals->sampled_ns += cpu->sampled_ns;
    for (int i = 0; i < NVT_PYTHON_STATES; i++)
        totals->python.samples[i] += cpu->python.samples[i];
    if (status && !totals->error.message[0])
        totals->error = err;
    nvt_buffer_free(&out);
    forget_chunk(cpu);
}
