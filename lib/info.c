/*
 * The command `info`.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "probe.h"
#include "version.h"

static const char usage_text[] =
    "usage: nvtally info [OPTIONS]\n\n"
    "Says what was built into this nvtally, what is found on this "
    "machine, what is missing and how\n"
    "to get it.\n\n"
    "      --json     the same as one JSON object\n"
    "      --peak     measure what matrix products and copies reach here, and keep it for runs\n"
    "      --help     this text\n";

static void print_text(const struct nvt_probe_item *items, size_t count)
{
    const char *section = "";
    printf("nvtally %s\n", NVT_VERSION);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(section, items[i].section))
            printf("\n%s\n", items[i].section);
        section = items[i].section;
        printf("  %-22s %s\n", items[i].name, *items[i].detail ? items[i].detail : "-");
    }
    const char *heading = "\nmissing\n";
    for (size_t i = 0; i < count; i++) {
        if (items[i].present || *items[i].detail || !items[i].remedy)
            continue;
        printf("%s  %-22s %s\n", heading, items[i].name, items[i].remedy);
        heading = "";
    }
}

static void print_json_text(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static void print_json(const struct nvt_probe_item *items, size_t count)
{
    printf("{\"version\": \"%s\", \"items\": [", NVT_VERSION);
    for (size_t i = 0; i < count; i++) {
        printf("%s\n  {\"section\": \"%s\", \"name\": \"%s\", \"present\": %s, \"detail\": ",
               i ? "," : "", items[i].section, items[i].name, items[i].present ? "true" : "false");
        print_json_text(items[i].detail);
        if (!items[i].present && items[i].remedy) {
            fputs(", \"remedy\": ", stdout);
            print_json_text(items[i].remedy);
        }
        putchar('}');
    }
    puts("\n]}");
}

int nvt_cmd_info(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'},
                                            {"peak", no_argument, NULL, 'p'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    struct nvt_probe_item items[NVT_PROBE_MAX];
    bool json = false, peak = false;
    opterr = 0;
    optind = 0;
    for (int option, at = 1; (option = getopt_long(argc, argv, "+h", options, NULL)) != -1;
         at = optind) {
        if (option == 'h') {
            fputs(usage_text, stdout);
            return 0;
        }
        if (option != 'j' && option != 'p') {
            fprintf(stderr, "nvtally: unknown option %s; see nvtally info --help\n", argv[at]);
            return 2;
        }
        *(option == 'j' ? &json : &peak) = true;
    }
    if (optind < argc) {
        fprintf(stderr, "nvtally: info takes no argument, but got '%s'\n", argv[optind]);
        return 2;
    }
    size_t count = nvt_probe(items);
    count += (peak ? nvt_probe_peaks : nvt_probe_kept_peaks)(items + count, NVT_PROBE_MAX - count);
    (json ? print_json : print_text)(items, count);
    return 0;
}
