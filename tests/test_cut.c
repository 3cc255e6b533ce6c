/*
 * What is left of a trace whose front is cut off, anywhere: all that ended behind the cut, as it was, what lay
 * across it with its end, and nothing else; the latest part of a recording (--max-age, --max-size), whatever ends
 * the recorder.
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
#include "../lib/count_of.h"
#include "../lib/cursor.h"
#include "../lib/device_columns.h"
#include "random_kit.h"
#include "record_kit.h"

/* --- cutting a file that is there --------------------------------------------------------------- */

static void expect_good(int status, const struct nvt_error *err)
{
    char text[1200];
    if (status)
        fail_msg("%s", nvt_error_text(err, text, sizeof(text)));
}

static void close_good(struct nvt_trace_writer *writer)
{
    struct nvt_error err = NVT_ERROR_INIT;
    expect_good(nvt_trace_writer_close(writer, &err), &err);
}

/* A copy of a trace that is still open for writing. */
static struct nvt_trace_writer *copy_of(const char *from, const char *to)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_chunk chunk;
    const uint8_t *payload;
    struct nvt_trace_file *file = nvt_trace_file_open(from, &err);
    struct nvt_trace_writer *writer = nvt_trace_writer_new(to, 1, &err);
    assert_non_null(file);
    assert_non_null(writer);
    while (nvt_trace_file_next(file, &chunk, &payload, &err) == 1)
        expect_good(nvt_trace_writer_chunk(writer, &chunk, payload, chunk.raw_size, &err), &err);
    nvt_trace_file_close(file);
    return writer;
}

/* Cut what the writer has written; a few chunks at a time. */
static void cut_at(struct nvt_trace_writer *writer, uint64_t ticks)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_cut *cut = nvt_cut_begin(writer, ticks, &err);
    int status;
    expect_good(cut ? 0 : -1, &err);
    assert_non_null(cut);
    while ((status = nvt_cut_go(cut, writer, 0, &err)) == 1) {
    }
    expect_good(status, &err);
    expect_good(nvt_cut_take_over(cut, writer, &err), &err);
    nvt_cut_free(cut);
}

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

static int64_t on_axis(const char *path, uint64_t ticks)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_chunk chunk;
    const uint8_t *payload;
    static struct nvt_clock_sample samples[1000];
    size_t count = 0;
    struct nvt_trace_file *file = nvt_trace_file_open(path, &err);
    assert_non_null(file);
    while (count < 1000 && nvt_trace_file_next(file, &chunk, &payload, &err) == 1)
        if (chunk.kind == NVT_CHUNK_CLOCK)
            memcpy(&samples[count++], payload, 24);
    nvt_trace_file_close(file);
    return nvt_clock_convert(samples, count, ticks) - samples[0].monotonic_ns;
}

