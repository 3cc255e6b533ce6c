/* Lanes: reports say the same of a file that was read into lanes as of the whole trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/readers/reader.h"
#include "../analyze/reports/report.h"
#include "../analyze/sql/sql.h"
#include "../lib/count_of.h"
#include "../lib/device_columns.h"
#include "../lib/render.h"
#include "../lib/trace_file.h"
#include "cli.h"
#include "random_kit.h"

#define FILES   600
#define THREADS 3
#define NAMES   6

static char *directory;
static char path[512];

static int begin(void **state)
{
    (void)state;
    directory = cli_tempdir();
    snprintf(path, sizeof(path), "%s", cli_in(directory, "t.nvt"));
    return 0;
}

static int end(void **state)
{
    (void)state;
    cli_tempdir_remove(directory);
    return 0;
}

/* --- files at random --- */

struct made {
    struct nvt_trace_writer *writer;
    uint64_t random;
    uint64_t now;  /* small numbers, so that times often are the same */
    uint32_t step; /* between events, at most */
    int has_domains, has_attributes, has_moments, calls, apart, plain;
};

static uint32_t pick(struct made *made, uint32_t below)
{
    made->random = made->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(made->random >> 33) % below;
}

static void put_chunk(struct made *made, struct nvt_chunk chunk, const struct nvt_buffer *bytes)
{
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(nvt_trace_writer_chunk(made->writer, &chunk, bytes->data, bytes->size, &err),
                     0);
}

static void number(struct nvt_buffer *out, uint64_t value)
{
    assert_int_equal(nvt_buffer_varint(out, value), 0);
}

static void put_strings(struct made *made)
{
    struct nvt_buffer out = {0};
    number(&out, 0);
    for (uint32_t i = 1; i < NAMES; i++) {
        const char name[] = {'n', (char)('0' + i)};
        number(&out, sizeof(name));
        assert_int_equal(nvt_buffer_append(&out, name, sizeof(name)), 0);
    }
    put_chunk(made,
              (struct nvt_chunk){.kind = NVT_CHUNK_STRINGS,
                                 .process = NVT_NO_INDEX,
                                 .thread = NVT_NO_INDEX,
                                 .count = NAMES},
              &out);
    nvt_buffer_free(&out);
}

static void put_clock(struct made *made, const uint64_t *moments, uint32_t count)
{
    put_chunk(made,
              (struct nvt_chunk){.kind = NVT_CHUNK_CLOCK,
                                 .process = NVT_NO_INDEX,
                                 .thread = NVT_NO_INDEX,
                                 .count = count},
              &(struct nvt_buffer){.data = (uint8_t *)(uintptr_t)moments,
                                   .size = 3 * count * sizeof(*moments)});
}

/* A process with threads, and its domain 1. */
static void put_process(struct made *made)
{
    struct nvt_buffer out = {0};
    for (int i = 0; i < 4; i++)
        number(&out, 1 + (uint64_t)i);
    put_chunk(made, (struct nvt_chunk){.kind = NVT_CHUNK_PROCESS, .thread = NVT_NO_INDEX}, &out);
    for (uint32_t i = 0; i < THREADS; i++) {
        out.size = 0;
        number(&out, 10 + i);
        number(&out, 0);
        put_chunk(made, (struct nvt_chunk){.kind = NVT_CHUNK_THREAD, .thread = i}, &out);
    }
    out.size = 0;
    const uint64_t domain[] = {NVT_DEFINITION_DOMAIN, 0, 1, 0, 1, 'd'};
    for (size_t i = 0; i < NVT_COUNT_OF(domain); i++)
        number(&out, domain[i]);
    put_chunk(made,
              (struct nvt_chunk){.kind = NVT_CHUNK_DEFINITIONS, .thread = NVT_NO_INDEX, .count = 1},
              &out);
    nvt_buffer_free(&out);
}

static void put_beginning(struct made *made)
{
    const uint64_t moments[] = {1000, 5000, 0, 3000, 5000 + 2000 + pick(made, 50), 0};
    put_clock(made, moments, 1 + pick(made, 2));
    put_process(made);
}

