/*
 * Ranges in tasks of Python that take turns on a thread (asyncio and others) belong to their tasks, in each Python that is here. The
 * program, tests/clients/tasks.py, says itself when each range begins and ends, and in which other one it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/device_rows.h"
#include "../lib/trace_file.h"
#include "pythons.h"
#include "record_kit.h"

/* Clocks are set while tests run, by little. */
#define TOLERANCE_NS 2000000

/* What the program does, NULL behind the last, recorded with up to four options; its output is the caller's. */
static struct cli_result run(const char *python, const char *const options[4],
                             const char *const what[])
{
    char library[4096];
    snprintf(library, sizeof(library), "NVTALLY_PYTORCH_LIBRARY=%s/libnvtally-pytorch.so",
             getenv("NVTALLY_BUILD") ? getenv("NVTALLY_BUILD") : "build");
    const char *environment[] = {library, "PYTHONPATH=.deps/python", "PYTHONWARNINGS=ignore", NULL};
    const char *argv[32] = {"nvtally", "record", "-o", recorded_path()};
    size_t count = 4;
    for (size_t i = 0; i < 4 && options && options[i]; i++)
        argv[count++] = options[i];
    argv[count++] = "--";
    argv[count++] = python;
    argv[count++] = "tests/clients/tasks.py";
    while (*what)
        argv[count++] = *what++;
    return cli_run_with(&(struct cli_options){.timeout_s = 120, .environment = environment}, argv);
}

static void expect_within(const char *name, const char *what, int64_t time, int64_t from,
                          int64_t to)
{
    if (time < from - TOLERANCE_NS || time > to + TOLERANCE_NS)
        fail_msg("%s %s at %lld ns, not from %lld to %lld", name, what, (long long)time,
                 (long long)from, (long long)to);
}

/* A line of the program. */
static void expect_line(const struct nvt_trace *trace, const char *line)
{
    char name[128], parent[128];
    long long times[4];
    if (sscanf(line, "%127s %127s %lld %lld %lld %lld", name, parent, &times[0], &times[1],
               &times[2], &times[3]) != 6)
        fail_msg("no such line: %s", line);
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t row = recorded_range(trace, name), of = ranges->parent[row];
    assert_string_equal(of == NVT_NONE ? "-" : nvt_name(trace, ranges->name[of]), parent);
    assert_false(ranges->flags[row] & NVT_RANGE_UNCLOSED);
    expect_within(name, "begins", ranges->start[row] + trace->origin_ns, times[0], times[1]);
    expect_within(name, "ends", ranges->end[row] + trace->origin_ns, times[2], times[3]);
}

