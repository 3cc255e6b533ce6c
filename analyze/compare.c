/*
 * The command `compare`.
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/commands.h"
#include "../lib/render.h"
#include "command.h"
#include "compare_reference.h"
#include "compare_sides.h"

static const char usage_text[] =
    "usage: nvtally compare A B [C…] [OPTIONS]\n"
    "       nvtally compare A1 A2 … vs B1 B2 … [vs C1 …] [OPTIONS]\n"
    "       nvtally compare A… --reference [OPTIONS]\n\n"
    "Compares runs (directories of nvtally run) or traces: how each phase, range and kernel has\n"
    "changed against side A, with a 95 % interval. Repetitions of a side stand before and behind\n"
    "'vs'; with five or more a side, the noise between runs is taken into account too.\n"
    "With --reference: directories beside the published figures of the same configurations, which\n"
    "are of other machines; a ratio and no verdict.\n\n"
    "  -f, --format FORMAT    column (default), grid, markdown, latex, csv, tsv, json\n"
    "      --fail-above PCT   exit 1 when anything is slower by more than this, 5 or 5%\n"
    "      --reference        beside the published figures (nvtally reference)\n"
    "      --tolerance PCT    within this it is the same (default: 1%)\n"
    "      --help             this text\n\n"
    "Exit status: 0, 1 when --fail-above was exceeded, 2 when it cannot be compared.\n"
    "Example:  nvtally compare before after --fail-above 5%\n";

struct request {
    const struct nvt_format *format;
    double fail_above; /* fraction, NaN: never */
    double tolerance;  /* fraction */
    int reference;     /* beside published figures */
};

static const struct nvt_column_spec columns[] = {
    {"configuration", "", NVT_TEXT, 0, 0},
    {"kind", "", NVT_TEXT, 0, 0},
    {"name", "", NVT_TEXT, 0, 0},
    {"side", "", NVT_TEXT, 0, 0},
    {"n A", "", NVT_INT, 0, 0},
    {"n", "", NVT_INT, 0, 0},
    {"mean A", "ns", NVT_REAL, 1, 0},
    {"mean", "ns", NVT_REAL, 1, 0},
    {"change", "%", NVT_REAL, 2, 0},
    {"low", "%", NVT_REAL, 2, 0},
    {"high", "%", NVT_REAL, 2, 0},
    {"verdict", "", NVT_TEXT, 0, 0},
};

static int parse_percent(const char *option, const char *text, double *fraction,
                         struct nvt_error *err)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || (*end && strcmp(end, "%")) || !(value >= 0) || value > 1e6)
        return nvt_fail(err, "%s %s: a percentage, 5 or 5%%", option, text);
    *fraction = value / 100;
    return 0;
}

/* 0 to go on, 1 for --help, -1 with err. */
static int parse(int argc, char **argv, struct request *request, struct nvt_error *err)
{
    enum { FAIL_ABOVE = 256, TOLERANCE, REFERENCE, HELP };
    static const struct option options[] = {{"format", required_argument, NULL, 'f'},
                                            {"fail-above", required_argument, NULL, FAIL_ABOVE},
                                            {"reference", no_argument, NULL, REFERENCE},
                                            {"tolerance", required_argument, NULL, TOLERANCE},
                                            {"help", no_argument, NULL, HELP},
                                            {NULL, 0, NULL, 0}};
    char hint[128];
    optind = 0;
    for (int option; (option = nvt_command_option(argc, argv, ":f:h", options, err)) != -1;) {
        switch (option) {
        case 'f':
            request->format = nvt_format_find(optarg);
            if (!request->format)
                return nvt_fail(err, "no format '%s'%s; see nvtally compare --help", optarg,
                                nvt_format_hint(optarg, hint, sizeof(hint)));
            break;
        case FAIL_ABOVE:
            if (parse_percent("--fail-above", optarg, &request->fail_above, err))
                return -1;
            break;
        case TOLERANCE:
            if (parse_percent("--tolerance", optarg, &request->tolerance, err))
                return -1;
            break;
        case REFERENCE:
            request->reference = 1;
            break;
        case HELP:
        case 'h':
            fputs(usage_text, stdout);
            return 1;
        default:
            return -1;
        }
    }
    return 0;
}

static int add_argument(struct nvt_sides *groups, size_t side, const char *path,
                        struct nvt_error *err)
{
    struct nvt_report_input input = {.plain_names = 1};
    int status = nvt_input_add(&input, path, err) || nvt_input_traces(&input, err) ||
                 nvt_sides_add(groups, side, &input, err);
    if (!status)
        nvt_command_notes(&input);
    nvt_input_free(&input);
    return status ? -1 : 0;
}

