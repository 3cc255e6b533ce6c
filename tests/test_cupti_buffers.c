/*
 * The buffers that CUPTI fills: how large they are, which of them it still has, and what it may rely on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#ifndef HAVE_CUPTI

int main(void)
{
    puts("built without CUPTI's headers: there are no buffers for it to be tested");
    return 0;
}

#else

#include "../collectors/inject/cupti_trace.h"
#include "../lib/clock.h"

enum { LEAST = 32 * 1024, MOST = 256 * 1024, COUNT = 1024 };

/* The clock of this program, which goes on where a test says so: a busy machine fills no buffer late. */
static int64_t now_ns = 1000000000;

int clock_gettime(clockid_t clock, struct timespec *moment)
{
    (void)clock;
    moment->tv_sec = now_ns / 1000000000;
    moment->tv_nsec = now_ns % 1000000000;
    return 0;
}

static void pass(unsigned ms)
{
    now_ns += ms * INT64_C(1000000);
}

static unsigned rung;

static void ring(void)
{
    rung++;
}

static void use(int zeroed, int must_give)
{
    const struct nvt_cupti_buffers_use how = {ring, zeroed, must_give};
    nvt_cupti_buffers_init(&how);
}

static uint8_t *request(size_t *size)
{
    uint8_t *buffer;
    size_t most = 1;
    nvt_cupti_buffer_requested(&buffer, size, &most);
    assert_int_equal(most, 0);
    assert_int_equal((uintptr_t)buffer % 8, 0);
    return buffer;
}

static void complete(uint8_t *buffer, size_t size, size_t valid)
{
    nvt_cupti_buffer_completed(NULL, 0, buffer, size, valid);
}

/* A record begins in it. */
static void write_to(uint8_t *buffer)
{
    memset(buffer, 0x11, sizeof(uint32_t));
}

/* Decode what is filled. */
static unsigned give_back(void)
{
    unsigned count = 0;
    size_t valid;
    for (uint8_t *buffer; (buffer = nvt_cupti_buffer_take(&valid)); count++)
        nvt_cupti_buffer_give(buffer);
    return count;
}

/* The size of a buffer that is full so many ms after it was asked for. */
static size_t fill(unsigned ms)
{
    size_t size;
    uint8_t *buffer = request(&size);
    pass(ms);
    complete(buffer, size, size - 100);
    assert_int_equal(give_back(), 1);
    return size;
}

static void what_fills_slowly_is_small(void **state)
{
    size_t size = 0;
    (void)state;
    use(0, 0);
    assert_true(fill(0) <= LEAST);
    for (int i = 0; i < 5; i++)
        size = fill(0);
    assert_true(size > MOST - 1024 && size <= MOST);
    fill(120);
    assert_true(fill(50) <= MOST / 2);
    assert_true(fill(120) > MOST / 4);
    for (int i = 0; i < 4; i++)
        size = fill(120);
    assert_true(size > LEAST / 2 && size <= LEAST);
    /* One that was not full, but handed over all the same, says nothing. */
    uint8_t *buffer = request(&size);
    complete(buffer, size, size / 2);
    give_back();
    assert_true(fill(0) <= LEAST);
}

static void the_oldest_that_is_out_is_known(void **state)
{
    size_t size;
    (void)state;
    assert_int_equal(nvt_cupti_buffers_oldest(), 0);
    int64_t before = nvt_monotonic_ns();
    uint8_t *first = request(&size);
    /* There may be nothing in it for as long as CUPTI likes. */
    assert_int_equal(nvt_cupti_buffers_oldest(), 0);
    write_to(first);
    int64_t oldest = nvt_cupti_buffers_oldest();
    assert_true(oldest >= before && oldest <= nvt_monotonic_ns());
    pass(1);
    uint8_t *second = request(&size);
    uint8_t *third = request(&size);
    write_to(second);
    write_to(third);
    assert_true(nvt_cupti_buffers_oldest() == oldest);
    complete(second, size, 0);
    assert_true(nvt_cupti_buffers_oldest() == oldest);
    complete(first, size, 0);
    assert_true(nvt_cupti_buffers_oldest() >= oldest + 1000000);
    complete(third, size, 0);
    assert_int_equal(nvt_cupti_buffers_oldest(), 0);
    assert_int_equal(give_back(), 3);
    /* What was written before is no record of now. */
    first = request(&size);
    assert_int_equal(nvt_cupti_buffers_oldest(), 0);
    complete(first, size, 0);
    assert_int_equal(give_back(), 1);
}

static void a_buffer_of_another_tool_is_left_alone(void **state)
{
    static uint64_t theirs[64];
    size_t size;
    (void)state;
    uint8_t *ours = request(&size);
    const unsigned before = rung;
    complete((uint8_t *)(theirs + 32), 64, 8);
    assert_int_equal(nvt_cupti_buffers_foreign(), 1);
    assert_int_equal(rung, before);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(theirs[i], 0);
    complete(ours, size, 0);
    assert_int_equal(give_back(), 1);
}

static void a_used_buffer_comes_back_clear(void **state)
{
    size_t size;
    (void)state;
    use(1, 0);
    for (int round = 0; round < 8; round++) {
        uint8_t *buffer = request(&size);
        for (size_t i = 0; i < size; i++)
            if (buffer[i])
                fail_msg("round %d: byte %zu of %zu is not zero", round, i, size);
        memset(buffer, 0xff, size);
        complete(buffer, size, size);
        give_back();
    }
    /* Where CUPTI does it by itself, nobody does it twice. */
    use(0, 0);
    uint8_t *buffer = request(&size);
    memset(buffer, 0xff, size);
    complete(buffer, size, 8);
    give_back();
    buffer = request(&size);
    assert_int_equal(buffer[size - 1], 0xff);
    complete(buffer, size, 8);
    give_back();
}

static void there_is_an_end_of_them_if_that_may_be(void **state)
{
    static uint8_t *buffers[COUNT];
    size_t size;
    (void)state;
    use(0, 0);
    for (size_t i = 0; i < COUNT; i++)
        assert_non_null(buffers[i] = request(&size));
    assert_null(request(&size));
    assert_int_equal(size, 0);
    use(0, 1);
    uint8_t *another = request(&size);
    assert_non_null(another);
    complete(another, size, 0);
    unsigned before = rung;
    for (size_t i = 0; i < COUNT; i++)
        complete(buffers[i], size, 0);
    assert_int_equal(rung - before, COUNT);
    assert_int_equal(give_back(), COUNT + 1);
    assert_int_equal(nvt_cupti_buffers_oldest(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fills_slowly_is_small),
        cmocka_unit_test(the_oldest_that_is_out_is_known),
        cmocka_unit_test(a_buffer_of_another_tool_is_left_alone),
        cmocka_unit_test(a_used_buffer_comes_back_clear),
        cmocka_unit_test(there_is_an_end_of_them_if_that_may_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
