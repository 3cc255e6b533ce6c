/* Windows on traces: --filter-time and --filter-nvtx, over traces made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/model/named_iterations.h"
#include "../analyze/model/window.h"
#include "../lib/count_of.h"
#include "../plots/chart.h"
#include "cli.h"

static struct nvt_error err = NVT_ERROR_INIT;

static uint32_t text(struct nvt_trace *trace, const char *name)
{
    return nvt_strings_add_text(trace->strings, name);
}

static void add_range(struct nvt_trace *trace, uint32_t thread, const char *domain,
                      const char *name, int64_t start, int64_t end)
{
    struct nvt_range row = {.start = start,
                            .end = end,
                            .thread = thread,
                            .end_thread = thread,
                            .name = text(trace, name),
                            .domain = *domain ? nvt_trace_domain(trace, NVT_NONE, domain) : 0,
                            .style = NVT_PUSH_POP};
    assert_true(nvt_range_add(trace, &row) != NVT_NONE);
}

/* A kernel that a call of its own launched. */
static void add_kernel(struct nvt_trace *trace, uint32_t thread, uint64_t id, int64_t launch,
                       int64_t start, int64_t end)
{
    struct nvt_api call = {.start = launch,
                           .end = launch + 1,
                           .thread = thread,
                           .correlation = id,
                           .name = text(trace, "cudaLaunchKernel")};
    struct nvt_op op = {.start = start,
                        .end = end,
                        .process = trace->threads.process[thread],
                        .correlation = id,
                        .name = text(trace, "k"),
                        .detail = NVT_NONE,
                        .kind = NVT_OP_KERNEL};
    op.short_name = op.name;
    assert_true(nvt_api_add(trace, &call) != NVT_NONE && nvt_op_add(trace, &op) != NVT_NONE);
}

static void add_memory(struct nvt_trace *trace, int64_t time, uint8_t kind, uint64_t address,
                       uint64_t allocated)
{
    struct nvt_memory_event row = {.time = time,
                                   .thread = NVT_NONE,
                                   .address = address,
                                   .bytes = 8,
                                   .allocated = allocated,
                                   .reserved = UINT64_MAX,
                                   .kind = kind};
    assert_true(nvt_memory_event_add(trace, &row) != NVT_NONE);
}

/*
 * Process 0: three steps of 100 from 1000 on, each with a forward; kernels that steps launch run one step
 * later. Process 1: one step, from 1150 to 1450. Names have / and @ in them, too.
 */
static struct nvt_trace *steps(void)
{
    struct nvt_trace *trace = nvt_trace_new("steps.nvt", "test");
    uint32_t first = nvt_trace_thread(trace, nvt_trace_process(trace, 10), 10);
    uint32_t other = nvt_trace_thread(trace, nvt_trace_process(trace, 20), 20);
    add_range(trace, first, "", "epoch", 900, 2000);
    for (int i = 0; i < 3; i++) {
        int64_t at = 1000 + 100 * i;
        add_range(trace, first, "lib", "step", at, at + 99);
        add_range(trace, first, "lib", "forward", at + 10, at + 60);
        add_kernel(trace, first, (uint64_t)i + 1, at + 20, at + 120, at + 160);
    }
    add_range(trace, other, "lib", "step", 1150, 1450);
    add_range(trace, other, "", "load a/2", 1500, 1510);
    add_range(trace, other, "", "user@host", 1520, 1530);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    return trace;
}

static struct nvt_trace *cut(struct nvt_trace *trace, const char *range, const char *time)
{
    struct nvt_window window = {0};
    char line[1200];
    if ((range && nvt_window_set_range(&window, range, &err)) ||
        (time && nvt_window_set_time(&window, time, &err)) || nvt_window_cut(&window, trace, &err))
        fail_msg("%s", nvt_error_text(&err, line, sizeof(line)));
    return trace;
}

/* What is left: "name start level" of each range, then "|" and starts of operations, then calls. */
static const char *left(const struct nvt_trace *trace)
{
    static char out[1000];
    int size = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        size += snprintf(out + size, sizeof(out) - (size_t)size, "%s %lld %u, ",
                         nvt_name(trace, trace->ranges.name[i]), (long long)trace->ranges.start[i],
                         trace->ranges.level[i]);
    size += snprintf(out + size, sizeof(out) - (size_t)size, "|");
    for (uint32_t i = 0; i < trace->ops.count; i++)
        size += snprintf(out + size, sizeof(out) - (size_t)size, " %lld",
                         (long long)trace->ops.start[i]);
    size += snprintf(out + size, sizeof(out) - (size_t)size, " |");
    for (uint32_t i = 0; i < trace->apis.count; i++)
        size += snprintf(out + size, sizeof(out) - (size_t)size, " %lld",
                         (long long)trace->apis.start[i]);
    return out;
}