/* Read all sides. How many, or 0 with err. */
static size_t read_sides(int count, char **arguments, struct nvt_sides *groups,
                         struct nvt_error *err)
{
    size_t side = 0;
    int together = 0, given = 0;
    for (int i = 0; i < count; i++)
        together |= !strcmp(arguments[i], "vs");
    for (int i = 0; i < count; i++) {
        int is_border = !strcmp(arguments[i], "vs");
        if (is_border || (!together && given)) {
            if (!given || side + 1 == NVT_SIDES) {
                nvt_fail(err, given ? "more than %d sides" : "a side has nothing to compare",
                         NVT_SIDES);
                return 0;
            }
            side++;
            given = 0;
        }
        if (is_border)
            continue;
        given++;
        if (add_argument(groups, side, arguments[i], err))
            return 0;
    }
    if (!side || !given) {
        nvt_fail(err, "compare needs two sides: nvtally compare A B");
        return 0;
    }
    return side + 1;
}

/* Side against side A of a group; 1 when both have it, 0 when not, -1 when out of memory. */
static int measure(struct nvt_compared *group, size_t side, struct nvt_change *change)
{
    struct nvt_side a, b;
    struct nvt_compared_side *left = &group->sides[0], *right = &group->sides[side];
    if (left->count && right->count) {
        if (nvt_sides_series(group, 0, &a) || nvt_sides_series(group, side, &b) ||
            nvt_change_measure(&a, &b, change))
            return -1;
        return 1;
    }
    if (isnan(left->mean) || isnan(right->mean))
        return 0;
    nvt_change_from_summaries((double[]){left->mean, right->mean},
                              (double[]){left->std, right->std}, (size_t[]){left->n, right->n},
                              change);
    return 1;
}

struct outcome {
    size_t group, side;
};

static void add_row(struct nvt_table *table, const struct nvt_compared *group, size_t side,
                    const struct nvt_change *change)
{
    size_t row = nvt_table_add_row(table);
    const char name[] = {(char)('A' + side), 0};
    nvt_table_set_text(table, row, 0, group->configuration[0] ? group->configuration : NULL);
    nvt_table_set_text(table, row, 1, nvt_compared_kind_name(group->kind));
    nvt_table_set_text(table, row, 2, group->name);
    nvt_table_set_text(table, row, 3, name);
    nvt_table_set_int(table, row, 4, (int64_t)change->n[0]);
    nvt_table_set_int(table, row, 5, (int64_t)change->n[1]);
    nvt_table_set_real(table, row, 6, change->mean[0]);
    nvt_table_set_real(table, row, 7, change->mean[1]);
    nvt_table_set_real(table, row, 8, 100 * (change->ratio - 1));
    nvt_table_set_real(table, row, 9, 100 * (change->low - 1));
    nvt_table_set_real(table, row, 10, 100 * (change->high - 1));
    nvt_table_set_text(table, row, 11, nvt_verdict_name(change->verdict));
}

static int is_regression(const struct nvt_change *change, double fail_above)
{
    return change->verdict == NVT_SLOWER && change->ratio - 1 > fail_above;
}

/* What the sides have in common, or "A x, B y". NULL where nothing is known of any. */
static const char *together(const struct nvt_sides *groups, size_t offset, size_t sides, char *out,
                            size_t size)
{
    const char *first = (const char *)&groups->origins[0] + offset;
    size_t used = 0;
    int same = 1;
    for (size_t side = 1; side < sides; side++)
        same &= !strcmp(first, (const char *)&groups->origins[side] + offset);
    for (size_t side = 0; side < (same ? 1 : sides) && used < size; side++) {
        const char *text = (const char *)&groups->origins[side] + offset;
        char letter[4] = {(char)('A' + side), ' ', 0};
        used += (size_t)snprintf(out + used, size - used, "%s%s%s", side ? ", " : "",
                                 same ? "" : letter, *text || same ? text : "not stated");
    }
    return same && !*first ? NULL : out;
}

static void set_provenance(struct nvt_table *table, const struct nvt_sides *groups, size_t sides)
{
    char backend[640], device[1400], date[640], condition[2200];
    const struct nvt_provenance provenance = {
        .backend =
            together(groups, offsetof(struct nvt_origin, backend), sides, backend, sizeof(backend)),
        .device =
            together(groups, offsetof(struct nvt_origin, device), sides, device, sizeof(device)),
        .date = together(groups, offsetof(struct nvt_origin, date), sides, date, sizeof(date)),
        .condition = together(groups, offsetof(struct nvt_origin, condition), sides, condition,
                              sizeof(condition))};
    nvt_table_set_provenance(table, &provenance);
}

