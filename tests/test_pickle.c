/* Pickles, opcode by opcode as pickletools describes them, and what is no pickle at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/readers/pickle.h"
#include "../lib/count_of.h"

/* The bytes of a literal, without its end. */
#define PICKLE(text) (const uint8_t *)(text), sizeof(text) - 1

static struct nvt_pickle read_whole(const uint8_t *data, size_t size)
{
    struct nvt_pickle pickle = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    char shown[1100];
    if (nvt_pickle_read(&pickle, data, size, &err))
        fail_msg("%s", nvt_error_text(&err, shown, sizeof(shown)));
    return pickle;
}

/* Number `place` of a list; of a dict keys and values count alike. */
static uint32_t item_of(const struct nvt_pickle *pickle, uint32_t list, size_t place)
{
    struct nvt_pickle_walk walk = nvt_pickle_walk(pickle, list);
    uint32_t item = NVT_PICKLE_MISSING;
    for (size_t i = 0; i <= place; i++)
        if (!nvt_pickle_next(pickle, &walk, &item))
            return NVT_PICKLE_MISSING;
    return item;
}

static int64_t integer_at(const struct nvt_pickle *pickle, size_t place)
{
    uint32_t item = item_of(pickle, pickle->root, place);
    assert_int_equal(nvt_pickle_kind(pickle, item), NVT_PICKLE_INT);
    return pickle->values[item].is.integer;
}

/* BININT1, BININT2, BININT, LONG1 of none, one, two and nine bytes, LONG4, INT and LONG as lines, BINFLOAT, FLOAT, bools. */
static void reads_numbers(void **state)
{
    (void)state;
    struct nvt_pickle pickle = read_whole(
        PICKLE("\x80\x04(K\xffM\x01\x02J\xfe\xff\xff\xff\x8a\x00\x8a\x01\x80\x8a\x02\x34\x12"
               "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00\x8b\x01\x00\x00\x00\x07I-12\nL34L\n"
               "G\x3f\xf8\x00\x00\x00\x00\x00\x00"
               "F-2.5\n\x88\x89I01\nI00\nN\x8a\x0a\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01l."));
    static const int64_t expected[] = {255, 513, -2, 0, -128, 0x1234, -1, 7, -12, 34};
    size_t count = NVT_COUNT_OF(expected);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(integer_at(&pickle, i), expected[i]);
    static const enum nvt_pickle_kind kinds[] = {NVT_PICKLE_REAL, NVT_PICKLE_REAL, NVT_PICKLE_BOOL,
                                                 NVT_PICKLE_BOOL, NVT_PICKLE_BOOL, NVT_PICKLE_BOOL,
                                                 NVT_PICKLE_NONE, NVT_PICKLE_OTHER};
    static const double reals[] = {1.5, -2.5};
    static const int64_t bools[] = {0, 0, 1, 0, 1, 0};
    for (size_t i = 0; i < NVT_COUNT_OF(kinds); i++) {
        uint32_t item = item_of(&pickle, pickle.root, count + i);
        assert_int_equal(nvt_pickle_kind(&pickle, item), kinds[i]);
        if (i < 2)
            assert_true(pickle.values[item].is.real == reals[i]);
        else if (i < 6)
            assert_int_equal(pickle.values[item].is.integer, bools[i]);
    }
    assert_int_equal(pickle.values[pickle.root].size, 18);
    nvt_pickle_free(&pickle);
}

/* SHORT_BINUNICODE, BINUNICODE, BINUNICODE8, SHORT_BINSTRING, BINSTRING, bytes, UNICODE and STRING as lines; in a FRAME. */
static void reads_texts(void **state)
{
    (void)state;
    struct nvt_pickle pickle =
        read_whole(PICKLE("\x80\x04\x95\x40\x00\x00\x00\x00\x00\x00\x00(\x8c\x01"
                          "aX\x02\x00\x00\x00"
                          "bb\x8d\x01\x00\x00\x00\x00\x00\x00\x00"
                          "cU\x01"
                          "dT\x01\x00\x00\x00"
                          "eC\x01"
                          "fB\x01\x00\x00\x00"
                          "g\x8e\x01\x00\x00\x00\x00\x00\x00\x00"
                          "h\x96\x01\x00\x00\x00\x00\x00\x00\x00iVj\nS'k'\n\x8c\x00t."));
    static const char *const expected[] = {"a", "bb", "c", "d", "e", "f",
                                           "g", "h",  "i", "j", "k", ""};
    for (size_t i = 0; i < NVT_COUNT_OF(expected); i++)
        assert_true(nvt_pickle_is(&pickle, item_of(&pickle, pickle.root, i), expected[i]));
    nvt_pickle_free(&pickle);
}

