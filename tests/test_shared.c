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

/* The MPIs: Debian's, and what ./setup has put into .deps/mpi. */
static const char *const mpis[] = {"/usr", ".deps/mpi/mpich", ".deps/mpi/intel"};

/* Its launcher; NULL: it is not here. */
static const char *launcher_of(const char *mpi)
{
    static char path[4200];
    char here[4000];
    if (*mpi == '/')
        snprintf(path, sizeof(path), "%s/bin/mpiexec", mpi);
    else
        snprintf(path, sizeof(path), "%s/%s/bin/mpiexec", getcwd(here, sizeof(here)) ? here : ".",
                 mpi);
    return access(path, X_OK) ? NULL : path;
}

/* A command in the fixture's folder, with the files there; `processes` NULL: of one process. */
static struct cli_result run_by(const char *launcher, const char *processes, const char *command)
{
    static const char script[] =
        "launcher=$1 n=$2 nvtally=$3; shift 3; PATH=$(dirname \"$nvtally\"):$PATH; export PATH "
        "OMPI_MCA_mpi_yield_when_idle=1 NO_COLOR=1 OMPI_MCA_btl=self,vader "
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
        "OMPI_MCA_rmaps_base_oversubscribe=1; "
        "[ \"$n\" ] && launch=\"$launcher -n $n\"; "
        "eval \"$launch nvtally $1\"";
    const struct cli_options options = {.directory = cli_folder, .timeout_s = 120};
    return cli_run_with(&options, (const char *const[]){"sh", "-c", script, "sh", launcher,
                                                        processes ? processes : "",
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
    "export rank-00.nvt --to chrome",
    "report rank-00.nvt vs rank-01.nvt -o r.md",
    /* Whole traces are. */
    "report rank-*.nvt -o r.html && cksum <r.html",
    "report . -o r.md && cat r.md",
    "export rank-*.nvt --to chrome",
    "export . --to perfetto -f -o all.dat && cksum <all.dat",
    "export rank-*.nvt --to sqlite -f -o all.db && cksum <all.db",
    "export . --to nvt -f -o all.dat && cksum <all.dat",
    "export rank-*.nvt --to arrow -o tables && find tables -type f | sort | xargs cksum && "
    "rm -r tables",
};

static void expect_alike_by(const char *launcher, const char *command,
                            const struct cli_result *alone)
{
    static const char *const counts[] = {"2", "3"};
    for (size_t i = 0; i < NVT_COUNT_OF(counts); i++) {
        struct cli_result shared = run_by(launcher, counts[i], command);
        if (shared.status != alone->status || strcmp(shared.out, alone->out) != 0)
            fail_msg("%s -n %s %s: status %d\n%s\nand not %d\n%s\n%s", launcher, counts[i], command,
                     shared.status, shared.out, alone->status, alone->out, shared.err);
        if (strcmp(shared.err, alone->err) != 0)
            fail_msg("%s -n %s %s: %s\nand not %s", launcher, counts[i], command, shared.err,
                     alone->err);
        cli_result_free(&shared);
    }
}

static void expect_alike(const char *command)
{
    struct cli_result alone = run_by("", NULL, command);
    for (size_t i = 0; i < NVT_COUNT_OF(mpis); i++)
        if (launcher_of(mpis[i]))
            expect_alike_by(launcher_of(mpis[i]), command, &alone);
    cli_result_free(&alone);
}

/* How many of them are here. */
static size_t count_mpis(void)
{
    size_t count = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(mpis); i++) {
        count += launcher_of(mpis[i]) != NULL;
        if (!launcher_of(mpis[i]))
            print_message("no MPI in %s (see ./setup): not run with it\n", mpis[i]);
    }
    return count;
}

static void what_is_shared_is_printed_once(void **state)
{
    (void)state;
    if (!count_mpis())
        skip();
    write_files(MADE_KERNELS, kit_seed(81));
    for (size_t i = 0; i < NVT_COUNT_OF(commands); i++)
        expect_alike(commands[i]);
}

static size_t occurrences(const char *text, const char *of)
{
    size_t count = 0;
    for (const char *at = strstr(text, of); at; at = strstr(at + 1, of))
        count++;
    return count;
}

static void a_broken_file_is_named_once(void **state)
{
    (void)state;
    if (!count_mpis())
        skip();
    write_files(MADE_HOST, kit_seed(82));
    cli_write_file(cli_in(cli_folder, "rank-03.nvt"), "no trace", 8);
    cli_write_file(cli_in(cli_folder, "rank-04.nvt"), "", 0);
    expect_alike("stats -r stragglers -f csv rank-*.nvt");
    expect_alike("diagnose rank-*.nvt /nowhere");
    struct cli_result result = run_by("", NULL, "stats -r stragglers -f csv rank-*.nvt");
    assert_int_equal(occurrences(result.err, "rank-03.nvt"), 1);
    assert_int_equal(occurrences(result.err, "rank-04.nvt"), 1);
    assert_non_null(strstr(result.out, "rank-02.nvt"));
    cli_result_free(&result);
    /* All of them: an error. */
    for (size_t i = 0; i < NVT_COUNT_OF(mpis); i++) {
        if (!launcher_of(mpis[i]))
            continue;
        result = run_by(launcher_of(mpis[i]), "2", "stats -r stragglers /nowhere/1 /nowhere/2");
        assert_int_equal(result.status, 2);
        assert_int_equal(occurrences(result.err, "/nowhere/2"), 1);
        cli_result_free(&result);
    }
}

/* Each process of a script that the launcher runs is by itself, and so are those of other arguments. */
static void others_are_not_shared(void **state)
{
    (void)state;
    if (!count_mpis())
        skip();
    write_files(MADE_HEALTHY, kit_seed(83));
    for (size_t i = 0; i < NVT_COUNT_OF(mpis); i++) {
        if (!launcher_of(mpis[i]))
            continue;
        struct cli_result result =
            run_by(launcher_of(mpis[i]), "1",
                   "stats -r ranks -f csv rank-00.nvt : -n 1 nvtally stats -r ranks -f csv "
                   "rank-00.nvt rank-01.nvt");
        assert_int_equal(occurrences(result.out, "rank-01.nvt"), 1);
        assert_int_equal(occurrences(result.out, "rank-00.nvt"), 2);
        cli_result_free(&result);
    }
}

/* --- launchers without an MPI that can be asked --- */

/* The process of a launcher's environment, whose parent has the name of a launcher. */
static struct cli_result run_under(const char *name, const char *environment, const char *command)
{
    static const char script[] =
        "name=$1 environment=$2 nvtally=$3; cp \"$(command -v dash || command -v sh)\" \"$name\" "
        "&& "
        "exec env $environment NO_COLOR=1 \"./$name\" -c \"\\\"$nvtally\\\" $4; exit \\$?\"";
    const struct cli_options options = {.directory = cli_folder, .timeout_s = 60};
    return cli_run_with(&options, (const char *const[]){"sh", "-c", script, "sh", name, environment,
                                                        cli_built("nvtally"), command, NULL});
}

struct launched {
    const char *launcher, *environment;
    const char *says; /* NULL: there is a report; "": nothing, and it fails */
};

/* One line of the first process that says what to do, and nothing of the others; never as many reports as there are processes. */
static void no_mpi_is_an_error_said_once(void **state)
{
    static const struct launched cases[] = {
        {"srun", "SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0", "srun --mpi=pmix"},
        {"slurmstepd", "SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0", "srun --mpi=pmix"},
        {"slurmstepd", "SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=3", ""},
        /* a batch job's script became nvtally */
        {"slurmstepd", "SLURM_NTASKS=4 SLURM_PROCID=0", NULL},
        {"slurmstepd", "SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0", NULL},
        {"bash", "SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0", NULL}, /* by itself in a script */
        {"hydra_pmi_proxy", "PMI_SIZE=2 PMI_RANK=0", "2 processes, but no MPI connects them"},
        {"hydra_pmi_proxy", "PMI_SIZE=2 PMI_RANK=1", ""},
        {"flux-shell", "PMI_SIZE=64 PMI_RANK=0", "started 64 processes"},
        {"hydra_pmi_proxy", "PMI_SIZE=many PMI_RANK=0", NULL},
    };
    (void)state;
    write_files(MADE_HEALTHY, kit_seed(84));
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct cli_result result = run_under(cases[i].launcher, cases[i].environment,
                                             "stats -r ranks -f csv rank-00.nvt rank-01.nvt");
        const int is_report = strstr(result.out, "rank-01.nvt") != NULL;
        print_message("%s %s: %d %s\n", cases[i].launcher, cases[i].environment, result.status,
                      result.err);
        assert_int_equal(is_report, !cases[i].says);
        assert_int_equal(result.status, cases[i].says ? 2 : 0);
        assert_int_equal(occurrences(result.err, "\n"), cases[i].says && *cases[i].says);
        if (cases[i].says)
            assert_non_null(strstr(result.err, cases[i].says));
        cli_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_shared_is_printed_once, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(a_broken_file_is_named_once, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(others_are_not_shared, cli_folder_set_up,
                                        cli_folder_tear_down),
        cmocka_unit_test_setup_teardown(no_mpi_is_an_error_said_once, cli_folder_set_up,
                                        cli_folder_tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
