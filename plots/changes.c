#include "changes.h"

#include <stdio.h>
#include <string.h>

#include "../analyze/comparison/compare_table.h"
#include "../lib/create_file.h"

/* Of an input that is about to be released. */
static int keep(void *context, size_t side, struct nvt_input *input, struct nvt_error *err)
{
    struct nvt_changes *changes = context;
    for (size_t i = 0; i < input->run_count; i++) {
        const char *command = nvt_record_text(&input->runs[i]->env, "command");
        if (command && nvt_strings_add_text(changes->commands, command) == NVT_NO_STRING)
            return nvt_fail(err, "out of memory");
    }
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        const char *command = nvt_trace_meta(trace, "record");
        command = command ? command : nvt_trace_meta(trace, "command");
        if (nvt_strings_add_text(changes->paths, trace->path) == NVT_NO_STRING ||
            (command && nvt_input_is_own(&input->traces[i]) &&
             nvt_strings_add_text(changes->commands, command) == NVT_NO_STRING))
            return nvt_fail(err, "out of memory");
        for (size_t k = 0; k < NVT_CHANGES_STACKS; k++)
            if (nvt_stack_changes_add(&changes->stacks[k], side, trace, err))
                return -1;
    }
    return 0;
}

/* The inputs' names, by side. 0, or -1 when out of memory. */
static int keep_names(struct nvt_changes *changes, int count, char **arguments)
{
    const int together = nvt_comparison_is_asked(count, arguments);
    size_t side = 0;
    for (int i = 0; i < count && side < NVT_SIDES; i++) {
        if (!strcmp(arguments[i], "vs")) {
            side++;
            continue;
        }
        if (!changes->names[side] && !(changes->names[side] = nvt_strings_new()))
            return -1;
        /* Without a folder's '/' at the end. */
        size_t length = strlen(arguments[i]);
        while (length > 1 && arguments[i][length - 1] == '/')
            length--;
        size_t from = length;
        while (from > 0 && arguments[i][from - 1] != '/')
            from--;
        from = from == length ? 0 : from;
        if (nvt_strings_add(changes->names[side], arguments[i] + from, length - from) ==
                NVT_NO_STRING ||
            nvt_strings_add_text(changes->paths, arguments[i]) == NVT_NO_STRING)
            return -1;
        side += !together;
    }
    return 0;
}

int nvt_changes_read(struct nvt_changes *changes, const struct nvt_comparison_request *how,
                     int memory, int count, char **arguments, struct nvt_error *err)
{
    static const enum nvt_stacks_of parts[NVT_CHANGES_STACKS] = {NVT_STACKS_HOST, NVT_STACKS_DEVICE,
                                                                 NVT_STACKS_CPU};
    const struct nvt_comparison_request request = {.command = how->command,
                                                   .window = how->window,
                                                   .iteration = how->iteration,
                                                   .tolerance = NVT_COMPARISON_TOLERANCE,
                                                   .is_one_list = 1,
                                                   .also = keep,
                                                   .context = changes};
    for (size_t k = 0; k < NVT_CHANGES_STACKS; k++)
        changes->stacks[k].what = parts[k];
    changes->paths = nvt_strings_new();
    changes->commands = nvt_strings_new();
    if (!changes->paths || !changes->commands || keep_names(changes, count, arguments))
        return nvt_fail(err, "out of memory");
    if (nvt_comparison_make(&changes->comparison, &request, count, arguments, err) ||
        nvt_comparison_check(&changes->comparison, memory, err))
        return -1;
    return nvt_comparison_note_outcomes(&changes->comparison, err);
}

void nvt_changes_free(struct nvt_changes *changes)
{
    nvt_comparison_free(&changes->comparison);
    for (size_t k = 0; k < NVT_CHANGES_STACKS; k++)
        nvt_stack_changes_free(&changes->stacks[k]);
    nvt_strings_free(changes->paths);
    nvt_strings_free(changes->commands);
    for (size_t side = 0; side < NVT_SIDES; side++)
        nvt_strings_free(changes->names[side]);
    *changes = (struct nvt_changes){.paths = NULL};
}

int nvt_changes_check_output(const struct nvt_strings *paths, const char *output,
                             struct nvt_error *err)
{
    const uint32_t count = paths ? nvt_strings_count(paths) : 0;
    for (uint32_t i = 1; i < count; i++)
        if (nvt_check_output(output, nvt_strings_get(paths, i, NULL), err))
            return -1;
    return 0;
}

void nvt_changes_side(const struct nvt_changes *changes, size_t side, char *out, size_t size)
{
    const struct nvt_strings *names = changes->names[side];
    /* The first string of a table is the empty one. */
    const uint32_t count = names ? nvt_strings_count(names) - 1 : 0;
    const char *first = count ? nvt_strings_get(names, 1, NULL) : "";
    if (count > 1)
        snprintf(out, size, "%c: %.40s and %u more", (char)('A' + side), first, count - 1);
    else
        snprintf(out, size, "%c: %s", (char)('A' + side), first);
}

struct nvt_table *nvt_changes_origin(const struct nvt_changes *changes, const char *title)
{
    static const struct nvt_column none[] = {{"", "", NVT_TEXT, 0, 0}};
    struct nvt_table *table = nvt_table_new("compare", title, none, 1);
    if (table)
        nvt_compare_set_provenance(table, &changes->comparison.groups, changes->comparison.sides);
    return table;
}
