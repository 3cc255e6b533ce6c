/*
 * Dumps of PyTorch's flight recorder, one that PyTorch 2.15 wrote with gloo and made-up ones: which rank has not come,
 * and where.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/diagnosis/diagnose.h"
#include "cli.h"
#include "flight_kit.h"
#include "random_kit.h"

/* --- what is found ------------------------------------------------------------------------------- */

static struct nvt_findings find_in(char *const *paths, size_t count)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_input input = {0};
    struct nvt_case facts = {&input, NULL};
    struct nvt_findings findings = {0};
    if (nvt_input_add_all(&input, paths, count, &err))
        fail_msg("%s", err.message);
    assert_int_equal(nvt_rule_apply(&nvt_rule_stuck, &facts, &findings, &err), 0);
    nvt_input_free(&input);
    return findings;
}

/* Of the ranks that have entries. */
static struct nvt_findings find(int ranks)
{
    char *paths[RANKS] = {NULL};
    size_t count = 0;
    for (int i = 0; i < ranks; i++)
        if (flight_job.counts[i])
            assert_non_null(paths[count++] = strdup(flight_write_dump(i)));
    struct nvt_findings findings = find_in(paths, count);
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    return findings;
}

static void expect_at(const struct nvt_findings *findings, const char *what, const char *evidence)
{
    if (findings->count != 1)
        fail_msg("%zu findings instead of %s", findings->count, what);
    /* Of a copy it is said with a condition: those of the repository are some. */
    const char *said = findings->items[0].what;
    assert_string_equal(said + (strncmp(said, "if the job hung: ", 17) ? 0 : 17), what);
    /* What comes behind it is how long the files say that it had waited. */
    char *own = strdup(findings->items[0].evidence), *age = strstr(own, "; it had waited ");
    assert_non_null(age);
    *age = 0;
    assert_string_equal(own, evidence);
    free(own);
}

static void expect(const char *what, const char *evidence)
{
    struct nvt_findings findings = find(4);
    expect_at(&findings, what, evidence);
    free(findings.items);
}

static void expect_nothing(void)
{
    struct nvt_findings findings = find(4);
    if (findings.count)
        fail_msg("%s; %s", findings.items[0].what, findings.items[0].evidence);
    free(findings.items);
}

static void what_pytorch_wrote_names_the_rank_and_its_line(void **state)
{
    (void)state;
    struct nvt_findings findings = find_in((char *const *)flight_by_pytorch, 3);
    expect_at(&findings,
              "rank 1 has not reached all_reduce 4 of group 0 (default_pg), in which 2 of 3 ranks "
              "wait",
              "rank 1 last called all_reduce 3 of group 0 (default_pg) (ended) in step "
              "(train.py:12) < <module> (train.py:16); rank 0 and 1 more wait in step "
              "(train.py:12) < <module> (train.py:16)");
    /* by the files' times */
    assert_in_range(findings.items[0].confidence, NVT_LIKELY, NVT_POSSIBLE);
    free(findings.items);
}

/* Of gloo the dumps do not list the groups' ranks: of one alone it is unknown whether there are others. */
static void what_is_not_known_of_a_group_is_said(void **state)
{
    (void)state;
    struct nvt_findings findings = find_in((char *const *)flight_by_pytorch, 1);
    expect_at(&findings,
              "1 rank waits in all_reduce 4 of group 0 (default_pg); whether its group has others "
              "is not recorded",
              "rank 0 waits in step (train.py:12) < <module> (train.py:16)");
    assert_int_equal(findings.items[0].confidence, NVT_POSSIBLE);
    free(findings.items);
}

static void a_rank_that_has_not_come(void **state)
{
    (void)state;
    flight_begin(20);
    for (int i = 0; i < 4; i++) {
        flight_call(i, 7, "completed"); /* what was before has been overwritten */
        if (i != 2)
            flight_call(i, 8, "started");
        if (!i)
            flight_call(i, 9, "scheduled");
    }
    expect(
        "rank 2 has not reached all_reduce 8 of group 0 (default_pg), in which 3 of 4 ranks wait",
        "rank 2 last called all_reduce 7 of group 0 (default_pg) (completed) in step "
        "(train.py:12); rank 0 and 2 more wait in step (train.py:12)");
}

static void several_have_not_come(void **state)
{
    (void)state;
    flight_begin(20);
    for (int i = 0; i < 4; i++)
        flight_call(i, 1, "completed");
    flight_call(3, 2, "started");
    expect("ranks 0, 1 and 2 have not reached all_reduce 2 of group 0 (default_pg), in which 1 of "
           "4 ranks wait",
           "rank 0 last called all_reduce 1 of group 0 (default_pg) (completed) in step "
           "(train.py:12); rank 1 last called all_reduce 1 of group 0 (default_pg) (completed) in "
           "step (train.py:12); rank 3 waits in step (train.py:12)");
}