/* Lists and dicts that are filled in several goes, tuples, the memo in its three ways, DUP, POP and POP_MARK. */
static void reads_containers(void **state)
{
    (void)state;
    struct nvt_pickle pickle = read_whole(PICKLE("\x80\x02}q\x00(U\x01"
                                                 "aq\x01]r\x02\x00\x00\x00(K\x01K\x02"
                                                 "eK\x03"
                                                 "aU\x01"
                                                 "b)U\x01"
                                                 "cK\x04\x85U\x01"
                                                 "dK\x05K\x06\x86U\x01"
                                                 "eK\x07K\x08K\x09\x87uh\x01(K\x63K\x64"
                                                 "1N0h\x02s(h\x01K\x0d\x64"
                                                 "0U\x01"
                                                 "fj\x00\x00\x00\x00s."));
    uint32_t list = nvt_pickle_find(&pickle, pickle.root, "a");
    assert_int_equal(pickle.values[list].size, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pickle.values[item_of(&pickle, list, i)].is.integer, i + 1);
    static const char *const names[] = {"b", "c", "d", "e"};
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t tuple = nvt_pickle_find(&pickle, pickle.root, names[i]);
        assert_int_equal(nvt_pickle_kind(&pickle, tuple), NVT_PICKLE_LIST);
        assert_int_equal(pickle.values[tuple].size, i);
    }
    /* It holds itself. */
    assert_int_equal(nvt_pickle_find(&pickle, pickle.root, "f"), pickle.root);
    assert_int_equal(nvt_pickle_find(&pickle, pickle.root, "g"), NVT_PICKLE_MISSING);
    assert_int_equal(nvt_pickle_find(&pickle, list, "a"), NVT_PICKLE_MISSING);
    assert_int_equal(nvt_pickle_integer(&pickle, pickle.root, "a", -5), -5);
    nvt_pickle_free(&pickle);
}

/* What would run something is a value that nobody looks into, and what it is given goes with it. */
static void runs_nothing(void **state)
{
    (void)state;
    struct nvt_pickle pickle = read_whole(PICKLE("\x80\x04](cos\nsystem\n\x8c\x09"
                                                 "touch foo\x85R\x8c\x02os\x8c\x06system\x93)\x81}b"
                                                 "(K\x01\x91\x8f(K\x02\x90(ios\nPopen\n"
                                                 "(cos\nPopen\no\x82\x01Pname\nNQe."));
    assert_int_equal(pickle.values[pickle.root].size, 9);
    for (size_t i = 0; i < 9; i++)
        assert_int_equal(nvt_pickle_kind(&pickle, item_of(&pickle, pickle.root, i)),
                         NVT_PICKLE_OTHER);
    nvt_pickle_free(&pickle);
}

static void expect_damage(const uint8_t *data, size_t size, const char *message)
{
    struct nvt_pickle pickle = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    char shown[1100];
    assert_int_equal(nvt_pickle_read(&pickle, data, size, &err), -1);
    assert_non_null(strstr(nvt_error_text(&err, shown, sizeof(shown)), message));
    nvt_pickle_free(&pickle);
}

static void tells_damage(void **state)
{
    (void)state;
    static const char whole[] = "\x80\x04}\x94(\x8c\x03key\x94](K\x01J\x01\x02\x03\x04"
                                "G12345678\x8a\x02xye\x8c\x01zVline\nu.";
    for (size_t size = 0; size < sizeof(whole) - 1; size++)
        expect_damage((const uint8_t *)whole, size, "ends in the middle of a pickle");
    struct nvt_pickle pickle = read_whole((const uint8_t *)whole, sizeof(whole) - 1);
    nvt_pickle_free(&pickle);
    expect_damage(PICKLE("\x80\x04\xff."), "is a damaged pickle (at byte 2)");
    expect_damage(PICKLE("\x80\x04h\x00."), "is a damaged pickle");              /* never put */
    expect_damage(PICKLE("\x80\x04Nr\xff\xff\xff\xff."), "is a damaged pickle"); /* far off */
    expect_damage(PICKLE("\x80\x04."), "is a damaged pickle");
    expect_damage(PICKLE("\x80\x04NN."), "is a damaged pickle");
    expect_damage(PICKLE("\x80\x04](N."), "is a damaged pickle");
    expect_damage(PICKLE("\x80\x04e."), "is a damaged pickle");
    expect_damage(PICKLE("\x80\x04a."), "is a damaged pickle");
    expect_damage(PICKLE("\x80\x04]Ns."), "is a damaged pickle");
    expect_damage(PICKLE("\x80\x04}(Nu."), "is a damaged pickle");
    expect_damage(PICKLE("\x80\x04(N(\x85."), "is a damaged pickle"); /* below its mark */
    expect_damage(PICKLE("\x80\x04X\xff\xff\xff\xff."), "ends in the middle");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_numbers),    cmocka_unit_test(reads_texts),
        cmocka_unit_test(reads_containers), cmocka_unit_test(runs_nothing),
        cmocka_unit_test(tells_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
