/*
 * What the command `run` makes of its command line: axes, values that are left out, flags, help, and the revision that
 * it notes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/input/runs.h"
#include "../lib/count_of.h"
#include "cli.h"

static void bad_axes_run_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *option, *value, *needle;
    } bad[] = {{"--size", "0", "--size 0"},
               {"--size", "abc", "--size abc"},
               {"--size", "48", "multiple of 32"},
               {"--size", "99999999999999999999", "--size 9999"},
               {"--size", "64,", "--size 64,"},
               {"--size", "64,64", "twice"},
               {"--fragments", "3", "cannot be cut into 3 fragments"},
               {"--batch", "-1", "--batch -1"},
               {"--mode", "fast", "linear, train, inference"},
               {"--iterations", "0", "--iterations 0"},
               {"--memory-limit", "many", "--memory-limit many"},
               {"--checkpoint", "maybe", "fragmented has no such axis"},
               {"--collect", "everything", "off, nvtx"},
               {"--backend", "tpu", "auto, host or cuda"}};
    for (size_t i = 0; i < NVT_COUNT_OF(bad); i++) {
        const char *argv[] = {"nvtally", "run", "fragmented", bad[i].option, bad[i].value, NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_failure(&result, bad[i].needle);
        cli_result_free(&result);
    }
    if (cli_has_device())
        return;
    const char *argv[] = {"nvtally", "run", "linear", "--backend", "cuda", NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_failure(&result, "no CUDA device answers here");
    cli_result_free(&result);
}

/* What `run WORDS --list` prints. */
static struct cli_result list(const char *words)
{
    char command[600];
    snprintf(command, sizeof(command), "exec \"$0\" run %s --list", words);
    return cli_run((const char *const[]){"sh", "-c", command, cli_built("nvtally"), NULL});
}

static void expect_list(const char *words, const char *needle)
{
    struct cli_result result = list(words);
    cli_expect_status(&result, 0);
    if (!strstr(result.out, needle))
        fail_msg("no '%s' of %s in\n%s", needle, words, result.out);
    cli_result_free(&result);
}

static void what_was_not_typed_is_the_studys(void **state)
{
    (void)state;
    expect_list("gpipe --model resnet --partitions 1", "model=resnet batch=128");
    expect_list("gpipe --model resnet,gpt2 --partitions 1 --microbatches 4",
                "model=gpt2 attention_axis=sequence batch=64");
    expect_list("gpipe --model resnet --batch 32 --partitions 1 --microbatches 4",
                "model=resnet batch=32");
}

/* Values that a sweep leaves out are told, and why; those that only double others are not left out. */
static void what_is_left_out_is_told(void **state)
{
    (void)state;
    static const char why[] =
        "left out: --schedule interleaved needs --microbatches to be a multiple of --partitions\n";
    static const struct {
        const char *words;
        size_t configurations;
        const char *told; /* NULL: nothing is left out */
    } cases[] = {/* M = 1 and 2 of K = 4, M = 1 of K = 2: two checkpointings, two engines. */
                 {"gpipe --schedule interleaved --partitions 2,4 --microbatches 1,2,4", 12,
                  "12 configurations are "},
                 {"gpipe --schedule gpipe,interleaved --partitions 4 --microbatches 2,4 "
                  "--checkpoint off --engine self",
                  3, "1 configuration is "},
                 {"gpipe --schedule gpipe,1f1b --partitions 2,4 --microbatches 1,2,4", 48, NULL},
                 {"switchback", 142, NULL}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct cli_result result = list(cases[i].words);
        char line[200] = "";
        size_t lines = 0;
        cli_expect_status(&result, 0);
        for (const char *at = result.out; (at = strchr(at, '\n')); at++)
            lines++;
        assert_int_equal(lines, cases[i].configurations);
        if (cases[i].told)
            snprintf(line, sizeof(line), "nvtally: %s%s", cases[i].told, why);
        assert_string_equal(result.err, line);
        cli_result_free(&result);
    }
    struct cli_result none = list("gpipe --schedule interleaved --partitions 4 --microbatches 2");
    cli_expect_failure(&none, "interleaved needs --microbatches to be a multiple");
    cli_result_free(&none);
}

/* Sizes of another model are taken, and do nothing. */
static void what_means_nothing_is_told(void **state)
{
    (void)state;
    struct cli_result result = list("gpipe --model resnet --partitions 1 --layers 2 --batch 128");
    cli_expect_status(&result, 0);
    assert_string_equal(result.err,
                        "nvtally: note: --layers has no effect on any of these configurations\n");
    cli_result_free(&result);
    result = list("gpipe --model resnet,gpt2 --partitions 1 --layers 2");
    assert_string_equal(result.err, "");
    cli_result_free(&result);
}

