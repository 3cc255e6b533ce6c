/*
 * The iterations that a program names, and which of them a moment lies in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/model/loop_names.h"
#include "../analyze/model/named_iterations.h"
#include "../lib/count_of.h"
#include "small_trace.h"

static void expect(const struct nvt_trace *trace, const int64_t *starts, uint32_t expected)
{
    uint32_t count, *rows = nvt_iterations(trace, &count);
    assert_non_null(rows);
    assert_int_equal(count, expected);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(trace->ranges.start[rows[i]], starts[i]);
    free(rows);
}

/* Those of the domain nvtally; where it has none those of any, or PyTorch's steps. */
static void the_domain_goes_first(void **state)
{
    (void)state;
    static const int64_t ours[] = {0, 100}, any[] = {20, 300}, steps[] = {400, 500};
    for (int has = 2; has >= 0; has--) {
        struct nvt_trace *trace = small_trace();
        uint32_t thread = small_thread(trace, 1, 1);
        small_range(trace, thread, "", "ProfilerStep#3", 400, 490, NVT_PUSH_POP);
        small_range(trace, thread, "", "ProfilerStep#4", 500, 590, NVT_PUSH_POP);
        if (has >= 1) {
            small_range(trace, thread, "mine", "iteration", 20, 30, NVT_PUSH_POP);
            small_range(trace, thread, "", "iteration", 300, 390, NVT_PUSH_POP);
        }
        if (has == 2) {
            small_range(trace, thread, "nvtally", "iteration", 0, 90, NVT_PUSH_POP);
            small_range(trace, thread, "nvtally", "iteration", 100, 190, NVT_PUSH_POP);
        }
        small_trace_finish(trace);
        expect(trace, has == 2 ? ours : has == 1 ? any : steps, 2);
        nvt_trace_free(trace);
    }
}

/* A loop of the same name within one is a part of it; on another thread it is not within. */
static void the_outermost_count(void **state)
{
    (void)state;
    struct nvt_trace *trace = small_trace();
    uint32_t first = small_thread(trace, 1, 1), second = small_thread(trace, 1, 2);
    static const int64_t starts[] = {0, 10, 200, 300};
    small_range(trace, first, "nvtally", "iteration", 0, 100, NVT_PUSH_POP);
    for (int i = 0; i < 4; i++)
        small_range(trace, first, "nvtally", "iteration", 1 + 20 * i, 11 + 20 * i, NVT_PUSH_POP);
    small_range(trace, second, "nvtally", "iteration", 10, 90, NVT_PUSH_POP);
    small_range(trace, first, "nvtally", "iteration", 200, 300, NVT_PUSH_POP);
    small_range(trace, first, "nvtally", "iteration", 300, 400, NVT_PUSH_POP);
    small_trace_finish(trace);
    expect(trace, starts, 4);
    nvt_trace_free(trace);
}

static void names_of_loops(void **state)
{
    (void)state;
    static const char *const same[][3] = {{"step", "Step 7", "step_12"},
                                          {"train_step", "Train Step #3", "trainStep:4"},
                                          {"batch", "batch 5", "Batch[12]"},
                                          {"iter", "iter=9", "ITER"},
                                          {"epoch/step", "epoch 3/step 12", "Epoch 0 - Step 1"},
                                          {"training_iteration 5", "training iteration", ""}};
    static const char *const none[] = {"",
                                       "steps",
                                       "optimizer.step",
                                       "step of it",
                                       "epoch 3",
                                       "Optimizer.step#Adam.step",
                                       "stepper",
                                       "load batch",
                                       "batch_norm",
                                       "iteration+1",
                                       "schritt",
                                       "a_name_that_is_longer_than_any_of_them"};
    for (size_t i = 0; i < NVT_COUNT_OF(same); i++)
        for (size_t k = 0; k < 3 && *same[i][k]; k++) {
            assert_int_not_equal(nvt_loop_of(same[i][k]), 0);
            assert_int_equal(nvt_loop_of(same[i][k]), nvt_loop_of(same[i][0]));
        }
    for (size_t i = 0; i < NVT_COUNT_OF(none); i++)
        if (nvt_loop_of(none[i]))
            fail_msg("%s", none[i]);
    assert_int_not_equal(nvt_loop_of("step"), nvt_loop_of("batch"));
}

