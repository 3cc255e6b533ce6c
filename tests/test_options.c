/* Options of a command: what the parser does with a table of them (lib/options.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/options.h"

/* What a table of each kind of option has set. */
struct request {
    int flag, choice;
    const char *text, *file;
    int64_t ns;
    char taken[128]; /* names and values that the setter got */
};

static int take(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    char *taken = option->to;
    snprintf(taken + strlen(taken), 128 - strlen(taken), "%s=%s;", option->name,
             value ? value : "nothing");
    if (value && !strcmp(value, "last"))
        return 2;
    return value && !strcmp(value, "wrong") ? nvt_fail(err, "--%s %s", option->name, value) : 0;
}

static int take_other(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    return take(option, value, err);
}

static struct request parsed;
static const struct nvt_option options[] = {
    {"wide", .flag = &parsed.flag},
    {"some", 's', .choice = &parsed.choice, .number = 7},
    {"none", .choice = &parsed.choice, .number = 0},
    {"text", 't', .text = &parsed.text},
    {"file", .set = nvt_set_file, .to = &parsed.file, .hint = "a test"},
    {"folder", .set = nvt_set_folder, .to = &parsed.file, .hint = "a test"},
    {"axis-a", .set = take, .to = parsed.taken},
    {"axis-b", .set = take, .to = parsed.taken},
    {"other-a", .set = take, .to = parsed.taken},
    {"other-b", .set = take_other, .to = parsed.taken},
    {"other-hidden", .text = &parsed.text, .is_hidden = 1},
    {"numbered-a", .set = take, .to = parsed.taken, .number = 1},
    {"numbered-b", .set = take, .to = parsed.taken, .number = 2},
    {"maybe", 'm', .set = take, .takes = NVT_MAYBE_VALUE, .to = parsed.taken},
    {"bare", .set = take, .takes = NVT_NO_VALUE, .to = parsed.taken},
    {"bare-hidden", .flag = &parsed.flag, .is_hidden = 1},
    {"last", .set = nvt_set_duration, .to = &parsed.ns, .hint = "2s"},
    {"unseen-a", .flag = &parsed.flag, .is_hidden = 1},
    {"unseen-b", .text = &parsed.text, .is_hidden = 1},
    {0}};

/* Parse words of one line with single blanks. */
static char words[256], *arguments[32];
static struct nvt_error err;
static int parse(const char *operands, const char *line)
{
    int count = 0;
    parsed = (struct request){.choice = 1};
    err = (struct nvt_error)NVT_ERROR_INIT;
    snprintf(words, sizeof(words), "%s", line);
    char *rest;
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        arguments[count++] = word;
    arguments[count] = NULL;
    return nvt_options_parse(count, arguments, operands, options, &err);
}

static void each_kind_does_what_it_says(void **state)
{
    (void)state;
    assert_int_equal(parse(":", "name"), 0);
    assert_true(!parsed.flag && parsed.choice == 1 && !parsed.text && !arguments[optind]);
    assert_int_equal(parse(":", "name --wide one -s --te=a -t b --axis-a x two --axis-b=y"), 0);
    assert_int_equal(parsed.flag, 1);
    assert_int_equal(parsed.choice, 7);
    assert_string_equal(parsed.text, "b");
    assert_string_equal(parsed.taken, "axis-a=x;axis-b=y;");
    assert_string_equal(arguments[optind], "one");
    assert_int_equal(parse(":", "name -s --none"), 0);
    assert_int_equal(parsed.choice, 0);
    assert_int_equal(parse(":", "name -sthree -- --wide"), 0);
    assert_string_equal(parsed.text, "hree");
    assert_int_equal(parsed.flag, 0);
    assert_string_equal(arguments[optind], "--wide");
}

static void values_may_be_missing(void **state)
{
    (void)state;
    assert_int_equal(parse(":", "name --maybe one --maybe=two -mm --bare three"), 0);
    assert_string_equal(parsed.taken, "maybe=nothing;maybe=two;maybe=nothing;maybe=nothing;"
                                      "bare=nothing;");
    assert_string_equal(arguments[optind], "one");
    assert_int_equal(parse(":", "name --bare=3"), '?');
}

