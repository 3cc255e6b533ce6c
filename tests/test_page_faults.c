/*
 * When ranges of a workload look for page faults: as long as these cost more than the looks. A look takes as long as a short
 * range, and once every range had two, whatever there was to see.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../kernels/frame/faults.c"

enum { PAGES = 4096 }; /* small ones: some milliseconds of faults */

/* A domain that nobody records: helpers do all but the calls of NVTX. */
static struct nvt_nvtx begin(struct nvt_faults *faults)
{
    struct nvt_nvtx nvtx;
    memset(&nvtx, 0, sizeof(nvtx));
    memset(faults, 0, sizeof(*faults));
    nvtx.domain = (nvtxDomainHandle_t)(uintptr_t)faults;
    nvtx.mute = 1;
    nvt_faults_watch(faults, &nvtx);
    return nvtx;
}

static void touch(size_t pages)
{
    size_t size = pages * small_page();
    volatile char *memory =
        (char *)mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    madvise((void *)(uintptr_t)memory, size, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < pages; i++)
        memory[i * small_page()] = 1;
    munmap((void *)(uintptr_t)memory, size);
}

/* Some ranges, and in the last one pages that are touched for the first time. Whether the ranges looked at them. */
static int looks(struct nvt_faults *faults, struct nvt_nvtx *nvtx, int ranges, size_t pages)
{
    nvt_nvtx_push_number(nvtx, NULL, 1);
    nvt_faults_iteration_begin(faults, nvtx);
    for (int i = 0; i < ranges; i++) {
        nvt_nvtx_push(nvtx, NULL);
        if (pages && i == ranges - 1)
            touch(pages);
        nvt_nvtx_pop(nvtx);
    }
    int has_looked = !faults->is_calm;
    assert_int_equal(faults->boundaries, 2 * ranges);
    if (!has_looked)
        assert_true(faults->cost_ns == 0);
    else if (pages >= PAGES)
        assert_true(faults->cost_ns > 0);
    nvt_faults_iteration_end(faults, nvtx);
    nvt_nvtx_pop(nvtx);
    return has_looked;
}

static void short_ranges_do_not_look(void **state)
{
    (void)state;
    struct nvt_faults faults;
    struct nvt_nvtx nvtx = begin(&faults);
    assert_true(faults.look_ns > 0);
    assert_true(faults.small_ns > 0);
    assert_true(looks(&faults, &nvtx, 100, 0)); /* the very first iteration */
    for (int i = 0; i < 10; i++)
        assert_false(looks(&faults, &nvtx, 100, 0));
    nvt_faults_close(&faults, &nvtx);
    assert_null(nvtx.owner);
}

static void faults_that_cost_are_told_by_range(void **state)
{
    (void)state;
    struct nvt_faults faults;
    struct nvt_nvtx nvtx = begin(&faults);
    for (int i = 0; i < 3; i++) {
        assert_true(looks(&faults, &nvtx, 20, PAGES));
        assert_true(faults.cost_ns >= PAGES / 2 * faults.small_ns);
    }
    /* They stop, and a while later come again: seen in the iteration as a whole, then in its ranges. */
    assert_true(looks(&faults, &nvtx, 20, 0));
    for (int i = 0; i < 3; i++)
        assert_false(looks(&faults, &nvtx, 20, 0));
    assert_false(looks(&faults, &nvtx, 20, PAGES));
    assert_true(faults.cost_ns >= PAGES / 2 * faults.small_ns);
    assert_true(looks(&faults, &nvtx, 20, PAGES));
    /* A few among very many ranges are not worth it. */
    assert_true(looks(&faults, &nvtx, 20000, 2));
    assert_false(looks(&faults, &nvtx, 20000, 2));
    nvt_faults_close(&faults, &nvtx);
}

/* Warm-ups have no ranges in them; what they touch says nothing of the iterations that are timed. */
static void behind_a_warm_up_it_is_calm(void **state)
{
    (void)state;
    struct nvt_faults faults;
    struct nvt_nvtx nvtx = begin(&faults);
    nvt_faults_iteration_begin(&faults, &nvtx);
    touch(PAGES);
    nvt_faults_iteration_end(&faults, &nvtx);
    assert_true(faults.cost_ns >= PAGES / 2 * faults.small_ns);
    assert_false(looks(&faults, &nvtx, 100, 0));
    assert_false(looks(&faults, &nvtx, 100, PAGES));
    assert_true(looks(&faults, &nvtx, 100, PAGES));
    nvt_faults_close(&faults, &nvtx);
}

/* Nobody records: there is no domain, and nothing to do. */
static void nothing_without_a_domain(void **state)
{
    (void)state;
    struct nvt_faults faults = {.boundaries = 7};
    struct nvt_nvtx nvtx;
    memset(&nvtx, 0, sizeof(nvtx));
    nvt_faults_watch(&faults, &nvtx);
    nvt_faults_iteration_begin(&faults, &nvtx);
    nvt_faults_iteration_end(&faults, &nvtx);
    assert_null(nvtx.boundary);
    assert_int_equal(faults.boundaries, 7);
    nvt_faults_close(&faults, &nvtx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_ranges_do_not_look),
        cmocka_unit_test(faults_that_cost_are_told_by_range),
        cmocka_unit_test(behind_a_warm_up_it_is_calm),
        cmocka_unit_test(nothing_without_a_domain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
