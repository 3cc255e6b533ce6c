/*
 * Stacks of two sides as one tree, with numbers worked out by hand.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/comparison/stack_changes.h"
#include "../analyze/studies/typical.h"
#include "made_trace.h"

#define LIBC "/usr/lib/libc.so.6"
#define TOOL "/home/x/bin/tool"

/* Iterations of so many ns, in them a range `load` and one of another name. */
static struct nvt_trace *make_ranges(int iterations, int64_t load_ns, const char *other,
                                     int64_t other_ns, const char *iteration)
{
    struct maker maker = make_begin();
    for (int i = 0; i < iterations; i++) {
        const int64_t start = maker.now;
        maker.now += load_ns;
        make_range(&maker, "load", start);
        const int64_t second = maker.now;
        maker.now += other_ns;
        make_range(&maker, other, second);
        make_range(&maker, iteration, start);
    }
    return make_end(&maker);
}

static void add(struct nvt_stack_changes *changes, size_t side, struct nvt_trace *trace)
{
    assert_int_equal(nvt_stack_changes_add(changes, side, trace, NULL), 0);
    nvt_trace_free(trace);
}

/* The row of that name below another one (NVT_NONE: at the top). */
static uint32_t find(const struct nvt_stack_changes *changes, uint32_t parent, const char *name)
{
    for (uint32_t i = 0; i < changes->count; i++)
        if (changes->items[i].parent == parent &&
            !strcmp(nvt_strings_get(changes->names, changes->items[i].name, NULL), name))
            return i;
    fail_msg("there is no %s", name);
    return NVT_NONE;
}

static void expect_values(const struct nvt_stack_changes *changes, uint32_t row, double a, double b)
{
    assert_true(fabs(nvt_stack_change_value(changes, row, 0) - a) < 1e-6);
    assert_true(fabs(nvt_stack_change_value(changes, row, 1) - b) < 1e-6);
}

/* Two runs on one side, one of twice as many iterations on the other. */
static void values_are_of_an_iteration(void **state)
{
    (void)state;
    struct nvt_stack_changes changes = {.what = NVT_STACKS_HOST};
    add(&changes, 0, make_ranges(2, 300, "solve", 700, "iteration"));
    add(&changes, 0, make_ranges(2, 500, "solve", 900, "iteration"));
    add(&changes, 1, make_ranges(8, 600, "save", 1000, "iteration"));
    assert_true(nvt_stack_changes_has(&changes, 0, 1));
    assert_true(fabs(nvt_stack_changes_units(&changes, 0) - 4) < 1e-9);
    assert_int_equal(changes.count, 4);
    const uint32_t top = find(&changes, NVT_NONE, "iteration");
    expect_values(&changes, top, 1200, 1600);
    expect_values(&changes, find(&changes, top, "load"), 400, 600);
    expect_values(&changes, find(&changes, top, "solve"), 800, 0);
    expect_values(&changes, find(&changes, top, "save"), 0, 1000);
    /* The largest on any side first, the outermost before what lies in it. */
    uint32_t *order = nvt_stack_changes_order(&changes, 0, 1);
    assert_non_null(order);
    assert_int_equal(order[0], top);
    assert_int_equal(order[1], find(&changes, top, "save"));
    assert_int_equal(order[2], find(&changes, top, "solve"));
    assert_int_equal(order[3], find(&changes, top, "load"));
    free(order);
    nvt_stack_changes_free(&changes);
}

/* Iterations of a configuration are those of another one, or of a program that names none; what else lies in it stays there. */
static void iterations_are_compared_across_configurations(void **state)
{
    (void)state;
    const char *const named = "mlp size=64 batch=8";
    struct maker maker = make_begin();
    const int64_t begin = maker.now;
    maker.now += 5000;
    make_range(&maker, "warmup", begin);
    for (int i = 0; i < 2; i++) {
        const int64_t start = maker.now;
        maker.now += 300;
        make_range(&maker, "load", start);
        maker.now += 100;
        make_range(&maker, "iteration", start);
    }
    make_range(&maker, named, begin);
    struct nvt_stack_changes changes = {.what = NVT_STACKS_HOST};
    add(&changes, 0, make_ranges(2, 300, "solve", 700, "iteration"));
    add(&changes, 1, make_end(&maker));
    const uint32_t top = find(&changes, NVT_NONE, "iteration");
    expect_values(&changes, top, 1000, 400);
    expect_values(&changes, find(&changes, top, "load"), 300, 300);
    const uint32_t around = find(&changes, NVT_NONE, named);
    expect_values(&changes, around, 0, 0);
    expect_values(&changes, find(&changes, around, "warmup"), 0, 0);
    nvt_stack_changes_free(&changes);
}

/* Iterations of which the first one is long, as their ranges and kernels are; an epoch around them begins with it. */
static struct nvt_trace *make_warm_up(int iterations, int64_t ns, double *lengths)
{
    struct maker maker = make_begin();
    maker.launch_ns = 10;
    const int64_t begin = maker.now;
    for (int i = 0; i < iterations; i++) {
        const int64_t start = maker.now, length = i ? ns + 2 * i : 100 * ns;
        make_launch(&maker, "matmul", length / 2);
        maker.now = start + length;
        make_range(&maker, "iteration", start);
        lengths[i] = (double)length;
        const int64_t save = maker.now;
        maker.now += 7 * ns;
        make_range(&maker, "save", save);
    }
    make_range(&maker, "epoch", begin);
    return make_end(&maker);
}

