/* Arrow IPC files: rows that are chosen are as if there were no others, and files stand where ranks say. What readers of others find
 * in them is tested in tests/python/module.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/arrow/ipc.h"
#include "../analyze/exports/arrow.h"
#include "cli.h"
#include "small_trace.h"
#include "../lib/count_of.h"

/* --- a batch by hand: a number with nulls, and a name in a dictionary --- */

static const int64_t offsets[] = {0, 3, 8};
static const void *texts_buffers[] = {NULL, offsets, "onethree"};
static struct ArrowArray texts = {.length = 2, .n_buffers = 3, .buffers = texts_buffers};
static struct ArrowSchema text_schema = {.format = "U", .name = ""};
static struct ArrowSchema fields[] = {
    {.format = "s", .name = "number", .metadata = "\1\0\0\0\4\0\0\0unit\2\0\0\0ns"},
    {.format = "i", .name = "name", .dictionary = &text_schema},
    {.format = "g", .name = "real"}};
static struct ArrowSchema *field_list[] = {&fields[0], &fields[1], &fields[2]};
static const struct ArrowSchema schema = {.format = "+s", .n_children = 3, .children = field_list};

struct batch {
    struct ArrowArray columns[3], *list[3], whole;
    const void *buffers[3][2];
};

static void make_batch(struct batch *batch, int64_t rows, const uint8_t *valid, int64_t nulls,
                       const int16_t *numbers, const int32_t *names, const double *reals)
{
    const void *values[] = {numbers, names, reals};
    *batch = (struct batch){.whole = {.length = rows, .n_children = 3}};
    for (int i = 0; i < 3; i++) {
        batch->buffers[i][0] = i ? NULL : valid;
        batch->buffers[i][1] = values[i];
        batch->columns[i] = (struct ArrowArray){.length = rows,
                                                .null_count = i ? 0 : nulls,
                                                .n_buffers = 2,
                                                .buffers = batch->buffers[i],
                                                .dictionary = i == 1 ? &texts : NULL};
        batch->list[i] = &batch->columns[i];
    }
    batch->whole.children = batch->list;
}

static char *written(const struct batch *batch, const struct nvt_arrow_choice *choice, size_t *size)
{
    char *bytes = NULL;
    FILE *out = open_memstream(&bytes, size);
    assert_non_null(out);
    assert_int_equal(nvt_arrow_write(out, &schema, &batch->whole, choice), 0);
    assert_int_equal(fclose(out), 0);
    assert_true(*size > 16 && !memcmp(bytes, "ARROW1\0\0", 8) &&
                !memcmp(bytes + *size - 6, "ARROW1", 6));
    return bytes;
}

static void chosen_rows_are_as_if_alone(void **state)
{
    (void)state;
    static const int16_t numbers[] = {1, -2, 3, 4, 5, 6, 7, 8, 9}, few_numbers[] = {9, -2, 4};
    static const int32_t names[] = {0, 1, 0, 1, 1, 0, 0, 0, 1}, few_names[] = {1, 1, 1};
    static const double reals[] = {.1, .2, .3, .4, .5, .6, .7, .8, .9}, few_reals[] = {.9, .2, .4};
    static const uint8_t valid[] = {0xfd, 0x01}, few_valid[] = {0x05}; /* the second one is null */
    static const int64_t rows[] = {8, 1, 3};
    struct batch all, few;
    size_t sizes[2];
    make_batch(&all, 9, valid, 1, numbers, names, reals);
    make_batch(&few, 3, few_valid, 1, few_numbers, few_names, few_reals);
    for (int64_t skipped = -1; skipped < 3; skipped++) {
        const struct nvt_arrow_choice chosen = {skipped, rows, 3}, whole = {.skipped = skipped};
        char *of_all = written(&all, &chosen, &sizes[0]),
             *of_few = written(&few, &whole, &sizes[1]);
        /* Bits behind the last row may be anything. */
        assert_int_equal(sizes[0], sizes[1]);
        size_t different = 0;
        for (size_t i = 0; i < sizes[0]; i++)
            different += of_all[i] != of_few[i];
        assert_in_range(different, 0, skipped != 0);
        free(of_all);
        free(of_few);
    }
}