/* A loop of 100 ns, whose parts have these names and lengths. */
struct part {
    const char *name;
    int64_t from, to;
};

static void expect_loop(const struct part *parts, const char *name, uint32_t count)
{
    struct nvt_trace *trace = small_trace();
    uint32_t thread = small_thread(trace, 1, 1), found;
    for (int i = 0; i < 5; i++)
        for (const struct part *part = parts; part->name; part++)
            small_range(trace, thread, "", part->name, 100 * i + part->from, 100 * i + part->to,
                        NVT_PUSH_POP);
    small_trace_finish(trace);
    uint32_t *rows = nvt_iterations(trace, &found);
    assert_int_equal(found, count);
    for (uint32_t i = 0; i < found; i++) {
        assert_string_equal(nvt_name(trace, trace->ranges.name[rows[i]]), name);
        assert_true(nvt_is_called_iteration(trace, rows[i]));
    }
    assert_int_equal(nvt_has_own_iterations(trace), count > 0 && strcmp(name, "iteration") != 0);
    free(rows);
    nvt_trace_free(trace);
}

#define LOOP(name, count, ...)                                                                     \
    expect_loop((const struct part[]){__VA_ARGS__, {NULL, 0, 0}}, name, count)

/* A name is not enough: an optimizer's step, or what loads a batch, is no iteration. */
static void loops_have_names_of_their_own(void **state)
{
    (void)state;
    LOOP("step", 5, {"step", 0, 90});
    LOOP("train_step", 5, {"train_step", 0, 90}, {"step", 60, 80});
    LOOP("batch", 5, {"batch", 0, 95}, {"forward", 0, 40}, {"backward", 40, 80}, {"step", 80, 90});
    LOOP("step", 5, {"batch", 0, 10}, {"step", 10, 95});
    LOOP("iteration", 5, {"iteration", 0, 20}, {"step", 20, 95});
    LOOP("", 0, {"forward", 0, 40}, {"backward", 40, 80}, {"step", 80, 90});
    LOOP("", 0, {"forward", 0, 10}, {"backward", 10, 20}, {"step", 20, 95});
    LOOP("", 0, {"batch", 0, 30}, {"compute", 30, 95});
    LOOP("", 0, {"steps", 0, 95});
}

/* With numbers they are of one loop, a single one is none, and the user still decides. */
/* Forward passes one after the other, whatever the pauses, where nothing says that the program trains or has a loop of its own. */
static void inference_has_an_iteration_each_forward(void **state)
{
    (void)state;
    static const struct {
        const char *other;
        uint32_t forwards, expected;
    } cases[] = {
        {NULL, 3, 3}, {NULL, 2, 0}, {"backward", 5, 0}, {"optimizer", 5, 0}, {"load", 5, 5}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct nvt_trace *trace = small_trace();
        uint32_t thread = small_thread(trace, 1, 1), count;
        for (uint32_t k = 0; k < cases[i].forwards; k++) {
            small_range(trace, thread, "PyTorch", "forward", 1000 * k, 1000 * k + 10, NVT_PUSH_POP);
            small_range(trace, thread, "PyTorch", "forward", 1000 * k + 2, 1000 * k + 5,
                        NVT_PUSH_POP);
        }
        if (cases[i].other)
            small_range(trace, thread, "", cases[i].other, 90000, 90010, NVT_PUSH_POP);
        small_trace_finish(trace);
        uint32_t *rows = nvt_iterations(trace, &count);
        assert_non_null(rows);
        assert_int_equal(count, cases[i].expected);
        free(rows);
        nvt_trace_free(trace);
    }
}

/* A pass of a model, from `start` on. */
static void pass(struct nvt_trace *trace, uint32_t thread, const char *model, int64_t start,
                 int64_t ns)
{
    small_range(trace, thread, "PyTorch", "forward", start, start + ns, NVT_PUSH_POP);
    small_range(trace, thread, "PyTorch", model, start + 1, start + ns - 1, NVT_PUSH_POP);
}

