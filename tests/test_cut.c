/*
 * What is left of a trace whose front is cut off, anywhere: all that ended behind the cut, as it was, what lay across
 * it with its end, and nothing else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../collectors/cut.h"
#include "../collectors/output.h"
#include "../lib/clock.h"
#include "cut_kit.h"
#include "random_kit.h"
#include "record_kit.h"

/* --- cutting a file that is there --------------------------------------------------------------- */

/* Ticks of every chunk of events. */
static size_t ticks_of_chunks(const char *path, uint64_t *ticks, size_t most)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_chunk chunk;
    const uint8_t *payload;
    size_t count = 0;
    struct nvt_trace_file *file = nvt_trace_file_open(path, &err);
    assert_non_null(file);
    while (count < most && nvt_trace_file_next(file, &chunk, &payload, &err) == 1)
        if (chunk.kind == NVT_CHUNK_EVENTS || chunk.kind == NVT_CHUNK_DEVICE)
            ticks[count++] = chunk.last;
    nvt_trace_file_close(file);
    return count;
}

/* --- comparing ---------------------------------------------------------------------------------- */

/* What a range says, but for when it began. */
struct seen {
    int64_t start, end, tid;
    const char *name, *domain, *category, *payload;
    uint32_t color;
    uint8_t flags, style;
};

/* What a thread has pushed and never popped is over when the end of the thread is noticed, what was started never. */
static int64_t end_of(const struct nvt_trace *trace, uint32_t i)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    if (!(ranges->flags[i] & NVT_RANGE_UNCLOSED))
        return ranges->end[i];
    return ranges->style[i] == NVT_PUSH_POP ? trace->threads.ended_ns[ranges->thread[i]]
                                            : INT64_MAX;
}

static struct seen seen_of(const struct nvt_trace *trace, uint32_t i)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    return (struct seen){
        ranges->start[i],
        end_of(trace, i),
        trace->threads.tid[ranges->thread[i]],
        nvt_name(trace, ranges->name[i]),
        ranges->domain[i] ? nvt_name(trace, trace->domains.name[ranges->domain[i]]) : "",
        nvt_name(trace, ranges->category[i]),
        ranges->flags[i] & NVT_RANGE_HAS_PAYLOAD ? nvt_name(trace, ranges->payload[i]) : "",
        ranges->color[i],
        ranges->flags[i],
        ranges->style[i]};
}

#define BY(field)                                                                                  \
    if (a->field != b->field)                                                                      \
        return a->field < b->field ? -1 : 1;

#define BY_TEXT(field)                                                                             \
    if (strcmp(a->field, b->field))                                                                \
        return strcmp(a->field, b->field);

static int by_end(const void *left, const void *right)
{
    const struct seen *a = left, *b = right;
    BY(end)
    BY(tid)
    BY(style)
    BY_TEXT(name)
    BY_TEXT(domain)
    BY_TEXT(payload)
    BY_TEXT(category)
    BY(color)
    return 0;
}

static int by_end_and_start(const void *left, const void *right)
{
    const struct seen *a = left, *b = right;
    int order = by_end(left, right);
    if (order)
        return order;
    BY(start)
    return 0;
}

struct list {
    struct seen *items;
    size_t count, carried;
};

static struct list list_of(const struct nvt_trace *trace)
{
    struct list list = {calloc((size_t)trace->ranges.count + 1, sizeof(struct seen)), 0, 0};
    assert_non_null(list.items);
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        list.items[list.count++] = seen_of(trace, i);
        list.carried += (trace->ranges.flags[i] & NVT_RANGE_CARRIED) != 0;
    }
    qsort(list.items, list.count, sizeof(struct seen), by_end_and_start);
    return list;
}

static void fail_about(const struct seen *range, const char *what)
{
    fail_msg("%s: %s@%s of %lld, from %lld to %lld", what, range->name, range->domain,
             (long long)range->tid, (long long)range->start, (long long)range->end);
}

