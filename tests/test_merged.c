/*
 * Traces of a job's ranks exported as one (export FILE FILE... --to FORMAT): on one axis, each rank with what it had, and no other
 * rank blamed than in the separate files; what nothing is known of stands apart.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../analyze/exports/export.h"
#include "../analyze/model/merge.h"
#include "../analyze/readers/reader.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "made_job.h"
#include "random_kit.h"
#include "read_kit.h"

static const struct {
    const char *form, *name;
} forms[] = {
    {"nvt", "all.nvt"},
    {"perfetto", "all.pftrace"},
    {"chrome", "all.json"},
#ifdef HAVE_SQLITE
    {"sqlite", "all.sqlite"},
#endif
};

/* --- one trace of several --- */

/* Two processes of one number, with everything that rows may refer to. */
static struct nvt_trace *small(int64_t pid, int64_t shift, const char *mark)
{
    struct nvt_trace *trace = nvt_trace_new(mark, "test");
    assert_non_null(trace);
    struct nvt_strings *strings = trace->strings;
    const uint32_t process = nvt_trace_process(trace, pid),
                   thread = nvt_trace_thread(trace, process, pid),
                   name = nvt_strings_add_text(strings, mark);
    const struct nvt_call_frame outer = {.name = name}, inner = {.parent = 1, .name = name};
    nvt_call_frame_add(trace, &outer);
    nvt_call_frame_add(trace, &inner);
    const struct nvt_range range = {.start = shift + 10,
                                    .end = shift + 90,
                                    .thread = thread,
                                    .end_thread = thread,
                                    .domain = nvt_trace_domain(trace, process, mark),
                                    .name = name};
    const struct nvt_api call = {.start = shift + 20,
                                 .end = shift + 25,
                                 .thread = thread,
                                 .correlation = 7,
                                 .name = name,
                                 .frame = 2};
    const struct nvt_collective collective = {.name = name, .group = name, .ranks = 2};
    struct nvt_kernel kernel = {.grid_x = 1,
                                .collective = nvt_collective_add(trace, &collective) + 1};
    const struct nvt_op op = {.start = shift + 30,
                              .end = shift + 60,
                              .process = process,
                              .correlation = 7,
                              .thread = NVT_NONE,
                              .launch = INT64_MIN,
                              .name = name,
                              .short_name = name,
                              .detail = nvt_kernel_add(trace, &kernel)};
    const struct nvt_device device = {.process = NVT_NONE, .device = 0, .name = name};
    const struct nvt_sequence sequence = {
        .process = NVT_NONE, .correlation = 7, .number = (uint64_t)pid};
    assert_int_not_equal(nvt_range_add(trace, &range), NVT_NONE);
    assert_int_not_equal(nvt_api_add(trace, &call), NVT_NONE);
    assert_int_not_equal(nvt_op_add(trace, &op), NVT_NONE);
    assert_int_not_equal(nvt_device_add(trace, &device), NVT_NONE);
    assert_int_not_equal(nvt_sequence_add(trace, &sequence), NVT_NONE);
    assert_int_equal(nvt_trace_set_meta(trace, "kept", "same"), 0);
    assert_int_equal(nvt_trace_set_meta(trace, "gone", mark), 0);
    nvt_trace_warn(trace, "is cut");
    assert_int_equal(nvt_trace_finish(trace, NULL), 0);
    return trace;
}