static struct nvt_trace *read_good(const char *path)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_read(path, &err);
    expect_good(trace ? 0 : -1, &err);
    assert_non_null(trace);
    assert_null(trace->warning);
    return trace;
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
        struct nvt_trace_writer *writer = copy_of(recorded_path(), copy);
        cut_at(writer, ticks[i] + i % 2);
        close_good(writer);
        struct nvt_trace *rest = read_good(copy);
        across += compare(whole, rest, on_axis(recorded_path(), ticks[i] + i % 2));
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
    struct nvt_trace_writer *writer = copy_of(recorded_path(), copy);
    uint64_t size = nvt_trace_writer_size(writer);
    for (size_t i = 0; i + 1 < count; i++) {
        if (i && ticks[i] <= ticks[i - 1])
            continue;
        cut_at(writer, ticks[i]);
        cut_at(writer, ticks[i]);
        struct nvt_trace *rest = read_good(copy);
        compare(whole, rest, on_axis(recorded_path(), ticks[i]));
        nvt_trace_free(rest);
        assert_true(nvt_trace_writer_size(writer) < size + 1000);
    }
    assert_true(nvt_trace_writer_size(writer) < size / 4);
    close_good(writer);
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
    expect_good(nvt_cut_copy(recorded_path(), whole_size.st_size, middle, "2 s", copy, &err), &err);
    assert_int_equal(stat(copy, &cut_size), 0);
    expect_good(nvt_cut_copy(copy, cut_size.st_size, earlier, "9 s", again, &err), &err);
    for (int i = 0; i < 2; i++) {
        struct nvt_trace *rest = read_good(i ? again : copy);
        assert_string_equal(nvt_trace_meta(rest, "kept"), "2 s");
        compare(whole, rest, on_axis(recorded_path(), middle));
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
    expect_good(nvt_output_begin(made->output, &err), &err);
    expect_good(nvt_output_clock(made->output, NVT_CLOCK_MONOTONIC, &err), &err);
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
    expect_good(
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
    expect_good(nvt_output_clock(made->output, NVT_CLOCK_MONOTONIC, &err), &err);
    expect_good(nvt_output_close(made->output, 0, 0, &err), &err);
    nvt_buffer_free(&made->payload);
}

/* The trace without what ended before `ticks`; *ns gets how long that took. */
static struct nvt_trace *cut_made(uint64_t ticks, int64_t *ns)
{
    char copy[600];
    snprintf(copy, sizeof(copy), "%s", recorded_in("copy.nvt"));
    struct nvt_trace_writer *writer = copy_of(recorded_path(), copy);
    int64_t before = nvt_monotonic_ns();
    cut_at(writer, ticks);
    *ns = nvt_monotonic_ns() - before;
    close_good(writer);
    return read_good(copy);
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
        expect_good(nvt_output_chunk(made.output, &chunk, "\1\0\0\0\0", 5, &err), &err);
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
    expect_good(nvt_output_chunk(made->output, &chunk, &sample, 24, &err), &err);
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
        compare(whole, rest, on_axis(recorded_path(), cut));
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
        struct nvt_trace_writer *again = copy_of(recorded_path(), again_path);
        for (int i = rand() % 400; i < EVENTS; i += 1 + rand() % 800) {
            int64_t cut = on_axis(recorded_path(), moments[i]);
            struct nvt_trace *rest = cut_made(moments[i], &ns);
            compare(whole, rest, cut);
            nvt_trace_free(rest);
            cut_at(again, moments[i]);
            rest = read_good(again_path);
            compare(whole, rest, cut);
            nvt_trace_free(rest);
        }
        close_good(again);
        nvt_trace_free(whole);
    }
}

/* --- device records ------------------------------------------------------------------------------- */

enum { BATCHES = 60, ROWS = 30, POOLS = 3, PLACES = 40, ROOM = 1 << 16 };

/* A program's memory: what is allocated where, in a pool or not. Numbers are of CUPTI. */
struct memory {
    uint64_t address[PLACES], bytes[PLACES];
    int pool[PLACES]; /* 0: none */
    uint64_t used[POOLS + 1], reserved[POOLS + 1];
    uint64_t next;
};

static void add(struct nvt_device_batch *batch, uint32_t kind, const uint64_t *fields,
                uint32_t count)
{
    assert_int_equal(nvt_device_batch_add(batch, kind, fields, count), 0);
}

static void allocate(struct memory *memory, struct nvt_device_batch *batch, int place,
                     uint64_t time, uint32_t name)
{
    int pool = rand() % (POOLS + 1);
    int frees = memory->address[place] != 0;
    if (!frees) {
        memory->address[place] = 0x10000 + 256 * (memory->next++ % 64 + 64 * (uint64_t)place);
        memory->bytes[place] = 256 * (1 + (uint64_t)rand() % 1000);
        memory->pool[place] = pool;
    }
    pool = memory->pool[place];
    memory->used[pool] += frees ? -memory->bytes[place] : memory->bytes[place];
    if (memory->used[pool] > memory->reserved[pool])
        memory->reserved[pool] = memory->used[pool];
    uint64_t fields[NVT_MEM_FIELDS] = {time,
                                       time,
                                       0,
                                       frees ? 2 : 1,
                                       0,
                                       memory->address[place],
                                       memory->bytes[place],
                                       pool ? 0x777000u + (uint64_t)pool : 0,
                                       pool ? memory->reserved[pool] : 0,
                                       pool ? memory->used[pool] : 0,
                                       3,
                                       name,
                                       1,
                                       7};
    add(batch, NVT_DEVICE_MEMORY, fields, NVT_MEM_FIELDS);
    if (frees)
        memory->address[place] = 0;
}

