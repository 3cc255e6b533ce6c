/* What agents use: claims that hold, fail and are unknown; the server's messages, good and bad; PyPI's client. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/buffer.h"
#include "../lib/count_of.h"
#include "cli.h"

#define TRACE "docs/results/h100/traces/train.nvt"

#ifdef HAVE_SQLITE

static struct cli_result check(const char *claims, const char *trace)
{
    const char *path = cli_in(cli_folder, "claims.json");
    cli_write_file(path, claims, strlen(claims));
    const char *const argv[] = {"nvtally", "check", path, trace, "-f", "csv", NULL};
    return cli_run(argv);
}

/* Claims, the status of a check, and what its row says. */
static const struct {
    const char *claim;
    int status;
    const char *row;
} claims[] = {
    {"{\"query\": \"SELECT count(*) FROM kernels\", \"equals\": 2892}", 0, ",yes,2892,"},
    {"[{\"query\": \"SELECT 1\", \"equals\": \"1\", \"id\": \"a\"},\n {\"query\": \"SELECT "
     "1\", "
     "\"equals\": 2}]",
     1, "a,,yes,1,"},
    {"{\"query\": \"SELECT 100.4\", \"equals\": 100}", 0, ",yes,100.4,100 within 0.5 %"},
    {"{\"query\": \"SELECT 100.6\", \"equals\": 100}", 1, ",no,100.6,"},
    {"{\"query\": \"SELECT 100.6\", \"equals\": 100, \"tolerance\": 1}", 0, ",yes,"},
    {"{\"query\": \"SELECT -5\", \"at_least\": -5, \"at_most\": -5}", 0,
     ",yes,-5,\"at least -5, at most -5\""},
    {"{\"query\": \"SELECT -5\", \"at_least\": -4}", 1, ",no,-5,"},
    {"{\"finding\": \"launch-bound\"}", 0, ",yes,47.7"},
    {"{\"finding\": \"Launch-Bound\", \"at_least\": 50}", 1, ",no,47.7"},
    {"{\"finding\": \"sync-bound\"}", 1, ",no,,found,"},
    {"{\"finding\": \"sync-bound\", \"at_least\": 5}", 1, ",no,,at least 5,"},
    /* Nobody has looked, or no closer than to a threshold. */
    {"{\"finding\": \"sync-bound\", \"at_most\": 5}", 1,
     ",unknown,,at most 5,\"not found, so its share is below the rule's threshold"},
    {"{\"finding\": \"deadlock\"}", 1, ",unknown,,found,\"it needs OS calls, which"},
    {"{\"finding\": \"late rank\", \"at_most\": 1}", 1, "it needs MPI or torch.distributed"},
    {"{\"finding\": \"scaling\"}", 1, "it needs runs that differ in a number"},
    {"{\"finding\": \"it's\"}", 1, ",unknown,,found,diagnose has no finding of that name"},
/* Queries: that there is no row of a finding that nobody looked for means nothing. */
#define OF_FINDINGS(condition)                                                                     \
    "{\"query\": \"SELECT count(*) FROM findings WHERE " condition "\", \"equals\": 0}"
#define UNKNOWN ",unknown,,0 within 0.5 %,"
    {OF_FINDINGS("cause = 'sync-bound'"), 0, ",yes,0,"},
    {OF_FINDINGS("cause = 'deadlock'"), 1,
     UNKNOWN "deadlock was not looked for: no OS calls in the trace (nvtally record --trace osrt)"},
    {OF_FINDINGS("'DEADLOCK' = cause COLLATE NOCASE AND cost_ns > 5"), 1,
     UNKNOWN "deadlock was not looked for"},
    {OF_FINDINGS("cause LIKE 'Dead%'"), 1, UNKNOWN "deadlock was not looked for"},
    {OF_FINDINGS("cause GLOB 'dead*'"), 1, UNKNOWN "deadlock was not looked for"},
    {OF_FINDINGS("cause IN ('sync-bound', 'late rank')"), 1,
     UNKNOWN "late rank was not looked for"},
    {OF_FINDINGS("cause = 'scaling'"), 1,
     UNKNOWN "scaling was not looked for: no runs that differ in a number"},
    {OF_FINDINGS("cause = 'sync'"), 1, UNKNOWN "diagnose has no finding that is called sync"},
    {OF_FINDINGS("cause = 'sync-bound' OR cost_ns < 0"), 0, ",yes,0,"},
#undef UNKNOWN
#undef OF_FINDINGS
    {"{\"query\": \"SELECT nope\", \"equals\": 1}", 1, "no such column"},
    /* Integers of 64 bits, not the doubles next to them. */
    {"{\"query\": \"SELECT 9007199254740993\", \"equals\": 9007199254740992, \"tolerance\": "
     "0}",
     1, ",no,9007199254740992,\"9007199254740992 within 0 %, not 9007199254740993\""},
    {"{\"query\": \"SELECT 9007199254740993\", \"equals\": \"9007199254740993\", "
     "\"tolerance\": 0}",
     0, ",yes,"},
    {"{\"query\": \"SELECT 9223372036854775807\", \"at_most\": 9223372036854775806}", 1, ",no,"},
    {"{\"query\": \"SELECT -9007199254740993\", \"at_least\": -9007199254740992}", 1, ",no,"},
    {"{\"query\": \"SELECT 0.1\", \"equals\": 0.1, \"tolerance\": 0}", 0, ",yes,0.1,"},
    {"{\"query\": \"SELECT 1e6\", \"equals\": 1000000, \"tolerance\": 0}", 0,
     ",yes,1000000,1000000 within 0 %"},
    {"{\"query\": \"SELECT NULL\", \"equals\": 1}", 1, "the query answers NULL"},
    {"{\"query\": \"SELECT 'x'\", \"equals\": 1}", 1, "the query answers a text"},
    {"{\"query\": \"SELECT 1 WHERE 0\", \"equals\": 1}", 1, "the query has no row"},
    {"{\"query\": \"SELECT id FROM ops\", \"equals\": 1}", 1, "the query has several rows"},
    {"{\"query\": \"SELECT 1, 2\", \"equals\": 1}", 1, "the query has several columns"},
    {"{\"query\": \"SELECT 1; SELECT 2\", \"equals\": 1}", 1, "the query has several statements"},
    /* What was not recorded is not 0. */
    {"{\"query\": \"SELECT count(*) FROM os_calls\", \"equals\": 0}", 1,
     ",unknown,,0 within 0.5 %,no OS calls in the trace (nvtally record --trace osrt)"},
    {"{\"query\": \"SELECT (SELECT count(*) FROM kernels) + (SELECT count(*) FROM "
     "mpi_calls)\", "
     "\"equals\": 2892}",
     1, ",unknown,,2892 within 0.5 %,no MPI or torch.distributed calls in the trace"},
    {"{\"query\": \"SELECT total(calls) FROM communicators\", \"at_most\": 0}", 1,
     ",unknown,,at most 0,no collectives that a framework describes in the trace"},
    {"{\"query\": \"SELECT count(*) FROM report_mpi_ranks\", \"equals\": 0}", 1,
     ",unknown,,0 within 0.5 %,\"report_mpi_ranks has no row: no MPI calls in the input"},
    {"{\"query\": \"SELECT count(*) FROM kernels WHERE name = 'nonesuch'\", \"equals\": 0}", 0,
     ",yes,0,"},
    {"{\"query\": \"SELECT count(*) FROM gaps\", \"at_least\": 1}", 0, ",yes,"},
};

