/* Which end is of which beginning, in Chrome traces whose events are in any order and whose ids are of any scope. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/readers/kineto.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "read_kit.h"

/* The ranges of a list of events as "name start-end;", by start: us, '?' where it never ends. */
static void expect_ranges(const char *events, const char *expected)
{
    char text[2048], found[512] = "";
    snprintf(text, sizeof(text), "[%s]", events);
    struct nvt_trace *trace = kit_read_text("t.json", text);
    const struct nvt_ranges *ranges = &trace->ranges;
    for (uint32_t i = 0; i < ranges->count; i++) {
        const int is_open = ranges->flags[i] & NVT_RANGE_UNCLOSED;
        const size_t size = strlen(found);
        if (is_open)
            snprintf(found + size, sizeof(found) - size, "%s %d-?;",
                     nvt_name(trace, ranges->name[i]), (int)(ranges->start[i] / 1000));
        else
            snprintf(found + size, sizeof(found) - size, "%s %d-%d;",
                     nvt_name(trace, ranges->name[i]), (int)(ranges->start[i] / 1000),
                     (int)(ranges->end[i] / 1000));
    }
    assert_string_equal(found, expected);
    nvt_trace_free(trace);
}

/* An event of thread 1; one with an id. */
#define ON(phase, name, us)                                                                        \
    "{\"ph\":\"" phase "\",\"pid\":1,\"tid\":1,\"name\":\"" name "\",\"ts\":" #us "}"
#define ID(phase, name, us, pid, ids)                                                              \
    "{\"ph\":\"" phase "\",\"cat\":\"c\",\"pid\":" #pid ",\"tid\":1,\"name\":\"" name              \
    "\",\"ts\":" #us "," ids "}"

