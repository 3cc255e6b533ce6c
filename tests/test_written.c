/*
 * Where commands write: no input is written over, a trace takes the place of nothing but a trace and of none
 * that is being written, folders are made, and what an earlier run left is told apart from what is the user's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/input/runs.h"
#include "../lib/count_of.h"
#include "cli.h"

/* All in a folder of the test's own, which is the current one of every program. */
static struct cli_result run_here(const char *const argv[])
{
    const struct cli_options options = {.directory = cli_folder};
    return cli_run_with(&options, argv);
}

#define RUN(...) run_here((const char *const[]){"nvtally", __VA_ARGS__, NULL})

static struct cli_result run_shell(const char *script)
{
    return run_here((const char *const[]){"sh", "-c", script, cli_built("nvtally"), NULL});
}

static void expect_good(struct cli_result result)
{
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

static void expect_refused(struct cli_result result, const char *needle)
{
    cli_expect_failure(&result, needle);
    cli_result_free(&result);
}

static void expect_text(const char *name, const char *expected)
{
    char *text = cli_read_file(cli_in(cli_folder, name), NULL);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static int is_there(const char *name)
{
    return !access(cli_in(cli_folder, name), F_OK);
}

/* --- inputs ----------------------------------------------------------------------------------- */

/* A trace by several names, and a run's directory that names it. */
static void make_inputs(void)
{
    static const char row[] = "{\"workload\": \"linear\", \"size\": 32, \"backend\": \"host\", "
                              "\"status\": \"ok\", \"forward_ns_mean\": 1, \"trace\": \"r.nvt\"}\n";
    static const char *const copies[] = {"u.html", "v.html.part", "w.sqlite.partial", "run/r.nvt"};
    size_t size;
    expect_good(RUN("record", "-o", "t.nvt", "--", cli_client("nested"), "3"));
    char *trace = cli_read_file(cli_in(cli_folder, "t.nvt"), &size);
    assert_int_equal(mkdir(cli_in(cli_folder, "run"), 0777), 0);
    for (size_t i = 0; i < NVT_COUNT_OF(copies); i++)
        cli_write_file(cli_in(cli_folder, copies[i]), trace, size);
    cli_write_file(cli_in(cli_folder, "run/results.jsonl"), row, strlen(row));
    cli_write_file(cli_in(cli_folder, "run/env.json"), "{}\n", 3);
    assert_int_equal(link(cli_in(cli_folder, "t.nvt"), cli_in(cli_folder, "hard.nvt")), 0);
    assert_int_equal(link(cli_in(cli_folder, "t.nvt"), cli_in(cli_folder, "t-timeline.dat")), 0);
    assert_int_equal(symlink("t.nvt", cli_in(cli_folder, "soft.nvt")), 0);
    free(trace);
}

static void no_input_is_written_over(void **state)
{
    (void)state;
    static const char *const cases[][8] = {
        {"stats", "t.nvt", "-o", "t.nvt"},
        {"stats", "t.nvt", "-o", "hard.nvt"},
        {"stats", "soft.nvt", "-o", "./run/../t.nvt"},
        {"stats", "run/r.nvt", "t.nvt", "-r", "nvtx_sum", "-o", "soft.nvt"},
        {"stats", "run", "-o", "run/results.jsonl"},
        {"stats", "run", "-o", "run/env.json"},
        {"stats", "run", "-o", "run/r.nvt"},
        {"export", "t.nvt", "--to", "csv", "-o", "hard.nvt"},
#ifdef HAVE_SQLITE
        {"export", "t.nvt", "--to", "sqlite", "-o", "soft.nvt"},
        {"export", "w.sqlite.partial", "--to", "sqlite", "-o", "w.sqlite"},
#endif
        {"report", "u.html", "-o", "u.html"},
        {"report", "t.nvt", "v.html.part", "-o", "v.html"},
        {"plot", "t.nvt"},
    };
    make_inputs();
    expect_good(run_shell("cp t.nvt before && cksum run/* >sums"));
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const char *argv[10] = {"nvtally"};
        memcpy(argv + 1, cases[i], sizeof(cases[i]));
        struct cli_result result = run_here(argv);
        if (result.status != 2)
            fail_msg("%s %s %s %s: %s", argv[1], argv[2], argv[3], argv[4], result.err);
        cli_expect_failure(&result, "is an input: give another name");
        cli_result_free(&result);
    }
    expect_good(run_shell("cksum run/* | cmp - sums"));
    expect_good(
        run_shell("for file in t.nvt hard.nvt soft.nvt u.html v.html.part "
                  "w.sqlite.partial t-timeline.dat run/r.nvt; do cmp $file before || exit 1; "
                  "done"));
    /* By another name they are written, and what is no regular file may be both. */
    expect_good(RUN("stats", "t.nvt", "-o", "table"));
    expect_good(RUN("stats", "t.nvt", "-o", "/dev/null"));
}

/* --- record ----------------------------------------------------------------------------------- */

static void record_replaces_traces_only(void **state)
{
    (void)state;
    cli_write_file(cli_in(cli_folder, "precious.py"), "print(1)\n", 9);
    expect_refused(RUN("record", "-o", "precious.py", "--", "touch", "started"),
                   "precious.py: is not a trace and is not replaced");
    expect_text("precious.py", "print(1)\n");
    assert_false(is_there("started"));
    /* Nor by a name that is made up. */
    expect_refused(run_shell("P=precious exec $0 record -o %q{P}.py -- touch started"),
                   "is not a trace");
    cli_write_file(cli_in(cli_folder, "empty"), "", 0);
    expect_good(RUN("record", "-o", "empty", "--", "true"));
    expect_good(RUN("record", "-o", "empty", "--", cli_client("nested"), "3"));
    expect_good(run_shell("head -c 5 empty >cut.nvt && $0 record -o cut.nvt -- true"));
    /* A trace with nothing in it says so. */
    struct cli_result result = RUN("record", "-o", "empty", "--", "true");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "nvtally: no NVTX calls were recorded"));
    cli_result_free(&result);
    /* What is no regular file is written to as it is. */
    expect_good(RUN("record", "-o", "/dev/null", "--", "true"));
    expect_good(run_shell("mkfifo pipe && { { sleep 0.2; cat pipe >through; } & } && "
                          "$0 record -o pipe -- true && wait && [ -s through ]"));
}