/* The whole trace and what was left of it; `cut`: when, on their axis. Returns how many lay across. */
static size_t compare(const struct nvt_trace *whole, const struct nvt_trace *rest, int64_t cut)
{
    struct list all = list_of(whole), left = list_of(rest);
    for (uint32_t i = 0; i < rest->ranges.count; i++)
        assert_true(rest->ranges.end[i] >= rest->ranges.start[i]);
    size_t carried = left.carried, k = 0;
    for (size_t i = 0; i < all.count; i++) {
        const struct seen *range = &all.items[i], *kept = &left.items[k];
        if (k < left.count && by_end(kept, range) < 0)
            fail_about(kept, "is not in the whole trace");
        if (k < left.count && !by_end(range, kept)) {
            if (kept->flags & NVT_RANGE_CARRIED ? kept->start < range->start
                                                : kept->start != range->start)
                fail_about(range, "begins at another time");
            k++;
        } else if (range->end > cut + 1) { /* a tick is less than a nanosecond */
            fail_about(range, "is missing");
        }
    }
    if (k != left.count)
        fail_about(&left.items[k], "is not in the whole trace");
    free(all.items);
    free(left.items);
    return carried;
}

static void record_flight(const char *ms)
{
    struct cli_result result = recorded_run("flight", ms);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

/* --- tests -------------------------------------------------------------------------------------- */

/* At every chunk's end, and the moment behind it. */
static void keeps_what_ended_behind_the_cut(void **state)
{
    (void)state;
    uint64_t ticks[200];
    char copy[600];
    record_flight("1500");
    struct nvt_trace *whole = recorded_trace();
    size_t count = ticks_of_chunks(recorded_path(), ticks, 200), across = 0;
    snprintf(copy, sizeof(copy), "%s", recorded_in("copy.nvt"));
    assert_true(count > 20);
    for (size_t i = 0; i < count; i++) {
        struct nvt_trace_writer *writer = cut_copy_of(recorded_path(), copy);
        cut_at(writer, ticks[i] + i % 2);
        cut_close_good(writer);
        struct nvt_trace *rest = cut_read_good(copy);
        across += compare(whole, rest, cut_on_axis(recorded_path(), ticks[i] + i % 2));
        assert_true(rest->ranges.count < whole->ranges.count || i < 6);
        nvt_trace_free(rest);
    }
    /* main, whole, epoch, and now and then more of them. */
    assert_true(across > 2 * count);
    nvt_trace_free(whole);
}

/* A second cut of what a first one left, and a third at the same place. */
static void cuts_again(void **state)
{
    (void)state;
    uint64_t ticks[200];
    char copy[600];
    record_flight("1200");
    struct nvt_trace *whole = recorded_trace();
    size_t count = ticks_of_chunks(recorded_path(), ticks, 200);
    snprintf(copy, sizeof(copy), "%s", recorded_in("copy.nvt"));
    struct nvt_trace_writer *writer = cut_copy_of(recorded_path(), copy);
    uint64_t size = nvt_trace_writer_size(writer);
    for (size_t i = 0; i + 1 < count; i++) {
        if (i && ticks[i] <= ticks[i - 1])
            continue;
        cut_at(writer, ticks[i]);
        cut_at(writer, ticks[i]);
        struct nvt_trace *rest = cut_read_good(copy);
        compare(whole, rest, cut_on_axis(recorded_path(), ticks[i]));
        nvt_trace_free(rest);
        assert_true(nvt_trace_writer_size(writer) < size + 1000);
    }
    assert_true(nvt_trace_writer_size(writer) < size / 4);
    cut_close_good(writer);
    nvt_trace_free(whole);
}

/* What ended since then, of a trace that stays as it is; of one that was cut later, what is left. */
static void copies_what_ended_since(void **state)
{
    (void)state;
    uint64_t ticks[200];
    char copy[600], again[600];
    struct nvt_error err = NVT_ERROR_INIT;
    struct stat whole_size, cut_size;
    record_flight("1200");
    snprintf(copy, sizeof(copy), "%s", recorded_in("copy.nvt"));
    snprintf(again, sizeof(again), "%s", recorded_in("again.nvt"));
    struct nvt_trace *whole = recorded_trace();
    const size_t count = ticks_of_chunks(recorded_path(), ticks, 200);
    assert_int_equal(stat(recorded_path(), &whole_size), 0);
    const uint64_t earlier = ticks[count / 4], middle = ticks[count / 2];
    (void)unlink(copy);
    (void)unlink(again);
    cut_expect_good(nvt_cut_copy(recorded_path(), whole_size.st_size, middle, "2 s", copy, &err),
                    &err);
    assert_int_equal(stat(copy, &cut_size), 0);
    cut_expect_good(nvt_cut_copy(copy, cut_size.st_size, earlier, "9 s", again, &err), &err);
    for (int i = 0; i < 2; i++) {
        struct nvt_trace *rest = cut_read_good(i ? again : copy);
        assert_string_equal(nvt_trace_meta(rest, "kept"), "2 s");
        compare(whole, rest, cut_on_axis(recorded_path(), middle));
        nvt_trace_free(rest);
    }
    assert_int_equal(nvt_cut_copy("/nowhere", 100, middle, "2 s", copy, &err), -1);
    nvt_trace_free(whole);
}

/* --- much that is open ------------------------------------------------------------------------------ */

/* A trace of events that are made up; `at` goes on with each, in ticks and ns. */
struct made {
    struct nvt_output *output;
    struct nvt_buffer tokens, times, ranges, attributes, payload;
    struct nvt_chunk chunk;
    uint64_t at, range;
    uint32_t last_attribute;
};

static void begin_made(struct made *made, const char *path, uint32_t threads)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_costs costs = {{0}};
    *made = (struct made){.output = nvt_output_new(path, 1, &err)};
    assert_non_null(made->output);
    cut_expect_good(nvt_output_begin(made->output, &err), &err);
    cut_expect_good(nvt_output_clock(made->output, NVT_CLOCK_MONOTONIC, &err), &err);
    made->at = (uint64_t)nvt_output_origin(made->output) + 1000;
    assert_int_equal(nvt_output_process(made->output, 41, 1, 1, "program", &costs), 0);
    for (uint32_t i = 0; i < threads; i++)
        assert_int_equal(nvt_output_thread(made->output, 0, 42 + (int)i, ""), i);
}

