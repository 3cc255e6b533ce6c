/*
 * Perfetto's traces, written here field by field in the way that its SDK does: slices, tracks, interned names, clocks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/readers/reader.h"
#include "../lib/count_of.h"
#include "../lib/proto_put.h"
#include "perfetto_kit.h"

/* --- slices and tracks --- */

static void slices_nest_on_their_threads(void **state)
{
    (void)state;
    perfetto_put_track(1, 0, 77, 0, "program");
    perfetto_put_track(2, 1, 77, 78, "worker");
    perfetto_put_track(3, 1, 0, 0, "loader");
    perfetto_put_event(100, BEGIN, 2, "app", "outer");
    perfetto_put_event(100, BEGIN, 2, NULL, "same");
    perfetto_put_event(200, END, 2, NULL, NULL);
    perfetto_put_event(150, INSTANT, 2, NULL, "mark");
    perfetto_put_event(200, END, 2, NULL, NULL);
    perfetto_put_slice(300, 400, 3, NULL, "load");
    perfetto_put_event(500, BEGIN, 2, NULL, "open");
    struct nvt_trace *trace = perfetto_read_file();
    assert_string_equal(trace->format, "perfetto");
    assert_int_equal(trace->recorder, NVT_BY_OTHERS);
    assert_int_equal(trace->ranges.count, 4);
    perfetto_assert_span(trace, "outer", 100, 200);
    perfetto_assert_span(trace, "same", 100, 200);
    perfetto_assert_span(trace, "load", 300, 400);
    /* The one that was begun first is around the other, although both have the same times. */
    assert_int_equal(trace->ranges.level[perfetto_range_called(trace, "outer")], 0);
    assert_int_equal(trace->ranges.flags[perfetto_range_called(trace, "open")], NVT_RANGE_UNCLOSED);
    assert_int_equal(trace->marks.count, 1);
    assert_int_equal(trace->processes.count, 1);
    assert_int_equal(trace->processes.pid[0], 77);
    assert_string_equal(nvt_name(trace, trace->processes.name[0]), "program");
    assert_int_equal(trace->threads.count, 2);
    const uint32_t loader = trace->ranges.thread[perfetto_range_called(trace, "load")];
    assert_string_equal(nvt_name(trace, trace->threads.name[loader]), "loader");
    nvt_trace_free(trace);
}

/* A track below a thread's: what goes on there began on the thread, and need not nest. */
static void tracks_below_threads_are_asynchronous(void **state)
{
    (void)state;
    perfetto_put_track(2, 0, 77, 78, "worker");
    perfetto_put_track(3, 2, 0, 0, "requests");
    /* Kineto's: a track for each slice, called as its thread */
    perfetto_put_track(4, 2, 0, 0, "worker");
    perfetto_put_event(100, BEGIN, 3, NULL, "request");
    perfetto_put_slice(110, 120, 4, NULL, "slice");
    perfetto_put_event(300, END, 3, NULL, NULL);
    struct nvt_trace *trace = perfetto_read_file();
    assert_int_equal(trace->threads.count, 1);
    assert_int_equal(trace->ranges.style[perfetto_range_called(trace, "request")], NVT_START_END);
    assert_int_equal(trace->ranges.style[perfetto_range_called(trace, "slice")], NVT_PUSH_POP);
    perfetto_assert_span(trace, "request", 100, 300);
    nvt_trace_free(trace);
}

static void put_interned(uint32_t kind, uint64_t iid, const char *text)
{
    struct nvt_buffer entry = {0};
    nvt_proto_number(&entry, 1, iid);
    nvt_proto_text(&entry, 2, text);
    nvt_proto_message(&perfetto_inner, kind, &entry);
    nvt_buffer_free(&entry);
}

static void put_interned_event(uint64_t time, uint64_t name_iid, uint32_t flags, uint32_t sequence)
{
    perfetto_at(time);
    nvt_proto_number(&perfetto_message, 9, BEGIN);
    nvt_proto_number(&perfetto_message, 10, name_iid);
    nvt_proto_number(&perfetto_message, 3, 9);
    nvt_proto_message(&perfetto_packet, 11, &perfetto_message);
    if (perfetto_inner.size)
        nvt_proto_message(&perfetto_packet, 12, &perfetto_inner);
    if (flags)
        nvt_proto_number(&perfetto_packet, 13, flags);
    perfetto_put_packet(sequence);
}