/* Two ranks of three that record under one name at a time: what each says is in `first` and `why`. */
#define RANKS(name, traces)                                                                        \
    "name=" name "; rm -f going enough; mkdir -p a.b; export OMPI_COMM_WORLD_SIZE=3; "             \
    "OMPI_COMM_WORLD_RANK=0 $0 record -o $name -- "                                                \
    "sh -c 'touch going; while [ ! -e enough ]; do sleep 0.02; done' 2>first & "                   \
    "first=$!; while [ ! -e going ]; do sleep 0.02; done; "                                        \
    "OMPI_COMM_WORLD_RANK=2 $0 record -o $name -- touch second 2>why; said=$?; touch enough; "     \
    "wait $first && [ $said = 0 ] && [ -e second ] && $0 stats -r nvtx_sum " traces

static void one_recorder_writes_a_trace(void **state)
{
    (void)state;
    expect_good(run_shell(
        "$0 record -o two.nvt -- sh -c 'touch going; while [ ! -e enough ]; do sleep 0.02; done' & "
        "first=$!; while [ ! -e going ]; do sleep 0.02; done; "
        "$0 record -o ./two.nvt -- touch second 2>why; said=$?; touch enough; "
        "wait $first && [ $said = 2 ] && [ ! -e second ] && [ $(wc -l <why) = 1 ] && "
        "grep -q '^nvtally: .*two.nvt: is being written by another recorder$' why && "
        "$0 stats -r nvtx_sum two.nvt"));
    /* Ranks of a job whose command line names one file write one each, whoever comes first; so do those whose name has a mark. */
    expect_good(run_shell(RANKS("a.b/two", "a.b/two-rank0 a.b/two-rank2")));
    expect_good(run_shell("[ ! -e a.b/two ] && ! grep another why && ! grep ranks why && "
                          "grep -q '^nvtally: the traces of all ranks: nvtally report "
                          "a.b/two-rank\\[0-2\\]$' first"));
    expect_good(run_shell(RANKS("two-%h.nvt", "two-*.nvt")));
    expect_good(
        run_shell("grep -q \"^nvtally: another rank's recorder writes two-.*[.]nvt: this one "
                  "writes two-.*-rank2.nvt$\" why"));
    /* Names that a script has made stay; not so one that ends in a rank's number by chance. */
    expect_good(run_shell("export RANK=1 WORLD_SIZE=2; $0 record -o own1.nvt -- true && "
                          "mkdir p1 && $0 record -o p1/own.nvt -- true && "
                          "[ -e own1.nvt ] && [ -e p1/own.nvt ] && "
                          "$0 record -o v1.nvt -- env RANK=0 $0 record -o v1.nvt -- true && "
                          "[ -e v1-rank0.nvt ] && [ -e v1-rank1.nvt ] && [ ! -e v1.nvt ]"));
    /* A process that outlives its recorder does not hold the trace. */
    expect_good(
        run_shell("$0 record --wait primary -o left.nvt -- sh -c 'sleep 20 & echo $! >sleeper' && "
                  "$0 record -o left.nvt -- true; said=$?; kill $(cat sleeper); exit $said"));
}