static void expect(const char *range, const char *time, const char *expected)
{
    struct nvt_trace *trace = cut(steps(), range, time);
    assert_string_equal(left(trace), expected);
    for (uint32_t i = 0; i < trace->ops.count; i++)
        if (trace->ops.api[i] != NVT_NONE) {
            assert_true(trace->ops.api[i] < trace->apis.count);
            assert_int_equal(trace->apis.correlation[trace->ops.api[i]], trace->ops.correlation[i]);
        }
    nvt_trace_free(trace);
}

/* What a range launched, whenever it ran; processes have theirs each. */
static void a_range_has_what_it_launched(void **state)
{
    (void)state;
    expect("step", NULL, "step 1000 0, forward 1010 1, step 1150 0, | 1120 | 1020");
    expect("step/1", NULL, "step 1100 0, forward 1110 1, | 1220 | 1120");
    expect("step@lib/2", NULL, "step 1200 0, forward 1210 1, | 1320 | 1220");
    expect("forward", NULL, "forward 1010 0, | 1120 | 1020");
    /* As tables have it; any domain; the default one. */
    expect("lib:forward/1", NULL, "forward 1110 0, | 1220 | 1120");
    expect("forward@*/1", NULL, "forward 1110 0, | 1220 | 1120");
    expect(":epoch", NULL,
           "epoch 900 0, step 1000 0, forward 1010 1, step 1100 0, forward 1110 1, step 1200 0, "
           "forward 1210 1, | 1120 1220 1320 | 1020 1120 1220");
    /* A name that looks like more than a name. */
    expect("load a/2", NULL, "load a/2 1500 0, | |");
    expect("user@host", NULL, "user@host 1520 0, | |");
}

/* What began then, whenever it was launched; a moment with a unit counts from the beginning, 900. */
static void a_time_has_what_begins_then(void **state)
{
    (void)state;
    expect(NULL, "1100/1199", "step 1100 0, forward 1110 1, step 1150 0, | 1120 | 1120");
    expect(NULL, "200ns/0.299us", "step 1100 0, forward 1110 1, step 1150 0, | 1120 | 1120");
    expect(NULL, "/1005", "epoch 900 0, step 1000 0, | |");
    expect(NULL, "1250/", "load a/2 1500 0, user@host 1520 0, | 1320 |");
    expect(NULL, "1 s/", "| |");
    expect("step/1", "1115/", "| 1220 | 1120");
    expect("step/1", "1115/1150", "| | 1120");
}

/* Windows side by side hold everything once, and what lies in time of others' is theirs. */
static void windows_side_by_side_hold_everything(void **state)
{
    (void)state;
    for (int64_t border = 895; border < 1600; border += 7) {
        char before[40], behind[40];
        struct nvt_trace *whole = steps();
        snprintf(before, sizeof(before), "/%lld", (long long)border);
        snprintf(behind, sizeof(behind), "%lld/", (long long)border + 1);
        struct nvt_trace *first = cut(steps(), NULL, before), *second = cut(steps(), NULL, behind);
        assert_int_equal(first->ranges.count + second->ranges.count, whole->ranges.count);
        assert_int_equal(first->ops.count + second->ops.count, whole->ops.count);
        assert_int_equal(first->apis.count + second->apis.count, whole->apis.count);
        for (uint32_t i = 0; i < second->ranges.count; i++)
            assert_true(second->ranges.start[i] > border && second->first_ns > border);
        for (uint32_t i = 1; i < second->ranges.count; i++)
            assert_true(second->ranges.parent[i] == NVT_NONE || second->ranges.parent[i] < i);
        nvt_trace_free(first);
        nvt_trace_free(second);
        nvt_trace_free(whole);
    }
}

/* A child that begins behind the window is not there: no report counts it, and its time is the parent's. */
static void children_that_are_gone_count_nowhere(void **state)
{
    (void)state;
    struct nvt_trace *trace = nvt_trace_new("t", "test");
    uint32_t thread = nvt_trace_thread(trace, nvt_trace_process(trace, 10), 10);
    add_range(trace, thread, "", "outer", 0, 100);
    add_range(trace, thread, "", "early", 10, 20);
    add_range(trace, thread, "", "late", 60, 90);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    trace = cut(trace, NULL, "0/50");
    assert_int_equal(trace->ranges.count, 2);
    assert_int_equal(trace->ranges.children[0], 1);
    assert_int_equal(trace->ranges.children_ns[0], 10);
    nvt_trace_free(trace);
}