/* What every batch has: a kernel, memory, that all was handed over; the first one a device, a context, a name. */
static void fill(struct nvt_device_batch *batch, struct memory *memory, int number, uint64_t time)
{
    uint32_t name = nvt_device_batch_name(batch, "allocator");
    if (!number) {
        uint64_t device[NVT_DEV_FIELDS] = {
            0, nvt_device_batch_name(batch, "GPU of the test"), 1u << 30, 4, 9,
            0, nvt_device_batch_name(batch, "GPU-1234")};
        uint64_t context[NVT_CTX_FIELDS] = {1, 0, 7};
        uint64_t stream[NVT_NAME_FIELDS] = {5, 7, nvt_device_batch_name(batch, "main stream")};
        uint64_t problem = nvt_device_batch_name(batch, "something is missing");
        add(batch, NVT_DEVICE_DEVICE, device, NVT_DEV_FIELDS);
        add(batch, NVT_DEVICE_CONTEXT, context, NVT_CTX_FIELDS);
        add(batch, NVT_DEVICE_NAME, stream, NVT_NAME_FIELDS);
        add(batch, NVT_DEVICE_PROBLEM, &problem, NVT_PROBLEM_FIELDS);
    }
    for (int i = 0; i < ROWS; i++)
        allocate(memory, batch, rand() % PLACES, time + 1000 * (uint64_t)i, name);
    uint64_t kernel[NVT_KERNEL_FIELDS] = {
        time, time + 500, (uint64_t)number + 1, nvt_device_batch_name(batch, "_Z4workv"), 0, 1, 7};
    uint64_t lost[NVT_LOST_FIELDS] = {1, 0, 0}, delivered[NVT_DELIVERED_FIELDS] = {0, time + 50000};
    uint64_t fault[NVT_UM_FIELDS] = {time,   time + 300,           0, 4, 0, UINT32_MAX,
                                     0x7000, (uint64_t)number + 1, 2};
    add(batch, NVT_DEVICE_KERNEL, kernel, NVT_KERNEL_FIELDS);
    add(batch, NVT_DEVICE_UM, fault, NVT_UM_FIELDS);
    add(batch, NVT_DEVICE_LOST, lost, NVT_LOST_FIELDS);
    add(batch, NVT_DEVICE_DELIVERED, delivered, NVT_DELIVERED_FIELDS);
}

/* A trace of device records alone, by the recorder's own output. Times and ticks are ns. */
static void write_devices(const char *path)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_costs costs = {{0}};
    struct memory memory = {.next = 0};
    static struct nvt_device_batch batch;
    static uint8_t room[ROOM];
    struct nvt_output *output = nvt_output_new(path, 1, &err);
    assert_non_null(output);
    expect_good(nvt_output_begin(output, &err), &err);
    expect_good(nvt_output_clock(output, NVT_CLOCK_MONOTONIC, &err), &err);
    uint64_t origin = (uint64_t)nvt_output_origin(output);
    uint32_t process = nvt_output_process(output, 41, 1, 1, "program", &costs);
    uint32_t thread = nvt_output_thread(output, process, 42, "collector");
    nvt_device_batch_init(&batch, room, sizeof(room));
    for (int i = 0; i < BATCHES; i++) {
        struct nvt_buffer out = {0};
        size_t names_size, rows_size;
        uint64_t time = origin + 1000000 + 100000 * (uint64_t)i;
        nvt_device_batch_clear(&batch);
        fill(&batch, &memory, i, time);
        const uint8_t *names = nvt_device_batch_names(&batch, &names_size);
        const uint8_t *rows = nvt_device_batch_rows(&batch, &rows_size);
        nvt_buffer_varint(&out, batch.names);
        struct nvt_cursor cursor = {names, names + names_size};
        for (uint32_t n = 0; n < batch.names; n++) {
            uint64_t length = nvt_cursor_varint(&cursor);
            const char *text = (const char *)nvt_cursor_bytes(&cursor, length);
            nvt_buffer_varint(&out, nvt_output_string(output, text, length));
        }
        struct nvt_chunk chunk = {.kind = NVT_CHUNK_DEVICE_COLUMNS,
                                  .process = process,
                                  .thread = thread,
                                  .count = batch.rows,
                                  .first = time + 60000,
                                  .last = time + 60000};
        if (i % 2 || nvt_device_columns_put(&out, rows, rows_size)) {
            chunk.kind = NVT_CHUNK_DEVICE;
            nvt_buffer_append(&out, rows, rows_size);
        }
        expect_good(nvt_output_chunk(output, &chunk, out.data, out.size, &err), &err);
        nvt_buffer_free(&out);
    }
    usleep(10000);
    expect_good(nvt_output_clock(output, NVT_CLOCK_MONOTONIC, &err), &err);
    expect_good(nvt_output_close(output, 0, 0, &err), &err);
}

