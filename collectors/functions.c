#include "functions.h"

#include <stdlib.h>
#include <string.h>

#include "../lib/buffer.h"
#include "../lib/count_of.h"
#include "../lib/demangle.h"
#include "../lib/grow.h"
#include "../lib/map.h"
#include "output.h"
#include "symbols.h"

struct file {
    struct nvt_symbols *symbols; /* NULL: nobody has asked */
    uint32_t module;             /* string: its path */
    /* what stands for functions without a name; NVT_NO_STRING: there was none yet */
    uint32_t unknown;
    int is_python, is_ours;
};

struct nvt_functions {
    struct nvt_output *output;
    struct nvt_demangler *demangler;
    struct nvt_map by_path; /* string -> number of a file */
    struct file *files;     /* by number less 1 */
    size_t file_count;
    struct nvt_map by_place; /* file << 48 | place -> row */
    struct nvt_function *items;
    size_t count;
};

struct nvt_functions *nvt_functions_new(struct nvt_output *output)
{
    struct nvt_functions *functions = calloc(1, sizeof(*functions));
    if (functions) {
        functions->output = output;
        functions->demangler = nvt_demangler_new();
    }
    return functions;
}

void nvt_functions_free(struct nvt_functions *functions)
{
    if (!functions)
        return;
    for (size_t i = 0; i < functions->file_count; i++)
        nvt_symbols_free(functions->files[i].symbols);
    free(functions->files);
    free(functions->items);
    nvt_map_free(&functions->by_path);
    nvt_map_free(&functions->by_place);
    nvt_demangler_free(functions->demangler);
    free(functions);
}

static int begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* Files that calls of the system work with are none of these. */
static uint32_t unknown_of(struct nvt_functions *functions, struct file *file)
{
    struct nvt_buffer text = {0};
    const char *path = nvt_output_text(functions->output, file->module);
    const char *slash = strrchr(path, '/');
    if (file->unknown == NVT_NO_STRING &&
        !nvt_buffer_printf(&text, "[%s]", slash ? slash + 1 : path))
        file->unknown = nvt_output_string(functions->output, (const char *)text.data, text.size);
    nvt_buffer_free(&text);
    return file->unknown;
}

static int add_file(struct nvt_functions *functions, const char *path, uint32_t module)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (nvt_grow(&functions->files, functions->file_count, sizeof(*functions->files)))
        return -1;
    struct file file = {.module = module,
                        .unknown = NVT_NO_STRING,
                        .is_python = begins(name, "libpython") || begins(name, "python"),
                        .is_ours = begins(name, "libnvtally-inject.so") ||
                                   begins(name, "libnvtally-cpu-samples.so") ||
                                   begins(name, "libnvtally-os-calls.so") ||
                                   begins(name, "libnvtally-mpi-calls.so")};
    functions->files[functions->file_count++] = file;
    return 0;
}

uint32_t nvt_functions_file(struct nvt_functions *functions, const char *path)
{
    uint32_t module = nvt_output_string(functions->output, path, strlen(path));
    uint32_t *number =
        *path && module != NVT_NO_STRING ? nvt_map_at(&functions->by_path, module) : NULL;
    if (!number)
        return 0;
    if (*number == NVT_MAP_NONE)
        *number = add_file(functions, path, module) ? 0 : (uint32_t)functions->file_count;
    return *number;
}

static enum nvt_function_kind kind_of(const struct file *file, const char *name)
{
    static const char *const starts[] = {"_start",
                                         "__libc_start_main",
                                         "__libc_start_call_main",
                                         "__GI___clone3",
                                         "clone3",
                                         "__clone3",
                                         "clone",
                                         "__clone",
                                         "start_thread"};
    if (file->is_ours)
        return NVT_FUNCTION_OURS;
    for (size_t i = 0; name && i < NVT_COUNT_OF(starts); i++)
        if (!strcmp(name, starts[i]) || (begins(name, starts[i]) && name[strlen(starts[i])] == '@'))
            return NVT_FUNCTION_START;
    if (file->is_python)
        return name && (begins(name, "_PyEval_EvalFrame") || begins(name, "PyEval_EvalFrame"))
                   ? NVT_FUNCTION_EVALUATES
                   : NVT_FUNCTION_INTERPRETER;
    return NVT_FUNCTION_PLAIN;
}

/* 0, or -1 when out of memory. */
static int look_up(struct nvt_functions *functions, struct file *file, uint64_t place,
                   struct nvt_function *function)
{
    if (!file->symbols) { /* of a library of 200 MB a tenth of a second, and nobody shall take us for dead */
        nvt_output_takes_time(functions->output, 1);
        file->symbols = nvt_symbols_read(nvt_output_text(functions->output, file->module));
        nvt_output_takes_time(functions->output, 0);
    }
    if (!file->symbols)
        return -1;
    const char *name = nvt_symbols_find(file->symbols, place);
    char *plain = name ? nvt_demangle(functions->demangler, name) : NULL;
    const char *text = plain ? plain : name;
    *function = (struct nvt_function){
        .name = text ? nvt_output_string(functions->output, text, strlen(text))
                     : unknown_of(functions, file),
        .module = file->module,
        .kind = kind_of(file, name),
        .is_known = name != NULL};
    free(plain);
    return function->name == NVT_NO_STRING ? -1 : 0;
}

int nvt_functions_find(struct nvt_functions *functions, uint32_t file, uint64_t place,
                       struct nvt_function *function)
{
    if (!file || file > functions->file_count) {
        static const char nowhere[] = "[code of no file]";
        *function = (struct nvt_function){
            .name = nvt_output_string(functions->output, nowhere, sizeof(nowhere) - 1)};
        return function->name == NVT_NO_STRING ? -1 : 0;
    }
    uint32_t *row = nvt_map_at(&functions->by_place, (uint64_t)file << 48 | place);
    if (!row)
        return -1;
    if (*row == NVT_MAP_NONE) {
        if (nvt_grow(&functions->items, functions->count, sizeof(*functions->items)) ||
            look_up(functions, &functions->files[file - 1], place,
                    &functions->items[functions->count]))
            return -1;
        *row = (uint32_t)functions->count++;
    }
    *function = functions->items[*row];
    return 0;
}