static void put_column(struct nvt_buffer *out, uint64_t id, struct nvt_buffer *column)
{
    if (column->size) {
        number(out, id);
        number(out, column->size);
        assert_int_equal(nvt_buffer_append(out, column->data, column->size), 0);
    }
    nvt_buffer_free(column);
}

/* Pushes, pops, and now and then a mark or (seldom) a range that any thread may end. */
static void put_events(struct made *made, uint32_t thread)
{
    struct nvt_buffer tokens = {0}, times = {0}, domains = {0}, attributes = {0}, ids = {0};
    struct nvt_buffer out = {0};
    uint32_t count = 1 + pick(made, 40), last = 0;
    uint64_t first = made->now;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t kind = pick(made, 40) ? pick(made, 2) : made->apart ? 3 + pick(made, 2) : 2;
        uint64_t step = (made->plain ? 1 : 0) + pick(made, made->step);
        number(&tokens, (uint64_t)(1 + pick(made, NAMES - 1)) << 3 | kind);
        number(&times, step);
        made->now += step;
        if (kind >= 3)
            number(&ids, 0);
        if (made->has_domains) {
            number(&domains, pick(made, 2));
            number(&domains, 1);
        }
        if (made->has_attributes && !pick(made, 4)) {
            number(&attributes, i - last);
            number(&attributes, 1);
            number(&attributes, 3);
            last = i;
        }
    }
    put_column(&out, NVT_COLUMN_TOKENS, &tokens);
    put_column(&out, NVT_COLUMN_TIMES, &times);
    put_column(&out, NVT_COLUMN_DOMAINS, &domains);
    put_column(&out, NVT_COLUMN_ATTRIBUTES, &attributes);
    put_column(&out, NVT_COLUMN_RANGE_IDS, &ids);
    put_chunk(made,
              (struct nvt_chunk){.kind = NVT_CHUNK_EVENTS,
                                 .thread = thread,
                                 .count = count,
                                 .first = first,
                                 .last = made->now},
              &out);
    nvt_buffer_free(&out);
}

static void put_row(struct nvt_buffer *out, uint32_t kind, const uint64_t *fields, size_t count)
{
    struct nvt_buffer row = {0};
    for (size_t i = 0; i < count; i++)
        number(&row, fields[i]);
    number(out, kind);
    number(out, row.size);
    assert_int_equal(nvt_buffer_append(out, row.data, row.size), 0);
    nvt_buffer_free(&row);
}

/* A chunk of device rows, one after the other or as columns. */
static void put_rows(struct made *made, struct nvt_buffer *names, const struct nvt_buffer *rows,
                     int as_columns)
{
    struct nvt_chunk chunk = {.kind = NVT_CHUNK_DEVICE, .count = 2, .last = made->now};
    if (as_columns && !nvt_device_columns_put(names, rows->data, rows->size))
        chunk.kind = NVT_CHUNK_DEVICE_COLUMNS;
    else
        assert_int_equal(nvt_buffer_append(names, rows->data, rows->size), 0);
    put_chunk(made, chunk, names);
}

/* Device rows: calls by these threads, what they launched, and what has no call at all. */
static void put_device(struct made *made)
{
    struct nvt_buffer out = {0}, names = {0};
    uint32_t rows = 1 + pick(made, 30);
    uint64_t last = 0, at = made->now + 4000 - pick(made, 200);
    number(&names, NAMES);
    for (uint32_t i = 0; i < NAMES; i++)
        number(&names, i);
    for (uint32_t i = 0; i < rows; i++) {
        static const uint32_t kinds[] = {NVT_DEVICE_API,    NVT_DEVICE_API,    NVT_DEVICE_KERNEL,
                                         NVT_DEVICE_KERNEL, NVT_DEVICE_MEMCPY, NVT_DEVICE_SYNC};
        uint32_t kind = kinds[pick(made, 6)];
        uint64_t start = at + pick(made, 100);
        uint64_t correlation =
            kind == NVT_DEVICE_API && pick(made, 8) ? (uint64_t)++made->calls : pick(made, 30);
        uint64_t fields[] = {nvt_zigzag((int64_t)(start - last)),
                             nvt_zigzag((int64_t)pick(made, 13) - 1), /* or no time */
                             correlation,
                             kind == NVT_DEVICE_API ? 0 : pick(made, NAMES),
                             kind == NVT_DEVICE_API ? pick(made, NAMES) : 0,
                             kind == NVT_DEVICE_API ? 10 + pick(made, THREADS) : 1,
                             0,
                             0,
                             0,
                             1};
        put_row(&out, kind, fields, 7 + pick(made, 4));
        last = start;
    }
    if (made->has_moments)
        put_row(&out, NVT_DEVICE_CLOCK, (const uint64_t[]){at, at + pick(made, 30)}, 2);
    put_rows(made, &names, &out, (int)pick(made, 4));
    nvt_buffer_free(&names);
    nvt_buffer_free(&out);
}

