/* The waits in programs of MPI that have each of the wait states, as they are recorded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cli.h"
#include "made_trace.h"
#include "mpi_job_kit.h"

static const struct {
    const char *what, *ranks, *row, *finding;
} programs[] = {
    {"late_sender", "2", "Late sender,0,exchange,MPI_Recv,1,pack,,", "late sender: rank 0 waits "},
    {"late_isender", "2", "Late sender,0,iteration,MPI_Waitall,1,pack,,",
     "late sender: rank 0 waits "},
    {"late_receiver", "2", "Late receiver,0,iteration,MPI_Send,1,pack,,",
     "late receiver: rank 0 waits "},
    {"wrong_order", "2", "Wrong order,0,iteration,MPI_Recv,1,pack,,", "wrong order: rank 0 waits "},
    {"barrier", "3", "Wait at barrier,2,iteration,MPI_Barrier,1,pack,,", "wait at barrier: rank "},
    {"nxn", "3", "Wait at N x N,2,iteration,MPI_Allreduce,1,pack,,", "wait at N x N: rank "},
    {"early_reduce", "3", "Early reduce,0,iteration,MPI_Reduce,1,pack,,", "early reduce: rank 0"},
    {"late_broadcast", "4", "Late broadcast,2,iteration,MPI_Bcast,1,pack,,",
     "late broadcast: rank "},
    {"any", "3", NULL, NULL},
};

/* Recorded in one trace, or in one of each rank. */
static void record(const char *what, const char *ranks, int is_one)
{
    struct cli_result result = cli_run((const char *const[]){
        "sh", "-c",
        /* Ranks that wait leave the processors to others. */
        is_one ? "export OMPI_MCA_mpi_yield_when_idle=1; exec \"$0\" record --trace mpi -o "
                 "\"$1/t.nvt\" -- mpirun --allow-run-as-root "
                 "--oversubscribe -n \"$3\" \"$4\" \"$2\""
               : "export OMPI_MCA_mpi_yield_when_idle=1; exec mpirun --allow-run-as-root "
                 "--oversubscribe -n \"$3\" \"$0\" record --trace "
                 "mpi -o \"$1/rank%q{OMPI_COMM_WORLD_RANK}.nvt\" -- \"$4\" \"$2\"",
        cli_built("nvtally"), cli_folder, what, ranks, cli_built("tests/mpi/waits"), NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

static struct cli_result ask(int is_one, const char *command, const char *more)
{
    char line[256];
    snprintf(line, sizeof(line), "exec \"$0\" %s \"$1\"/%s %s", command,
             is_one ? "t.nvt" : "rank*.nvt", more);
    struct cli_result result =
        cli_run((const char *const[]){"sh", "-c", line, cli_built("nvtally"), cli_folder, NULL});
    cli_expect_status(&result, 0);
    return result;
}

static void remove_recordings(void)
{
    struct cli_result removed =
        cli_run((const char *const[]){"sh", "-c", "rm -f \"$0\"/*.nvt", cli_folder, NULL});
    cli_result_free(&removed);
}

static const char told_twice[] = "told twice";

/* What is wrong with what is told of a program, NULL: nothing. */
static const char *look_at(size_t program, int is_one)
{
    const char *row = programs[program].row, *finding = programs[program].finding, *wrong = NULL;
    record(programs[program].what, programs[program].ranks, is_one);
    struct cli_result stats = ask(is_one, "stats -r mpi_waits -f csv", "");
    struct cli_result diagnosis = ask(is_one, "diagnose", "");
    if (row && !strstr(stats.out, row))
        wrong = "another wait state";
    if (!row && !strstr(stats.err, "80 sends and receives are left out"))
        wrong = "no note";
    if (finding ? !strstr(diagnosis.out, finding) || !strstr(diagnosis.out, "in range pack then")
                : strstr(diagnosis.out, "late rank") != NULL)
        wrong = "another finding";
    if (finding && (strstr(diagnosis.out, "straggler   ") || strstr(diagnosis.out, "MPI   ")))
        wrong = told_twice;
    cli_result_free(&stats);
    cli_result_free(&diagnosis);
    remove_recordings();
    return wrong;
}

/* Where other programs take the processors, once more. If they take them all the time, ranks wait for them in MPI, too, and a second
 * finding is right. */
static void programs_of_mpi_wait(void **state)
{
    (void)state;
    if (!cli_has_mpirun())
        skip();
    for (size_t i = 0; i < 2 * NVT_COUNT_OF(programs); i++) {
        const char *wrong = "";
        if (i % 2 && i / 2 % 4)
            continue;
        for (int tries = 0; tries < 5 && wrong; tries++)
            wrong = look_at(i / 2, i % 2 == 0);
        if (wrong && !strcmp(wrong, told_twice) && cli_is_busy())
            print_message("%s: %s, on a busy machine\n", programs[i / 2].what, wrong);
        else if (wrong)
            fail_msg("%s: %s", programs[i / 2].what, wrong);
    }
}

/* Nobody is late, unless another program takes the processors: then once more. */
static void a_balanced_program_has_no_late_rank(void **state)
{
    (void)state;
    int is_quiet = 0;
    if (!cli_has_mpirun())
        skip();
    for (int i = 0; i < 5 && !is_quiet; i++) {
        record("balanced", "3", i % 2);
        struct cli_result result = ask(i % 2, "diagnose", "");
        is_quiet = !strstr(result.out, "late rank") && !strstr(result.out, "straggler   ") &&
                   !strstr(result.out, "MPI   ");
        cli_result_free(&result);
        remove_recordings();
    }
    if (!is_quiet && cli_is_busy())
        print_message("in none of 5 runs, on a busy machine\n");
    else
        assert_true(is_quiet);
}

/* Collectives on a part of the ranks are compared within it: its members are asked for when it is made. */
static void communicators_of_some_ranks_are_groups(void **state)
{
    (void)state;
    if (!cli_has_mpirun())
        skip();
    for (int is_one = 0; is_one < 2; is_one++) {
        record("split", "4", is_one);
        struct cli_result result = ask(is_one, "stats", "-r stragglers -f csv");
        /* Two were made of the same ranks one after the other, each with 10 collectives. */
        static const char row[] = "ranks 1,3\",2,10,";
        const char *first = strstr(result.out, row);
        if (!first || !strstr(first + 1, row) || !strstr(result.out, "ranks 0,2\",2,10,"))
            fail_msg("%s\n%s", result.out, result.err);
        /* Rank 3 comes last, and rank 1 waits for it. */
        const char *late = strstr(result.out, "\n3,");
        assert_non_null(late);
        assert_non_null(strstr(result.out, "MPI_Allreduce,\"ranks 1,3\","));
        assert_null(strstr(result.err, "are left out"));
        cli_result_free(&result);
        remove_recordings();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_of_mpi_wait),
        cmocka_unit_test(a_balanced_program_has_no_late_rank),
        cmocka_unit_test(communicators_of_some_ranks_are_groups),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