/* All that the program says is in the trace, which the caller gets. */
static struct nvt_trace *expect(const char *python, const char *const options[4],
                                const char *const what[])
{
    struct cli_result result = run(python, options, what);
    cli_expect_status(&result, 0);
    struct nvt_trace *trace = recorded_trace();
    char *rest = NULL;
    uint32_t lines = 0;
    for (char *line = strtok_r(result.out, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        expect_line(trace, line);
        lines++;
    }
    assert_true(lines > 0);
    assert_null(strstr(result.err, "lost"));
    cli_result_free(&result);
    return trace;
}

static const char *thread_of(const struct nvt_trace *trace, const char *range)
{
    return nvt_name(trace, trace->threads.name[trace->ranges.thread[recorded_range(trace, range)]]);
}

static int is_on_main_thread(const struct nvt_trace *trace, const char *range)
{
    return nvt_is_main_thread(trace, trace->ranges.thread[recorded_range(trace, range)]);
}

static void check_asyncio(const char *python)
{
    struct nvt_trace *trace =
        expect(python, NULL,
               (const char *const[]){"gather", "group", "eager", "errors", "leaks", "contexts",
                                     "generators", "short", "threads", NULL});
    /* Each has a row of its own, with its name and what it runs; a nameless one shares it. */
    assert_non_null(strstr(thread_of(trace, "gather/A"), " worker"));
    assert_memory_equal(thread_of(trace, "gather/A"), "Task-", 5);
    assert_string_not_equal(thread_of(trace, "gather/A"), thread_of(trace, "gather/B"));
    assert_string_equal(thread_of(trace, "gather/A"), thread_of(trace, "gather/A/in"));
    assert_string_equal(thread_of(trace, "short/19/3"), "tasks");
    assert_true(trace->threads.count < 400);
    assert_non_null(trace->notes);
    assert_non_null(strstr(trace->notes, "tasks of Python take turns"));
    /* The range that its task has left open is not another one's. */
    assert_true(trace->ranges.flags[recorded_range(trace, "leaks/open")] & NVT_RANGE_UNCLOSED);
    nvt_trace_free(trace);
}

static void tasks_of_asyncio_have_their_own_ranges(void **state)
{
    (void)state;
    with_every_python(check_asyncio);
}

/* A task that nobody takes turns with is its thread, as ever. */
static void check_alone(const char *python)
{
    struct nvt_trace *trace = expect(python, NULL, (const char *const[]){"alone", NULL});
    assert_true(is_on_main_thread(trace, "alone/main"));
    assert_null(trace->notes);
    nvt_trace_free(trace);
}

static void a_task_alone_is_its_thread(void **state)
{
    (void)state;
    with_every_python(check_alone);
}

/* What was open before the capture, and the capture's own range, are their tasks' in it. */
static void check_captured(const char *python)
{
    struct nvt_trace *trace =
        expect(python, (const char *const[4]){"--capture", "crossing/captured@*"},
               (const char *const[]){"crossing", NULL});
    assert_int_equal(trace->ranges.count, 3);
    nvt_trace_free(trace);
}

static void tasks_cross_a_capture(void **state)
{
    (void)state;
    with_every_python(check_captured);
}

static void check_forked(const char *python)
{
    struct nvt_trace *trace = expect(python, NULL, (const char *const[]){"forked", NULL});
    assert_int_not_equal(
        trace->threads.process[trace->ranges.thread[recorded_range(trace, "forked/parent/A")]],
        trace->threads.process[trace->ranges.thread[recorded_range(trace, "forked/child/A")]]);
    nvt_trace_free(trace);
}

static void tasks_of_a_forked_child_are_its_own(void **state)
{
    (void)state;
    if (!recorded_wipes())
        skip();
    with_every_python(check_forked);
}

static void check_names(const char *python)
{
    struct nvt_trace *trace = expect(python, NULL, (const char *const[]){"names", "alone", NULL});
    assert_string_equal(thread_of(trace, "names/first"), "a name of more than fifteen bytes");
    assert_string_equal(thread_of(trace, "names/second"), "named later");
    assert_string_equal(thread_of(trace, "names/third"), "loads batches_0");
    assert_memory_equal(thread_of(trace, "names/fourth"), "python", 6);
    assert_memory_equal(thread_of(trace, "alone/main"), "python", 6);
    nvt_trace_free(trace);
}

static void threads_have_their_names_of_python(void **state)
{
    (void)state;
    with_every_python(check_names);
}

static int has_thread(const struct nvt_trace *trace, const char *name)
{
    for (uint32_t i = 0; i < trace->threads.count; i++)
        if (!strcmp(nvt_name(trace, trace->threads.name[i]), name))
            return 1;
    return 0;
}

static void check_sampled(const char *python)
{
    struct nvt_trace *trace = expect(python, (const char *const[4]){"--trace", "nvtx,cpu"},
                                     (const char *const[]){"busy", NULL});
    assert_true(has_thread(trace, "computes and does nothing else"));
    assert_true(has_thread(trace, "has got another name"));
    assert_true(trace->cpu_samples.count > 0);
    nvt_trace_free(trace);
}

static void sampled_threads_have_their_names(void **state)
{
    (void)state;
    with_every_python(check_sampled);
}

/* Whether python3 has a package. */
static int has(const char *package)
{
    char import[64];
    snprintf(import, sizeof(import), "import %s", package);
    struct cli_result result = cli_run_with(
        &(struct cli_options){.environment = (const char *[]){"PYTHONPATH=.deps/python", NULL}},
        (const char *const[]){"python3", "-c", import, NULL});
    int found = !result.status;
    cli_result_free(&result);
    if (!found)
        print_message("python3 has no %s (./setup check installs it): not run\n", package);
    return found;
}

/* The packages come in when the thread has recorded something. */
static void other_libraries_have_tasks_too(void **state)
{
    (void)state;
    static const char *const packages[] = {"greenlet", "gevent", "trio", "uvloop"};
    int count = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(packages); i++) {
        if (!has(packages[i]))
            continue;
        struct nvt_trace *trace =
            expect("python3", NULL, (const char *const[]){"alone", packages[i], "gather", NULL});
        char range[32];
        snprintf(range, sizeof(range), "%s/A", packages[i]);
        assert_false(is_on_main_thread(trace, range));
        assert_non_null(strstr(thread_of(trace, range), "work"));
        nvt_trace_free(trace);
        count++;
    }
    if (!count)
        skip();
}