/* Of models that are called in turn, the passes of one are iterations: of the one with most time, but for those called far less. */
static void several_models_have_one_loop(void **state)
{
    (void)state;
    struct nvt_trace *trace = small_trace();
    const uint32_t thread = small_thread(trace, 1, 1);
    uint32_t count;
    pass(trace, thread, "Tokens", 0, 90000);
    for (int64_t k = 0; k < 3; k++)
        pass(trace, thread, "Traced", 20000000 + 10000 * k, 9000);
    for (int64_t k = 1; k <= 20; k++) {
        pass(trace, thread, "Encoder", 100000 * k, 100);
        pass(trace, thread, "Decoder", 100000 * k + 500, 1000);
    }
    small_trace_finish(trace);
    uint32_t *rows = nvt_iterations(trace, &count);
    assert_non_null(rows);
    assert_int_equal(count, 20);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(trace->ranges.start[rows[i]], 100000 * (i + 1) + 500);
        assert_true(nvt_is_called_iteration(trace, rows[i]));
    }
    /* A pass of another model has the name, and is none. */
    assert_string_equal(nvt_name(trace, trace->ranges.name[0]), "forward");
    assert_false(nvt_is_called_iteration(trace, 0));
    free(rows);
    nvt_trace_free(trace);
}

/* A server has a thread for each request. */
static void passes_may_have_threads_of_their_own(void **state)
{
    (void)state;
    struct nvt_trace *trace = small_trace();
    uint32_t count;
    for (int64_t k = 0; k < 5; k++)
        pass(trace, small_thread(trace, 1, 1 + k), "Model", 1000 * k, 100);
    small_trace_finish(trace);
    uint32_t *rows = nvt_iterations(trace, &count);
    assert_non_null(rows);
    assert_int_equal(count, 5);
    free(rows);
    nvt_trace_free(trace);
}

static void numbered_steps_are_a_loop(void **state)
{
    (void)state;
    static const int64_t starts[] = {0, 100, 200}, said[] = {10, 110, 210};
    struct nvt_trace *trace = small_trace();
    struct nvt_error err = NVT_ERROR_INIT;
    uint32_t thread = small_thread(trace, 1, 1), other = small_thread(trace, 1, 2);
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof(name), "epoch %d/step %d", i / 2, i % 2);
        small_range(trace, thread, "mine", name, 100 * i, 100 * i + 80, NVT_PUSH_POP);
        small_range(trace, thread, "", "inner", 100 * i + 10, 100 * i + 20, NVT_PUSH_POP);
    }
    small_range(trace, other, "", "step 1", 0, 1000, NVT_PUSH_POP);
    small_trace_finish(trace);
    expect(trace, starts, 3);
    assert_int_equal(nvt_iterations_set(trace, "inner", &err), 0);
    expect(trace, said, 3);
    nvt_trace_free(trace);
}

/* Those that the user says and no others, also where there are some of the usual names. */
static void the_user_goes_before_all(void **state)
{
    (void)state;
    static const int64_t steps[] = {100, 200, 300}, mine[] = {200}, numbered[] = {400, 500};
    static const int64_t at[] = {600};
    static const struct {
        const char *said;
        const int64_t *starts;
        uint32_t count;
    } cases[] = {{"step", steps, 3},           {"step@*", steps, 3},
                 {"step@mine", mine, 1},       {"mine:step", mine, 1},
                 {"turn *", numbered, 2},      {"turn *@mine", numbered, 2},
                 {"mine:turn *", numbered, 2}, {"who@where", at, 1}};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = small_trace();
    uint32_t thread = small_thread(trace, 1, 1);
    small_range(trace, thread, "nvtally", "iteration", 0, 90, NVT_PUSH_POP);
    small_range(trace, thread, "", "step", 100, 190, NVT_PUSH_POP);
    small_range(trace, thread, "", "step", 110, 120, NVT_PUSH_POP);
    small_range(trace, thread, "mine", "step", 200, 290, NVT_PUSH_POP);
    small_range(trace, thread, "", "step", 300, 390, NVT_START_END);
    small_range(trace, thread, "mine", "turn 1", 400, 490, NVT_PUSH_POP);
    small_range(trace, thread, "mine", "turn 2", 500, 590, NVT_PUSH_POP);
    small_range(trace, thread, "", "who@where", 600, 690, NVT_PUSH_POP);
    small_trace_finish(trace);
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        assert_int_equal(nvt_iterations_set(trace, cases[i].said, &err), 0);
        expect(trace, cases[i].starts, cases[i].count);
    }
    static const char *const none[] = {"steps", "ste", "step@other", "other:step", "", "@mine"};
    for (size_t i = 0; i < NVT_COUNT_OF(none); i++)
        assert_int_equal(nvt_iterations_set(trace, none[i], &err), -1);
    assert_int_equal(nvt_iterations_set(trace, NULL, &err), 0);
    static const int64_t usual[] = {0};
    expect(trace, usual, 1);
    nvt_trace_free(trace);
}