static void make_event(struct made *made, enum nvt_token kind, uint64_t range, size_t bytes)
{
    static const uint8_t zero[60000];
    struct nvt_chunk *chunk = &made->chunk;
    if (!chunk->count)
        chunk->first = chunk->last = made->at;
    nvt_buffer_varint(&made->tokens, kind);
    nvt_buffer_varint(&made->times, made->at - chunk->last);
    if (kind == NVT_TOKEN_START || kind == NVT_TOKEN_END) {
        nvt_buffer_varint(&made->ranges, nvt_zigzag((int64_t)(range - made->range)));
        made->range = range;
    }
    if (bytes) {
        nvt_buffer_varint(&made->attributes, chunk->count - made->last_attribute);
        nvt_buffer_varint(&made->attributes, NVT_ATTRIBUTE_SCHEMA);
        nvt_buffer_varint(&made->attributes, bytes);
        nvt_buffer_append(&made->attributes, zero, bytes);
        made->last_attribute = chunk->count;
    }
    chunk->last = made->at++;
    chunk->count++;
}

static void add_made(struct made *made, enum nvt_event_column id, struct nvt_buffer *column)
{
    if (!column->size)
        return;
    nvt_buffer_varint(&made->payload, id);
    nvt_buffer_varint(&made->payload, column->size);
    nvt_buffer_append(&made->payload, column->data, column->size);
    nvt_buffer_free(column);
    *column = (struct nvt_buffer){0};
}