/* Names are of their sequence, from when its state began anew; they stand behind the event in its packet. */
static void names_are_of_their_sequence(void **state)
{
    (void)state;
    put_interned(2, 5, "first");
    put_interned(1, 9, "cat");
    put_interned_event(100, 5, 1, 1);
    put_interned(2, 5, "other");
    put_interned(1, 9, "cat");
    put_interned_event(110, 5, 1, 2);
    put_interned_event(120, 5, 2, 1);
    put_interned(2, 5, "anew");
    put_interned(1, 9, "cat");
    put_interned_event(130, 5, 1, 1);
    put_interned_event(140, 6, 2, 1); /* is not there */
    put_interned_event(150, 5, 2, 3); /* of a sequence whose state is not */
    struct nvt_trace *trace = perfetto_read_file();
    static const char *const names[] = {"first", "other", "first", "anew", ""};
    assert_int_equal(trace->ranges.count, NVT_COUNT_OF(names));
    for (uint32_t i = 0; i < NVT_COUNT_OF(names); i++) {
        assert_string_equal(nvt_name(trace, trace->ranges.name[i]), names[i]);
        assert_string_equal(nvt_domain_name(trace, trace->ranges.domain[i]), "cat");
    }
    assert_non_null(strstr(trace->notes, "references to names that are not in the file (1)"));
    assert_non_null(strstr(trace->notes,
                           "packets were lost while this was recorded, or what they refer to (1)"));
    nvt_trace_free(trace);
}

/* The default track of a sequence. */
static void a_sequence_has_a_track(void **state)
{
    (void)state;
    perfetto_put_track(2, 0, 77, 78, "worker");
    nvt_proto_number(&perfetto_inner, 11, 2);
    nvt_proto_message(&perfetto_message, 11, &perfetto_inner);
    nvt_proto_message(&perfetto_packet, 59, &perfetto_message);
    nvt_proto_number(&perfetto_packet, 13, 1);
    perfetto_put_packet(1);
    perfetto_at(100);
    nvt_proto_number(&perfetto_message, 9, BEGIN);
    nvt_proto_text(&perfetto_message, 23, "here");
    nvt_proto_message(&perfetto_packet, 11, &perfetto_message);
    perfetto_put_packet(1);
    struct nvt_trace *trace = perfetto_read_file();
    assert_int_equal(trace->threads.tid[trace->ranges.thread[perfetto_range_called(trace, "here")]],
                     78);
    nvt_trace_free(trace);
}

/* --- clocks --- */

static void put_clock(uint32_t id, uint64_t value, int is_incremental, uint64_t unit)
{
    nvt_proto_number(&perfetto_inner, 1, id);
    nvt_proto_number(&perfetto_inner, 2, value);
    if (is_incremental)
        nvt_proto_number(&perfetto_inner, 3, 1);
    if (unit)
        nvt_proto_number(&perfetto_inner, 4, unit);
    nvt_proto_message(&perfetto_message, 1, &perfetto_inner);
}

/* MONOTONIC, and a clock of the sequence in microseconds, whose values are differences, as Chrome's. */
static void clocks_are_converted(void **state)
{
    (void)state;
    put_clock(6, 5000000, 0, 0);
    put_clock(3, 1000000, 0, 0);
    put_clock(1, UINT64_C(1700000000000000000), 0, 0);
    put_clock(64, 1000, 1, 1000);
    nvt_proto_message(&perfetto_packet, 6, &perfetto_message);
    nvt_proto_number(&perfetto_packet, 13, 1);
    perfetto_put_packet(1);
    perfetto_put_event(5000100, INSTANT, 0, NULL, "boot");
    nvt_proto_number(&perfetto_packet, 58, 3);
    perfetto_put_event(1000200, INSTANT, 0, NULL, "monotonic");
    nvt_proto_number(&perfetto_packet, 58, 64);
    perfetto_put_event(10, INSTANT, 0, NULL, "first");
    nvt_proto_number(&perfetto_packet, 58, 64);
    perfetto_put_event(5, INSTANT, 0, NULL, "second");
    struct nvt_trace *trace = perfetto_read_file();
    static const int64_t times[] = {5000100, 5000200, 5010000, 5015000};
    assert_int_equal(trace->marks.count, NVT_COUNT_OF(times));
    for (uint32_t i = 0; i < NVT_COUNT_OF(times); i++)
        assert_int_equal(trace->marks.time[i], times[i]);
    assert_int_equal(trace->origin_ns, INT64_C(1700000000000000000) - 5000000);
    assert_non_null(nvt_trace_meta(trace, "date"));
    nvt_trace_free(trace);
}

