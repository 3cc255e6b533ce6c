/* Pipelines in double precision, from the sources that the backends run: schedules, bubbles, and how models are cut. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../kernels/pipeline/pipeline.h"
#include "../lib/count_of.h"

/* --- schedules --------------------------------------------------------------------------------------- */

/* Walk a schedule as its partitions would, checking what each action needs, and count what is alive. */
static int check_schedule(enum nvt_schedule_kind kind, int partitions, int microbatches, int chunks,
                          int *alive_most)
{
    struct nvt_schedule s;
    struct nvt_error err = NVT_ERROR_INIT;
    static unsigned char forward[4096], backward[4096];
    int alive[16] = {0}, parts = partitions * chunks;
    assert_int_equal(nvt_schedule_make(kind, partitions, microbatches, chunks, &s, &err), 0);
    assert_int_equal(s.count, 2 * (size_t)(parts * microbatches));
    memset(forward, 0, sizeof(forward));
    memset(backward, 0, sizeof(backward));
    *alive_most = 0;
    for (size_t i = 0; i < s.count; i++) {
        const struct nvt_action *a = &s.actions[i];
        int part = a->chunk * partitions + a->partition, at = a->microbatch * parts + part;
        assert_in_range(a->microbatch, 0, microbatches - 1);
        if (a->is_backward) {
            assert_true(forward[at] && !backward[at] && (part == parts - 1 || backward[at + 1]));
            backward[at] = 1;
            alive[a->partition]--;
        } else {
            assert_true(!forward[at] && (part == 0 || forward[at - 1]));
            forward[at] = 1;
            if (++alive[a->partition] > *alive_most)
                *alive_most = alive[a->partition];
        }
    }
    nvt_schedule_free(&s);
    return 0;
}

static void schedules_are_complete(void **state)
{
    int alive;
    (void)state;
    for (int k = 1; k <= 8; k++)
        for (int m = 1; m <= 17; m++) {
            check_schedule(NVT_GPIPE, k, m, 1, &alive);
            assert_int_equal(alive, m);
            check_schedule(NVT_1F1B, k, m, 1, &alive);
            assert_int_equal(alive, m < k ? m : k);
            for (int v = 1; v <= 4; v++)
                if (m % k == 0)
                    check_schedule(NVT_INTERLEAVED, k, m, v, &alive);
        }
}

/* The published loop: step t runs micro-batch t − p on partition p, the backward in reverse. */
static void gpipe_is_the_published_loop(void **state)
{
    struct nvt_schedule s;
    struct nvt_error err = NVT_ERROR_INIT;
    size_t at = 0;
    (void)state;
    assert_int_equal(nvt_schedule_make(NVT_GPIPE, 3, 5, 1, &s, &err), 0);
    for (int t = 0; t < 5 + 3 - 1; t++)
        for (int p = 0; p < 3; p++)
            if (t - p >= 0 && t - p < 5) {
                assert_int_equal(s.actions[at].partition, p);
                assert_int_equal(s.actions[at].microbatch, t - p);
                assert_int_equal(s.actions[at++].is_backward, 0);
            }
    for (int t = 0; t < 5 + 3 - 1; t++)
        for (int p = 0; p < 3; p++)
            if (t - (2 - p) >= 0 && t - (2 - p) < 5) {
                assert_int_equal(s.actions[at].partition, p);
                assert_int_equal(s.actions[at].microbatch, 4 - (t - (2 - p)));
                assert_int_equal(s.actions[at++].is_backward, 1);
            }
    assert_int_equal(at, s.count);
    nvt_schedule_free(&s);
}

/* With equal times, the simulated idle share is the formula. */
static double simulated_bubble(const struct nvt_schedule *s)
{
    static double done[2][4096];
    double clock[16] = {0}, end = 0;
    int parts = s->partitions * s->chunks;
    for (size_t i = 0; i < s->count; i++) {
        const struct nvt_action *a = &s->actions[i];
        int part = a->chunk * s->partitions + a->partition, at = a->microbatch * parts + part;
        double start = clock[a->partition], needs = 0;
        if (a->is_backward)
            needs = part == parts - 1 ? done[0][at] : done[1][at + 1];
        else if (part)
            needs = done[0][at - 1];
        start = needs > start ? needs : start;
        clock[a->partition] = done[a->is_backward][at] = start + (a->is_backward ? 2 : 1);
        end = clock[a->partition] > end ? clock[a->partition] : end;
    }
    return 1 - 3.0 * s->microbatches * s->chunks / end;
}