/* Behind the cut every row of memory says the same, and before it what is in use there. */
static void compare_memory(const struct nvt_trace *whole, const struct nvt_trace *rest, int64_t cut)
{
    const struct nvt_memory *all = &whole->memory, *left = &rest->memory;
    uint32_t i = 0, k = 0;
    int64_t in_use[2] = {0, 0};
    for (; i < all->count && all->time[i] <= cut; i++)
        in_use[0] +=
            all->kind[i] == NVT_MEMORY_ALLOC ? (int64_t)all->bytes[i] : -(int64_t)all->bytes[i];
    for (; k < left->count && left->time[k] <= cut; k++)
        if (left->kind[k] == NVT_MEMORY_ALLOC)
            in_use[1] += (int64_t)left->bytes[k];
    assert_int_equal(all->count - i, left->count - k);
    /* A release that is there for its pool's sake stands behind an allocation that is not. */
    assert_int_equal(in_use[0], in_use[1]);
    for (; i < all->count; i++, k++) {
        assert_int_equal(all->time[i], left->time[k]);
        assert_int_equal(all->address[i], left->address[k]);
        assert_int_equal(all->bytes[i], left->bytes[k]);
        assert_int_equal(all->kind[i], left->kind[k]);
        assert_int_equal(all->allocated[i], left->allocated[k]);
        assert_int_equal(all->reserved[i], left->reserved[k]);
        assert_string_equal(nvt_name(whole, all->source[i]), nvt_name(rest, left->source[k]));
    }
}

static void keeps_what_device_records_need(void **state)
{
    (void)state;
    uint64_t ticks[200];
    char whole_path[600], copy[600];
    snprintf(whole_path, sizeof(whole_path), "%s", recorded_in("devices.nvt"));
    snprintf(copy, sizeof(copy), "%s", recorded_in("copy.nvt"));
    kit_srand(7);
    write_devices(whole_path);
    struct nvt_trace *whole = read_good(whole_path);
    struct nvt_trace_writer *again = copy_of(whole_path, recorded_in("again.nvt"));
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace_file *file = nvt_trace_file_open(whole_path, &err);
    struct nvt_chunk chunk;
    const uint8_t *payload;
    size_t count = 0;
    while (nvt_trace_file_next(file, &chunk, &payload, &err) == 1)
        if (chunk.kind == NVT_CHUNK_DEVICE || chunk.kind == NVT_CHUNK_DEVICE_COLUMNS)
            ticks[count++] = chunk.last;
    nvt_trace_file_close(file);
    assert_int_equal(count, BATCHES);
    for (size_t i = 0; i + 1 < count; i++) {
        struct nvt_trace_writer *writer = copy_of(whole_path, copy);
        cut_at(writer, ticks[i] + 1);
        close_good(writer);
        cut_at(again, ticks[i] + 1); /* what earlier cuts have left, too */
        for (int twice = 0; twice < 2; twice++) {
            struct nvt_trace *rest = read_good(twice ? recorded_in("again.nvt") : copy);
            compare_memory(whole, rest, on_axis(whole_path, ticks[i]));
            assert_int_equal(rest->ops.count, BATCHES - 1 - i);
            assert_int_equal(rest->um_events.count, BATCHES - 1 - i);
            assert_int_equal(rest->um_events.faults[0], i + 2);
            assert_int_equal(rest->um_events.end[0] - rest->um_events.start[0], 300);
            assert_int_equal(rest->devices.count, 1);
            assert_string_equal(nvt_name(rest, rest->devices.name[0]), "GPU of the test");
            assert_int_equal(rest->resources.count, whole->resources.count);
            assert_non_null(strstr(rest->notes, "something is missing"));
            nvt_trace_free(rest);
        }
    }
    close_good(again);
    nvt_trace_free(whole);
}