static void claims_are_checked(void **state)
{
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(claims); i++) {
        struct cli_result result = check(claims[i].claim, TRACE);
        if (result.status != claims[i].status || !strstr(result.out, claims[i].row))
            fail_msg("%s ended with %d: %s%s", claims[i].claim, result.status, result.out,
                     result.err);
        /* There is no such option here. */
        assert_null(strstr(result.err, "--max-rows"));
        cli_result_free(&result);
    }
}

/* A report that has its rows in another form for this input is not one without rows. */
static void reports_in_another_form(void **state)
{
    (void)state;
    struct cli_result result =
        check("{\"query\": \"SELECT count(*) FROM report_memory_peak\", \"equals\": 0}",
              "docs/results/h100/traces/transformer.nvt");
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.out, ",unknown,"));
    assert_non_null(strstr(result.out, "nvtally stats -r memory_peak shows them, and the table "
                                       "runs has"));
    cli_result_free(&result);
}

/* The facts of diagnose say which rules did not look. */
static void facts_of_diagnose(void **state)
{
    (void)state;
    const char *const argv[] = {"nvtally", "diagnose", "-f", "facts", TRACE, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, " rules skipped: no OS calls"));
    assert_non_null(strstr(result.out, "\"cannot_answer\": null"));
    assert_string_equal(result.err, "");
    cli_result_free(&result);
}