/* Ranges that lie in another one of their task; how many there are. */
static uint32_t expect_parents(const struct nvt_trace *trace)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t count = 0;
    for (uint32_t i = 0; i < ranges->count; i++) {
        const char *name = nvt_name(trace, ranges->name[i]);
        size_t length = strlen(name);
        assert_false(ranges->flags[i] & NVT_RANGE_UNCLOSED);
        if (length < 3 || strcmp(name + length - 3, "/in") != 0)
            continue;
        assert_int_not_equal(ranges->parent[i], NVT_NONE);
        assert_memory_equal(nvt_name(trace, ranges->name[ranges->parent[i]]), name, length - 3);
        count++;
    }
    return count;
}

/* A range that is open while a flight recorder cuts is its task's on the other side of the cut, too. A slow machine may have all
 * of them cut off. */
static void tasks_live_on_behind_a_cut(void **state)
{
    (void)state;
    uint32_t count = 0;
    for (int i = 0; !count && i < CLI_TRIES; i++) {
        struct cli_result result = run("python3", (const char *const[4]){"--max-age", "0.1s"},
                                       (const char *const[]){"short", "gather", NULL});
        cli_expect_status(&result, 0);
        cli_result_free(&result);
        struct nvt_trace *trace = recorded_trace();
        count = expect_parents(trace);
        nvt_trace_free(trace);
    }
    if (!count)
        cli_give_up("nothing was left behind the cut, %d times", CLI_TRIES);
}

/* --- a file made by hand ------------------------------------------------------------------------------ */

