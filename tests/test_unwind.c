/*
 * The unwinder of samples: the same callers as libgcc's, at every depth and out of handlers; tables and expressions that are
 * damaged lead nowhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "../collectors/inject/cpu_dwarf.c"
#include "../collectors/inject/cpu_unwind.c"
#include "../collectors/inject/find_object.c"

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35) && (defined(__x86_64__) || defined(__aarch64__))

#define DEEPEST 64

/* Callers of the function that is interrupted, which it is not asked for. */
static int callers(const ucontext_t *context, uintptr_t *out)
{
    struct nvt_unwind unwind;
    int count = 0;
    nvt_unwind_begin(&unwind, context);
    while (count < DEEPEST && !nvt_unwind_step(&unwind))
        out[count++] = unwind.ip;
    return count;
}

static int compared;

/* libgcc's list begins in this function, or in a sanitizer's that stands in for backtrace(); ours behind it. */
__attribute__((noinline)) static void compare(void)
{
    ucontext_t context;
    void *expected[DEEPEST];
    uintptr_t found[DEEPEST];
    assert_int_equal(getcontext(&context), 0);
    int count = callers(&context, found), most = backtrace(expected, DEEPEST), first = 0;
    while (first < 4 && (uintptr_t)expected[first] != found[0])
        first++;
    assert_true(first < 4 && most > first + 2 && count >= most - first - 1);
    for (int i = 0; first + i < most - 1; i++) /* the last may be one that only one of them has */
        assert_int_equal(found[i], (uintptr_t)expected[first + i]);
    compared++;
}

/* Frames of many kinds: of a size that is known later, with arguments on the stack, aligned. NOLINTNEXTLINE(misc-no-recursion) */
__attribute__((noinline)) static int descend(int levels, int a, int b, int c, int d, int e, int f,
                                             int g, int h)
{
    volatile char room[16 + (levels * 37) % 300];
    volatile char aligned[64] __attribute__((aligned(64)));
    room[0] = aligned[0] = (char)(a + b + c + d + e + f);
    if (levels)
        return descend(levels - 1, a, b, c, d, e, f, g + room[0], h + aligned[0]) + room[0];
    compare();
    return room[0] + g + h;
}

static void callers_are_libgccs(void **state)
{
    (void)state;
    for (int levels = 0; levels < 40; levels++)
        descend(levels, 1, 2, 3, 4, 5, 6, 7, 8);
    assert_int_equal(compared, 40);
}

static int by_comparing(const void *left, const void *right)
{
    compare();
    return *(const int *)left - *(const int *)right;
}

static void callers_are_found_through_libraries(void **state)
{
    int numbers[] = {3, 2, 1};
    (void)state;
    compared = 0;
    qsort(numbers, 3, sizeof(numbers[0]), by_comparing);
    assert_true(compared > 0);
}

static void handle_signal(int which)
{
    (void)which;
    compare();
}

static void callers_are_found_out_of_handlers(void **state)
{
    struct sigaction action, before;
    (void)state;
#if defined(__x86_64__)
    compared = 0;
    memset(&action, 0, sizeof(action));
    action.sa_handler = handle_signal;
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    raise(SIGUSR1);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
    assert_int_equal(compared, 1);
#else
    (void)action;
    (void)before;
    skip();
#endif
}

/* Registers that lead to where nothing can be read end the stack. */
static void wrong_stacks_end(void **state)
{
    ucontext_t context;
    uintptr_t found[DEEPEST];
    static uint64_t random = 88172645463325252u; /* getcontext may return twice */
    (void)state;
    char *closed = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(closed != MAP_FAILED && !mprotect(closed + 4096, 4096, PROT_NONE));
    for (int i = 0; i < 20000; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        uintptr_t stack = i % 4 == 0   ? (uintptr_t)random
                          : i % 4 == 1 ? (uintptr_t)closed + random % 8192
                          : i % 4 == 2 ? random % 8192
                                       : (uintptr_t)&context + random % 65536 * 8;
        assert_int_equal(getcontext(&context), 0);
#if defined(__x86_64__)
        context.uc_mcontext.gregs[REG_RSP] = (greg_t)stack;
        context.uc_mcontext.gregs[REG_RBP] = (greg_t)stack + (greg_t)(random % 64);
        if (i % 3 == 0)
            context.uc_mcontext.gregs[REG_RIP] =
                (greg_t)(uintptr_t)compare + (greg_t)(random % 20000) - 10000;
#else
        context.uc_mcontext.sp = stack;
        context.uc_mcontext.regs[29] = stack + random % 64;
#endif
        assert_true(callers(&context, found) <= DEEPEST);
    }
    munmap(closed, 8192);
}