static void rows_refer_to_their_own(void **state)
{
    (void)state;
    struct nvt_trace *parts[] = {small(5, 1000, "a"), small(5, 7000, "b"), small(6, 0, "c")};
    const struct nvt_trace *traces[] = {parts[0], parts[1], parts[2]};
    const struct nvt_clock_fit clocks[] = {{0}, {.offset = -5000}, {.offset = 3000}};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *whole = nvt_merge(traces, clocks, 3, 0, "whole", &err);
    assert_non_null(whole);
    static const int64_t starts[] = {1030, 2030, 3030};
    static const char *const names[] = {"a", "b", "c"};
    assert_int_equal(whole->ops.count, 3);
    assert_int_equal(whole->processes.count, 3);
    assert_int_equal(whole->processes.pid[0], 5);
    assert_true(whole->processes.pid[1] > 4000000 && whole->processes.pid[1] < 1 << 24);
    assert_int_equal(whole->processes.pid[2], 6);
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t api = whole->ops.api[i], range = i;
        assert_int_equal(whole->ops.start[i], starts[i]);
        assert_int_equal(whole->ops.end[i], starts[i] + 30);
        assert_int_equal(whole->ops.process[i], i);
        assert_string_equal(nvt_name(whole, whole->ops.name[i]), names[i]);
        assert_int_not_equal(api, NVT_NONE);
        assert_int_equal(whole->ops.launch[i], starts[i] - 10);
        assert_int_equal(whole->threads.process[whole->ops.thread[i]], i);
        assert_true(nvt_is_main_thread(whole, whole->ops.thread[i]));
        const uint32_t frame = whole->apis.frame[api] - 1;
        assert_string_equal(nvt_name(whole, whole->call_frames.name[frame]), names[i]);
        assert_int_equal(whole->call_frames.parent[frame], frame);
        const uint32_t row = whole->kernels.collective[whole->ops.detail[i]] - 1;
        assert_string_equal(nvt_name(whole, whole->collectives.group[row]), names[i]);
        assert_string_equal(nvt_domain_name(whole, whole->ranges.domain[range]), names[i]);
        assert_int_equal(whole->domains.process[whole->ranges.domain[range]], i);
        assert_int_equal(whole->devices.process[i], i);
        assert_int_equal(whole->sequences.process[i], i);
    }
    assert_string_equal(nvt_trace_meta(whole, "kept"), "same");
    assert_null(nvt_trace_meta(whole, "gone"));
    assert_non_null(strstr(whole->notes, "a: is cut\nb: is cut\nc: is cut\n"));
    nvt_trace_free(whole);
    for (size_t i = 0; i < 3; i++)
        nvt_trace_free(parts[i]);
}

/* --- a job --- */

enum { OPS, OP_NS, RANGES, RANGE_NS, SUMS };

static uint32_t rank_of(const struct nvt_trace *trace, uint32_t process, uint32_t rank)
{
    return rank == NVT_NONE || trace->processes.rank[process] == rank;
}

/* Of a rank; NVT_NONE: of all. */
static void sum(const struct nvt_trace *trace, uint32_t rank, double *sums)
{
    memset(sums, 0, SUMS * sizeof(*sums));
    for (uint32_t i = 0; i < trace->ops.count; i++)
        if (rank_of(trace, trace->ops.process[i], rank)) {
            sums[OPS]++;
            sums[OP_NS] += (double)(trace->ops.end[i] - trace->ops.start[i]);
        }
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        if (rank_of(trace, trace->threads.process[trace->ranges.thread[i]], rank)) {
            sums[RANGES]++;
            sums[RANGE_NS] += (double)(trace->ranges.end[i] - trace->ranges.start[i]);
        }
}

/* A file of each rank, rank-07.nvt, of processes of one number. */
static void write_job(const struct made_job *job, const char *folder)
{
    assert_int_equal(mkdir(folder, 0777), 0);
    for (uint32_t i = 0; i < job->ranks; i++) {
        char name[32];
        struct nvt_error err = NVT_ERROR_INIT;
        job->traces[i].trace->processes.pid[0] = 1;
        snprintf(name, sizeof(name), "rank-%02" PRIu32 ".nvt", i);
        assert_int_equal(
            nvt_exporter_nvt.write_file(job->traces[i].trace, cli_in(folder, name), &err), 0);
    }
}

static struct cli_result merge(const char *folder, const char *form, const char *out)
{
    struct cli_result result = cli_run(
        (const char *const[]){"nvtally", "export", folder, "--to", form, "-f", "-o", out, NULL});
    cli_expect_status(&result, 0);
    return result;
}

/* What `stats -r stragglers` says of why ranks are late, and of groups: nothing of files and clocks. */
static char *stragglers(const char *path)
{
    struct cli_result result = cli_run(
        (const char *const[]){"nvtally", "stats", "-r", "stragglers", "-f", "csv", path, NULL});
    cli_expect_status(&result, 0);
    char *begin = strstr(result.out, "Rank,Cause"), *end = NULL;
    if (!begin)
        fail_msg("%s: no late rank in\n%s", path, result.out);
    else
        end = strstr(begin, "\n\n");
    if (begin && end)
        *end = 0;
    char *text = begin ? strdup(begin) : NULL;
    cli_result_free(&result);
    return text;
}