/* A dump of a job that runs on. */
static void a_short_wait_is_none(void **state)
{
    (void)state;
    for (int written = 7; written < 9; written++) {
        flight_begin(written);
        for (int i = 0; i < 4; i++) {
            flight_call(i, 1, "completed");
            if (i)
                flight_call(i, 3, "started");
        }
        struct nvt_findings findings = find(4);
        assert_int_equal(findings.count, written == 8);
        free(findings.items);
    }
    flight_begin(4); /* but its time was up */
    for (int i = 0; i < 4; i++) {
        flight_call(i, 1, "completed");
        if (i) {
            flight_call(i, 3, "started");
            flight_job.entries[i][1].is_retired = 1;
        }
    }
    struct nvt_findings findings = find(4);
    assert_int_equal(findings.count, 1);
    free(findings.items);
}

/* A file that was changed long behind the time-out is a copy: a rank may only have been a little behind. */
static void the_time_of_a_copy_says_nothing(void **state)
{
    (void)state;
    for (int is_copy = 0; is_copy < 2; is_copy++) {
        flight_begin(is_copy ? 86400 : 700);
        for (int i = 0; i < 4; i++) {
            flight_call(i, 1, "completed");
            if (i != 2)
                flight_call(i, 3, "started");
        }
        struct nvt_findings findings = find(4);
        assert_int_equal(findings.count, 1);
        assert_string_equal(findings.items[0].what,
                            is_copy ? "if the job hung: rank 2 has not reached all_reduce 3 of "
                                      "group 0 (default_pg), in which 3 of 4 ranks wait"
                                    : "rank 2 has not reached all_reduce 3 of group 0 "
                                      "(default_pg), in which 3 of 4 ranks wait");
        assert_non_null(strstr(findings.items[0].evidence,
                               is_copy ? "; it had waited 86397 s when its file was last changed, "
                                       : "; it had waited 697 s when its file was last changed"));
        assert_int_equal(findings.items[0].confidence, is_copy ? NVT_POSSIBLE : NVT_LIKELY);
        assert_true(findings.items[0].cost_ns == (is_copy ? 0 : 697e9));
        free(findings.items);
    }
}

static void nothing_is_stuck_that_has_ended(void **state)
{
    (void)state;
    flight_begin(1000);
    for (int i = 0; i < 4; i++)
        for (int k = 1; k < 20; k++)
            flight_call(i, k, "completed");
    expect_nothing();
    flight_job.entries[2][18].state = "started"; /* one has yet to notice */
    expect_nothing();
}

static void a_rank_without_a_dump(void **state)
{
    (void)state;
    flight_begin(20);
    for (int i = 0; i < 3; i++)
        flight_call(i, 5, "scheduled");
    expect("3 of 4 ranks wait in all_reduce 5 of group 0 (default_pg), and there is no dump of "
           "rank 3",
           "rank 0 and 2 more wait in step (train.py:12)");
}

static void ranks_that_call_different_ones(void **state)
{
    (void)state;
    flight_begin(20);
    for (int i = 0; i < 4; i++)
        flight_call(i, 5, "scheduled");
    flight_job.entries[2][0].name = "nccl:broadcast";
    flight_job.entries[2][0].line = "30";
    expect(
        "ranks 0 and 2 call different collectives as number 5 of group 0 (default_pg)",
        "rank 0 calls all_reduce of [4, 8] Float in step (train.py:12); rank 2 calls broadcast of "
        "[4, 8] Float in step (train.py:30)");
    flight_job.entries[2][0].name = "nccl:all_reduce";
    flight_job.entries[2][0].size = "4, 7";
    expect("ranks 0 and 2 call different collectives as number 5 of group 0 (default_pg)",
           "rank 0 calls all_reduce of [4, 8] Float in step (train.py:12); rank 2 calls all_reduce "
           "of [4, 7] Float in step (train.py:30)");
    for (int i = 0; i < 4; i++)
        flight_job.entries[i][0].name = "nccl:all_to_all"; /* of which sizes may differ */
    expect("all 4 ranks have called all_to_all 5 of group 0 (default_pg), and it does not end",
           "rank 0 and 3 more wait in step (train.py:12)");
}

static void a_device_that_has_not_begun(void **state)
{
    (void)state;
    flight_begin(20);
    for (int i = 0; i < 4; i++)
        flight_call(i, 5, i == 1 ? "scheduled" : "started");
    expect("all 4 ranks have called all_reduce 5 of group 0 (default_pg), and the device of rank 1 "
           "has not begun it",
           "rank 0 and 3 more wait in step (train.py:12)");
}