/* What was made so far is a chunk of that thread. */
static void flush_made(struct made *made, uint32_t thread)
{
    struct nvt_error err = NVT_ERROR_INIT;
    made->chunk.kind = NVT_CHUNK_EVENTS;
    made->chunk.thread = thread;
    add_made(made, NVT_COLUMN_TOKENS, &made->tokens);
    add_made(made, NVT_COLUMN_TIMES, &made->times);
    add_made(made, NVT_COLUMN_ATTRIBUTES, &made->attributes);
    add_made(made, NVT_COLUMN_RANGE_IDS, &made->ranges);
    cut_expect_good(
        nvt_output_chunk(made->output, &made->chunk, made->payload.data, made->payload.size, &err),
        &err);
    made->chunk = (struct nvt_chunk){0};
    made->payload.size = made->last_attribute = 0;
    made->range = 0;
}

static void end_made(struct made *made)
{
    struct nvt_error err = NVT_ERROR_INIT;
    usleep(2000);
    cut_expect_good(nvt_output_clock(made->output, NVT_CLOCK_MONOTONIC, &err), &err);
    cut_expect_good(nvt_output_close(made->output, 0, 0, &err), &err);
    nvt_buffer_free(&made->payload);
}

/* The trace without what ended before `ticks`; *ns gets how long that took. */
static struct nvt_trace *cut_made(uint64_t ticks, int64_t *ns)
{
    char copy[600];
    snprintf(copy, sizeof(copy), "%s", recorded_in("copy.nvt"));
    struct nvt_trace_writer *writer = cut_copy_of(recorded_path(), copy);
    int64_t before = nvt_monotonic_ns();
    cut_at(writer, ticks);
    *ns = nvt_monotonic_ns() - before;
    cut_close_good(writer);
    return cut_read_good(copy);
}

/* What they carry is more than a chunk may have. */
static void open_ranges_with_large_payloads_stay(void **state)
{
    (void)state;
    enum { OPEN = 800 };
    struct made made;
    int64_t ns;
    begin_made(&made, recorded_path(), 1);
    for (int i = 0; i < OPEN; i++) {
        make_event(&made, i % 2 ? NVT_TOKEN_START : NVT_TOKEN_PUSH, 1000 + (uint64_t)i, 60000);
        if (i % 200 == 199)
            flush_made(&made, 0);
    }
    uint64_t cut = made.at;
    make_event(&made, NVT_TOKEN_MARK, 0, 0);
    make_event(&made, NVT_TOKEN_POP, 0, 0);
    flush_made(&made, 0);
    end_made(&made);
    struct nvt_trace *rest = cut_made(cut, &ns);
    assert_int_equal(rest->ranges.count, OPEN);
    for (uint32_t i = 0; i < OPEN; i++)
        assert_true(rest->ranges.flags[i] & NVT_RANGE_CARRIED);
    nvt_trace_free(rest);
}

/* Started by one thread and ended by another, the oldest first: each is found without a look at all others. */
static void many_open_ranges_take_no_time(void **state)
{
    (void)state;
    enum { RANGES = 100000, LEFT = 3 };
    struct made made;
    int64_t ns;
    begin_made(&made, recorded_path(), 2);
    for (uint64_t i = 0; i < RANGES; i++)
        make_event(&made, NVT_TOKEN_START, i + 1, 0);
    flush_made(&made, 0);
    for (uint64_t i = 0; i < RANGES - LEFT; i++)
        make_event(&made, NVT_TOKEN_END, i + 1, 0);
    flush_made(&made, 1);
    uint64_t cut = made.at;
    for (uint64_t i = RANGES - LEFT; i < RANGES; i++)
        make_event(&made, NVT_TOKEN_END, i + 1, 0);
    flush_made(&made, 1);
    end_made(&made);
    struct nvt_trace *rest = cut_made(cut, &ns);
    assert_int_equal(rest->ranges.count, LEFT);
    assert_int_equal(recorded_count(rest, ""), LEFT);
    nvt_trace_free(rest);
    if (ns > 5000000000)
        fail_msg("%.1f s", (double)ns / 1e9);
}

