/*
 * JSON's scanner: the same tokens wherever a piece of the text ends, what is no JSON refused where it is; and profiles whose events are
 * read ahead by threads are what one thread reads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/readers/json_ahead.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "random_kit.h"
#include "read_kit.h"

/* --- tokens --- */

static int log_open(void *context, int is_array)
{
    return nvt_buffer_printf(context, is_array ? "[" : "{");
}

static int log_close(void *context)
{
    return nvt_buffer_printf(context, ")");
}

/* A key that begins with '-' is not wanted, nor is a bracket behind "skip". */
static int log_key(void *context, const char *text, size_t size)
{
    return nvt_buffer_printf(context, "%.*s:", (int)size, text) ? -1
           : size && *text == '-'                               ? NVT_JSON_SKIP
                                                                : 0;
}

static int log_value(void *context, enum nvt_json_type type, const char *text, size_t size)
{
    return nvt_buffer_printf(context, "%c%.*s;", "nftdT"[type], (int)size, text);
}

static const struct nvt_json_handler logs = {
    .open = log_open, .close = log_close, .key = log_key, .value = log_value};

/* Scan the first `split` bytes and then the rest behind what was left of them. NULL, or what is wrong. */
static const char *scan_split(const char *text, size_t split, struct nvt_buffer *log)
{
    struct nvt_json_scan scan = {.handler = &logs, .context = log, .base = -1};
    const size_t size = strlen(text);
    /* In memory of just that size, so that AddressSanitizer sees what is read behind it. */
    char *first = malloc(split ? split : 1), *rest;
    log->size = 0;
    memcpy(first, text, split);
    enum nvt_json_scanned scanned = nvt_json_scan(&scan, first, split, 0);
    free(first);
    if (scanned == NVT_JSON_MORE) {
        const size_t left = size - scan.used;
        rest = malloc(left ? left : 1);
        memcpy(rest, text + scan.used, left);
        scanned = nvt_json_scan(&scan, rest, left, 1);
        free(rest);
        if (scanned == NVT_JSON_MORE && (scan.used < left || !nvt_json_scan_is_whole(&scan)))
            scan.problem = "ends";
    }
    nvt_buffer_append(log, "", 1);
    nvt_json_scan_free(&scan);
    assert_true(scanned != NVT_JSON_STOPPED);
    return scan.problem;
}

static void tokens_are_the_same_in_pieces(void **state)
{
    (void)state;
    static const struct {
        const char *text, *tokens;
    } cases[] = {
        {"{}", "{)"},
        {" [ ] ", "[)"},
        {"[1,-0,0.5,-2.25e+10,1E5,10e-3]", "[d1;d-0;d0.5;d-2.25e+10;d1E5;d10e-3;)"},
        {"12", "d12;"},
        {"\t\"a\"\n", "Ta;"},
        {"[true,false,null]", "[t;f;n;)"},
        {"{\"a\":{\"b\":[\"c\",{}]},\"d\":\"\"}", "{a:{b:[Tc;{)))d:T;)"},
        {"[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", "[T\"\\/\b\f\n\r\t;)"},
        {"[\"\\u0041\\u00e9\\u20ac\\uD83D\\ude00\"]", "[TA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80;)"},
        {"[\"\\ud83d\", \"\\ud83dx\", \"\\udc00\"]", "[T?;T?x;T\xed\xb0\x80;)"},
        {"[\"0123456789abcdef0123456789abcdef\\n0123456789abcdef\"]",
         "[T0123456789abcdef0123456789abcdef\n0123456789abcdef;)"},
        {"[\"\xc3\xa9\xff\"]", "[T\xc3\xa9\xff;)"},
        {"{\"-a\":[1,{\"b\":2}],\"c\":3,\"-d\":\"e\",\"-f\":1.5}", "{-a:c:d3;-d:-f:)"},
        {"{\"-a\":[\"]}\\\"[\",{\"b\":[[],{}]}],\"c\":[3]}", "{-a:c:[d3;))"},
        {"[{\"-a\":{\"0123456789abcdef}\":\"]\\\\\"}},{\"c\":\"}\"}]", "[{-a:){c:T};))"},
        {"{\"-a\": -3, \"-b\":0,\n \"-c\": 12.75 , \"d\":-1,\"-e\":1e3,\"-f\":0.5}",
         "{-a:-b:-c:d:d-1;-e:-f:)"},
        {"                                 [                                          1]", "[d1;)"},
    };
    struct nvt_buffer log = {0};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++)
        for (size_t split = 0; split <= strlen(cases[i].text); split++) {
            const char *problem = scan_split(cases[i].text, split, &log);
            if (problem || strcmp((const char *)log.data, cases[i].tokens) != 0)
                fail_msg("%s at %zu: %s, not %s (%s)", cases[i].text, split, (char *)log.data,
                         cases[i].tokens, problem ? problem : "no problem");
        }
    nvt_buffer_free(&log);
}

