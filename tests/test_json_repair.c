/*
 * What is not quite JSON becomes JSON, wherever a chunk of the file ends; what is JSON stays as it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/readers/json_repair.h"
#include "../lib/count_of.h"

/* The text repaired, in two pieces of which the first has `split` bytes; the caller's. *repaired: how often. */
static char *mend(const char *text, size_t split, uint64_t *repaired)
{
    struct nvt_json_repair repair = {0};
    struct nvt_buffer out = {0};
    const size_t size = strlen(text);
    assert_int_equal(nvt_json_repair(&repair, (const unsigned char *)text, split, &out), 0);
    assert_int_equal(
        nvt_json_repair(&repair, (const unsigned char *)text + split, size - split, &out), 0);
    assert_int_equal(nvt_json_repair_end(&repair, &out), 0);
    assert_int_equal(nvt_buffer_append(&out, "", 1), 0);
    *repaired = repair.repaired;
    nvt_json_repair_free(&repair);
    return (char *)out.data;
}

static void expect(const char *text, const char *expected, uint64_t times)
{
    for (size_t split = 0; split <= strlen(text); split++) {
        uint64_t repaired;
        char *found = mend(text, split, &repaired);
        if (strcmp(found, expected) || repaired != times)
            fail_msg("%s\n  became %s (%llu), not %s (%llu)", text, found,
                     (unsigned long long)repaired, expected, (unsigned long long)times);
        free(found);
    }
}

static void what_is_json_stays(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "{}",
        "[1, -2.5e+10, 0, 0.125, 1E-3, true, false, null]",
        " {\"a\\\"b\\\\\" : [\"\\u00e9\\n\", {}, []] , \"c\":\"\" }\n",
        "[\"C:\\\\Users\\\\me\\\\\", \"it's\"]",
        "\xef\xbb\xbf{\"name\": \"\xc3\xa9\"}",
        "[\"C:\\\\\", \"x\"]",
    };
    for (size_t i = 0; i < NVT_COUNT_OF(texts); i++)
        expect(texts[i], texts[i], 0);
}

static void what_is_not_is_mended(void **state)
{
    (void)state;
    static const struct {
        const char *text, *json;
        uint64_t times;
    } cases[] = {
        {"[inf, -inf, nan, -nan, NaN, Infinity, -Infinity, None, nan(ind)]",
         "[null, null, null, null, null, null, null, null, null]", 9},
        {"[True, False, 1]", "[true, false, 1]", 2},
        {"[0x1F, -0x10, +5, .5, 5., 007, -.25, 00]", "[31, -16, 5.0, 0.5, 5.0, 7.0, -0.25, 0.0]",
         8},
        {"{\"t\": ncclFloat32, key: 1}", "{\"t\": \"ncclFloat32\", \"key\": 1}", 2},
        {"[1,2,]", "[1,2]", 1},
        {"{\"a\": 1 , }", "{\"a\": 1  }", 1},
        {"[,{},,{}]", "[{},{}]", 2},
        {"[{}{}]", "[{},{}]", 1},
        {"[\"a\tb\x01\"]", "[\"a\\u0009b\\u0001\"]", 1},
        {"[\"pkg\\cuda\\new.py\", 1]", "[\"pkg\\\\cuda\\\\new.py\", 1]", 1},
        {"[\"C:\\temp\\\", \"b\"]", "[\"C:\\\\temp\\\\\", \"b\"]", 1},
        {"[\"C:\\a \\\"b\\\" c\"]", "[\"C:\\\\a \\\"b\\\" c\"]", 1},
        {"[\"\\u12\", \"\\x41\"]", "[\"\\\\u12\", \"\\\\x41\"]", 2},
        {"{'a': 'say \"x\"', 'b': 'it\\'s'}", "{\"a\": \"say \\\"x\\\"\", \"b\": \"it's\"}", 4},
        {"// a [\n[1,/*b * \"**/2, \"/*\"] //c", "[1,2, \"/*\"] ", 3},
        {"[1/2]", "[1/2]", 0},
        {"{\"path\": \"\\\\server\\share\"}", "{\"path\": \"\\\\\\\\server\\\\share\"}", 1},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++)
        expect(cases[i].text, cases[i].json, cases[i].times);
}

/* Whatever bytes come, it ends, and what comes out stays in proportion. */
static void any_bytes_will_do(void **state)
{
    (void)state;
    static const char alphabet[] = "{}[]:,\"'\\ \n0x1.-+eintrufalsN\x01\x80";
    unsigned random = 12345;
    for (int turn = 0; turn < 20000; turn++) {
        char text[64];
        uint64_t repaired;
        size_t size = 0;
        for (; size < sizeof(text) - 1; size++) {
            random = random * 1103515245u + 12345u;
            text[size] = alphabet[(random >> 16) % (sizeof(alphabet) - 1)];
        }
        text[size] = 0;
        char *once = mend(text, size / 3, &repaired);
        assert_true(strlen(once) <= 8 * size);
        free(once);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_json_stays),
        cmocka_unit_test(what_is_not_is_mended),
        cmocka_unit_test(any_bytes_will_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