/* A job on one host: nothing drifts, so that every nanosecond is there again. */
static void ranks_have_what_they_had(void **state)
{
    (void)state;
    uint64_t seed = kit_seed(71);
    struct made_job job = made_job(seed, MADE_KERNELS, 8, 0);
    /* Of kernels of one stream that start in the same nanosecond Perfetto's form has the longer one first. */
    while (job.overlaps) {
        made_job_free(&job);
        job = made_job(++seed, MADE_KERNELS, 8, 0);
    }
    char *folder = strdup(cli_in(cli_folder, "ranks"));
    write_job(&job, folder);
    char *late = stragglers(folder);
    for (size_t k = 0; k < NVT_COUNT_OF(forms); k++) {
        const char *path = cli_in(cli_folder, forms[k].name);
        struct cli_result result = merge(folder, forms[k].form, path);
        assert_non_null(strstr(result.err, "by the ends of collectives"));
        cli_result_free(&result);
        struct nvt_trace *whole = kit_read(path);
        for (uint32_t i = 0; i < job.ranks; i++) {
            double before[SUMS], after[SUMS];
            sum(job.traces[i].trace, NVT_NONE, before);
            sum(whole, i, after);
            for (int which = 0; which < SUMS; which++)
                if (before[which] != after[which])
                    fail_msg("%s: rank %" PRIu32 ": sum %d is %.0f, not %.0f", forms[k].form, i,
                             which, after[which], before[which]);
        }
        nvt_trace_free(whole);
        char *again = stragglers(path);
        if (strcmp(again, late) != 0)
            fail_msg("%s:\n%s\nnot\n%s", forms[k].form, again, late);
        free(again);
    }
    free(late);
    free(folder);
    made_job_free(&job);
}

/* Hosts whose clocks are seconds apart and drift: what ranks do together is at one time again. */
static void clocks_are_corrected(void **state)
{
    (void)state;
    uint64_t seed = kit_seed(72);
    struct made_job job = made_job(seed, MADE_HOST, 32, 0);
    while (job.ranks <= 8) {
        made_job_free(&job);
        job = made_job(++seed, MADE_HOST, 32, 0);
    }
    char *folder = strdup(cli_in(cli_folder, "hosts")),
         *path = strdup(cli_in(cli_folder, "hosts.nvt"));
    write_job(&job, folder);
    struct cli_result result = merge(folder, "nvt", path);
    cli_result_free(&result);
    struct nvt_trace *whole = kit_read(path);
    /* All ranks leave a collective within 4 us of each other: those of rank 0 are compared with those of a rank of another host
     * that ends its last kernel when it does but for what it computes then. */
    int64_t first[32] = {0}, last[32];
    for (uint32_t i = 0; i < 32; i++)
        last[i] = INT64_MIN;
    for (uint32_t i = 0; i < whole->ops.count; i++) {
        const uint32_t rank = whole->processes.rank[whole->ops.process[i]];
        assert_true(rank < job.ranks);
        if (last[rank] == INT64_MIN)
            first[rank] = whole->ops.start[i];
        last[rank] = whole->ops.end[i] > last[rank] ? whole->ops.end[i] : last[rank];
    }
    for (uint32_t i = 0; i < job.ranks; i++) {
        /* The clock of the job's simulation at one moment early and one late in it, as the axis has it. */
        const double span = (double)(job.ends[i] - job.starts[i]),
                     of_first = (double)(job.ends[0] - job.starts[0]);
        const int64_t early = first[i] - (job.traces[i].trace->ops.start[0] - job.starts[i]),
                      late =
                          last[i] + (int64_t)((double)(job.ends[i] - job.traces[i].trace->last_ns) *
                                              of_first / span);
        if (llabs(early - job.starts[0]) > 40000 || llabs(late - job.ends[0]) > 40000)
            fail_msg("rank %" PRIu32 " is %" PRId64 " and %" PRId64 " ns off", i,
                     early - job.starts[0], late - job.ends[0]);
    }
    nvt_trace_free(whole);
    char *before = stragglers(folder), *after = stragglers(path);
    /* Rank and cause; times are those of another clock. */
    assert_int_equal(strcspn(strchr(before, '\n') + 1, ","), strcspn(strchr(after, '\n') + 1, ","));
    assert_memory_equal(strchr(before, '\n'), strchr(after, '\n'),
                        strcspn(strchr(before, '\n'), ","));
    free(before);
    free(after);
    free(folder);
    free(path);
    made_job_free(&job);
}