/* What `record` says of a trace that was there. */
static void expect_kept(struct cli_result result, const char *kept)
{
    char line[600];
    snprintf(line, sizeof(line), "nvtally: the trace that was there is now %s\n", kept);
    cli_expect_status(&result, 0);
    if (!strstr(result.err, line))
        fail_msg("nothing of %s:\n%s", kept, result.err);
    cli_result_free(&result);
}

static void an_existing_trace_is_kept(void **state)
{
    (void)state;
    struct cli_result result = RUN("record", "-o", "k.nvt", "--", "true");
    assert_null(strstr(result.err, "was there"));
    expect_good(result);
    expect_good(run_shell("chmod 640 k.nvt && cp k.nvt first"));
    expect_kept(RUN("record", "-o", "k.nvt", "--", cli_client("nested"), "3"), "k.old.nvt");
    expect_good(run_shell("cmp k.old.nvt first && ! cmp -s k.nvt first && cp k.nvt second && "
                          "[ $(stat -c %a k.nvt) = 640 ]"));
    /* Once more: one is kept. A name that does not end in .nvt. */
    expect_kept(RUN("record", "-o", "k.nvt", "--", "true"), "k.old.nvt");
    expect_good(run_shell("cmp k.old.nvt second && cp second plain"));
    expect_kept(RUN("record", "-o", "plain", "--", "true"), "plain.old");
    /* Also of a flight recorder, whose own file beside it has the same name. */
    expect_good(run_shell("cmp plain.old second && cp second age.nvt"));
    expect_kept(RUN("record", "--max-age", "1s", "-o", "age.nvt", "--", "true"), "age.old.nvt");
    expect_good(run_shell("cmp age.old.nvt second && [ -z \"$(ls -A | grep '^[.].*new')\" ]"));
    /* What no command was started for changes nothing, nor what is written over by request. */
    result = RUN("record", "-o", "age.nvt", "--", "./missing");
    cli_expect_status(&result, 2);
    cli_result_free(&result);
    expect_good(run_shell("cmp age.old.nvt second && cp age.nvt third"));
    result = RUN("record", "--force-overwrite", "-o", "age.nvt", "--", cli_client("nested"), "3");
    assert_null(strstr(result.err, "was there"));
    expect_good(result);
    expect_good(run_shell("cmp age.old.nvt second && ! cmp -s age.nvt third && "
                          "[ -z \"$(ls -A | grep '^[.].*new')\" ]"));
    /* What others call the file stays what it was. */
    expect_good(run_shell("cp second one.nvt && ln one.nvt other.nvt"));
    expect_kept(RUN("record", "-o", "one.nvt", "--", "true"), "one.old.nvt");
    expect_good(
        run_shell("cmp other.nvt second && cmp one.old.nvt second && ! cmp -s one.nvt second"));
    expect_kept(RUN("record", "-o", "one.nvt", "--", "true"), "one.old.nvt");
}