/* Each snapshot puts a clock as far ahead of the one before as times go: sums stay numbers, and what is beyond is no time. */
/* A trace may have a clock of its own; where it has another besides, they are hardly the same. */
static void clocks_that_nothing_relates_are_noted(void **state)
{
    (void)state;
    for (uint64_t ns = 10; ns < 30; ns += 10) {
        nvt_proto_number(&perfetto_packet, 58, 99);
        perfetto_put_event(ns, INSTANT, 0, NULL, "own");
    }
    struct nvt_trace *trace = perfetto_read_file();
    assert_int_equal(trace->marks.count, 2);
    assert_true(!trace->notes || !strstr(trace->notes, "clocks"));
    nvt_trace_free(trace);
    perfetto_put_event(30, INSTANT, 0, NULL, "of the trace");
    trace = perfetto_read_file();
    assert_int_equal(trace->marks.count, 3);
    assert_non_null(strstr(trace->notes, "times on clocks that no snapshot before them relates to "
                                         "the trace's are taken as they are (2)"));
    nvt_trace_free(trace);
}

static void clocks_that_run_away_have_no_times(void **state)
{
    (void)state;
    for (uint32_t clock = 10; clock < 18; clock++) {
        put_clock(clock, (UINT64_C(1) << 61) - (clock == 10), 0, 0);
        put_clock(clock + 1, 0, 0, 0);
        nvt_proto_message(&perfetto_packet, 6, &perfetto_message);
        perfetto_put_packet(1);
    }
    nvt_proto_number(&perfetto_packet, 58, 18);
    perfetto_put_event(100, INSTANT, 0, NULL, "away");
    perfetto_put_event(200, INSTANT, 0, NULL, "here");
    struct nvt_trace *trace = perfetto_read_file();
    assert_int_equal(trace->marks.count, 1);
    assert_string_equal(nvt_name(trace, trace->marks.name[0]), "here");
    nvt_trace_free(trace);
}

/* Ids below zero are none: they are no names either. */
static void ids_below_zero_are_none(void **state)
{
    (void)state;
    perfetto_put_track(7, 0, (uint64_t)-5, 0, "");
    perfetto_put_track(8, 7, (uint64_t)-5, (uint64_t)-99999, "");
    perfetto_put_slice(100, 200, 8, NULL, "work");
    struct nvt_trace *trace = perfetto_read_file();
    assert_int_equal(trace->ranges.count, 1);
    const uint32_t thread = trace->ranges.thread[0];
    assert_int_equal(trace->threads.tid[thread], -1);
    assert_int_equal(trace->processes.pid[trace->threads.process[thread]], -1);
    assert_string_equal(nvt_name(trace, trace->processes.name[0]), "");
    nvt_trace_free(trace);
}

/* An event of the old form, whose time is told as the difference from the one before. */
static void put_difference(int64_t us, const char *name)
{
    nvt_proto_number(&perfetto_message, 1, (uint64_t)us);
    nvt_proto_number(&perfetto_message, 9, INSTANT);
    nvt_proto_text(&perfetto_message, 23, name);
    nvt_proto_message(&perfetto_packet, 11, &perfetto_message);
    perfetto_put_packet(1);
}

static void differences_add_up_to_times(void **state)
{
    (void)state;
    const int64_t most = INT64_MAX / 4000 - 1;
    nvt_proto_number(&perfetto_message, 1, 77);
    nvt_proto_number(&perfetto_message, 2, 78);
    nvt_proto_number(&perfetto_message, 6, 5);
    nvt_proto_message(&perfetto_packet, 44, &perfetto_message);
    perfetto_put_packet(1);
    put_difference(3, "near");
    put_difference(-most, "far");
    for (int i = 0; i < 4; i++)
        put_difference(-most, "too far");
    struct nvt_trace *trace = perfetto_read_file();
    assert_int_equal(trace->marks.count, 2);
    assert_int_equal(trace->marks.time[0], (8 - most) * 1000);
    assert_int_equal(trace->marks.time[1], 8000);
    assert_int_equal(trace->threads.tid[trace->marks.thread[1]], 78);
    nvt_trace_free(trace);
}