/* An iteration takes what compare calls typical of its times, and what lies outside of iterations takes nothing. */
static void values_are_of_typical_iterations(void **state)
{
    (void)state;
    enum { A = 10, B = 25 };
    double a[A], b[B];
    struct nvt_typical typical[2];
    struct nvt_stack_changes changes = {.what = NVT_STACKS_HOST};
    struct nvt_stack_changes device = {.what = NVT_STACKS_DEVICE};
    struct nvt_trace *traces[] = {make_warm_up(A, 1000, a), make_warm_up(B, 3000, b)};
    for (size_t side = 0; side < 2; side++)
        assert_int_equal(nvt_stack_changes_add(&device, side, traces[side], NULL), 0);
    add(&changes, 0, traces[0]);
    add(&changes, 1, traces[1]);
    assert_int_equal(nvt_typical_of_times(a, A, 0, &typical[0]), 0);
    assert_int_equal(nvt_typical_of_times(b, B, 0, &typical[1]), 0);
    const uint32_t epoch = find(&changes, NVT_NONE, "epoch");
    const uint32_t iteration = find(&changes, epoch, "iteration");
    expect_values(&changes, iteration, exp(typical[0].log), exp(typical[1].log));
    expect_values(&changes, epoch, exp(typical[0].log), exp(typical[1].log));
    expect_values(&changes, find(&changes, epoch, "save"), 0, 0);
    assert_int_equal(nvt_stack_change_count(&changes, iteration, 0), 8);
    assert_int_equal(nvt_stack_change_count(&changes, iteration, 1), 15);
    const uint32_t matmul =
        find(&device, find(&device, find(&device, NVT_NONE, "epoch"), "iteration"), "matmul");
    expect_values(&device, matmul, 505.5, 1513);
    nvt_stack_changes_free(&changes);
    nvt_stack_changes_free(&device);
}

/* One trace names no iterations: values are of a trace. */
static void values_are_of_a_trace(void **state)
{
    (void)state;
    struct nvt_stack_changes changes = {.what = NVT_STACKS_HOST};
    add(&changes, 0, make_ranges(2, 300, "solve", 700, "iteration"));
    add(&changes, 1, make_ranges(3, 300, "solve", 700, "turn"));
    add(&changes, 1, make_ranges(1, 300, "solve", 700, "turn"));
    expect_values(&changes, find(&changes, NVT_NONE, "iteration"), 2000, 0);
    expect_values(&changes, find(&changes, NVT_NONE, "turn"), 0, 2000);
    nvt_stack_changes_free(&changes);
}

static struct nvt_trace *make_samples(int outer, int inner, int64_t cpu_ns)
{
    struct maker maker = make_begin();
    const uint32_t main = make_function(&maker, 0, "main", TOOL);
    const uint32_t sort = make_function(&maker, main, "qsort", LIBC);
    const uint32_t merge = make_function(&maker, sort, "msort", LIBC);
    const uint32_t copy = make_function(&maker, merge, "memcpy", LIBC);
    for (int i = 0; i < outer; i++)
        make_sample(&maker, 0, maker.now += 1000, cpu_ns, main);
    for (int i = 0; i < inner; i++)
        make_sample(&maker, 0, maker.now += 1000, cpu_ns, copy);
    return make_end(&maker);
}

/* Whatever spends time by itself, the functions between stay, so that what lies in them has the same place on both sides. */
static void functions_have_their_places(void **state)
{
    (void)state;
    struct nvt_stack_changes changes = {.what = NVT_STACKS_CPU};
    add(&changes, 0, make_samples(5, 20, 1000));
    add(&changes, 1, make_samples(7, 10, 1000));
    const uint32_t main = find(&changes, NVT_NONE, "main");
    const uint32_t merge = find(&changes, find(&changes, main, "qsort"), "msort");
    const uint32_t copy = find(&changes, merge, "memcpy");
    expect_values(&changes, main, 25000, 17000);
    expect_values(&changes, copy, 20000, 10000);
    assert_int_equal(changes.items[main].count[0], 25);
    assert_int_equal(changes.items[copy].count[1], 10);
    assert_int_equal(changes.items[copy].depth, 3);
    /* Times and numbers are nothing to compare. */
    add(&changes, 1, make_samples(7, 10, 0));
    assert_false(nvt_stack_changes_has(&changes, 0, 1));
    nvt_stack_changes_free(&changes);
}

static void what_one_side_has_alone_is_not_compared(void **state)
{
    (void)state;
    struct nvt_stack_changes changes = {.what = NVT_STACKS_CPU};
    add(&changes, 0, make_samples(5, 20, 1000));
    add(&changes, 1, make_ranges(2, 300, "solve", 700, "iteration"));
    assert_false(nvt_stack_changes_has(&changes, 0, 1));
    nvt_stack_changes_free(&changes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_of_an_iteration),
        cmocka_unit_test(iterations_are_compared_across_configurations),
        cmocka_unit_test(values_are_of_typical_iterations),
        cmocka_unit_test(values_are_of_a_trace),
        cmocka_unit_test(functions_have_their_places),
        cmocka_unit_test(what_one_side_has_alone_is_not_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