/* What is in use when the window opens is in use in it. */
static void memory_in_use_stays(void **state)
{
    (void)state;
    for (int says = 0; says < 2; says++) {
        struct nvt_trace *trace = nvt_trace_new("memory.nvt", "test");
        (void)nvt_trace_process(trace, 10);
        /* Allocated at 1 to 4; 2 and 3 freed at 5 and 6; 5 at 11; 1 freed at 21. */
        for (int i = 1; i <= 4; i++)
            add_memory(trace, i, NVT_MEMORY_ALLOC, (uint64_t)i,
                       says ? 8 * (uint64_t)i : UINT64_MAX);
        for (int i = 2; i <= 3; i++)
            add_memory(trace, i + 3, NVT_MEMORY_FREE, (uint64_t)i,
                       says ? 8 * (uint64_t)(5 - i) : UINT64_MAX);
        add_memory(trace, 11, NVT_MEMORY_ALLOC, 5, says ? 24 : UINT64_MAX);
        add_memory(trace, 21, NVT_MEMORY_FREE, 1, says ? 16 : UINT64_MAX);
        assert_int_equal(nvt_trace_finish(trace, &err), 0);
        cut(trace, NULL, "10/20");
        const struct nvt_memory *memory = &trace->memory;
        /* Its allocator's last word, or the allocations that there are. */
        assert_int_equal(memory->count, says ? 2 : 3);
        for (uint32_t i = 0; i + 1 < memory->count; i++)
            assert_int_equal(memory->time[i], 10);
        if (says) {
            assert_int_equal(memory->allocated[0], 16);
        } else {
            assert_int_equal(memory->address[0], 1);
            assert_int_equal(memory->address[1], 4);
        }
        assert_int_equal(memory->address[memory->count - 1], 5);
        assert_int_equal(trace->first_ns, 10);
        nvt_trace_free(trace);
    }
}

/* Addresses of two devices that differ in the bits in which the devices do. */
static void memory_in_use_stays_of_each_device(void **state)
{
    (void)state;
    struct nvt_trace *trace = nvt_trace_new("devices.nvt", "test");
    (void)nvt_trace_process(trace, 10);
    for (uint32_t device = 0; device < 4; device++) {
        struct nvt_memory_event row = {.time = 1 + device,
                                       .device = device,
                                       .thread = NVT_NONE,
                                       .address = UINT64_C(0x7f0000000000) ^ (uint64_t)(device + 1)
                                                                                 << 40,
                                       .bytes = 8,
                                       .allocated = UINT64_MAX,
                                       .reserved = UINT64_MAX,
                                       .kind = NVT_MEMORY_ALLOC};
        assert_true(nvt_memory_event_add(trace, &row) != NVT_NONE);
    }
    add_memory(trace, 11, NVT_MEMORY_ALLOC, 5, UINT64_MAX);
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    cut(trace, NULL, "10/20");
    assert_int_equal(trace->memory.count, 5);
    nvt_trace_free(trace);
}

/* A counter is what it was last; a difference is none then. */
static void counters_begin_with_what_they_were(void **state)
{
    (void)state;
    struct nvt_trace *trace = nvt_trace_new("counters.nvt", "test");
    uint32_t process = nvt_trace_process(trace, 10), thread = nvt_trace_thread(trace, process, 10);
    static const uint8_t kinds[] = {NVT_COUNTER_ABSOLUTE, NVT_COUNTER_DELTA};
    for (size_t k = 0; k < 2; k++) {
        uint32_t counter = nvt_counter_add(trace, &(struct nvt_counter){.process = process,
                                                                        .name = text(trace, "c"),
                                                                        .values = kinds[k]});
        for (int i = 0; i < 4; i++) {
            struct nvt_counter_sample row = {
                .time = 10 * i, .counter = counter, .value = i, .thread = thread};
            assert_true(nvt_counter_sample_add(trace, &row) != NVT_NONE);
        }
    }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    cut(trace, NULL, "15/25");
    assert_int_equal(trace->counter_samples.count, 3);
    assert_int_equal(trace->counter_samples.time[0], 10);
    assert_int_equal(trace->counter_samples.counter[0], 0);
    assert_int_equal(trace->counter_samples.time[1], 20);
    assert_int_equal(trace->counter_samples.time[2], 20);
    assert_int_equal(trace->first_ns, 20);
    nvt_trace_free(trace);
}