/* Of a level that was on, no row means that there was nothing of it. */
static void levels_that_were_on(void **state)
{
    (void)state;
    const char *trace = cli_in(cli_folder, "short.nvt");
    const char *const argv[] = {"nvtally", "record", "-f", "--trace", "nvtx,mpi",
                                "-o",      trace,    "--", "true",    NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    result =
        check("[{\"id\": \"a\", \"query\": \"SELECT count(*) FROM ranges\", \"equals\": 0},\n"
              "{\"id\": \"b\", \"query\": \"SELECT count(*) FROM mpi_calls\", \"equals\": 0},\n"
              "{\"id\": \"c\", \"query\": \"SELECT count(*) FROM kernels\", \"equals\": 0},\n"
              "{\"id\": \"d\", \"query\": \"SELECT count(*) FROM iterations\", \"equals\": 0}]",
              trace);
    assert_non_null(strstr(result.out, "\na,,yes,0,"));
    assert_non_null(strstr(result.out, "\nb,,yes,0,"));
    assert_non_null(strstr(result.out, "\nc,,unknown,,0 within 0.5 %,\"no device operations in the "
                                       "trace (nvtally record --trace kernel, on a machine"));
    assert_non_null(strstr(result.out, "\nd,,unknown,,0 within 0.5 %,"));
    cli_result_free(&result);
}

static void what_is_no_claim(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "has no claim"},
        {"[]", "has no claim"},
        {"[1]", "is no list of JSON objects"},
        {"{\"query\": \"SELECT 1\"", "is no list of JSON objects"},
        {"{\"query\": }", "claims.json"},
        {"{}", "a claim has a query or a finding"},
        {"{\"query\": \"SELECT 1\", \"finding\": \"x\", \"equals\": 1}", "a query or a finding"},
        {"{\"query\": \"SELECT 1\"}", "has equals, at_least or at_most"},
        {"{\"query\": \"SELECT 1\", \"equals\": \"one\"}", "equals must be a number, not 'one'"},
        {"{\"query\": \"SELECT 1\", \"equals\": true}", "equals must be a number"},
        {"[{\"finding\": \"x\"}, {\"query\": \"SELECT 1\", \"at_leest\": 1}]",
         "claims.json: claim 2: unknown key 'at_leest'"},
        {"[{\"finding\": \"x\"}, {\"query\": }]", "claims.json: claim 2: "},
        {"{\"query\": \"SELECT 1\", \"equals\": 1, \"tolerance\": -1}",
         "claim 1: tolerance must not be below 0"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct cli_result result = check(cases[i][0], TRACE);
        cli_expect_failure(&result, cases[i][1]);
        cli_result_free(&result);
    }
    struct cli_result result = check("{\"finding\": \"x\"}", "missing.nvt");
    cli_expect_failure(&result, "missing.nvt: cannot be opened");
    cli_result_free(&result);
}

/* What the server answers to lines. */
static struct cli_result serve(const char *lines)
{
    const char *const argv[] = {"nvtally", "mcp", NULL};
    const struct cli_options options = {.input = lines};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    return result;
}