/* Where a link leads, there is the trace. */
static void an_export_keeps_the_trace_that_is_there(void **state)
{
    (void)state;
    expect_good(run_shell("cp second in.nvt && cp first x.nvt && cp first x && cp first db"));
    expect_kept(RUN("export", "in.nvt", "--to", "nvt", "-o", "x.nvt"), "x.old.nvt");
    expect_good(run_shell("cmp x.old.nvt first && ! cmp -s x.nvt first"));
    expect_kept(RUN("export", "in.nvt", "--to", "chrome", "-o", "x"), "x.old");
    expect_good(run_shell(
        "cmp x.old first && rm x.old.nvt x.old && [ -z \"$(ls | grep '^x.*partial')\" ]"));
#ifdef HAVE_SQLITE
    expect_kept(RUN("export", "in.nvt", "--to", "sqlite", "-o", "db"), "db.old");
    expect_good(run_shell("cmp db.old first"));
#endif
    struct cli_result result = RUN("export", "in.nvt", "--to", "nvt", "-f", "-o", "x.nvt");
    assert_null(strstr(result.err, "was there"));
    expect_good(result);
    assert_false(is_there("x.old.nvt"));
    /* What cannot be kept stays. */
    expect_good(run_shell("mkdir x.old.nvt && touch x.old.nvt/file && cp first x.nvt"));
    expect_refused(RUN("export", "in.nvt", "--to", "nvt", "-o", "x.nvt"), "cannot be kept");
    expect_good(run_shell("cmp x.nvt first && rm -r x.old.nvt && [ ! -e x.nvt.partial ]"));
}

/* Of what is no trace itself. */
static void a_trace_is_replaced_by_traces_only(void **state)
{
    (void)state;
    static const char *const cases[][8] = {{"stats", "in.nvt", "-o", "first"},
                                           {"export", "in.nvt", "--to", "csv", "-o", "first"},
                                           {"report", "in.nvt", "-o", "first.html"},
                                           {"report", "in.nvt", "-o", "first.md"}};
    expect_good(run_shell("cp first first.html && cp first first.md && cp first before"));
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        const char *argv[10] = {"nvtally"};
        memcpy(argv + 1, cases[i], sizeof(cases[i]));
        expect_refused(run_here(argv), "is a trace, and is not replaced");
    }
    expect_good(run_shell("cmp first before && cmp first.html before && cmp first.md before"));
}

static void a_trace_behind_a_link_is_kept(void **state)
{
    (void)state;
    expect_good(run_shell("mkdir far && $0 record -o far/l.nvt -- true && cp far/l.nvt before && "
                          "ln -s far/l.nvt last.nvt"));
    expect_kept(RUN("record", "-o", "last.nvt", "--", cli_client("nested"), "3"),
                cli_in(cli_folder, "far/l.old.nvt"));
    expect_good(run_shell("cmp far/l.old.nvt before && [ -h last.nvt ] && [ ! -h far/l.nvt ] && "
                          "! cmp -s far/l.nvt before && [ ! -e last.old.nvt ]"));
    /* A link in the place of the one that is kept is replaced; what it leads to stays. */
    expect_good(run_shell("cp before p.nvt && cp before aim && ln -s aim p.old.nvt"));
    expect_kept(RUN("record", "-o", "p.nvt", "--", "true"), "p.old.nvt");
    expect_good(run_shell("[ ! -h p.old.nvt ] && cmp p.old.nvt before && cmp aim before"));
    /* One that leads nowhere, and a file that has lost its name. */
    expect_good(run_shell("ln -s nowhere q.nvt"));
    expect_good(RUN("record", "-o", "q.nvt", "--", "true"));
    expect_good(run_shell("cp before gone && exec 3<>gone && rm gone && "
                          "$0 record -o /dev/fd/3 -- true"));
}