/* A command may have a --help of its own. */
static void help_may_be_in_the_table(void **state)
{
    (void)state;
    char taken[128] = "";
    char *argv[] = {"name", "--hel=x", "-h", NULL};
    const struct nvt_option own[] = {
        {"help", 'h', .set = take, .takes = NVT_MAYBE_VALUE, .to = taken}, {0}};
    assert_int_equal(nvt_options_parse(3, argv, "+:", own, &err), 0);
    assert_string_equal(taken, "help=x;help=nothing;");
}

static void operands_may_end_the_options(void **state)
{
    (void)state;
    assert_int_equal(parse("+:", "name -s command --wide"), 0);
    assert_int_equal(parsed.choice, 7);
    assert_int_equal(parsed.flag, 0);
    assert_string_equal(arguments[optind], "command");
}

static void what_is_wrong_ends_them(void **state)
{
    (void)state;
    assert_int_equal(parse(":", "name --axis-a wrong --wide --no-such"), -1);
    assert_string_equal(err.message, "--axis-a wrong");
    assert_int_equal(parsed.flag, 0);
    assert_int_equal(parse(":", "name --file -"), -1);
    assert_non_null(strstr(err.message, "a test cannot go to standard output; a file"));
    assert_int_equal(parse(":", "name --axis-a last --wide"), 2); /* what the setter returned */
    assert_int_equal(parsed.flag, 0);
    assert_string_equal(arguments[optind], "--wide");
    assert_int_equal(parse(":", "name --last 2s"), 0);
    assert_int_equal(parsed.ns, 2000000000);
    assert_int_equal(parse(":", "name --last soon"), -1);
    assert_string_equal(err.message, "--last soon: must be a time such as 2s");
    assert_int_equal(parse(":", "name --folder -"), -1);
    assert_non_null(strstr(err.message, "a test cannot go to standard output; a directory"));
    assert_int_equal(parse(":", "name --file ./-"), 0);
    assert_string_equal(parsed.file, "./-");
}

/* The rest is passed over, and what is wrong in it does not matter. */
static void help_ends_them(void **state)
{
    (void)state;
    static const char *const lines[] = {"name -h --no-such one --wide",
                                        "name --he --axis-a wrong one --wide",
                                        "name -sh --wide one -t"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(parse(":", lines[i]), 1);
        assert_int_equal(parsed.flag, 0);
        assert_string_equal(arguments[optind], "one");
    }
    assert_int_equal(parse(":", "name --axis-a wrong --help"), -1);
}

static void abbreviations_are_of_one(void **state)
{
    (void)state;
    assert_int_equal(parse(":", "name --axis x"), 0);
    assert_string_equal(parsed.taken, "axis-a=x;");
    assert_int_equal(parse(":", "name --other x"), '?');    /* of two setters */
    assert_int_equal(parse(":", "name --numbered x"), '?'); /* of two numbers */
    assert_int_equal(parse(":", "name --f x"), '?');
    assert_int_equal(parse(":", "name --w"), 0);
    assert_int_equal(parsed.flag, 1);
}