static void numbers(struct nvt_buffer *out, const uint64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(nvt_buffer_varint(out, values[i]), 0);
}
#define NUMBERS(out, ...)                                                                          \
    numbers(out, (const uint64_t[]){__VA_ARGS__},                                                  \
            sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void put(struct nvt_trace_writer *writer, struct nvt_chunk chunk, struct nvt_buffer *bytes)
{
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(nvt_trace_writer_chunk(writer, &chunk, bytes->data, bytes->size, &err), 0);
    bytes->size = 0;
}

/* Strings "a", "b"; a process, its thread 10, and that the tasks 1 and 2 of it interleave. 1000 ticks are 5000 ns. */
static void put_beginning(struct nvt_trace_writer *writer, struct nvt_buffer *out)
{
    const uint64_t clock[] = {1000, 5000, 0, 3000, 7000, 2000};
    NUMBERS(out, 0, 1, 'a', 1, 'b');
    put(writer, (struct nvt_chunk){.kind = NVT_CHUNK_STRINGS, .count = 3}, out);
    assert_int_equal(nvt_buffer_append(out, clock, sizeof(clock)), 0);
    put(writer, (struct nvt_chunk){.kind = NVT_CHUNK_CLOCK, .count = 2}, out);
    NUMBERS(out, 10, 1, 1, 0);
    put(writer, (struct nvt_chunk){.kind = NVT_CHUNK_PROCESS}, out);
    NUMBERS(out, 10, 0);
    put(writer, (struct nvt_chunk){.kind = NVT_CHUNK_THREAD}, out);
    NUMBERS(out, NVT_DEFINITION_TASK, 0, 1, 0, 1, 'x', NVT_DEFINITION_TASK, 0, 2, 0, 1, 'y');
    put(writer, (struct nvt_chunk){.kind = NVT_CHUNK_DEFINITIONS, .count = 2}, out);
}

/* Events 100 ticks apart, the first at `first`: one byte for each token, and the column of tasks. */
static void put_events(struct nvt_trace_writer *writer, struct nvt_buffer *out, uint64_t first,
                       const char *tokens, const char *tasks)
{
    size_t count = strlen(tokens);
    NUMBERS(out, NVT_COLUMN_TOKENS, count);
    for (size_t i = 0; i < count; i++)
        NUMBERS(out, tokens[i] == 'p' ? NVT_TOKEN_POP : (uint64_t)(tokens[i] - 'a' + 1) << 3);
    NUMBERS(out, NVT_COLUMN_TIMES, count);
    for (size_t i = 0; i < count; i++)
        NUMBERS(out, i ? 100 : 0);
    NUMBERS(out, NVT_COLUMN_TASKS, strlen(tasks));
    for (size_t i = 0; tasks[i]; i++)
        NUMBERS(out, (uint64_t)(tasks[i] - '0'));
    put(writer,
        (struct nvt_chunk){.kind = NVT_CHUNK_EVENTS,
                           .count = (uint32_t)count,
                           .first = first,
                           .last = first + 100 * (count - 1)},
        out);
}

/* Calls of CUDA on the thread, of 10 ns each. */
static void put_calls(struct nvt_trace_writer *writer, struct nvt_buffer *out, const int64_t *at,
                      uint32_t count)
{
    NUMBERS(out, 1, 1);
    for (uint32_t i = 0; i < count; i++) {
        struct nvt_buffer row = {0};
        NUMBERS(&row, nvt_zigzag(at[i] - (i ? at[i - 1] : 0)), nvt_zigzag(10), i + 1, 0, 0, 10);
        NUMBERS(out, NVT_DEVICE_API, row.size);
        assert_int_equal(nvt_buffer_append(out, row.data, row.size), 0);
        nvt_buffer_free(&row);
    }
    put(writer, (struct nvt_chunk){.kind = NVT_CHUNK_DEVICE, .count = count}, out);
}

/* A call between two events of one task is that task's; between those of two it is the thread's. */
static void calls_between_events_of_a_task_are_its_own(void **state)
{
    static const int64_t calls[] = {5150, 5250, 5450, 5550, 5650};
    static const char *const threads[] = {"y", "", "y", "", "x"};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_buffer out = {0};
    (void)state;
    const char *path = recorded_in("made.nvt");
    struct nvt_trace_writer *writer = nvt_trace_writer_new(path, 0, &err);
    assert_non_null(writer);
    put_beginning(writer, &out);
    put_events(writer, &out, 1000, "abappp", "01122112");
    put_events(writer, &out, 1600, "ap", "01");
    put_calls(writer, &out, calls, NVT_COUNT_OF(calls));
    put(writer, (struct nvt_chunk){.kind = NVT_CHUNK_END}, &out);
    assert_int_equal(nvt_trace_writer_close(writer, &err), 0);
    nvt_buffer_free(&out);
    struct nvt_trace *trace = recorded_trace_at(path);
    assert_int_equal(trace->apis.count, NVT_COUNT_OF(calls));
    for (uint32_t i = 0; i < NVT_COUNT_OF(calls); i++)
        assert_string_equal(nvt_name(trace, trace->threads.name[trace->apis.thread[i]]),
                            threads[i]);
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_of_asyncio_have_their_own_ranges),
        cmocka_unit_test(a_task_alone_is_its_thread),
        cmocka_unit_test(tasks_cross_a_capture),
        cmocka_unit_test(threads_have_their_names_of_python),
        cmocka_unit_test(sampled_threads_have_their_names),
        cmocka_unit_test(tasks_of_a_forked_child_are_its_own),
        cmocka_unit_test(other_libraries_have_tasks_too),
        cmocka_unit_test(tasks_live_on_behind_a_cut),
        cmocka_unit_test(calls_between_events_of_a_task_are_its_own),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