/* Where they are run, too. */
static void what_a_run_leaves_out_is_told(void **state)
{
    (void)state;
    struct cli_result result = cli_run((const char *const[]){"nvtally",
                                                             "run",
                                                             "gpipe",
                                                             "--schedule",
                                                             "interleaved",
                                                             "--partitions",
                                                             "2",
                                                             "--microbatches",
                                                             "1,2",
                                                             "--checkpoint",
                                                             "off",
                                                             "--engine",
                                                             "self",
                                                             "--layers",
                                                             "2",
                                                             "--d-model",
                                                             "8",
                                                             "--heads",
                                                             "2",
                                                             "--d-ff",
                                                             "8",
                                                             "--batch",
                                                             "2",
                                                             "--sequence",
                                                             "4",
                                                             "--vocabulary",
                                                             "9",
                                                             "--backend",
                                                             "host",
                                                             "--iterations",
                                                             "1",
                                                             "-o",
                                                             cli_in(cli_folder, "left-out"),
                                                             NULL});
    cli_expect_status(&result, 0);
    assert_ptr_equal(strstr(result.err, "nvtally: 1 configuration is left out"), result.err);
    cli_result_free(&result);
}

static void a_flag_by_itself_is_on(void **state)
{
    (void)state;
    expect_list("transformer --graph --size tiny", " graph=on");
    expect_list("--graph transformer --size tiny", " graph=on");
    expect_list("transformer --size tiny --graph", " graph=on");
    expect_list("transformer --graph off --size tiny", " graph=off");
    static const char *const bad[][2] = {
        {"gpipe --checkpoint maybe", "--checkpoint maybe: must be a list out of off, on"},
        {"transformer --size tiny --d-model 8 --d-ff 8 --layers 1 --heads 1",
         "give either --size"}};
    for (size_t i = 0; i < NVT_COUNT_OF(bad); i++) {
        struct cli_result result = list(bad[i][0]);
        cli_expect_failure(&result, bad[i][1]);
        cli_result_free(&result);
    }
}

/* Who types no size on a processor is told what would be one for it; who does is not. */
static void published_sizes_are_told(void **state)
{
    (void)state;
    static const char *const sized[][2] = {{"--mode", "linear"}, {"--size", "128"}};
    for (int i = 0; i < 2; i++) {
        struct cli_result result = cli_run((const char *const[]){
            "nvtally", "run", "fragmented", sized[i][0], sized[i][1], "--iterations", "1",
            "--memory-limit", "1M", "--backend", "host", NULL});
        cli_expect_status(&result, 0);
        assert_int_equal(strstr(result.err, "meant for a GPU; for a size that suits a CPU: nvtally "
                                            "run fragmented --size 256\n") != NULL,
                         i == 0);
        cli_result_free(&result);
    }
}

static void help_is_of_the_workload(void **state)
{
    (void)state;
    struct cli_result one =
        cli_run((const char *const[]){"nvtally", "run", "--help", "linear", NULL});
    struct cli_result all = cli_run((const char *const[]){"nvtally", "run", "--help", NULL});
    cli_expect_status(&one, 0);
    cli_expect_status(&all, 0);
    assert_non_null(strstr(one.out, "linear: "));
    assert_null(strstr(one.out, "gpipe: "));
    assert_non_null(strstr(all.out, "gpipe: "));
    cli_result_free(&one);
    cli_result_free(&all);
}

/* Of a checkout, which is where this runs; without a git that reads it the revision is not known. */
static void env_json_says_which_sources(void **state)
{
    (void)state;
    if (access(".git", F_OK))
        skip();
    struct cli_result git = cli_run((const char *const[]){"git", "rev-parse", "HEAD", NULL});
    int is_known = !git.status;
    cli_result_free(&git);
    const char *out = cli_in(cli_folder, "sources");
    struct cli_result result =
        cli_run((const char *const[]){"nvtally", "run", "linear", "--size", "32", "--batch", "1",
                                      "--iterations", "1", "--backend", "host", "-o", out, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(out);
    const char *revision = nvt_record_text(&runs->env, "git_revision");
    if (is_known) {
        assert_non_null(revision);
        assert_int_equal(strspn(revision, "0123456789abcdef"), 40);
        assert_true(!revision[40] || !strcmp(revision + 40, "-dirty"));
    } else {
        assert_null(revision);
    }
    nvt_runs_free(runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_axes_run_nothing),
        cmocka_unit_test(what_was_not_typed_is_the_studys),
        cmocka_unit_test(what_is_left_out_is_told),
        cmocka_unit_test(what_means_nothing_is_told),
        cmocka_unit_test(what_a_run_leaves_out_is_told),
        cmocka_unit_test(a_flag_by_itself_is_on),
        cmocka_unit_test(published_sizes_are_told),
        cmocka_unit_test(help_is_of_the_workload),
        cmocka_unit_test(env_json_says_which_sources),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