static void make_file(uint32_t seed)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct made made = {.writer = nvt_trace_writer_new(path, 0, &err),
                        .random = seed * UINT64_C(0x9E3779B97F4A7C15),
                        .now = 1000};
    assert_non_null(made.writer);
    made.has_domains = pick(&made, 3) == 0;
    made.has_attributes = pick(&made, 3) == 0;
    made.has_moments = pick(&made, 3) == 0;
    made.apart = pick(&made, 8) == 0;
    made.plain = pick(&made, 2) == 0;
    made.step = made.plain ? 1 + pick(&made, 200) : 4;
    put_strings(&made);
    put_beginning(&made);
    for (uint32_t i = pick(&made, 12); i > 0; i--) {
        put_events(&made, pick(&made, THREADS));
        put_device(&made);
    }
    put_chunk(&made, (struct nvt_chunk){.kind = NVT_CHUNK_END}, &(struct nvt_buffer){0});
    assert_int_equal(nvt_trace_writer_close(made.writer, &err), 0);
}

/* --- the same twice --- */

static char *reports_of(const struct nvt_input_trace *item)
{
    static const char *const names[] = {"nvtx_gpu_proj_sum", "nvtx_kern_sum", "cuda_gpu_kern_sum"};
    struct nvt_input_trace copy = *item;
    struct nvt_input input = {.traces = &copy, .trace_count = 1};
    struct nvt_tables tables = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++) {
        const struct nvt_report *report = nvt_report_find(names[i]);
        assert_true(report->needs & NVT_TAKES_LAUNCHES);
        assert_int_equal(nvt_report_make(report, &input, &tables, &err), 0);
    }
    assert_int_equal(nvt_render_json(&tables, out), 0);
    if (input.notes.size)
        fwrite(input.notes.data, 1, input.notes.size, out);
    fclose(out);
    nvt_tables_free(&tables);
    nvt_buffer_free(&input.notes);
    return text;
}

#ifdef HAVE_SQLITE
static size_t sql_from_lanes;

/* What SQL says of kernels, of which one has to be asked by rows. Owned; NULL: launches alone do not say it. */
static char *sql_of(const struct nvt_input_trace *item, const char *format)
{
    static const struct nvt_sql_limits none;
    struct nvt_input_trace copy = *item;
    struct nvt_input input = {
        .traces = &copy, .trace_count = 1, .only_launches = item->launches != NULL};
    struct nvt_tables tables = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    char *text = NULL, statement[300];
    size_t size;
    /* With a name of its own the table is read row by row. */
    snprintf(statement, sizeof(statement), format, item->launches ? "" : "k");
    struct nvt_sql *sql = nvt_sql_open(&input, &err);
    assert_non_null(sql);
    const int status = nvt_sql_answer(sql, statement, &none, &tables, &err);
    if (status < 0)
        fail_msg("%s: %s", statement, err.message);
    assert_true(!status || item->launches);
    FILE *out = status ? NULL : open_memstream(&text, &size);
    if (out) {
        assert_int_equal(nvt_render_csv(&tables, out), 0);
        fclose(out);
        sql_from_lanes += item->launches != NULL;
    }
    nvt_tables_free(&tables);
    nvt_sql_free(sql);
    nvt_buffer_free(&input.notes);
    return text;
}