/* Samples of a GPU's metric, and the next one, as long as kernels run that the range launched; of anything else while it lasts. */
static void metrics_last_as_long_as_kernels(void **state)
{
    (void)state;
    static const char *const domains[] = {"GPU 0", "host"};
    struct nvt_trace *trace = nvt_trace_new("metrics.nvt", "test");
    uint32_t process = nvt_trace_process(trace, 10), thread = nvt_trace_thread(trace, process, 10);
    uint32_t count[2] = {0, 0};
    add_range(trace, thread, "", "forward", 100, 120);
    add_kernel(trace, thread, 1, 110, 130, 165);
    add_kernel(trace, thread, 2, 125, 165, 195);
    for (size_t k = 0; k < 2; k++) {
        struct nvt_counter counter = {.process = process,
                                      .domain = nvt_trace_domain(trace, process, domains[k]),
                                      .name = text(trace, "c"),
                                      .values = NVT_COUNTER_ABSOLUTE,
                                      .is_of_machine = 1};
        const uint32_t row = nvt_counter_add(trace, &counter);
        for (int i = 0; i <= 25; i++) {
            struct nvt_counter_sample sample = {.time = 10 * i, .counter = row, .thread = thread};
            assert_true(nvt_counter_sample_add(trace, &sample) != NVT_NONE);
        }
    }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    cut(trace, "forward", NULL);
    for (uint32_t i = 0; i < trace->counter_samples.count; i++)
        count[trace->counter_samples.counter[i]]++;
    assert_int_equal(count[0], 9); /* 90 before it, 100 to 160, 170 */
    assert_int_equal(count[1], 4); /* 90, 100, 110, 120 */
    nvt_trace_free(trace);
}

/* What counts per iteration leaves out those that the window cuts, and a note says where none is left. */
static void iterations_that_are_cut_do_not_count(void **state)
{
    (void)state;
    static const struct {
        const char *time;
        uint32_t count, cut;
    } cases[] = {
        {"150/", 3, 0}, {"150/400", 2, 1}, {"150/399", 1, 1}, {"150/350", 1, 1}, {"150/250", 0, 1}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_trace *trace = nvt_trace_new("loop.nvt", "test");
        uint32_t thread = nvt_trace_thread(trace, nvt_trace_process(trace, 10), 10), count, cut_off;
        for (int k = 1; k < 5; k++) {
            add_range(trace, thread, "", "iteration", 100L * k, 100L * k + 100);
            /* Not one instead of it. */
            add_range(trace, thread, "", "step", 100L * k + 10, 100L * k + 20);
        }
        assert_int_equal(nvt_trace_finish(trace, &err), 0);
        cut(trace, NULL, cases[i].time);
        free(nvt_whole_iterations(trace, &count, &cut_off));
        assert_int_equal(count, cases[i].count);
        assert_int_equal(cut_off, cases[i].cut);
        assert_int_equal(trace->first_ns, 200);
        assert_int_equal(nvt_trace_begin(trace), 100);
        assert_int_equal(trace->notes && strstr(trace->notes, "no iteration lies within"), !count);
        nvt_trace_free(trace);
    }
}

/* Where nothing else was recorded, samples of what threads run say how long a trace is: of a window as well. */
static void a_window_of_samples_alone_is_as_long_as_they_are(void **state)
{
    (void)state;
    struct nvt_trace *trace = nvt_trace_new("samples.nvt", "test");
    uint32_t process = nvt_trace_process(trace, 10), thread = nvt_trace_thread(trace, process, 10);
    for (int i = 1; i < 10; i++) {
        const struct nvt_cpu_sample row = {.time = 10 * i, .thread = thread, .cpu_ns = 10};
        assert_true(nvt_cpu_sample_add(trace, &row) != NVT_NONE);
    }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    cut(trace, NULL, "35/65");
    assert_int_equal(trace->cpu_samples.count, 3);
    assert_int_equal(trace->first_ns, 40);
    assert_int_equal(trace->last_ns, 60);
    assert_null(trace->notes);
    nvt_trace_free(trace);
}