/* Print the table; *regressions gets how many rows exceed the bound. 0 or -1. */
static int show(const struct request *request, const struct nvt_sides *groups, size_t sides,
                const struct outcome *outcomes, const struct nvt_change *changes, size_t count,
                size_t *regressions, struct nvt_error *err)
{
    struct nvt_tables tables = {0};
    struct nvt_table *table = nvt_table_new("compare", "Change against side A, 95 % intervals",
                                            columns, sizeof(columns) / sizeof(columns[0]));
    *regressions = 0;
    if (table)
        set_provenance(table, groups, sides);
    for (size_t i = 0; table && i < count; i++) {
        add_row(table, &groups->items[outcomes[i].group], outcomes[i].side, &changes[i]);
        *regressions += (size_t)is_regression(&changes[i], request->fail_above);
    }
    int status = nvt_tables_add(&tables, table) ? nvt_fail(err, "out of memory") : 0;
    if (!status && request->format->render(&tables, stdout))
        status = nvt_fail(err, "out of memory");
    nvt_tables_free(&tables);
    if (!status && (fflush(stdout) || ferror(stdout)))
        status = nvt_fail(err, "standard output cannot be written");
    return status;
}

static int compare_groups(const struct request *request, struct nvt_sides *groups, size_t sides,
                          size_t *regressions, struct nvt_error *err)
{
    size_t most = groups->count * (sides - 1) + 1, count = 0;
    struct nvt_change *changes = calloc(most, sizeof(*changes));
    struct outcome *outcomes = calloc(most, sizeof(*outcomes));
    int status = changes && outcomes ? 0 : -1;
    for (size_t g = 0; g < groups->count && !status; g++)
        for (size_t side = 1; side < sides && !status; side++) {
            int both = measure(&groups->items[g], side, &changes[count]);
            status = both < 0 ? -1 : 0;
            outcomes[count] = (struct outcome){g, side};
            count += both == 1;
        }
    if (!status)
        status = nvt_change_verdicts(changes, count, NVT_CHANGE_ALPHA, request->tolerance);
    if (status)
        nvt_fail(err, "out of memory");
    else if (!count)
        status = nvt_fail(err, "the sides have nothing in common: no phase, range or kernel of the "
                               "same name and configuration");
    else
        status = show(request, groups, sides, outcomes, changes, count, regressions, err);
    free(changes);
    free(outcomes);
    return status;
}

static int put_reference(const struct request *request, const struct nvt_report_input *input,
                         struct nvt_error *err)
{
    struct nvt_besides besides = {0};
    struct nvt_tables tables = {0};
    int status = nvt_beside_reference(input, &besides, err);
    if (!status)
        status = nvt_beside_table(input, &besides, &tables, err);
    if (!status && request->format->render(&tables, stdout))
        status = nvt_fail(err, "out of memory");
    if (!status && (fflush(stdout) || ferror(stdout)))
        status = nvt_fail(err, "standard output cannot be written");
    nvt_tables_free(&tables);
    nvt_besides_free(&besides);
    return status;
}

static int compare_reference(const struct request *request, int count, char **paths,
                             struct nvt_error *err)
{
    struct nvt_report_input input = {0};
    int status = 0;
    if (!isnan(request->fail_above))
        status = nvt_fail(err, "--fail-above with --reference: published figures are of other "
                               "machines, slower than they is no failure");
    else if (!count)
        status = nvt_fail(err, "compare --reference needs a directory that 'nvtally run' wrote");
    for (int i = 0; i < count && !status; i++) {
        status = nvt_input_add(&input, paths[i], err);
        if (!status && input.trace_count)
            status =
                nvt_fail_at(err, paths[i], -1,
                            "is a trace: --reference wants directories that 'nvtally run' wrote");
    }
    if (!status)
        status = put_reference(request, &input, err);
    nvt_input_free(&input);
    return status;
}

int nvt_cmd_compare(int argc, char **argv)
{
    struct request request = {nvt_format_find("column"), NAN, 0.01, 0};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_sides groups;
    size_t regressions = 0;
    int status = parse(argc, argv, &request, &err);
    if (status)
        return status == 1 ? 0 : nvt_command_fail(&err);
    if (request.reference)
        return compare_reference(&request, argc - optind, argv + optind, &err)
                   ? nvt_command_fail(&err)
                   : 0;
    if (nvt_sides_init(&groups))
        status = nvt_fail(&err, "out of memory");
    size_t sides = status ? 0 : read_sides(argc - optind, argv + optind, &groups, &err);
    if (sides)
        status = compare_groups(&request, &groups, sides, &regressions, &err);
    nvt_sides_free(&groups);
    if (!sides || status)
        return nvt_command_fail(&err);
    if (argc - optind == (int)sides)
        fputs("nvtally: one run a side: the noise between runs is not known; five a side show it "
              "(A1 A2 … vs B1 B2 …)\n",
              stderr);
    if (regressions)
        fprintf(stderr, "nvtally: %zu slower by more than %g %%\n", regressions,
                100 * request.fail_above);
    return regressions ? 1 : 0;
}