/* Threads that come and go, each with something open: that would stay for ever. */
static void what_an_ended_thread_had_pushed_goes(void **state)
{
    (void)state;
    enum { THREADS = 50 };
    struct nvt_error err = NVT_ERROR_INIT;
    struct made made;
    int64_t ns;
    uint64_t cut = 0;
    begin_made(&made, recorded_path(), THREADS);
    for (uint32_t i = 0; i < THREADS; i++) {
        cut = i == THREADS / 2 ? made.at : cut;
        make_event(&made, NVT_TOKEN_PUSH, 0, 0);
        flush_made(&made, i);
        struct nvt_chunk chunk = {.kind = NVT_CHUNK_THREAD_END, .thread = i, .last = made.at++};
        cut_expect_good(nvt_output_chunk(made.output, &chunk, "\1\0\0\0\0", 5, &err), &err);
    }
    end_made(&made);
    struct nvt_trace *rest = cut_made(cut, &ns);
    assert_int_equal(rest->ranges.count, THREADS / 2);
    nvt_trace_free(rest);
}

/* A moment of a clock that runs at another rate in each of its parts. */
static void make_moment(struct made *made, uint64_t ticks, int64_t ns)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_clock_sample sample = {.ticks = ticks, .monotonic_ns = ns};
    struct nvt_chunk chunk = {.kind = NVT_CHUNK_CLOCK,
                              .process = NVT_NO_INDEX,
                              .thread = NVT_NO_INDEX,
                              .count = 1,
                              .first = ticks,
                              .last = ticks};
    cut_expect_good(nvt_output_chunk(made->output, &chunk, &sample, 24, &err), &err);
}

/* A chunk that stays begins before the cut, and before the last moment ahead of it, too. */
static void times_in_a_chunk_across_the_cut_stay(void **state)
{
    (void)state;
    struct made made;
    int64_t ns;
    begin_made(&made, recorded_path(), 1);
    uint64_t origin = (uint64_t)nvt_output_origin(made.output);
    make_moment(&made, origin + 200000, (int64_t)origin + 100000);
    make_moment(&made, origin + 400000, (int64_t)origin + 500000);
    make_moment(&made, origin + 500000, (int64_t)origin + 510000);
    make_moment(&made, origin + 600000, (int64_t)origin + 700000);
    make_event(&made, NVT_TOKEN_PUSH, 0, 0);
    for (made.at = origin + 510000; made.at < origin + 690000; made.at += 1000) {
        make_event(&made, NVT_TOKEN_PUSH, 0, 0);
        make_event(&made, NVT_TOKEN_POP, 0, 0);
    }
    flush_made(&made, 0);
    end_made(&made);
    struct nvt_trace *whole = recorded_trace();
    for (uint64_t cut = origin + 505000; cut < origin + 690000; cut += 17000) {
        struct nvt_trace *rest = cut_made(cut, &ns);
        assert_int_equal(rest->ranges.count, whole->ranges.count);
        compare(whole, rest, cut_on_axis(recorded_path(), cut));
        nvt_trace_free(rest);
    }
    nvt_trace_free(whole);
}

enum { LANES = 4, EVENTS = 4000, HELD = 40 };