/* --- damage ------------------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

static void damaged_tables_lead_nowhere(void **state)
{
    struct nvt_object found = {0};
    struct nvt_dwarf_rules rules;
    uint64_t random = 88172645463325252u;
    int good = 0, wrong = 0;
    (void)state;
    assert_int_equal(nvt_find_object((uintptr_t)compare, &found), 0);
    const uint8_t *header = found.eh_frame;
    /* The table and the entries behind it, of which all places count from where they stand. */
    uint32_t count;
    memcpy(&count, header + 8, sizeof(count));
    size_t size = 0;
    for (uint32_t i = 0; i < count; i++) {
        int32_t entry;
        uint32_t length;
        memcpy(&entry, header + 12 + (size_t)i * 8 + 4, sizeof(entry));
        memcpy(&length, header + entry, sizeof(length));
        if ((size_t)entry + length + 4 > size)
            size = (size_t)entry + length + 4;
    }
    assert_true(size > 0);
    uint8_t *copy = malloc(size);
    assert_non_null(copy);
    const struct nvt_dwarf_tables tables = {copy, copy, copy + size};
    uintptr_t shift = (uintptr_t)copy - (uintptr_t)header;
    for (int i = 0; i < 30000; i++) {
        memcpy(copy, header, size);
        for (int flips = i % 8; flips; flips--) {
            uint64_t where = next_random(&random);
            /* Of the header, of the table, or of entries. */
            size_t at = where % 3 == 0   ? where % 12
                        : where % 3 == 1 ? where % (12 + (size_t)count * 8)
                                         : where % size;
            copy[at % size] ^= (uint8_t)(1u << (where >> 40) % 8);
        }
        int32_t begin;
        memcpy(&begin, header + 12 + next_random(&random) % count * 8, sizeof(begin));
        uintptr_t address =
            (uintptr_t)header + (uintptr_t)(intptr_t)begin + next_random(&random) % 64 + shift;
        if (nvt_dwarf_find(&tables, address, &rules))
            wrong += i % 8 != 0;
        else
            good += i % 8 == 0;
    }
    assert_true(good > 500 && wrong > 500);
    free(copy);
}

static void damaged_expressions_lead_nowhere(void **state)
{
    uintptr_t registers[NVT_REGISTERS] = {0}, result, cfa = 4096;
    struct nvt_unwind unwind;
    uint64_t random = 88172645463325252u;
    (void)state;
    memset(&unwind, 0, sizeof(unwind));
    for (int i = 0; i < 200000; i++) {
        uint32_t size = (uint32_t)(next_random(&random) % 12);
        /* of its own, so that what is read behind it is seen */
        uint8_t *expression = malloc(size + 1);
        assert_non_null(expression);
        uint8_t *exact = expression + 1;
        for (uint32_t k = 0; k < size; k++)
            exact[k] = (uint8_t)next_random(&random);
        nvt_dwarf_evaluate(exact, size, registers, i % 2 ? &cfa : NULL, &result, &unwind);
        free(expression);
    }
}

/* (8 + register 7) & ~63, less the second of two. */
static void expressions_are_computed(void **state)
{
    static const uint8_t expression[] = {0x77, 8, 0x08, 63, 0x20, 0x1a, 0x33, 0x12, 0x1c, 0x22};
    static const uint8_t without_not[] = {0x77, 8, 0x09, 0xc0, 0x1a, 0x33, 0x12, 0x1c, 0x22};
    uintptr_t registers[NVT_REGISTERS] = {[7] = 1000}, result = 0;
    struct nvt_unwind unwind;
    (void)state;
    memset(&unwind, 0, sizeof(unwind));
    assert_int_equal(
        nvt_dwarf_evaluate(without_not, sizeof(without_not), registers, NULL, &result, &unwind), 0);
    assert_int_equal(result, 960);
    /* An operation that nobody uses there. */
    assert_int_equal(
        nvt_dwarf_evaluate(expression, sizeof(expression), registers, NULL, &result, &unwind), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(callers_are_libgccs),
        cmocka_unit_test(callers_are_found_through_libraries),
        cmocka_unit_test(callers_are_found_out_of_handlers),
        cmocka_unit_test(wrong_stacks_end),
        cmocka_unit_test(damaged_tables_lead_nowhere),
        cmocka_unit_test(damaged_expressions_lead_nowhere),
        cmocka_unit_test(expressions_are_computed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0;
}

#endif