/* --- recordings ---------------------------------------------------------------------------------- */

static struct cli_result record_kept(const char *option, const char *value, const char *path,
                                     const char *ms)
{
    const char *argv[] = {
        "nvtally", "record", option, value, "-o", path, "--", cli_client("flight"), ms, NULL};
    return cli_run(argv);
}

/* When what is kept begins, and the whole of the recording; seconds, as the note says. */
static void read_note(const struct nvt_trace *trace, double *cut, double *whole)
{
    const char *note = trace->notes ? strstr(trace->notes, "what ended in the first ") : NULL;
    assert_non_null(note);
    assert_int_equal(sscanf(note, "what ended in the first %lf of %lf s", cut, whole), 2);
}

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
        across += compare(whole, rest, on_axis(recorded_path(), ticks[i]));
        nvt_trace_free(rest);
    }
    nvt_trace_free(whole);
    assert_true(across > 0);
}

static void expect_nothing_hidden(void)
{
    char path[700];
    snprintf(path, sizeof(path), "%s", recorded_in(".t.nvt.new"));
    assert_int_not_equal(access(path, F_OK), 0);
}

static void keeps_the_latest_seconds(void **state)
{
    (void)state;
    double cut, whole;
    struct cli_result result = record_kept("--max-age", "600ms", recorded_path(), "2000");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    read_note(trace, &cut, &whole);
    assert_true(whole > 1.9 && whole < 20);
    assert_true(whole - cut > 0.55 && whole - cut < 0.7);
    assert_true(trace->is_late);
    /* It began before and ended in what was kept: not all of it was seen. */
    uint32_t main_range = recorded_range(trace, "main");
    assert_true(trace->ranges.flags[main_range] & NVT_RANGE_CARRIED);
    assert_false(trace->ranges.flags[main_range] & NVT_RANGE_UNCLOSED);
    assert_true(trace->carried.count > 0 && trace->carried.begun[0] < 200000000);
    nvt_trace_free(trace);
    expect_nothing_hidden();
    const char *argv[] = {"nvtally", "stats", "-r", "nvtx_sum", "-f", "csv", recorded_path(), NULL};
    result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_null(strstr(result.out, ":main"));
    assert_non_null(strstr(result.err, "began before what was kept"));
    cli_result_free(&result);
}

/* While it is recorded the file is cut, too: with a limit of 64 KiB it is never much more than a megabyte. */
static void keeps_the_latest_bytes(void **state)
{
    (void)state;
    const char *script =
        "\"$1\" record --level 0 --max-size 64K -o \"$2\" -- \"$3\" 3000 1000 & p=$!; most=0; "
        "while kill -0 $p 2>/dev/null; do s=$(stat -c %s \"$2\" 2>/dev/null || echo 0); "
        "[ $s -le $most ] || most=$s; sleep 0.02; done; wait $p; echo $most; stat -c %s \"$2\"";
    const char *argv[] = {
        "sh", "-c", script, "sh", cli_built("nvtally"), recorded_path(), cli_client("flight"),
        NULL};
    long most = 0, last = 0;
    double cut, whole;
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    assert_int_equal(sscanf(result.out, "%ld %ld", &most, &last), 2);
    if (most < 64 * 1024 || most > 4 << 20 || last > 100 * 1024)
        fail_msg("most %ld, last %ld", most, last);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    read_note(trace, &cut, &whole);
    assert_true(cut > whole / 2);
    nvt_trace_free(trace);
    expect_nothing_hidden();
}

/* The recorder is killed again and again, in the middle of cutting as well: there is a trace each time. */
static void a_killed_recorder_leaves_a_trace(void **state)
{
    (void)state;
    const char *script =
        "\"$1\" record --level 0 --max-size 64K -o \"$2\" -- \"$3\" 100000 1000 & p=$!; "
        "sleep $4; pkill -P $p; kill -KILL $p; wait $p; true";
    int cuts = 0;
    for (int i = 0; i < 8; i++) {
        char seconds[20];
        snprintf(seconds, sizeof(seconds), "%.3f", 0.7 + 0.231 * i);
        const char *argv[] = {"sh",
                              "-c",
                              script,
                              "sh",
                              cli_built("nvtally"),
                              recorded_path(),
                              cli_client("flight"),
                              seconds,
                              NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 0);
        cli_result_free(&result);
        struct nvt_trace *trace = recorded_trace();
        assert_true(recorded_count(trace, "kernel") > 0);
        cuts += trace->notes && strstr(trace->notes, "was cut off: only the latest 0.0625 MiB");
        nvt_trace_free(trace);
    }
    assert_true(cuts > 2);
}