static const char *const not_json[] = {
    "",
    "[",
    "{",
    "[1",
    "[1,]",
    "[,1]",
    "{,}",
    "{\"a\"}",
    "{\"a\":}",
    "{1:2}",
    "{\"a\":1,}",
    "[}",
    "{]",
    "[1}",
    "{\"a\":1]",
    "[1 2]",
    "[] []",
    "[]]",
    "1 2",
    "[01]",
    "[1.]",
    "[.5]",
    "[-]",
    "[+1]",
    "[1e]",
    "[1e+]",
    "[0x1]",
    "[tru]",
    "[nul]",
    "[truex]",
    "[NaN]",
    "[inf]",
    "[\"a]",
    "[\"\\x\"]",
    "[\"\\u12g4\"]",
    "[\"\\u12\"]",
    "[\"a\nb\"]",
    "['a']",
    "[\"a\" \"b\"]",
    "{\"a\" 1}",
    "// x\n[]",
    "[\x01]",
    "tru",
    "-",
    "\"a",
    "{\"-a\":[}",
    "{\"-a\":[{]}]}",
    "{\"-a\":[[\"\\\"]}",
    "{\"-a\":[[1]}",
    "{\"-a\":01}",
    "{\"-a\":1.}",
    "{\"-a\":-}",
    "{\"-a\":1x}",
    "{\"-a\":1:2}",
    "{\"-a\":1]",
    "{\"-a\":1.2.3}",
    "{\"-a\":1,}",
    "{\"-a\":1,2}",
};

static void what_is_no_json_is_refused(void **state)
{
    (void)state;
    struct nvt_buffer log = {0};
    for (size_t i = 0; i < NVT_COUNT_OF(not_json); i++)
        for (size_t split = 0; split <= strlen(not_json[i]); split++)
            if (!scan_split(not_json[i], split, &log))
                fail_msg("'%s' is taken for JSON, at %zu", not_json[i], split);
    nvt_buffer_free(&log);
}

/* --- events that are read ahead --- */

static unsigned below(size_t most)
{
    return (unsigned)((size_t)rand() % most);
}

/* Events: $n is a name, $i one of fifty numbers, $t a time, $u a number that no other event has. */
static const char *const events[] = {
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"$n\",\"pid\":5,\"tid\":$i,\"ts\":$t,\"dur\":2,"
    "\"args\":{\"Input Dims\":[[1,2],[]]}}",
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"$n "
    "$i\",\"pid\":0,\"tid\":7,\"ts\":$t.25,\"dur\":1.5,"
    "\"args\":{\"correlation\":$i,\"device\":0,\"stream\":7,\"grid\":[1,2,3],\"list\":[{\"a\":1},{"
    "\"ph\":\"X\"}]}}",
    "{ \"args\" : {\"depth\": $i, \"n$i\": 2.5}, "
    "\"ph\":\"C\",\"name\":\"queue\",\"pid\":5,\"ts\":$t}",
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":5,\"tid\":\"main "
    "$i\","
    "\"ts\":$t,\"dur\":1,\"args\":{\"correlation\":$i}}",
    "{\"ph\":\"b\",\"cat\":\"async\",\"name\":\"$n\",\"id\":\"0x$i\",\"pid\":\"Spans\",\"tid\":-$i,"
    "\"ts\":$t}",
    "{\"ph\":\"e\",\"cat\":\"async\",\"name\":\"$n\",\"id\":\"0x$i\",\"pid\":\"Spans\",\"tid\":-$i,"
    "\"ts\":$t}",
    "{\"ph\":\"s\",\"id\":$u,\"pid\":5,\"tid\":$i,\"ts\":$t,\"cat\":\"ac2g\",\"name\":\"ac2g\"}",
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":5,\"tid\":$i,\"args\":{\"name\":\"worker "
    "$u\"}}",
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"nccl\",\"pid\":1,\"tid\":9,\"ts\":$t,\"dur\":2,"
    "\"args\":"
    "{\"Collective name\":\"allreduce\",\"Process Group Ranks\":\"[0, "
    "$i]\",\"Seq\":$u,\"correlation\":$u}}",
    "null",
};