static void messages(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"ping\"}\n", "\"id\": 7, \"result\": {}"},
        {"{\"id\": \"a\\\"b\", \"method\": \"ping\"}", "\"id\": \"a\\\"b\", \"result\": {}"},
        {"{\"id\": 1, \"method\": \"initialize\", \"params\": {\"protocolVersion\": "
         "\"2024-11-05\"}}\n",
         "\"protocolVersion\": \"2024-11-05\""},
        {"{\"id\": 1, \"method\": \"initialize\", \"params\": {\"protocolVersion\": "
         "\"1999-01-01\"}}\n",
         "\"protocolVersion\": \"2025-06-18\""},
        {"{\"id\": 1, \"method\": \"tools/list\"}\n", "\"name\": \"diagnose\""},
        {"{\"id\": 1, \"method\": \"resources/list\"}\n", "\"code\": -32601"},
        {"{\"id\": 1}\n", "\"code\": -32600"},
        {"{\"jsonrpc\": \"2.0\"}\n", "\"code\": -32600"},
        {"{\"id\": 1, \"method\": \"tools/call\", \"params\": {\"name\": \"list\", \"arguments\": "
         "{\"max_bytes\": 2047}}}\n",
         "max_bytes must be from 2048 to 100000000, not '2047'"},
        {"junk\n", "\"code\": -32700"},
        {"[1, 2]\n", "\"code\": -32700"},
        {"{\"id\": 1, \"method\": \"tools/call\"}\n", "there is no tool"},
        {"{\"id\": 1, \"method\": \"tools/call\", \"params\": {\"name\": \"sql\", \"arguments\": "
         "{\"query\": \"SELECT 1\"}}}\n",
         "no trace is open"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct cli_result result = serve(cases[i][0]);
        if (!strstr(result.out, cases[i][1]) ||
            strchr(result.out, '\n') != result.out + result.out_size - 1)
            fail_msg("%s: %s", cases[i][0], result.out);
        cli_result_free(&result);
    }
    struct cli_result result = serve("{\"method\": \"notifications/initialized\"}\n\n  \n");
    assert_string_equal(result.out, "");
    cli_result_free(&result);
}

/* A message that is too long is refused, and the next one answered. */
static void long_messages(void **state)
{
    (void)state;
    static const char next[] = "\n{\"id\": 2, \"method\": \"ping\"}\n";
    const size_t size = (1 << 20) + 10;
    char *lines = malloc(size + sizeof(next));
    assert_non_null(lines);
    memset(lines, 'x', size);
    memcpy(lines + size, next, sizeof(next));
    struct cli_result result = serve(lines);
    assert_non_null(strstr(result.out, "more than 1 MiB"));
    assert_non_null(strstr(result.out, "\"id\": 2, \"result\": {}"));
    cli_result_free(&result);
    free(lines);
}

/* What the server answers to a call of a tool, behind one that opens the trace. */
static char *answer_of(const char *call, const char *path)
{
    struct nvt_buffer lines = {0};
    (void)nvt_buffer_printf(&lines,
                            "{\"id\": 1, \"method\": \"tools/call\", \"params\": {\"name\": "
                            "\"open\", \"arguments\": {\"path\": \"%s\"}}}\n"
                            "{\"id\": 2, \"method\": \"tools/call\", \"params\": {\"name\": %s}}\n",
                            path, call);
    assert_int_equal(nvt_buffer_append(&lines, "", 1), 0);
    struct cli_result result = serve((const char *)lines.data);
    const char *second = strchr(result.out, '\n');
    assert_non_null(second);
    char *answer = strdup(second + 1);
    assert_non_null(answer);
    nvt_buffer_free(&lines);
    cli_result_free(&result);
    return answer;
}

/* Of what was not recorded there is no table; beside other tables it is a note. Skipped rules are one, too. */
static void what_cannot_be_answered(void **state)
{
    (void)state;
    static const char no_calls[] = "no OS calls in the trace (nvtally record --trace osrt)";
    static const struct {
        const char *query, *cannot, *note; /* NULL: none */
    } cases[] = {
        {"SELECT count(*) AS n FROM os_calls", no_calls, no_calls},
        {"SELECT count(*) AS n FROM os_calls JOIN threads ON threads.id = thread", no_calls,
         no_calls},
        {"SELECT count(*) AS n FROM ranges JOIN os_calls USING (thread)", NULL, no_calls},
        {"SELECT count(*) AS n FROM os_calls UNION ALL SELECT count(*) FROM kernels", NULL,
         no_calls},
        {"SELECT count(*) AS n FROM findings WHERE cause = 'deadlock'",
         "deadlock was not looked for: no OS calls", "deadlock was not looked for: no OS calls"},
        {"SELECT count(*) AS n FROM findings WHERE cause IN ('deadlock', 'launch-bound')", NULL,
         "deadlock was not looked for: no OS calls"},
        {"SELECT count(*) AS n FROM findings", NULL,
         "rules were skipped: SELECT cause, lacks FROM rules WHERE lacks IS NOT NULL"},
        {"SELECT count(*) AS n FROM findings WHERE cause = 'sync-bound'", NULL, NULL},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const char *const argv[] = {"nvtally", "sql", "-f", "facts", TRACE, cases[i].query, NULL};
        char call[400];
        snprintf(call, sizeof(call), "\"sql\", \"arguments\": {\"query\": \"%s\"}", cases[i].query);
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 0);
        char *served = answer_of(call, TRACE);
        const char *const answers[] = {result.out, served};
        for (size_t k = 0; k < 2; k++) {
            const char *notes = strstr(answers[k], "notes");
            const char *cannot = strstr(answers[k], "cannot_answer");
            assert_non_null(notes);
            assert_non_null(cannot);
            if (!cases[i].cannot != !!strstr(answers[k], "row_count") ||
                !strstr(cannot, cases[i].cannot ? cases[i].cannot : "null}") ||
                !strstr(notes, cases[i].note ? cases[i].note : "[]"))
                fail_msg("%s: %s", cases[i].query, answers[k]);
        }
        free(served);
        cli_result_free(&result);
    }
}

