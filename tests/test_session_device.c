/*
 * libnvtally's statistics of the device's side, on a made-up device (tests/cupti/stand_in.h): what a
 * range is told to have taken there is the time of what was launched in it, whatever the host did.
 */
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#ifndef HAVE_CUPTI

int main(void)
{
    puts("built without CUPTI's headers: there is no collector of device records to be tested");
    return 0;
}

#else

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>

#include "../include/nvtally.h"
#include "cli.h"
#include "cupti/stand_in.h"

enum { ROUNDS = 8, KERNEL_NS = 2000000, COPY_NS = 300000 };

static stand_in_launch_function launch;
static stand_in_copy_function copy;

/* What cuInit does, and the device behind it; before the first session no one calls CUDA. */
static void come_up(void)
{
    void *collector = dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_NOW);
    void *device = dlopen(getenv("NVTALLY_CUPTI"), RTLD_NOW);
    int (*injection)(void) = NULL;
    assert_non_null(collector);
    assert_non_null(device);
    *(void **)&injection = dlsym(collector, "InitializeInjection");
    *(void **)&launch = dlsym(device, "stand_in_launch");
    *(void **)&copy = dlsym(device, "stand_in_copy");
    assert_true(injection && launch && copy);
    injection();
}

/* Operations are told complete at once and end later: as cudaDeviceSynchronize waits for it. */
static void synchronise(void)
{
    usleep(2 * (KERNEL_NS + COPY_NS) / 1000);
}

static void *launch_elsewhere(void *unused)
{
    for (int i = 0; i < 5; i++)
        launch("elsewhere", KERNEL_NS, 1);
    return unused;
}

/* Round r launches r kernels of 2 ms and a copy, and does not wait for them. */
static void work(void)
{
    pthread_t thread;
    for (int round = 1; round <= ROUNDS; round++) {
        nvtxRangePushA("launches");
        nvtxRangePushA("kernels");
        for (int i = 0; i < round; i++)
            launch("kernel", KERNEL_NS, 1);
        nvtxRangePop();
        copy(1 << 20, COPY_NS);
        nvtxRangePop();
        launch("between", KERNEL_NS, 1);
    }
    nvtxRangePushA("waits");
    assert_int_equal(pthread_create(&thread, NULL, launch_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    synchronise();
    nvtxRangePop();
}

static nvtally_range_statistics of(const nvtally_session *session, const char *name)
{
    nvtally_range_statistics s;
    assert_int_equal(nvtally_range_stats(session, name, &s), NVTALLY_OK);
    assert_true(s.has_device);
    return s;
}

/* The device's clock and ours may round a time by 2 ns, up to some per operation. */
static void expect_near(double value, double expected)
{
    if (fabs(value - expected) > 2.0 * (ROUNDS + 1))
        fail_msg("%.1f, not %.1f", value, expected);
}

static void counts_what_was_launched(void **state)
{
    (void)state;
    nvtally_session *session;
    assert_int_equal(nvtally_session_start(&session), NVTALLY_OK);
    come_up();
    work();
    assert_int_equal(nvtally_session_stop(session), NVTALLY_OK);
    const nvtally_range_statistics inner = of(session, "kernels"), outer = of(session, "launches"),
                                   wait = of(session, "waits");
    /* 1 to ROUNDS kernels: the mean and the sample variance of consecutive numbers. */
    const double mean = (ROUNDS + 1) / 2.0, std = sqrt(ROUNDS * (ROUNDS + 1) / 12.0);
    assert_int_equal(inner.count, ROUNDS);
    assert_int_equal(inner.kernels, ROUNDS * (ROUNDS + 1) / 2);
    assert_int_equal(inner.operations, inner.kernels);
    expect_near(inner.device_mean_ns, mean * KERNEL_NS);
    expect_near(inner.device_std_ns, std * KERNEL_NS);
    expect_near(inner.device_min_ns, KERNEL_NS);
    expect_near(inner.device_max_ns, ROUNDS * (double)KERNEL_NS);
    assert_int_equal(outer.kernels, inner.kernels);
    assert_int_equal(outer.operations, inner.kernels + ROUNDS);
    expect_near(outer.device_mean_ns, mean * KERNEL_NS + COPY_NS);
    /* Launching takes the host next to nothing of that, and waiting is no work of the device. */
    assert_true(inner.host_min_ns < inner.device_min_ns);
    assert_true(wait.host_mean_ns > 2.0 * KERNEL_NS);
    assert_true(wait.device_mean_ns == 0 && wait.operations == 0);
    nvtally_session_free(session);
}

/* What an earlier session launched is not the next one's. */
static void starts_at_nothing(void **state)
{
    (void)state;
    nvtally_session *session;
    assert_int_equal(nvtally_session_start(&session), NVTALLY_OK);
    nvtxRangePushA("launches");
    launch("kernel", KERNEL_NS, 1);
    nvtxRangePop();
    synchronise();
    assert_int_equal(nvtally_session_stop(session), NVTALLY_OK);
    const nvtally_range_statistics s = of(session, "launches");
    assert_int_equal(s.count, 1);
    assert_int_equal(s.kernels, 1);
    expect_near(s.device_mean_ns, KERNEL_NS);
    assert_true(s.device_std_ns == 0);
    nvtally_session_free(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_what_was_launched),
                                       cmocka_unit_test(starts_at_nothing)};
    setenv("NVTALLY_CUPTI", cli_built("tests/libcupti-stand-in.so"), 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