static void bubbles_are_as_predicted(void **state)
{
    struct nvt_schedule s;
    struct nvt_error err = NVT_ERROR_INIT;
    (void)state;
    for (int kind = NVT_GPIPE; kind <= NVT_INTERLEAVED; kind++)
        for (int k = 1; k <= 4; k *= 2)
            for (int m = k; m <= 32; m *= 2) {
                int chunks = kind == NVT_INTERLEAVED ? 2 : 1;
                assert_int_equal(
                    nvt_schedule_make((enum nvt_schedule_kind)kind, k, m, chunks, &s, &err), 0);
                assert_true(fabs(simulated_bubble(&s) - nvt_schedule_bubble(&s)) < 1e-9);
                nvt_schedule_free(&s);
            }
}

static void wrong_schedules_are_refused(void **state)
{
    struct nvt_schedule s;
    (void)state;
    const int wrong[][4] = {{NVT_GPIPE, 0, 1, 1},       {NVT_GPIPE, 1, 0, 1},
                            {NVT_1F1B, 2, 2, 2},        {NVT_GPIPE, 2, 2, 2},
                            {NVT_INTERLEAVED, 4, 6, 2}, {NVT_GPIPE, 2000, 1, 1}};
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        struct nvt_error err = NVT_ERROR_INIT;
        assert_int_equal(nvt_schedule_make((enum nvt_schedule_kind)wrong[i][0], wrong[i][1],
                                           wrong[i][2], wrong[i][3], &s, &err),
                         -1);
    }
}

/* --- models ------------------------------------------------------------------------------------------ */

static int64_t count_parameters(const struct nvt_module *modules, int count)
{
    int64_t sum = 0;
    for (int i = 0; i < count; i++)
        sum += modules[i].parameters;
    return sum;
}

static void parameters_are_the_published_ones(void **state)
{
    static struct nvt_module modules[NVT_MODULES_MOST];
    struct nvt_gpt2_shape shape = {768, 12, 12, 3072, 128, 3000, 0, (real)0.1};
    int cuts[4];
    (void)state;
    int count = nvt_gpt2_modules(&shape, modules, NVT_MODULES_MOST);
    assert_int_equal(count, 16);
    assert_int_equal(count_parameters(modules, count), 89762304);
    assert_int_equal(count_parameters(modules, count) * 12, 1077147648);
    assert_int_equal(nvt_pipeline_cut(modules, count, 4, cuts), 0);
    assert_int_equal(cuts[0] * 1000 + cuts[1] * 100 + cuts[2] * 10 + cuts[3], 5335);
    count = nvt_resnet_modules(modules, NVT_MODULES_MOST);
    assert_int_equal(count, 56);
    assert_int_equal(count_parameters(modules, count), 52284746);
    assert_int_equal(nvt_pipeline_cut(modules, count, 2, cuts), 0);
    assert_int_equal(cuts[0] * 100 + cuts[1], 3323);
    /* As many modules, and another model: cut by parameters. */
    shape.layers = 52;
    count = nvt_gpt2_modules(&shape, modules, NVT_MODULES_MOST);
    assert_int_equal(count, 56);
    assert_int_equal(nvt_pipeline_cut(modules, count, 2, cuts), 0);
    assert_int_equal(cuts[0] * 100 + cuts[1], 2828);
}

/* No other contiguous cut into three has a smaller largest part. */
static void cuts_are_balanced(void **state)
{
    static struct nvt_module modules[NVT_MODULES_MOST];
    struct nvt_gpt2_shape shape = {16, 5, 2, 64, 8, 40, 0, 0};
    int cuts[3], count = nvt_gpt2_modules(&shape, modules, NVT_MODULES_MOST);
    int64_t best = INT64_MAX, ours = 0;
    (void)state;
    for (int a = 1; a < count - 1; a++)
        for (int b = a + 1; b < count; b++) {
            int64_t parts[3] = {count_parameters(modules, a), count_parameters(modules + a, b - a),
                                count_parameters(modules + b, count - b)};
            int64_t most = parts[0] > parts[1] ? parts[0] : parts[1];
            most = parts[2] > most ? parts[2] : most;
            best = most < best ? most : best;
        }
    assert_int_equal(nvt_pipeline_cut(modules, count, 3, cuts), 0);
    assert_int_equal(cuts[0] + cuts[1] + cuts[2], count);
    for (int i = 0, at = 0; i < 3; at += cuts[i++]) {
        int64_t held = count_parameters(modules + at, cuts[i]);
        assert_true(cuts[i] > 0);
        ours = held > ours ? held : ours;
    }
    assert_int_equal(ours, best);
    assert_int_equal(nvt_pipeline_cut(modules, 2, 3, cuts), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_are_complete),
        cmocka_unit_test(gpipe_is_the_published_loop),
        cmocka_unit_test(bubbles_are_as_predicted),
        cmocka_unit_test(wrong_schedules_are_refused),
        cmocka_unit_test(parameters_are_the_published_ones),
        cmocka_unit_test(cuts_are_balanced),
    };
    /* Loops of a few numbers are not worth waking threads for. */
    setenv("OMP_NUM_THREADS", "1", 1);
    nvt_backend_share(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
