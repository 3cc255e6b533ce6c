/*
 * Every format that is read, written in every form that is a trace, and read again: counts and sums are the same, or what is lost is
 * named here. CSV, which is not read, has the same counts and sums.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/readers/reader.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "read_kit.h"

static const char *const inputs[] = {"tests/docs/profile.json",
                                     "tests/fuzz/corpus/kineto/object.json",
                                     "tests/fuzz/corpus/kineto/lanes.json",
                                     "tests/fuzz/corpus/kineto/rocprof.json",
                                     "tests/fuzz/corpus/kineto/ascend.json",
                                     "tests/fuzz/corpus/rocprofv3/whole.json",
#ifdef HAVE_SQLITE
                                     "tests/fuzz/corpus/nsys/both.sqlite",
                                     "tests/fuzz/corpus/nsys/calls.sqlite",
                                     "tests/fuzz/corpus/nsys/samples.sqlite",
                                     "tests/fuzz/corpus/nsys/nvtx.sqlite",
                                     "tests/fuzz/corpus/rocpd/two.sqlite",
                                     "tests/fuzz/corpus/rocpd/newer.sqlite",
#endif
                                     "tests/fuzz/corpus/perfetto/whole.pftrace",
                                     "tests/fuzz/corpus/perfetto/packed.pftrace",
                                     "tests/fuzz/corpus/xplane/whole.xplane.pb",
                                     "tests/fuzz/corpus/snapshot/old.pickle",
                                     "tests/fuzz/corpus/flight/rank_0.json",
                                     "tests/docs/snapshot.pickle"};

static const struct {
    const char *form, *name;
} forms[] = {
    {"nvt", "t.nvt"},
    {"perfetto", "t.pftrace"},
    {"chrome", "t.json"},
#ifdef HAVE_SQLITE
    {"sqlite", "t.sqlite"},
#endif
};

enum {
    RANGES,
    RANGE_NS,
    MARKS,
    CALLS,
    CALL_NS,
    OPS,
    OP_NS,
    OP_BYTES,
    BY_CALL,
    BY_OTHERS,
    SYNCS,
    SYNC_NS,
    MEMORY,
    MEMORY_BYTES,
    SAMPLES,
    SUMS
};

static const char *const sums_of[SUMS] = {"ranges",
                                          "their ns",
                                          "marks",
                                          "calls",
                                          "their ns",
                                          "operations",
                                          "their ns",
                                          "their bytes",
                                          "operations that a call launched",
                                          "operations that something else launched",
                                          "waits",
                                          "their ns",
                                          "memory events",
                                          "their bytes",
                                          "samples of counters"};

static void sum(const struct nvt_trace *trace, double *sums)
{
    memset(sums, 0, SUMS * sizeof(*sums));
    sums[RANGES] = trace->ranges.count;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        sums[RANGE_NS] += (double)(trace->ranges.end[i] - trace->ranges.start[i]);
    sums[MARKS] = trace->marks.count;
    for (uint32_t i = 0; i < trace->apis.count; i++) {
        const int is_library = trace->apis.class[i] == NVT_API_LIBRARY;
        sums[is_library ? RANGES : CALLS]++;
        sums[is_library ? RANGE_NS : CALL_NS] +=
            (double)(trace->apis.end[i] - trace->apis.start[i]);
    }
    sums[OPS] = trace->ops.count;
    for (uint32_t i = 0; i < trace->ops.count; i++) {
        sums[OP_NS] += (double)(trace->ops.end[i] - trace->ops.start[i]);
        sums[OP_BYTES] += (double)trace->ops.bytes[i];
        if (trace->ops.thread[i] != NVT_NONE)
            sums[trace->ops.api[i] != NVT_NONE ? BY_CALL : BY_OTHERS]++;
    }
    sums[SYNCS] = trace->syncs.count;
    for (uint32_t i = 0; i < trace->syncs.count; i++)
        sums[SYNC_NS] += (double)(trace->syncs.end[i] - trace->syncs.start[i]);
    sums[MEMORY] = trace->memory.count;
    for (uint32_t i = 0; i < trace->memory.count; i++)
        sums[MEMORY_BYTES] += (double)trace->memory.bytes[i];
    sums[SAMPLES] = trace->counter_samples.count;
}

/* What a form does not keep, as nvtally-export(1) says. */
static int is_lost(const char *form, const double *before, int which)
{
    /* Counters are marks there; a launch whose call was not recorded is a call of no length. */
    if (!strcmp(form, "sqlite"))
        return (before[SAMPLES] > 0 && (which == SAMPLES || which == MARKS)) ||
               (before[BY_OTHERS] > 0 &&
                (which == CALLS || which == BY_CALL || which == BY_OTHERS));
    /* An arrow needs a range that begins where it does; those of Chrome's form are not followed at all. */
    return strcmp(form, "nvt") != 0 && which == BY_OTHERS;
}

