/*
 * Dumps of PyTorch's flight recorder: one that PyTorch 2.15 wrote with gloo, and made-up ones in the form in which it writes NCCL's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../analyze/diagnosis/diagnose.h"
#include "../analyze/model/payload.h"
#include "../analyze/readers/flight.h"
#include "../analyze/readers/reader.h"
#include "../lib/buffer.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "random_kit.h"
#include "read_kit.h"
#include "trace_same.h"

static const char *const by_pytorch[] = {"tests/fuzz/corpus/flight/nccl_trace_rank_0",
                                         "tests/fuzz/corpus/flight/nccl_trace_rank_1",
                                         "tests/fuzz/corpus/flight/nccl_trace_rank_2"};
#define BEGIN INT64_C(1700000000000000000)
#define S     INT64_C(1000000000)

/* --- dumps that are made up --------------------------------------------------------------------- */

enum { RANKS = 16, ENTRIES = 400 };

struct entry {
    const char *group, *purpose, *name, *state, *size, *line;
    int64_t sequence, at; /* s behind BEGIN */
    int is_message, is_retired;
};

/* What a job's ranks dump; `groups` is JSON. */
static struct {
    const char *groups[RANKS];
    struct entry entries[RANKS][ENTRIES];
    int counts[RANKS];
    int64_t written; /* s behind BEGIN */
} job;

static void begin(int64_t written)
{
    memset(&job, 0, sizeof(job));
    job.written = written;
}

static void put(int rank, struct entry entry)
{
    assert_true(job.counts[rank] < ENTRIES);
    job.entries[rank][job.counts[rank]++] = entry;
}

/* A collective of the group of all. */
static void call(int rank, int64_t sequence, const char *state)
{
    put(rank, (struct entry){.group = "0",
                             .purpose = "default_pg",
                             .name = "nccl:all_reduce",
                             .state = state,
                             .sequence = sequence,
                             .at = sequence});
}

static void put_entry(struct nvt_buffer *out, const struct entry *entry)
{
    const int has_ended = !strcmp(entry->state, "completed");
    assert_int_equal(
        nvt_buffer_printf(
            out,
            "{\"frames\": [{\"name\": \"all_reduce\", \"filename\": "
            "\"/usr/lib/torch/distributed/distributed_c10d.py\", \"line\": 9}, {\"name\": "
            "\"step\", \"filename\": \"/home/me/train.py\", \"line\": %s}], \"record_id\": 0, "
            "\"pg_id\": 0, \"process_group\": [\"%s\", \"%s\"], \"thread_name\": \"main\", "
            "\"thread_id\": \"7\", \"collective_seq_id\": %lld, \"p2p_seq_id\": %lld, \"op_id\": "
            "1, "
            "\"profiling_name\": \"%s\", \"time_created_ns\": %lld, \"input_sizes\": [[%s]], "
            "\"input_dtypes\": [\"Float\"], \"output_sizes\": [[%s]], \"output_dtypes\": "
            "[\"Float\"], \"state\": \"%s\", \"time_discovered_started_ns\": null, "
            "\"time_discovered_completed_ns\": ",
            entry->line ? entry->line : "12", entry->group, entry->purpose,
            (long long)(entry->is_message ? 0 : entry->sequence),
            (long long)(entry->is_message ? entry->sequence : 0), entry->name,
            (long long)(BEGIN + entry->at * S), entry->size ? entry->size : "4, 8",
            entry->size ? entry->size : "4, 8", entry->state),
        0);
    if (has_ended)
        assert_int_equal(nvt_buffer_printf(out, "%lld", (long long)(BEGIN + entry->at * S + S / 2)),
                         0);
    assert_int_equal(nvt_buffer_printf(out,
                                       "%s, \"retired\": %s, \"timeout_ms\": 600000, \"is_p2p\": "
                                       "%s}",
                                       has_ended ? "" : "null",
                                       has_ended || entry->is_retired ? "true" : "false",
                                       entry->is_message ? "true" : "false"),
                     0);
}

