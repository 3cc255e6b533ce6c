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

/* Parse words of one line with single blanks. */
static struct request parsed;
static char words[256], *arguments[32];
static struct nvt_error err;
static int parse(const char *operands, const char *line)
{
    const struct nvt_option options[] = {
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
        {"numbered-a", .set = take, .to = parsed.taken, .number = 1},
        {"numbered-b", .set = take, .to = parsed.taken, .number = 2},
        {"maybe", 'm', .set = take, .takes = NVT_MAYBE_VALUE, .to = parsed.taken},
        {"bare", .set = take, .takes = NVT_NO_VALUE, .to = parsed.taken},
        {"last", .set = nvt_set_duration, .to = &parsed.ns, .hint = "2s"},
        {0}};
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
    const struct nvt_option options[] = {
        {"help", 'h', .set = take, .takes = NVT_MAYBE_VALUE, .to = taken}, {0}};
    assert_int_equal(nvt_options_parse(3, argv, "+:", options, &err), 0);
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

static void refused_words_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *line, *word;
        int status;
    } cases[] = {{"name one --no-such", "--no-such", '?'},
                 {"name --wide=3 -sx", "--wide=3", '?'},
                 {"name -x", "-x", '?'},
                 {"name one -sxy", "-sxy", '?'},
                 {"name --wide -wq", "-wq", '?'},
                 {"name -t value -vq", "-vq", '?'},
                 {"name -é", "-é", '?'},
                 {"name --none -é", "-é", '?'},
                 {"name one --text", "--text", ':'},
                 {"name one -t", "-t", ':'}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const int refused = parse(":", cases[i].line);
        char says[100];
        assert_int_equal(refused, cases[i].status);
        snprintf(says, sizeof(says),
                 refused == ':' ? "%s needs a value; see nvtally stats --help"
                                : "unknown option %s; see nvtally stats --help",
                 cases[i].word);
        assert_int_equal(nvt_refused_option(refused, arguments, "stats", &err), -1);
        assert_string_equal(err.message, says);
    }
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
        cmocka_unit_test(refused_words_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