/* What a linear search finds: the last one to begin of those that hold the moment. */
static uint32_t search(const struct nvt_named_iterations *iterations, uint32_t thread,
                       uint32_t process, int64_t moment)
{
    const struct nvt_trace *trace = iterations->trace;
    uint32_t found[3] = {NVT_NONE, NVT_NONE, NVT_NONE};
    int has[3] = {0, 0, 1};
    if (thread != NVT_NONE)
        process = trace->threads.process[thread];
    for (uint32_t i = 0; i < iterations->count; i++) {
        uint32_t row = iterations->rows[i], its = trace->ranges.thread[row];
        const int is_of[3] = {its == thread, trace->threads.process[its] == process, 1};
        for (int k = 0; k < 3; k++) {
            has[k] |= is_of[k];
            if (is_of[k] && trace->ranges.start[row] <= moment && moment <= trace->ranges.end[row])
                found[k] = i;
        }
    }
    return has[0] ? found[0] : has[1] ? found[1] : found[2];
}

static void a_moment_is_in_its_threads(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int trial = 0; trial < 60; trial++) {
        struct nvt_trace *trace = small_trace();
        uint32_t threads[6];
        /* Three processes, of which the last has no iterations; every third thread has none either. */
        for (uint32_t i = 0; i < 6; i++)
            threads[i] = small_thread(trace, 1 + i / 2, 1 + i);
        for (int i = 0; i < 40; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            uint32_t thread = (uint32_t)(seed >> 40) % 4;
            int64_t start = (int64_t)(seed >> 20 & 1023), length = (int64_t)(seed >> 50 & 127);
            if (thread % 3 != 2)
                small_range(trace, threads[thread], "nvtally", "iteration", start, start + length,
                            NVT_START_END);
        }
        small_trace_finish(trace);
        struct nvt_named_iterations iterations = {0};
        assert_int_equal(nvt_named_iterations_of(&iterations, trace), 0);
        for (int64_t moment = -1; moment < 1200; moment += 7) {
            for (uint32_t i = 0; i < 6; i++)
                assert_int_equal(nvt_iteration_at(&iterations, i, NVT_NONE, moment),
                                 search(&iterations, i, NVT_NONE, moment));
            for (uint32_t process = 0; process < 3; process++)
                assert_int_equal(nvt_iteration_at(&iterations, NVT_NONE, process, moment),
                                 search(&iterations, NVT_NONE, process, moment));
        }
        nvt_named_iterations_free(&iterations);
        nvt_trace_free(trace);
    }
}

static void a_trace_without_any_has_none(void **state)
{
    (void)state;
    struct nvt_trace *trace = small_trace();
    struct nvt_named_iterations iterations = {0};
    small_trace_finish(trace);
    assert_int_equal(nvt_named_iterations_of(&iterations, trace), 0);
    assert_int_equal(iterations.count, 0);
    assert_int_equal(nvt_iteration_at(&iterations, NVT_NONE, NVT_NONE, 5), NVT_NONE);
    nvt_named_iterations_free(&iterations);
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_domain_goes_first),
        cmocka_unit_test(the_outermost_count),
        cmocka_unit_test(names_of_loops),
        cmocka_unit_test(loops_have_names_of_their_own),
        cmocka_unit_test(inference_has_an_iteration_each_forward),
        cmocka_unit_test(several_models_have_one_loop),
        cmocka_unit_test(passes_may_have_threads_of_their_own),
        cmocka_unit_test(numbered_steps_are_a_loop),
        cmocka_unit_test(the_user_goes_before_all),
        cmocka_unit_test(a_moment_is_in_its_threads),
        cmocka_unit_test(a_trace_without_any_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