static void what_cannot_be_kept_stays(void **state)
{
    (void)state;
    expect_good(run_shell("$0 record -o f.nvt -- true && cp f.nvt before && mkdir f.old.nvt"));
    expect_refused(RUN("record", "-o", "f.nvt", "--", "touch", "begun"), "--force-overwrite");
    expect_refused(RUN("record", "-o", "f.nvt", "--", "touch", "begun"),
                   "f.old.nvt: is not a regular file");
    expect_good(run_shell("rmdir f.old.nvt && echo mine >f.old.nvt"));
    expect_refused(RUN("record", "-o", "f.nvt", "--", "touch", "begun"),
                   "f.old.nvt: is not a trace");
    expect_text("f.old.nvt", "mine\n");
    expect_good(run_shell("cmp f.nvt before && [ ! -e begun ] && [ ! -e .f.nvt.new ]"));
    expect_good(RUN("record", "-f", "-o", "f.nvt", "--", "touch", "begun"));
    expect_text("f.old.nvt", "mine\n");
    /* One that is being written right now. */
    expect_good(run_shell(
        "rm begun && cp before f.old.nvt && $0 record -f -o f.old.nvt -- sh -c 'touch writing; "
        "while [ ! -e over ]; do sleep 0.02; done' & first=$!; "
        "while [ ! -e writing ]; do sleep 0.02; done; "
        "$0 record -o f.nvt -- touch begun 2>why; said=$?; touch over; wait $first && "
        "[ $said = 2 ] && [ ! -e begun ] && grep -q 'is being written by another recorder' why"));
    /* A folder where nothing can be made, which root does not know. */
    expect_good(run_shell(
        "mkdir shut && cp before shut/s.nvt && chmod 777 shut/s.nvt && chmod 755 . && "
        "chmod 555 shut && as= && [ $(id -u) != 0 ] || as='setpriv --reuid=65534 --clear-groups'; "
        "$as \"$0\" record -o shut/s.nvt -- true 2>why; said=$?; chmod 755 shut; "
        "[ $said = 2 ] && cmp shut/s.nvt before && [ $(ls shut | wc -l) = 1 ] && "
        "grep -q '^nvtally: .*cannot be kept .*--force-overwrite.*: Permission denied$' why"));
}

/* --- run -------------------------------------------------------------------------------------- */

#define SMALL "--batch", "1", "--warmup", "0", "--iterations", "1", "--backend", "host"

static void a_run_replaces_what_an_earlier_one_left(void **state)
{
    (void)state;
    struct cli_result result = RUN("run", "linear", "--size", "32,64", SMALL, "-o", "again");
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "replaced"));
    cli_result_free(&result);
    expect_good(run_shell(
        "cd again && cp linear-size32-*.nvt mine.nvt && cp mine.nvt ../outside.nvt && "
        "cp mine.nvt named.txt && ln -s mine.nvt link.nvt && mkdir below && "
        "cp mine.nvt below/x.nvt && "
        "for name in ../outside.nvt named.txt link.nvt below/x.nvt \"$PWD/mine.nvt\" missing.nvt; "
        "do sed -n '1s|\"trace\": \"[^\"]*\"|\"trace\": \"'\"$name\"'\"|p' results.jsonl; "
        "done >>results.jsonl"));
    result = RUN("run", "linear", "--size", "96", SMALL, "-o", "again", "--force-overwrite");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(
        result.err, "nvtally: the results in again are replaced and 2 traces of theirs removed\n"));
    cli_result_free(&result);
    expect_good(
        run_shell("[ \"$(ls again/linear-*.nvt)\" = again/linear-size96-batch1-linear.nvt ] && "
                  "cd again && ls mine.nvt ../outside.nvt named.txt below/x.nvt && "
                  "test -h link.nvt"));
    struct nvt_runs *runs = cli_read_runs(cli_in(cli_folder, "again"));
    assert_int_equal(runs->count, 1);
    nvt_runs_free(runs);
}

static void results_of_an_earlier_run_are_kept(void **state)
{
    (void)state;
    expect_good(RUN("run", "linear", "--size", "32,64", SMALL, "-o", "twice"));
    expect_good(run_shell("touch twice/mine && cp -a twice earlier && ln -s twice last"));
    struct cli_result result = RUN("run", "linear", "--size", "96", SMALL, "-o", "last/");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "nvtally: the results that were in last/ are now in /"));
    cli_result_free(&result);
    expect_good(run_shell("rm earlier/mine && diff -r earlier twice.old && ls twice/mine && "
                          "[ $(ls twice/*.nvt | wc -l) = 1 ] && $0 compare twice.old twice.old"));
    /* One is kept: that which was kept before makes room, and only its results do. */
    expect_good(run_shell("touch twice.old/yours && cp -a twice before2"));
    result = RUN("run", "linear", "--size", "128", SMALL, "-o", "twice");
    cli_expect_status(&result, 0);
    assert_non_null(
        strstr(result.err,
               "twice.old are replaced and 2 traces of theirs removed\nnvtally: the results "));
    cli_result_free(&result);
    expect_good(run_shell("rm before2/mine twice.old/yours && diff -r before2 twice.old"));
    /* A sweep that goes on where it was loses nothing that would have to be kept; another one does. */
    expect_good(run_shell("rm -r twice.old && cp twice/results.jsonl rows"));
    expect_good(RUN("run", "linear", "--size", "128", SMALL, "-o", "twice", "--resume"));
    expect_good(run_shell("cmp twice/results.jsonl rows && [ ! -e twice.old ]"));
    expect_good(RUN("run", "linear", "--size", "64", SMALL, "-o", "twice", "--resume"));
    expect_good(run_shell("cmp twice.old/results.jsonl rows && ls twice.old/*size128*.nvt && "
                          "[ $(ls twice/*.nvt | wc -l) = 1 ]"));
}