static void events_may_be_in_any_order(void **state)
{
    (void)state;
    static const struct {
        const char *events, *ranges;
    } cases[] = {
        {ON("B", "a", 100) "," ON("B", "a", 300) "," ON("E", "a", 200) "," ON("E", "a", 400),
         "a 100-200;a 300-400;"},
        {ON("E", "a", 200) "," ON("B", "a", 100) "," ON("E", "a", 400) "," ON("B", "a", 300),
         "a 100-200;a 300-400;"},
        {ON("E", "a", 9) "," ON("B", "a", 1), "a 1-9;"},
        {ON("E", "", 40) "," ON("E", "", 30) "," ON("B", "in", 20) "," ON("B", "out", 10),
         "out 10-40;in 20-30;"},
        {ON("E", "a", 9) "," ON("B", "b", 1) "," ON("B", "a", 2), "b 1-?;a 2-9;"},
        {ON("B", "a", 5) "," ON("E", "a", 5) "," ON("B", "a", 1) "," ON("E", "a", 2),
         "a 1-2;a 5-5;"},
        {ID("e", "a", 200, 1, "\"id\":1") "," ID("b", "a", 100, 1, "\"id\":1") "," ID(
             "b", "a", 300, 1, "\"id\":1") "," ID("e", "a", 400, 1, "\"id\":1"),
         "a 100-200;a 300-400;"},
        {ID("b", "a", 100, 1, "\"id\":1") "," ID("b", "a", 300, 1, "\"id\":1") "," ID(
             "e", "a", 200, 1, "\"id\":1") "," ID("e", "a", 400, 1, "\"id\":1"),
         "a 100-200;a 300-400;"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++)
        expect_ranges(cases[i].events, cases[i].ranges);
}

/* Ids count in the whole file; those of id2.local in their process; a scope sets its ids apart. */
static void ids_have_scopes(void **state)
{
    (void)state;
    static const struct {
        const char *events, *ranges;
    } cases[] = {
        {ID("b", "a", 1, 1, "\"id\":1") "," ID("e", "a", 4, 2, "\"id\":1"), "a 1-4;"},
        {ID("b", "a", 1, 1, "\"id2\":{\"local\":\"0x1\"}") "," ID(
             "b", "a", 2, 2,
             "\"id2\":{\"local\":\"0x1\"}") "," ID("e", "a", 5, 1,
                                                   "\"id2\":{\"local\":\"0x1\"}") "," ID("e", "a",
                                                                                         9, 2,
                                                                                         "\"id2\":{"
                                                                                         "\"local\""
                                                                                         ":\"0x1\""
                                                                                         "}"),
         "a 1-5;a 2-9;"},
        {ID("b", "a", 1, "\"one\"", "\"id2\":{\"local\":\"7\"}") "," ID(
             "b", "a", 2, "\"two\"",
             "\"id2\":{\"local\":\"7\"}") "," ID("e", "a", 5, "\"one\"",
                                                 "\"id2\":{\"local\":\"7\"}"),
         "a 1-5;a 2-?;"},
        {ID("b", "a", 1, 1, "\"id2\":{\"global\":\"0x1\"}") "," ID("e", "a", 4, 2,
                                                                   "\"id2\":{\"global\":\"0x1\"}"),
         "a 1-4;"},
        {ID("b", "a", 1, 1, "\"id\":1,\"scope\":\"x\"") "," ID(
             "b", "a", 2, 1, "\"id\":1,\"scope\":\"y\"") "," ID("e", "a", 5, 1,
                                                                "\"scope\":\"x\",\"id\":1"),
         "a 1-5;a 2-?;"},
        {ID("b", "a", 1, 1, "\"id\":1,\"scope\":\"x\"") "," ID("e", "a", 5, 1, "\"id\":1"),
         "a 1-?;"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++)
        expect_ranges(cases[i].events, cases[i].ranges);
}

/* What is known of a thread counts each event once, whatever their order is. */
static void events_are_counted_once(void **state)
{
    (void)state;
    struct nvt_trace *trace =
        kit_read_text("t.json", "[" ON("B", "a", 100) "," ON("B", "a", 300) "," ON(
                                    "E", "a", 200) "," ON("E", "a", 400) "]");
    assert_int_equal(trace->threads.count, 1);
    assert_int_equal(trace->threads.events[0], 4);
    assert_int_equal(trace->threads.last_ns[0], 400000);
    assert_int_equal(trace->ranges.parent[1], NVT_NONE);
    nvt_trace_free(trace);
}

/* A pair of thread 1, a ms behind the one before it; the last one's end stands in front of its beginning where it is `late`. */
static void put_pairs(FILE *out, int count, int late, const char *end)
{
    fprintf(out, "[");
    for (int i = 0; i < 2 * count; i++) {
        const int turned = late && i / 2 == count - 1, begins = i % 2 == turned;
        fprintf(out, "{\"ph\":\"%c\",\"pid\":1,\"tid\":1,\"name\":\"a\",\"ts\":%d}%s",
                begins ? 'B' : 'E', 1000 * (i / 2) + (begins ? 0 : 500),
                i < 2 * count - 1 ? ",\n" : end);
    }
    fclose(out);
}

/* That order is lost is known at the end of a file of several parts, in one that is repaired, too: nothing is read twice. */
static void order_may_be_lost_late(void **state)
{
    static const char *const ends[] = {"]", ",]"};
    (void)state;
    for (size_t i = 0; i < 2 * NVT_COUNT_OF(ends); i++) {
        enum { COUNT = 8000 };
        const char *path = cli_in(cli_folder, "late.json");
        put_pairs(fopen(path, "w"), COUNT, i % 2, ends[i / 2]);
        struct nvt_trace *trace = kit_read(path);
        assert_int_equal(trace->ranges.count, COUNT);
        assert_int_equal(trace->threads.count, 1);
        assert_int_equal(trace->threads.events[0], 2 * COUNT);
        for (uint32_t row = 0; row < COUNT; row++)
            assert_int_equal(trace->ranges.end[row] - trace->ranges.start[row], 500000);
        assert_int_equal(trace->ranges.end[COUNT - 1], (COUNT - 1) * 1000000LL + 500000);
        assert_int_equal(trace->notes && strstr(trace->notes, "(1)"), i / 2);
        nvt_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_may_be_in_any_order),
        cmocka_unit_test(order_may_be_lost_late),
        cmocka_unit_test(events_are_counted_once),
        cmocka_unit_test(ids_have_scopes),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