/* A link stays one, and the file behind it keeps who may read it. */
static void follows_links(void **state)
{
    (void)state;
    struct stat status;
    char link[600], target[600];
    snprintf(link, sizeof(link), "%s", recorded_in("link.nvt"));
    snprintf(target, sizeof(target), "%s", recorded_in("target.nvt"));
    unlink(recorded_path());
    cli_write_file(target, "", 0);
    assert_int_equal(chmod(target, 0640), 0);
    assert_int_equal(symlink("target.nvt", link), 0);
    struct cli_result result = record_kept("--max-age", "200ms", link, "700");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(stat(link, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    struct nvt_trace *trace = recorded_trace_at(link);
    double cut, whole;
    read_note(trace, &cut, &whole);
    nvt_trace_free(trace);
}

/* Where no file can be made beside the trace, all of it stays, and that is said. */
static void says_that_nothing_could_be_cut(void **state)
{
    (void)state;
    cli_write_file(recorded_in(".t.nvt.new"), "somebody's", 10);
    struct cli_result result = record_kept("--max-age", "200ms", recorded_path(), "700");
    cli_expect_status(&result, 0);
    if (!strstr(result.err, "could not be cut off: ") || !strstr(result.err, "is not a trace"))
        fail_msg("%s", result.err);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace();
    assert_null(trace->notes);
    assert_true(recorded_count(trace, "kernel") > 1000);
    nvt_trace_free(trace);
    unlink(recorded_in(".t.nvt.new"));
}

/* What has the name of the new file is a link: neither is what it leads to written, nor does the trace become one. */
static void writes_through_no_link(void **state)
{
    (void)state;
    struct stat status;
    struct cli_result result = recorded_run("flight", "50");
    cli_result_free(&result);
    assert_int_equal(rename(recorded_path(), recorded_in("other.nvt")), 0);
    assert_int_equal(symlink("other.nvt", recorded_in(".t.nvt.new")), 0);
    result = record_kept("--max-age", "200ms", recorded_path(), "500");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "is a link or not a regular file"));
    cli_result_free(&result);
    assert_int_equal(lstat(recorded_path(), &status), 0);
    assert_true(S_ISREG(status.st_mode));
    struct nvt_trace *other = recorded_trace_at(recorded_in("other.nvt"));
    assert_null(nvt_trace_meta(other, "kept"));
    nvt_trace_free(other);
    unlink(recorded_in(".t.nvt.new"));
}

static void wrong_limits(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"--max-age", ""},       {"--max-age", "5"},    {"--max-age", "-5s"},
        {"--max-age", "5 s"},    {"--max-age", "0s"},   {"--max-age", "nans"},
        {"--max-age", "0x1s"},   {"--max-age", "1e9h"}, {"--max-age", "infs"},
        {"--max-size", "60000"}, {"--max-size", "0"},   {"--max-size", "-1M"},
        {"--max-size", "9T"},    {"--max-size", "1e6"}, {"--max-age", "1.2.3s"}};
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        struct cli_result result = record_kept(wrong[i][0], wrong[i][1], recorded_path(), "1");
        cli_expect_failure(&result, wrong[i][0]);
        cli_result_free(&result);
    }
    struct cli_result result = record_kept("--max-age", "1s", "/dev/null", "1");
    cli_expect_failure(&result, "is not a regular file");
    cli_result_free(&result);
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
        cmocka_unit_test(keeps_what_device_records_need),
        cmocka_unit_test(keeps_in_which_capture_ranges_began),
        cmocka_unit_test(keeps_the_latest_seconds),
        cmocka_unit_test(keeps_the_latest_bytes),
        cmocka_unit_test(a_killed_recorder_leaves_a_trace),
        cmocka_unit_test(follows_links),
        cmocka_unit_test(says_that_nothing_could_be_cut),
        cmocka_unit_test(writes_through_no_link),
        cmocka_unit_test(wrong_limits),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
