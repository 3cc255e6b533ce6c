/*
 * When missing stacks of Python are told, and with which reasons.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/python_stacks.h"

static char text[1024];

static int note(struct nvt_python_stacks stacks)
{
    text[0] = 0;
    return nvt_python_note(&stacks, text, sizeof(text));
}

static void a_tenth_and_few_are_not_told(void **state)
{
    (void)state;
    assert_false(note((struct nvt_python_stacks){{[NVT_PYTHON_NONE] = 1000}}));
    assert_false(note((struct nvt_python_stacks){{[NVT_PYTHON_TOLD] = 1000}}));
    assert_false(note((struct nvt_python_stacks){{[NVT_PYTHON_NOT_YET] = 19}}));
    assert_true(note((struct nvt_python_stacks){{[NVT_PYTHON_NOT_YET] = 20}}));
    assert_false(
        note((struct nvt_python_stacks){{[NVT_PYTHON_TOLD] = 900, [NVT_PYTHON_ENDS] = 100}}));
    assert_true(
        note((struct nvt_python_stacks){{[NVT_PYTHON_TOLD] = 900, [NVT_PYTHON_ENDS] = 101}}));
}

/* Samples that are not of Python count for nothing. */
static void shares_are_of_python(void **state)
{
    (void)state;
    assert_true(note((struct nvt_python_stacks){
        {[NVT_PYTHON_NONE] = 5000, [NVT_PYTHON_TOLD] = 50, [NVT_PYTHON_NO_HANDLER] = 150}}));
    assert_non_null(strstr(text, "missing in 75 % of 200 samples of Python: 150: this Python has "
                                 "no working faulthandler.register"));
}

static void every_state_has_its_reason(void **state)
{
    (void)state;
    for (int i = NVT_PYTHON_TOLD + 1; i < NVT_PYTHON_STATES; i++) {
        struct nvt_python_stacks stacks = {{0}};
        stacks.samples[i] = 100;
        assert_true(note(stacks));
        assert_null(strstr(text, "(null)"));
        assert_non_null(strstr(text, ": 100: "));
    }
    /* All at once fit; a small part of what is missing has no word. */
    struct nvt_python_stacks stacks = {{0}};
    for (int i = NVT_PYTHON_TOLD + 1; i < NVT_PYTHON_STATES; i++)
        stacks.samples[i] = UINT64_MAX / 1000;
    assert_true(note(stacks));
    assert_true(strlen(text) < sizeof(text) - 1);
    assert_true(note(
        (struct nvt_python_stacks){{[NVT_PYTHON_NOT_YET] = 9, [NVT_PYTHON_UNREGISTERED] = 91}}));
    assert_null(strstr(text, "sitecustomize"));
    assert_non_null(strstr(text, "91: the program called faulthandler.unregister"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tenth_and_few_are_not_told),
        cmocka_unit_test(shares_are_of_python),
        cmocka_unit_test(every_state_has_its_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
