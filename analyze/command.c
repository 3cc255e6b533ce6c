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

int nvt_command_top(const char *text, size_t least, size_t *top, struct nvt_error *err)
{
    char *end;
    const unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value < least || value > 1000000000)
        return nvt_fail(err, "--top %s: must be a number of rows%s", text,
                        least ? "" : ", 0 for all");
    *top = value;
    return 0;
}

int nvt_command_window(struct nvt_window *window, int option, struct nvt_error *err)
{
    if (option == NVT_LAUNCHERS)
        return window->launchers = 1;
    int status = option == NVT_FILTER_TIME   ? nvt_window_set_time(window, optarg, err)
                 : option == NVT_FILTER_NVTX ? nvt_window_set_range(window, optarg, err)
                                             : 1;
    return status < 0 ? -1 : !status;
}

/* The word with the option that getopt_long refused: it stays at one of several letters until the last. */
static const char *refused_word(char **argv)
{
    const char *word = argv[optind - 1], *next = argv[optind];
    const int is_next = optopt && next && next[0] == '-' && next[1] != '-' &&
                        strchr(next, optopt) && (word[0] != '-' || !strchr(word, optopt));
    return is_next ? next : word;
}

int nvt_command_option(int argc, char **argv, const char *letters, const struct option *options,
                       struct nvt_error *err)
{
    opterr = 0;
    int option = getopt_long(argc, argv, letters, options, NULL);
    if (option == ':')
        nvt_fail(err, "option '%s' needs a value; see nvtally %s --help", argv[optind - 1],
                 argv[0]);
    else if (option == '?')
        nvt_fail(err, "no option '%s'; 'nvtally %s --help' lists them", refused_word(argv),
                 argv[0]);
    return option == ':' ? '?' : option;
}