static void other_columns_are_refused(void **state)
{
    (void)state;
    static const int16_t numbers[] = {1};
    static const int32_t names[] = {0};
    static const double reals[] = {1};
    const struct nvt_arrow_choice all = {.skipped = -1};
    struct batch batch;
    char *bytes = NULL;
    size_t size;
    make_batch(&batch, 1, NULL, 0, numbers, names, reals);
    fields[2].format = "U";
    FILE *out = open_memstream(&bytes, &size);
    assert_non_null(out);
    assert_int_equal(nvt_arrow_write(out, &schema, &batch.whole, &all), -1);
    assert_int_equal(fclose(out), 0);
    free(bytes);
    fields[2].format = "g";
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_int_equal(setvbuf(full, NULL, _IONBF, 0), 0);
    assert_int_equal(nvt_arrow_write(full, &schema, &batch.whole, &all), -1);
    (void)fclose(full);
}

/* --- folders --- */

/* Two processes of ranks 3 and 5 or, with `has_no_rank`, of 3 and none. */
static struct nvt_trace *two_ranks(int has_no_rank)
{
    struct nvt_trace *trace = small_trace();
    const uint32_t a = small_thread(trace, 10, 10), b = small_thread(trace, 20, 20);
    trace->processes.rank[trace->threads.process[a]] = 3;
    trace->processes.rank[trace->threads.process[b]] = has_no_rank ? NVT_NONE : 5;
    for (int i = 0; i < 10; i++)
        small_launch(trace, i % 3 ? a : b, (uint64_t)i + 1, 100 * i, 100 * i + 10, 100 * i + 20,
                     100 * i + 50);
    small_trace_finish(trace);
    return trace;
}

static void expect_file(const char *folder, const char *name, int is_there)
{
    char path[1000];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if ((access(path, R_OK) == 0) != is_there)
        fail_msg("%s: %s", path, is_there ? "is not there" : "is there");
}

static void files_stand_where_ranks_say(void **state)
{
    (void)state;
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input_trace traces[] = {{.trace = two_ranks(0)}, {.trace = two_ranks(1)}};
    const struct nvt_input both = {.traces = traces, .trace_count = 2},
                           one = {.traces = traces, .trace_count = 1};
    char *directory = cli_tempdir();
    const char *folder = cli_in(directory, "job/"), *single = cli_in(directory, "single");
    if (nvt_arrow_folder(&both, folder, &err) || nvt_arrow_folder(&one, single, &err))
        fail_msg("%s", err.message);
    static const char *const there[] = {"ops/rank=3/0.arrow", "ops/rank=5/0.arrow",
                                        "ops/rank=3/1.arrow", "apis/rank=5/0.arrow",
                                        "ops/rank=__HIVE_DEFAULT_PARTITION__/1.arrow"};
    for (size_t i = 0; i < NVT_COUNT_OF(there); i++)
        expect_file(folder, there[i], 1);
    expect_file(folder, "ops/rank=5/1.arrow", 0);
    expect_file(folder, "ops.arrow", 0);
    expect_file(folder, "ranges", 0); /* there are none */
    expect_file(single, "ops.arrow", 1);
    expect_file(directory, "job.partial", 0);
    assert_int_not_equal(nvt_arrow_folder(&one, folder, &err), 0);
    assert_non_null(strstr(err.message, "is there already"));
    expect_file(folder, "ops/rank=3/0.arrow", 1);
    cli_tempdir_remove(directory);
    nvt_trace_free(traces[0].trace);
    nvt_trace_free(traces[1].trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chosen_rows_are_as_if_alone),
        cmocka_unit_test(other_columns_are_refused),
        cmocka_unit_test(files_stand_where_ranks_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