#define WORLD "\"0\": {\"name\": \"0\", \"desc\": \"default_pg\", \"ranks\": \"[0, 1, 2, 3]\"}"
#define TP(name, ranks)                                                                            \
    "\"" name "\": {\"name\": \"" name "\", \"desc\": \"tp\", \"ranks\": \"[" ranks "]\"}"

/* Two groups of one name, as a mesh makes them. */
static void in_tp(int rank, const char *group, int64_t sequence, const char *state,
                  const char *name)
{
    flight_put(rank, (struct entry){.group = group,
                                    .purpose = "tp",
                                    .name = name,
                                    .state = state,
                                    .sequence = sequence,
                                    .at = 3,
                                    .line = "40",
                                    .is_message = strstr(name, ":send") || strstr(name, ":recv")});
}

static void begin_tp(void)
{
    flight_begin(20);
    for (int i = 0; i < 4; i++) {
        flight_job.groups[i] = i < 2 ? WORLD ", " TP("5", "0, 1") : WORLD ", " TP("5", "2, 3");
        flight_call(i, 1, "completed");
        in_tp(i, "5", 1, "completed", "nccl:all_gather");
    }
}

/* 0 waits for 1, which waits for 2. */
static void the_first_of_a_chain_is_named(void **state)
{
    (void)state;
    flight_begin(20);
    flight_job.groups[0] = TP("5", "0, 1");
    flight_job.groups[1] = TP("5", "0, 1") ", " TP("6", "1, 2");
    flight_job.groups[2] = TP("6", "1, 2");
    in_tp(0, "5", 2, "started", "nccl:all_gather");
    in_tp(1, "5", 1, "completed", "nccl:all_gather");
    in_tp(1, "6", 2, "started", "nccl:all_gather");
    in_tp(2, "6", 1, "completed", "nccl:all_gather");
    expect(
        "rank 2 has not reached all_gather 2 of group 6 (tp), in which 1 of 2 ranks wait",
        "rank 2 last called all_gather 1 of group 6 (tp) (completed) in step (train.py:40); rank 1 "
        "waits in step (train.py:40); ranks in 1 other group wait for these");
}

/* The first that was waited in; 3 has not reached it either, as it waits for 2, too. */
static void a_rank_missing_in_several_is_named_once(void **state)
{
    (void)state;
    begin_tp();
    flight_call(0, 2, "started");
    flight_call(1, 2, "started");
    in_tp(3, "5", 2, "started", "nccl:all_gather");
    expect(
        "rank 2 has not reached all_reduce 2 of group 0 (default_pg), in which 2 of 4 ranks wait",
        "rank 2 last called all_gather 1 of group 5 (tp) (completed) in step (train.py:40); rank 0 "
        "and 1 more wait in step (train.py:12); 1 more has not reached it: waiting elsewhere; "
        "ranks in 1 other group wait for these");
}

static void groups_in_different_orders(void **state)
{
    (void)state;
    begin_tp();
    flight_call(0, 2, "started");
    in_tp(1, "5", 2, "started", "nccl:all_gather");
    flight_call(2, 2, "started");
    flight_call(3, 2, "started");
    struct nvt_findings findings = find(4);
    assert_int_equal(findings.count, 1);
    assert_non_null(strstr(findings.items[0].evidence, "that is a cycle"));
    free(findings.items);
}

static void messages_wait_for_their_other_end(void **state)
{
    (void)state;
    begin_tp();
    in_tp(2, "5", 9, "started", "nccl:recv 0<-1");
    expect(
        "rank 2 waits in recv 9 of group 5 (tp) for rank 3, which has not reached it",
        "rank 3 last called all_gather 1 of group 5 (tp) (completed) in step (train.py:40); rank 2 "
        "waits in step (train.py:40)");
    in_tp(3, "5", 4, "started", "nccl:send 1->0");
    expect("both ranks of send 4 of group 5 (tp) have called it, and it does not end",
           "rank 3 and 1 more wait in step (train.py:40)");
}

/* --- jobs at random ------------------------------------------------------------------------------ */

/* Ranks in rows and columns; each row and each column is a group, and all are one. */
struct mesh {
    int rows, columns;
    char configs[RANKS][400], names[3][RANKS][16];
};

