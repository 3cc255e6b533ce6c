/*
 * The command `import`.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/commands.h"
#include "../lib/create_file.h"
#include "../lib/folder.h"
#include "../lib/read_file.h"
#include "../lib/wrap.h"
#include "command.h"
#include "published/published.h"

/* Logs are texts of some hundred kilobytes; what is larger is something else. */
#define LOG_BYTES_MAX (64u << 20)

static const char usage_head[] =
    "usage: nvtally import FILE -o DIRECTORY [OPTIONS]\n\n"
    "Reads the log of a benchmark in a published layout and writes a directory like\n"
    "those of 'nvtally run', marked as published. 'nvtally stats DIRECTORY -f\n"
    "published' prints it again. Lines may carry a logger's time and level, and the\n"
    "end of the log may be missing.\n\n"
    "  -o, --output DIR     the directory to write; created if it does not exist\n"
    "      --source TEXT    who published it: title, author, year (default: the\n"
    "                       file's name)\n"
    "      --device TEXT    what it ran on (default: not stated)\n"
    "      --date TEXT      when it was measured (default: not stated)\n"
    "      --help           this text\n\n"
    "Layouts, recognised by their content:\n";

struct request {
    const char *path, *directory;
    struct nvt_published_facts facts;
};

static void list_layouts(void)
{
    size_t count;
    const struct nvt_layout *const *layouts = nvt_layouts(&count);
    for (size_t i = 0; i < count; i++)
        nvt_put_item(layouts[i]->name, 15, layouts[i]->about, NVT_HELP_WIDTH, stdout);
}

/* 0 to go on, 1 for --help, -1 with err. */
static int parse(int argc, char **argv, struct request *request, struct nvt_error *err)
{
    const struct nvt_option options[] = {
        {"output", 'o', .set = nvt_set_folder, .to = &request->directory, .hint = "an import"},
        {"source", .text = &request->facts.source},
        {"device", .text = &request->facts.device},
        {"date", .text = &request->facts.date},
        {0}};
    const int status = nvt_command_options(argc, argv, options, usage_head, err);
    if (status > 0)
        list_layouts();
    if (status)
        return status;
    if (argc - optind != 1)
        return nvt_fail(err, argc == optind ? "import: no file was given"
                                            : "import: one file at a time");
    request->path = argv[optind];
    return 0;
}

static int write_text(const char *directory, const char *name, const struct nvt_buffer *text,
                      struct nvt_error *err)
{
    char path[4400];
    snprintf(path, sizeof(path), "%.4096s/%s", directory, name);
    FILE *file = fopen(path, "wxe");
    int failed = !file || fwrite(text->data, 1, text->size, file) != text->size;
    int reason = errno;
    if (file && fclose(file) && !failed) {
        failed = 1;
        reason = errno;
    }
    if (!failed)
        return 0;
    return nvt_fail_at(err, path, -1,
                       reason == EEXIST ? "already exists: import into another directory"
                                        : "cannot be written: %s",
                       strerror(reason));
}

/* env.json first: results without it could pass for measured ones in captions. */
static int write_directory(const struct request *request, const struct nvt_published *published,
                           struct nvt_error *err)
{
    struct nvt_buffer env = {0};
    char results[4400];
    int status;
    snprintf(results, sizeof(results), "%.4096s/results.jsonl", request->directory);
    if (nvt_folder_make(request->directory))
        return nvt_fail_at(err, request->directory, -1, "cannot be made: %s", strerror(errno));
    if (!access(results, F_OK))
        return nvt_fail_at(err, results, -1, "already exists: import into another directory");
    status = nvt_published_environment(&request->facts, &env) ? nvt_fail(err, "out of memory") : 0;
    if (!status)
        status = write_text(request->directory, "env.json", &env, err);
    if (!status)
        status = write_text(request->directory, "results.jsonl", &published->results, err);
    nvt_buffer_free(&env);
    return status;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static int import(struct request *request, struct nvt_published *published, struct nvt_error *err)
{
    struct nvt_buffer text = {0};
    int status = nvt_read_file(request->path, LOG_BYTES_MAX, &text, err);
    if (!status)
        status = nvt_published_read(request->path, (char *)text.data, text.size, published, err);
    nvt_buffer_free(&text);
    if (status)
        return -1;
    if (!request->directory)
        return nvt_fail(err, "import: give the directory to write with -o DIRECTORY");
    if (!request->facts.source)
        request->facts.source = base_name(request->path);
    request->facts.backend = published->backend;
    request->facts.layout = published->layout->name;
    return write_directory(request, published, err);
}

int nvt_cmd_import(int argc, char **argv)
{
    struct request request = {.facts.command = "nvtally import"};
    struct nvt_published published = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    int status = parse(argc, argv, &request, &err);
    if (status > 0)
        return 0;
    if (!status)
        status = import(&request, &published, &err);
    if (!status) {
        if (published.note[0])
            nvt_message(stderr, "warning: %s: %s", request.path, published.note);
        nvt_message(stderr, "%zu published configurations (%s) in %s", published.count,
                    published.layout->name, request.directory);
    }
    nvt_published_free(&published);
    return status ? nvt_command_fail(&err) : 0;
}