/* Levels are drawn as far as the window goes: a range that ends behind it makes the picture longer. */
static void levels_end_with_the_window(void **state)
{
    (void)state;
    struct nvt_trace *trace = nvt_trace_new("levels.nvt", "test");
    uint32_t process = nvt_trace_process(trace, 10), thread = nvt_trace_thread(trace, process, 10);
    uint32_t counter =
        nvt_counter_add(trace, &(struct nvt_counter){.process = process, .name = text(trace, "c")});
    add_range(trace, thread, "", "long", 12000, 100000);
    for (int i = 1; i < 10; i++) {
        struct nvt_counter_sample row = {
            .time = 10000L * i, .counter = counter, .value = i, .thread = thread};
        assert_true(nvt_counter_sample_add(trace, &row) != NVT_NONE);
        add_memory(trace, 10000L * i, NVT_MEMORY_ALLOC, (uint64_t)i, 8 * (uint64_t)i);
    }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    assert_int_equal(trace->levels_ns, 100000);
    cut(trace, NULL, "11000/36000");
    assert_int_equal(trace->last_ns, 100000);
    assert_int_equal(trace->levels_ns, 36000);
    struct nvt_input_trace given = {.trace = trace};
    struct nvt_input input = {.traces = &given, .trace_count = 1};
    const struct nvt_chart_request request = {
        .input = &input, .directory = cli_folder, .format = "svg", .paths = stdout};
    static const struct {
        const struct nvt_chart *chart;
        const char *data;
    } charts[] = {{&nvt_chart_memory, "levels-memory.dat"},
                  {&nvt_chart_counters, "levels-counters.dat"}};
    for (size_t i = 0; i < 2 && cli_has_gnuplot(); i++) {
        assert_true(nvt_chart_fits(charts[i].chart, &input));
        assert_int_equal(nvt_chart_pictures(charts[i].chart, &request, &err), 0);
        char *data = cli_read_text(cli_folder, charts[i].data);
        double time = 0;
        for (const char *line = data; *line; line += strcspn(line, "\n"), line += *line != 0)
            if (strchr("0123456789", *line))
                time = strtod(line, NULL);
        /* From 11 or 12 us, where memory or the range begins, in us. */
        assert_true(time > 23.9 && time < 25.1);
        free(data);
    }
    nvt_buffer_free(&input.notes);
    nvt_trace_free(trace);
}

static void expect_none(const char *range, const char *needle)
{
    struct nvt_trace *trace = steps();
    struct nvt_window window = {0};
    char line[1200];
    assert_int_equal(nvt_window_set_range(&window, range, &err), 0);
    assert_int_equal(nvt_window_cut(&window, trace, &err), -1);
    if (!strstr(nvt_error_text(&err, line, sizeof(line)), needle))
        fail_msg("%s", line);
    nvt_trace_free(trace);
}

static void windows_that_are_none(void **state)
{
    static const char *const times[] = {"",
                                        "/",
                                        "5",
                                        "x/",
                                        "3/2",
                                        "2s/1s",
                                        "1e5/",
                                        " 1/2",
                                        "0x3/",
                                        "1m/",
                                        "inf/",
                                        "nans/",
                                        "1/2/3",
                                        "s/",
                                        "1.5/",
                                        "1ss/1s",
                                        "99999999999999999999/",
                                        "1e300s/"};
    (void)state;
    for (size_t i = 0; i < NVT_COUNT_OF(times); i++) {
        struct nvt_window window = {0};
        if (!nvt_window_set_time(&window, times[i], &err))
            fail_msg("taken for a time: %s", times[i]);
        assert_null(window.time);
    }
    struct nvt_window window = {0};
    assert_int_equal(nvt_window_set_range(&window, "", &err), -1);
    assert_int_equal(nvt_window_set_range(&window, "@lib", &err), -1);
    expect_none("step/3", "--filter-nvtx step/3: there are 3 of them, the last is 2");
    expect_none("stepp", "--filter-nvtx stepp: there is no such range");
    expect_none("step@other", "no such range");
    expect_none("step/99999999999999999999", "no such range");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_has_what_it_launched),
        cmocka_unit_test(a_time_has_what_begins_then),
        cmocka_unit_test(windows_side_by_side_hold_everything),
        cmocka_unit_test(children_that_are_gone_count_nowhere),
        cmocka_unit_test(memory_in_use_stays),
        cmocka_unit_test(memory_in_use_stays_of_each_device),
        cmocka_unit_test(iterations_that_are_cut_do_not_count),
        cmocka_unit_test(a_window_of_samples_alone_is_as_long_as_they_are),
        cmocka_unit_test(levels_end_with_the_window),
        cmocka_unit_test(counters_begin_with_what_they_were),
        cmocka_unit_test(metrics_last_as_long_as_kernels),
        cmocka_unit_test(windows_that_are_none),
        /* the trace is that one's */
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