/* --- what is not known, and what is refused --- */

static const char *write_small(const char *name, int64_t pid, int64_t shift, const char *host)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = small(pid, shift, name);
    const char *path = cli_in(cli_folder, name);
    if (host)
        assert_int_equal(nvt_trace_set_meta(trace, "host", host), 0);
    trace->origin_ns = INT64_C(1700000000000000000) - shift;
    assert_int_equal(nvt_exporter_nvt.write_file(trace, path, &err), 0);
    nvt_trace_free(trace);
    return path;
}

static void unknown_clocks_stand_apart(void **state)
{
    (void)state;
    const char *a = write_small("a.nvt", 5, 1000, "one"), *b = write_small("b.nvt", 5, 900, "one"),
               *c = write_small("c.nvt", 6, 500, "two"), *d = write_small("d.nvt", 7, 400, NULL),
               *out = cli_in(cli_folder, "apart.nvt");
    struct cli_result result = cli_run(
        (const char *const[]){"nvtally", "export", a, b, c, d, "--to", "nvt", "-o", out, NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "note: clocks: 1 trace by the host's clock"));
    assert_non_null(strstr(result.err, "c.nvt is placed behind the others"));
    assert_non_null(strstr(result.err, "d.nvt is placed behind the others"));
    assert_null(strstr(result.err, "b.nvt is placed"));
    cli_result_free(&result);
    struct nvt_trace *whole = kit_read(out);
    assert_int_equal(whole->ops.count, 4);
    assert_int_equal(whole->ops.start[0], 1030);
    assert_int_equal(whole->ops.start[1], 1030); /* 100 ns are between their axes */
    assert_true(whole->ops.start[2] > 1000000000 && whole->ops.start[3] > 2000000000);
    nvt_trace_free(whole);
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    const char *a = write_small("a.nvt", 5, 1000, "one"), *b = write_small("b.nvt", 5, 900, "one");
    const char *out = cli_in(cli_folder, "x"), *dump = cli_in(cli_folder, "nccl_trace_rank_3.json");
    static const char entries[] = "{\"pg_config\": {}, \"pg_status\": {}, \"entries\": []}";
    cli_write_file(dump, entries, sizeof(entries) - 1);
    const struct {
        const char *argv[9];
        const char *needle;
    } cases[] = {
        {{"nvtally", "export", a, b, "--to", "csv"}, "--to csv takes one trace"},
        {{"nvtally", "export", a, b, "--to", "svg", "-o", out}, "--to svg takes one trace"},
        {{"nvtally", "export", a, b, "--to", "nvt"}, "give one with -o"},
        {{"nvtally", "export", a, b, "--to", "nvt", "-o", a}, "a.nvt"},
        {{"nvtally", "export", a, b, "--to", "nvt", "-o", b}, "b.nvt"},
        {{"nvtally", "export", "/nowhere/1", "/nowhere/2", "--to", "nvt", "-o", out}, "/nowhere/2"},
        {{"nvtally", "export", a, dump, "--to", "nvt", "-o", out}, "flight recorder"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct cli_result result = cli_run(cases[i].argv);
        cli_expect_failure(&result, cases[i].needle);
        cli_result_free(&result);
    }
    /* A file that cannot be read is named, the others are exported. */
    struct cli_result result = cli_run((const char *const[]){"nvtally", "export", a, "/nowhere/1",
                                                             b, "--to", "nvt", "-o", out, NULL});
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "warning: /nowhere/1"));
    cli_result_free(&result);
    struct nvt_trace *whole = kit_read(out);
    assert_int_equal(whole->ops.count, 2);
    nvt_trace_free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_refer_to_their_own), cmocka_unit_test(ranks_have_what_they_had),
        cmocka_unit_test(clocks_are_corrected), cmocka_unit_test(unknown_clocks_stand_apart),
        cmocka_unit_test(what_makes_no_sense_is_refused)};
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
