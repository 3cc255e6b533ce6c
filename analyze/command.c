#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/wrap.h"

int nvt_command_fail(const struct nvt_error *err)
{
    return nvt_message_error(stderr, err);
}

void nvt_command_notes(const struct nvt_input *input)
{
    nvt_command_lines(input->notes.data, input->notes.size);
}

void nvt_command_warnings(const struct nvt_input *input)
{
    static const char begin[] = "warning: ";
    const char *at = (const char *)input->notes.data;
    size_t left = input->notes.size;
    while (left) {
        const char *end = memchr(at, '\n', left);
        const size_t length = end ? (size_t)(end - at) + 1 : left;
        if (length > sizeof(begin) - 1 && !memcmp(at, begin, sizeof(begin) - 1))
            nvt_command_lines(at, length);
        at += length;
        left -= length;
    }
}

void nvt_command_lines(const void *lines, size_t size)
{
    const char *at = lines, *end = size ? at + size : at;
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end ? line_end : end;
        nvt_message(stderr, "%.*s", (int)(line_end - at), at);
        at = line_end + 1;
    }
}

const struct nvt_format *nvt_command_format(const char *name, const char *where,
                                            struct nvt_error *err)
{
    char hint[128];
    const struct nvt_format *format = nvt_format_find(name);
    if (!format)
        nvt_fail(err, "no format '%s'%s; %s", name, nvt_format_hint(name, hint, sizeof(hint)),
                 where);
    return format;
}

/* Its paths, its window, its notes so far. facts->traces is malloc'ed. 0, or -1 with err. */
static int make_facts(const struct nvt_input *input, struct nvt_facts *facts, struct nvt_error *err)
{
    const char **paths = calloc(input->trace_count + input->run_count + 1, sizeof(*paths));
    if (!paths)
        return nvt_fail(err, "out of memory");
    *facts = (struct nvt_facts){.traces = paths};
    for (size_t i = 0; i < input->run_count; i++)
        if (!input->runs[i]->is_of_traces)
            paths[facts->trace_count++] = input->runs[i]->path;
    for (size_t i = 0; i < input->trace_count; i++)
        paths[facts->trace_count++] = input->traces[i].trace->path;
    facts->range = input->window ? input->window->range : NULL;
    facts->time = input->window ? input->window->time : NULL;
    facts->notes = input->notes.data;
    facts->notes_size = input->notes.size;
    return 0;
}

int nvt_command_render(struct nvt_tables *tables, const struct nvt_format *format,
                       const struct nvt_input *input, FILE *out, struct nvt_error *err)
{
    struct nvt_facts facts = {0};
    if (input && make_facts(input, &facts, err))
        return -1;
    tables->facts = input ? &facts : NULL;
    const int failed = format->render(tables, out);
    tables->facts = NULL;
    free((void *)(uintptr_t)facts.traces);
    return failed ? nvt_fail(err, "out of memory") : 0;
}

size_t nvt_command_note_lines(const struct nvt_input *input)
{
    const size_t width = nvt_terminal_width(stderr), hang = strlen("nvtally: ");
    char *copy = width && input->notes.size
                     ? strndup((const char *)input->notes.data, input->notes.size)
                     : NULL;
    char *rest = copy;
    size_t lines = 0;
    for (char *line; (line = strsep(&rest, "\n"));)
        lines += rest ? nvt_wrap_lines(line, hang, hang, width) : 0;
    free(copy);
    return lines;
}

int nvt_command_options(int argc, char **argv, const struct nvt_option *options, const char *usage,
                        struct nvt_error *err)
{
    const int status = nvt_options_read(argc, argv, ":", options, err);
    if (status == 1)
        fputs(usage, stdout);
    return status;
}

int nvt_set_format(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    const struct nvt_format **format = option->to;
    *format = nvt_command_format(value, option->hint, err);
    return *format ? 0 : -1;
}

int nvt_set_rows(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    char *end;
    const unsigned long rows = strtoul(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || rows < (unsigned)option->number ||
        rows > 1000000000)
        return nvt_fail(err, "--%s %s: must be a number of rows%s", option->name, value,
                        option->number ? "" : ", 0 for all");
    *(size_t *)option->to = rows;
    return 0;
}

int nvt_set_time(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    return nvt_window_set_time(option->to, value, err);
}

int nvt_set_range(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    return nvt_window_set_range(option->to, value, err);
}

int nvt_set_color(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    return nvt_color_parse(value, option->to, err);
}
