/*
 * The command `info`.
 */
#include <stdio.h>
#include <string.h>

#include "../lib/buffer.h"
#include "../lib/commands.h"
#include "../lib/json.h"
#include "../lib/options.h"
#include "../lib/probe.h"
#include "../lib/probe_peak.h"
#include "../lib/terminal.h"
#include "../lib/version.h"
#include "../lib/wrap.h"

static const char usage_text[] =
    "usage: nvtally info [OPTIONS]\n\n"
    "Shows build options and detected CUDA components, what is missing, and how to\n"
    "get it.\n\n"
    "      --json     print one JSON object\n"
    "      --peak     measure peak GEMM throughput and copy bandwidth here, and keep\n"
    "                 them for runs and 'stats -r roofline'\n"
    "      --help     this text\n";

/* Where the second column of the list begins. */
#define DETAIL 25

static int print_text(const struct nvt_probe_item *items, size_t count)
{
    const size_t width = nvt_terminal_width(stdout);
    const char *section = "";
    printf("nvtally %s\n", NVT_VERSION);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(section, items[i].section))
            printf("\n%s\n", items[i].section);
        section = items[i].section;
        nvt_put_item(items[i].name, DETAIL, *items[i].detail ? items[i].detail : "-", width,
                     stdout);
    }
    const char *heading = "\nmissing\n";
    for (size_t i = 0; i < count; i++) {
        if (items[i].present || *items[i].detail || !items[i].remedy)
            continue;
        fputs(heading, stdout);
        nvt_put_item(items[i].name, DETAIL, items[i].remedy, width, stdout);
        heading = "";
    }
    return 0;
}

/* An item, and a line feed behind it. */
static int put_item(struct nvt_buffer *out, const struct nvt_probe_item *item)
{
    struct nvt_json json;
    nvt_json_begin(&json, out);
    nvt_json_text(&json, "section", item->section);
    nvt_json_text(&json, "name", item->name);
    nvt_json_bool(&json, "present", item->present);
    nvt_json_text(&json, "detail", item->detail);
    if (!item->present && item->remedy)
        nvt_json_text(&json, "remedy", item->remedy);
    return nvt_json_end(&json);
}

static int print_json(const struct nvt_probe_item *items, size_t count)
{
    struct nvt_buffer out = {0};
    int failed = nvt_buffer_printf(&out, "{\"version\": \"%s\", \"items\": [\n", NVT_VERSION);
    for (size_t i = 0; i < count && !failed; i++)
        failed = (i && nvt_buffer_append(&out, ", ", 2)) || put_item(&out, &items[i]);
    if (failed)
        nvt_message(stderr, "out of memory");
    else
        printf("%.*s]}\n", (int)out.size, (const char *)out.data);
    nvt_buffer_free(&out);
    return failed ? 2 : 0;
}

int nvt_cmd_info(int argc, char **argv)
{
    int json = 0, peak = 0;
    const struct nvt_option options[] = {{"json", .flag = &json}, {"peak", .flag = &peak}, {0}};
    struct nvt_probe_item items[NVT_PROBE_MAX];
    struct nvt_error err = NVT_ERROR_INIT;
    const int status = nvt_options_read(argc, argv, "+:", options, &err);
    if (status == 1) {
        fputs(usage_text, stdout);
        return 0;
    }
    if (status)
        return nvt_message_error(stderr, &err);
    if (optind < argc) {
        nvt_message(stderr,
                    "info describes this machine and takes no argument, but got '%s'; of a trace: "
                    "nvtally stats",
                    argv[optind]);
        return 2;
    }
    if (peak && !nvt_has_workloads) {
        nvt_message(stderr, "info --peak: this nvtally was built without workloads; 'nvtally run "
                            "--help' says "
                            "how to get them");
        return 2;
    }
    size_t count = nvt_probe(items, nvt_has_workloads);
    count +=
        (peak ? nvt_measure_peaks : nvt_probe_cached_peaks)(items + count, NVT_PROBE_MAX - count);
    return (json ? print_json : print_text)(items, count);
}