/* An end that is earlier in the file than its beginning, from another sequence; and one that nothing began. */
static void ends_may_come_first(void **state)
{
    (void)state;
    perfetto_at(900);
    nvt_proto_number(&perfetto_message, 9, END);
    nvt_proto_number(&perfetto_message, 11, 7);
    nvt_proto_message(&perfetto_packet, 11, &perfetto_message);
    perfetto_put_packet(2);
    perfetto_put_event(400, BEGIN, 7, NULL, "late");
    perfetto_put_event(950, END, 8, NULL, NULL);
    struct nvt_trace *trace = perfetto_read_file();
    perfetto_assert_span(trace, "late", 400, 900);
    assert_int_equal(trace->ranges.flags[0], 0);
    assert_non_null(
        strstr(trace->notes, "slices that end and do not begin in the file were left out (1)"));
    nvt_trace_free(trace);
}

/* Perfetto's importer sorts by time: so does what is read, where a track has its slices in another order. */
/* An event of Chrome's, with an id where it is not 0. */
static void put_legacy(uint64_t time, char phase, const char *name, uint64_t id)
{
    perfetto_at(time);
    nvt_proto_number(&perfetto_message, 11, 7);
    nvt_proto_text(&perfetto_message, 23, name);
    nvt_proto_number(&perfetto_inner, 2, (uint64_t)phase);
    if (id)
        nvt_proto_number(&perfetto_inner, 6, id);
    nvt_proto_message(&perfetto_message, 6, &perfetto_inner);
    nvt_proto_message(&perfetto_packet, 11, &perfetto_message);
    perfetto_put_packet(1);
}

static void events_of_chrome_may_be_in_any_order(void **state)
{
    (void)state;
    put_legacy(900, 'E', "a", 0);
    put_legacy(400, 'B', "a", 0);
    put_legacy(300, 'e', "b", 5);
    put_legacy(100, 'b', "b", 5);
    struct nvt_trace *trace = perfetto_read_file();
    assert_int_equal(trace->ranges.count, 2);
    perfetto_assert_span(trace, "a", 400, 900);
    perfetto_assert_span(trace, "b", 100, 300);
    nvt_trace_free(trace);
}

static void slices_may_be_in_any_order(void **state)
{
    (void)state;
    perfetto_put_event(900, END, 7, NULL, NULL);
    perfetto_put_event(400, BEGIN, 7, NULL, "outer");
    perfetto_put_event(500, BEGIN, 7, NULL, "inner");
    perfetto_put_event(600, END, 7, NULL, NULL);
    perfetto_put_event(100, BEGIN, 8, NULL, "first");
    perfetto_put_event(300, BEGIN, 8, NULL, "second");
    perfetto_put_event(200, END, 8, NULL, NULL);
    perfetto_put_event(350, END, 8, NULL, NULL);
    perfetto_put_event(50, END, 8, NULL, NULL);
    struct nvt_trace *trace = perfetto_read_file();
    perfetto_assert_span(trace, "outer", 400, 900);
    perfetto_assert_span(trace, "inner", 500, 600);
    perfetto_assert_span(trace, "first", 100, 200);
    perfetto_assert_span(trace, "second", 300, 350);
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        assert_int_equal(trace->ranges.flags[i], 0);
    assert_non_null(
        strstr(trace->notes, "slices that end and do not begin in the file were left out (1)"));
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PERFETTO_TEST(slices_nest_on_their_threads),
        PERFETTO_TEST(tracks_below_threads_are_asynchronous),
        PERFETTO_TEST(names_are_of_their_sequence),
        PERFETTO_TEST(a_sequence_has_a_track),
        PERFETTO_TEST(clocks_are_converted),
        PERFETTO_TEST(clocks_that_run_away_have_no_times),
        PERFETTO_TEST(clocks_that_nothing_relates_are_noted),
        PERFETTO_TEST(differences_add_up_to_times),
        PERFETTO_TEST(ids_below_zero_are_none),
        PERFETTO_TEST(ends_may_come_first),
        PERFETTO_TEST(slices_may_be_in_any_order),
        PERFETTO_TEST(events_of_chrome_may_be_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