static void compare_sql(uint32_t seed, const struct nvt_input_trace *whole,
                        const struct nvt_input_trace *launched)
{
    static const char *const formats[] = {
        "SELECT range_name, name, count(*) AS n, sum(duration) AS s, min(duration) AS a, "
        "max(duration) AS b, avg(duration) AS c FROM kernels %s GROUP BY range_name, name ORDER BY "
        "1, 2",
        "SELECT count(*) AS n, total(duration) AS s FROM kernels %s WHERE range_name IS NULL"};
    for (size_t i = 0; i < NVT_COUNT_OF(formats); i++) {
        char *by_rows = sql_of(whole, formats[i]), *by_launches = sql_of(launched, formats[i]);
        if (by_launches && strcmp(by_rows, by_launches) != 0)
            fail_msg("file %u: %s: by rows\n%s\nby launches\n%s", seed, formats[i], by_rows,
                     by_launches);
        free(by_rows);
        free(by_launches);
    }
}
#else
static size_t sql_from_lanes = FILES;

static void compare_sql(uint32_t seed, const struct nvt_input_trace *whole,
                        const struct nvt_input_trace *launched)
{
    (void)seed;
    (void)whole;
    (void)launched;
}
#endif

/* Whether lanes hold all of the file: then reports are the same. */
static int compare_lanes(uint32_t seed, const char *expected, const struct nvt_input_trace *whole)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input_trace chosen = {0};
    chosen.trace = nvt_trace_read_launches(path, &chosen.launches, &err);
    assert_non_null(chosen.trace);
    int in_lanes = chosen.launches != NULL;
    if (in_lanes)
        assert_int_equal(chosen.trace->ranges.count + chosen.trace->ops.count, 0);
    char *got = reports_of(&chosen);
    if (strcmp(expected, got))
        fail_msg("file %u: read as a whole\n%s\nand %s\n%s", seed, expected,
                 in_lanes ? "in lanes" : "again", got);
    free(got);
    if (in_lanes)
        compare_sql(seed, whole, &chosen);
    if (in_lanes)
        nvt_launches_free(chosen.launches);
    free(chosen.launches);
    nvt_trace_free(chosen.trace);
    return in_lanes;
}

static int compare_file(uint32_t seed)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input_trace whole = {.trace = nvt_trace_read(path, &err)};
    assert_non_null(whole.trace);
    char *expected = reports_of(&whole);
    int in_lanes = compare_lanes(seed, expected, &whole);
    nvt_trace_free(whole.trace);
    free(expected);
    return in_lanes;
}

static void reports_are_the_same(void **state)
{
    (void)state;
    uint32_t in_lanes = 0;
    for (uint32_t seed = (uint32_t)kit_seed(1), last = seed + FILES - 1; seed <= last; seed++) {
        make_file(seed);
        in_lanes += (uint32_t)compare_file(seed);
    }
    /* The others have what lanes do not hold, or ranges that overlap when something is launched. */
    print_message("%u of %u files were read into lanes, %zu statements answered from them\n",
                  in_lanes, FILES, sql_from_lanes);
    assert_true(sql_from_lanes >= FILES / 12);
    assert_in_range(in_lanes, FILES / 4, FILES - 1);
}

/* --- one call among ranges --- */

/* Events of a thread, and one call of it, which launches a kernel. */
static const struct scene {
    const char *what;
    uint64_t call_start, call_end;
    struct {
        uint32_t kind, domain; /* 0 push, 1 pop, 2 mark */
        uint64_t at;
    } events[8]; /* at 0: there are no more */
} scenes[] = {
    {"ranges within each other",
     30,
     40,
     {{0, 0, 10}, {0, 0, 20}, {1, 0, 50}, {2, 0, 55}, {1, 0, 60}}},
    {"calls behind all ranges", 90, 95, {{0, 0, 10}, {1, 0, 60}}},
    {"a range that never ends", 30, 40, {{0, 0, 10}, {0, 0, 20}, {1, 0, 50}}},
    {"a call in ranges that never end", 70, 80, {{0, 0, 10}, {0, 0, 20}}},
    {"a call before the last range", 12, 15, {{0, 0, 10}, {0, 1, 20}}},
    {"a call behind what ended in them", 50, 80, {{0, 0, 10}, {0, 0, 20}, {1, 0, 40}}},
    {"a pop without a push", 30, 40, {{1, 0, 10}, {0, 0, 20}, {1, 1, 30}, {1, 0, 50}}},
    {"an empty range", 30, 40, {{0, 0, 10}, {0, 0, 20}, {1, 0, 20}, {1, 0, 50}}},
    {"domains within each other", 30, 40, {{0, 0, 10}, {0, 1, 20}, {1, 1, 50}, {1, 0, 60}}},
    {"domains that cross", 55, 58, {{0, 0, 10}, {0, 1, 20}, {1, 0, 50}, {1, 1, 60}}},
    {"ranges that begin together", 30, 40, {{0, 0, 10}, {0, 0, 10}, {1, 0, 50}, {1, 0, 60}}},
    {"a call longer than its range", 30, 60, {{0, 0, 10}, {0, 0, 20}, {1, 0, 50}, {1, 0, 70}}},
    {"a call where a range ends", 50, 50, {{0, 0, 10}, {0, 0, 20}, {1, 0, 50}, {1, 0, 70}}},
    {"an empty range at an end", 15, 16, {{0, 0, 10}, {0, 0, 20}, {1, 0, 20}, {1, 0, 20}}},
};