static void expect_same(const char *input, const char *form, const double *before,
                        const double *after)
{
    for (int which = 0; which < SUMS; which++)
        if (before[which] != after[which] && !is_lost(form, before, which))
            fail_msg("%s as %s: %s: %.0f, not %.0f", input, form, sums_of[which], after[which],
                     before[which]);
}

/* --- what is only written --- */

/* Where a row of CSV is counted, by its kind: the first of two sums, number and ns. */
static const struct {
    const char *kind;
    int sum;
} csv_kinds[] = {{"range", RANGES},
                 {"start-end range", RANGES},
                 {"library call", RANGES},
                 {"mark", MARKS},
                 {"runtime call", CALLS},
                 {"driver call", CALLS},
                 {"call", CALLS},
                 {"kernel", OPS},
                 {"memcpy", OPS},
                 {"memset", OPS},
                 {"synchronization", SYNCS},
                 {"sample", SAMPLES},
                 {"allocate", MEMORY},
                 {"free", MEMORY}};

static void count_row(char *row, double *sums)
{
    char *fields[9] = {row};
    for (int i = 1; i < 9 && fields[i - 1]; i++) {
        fields[i] = strchr(fields[i - 1], ',');
        if (fields[i])
            *fields[i]++ = 0;
    }
    for (size_t i = 0; i < NVT_COUNT_OF(csv_kinds); i++) {
        const int sum = csv_kinds[i].sum;
        if (strcmp(row, csv_kinds[i].kind) != 0)
            continue;
        assert_non_null(fields[8]);
        sums[sum]++;
        if (sum != MARKS && sum != SAMPLES && sum != MEMORY)
            sums[sum + 1] += strtod(fields[2], NULL);
        if (sum == OPS || sum == MEMORY)
            sums[sum == OPS ? OP_BYTES : MEMORY_BYTES] += strtod(fields[8], NULL);
    }
}

/* Sums of a CSV file: a line is a row, as no name here has the end of one. */
static void sum_csv(const char *path, double *sums)
{
    size_t size;
    char *rest = NULL, *text = cli_read_file(path, &size);
    memset(sums, 0, SUMS * sizeof(*sums));
    assert_non_null(text);
    for (char *row = strtok_r(text, "\n", &rest); row; row = strtok_r(NULL, "\n", &rest))
        count_row(row, sums);
    free(text);
}

/* Which operation belongs to which call is in the column of correlation ids. */
static int is_in_csv(int which)
{
    return which != BY_CALL && which != BY_OTHERS;
}

static void csv_has_each(void **state)
{
    (void)state;
    double before[SUMS], after[SUMS];
    for (size_t i = 0; i < NVT_COUNT_OF(inputs); i++) {
        struct nvt_trace *trace = kit_read(inputs[i]);
        sum(trace, before);
        nvt_trace_free(trace);
        sum_csv(kit_exported(inputs[i], "csv", "t.csv"), after);
        for (int which = 0; which < SUMS; which++)
            if (is_in_csv(which) && before[which] != after[which])
                fail_msg("%s as csv: %s: %.0f, not %.0f", inputs[i], sums_of[which], after[which],
                         before[which]);
    }
}

static void each_comes_back(void **state)
{
    (void)state;
    double before[SUMS], after[SUMS], all[SUMS] = {0};
    for (size_t i = 0; i < NVT_COUNT_OF(inputs); i++) {
        struct nvt_trace *trace = kit_read(inputs[i]);
        sum(trace, before);
        nvt_trace_free(trace);
        for (int which = 0; which < SUMS; which++)
            all[which] += before[which];
        for (size_t k = 0; k < NVT_COUNT_OF(forms); k++) {
            trace = kit_read(kit_exported(inputs[i], forms[k].form, forms[k].name));
            sum(trace, after);
            nvt_trace_free(trace);
            expect_same(inputs[i], forms[k].form, before, after);
        }
    }
#ifdef HAVE_SQLITE
    for (int which = 0; which < SUMS; which++)
        if (all[which] <= 0)
            fail_msg("no input has %s", sums_of[which]);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_comes_back),
                                       cmocka_unit_test(csv_has_each)};
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