static void configure(struct mesh *mesh)
{
    for (int rank = 0; rank < mesh->rows * mesh->columns; rank++) {
        int row = rank / mesh->columns, column = rank % mesh->columns, at = 0;
        char *out = mesh->configs[rank];
        snprintf(mesh->names[0][rank], 16, "0");
        snprintf(mesh->names[1][rank], 16, "r%d", row);
        snprintf(mesh->names[2][rank], 16, "c%d", column);
        for (int kind = 0; kind < 3; kind++) {
            const char *between = "";
            at += sprintf(out + at, "%s\"%s\": {\"desc\": \"\", \"ranks\": \"[", kind ? ", " : "",
                          mesh->names[kind][rank]);
            for (int other = 0; other < mesh->rows * mesh->columns; other++)
                if (!kind || (kind == 1 && other / mesh->columns == row) ||
                    (kind == 2 && other % mesh->columns == column)) {
                    at += sprintf(out + at, "%s%d", between, other);
                    between = ", ";
                }
            at += sprintf(out + at, "]\"}");
        }
        flight_job.groups[rank] = out;
    }
}

static int is_in(const struct mesh *mesh, int kind, int a, int b)
{
    return !kind || (kind == 1 && a / mesh->columns == b / mesh->columns) ||
           (kind == 2 && a % mesh->columns == b % mesh->columns);
}

/* All ranks run the same program of collectives; one stops before one of them (none: -1). Each goes on when all of the group have
 * come. */
static void run_job(const struct mesh *mesh, int late, int late_at, int steps)
{
    int kinds[60], at[RANKS] = {0}, moves = 1, ranks = mesh->rows * mesh->columns;
    int64_t sequences[3] = {0}, numbers[60];
    for (int i = 0; i < steps; i++) {
        kinds[i] = rand() % 3;
        numbers[i] = ++sequences[kinds[i]];
    }
    while (moves) {
        moves = 0;
        for (int rank = 0; rank < ranks; rank++) {
            int all = at[rank] < steps && !(rank == late && at[rank] >= late_at);
            for (int other = 0; other < ranks && all; other++)
                if (is_in(mesh, kinds[at[rank]], rank, other))
                    all = at[other] > at[rank] ||
                          (at[other] == at[rank] && !(other == late && at[other] >= late_at));
            at[rank] += all;
            moves += all;
        }
    }
    for (int rank = 0; rank < ranks; rank++)
        for (int i = 0; i <= at[rank] && i < steps; i++)
            if (i < at[rank] || rank != late)
                flight_put(rank, (struct entry){.group = mesh->names[kinds[i]][rank],
                                                .purpose = "",
                                                .name = "nccl:all_reduce",
                                                .state = i < at[rank] ? "completed" : "started",
                                                .sequence = numbers[i],
                                                .at = i});
}

static void the_rank_that_stops_is_named_in_any_job(void **state)
{
    (void)state;
    const int jobs = cli_is_long() ? 1000 : 200;
    kit_srand(1);
    int right = 0;
    for (int i = 0; i < jobs; i++) {
        struct mesh mesh = {.rows = 2 + rand() % 3, .columns = 2 + rand() % 3};
        const int ranks = mesh.rows * mesh.columns, steps = 10 + rand() % 50;
        const int late = i % 2 ? rand() % ranks : -1;
        char text[40];
        flight_begin(1000);
        configure(&mesh);
        run_job(&mesh, late, 5 + rand() % 4, steps);
        struct nvt_findings findings = find(ranks);
        snprintf(text, sizeof(text), "rank %d has not reached ", late);
        if (late < 0)
            assert_int_equal(findings.count, 0);
        else
            right += findings.count == 1 && !strncmp(findings.items[0].what, text, strlen(text));
        for (size_t k = 0; k < findings.count; k++)
            if (strncmp(findings.items[k].what, text, strlen(text)) != 0)
                print_message("job %d: %s; %s\n", i, findings.items[k].what,
                              findings.items[k].evidence);
        free(findings.items);
    }
    print_message("%d of %d named\n", right, jobs / 2);
    assert_int_equal(right, jobs / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_pytorch_wrote_names_the_rank_and_its_line),
        cmocka_unit_test(what_is_not_known_of_a_group_is_said),
        cmocka_unit_test(a_rank_that_has_not_come),
        cmocka_unit_test(several_have_not_come),
        cmocka_unit_test(a_short_wait_is_none),
        cmocka_unit_test(the_time_of_a_copy_says_nothing),
        cmocka_unit_test(nothing_is_stuck_that_has_ended),
        cmocka_unit_test(a_rank_without_a_dump),
        cmocka_unit_test(ranks_that_call_different_ones),
        cmocka_unit_test(a_device_that_has_not_begun),
        cmocka_unit_test(the_first_of_a_chain_is_named),
        cmocka_unit_test(a_rank_missing_in_several_is_named_once),
        cmocka_unit_test(groups_in_different_orders),
        cmocka_unit_test(messages_wait_for_their_other_end),
        cmocka_unit_test(the_rank_that_stops_is_named_in_any_job),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