/* The dump of a rank as a file of the test's folder: its path. */
static const char *write_dump(int rank)
{
    char name[40];
    struct nvt_buffer text = {0};
    snprintf(name, sizeof(name), "trace_rank_%d", rank);
    assert_int_equal(nvt_buffer_printf(&text,
                                       "{\"version\": \"2.10\", \"pg_config\": {%s}, "
                                       "\"comm_lib_version\": \"2.27.5\", \"pg_status\": {}, "
                                       "\"entries\": [",
                                       job.groups[rank]
                                           ? job.groups[rank]
                                           : "\"0\": {\"name\": \"0\", \"desc\": "
                                             "\"default_pg\", \"ranks\": \"[0, 1, 2, 3]\"}"),
                     0);
    for (int i = 0; i < job.counts[rank]; i++) {
        assert_int_equal(nvt_buffer_printf(&text, "%s", i ? ", " : ""), 0);
        put_entry(&text, &job.entries[rank][i]);
    }
    assert_int_equal(nvt_buffer_printf(&text, "]}"), 0);
    const char *path = cli_in(cli_folder, name);
    cli_write_file(path, text.data, text.size);
    nvt_buffer_free(&text);
    const struct timespec times[2] = {{BEGIN / S + job.written, 0}, {BEGIN / S + job.written, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    return path;
}

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
        if (job.counts[i])
            assert_non_null(paths[count++] = strdup(write_dump(i)));
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
    struct nvt_findings findings = find_in((char *const *)by_pytorch, 3);
    expect_at(&findings,
              "rank 1 has not reached all_reduce 4 of group 0 (default_pg), in which 2 of 3 ranks "
              "wait",
              "rank 1 last called all_reduce 3 of group 0 (default_pg) (ended) in step "
              "(train.py:12) < <module> (train.py:16); rank 0 and 1 more wait in step "
              "(train.py:12) < <module> (train.py:16)");
    assert_in_range(findings.items[0].confidence, NVT_LIKELY,
                    NVT_POSSIBLE); /* by the files' times */
    free(findings.items);
}

/* Of gloo the dumps do not list the groups' ranks: of one alone it is unknown whether there are others. */
static void what_is_not_known_of_a_group_is_said(void **state)
{
    (void)state;
    struct nvt_findings findings = find_in((char *const *)by_pytorch, 1);
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
    begin(20);
    for (int i = 0; i < 4; i++) {
        call(i, 7, "completed"); /* what was before has been overwritten */
        if (i != 2)
            call(i, 8, "started");
        if (!i)
            call(i, 9, "scheduled");
    }
    expect(
        "rank 2 has not reached all_reduce 8 of group 0 (default_pg), in which 3 of 4 ranks wait",
        "rank 2 last called all_reduce 7 of group 0 (default_pg) (completed) in step "
        "(train.py:12); rank 0 and 2 more wait in step (train.py:12)");
}

static void several_have_not_come(void **state)
{
    (void)state;
    begin(20);
    for (int i = 0; i < 4; i++)
        call(i, 1, "completed");
    call(3, 2, "started");
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
        begin(written);
        for (int i = 0; i < 4; i++) {
            call(i, 1, "completed");
            if (i)
                call(i, 3, "started");
        }
        struct nvt_findings findings = find(4);
        assert_int_equal(findings.count, written == 8);
        free(findings.items);
    }
    begin(4); /* but its time was up */
    for (int i = 0; i < 4; i++) {
        call(i, 1, "completed");
        if (i) {
            call(i, 3, "started");
            job.entries[i][1].is_retired = 1;
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
        begin(is_copy ? 86400 : 700);
        for (int i = 0; i < 4; i++) {
            call(i, 1, "completed");
            if (i != 2)
                call(i, 3, "started");
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
    begin(1000);
    for (int i = 0; i < 4; i++)
        for (int k = 1; k < 20; k++)
            call(i, k, "completed");
    expect_nothing();
    job.entries[2][18].state = "started"; /* one has yet to notice */
    expect_nothing();
}

static void a_rank_without_a_dump(void **state)
{
    (void)state;
    begin(20);
    for (int i = 0; i < 3; i++)
        call(i, 5, "scheduled");
    expect("3 of 4 ranks wait in all_reduce 5 of group 0 (default_pg), and there is no dump of "
           "rank 3",
           "rank 0 and 2 more wait in step (train.py:12)");
}

static void ranks_that_call_different_ones(void **state)
{
    (void)state;
    begin(20);
    for (int i = 0; i < 4; i++)
        call(i, 5, "scheduled");
    job.entries[2][0].name = "nccl:broadcast";
    job.entries[2][0].line = "30";
    expect(
        "ranks 0 and 2 call different collectives as number 5 of group 0 (default_pg)",
        "rank 0 calls all_reduce of [4, 8] Float in step (train.py:12); rank 2 calls broadcast of "
        "[4, 8] Float in step (train.py:30)");
    job.entries[2][0].name = "nccl:all_reduce";
    job.entries[2][0].size = "4, 7";
    expect("ranks 0 and 2 call different collectives as number 5 of group 0 (default_pg)",
           "rank 0 calls all_reduce of [4, 8] Float in step (train.py:12); rank 2 calls all_reduce "
           "of [4, 7] Float in step (train.py:30)");
    for (int i = 0; i < 4; i++)
        job.entries[i][0].name = "nccl:all_to_all"; /* of which sizes may differ */
    expect("all 4 ranks have called all_to_all 5 of group 0 (default_pg), and it does not end",
           "rank 0 and 3 more wait in step (train.py:12)");
}

static void a_device_that_has_not_begun(void **state)
{
    (void)state;
    begin(20);
    for (int i = 0; i < 4; i++)
        call(i, 5, i == 1 ? "scheduled" : "started");
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
    put(rank, (struct entry){.group = group,
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
    begin(20);
    for (int i = 0; i < 4; i++) {
        job.groups[i] = i < 2 ? WORLD ", " TP("5", "0, 1") : WORLD ", " TP("5", "2, 3");
        call(i, 1, "completed");
        in_tp(i, "5", 1, "completed", "nccl:all_gather");
    }
}

/* 0 waits for 1, which waits for 2. */
static void the_first_of_a_chain_is_named(void **state)
{
    (void)state;
    begin(20);
    job.groups[0] = TP("5", "0, 1");
    job.groups[1] = TP("5", "0, 1") ", " TP("6", "1, 2");
    job.groups[2] = TP("6", "1, 2");
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
    call(0, 2, "started");
    call(1, 2, "started");
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
    call(0, 2, "started");
    in_tp(1, "5", 2, "started", "nccl:all_gather");
    call(2, 2, "started");
    call(3, 2, "started");
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
        job.groups[rank] = out;
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
                put(rank, (struct entry){.group = mesh->names[kinds[i]][rank],
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
        begin(1000);
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

/* --- reading ------------------------------------------------------------------------------------- */

static void entries_are_ranges(void **state)
{
    (void)state;
    char text[64];
    begin(20);
    call(0, 1, "completed");
    call(0, 2, "started");
    struct nvt_trace *trace = kit_read(write_dump(0));
    assert_string_equal(trace->format, "flight");
    assert_int_equal(trace->origin_ns, BEGIN + S);
    assert_int_equal(trace->ranges.count, 2);
    assert_string_equal(nvt_name(trace, trace->ranges.name[0]), "all_reduce");
    assert_int_equal(trace->ranges.start[0], 0);
    assert_int_equal(trace->ranges.end[0], S / 2);
    assert_int_equal(trace->ranges.flags[0] & NVT_RANGE_UNCLOSED, 0);
    assert_int_equal(trace->ranges.start[1], S);
    assert_int_not_equal(trace->ranges.flags[1] & NVT_RANGE_UNCLOSED, 0);
    assert_int_equal(trace->threads.tid[trace->ranges.thread[0]], 7);
    const char *payload = nvt_name(trace, trace->ranges.payload[1]);
    assert_string_equal(nvt_member_text(payload, "\"given\"", text, sizeof(text)), "[4, 8] Float");
    assert_string_equal(nvt_member_text(payload, "\"stack\"", text, sizeof(text)),
                        "step (train.py:12)");
    assert_string_equal(nvt_name(trace, trace->collectives.members[0]), "0,1,2,3");
    assert_string_equal(nvt_trace_meta(trace, "NCCL"), "2.27.5");
    nvt_trace_free(trace);
}

/* Whether it is JSON or a pickle. */
static void both_forms_are_the_same(void **state)
{
    (void)state;
    char text[200];
    struct nvt_buffer pickle = {0};
    begin(20);
    for (int i = 1; i < 9; i++)
        call(1, i, i < 8 ? "completed" : "started");
    const char *json = write_dump(1);
    struct nvt_trace *left = kit_read(json);
    assert_int_equal(nvt_json_as_pickle(json, &pickle, NULL), 0);
    const char *path = cli_in(cli_folder, "rank1.pickle");
    cli_write_file(path, pickle.data, pickle.size);
    const struct timespec times[2] = {{BEGIN / S + 20, 0}, {BEGIN / S + 20, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    struct nvt_trace *right = kit_read(path);
    const char *difference = trace_difference(left, right, text, sizeof(text));
    if (difference)
        fail_msg("%s", difference);
    nvt_trace_free(left);
    nvt_trace_free(right);
    nvt_buffer_free(&pickle);
}

static void the_rank_is_at_the_end_of_the_name(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t rank;
    } cases[] = {{"dump_12", 12},    {"fr-3.json", 3},          {"x_rank_4", NVT_NONE},
                 {"dump", NVT_NONE}, {"99999999999", NVT_NONE}, {"rank2_try3", NVT_NONE}};
    size_t size;
    begin(20);
    call(0, 1, "completed");
    char *bytes = cli_read_file(write_dump(0), &size);
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const char *path = cli_in(cli_folder, cases[i].name);
        cli_write_file(path, bytes, size);
        struct nvt_trace *trace = kit_read(path);
        assert_int_equal(trace->processes.rank[0], cases[i].rank);
        nvt_trace_free(trace);
    }
    free(bytes);
}

/* PyTorch 2.2 to 2.4. */
static void older_ones_are_read(void **state)
{
    (void)state;
    char text[40];
    struct nvt_trace *trace = kit_read_text(
        "older",
        "{\"version\": \"1.5\", \"entries\": [{\"record_id\": 0, \"pg_id\": 3, \"seq_id\": "
        "6, \"profiling_name\": \"nccl:all_gather\", \"time_created_ns\": 5000, "
        "\"input_sizes\": [[2]], \"state\": \"scheduled\", \"frames\": []}]}");
    const char *payload = nvt_name(trace, trace->ranges.payload[0]);
    assert_string_equal(nvt_member_text(payload, "\"group\"", text, sizeof(text)), "3");
    assert_true(nvt_member_number(payload, "\"sequence\"") == 6);
    assert_string_equal(nvt_member_text(payload, "\"given\"", text, sizeof(text)), "[2]");
    nvt_trace_free(trace);
}

static void names_and_numbers_may_be_anything(void **state)
{
    (void)state;
    char text[80];
    struct nvt_trace *trace = kit_read_text(
        "odd",
        "{\"pg_config\": {\"a\\\"b\": {\"desc\": 5, \"ranks\": \"[18446744073709551616, x]\"}}, "
        "\"pg_status\": 0, \"entries\": [{\"process_group\": [\"a\\\"b\\n\", null], "
        "\"profiling_name\": \"\", \"time_created_ns\": -5, \"collective_seq_id\": -1, \"frames\": "
        "[1, {\"name\": \"f\"}], \"input_sizes\": [3, [null]], \"state\": 7}, "
        "{\"time_created_ns\": "
        "9223372036854775807, \"profiling_name\": \":::send 9999999999999999999->1\", \"is_p2p\": "
        "true}, {\"profiling_name\": \"gather\\u0000 of something longer:all_reduce\"}]}");
    assert_int_equal(trace->ranges.count, 3);
    assert_string_equal(nvt_name(trace, trace->ranges.name[1]), "gather");
    assert_string_equal(
        nvt_member_text(nvt_name(trace, trace->ranges.payload[0]), "\"group\"", text, sizeof(text)),
        "a\"b\n");
    nvt_trace_free(trace);
}

static void bad_ones_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"{\"pg_config\": {}, \"pg_status\": {}, \"entries\": 3}", "has no list of entries"},
        {"{\"pg_config\": {}, \"pg_status\": {}, \"entries\": [4]}", "entry 1 is no dict"},
        {"{\"pg_config\": {}, \"pg_status\": {}, \"entries\": [{}, {}, []]}", "entry 3 is no dict"},
        {"{\"pg_config\": {}, \"pg_status\": {}, \"entries\": [{", ""},
        {"{\"pg_config\": {}, \"pg_status\": {}, \"entries\": []} x", ""},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const char *path = cli_in(cli_folder, "bad");
        cli_write_file(path, cases[i].text, strlen(cases[i].text));
        kit_expect_unreadable(path, cases[i].reason);
        const char *command[] = {"nvtally", "diagnose", path, NULL};
        struct cli_result result = cli_run(command);
        cli_expect_failure(&result, cases[i].reason);
        cli_result_free(&result);
    }
    kit_survives_changed_bytes(by_pytorch[0], "changed_rank_0", 400);
    kit_survives_changed_bytes("tests/fuzz/corpus/flight/rank_0.json", "changed.json", 400);
}

static void stats_and_diagnose_read_them(void **state)
{
    (void)state;
    const char *command[] = {"nvtally",     "diagnose",    by_pytorch[0],
                             by_pytorch[1], by_pytorch[2], NULL};
    struct cli_result result = cli_run(command);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "1  stuck collective"));
    cli_result_free(&result);
    const char *folder[] = {"nvtally", "diagnose", "tests/fuzz/corpus/flight", NULL};
    result = cli_run(folder); /* with rank 0 as JSON besides, which is of another run */
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "rank 1 has not reached all_reduce 4"));
    cli_result_free(&result);
    const char *sql[] = {
        "nvtally", "sql",         "-f",
        "csv",     by_pytorch[0], "SELECT count(*) AS calls FROM ranges WHERE name = 'all_reduce'",
        NULL};
    result = cli_run(sql);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "4"));
    cli_result_free(&result);
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
        cmocka_unit_test(entries_are_ranges),
        cmocka_unit_test(both_forms_are_the_same),
        cmocka_unit_test(the_rank_is_at_the_end_of_the_name),
        cmocka_unit_test(older_ones_are_read),
        cmocka_unit_test(names_and_numbers_may_be_anything),
        cmocka_unit_test(bad_ones_are_refused),
        cmocka_unit_test(stats_and_diagnose_read_them),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