/* That a trace is cut is said with every answer about it, and of findings how many rules could look. */
static void a_cut_trace(void **state)
{
    (void)state;
    static const char *const tools[] = {
        "summary\", \"arguments\": {}",
        "diagnose\", \"arguments\": {}",
        "report\", \"arguments\": {\"report\": \"nvtx_sum\"}",
        "sql\", \"arguments\": {\"query\": \"SELECT count(*) AS n FROM ops\"}",
        "sql\", \"arguments\": {\"query\": \"SELECT nope\"}",
        "check\", \"arguments\": {\"query\": \"SELECT 1\", \"equals\": 1}",
        "describe\", \"arguments\": {\"name\": \"ops\"}"};
    size_t size, answers = 0;
    const char *path = cli_in(cli_folder, "cut.nvt");
    char *whole = cli_read_file(TRACE, &size);
    assert_non_null(whole);
    cli_write_file(path, whole, 20000);
    free(whole);
    struct nvt_buffer lines = {0};
    (void)nvt_buffer_printf(
        &lines,
        "{\"id\": 1, \"method\": \"tools/call\", \"params\": {\"name\": \"open\", "
        "\"arguments\": {\"path\": \"%s\"}}}\n",
        path);
    for (size_t i = 0; i < NVT_COUNT_OF(tools); i++)
        (void)nvt_buffer_printf(
            &lines, "{\"id\": 2, \"method\": \"tools/call\", \"params\": {\"name\": \"%s}}\n",
            tools[i]);
    assert_int_equal(nvt_buffer_append(&lines, "", 1), 0);
    struct cli_result result = serve((const char *)lines.data);
    for (char *rest = result.out, *line; (line = strsep(&rest, "\n")) && *line; answers++) {
        if (!strstr(line, "warning: ") || !strstr(line, "cut.nvt: "))
            fail_msg("not said: %s", line);
        if (answers == 1)
            assert_non_null(strstr(line, "No findings in the part that could be read: "));
        if (answers == 1 || answers == 2) {
            assert_non_null(strstr(line, "no findings: "));
            assert_non_null(strstr(line, " rules skipped: no "));
            assert_non_null(strstr(line, "no device operations in the part that could be read"));
            assert_null(strstr(line, "nvtally record --trace kernel"));
        }
    }
    assert_int_equal(answers, 1 + NVT_COUNT_OF(tools));
    nvt_buffer_free(&lines);
    cli_result_free(&result);
}

static void client_of_pypi(void **state)
{
    (void)state;
    const char *const argv[] = {"python3", "-B", "tests/python/mcp_client.py", cli_built("nvtally"),
                                TRACE,     NULL};
    const char *const environment[] = {"PYTHONPATH=.deps/mcp-client", NULL};
    const struct cli_options options = {.environment = environment, .timeout_s = 120};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    if (!strstr(result.out, "done\n")) {
        assert_string_equal(result.out, "not run: mcp is not installed\n");
        print_message("not run: PyPI's mcp is not installed (./setup frames)\n");
    }
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_are_checked),      cmocka_unit_test(facts_of_diagnose),
        cmocka_unit_test(reports_in_another_form), cmocka_unit_test(levels_that_were_on),
        cmocka_unit_test(what_cannot_be_answered), cmocka_unit_test(a_cut_trace),
        cmocka_unit_test(what_is_no_claim),        cmocka_unit_test(messages),
        cmocka_unit_test(long_messages),           cmocka_unit_test(client_of_pypi),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}

#else

int main(void)
{
    puts("not run: this build has no SQLite");
    return 0;
}
#endif