static void put_scene(struct made *made, const struct scene *of)
{
    struct nvt_buffer tokens = {0}, times = {0}, domains = {0}, out = {0};
    uint64_t last = 1000;
    uint32_t count = 0;
    for (; count < 8 && of->events[count].at; count++) {
        uint64_t at = 1000 + of->events[count].at;
        number(&tokens, (uint64_t)(1 + count % 4) << 3 | of->events[count].kind);
        number(&times, at - last);
        number(&domains, of->events[count].domain);
        number(&domains, 1);
        made->has_domains |= of->events[count].domain != 0;
        last = at;
    }
    put_column(&out, NVT_COLUMN_TOKENS, &tokens);
    put_column(&out, NVT_COLUMN_TIMES, &times);
    if (made->has_domains)
        put_column(&out, NVT_COLUMN_DOMAINS, &domains);
    nvt_buffer_free(&domains);
    put_chunk(
        made,
        (struct nvt_chunk){.kind = NVT_CHUNK_EVENTS, .count = count, .first = 1000, .last = last},
        &out);
    out.size = 0;
    struct nvt_buffer names = {0};
    number(&names, 0);
    const uint64_t call[] = {nvt_zigzag((int64_t)(1000 + of->call_start)),
                             nvt_zigzag((int64_t)(of->call_end - of->call_start)),
                             1,
                             0,
                             0,
                             10};
    const uint64_t kernel[] = {nvt_zigzag(100), nvt_zigzag(7), 1, 0};
    put_row(&out, NVT_DEVICE_API, call, 6);
    put_row(&out, NVT_DEVICE_KERNEL, kernel, 4);
    made->now = 2000;
    put_rows(made, &names, &out, 1);
    nvt_buffer_free(&names);
    nvt_buffer_free(&out);
}

static void lanes_hold_a_call_among_ranges(void **state)
{
    (void)state;
    const uint64_t moment[] = {1000, 1000, 0};
    for (uint32_t i = 0; i < NVT_COUNT_OF(scenes); i++) {
        struct nvt_error err = NVT_ERROR_INIT;
        struct made made = {.writer = nvt_trace_writer_new(path, 0, &err)};
        assert_non_null(made.writer);
        put_strings(&made);
        put_clock(&made, moment, 1);
        put_process(&made);
        put_scene(&made, &scenes[i]);
        put_chunk(&made, (struct nvt_chunk){.kind = NVT_CHUNK_END}, &(struct nvt_buffer){0});
        assert_int_equal(nvt_trace_writer_close(made.writer, &err), 0);
        if (!compare_file(i))
            fail_msg("%s: not in lanes", scenes[i].what);
    }
}

static void a_recording_too(void **state)
{
    (void)state;
    char stand_in[600];
    snprintf(stand_in, sizeof(stand_in), "NVTALLY_CUPTI=%s",
             cli_built("tests/libcupti-stand-in.so"));
    const char *argv[] = {"nvtally", "record", "--trace", "full",
                          "-o",      path,     "--",      cli_client("device"),
                          "plain",   NULL};
    const char *const environment[] = {stand_in, NULL};
    struct cli_result result =
        cli_run_with(&(struct cli_options){.environment = environment}, argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    assert_true(compare_file(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_are_the_same),
        cmocka_unit_test(lanes_hold_a_call_among_ranges),
        cmocka_unit_test(a_recording_too),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
