/*
 * Commands that several processes share (mpirun -n 3 nvtally stats FILES…): they print what one process prints, once; a file that
 * cannot be read is named once, and the others count.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/exports/export.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "made_job.h"
#include "random_kit.h"

static int has_mpi(void)
{
    return cli_has_mpirun() && !access(cli_built("libnvtally-mpi-job.so"), R_OK);
}

/* A command in the fixture's folder, with the files there; `processes` NULL: of one process. */
static struct cli_result run(const char *processes, const char *command)
{
    static const char script[] =
        "n=$1 nvtally=$2; shift 2; PATH=$(dirname \"$nvtally\"):$PATH; export PATH "
        "OMPI_MCA_mpi_yield_when_idle=1 NO_COLOR=1 OMPI_MCA_btl=self,vader; "
        "[ \"$n\" ] && launch=\"mpirun --allow-run-as-root --oversubscribe --quiet -n $n\"; "
        "eval \"$launch nvtally $1\"";
    const struct cli_options options = {.directory = cli_folder};
    return cli_run_with(&options,
                        (const char *const[]){"sh", "-c", script, "sh", processes ? processes : "",
                                              cli_built("nvtally"), command, NULL});
}

static void write_files(enum made_cause cause, uint64_t seed)
{
    struct made_job job = made_job(seed, cause, 12, 0);
    while (job.ranks < 5) {
        made_job_free(&job);
        job = made_job(++seed, cause, 12, 0);
    }
    for (uint32_t i = 0; i < job.ranks; i++) {
        struct nvt_error err = NVT_ERROR_INIT;
        char name[32];
        snprintf(name, sizeof(name), "rank-%02" PRIu32 ".nvt", i);
        assert_int_equal(
            nvt_exporter_nvt.write_file(job.traces[i].trace, cli_in(cli_folder, name), &err), 0);
    }
    made_job_free(&job);
}

static const char *const commands[] = {
    "stats -r stragglers,ranks -f csv rank-*.nvt",
    "stats -r ranks .",
    "diagnose rank-*.nvt",
    "diagnose -f json .",
    /* These are not shared; they are written once all the same. */
    "stats -r cuda_gpu_kern_sum -f csv rank-*.nvt",
    "stats rank-*.nvt",
    "stats -r list",
    "diagnose rank-00.nvt",
    "report rank-00.nvt -o r.html",
    "export rank-*.nvt --to chrome",
};

static void expect_alike(const char *command)
{
    static const char *const counts[] = {"2", "3"};
    struct cli_result alone = run(NULL, command);
    for (size_t i = 0; i < NVT_COUNT_OF(counts); i++) {
        struct cli_result shared = run(counts[i], command);
        if (shared.status != alone.status || strcmp(shared.out, alone.out) != 0)
            fail_msg("-n %s %s: status %d\n%s\nand not %d\n%s\n%s", counts[i], command,
                     shared.status, shared.out, alone.status, alone.out, shared.err);
        assert_string_equal(shared.err, alone.err);
        cli_result_free(&shared);
    }
    cli_result_free(&alone);
}

static void what_is_shared_is_printed_once(void **state)
{
    (void)state;
    if (!has_mpi())
        skip();
    write_files(MADE_KERNELS, kit_seed(81));
    for (size_t i = 0; i < NVT_COUNT_OF(commands); i++)
        expect_alike(commands[i]);
}

static void a_broken_file_is_named_once(void **state)
{
    (void)state;
    if (!has_mpi())
        skip();
    write_files(MADE_HOST, kit_seed(82));
    cli_write_file(cli_in(cli_folder, "rank-03.nvt"), "no trace", 8);
    cli_write_file(cli_in(cli_folder, "rank-04.nvt"), "", 0);
    expect_alike("stats -r stragglers -f csv rank-*.nvt");
    expect_alike("diagnose rank-*.nvt /nowhere");
    struct cli_result result = run("3", "stats -r stragglers -f csv rank-*.nvt");
    const char *first = strstr(result.err, "rank-03.nvt");
    assert_non_null(first);
    assert_null(strstr(first + 1, "rank-03.nvt"));
    assert_non_null(strstr(result.err, "rank-04.nvt"));
    assert_non_null(strstr(result.out, "rank-02.nvt"));
    cli_result_free(&result);
    /* All of them: an error, as of one process. */
    result = run("2", "stats -r stragglers /nowhere/1 /nowhere/2");
    assert_int_equal(result.status, 2);
    assert_non_null(strstr(result.err, "/nowhere/2"));
    cli_result_free(&result);
}

/* Each process of a script that the launcher runs is by itself, and so are those of other arguments. */
static void others_are_not_shared(void **state)
{
    (void)state;
    if (!has_mpi())
        skip();
    write_files(MADE_HEALTHY, kit_seed(83));
    struct cli_result one = run(NULL, "stats -r ranks -f csv rank-00.nvt");
    struct cli_result result = run(
        "1", "stats -r ranks -f csv rank-00.nvt : -n 1 nvtally stats -r ranks -f csv rank-00.nvt "
             "rank-01.nvt");
    const char *at = strstr(result.out, "rank-01.nvt");
    assert_non_null(at);
    const char *again = strstr(result.out, "rank-00.nvt");
    assert_non_null(again);
    assert_non_null(strstr(again + 1, "rank-00.nvt"));
    cli_result_free(&result);
    cli_result_free(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_shared_is_printed_once, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(a_broken_file_is_named_once, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(others_are_not_shared, cli_folder_set_up,
                                        cli_folder_tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