static void put_event(struct nvt_buffer *out, unsigned number)
{
    /* Some look like the end of an event. */
    static const char *const names[] = {"aten::mm",      "},{\\\"ph\\\":\\\"X\\\"",
                                        "a \\\\\\\"},{", "void k<int>(float*, int)",
                                        "caf\\u00e9",    "},\\n  {"};
    const char *name = names[below(NVT_COUNT_OF(names))];
    const unsigned id = below(50);
    for (const char *at = events[below(NVT_COUNT_OF(events))]; *at; at++) {
        if (*at != '$')
            nvt_buffer_append(out, at, 1);
        else if (*++at == 'n')
            nvt_buffer_append(out, name, strlen(name));
        else
            nvt_buffer_printf(out, "%u", *at == 'i' ? id : *at == 't' ? 1000 + number * 3 : number);
    }
}

/* A profile of several parts: what stands around its events comes before and behind them, and among them are two lists. */
static void make_profile(struct nvt_buffer *out, unsigned count, int is_list)
{
    nvt_buffer_printf(out, is_list ? "[" : "{\"schemaVersion\":1,\n\"traceEvents\": [\n");
    for (unsigned i = 0; i < count; i++) {
        if (i)
            nvt_buffer_printf(out, below(2) ? ",\n  " : ",");
        put_event(out, i);
        if (i == count / 2 && !is_list)
            nvt_buffer_printf(out, "],\"distributedInfo\":{\"rank\":1,\"world_size\":2},"
                                   "\"traceEvents\":[{\"ph\":\"M\"}");
    }
    nvt_buffer_printf(out,
                      is_list ? "]" : "],\n\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA\"}]}");
}

/* Compare what one thread and what several read of a text. */
static void compare(const struct nvt_buffer *text, const char *what)
{
    const char *path = cli_in(cli_folder, "ahead.json");
    cli_write_file(path, (const char *)text->data, text->size);
    struct nvt_trace *trace = kit_read_on_threads(path, "5", what);
    assert_true(!trace || trace->ranges.count + trace->ops.count > 1000);
    nvt_trace_free(trace);
}

static void reading_ahead_changes_nothing(void **state)
{
    (void)state;
    kit_srand(20261128);
    for (int is_list = 0; is_list < 2; is_list++) {
        struct nvt_buffer text = {0};
        make_profile(&text, 25000, is_list);
        assert_true(text.size > 4 * (size_t)NVT_JSON_PART);
        compare(&text, "whole");
        const size_t size = text.size;
        text.size = size - size / 3;
        compare(&text, "cut");
        text.size = size;
        /* Somewhere in it is what is none of JSON: it is refused, and then repaired. */
        uint8_t *odd = text.data + size / 2 + below(size / 4);
        while (memcmp(odd, "\"pid\":", 6) != 0)
            odd++;
        memcpy(odd, "\"pid\";", 6);
        compare(&text, "no JSON");
        memcpy(odd, "'pid':", 6);
        compare(&text, "repaired");
        nvt_buffer_free(&text);
    }
}

/* As a stream has it that ends with a whole part; UBSan watches. */
static void nothing_may_follow(void **state)
{
    (void)state;
    static const struct nvt_json_handler none;
    struct nvt_json_scan scan = {.handler = &none, .base = -1};
    assert_int_equal(nvt_json_scan(&scan, NULL, 0, 1), NVT_JSON_MORE);
    assert_int_equal(scan.used, 0);
    nvt_json_scan_free(&scan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_the_same_in_pieces),
        cmocka_unit_test(what_is_no_json_is_refused),
        cmocka_unit_test(reading_ahead_changes_nothing),
        cmocka_unit_test(nothing_may_follow),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