static void results_that_cannot_be_kept_stay(void **state)
{
    (void)state;
    expect_good(RUN("run", "linear", "--size", "32", SMALL, "-o", "stay"));
    expect_good(run_shell("cp -a stay before3 && echo mine >stay.old"));
    expect_refused(RUN("run", "linear", "--size", "64", SMALL, "-o", "stay"), "--force-overwrite");
    expect_text("stay.old", "mine\n");
    expect_good(run_shell("diff -r before3 stay"));
    expect_good(RUN("run", "linear", "--size", "64", SMALL, "-o", "stay", "-f"));
    expect_good(run_shell("[ $(ls stay/*.nvt | wc -l) = 1 ] && ls stay/*size64*"));
    /* A trace of somebody's that has the name of one. */
    struct cli_result result =
        run_shell("cp stay/*.nvt before4 && rm stay/results.jsonl && exec $0 "
                  "run linear --size 64 --batch 1 --warmup 0 "
                  "--iterations 1 --backend host -o stay");
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "nvtally: the trace that was there is now "));
    cli_result_free(&result);
    expect_good(run_shell("cmp stay/*.old.nvt before4"));
}

static void an_interrupt_shows_what_was_finished(void **state)
{
    (void)state;
    struct cli_result result = run_shell(
        "$0 run linear --size 32,4096 --batch 16 --warmup 0 --iterations 20000 --backend host & "
        "p=$!; trap 'kill $p 2>/dev/null' EXIT; for i in $(seq 8000); do sleep 0.05; "
        "for c in $(cat /proc/$p/task/$p/children); do tr '\\0' ' ' </proc/$c/cmdline; done >line; "
        "folder=$(grep -ao '/tmp/nvtally-run-[^/ ]*' line | head -n 1); "
        "grep -q size=4096 line && [ -s \"$folder/results.jsonl\" ] && break; done; "
        "kill -TERM $p; wait $p; said=$?; [ -e \"$folder\" ] && exit 1; exit $said");
    cli_expect_status(&result, 128 + 15);
    assert_non_null(strstr(result.err, "stopped by signal 15; the table shows finished runs"));
    assert_non_null(strstr(result.out, " 32 "));
    assert_null(strstr(result.out, "4096"));
    cli_result_free(&result);
}

static void folders_are_made(void **state)
{
    (void)state;
    expect_good(RUN("run", "linear", "--size", "32", SMALL, "-o", "new/out/x"));
    assert_true(is_there("new/out/x/results.jsonl"));
    expect_good(RUN("report", "new/out/x", "-o", "docs/y/z.html"));
    assert_true(is_there("docs/y/z.html"));
    cli_write_file(cli_in(cli_folder, "file"), "kept", 4);
    expect_refused(RUN("run", "linear", "--size", "32", SMALL, "-o", "file/out"), "file/out");
    expect_refused(RUN("report", "new/out/x", "-o", "file/z.html"), "file/z.html");
    expect_text("file", "kept");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_input_is_written_over),
        cmocka_unit_test(record_replaces_traces_only),
        cmocka_unit_test(one_recorder_writes_a_trace),
        cmocka_unit_test(an_existing_trace_is_kept),
        cmocka_unit_test(an_export_keeps_the_trace_that_is_there),
        cmocka_unit_test(a_trace_is_replaced_by_traces_only),
        cmocka_unit_test(a_trace_behind_a_link_is_kept),
        cmocka_unit_test(what_cannot_be_kept_stays),
        cmocka_unit_test(a_run_replaces_what_an_earlier_one_left),
        cmocka_unit_test(results_of_an_earlier_run_are_kept),
        cmocka_unit_test(results_that_cannot_be_kept_stay),
        cmocka_unit_test(an_interrupt_shows_what_was_finished),
        cmocka_unit_test(folders_are_made),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
