/*
 * The command `check`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/commands.h"
#include "../lib/render.h"
#include "agents/claims.h"
#include "command.h"
#include "input/rows.h"

#define SECONDS_MOST 60

static const char usage_text[] =
    "usage: nvtally check CLAIMS.json FILE|DIRECTORY… [OPTIONS]\n\n"
    "Checks claims about traces: a list of JSON objects such as\n\n"
    "  {\"claim\": \"2892 kernels\", \"query\": \"SELECT count(*) FROM kernels\",\n"
    "   \"equals\": 2892}\n"
    "  {\"claim\": \"launch-bound\", \"finding\": \"launch-bound\", \"at_least\": 40}\n\n"
    "A SQL query (nvtally sql) must return one number. It is checked against equals\n"
    "(within tolerance percent, default: 0.5), at_least or at_most. A finding is one\n"
    "of diagnose; its number is its share in percent. One object needs no list.\n\n"
    "  -f, --format FORMAT  table (default), column, grid, markdown, latex, csv, tsv,\n"
    "                       json or facts\n" NVT_COLOR_HELP "      --help           this text\n\n"
    "Exit status: 0 if all hold, 1 if one does not or is unknown, 2 if it cannot be\n"
    "checked.\n";

struct request {
    const struct nvt_format *format;
    enum nvt_color color;
};

static int parse(int argc, char **argv, struct request *request, struct nvt_error *err)
{
    const struct nvt_option options[] = {
        {NVT_FORMAT_OPTION(&request->format, NVT_FORMATS_OF_STATS)},
        {NVT_COLOR_OPTION(&request->color)},
        {0}};
    return nvt_command_options(argc, argv, options, usage_text, err);
}

/* How many do not hold, or -1 with err. */
static int check_all(struct nvt_sql *sql, const struct nvt_claims *claims, struct nvt_table *table,
                     struct nvt_error *err)
{
    const struct nvt_sql_limits limits = {.seconds = SECONDS_MOST, .rows = 2};
    int failed = 0;
    for (size_t i = 0; i < claims->count; i++) {
        const int verdict = nvt_claim_check(sql, &claims->items[i], "", &limits, table, err);
        if (verdict < 0)
            return -1;
        failed += verdict != NVT_CLAIM_HOLDS;
    }
    return failed;
}

static int check(struct nvt_input *input, const struct nvt_claims *claims,
                 const struct request *request, struct nvt_error *err)
{
    const struct nvt_screen screen = nvt_screen_of(stdout, request->color);
    struct nvt_tables tables = {.terminal = screen.width, .is_coloured = screen.is_coloured};
    nvt_sql_limit_memory(NVT_SQL_MEMORY_MOST);
    struct nvt_table *table = nvt_claims_table();
    struct nvt_sql *sql = table ? nvt_sql_open(input, err) : NULL;
    int failed = sql ? check_all(sql, claims, table, err) : -1;
    if (nvt_tables_add(&tables, table) && failed >= 0)
        failed = nvt_fail(err, "out of memory");
    if (failed >= 0 && nvt_command_render(&tables, request->format, input, stdout, err))
        failed = -1;
    nvt_tables_free(&tables);
    nvt_sql_free(sql);
    return failed;
}

int nvt_cmd_check(int argc, char **argv)
{
    struct request request = {.format = nvt_format_find("table")};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input input = {.plain_names = 1};
    struct nvt_claims claims = {0};
    int status = parse(argc, argv, &request, &err);
    if (status)
        return status > 0 ? 0 : nvt_command_fail(&err);
    if (argc - optind < 2)
        status = nvt_fail(&err, "check: give a file of claims, and traces or directories; see "
                                "nvtally check --help");
    if (!status)
        status = nvt_claims_read(argv[optind], &claims, &err);
    for (int i = optind + 1; i < argc && !status; i++)
        status = nvt_input_add(&input, argv[i], &err);
    if (!status)
        status = nvt_input_rows(&input, &err) || nvt_input_traces(&input, &err) ? -1 : 0;
    if (!status)
        status = check(&input, &claims, &request, &err);
    if (status >= 0)
        nvt_command_notes(&input);
    nvt_claims_free(&claims);
    nvt_input_free(&input);
    return status < 0 ? nvt_command_fail(&err) : status > 0;
}