/* Threads that push, pop, start and end at random, whose chunks are written some time later, in any order. */
static void make_random(uint64_t *middle)
{
    static struct made lanes[LANES];
    uint64_t held[HELD] = {0}, next = 1;
    begin_made(&lanes[0], recorded_path(), LANES);
    for (int i = 1; i < LANES; i++)
        lanes[i] = (struct made){.output = lanes[0].output};
    uint64_t at = lanes[0].at;
    for (int i = 0; i < EVENTS; i++) {
        struct made *made = &lanes[rand() % LANES];
        uint64_t *range = &held[rand() % HELD];
        int what = rand() % 4;
        made->at = at += 1 + (uint64_t)(rand() % 500);
        if (what < 2) {
            make_event(made, what ? NVT_TOKEN_POP : NVT_TOKEN_PUSH, 0,
                       what ? 0 : (size_t)rand() % 3 * 16);
        } else {
            make_event(made, *range ? NVT_TOKEN_END : NVT_TOKEN_START, *range ? *range : next, 0);
            *range = *range ? 0 : next++;
        }
        if (rand() % 15 == 0) {
            int lane = rand() % LANES;
            if (lanes[lane].chunk.count)
                flush_made(&lanes[lane], (uint32_t)lane);
        }
        middle[i] = at;
    }
    for (int i = 0; i < LANES; i++)
        if (lanes[i].chunk.count)
            flush_made(&lanes[i], (uint32_t)i);
    for (int i = 1; i < LANES; i++)
        nvt_buffer_free(&lanes[i].payload);
    end_made(&lanes[0]);
}

/* Cut anywhere, at once and again and again. */
static void keeps_what_random_threads_did(void **state)
{
    (void)state;
    static uint64_t moments[EVENTS];
    for (unsigned seed = 0; seed < 6; seed++) {
        char again_path[600];
        int64_t ns;
        srand((unsigned)kit_seed(0) + seed);
        make_random(moments);
        struct nvt_trace *whole = recorded_trace();
        snprintf(again_path, sizeof(again_path), "%s", recorded_in("again.nvt"));
        struct nvt_trace_writer *again = cut_copy_of(recorded_path(), again_path);
        for (int i = rand() % 400; i < EVENTS; i += 1 + rand() % 800) {
            int64_t cut = cut_on_axis(recorded_path(), moments[i]);
            struct nvt_trace *rest = cut_made(moments[i], &ns);
            compare(whole, rest, cut);
            nvt_trace_free(rest);
            cut_at(again, moments[i]);
            rest = cut_read_good(again_path);
            compare(whole, rest, cut);
            nvt_trace_free(rest);
        }
        cut_close_good(again);
        nvt_trace_free(whole);
    }
}

/* --- recordings ---------------------------------------------------------------------------------- */

/* Of each step some requests end behind it, and behind the cut: those began in a capture, which then is over. */
static void keeps_in_which_capture_ranges_began(void **state)
{
    (void)state;
    uint64_t ticks[5000];
    size_t across = 0;
    const char *argv[] = {"nvtally",    "record", "--trace",       "nvtx", "--capture",
                          "step@train", "-o",     recorded_path(), "--",   cli_client("flight"),
                          "1000",       NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *whole = recorded_trace();
    size_t count = ticks_of_chunks(recorded_path(), ticks, 5000);
    for (size_t i = 0; i < count; i += 1 + count / 20) {
        int64_t ns;
        struct nvt_trace *rest = cut_made(ticks[i], &ns);
        across += compare(whole, rest, cut_on_axis(recorded_path(), ticks[i]));
        nvt_trace_free(rest);
    }
    nvt_trace_free(whole);
    assert_true(across > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_ended_behind_the_cut),
        cmocka_unit_test(cuts_again),
        cmocka_unit_test(copies_what_ended_since),
        cmocka_unit_test(open_ranges_with_large_payloads_stay),
        cmocka_unit_test(many_open_ranges_take_no_time),
        cmocka_unit_test(what_an_ended_thread_had_pushed_goes),
        cmocka_unit_test(times_in_a_chunk_across_the_cut_stay),
        cmocka_unit_test(keeps_what_random_threads_did),
        cmocka_unit_test(keeps_in_which_capture_ranges_began),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