static void refusals_say_what_is_wrong(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"name one --no-such", "unknown option --no-such"},
        {"name --no-such=--wide one", "unknown option --no-such"},
        {"name --=3", "unknown option --=3"},
        {"name --é", "unknown option --é"},
        {"name -x", "unknown option -x"},
        {"name one -sxy", "unknown option -sxy"},
        {"name --wide -wq", "unknown option -wq"},
        {"name -t value -vq", "unknown option -vq"},
        {"name -wide", "unknown option -wide (did you mean '--wide'?)"},
        {"name -some=3", "unknown option -some=3 (did you mean '--some'?)"},
        {"name -s=3", "option -s takes no value"},
        {"name one -ss=3", "option -s takes no value"},
        {"name -=3", "unknown option -=3"},
        {"name -wid", "unknown option -wid"},
        {"name -é", "unknown option -é"},
        {"name --none -é", "unknown option -é"},
        {"name --wide=3 -sx", "option --wide takes no value"},
        {"name --wid= one", "option --wid takes no value"},
        {"name --bare=3", "option --bare takes no value"},
        {"name --help=-x -h", "option --help takes no value"},
        {"name one --text", "option --text needs a value"},
        {"name one --te", "option --te needs a value"},
        {"name one -t", "option -t needs a value"},
        {"name one -st", "option -t needs a value"},
        {"name --f x", "option --f is ambiguous: --file, --folder"},
        {"name --f=x", "option --f is ambiguous: --file, --folder"},
        {"name --n", "option --n is ambiguous: --none, --numbered-a, --numbered-b"},
        {"name --oth x", "option --oth is ambiguous: --other-a, --other-b"},
        {"name --bar", "option --bar is ambiguous: --bare, --bare-hidden"},
        {"name --un x", "option --un is ambiguous: --unseen-a, --unseen-b"},
        {"name --wdie", "unknown option --wdie (did you mean '--wide'?)"},
        {"name --fodler=x", "unknown option --fodler (did you mean '--folder'?)"},
        {"name --hlep", "unknown option --hlep (did you mean '--help'?)"},
        {"name --ab", "unknown option --ab"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const int refused = parse(":", cases[i][0]);
        char says[200];
        assert_int_equal(refused, strstr(cases[i][1], "needs") ? ':' : '?');
        snprintf(says, sizeof(says), "%s; see nvtally name --help", cases[i][1]);
        assert_int_equal(nvt_refused_option(refused, arguments, options, &err), -1);
        assert_string_equal(err.message, says);
    }
}

/* How many options the message lists, each whole; "…" stands for the others. */
static int listed_of(const struct nvt_option *table)
{
    char names[512] = "", says[600];
    for (int i = 0; table[i].name; i++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof(names) - used, "%s--%s", i ? ", " : "", table[i].name);
        snprintf(says, sizeof(says), "option --ma is ambiguous: %s%s; see nvtally name --help",
                 names, table[i + 1].name ? ", …" : "");
        if (!strcmp(err.message, says))
            return i + 1;
    }
    fail_msg("%s", err.message);
    return 0;
}

/* What does not fit is left out, so that the message has its end. Names of several lengths reach the bound at each byte. */
static void long_refusals_are_cut(void **state)
{
    (void)state;
    enum { MANY = 60 };
    struct nvt_option many[MANY + 1] = {{0}};
    char names[MANY][32], long_name[300], *argv[] = {"name", "--ma", NULL};
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof(names[i]), "many-%0*d", 2 + i * i % 13, i);
        many[i] = (struct nvt_option){names[i], .flag = &parsed.flag};
    }
    for (int first = 0; first < MANY - 1; first++) {
        assert_int_equal(nvt_options_parse(2, argv, ":", many + first, &err), '?');
        assert_int_equal(nvt_refused_option('?', argv, many + first, &err), -1);
        const int listed = listed_of(many + first);
        assert_true(first < 30 ? listed > 10 && listed < 30 : listed > 1);
        assert_true(first < 50 || listed == MANY - first);
    }
    memset(long_name, 'x', sizeof(long_name));
    memcpy(long_name, "--", 2);
    long_name[sizeof(long_name) - 1] = 0;
    argv[1] = long_name;
    assert_int_equal(nvt_options_parse(2, argv, ":", many, &err), '?');
    assert_int_equal(nvt_refused_option('?', argv, many, &err), -1);
    assert_non_null(strstr(err.message, long_name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_does_what_it_says),
        cmocka_unit_test(values_may_be_missing),
        cmocka_unit_test(help_may_be_in_the_table),
        cmocka_unit_test(operands_may_end_the_options),
        cmocka_unit_test(what_is_wrong_ends_them),
        cmocka_unit_test(help_ends_them),
        cmocka_unit_test(abbreviations_are_of_one),
        cmocka_unit_test(refusals_say_what_is_wrong),
        cmocka_unit_test(long_refusals_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
