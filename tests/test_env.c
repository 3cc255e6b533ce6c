/*
 * nvtally env: processes that are there without a recorder record nothing and cost nothing; when somebody asks they are recorded, whoever
 * made the session, whatever became of a recorder before.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../collectors/ring.h"
#include "../collectors/standing.h"
#include "../lib/count_of.h"
#include "../lib/counts.h"
#include "../lib/hardware_counters.h"
#include "record_kit.h"

#define MS INT64_C(1000000)

/* A script, in which $0 is nvtally and $1 the client `standing`, $2 to $4 traces; what it said. */
static struct cli_result run(const char *script)
{
    static char names[3][PATH_MAX];
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof(name), "%c.nvt", 'a' + i);
        snprintf(names[i], sizeof(names[i]), "%s", recorded_in(name));
        unlink(names[i]);
    }
    char whole[4096];
    snprintf(whole, sizeof(whole), "rm -rf $NVTALLY_TMPDIR/*; " CLI_UNTIL_STATUS "%s", script);
    const char *argv[] = {
        "sh",     "-c",     whole, cli_built("nvtally"), cli_client("standing"), names[0],
        names[1], names[2], NULL};
    return cli_run(argv);
}

static void expect(struct cli_result *result, const char *said)
{
    if (result->status || !strstr(result->out, said))
        fail_msg("no '%s' in:\n%s\n%s", said, result->out, result->err);
}

/* When it is complete: its recorder is nobody's child, and at work a moment longer than the job. */
static struct nvt_trace *trace_of(const char *name)
{
    struct nvt_trace *trace = recorded_trace_at(recorded_in(name));
    for (int i = 0; i < 6000 && trace->goes_on; i++) {
        nvt_trace_free(trace);
        usleep(10000);
        trace = recorded_trace_at(recorded_in(name));
    }
    assert_false(trace->goes_on);
    return trace;
}

/* What was defined before the recorder came is known, and ranges that were open then are not there. */
static void expect_whole(const struct nvt_trace *trace)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    assert_true(recorded_count(trace, "tick") > 3);
    assert_true(recorded_count(trace, "between") > 3);
    assert_true(recorded_count(trace, "request") > 3);
    int has_category = 0, has_thread = 0;
    for (uint32_t i = 0; i < ranges->count; i++)
        has_category |= ranges->category[i] != NVT_NONE;
    for (uint32_t i = 0; i < trace->threads.count; i++)
        has_thread |= !strcmp(nvt_name(trace, trace->threads.name[i]), "the named thread");
    assert_true(has_category);
    assert_true(has_thread);
}

/* Until somebody asks there is one page; afterwards what was there before and what comes later is recorded, children and images too. */
static void records_when_asked(void **state)
{
    (void)state;
    struct cli_result result = run(
        "eval \"$(\"$0\" env -t nvtx)\"; \"$1\" 8000 & \"$1\" 8000 fork & \"$1\" 8000 exec & "
        "last=$!; until_status processes.3; ls $NVTALLY_TMPDIR/nvtally-*; ls /proc/$last/task | "
        "wc -l; \"$0\" ctl status; \"$0\" ctl start -o \"$2\"; \"$1\" 60000 & late=$!; "
        "\"$0\" ctl status; until_status processes.6; \"$0\" ctl stop; kill $late; wait");
    expect(&result, "control\n1\nstate\tdormant\nprocesses\t3\n");
    expect(&result, "recording to /");
    expect(&result, "state\trecording\n");
    expect(&result, "stopped: ");
    assert_null(strstr(result.out, "ring."));
    cli_result_free(&result);
    struct nvt_trace *trace = trace_of("a.nvt");
    expect_whole(trace);
    /* Three, a child, an image behind exec, and one that came later. */
    assert_int_equal(trace->processes.count, 6);
    uint32_t runs = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        runs += !strcmp(nvt_name(trace, trace->ranges.name[i]), "run");
    assert_int_equal(runs, 2); /* of those that began meanwhile */
    assert_memory_equal(nvt_trace_meta(trace, "recorded"), "1 part, ", 8);
    nvt_trace_free(trace);
}

/* The recorder ends with the job, and the session with it; its trace is complete. */
static void goes_with_the_job(void **state)
{
    (void)state;
    struct cli_result result =
        run("sh -c '" CLI_UNTIL_STATUS "eval \"$(\"$0\" env -t nvtx)\"; \"$1\" 5000 & until_status "
            "processes.1; \"$0\" ctl start -o "
            "\"$2\"; wait' \"$0\" \"$1\" \"$2\"; until [ -z \"$(ls $NVTALLY_TMPDIR)\" ]; do sleep "
            "0.05; done; ls $NVTALLY_TMPDIR | wc -l; \"$0\" ctl ps");
    expect(&result, "\n0\n");
    assert_non_null(strstr(result.err, "no recording is going on"));
    assert_null(strstr(result.err, "truncated"));
    cli_result_free(&result);
    struct nvt_trace *trace = trace_of("a.nvt");
    expect_whole(trace);
    assert_true(recorded_count(trace, "tick") > 20);
    nvt_trace_free(trace);
}

/* A recorder that is told to end, and one that is killed, leave the processes to the next. */
static void recorders_follow_one_another(void **state)
{
    (void)state;
    struct cli_result result =
        run("recorder() { \"$0\" ctl ps -f csv | sed -n 's/^\\([0-9][0-9]*\\),.*/\\1/p'; }; "
            "eval \"$(\"$0\" env -t nvtx)\"; \"$1\" 60000 & job=$!; until_status processes.1; "
            "\"$0\" ctl start -o \"$2\"; sleep 0.5; first=$(recorder); kill -TERM $first; "
            "while kill -0 $first 2>/dev/null; do sleep 0.05; done; \"$0\" ctl status; "
            "\"$0\" ctl start -o \"$3\"; sleep 0.5; kill -KILL $(recorder); until_status "
            "state.dormant; \"$0\" ctl status; "
            "\"$0\" ctl start -o \"$4\"; sleep 0.5; \"$0\" ctl stop; \"$0\" ctl start; sleep 0.3; "
            "\"$0\" ctl stop; kill $job; wait");
    expect(&result, "a.nvt\nstate\tdormant\nprocesses\t1\n");
    expect(&result, "b.nvt\nstate\tdormant\nprocesses\t1\n");
    cli_result_free(&result);
    const char *const names[] = {"a.nvt", "b.nvt", "c.nvt"};
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++) {
        struct nvt_trace *trace = trace_of(names[i]);
        expect_whole(trace);
        assert_in_range(recorded_count(trace, "tick"), 3, 20000);
        assert_int_equal(trace->processes.count, 1);
        nvt_trace_free(trace);
    }
    struct nvt_trace *last = trace_of("c.nvt");
    assert_memory_equal(nvt_trace_meta(last, "recorded"), "2 parts, ", 9);
    nvt_trace_free(last);
}

/* Whoever is first, there is one recorder. */
static void two_at_once(void **state)
{
    (void)state;
    struct cli_result result =
        run("eval \"$(\"$0\" env -t nvtx)\"; \"$1\" 60000 & job=$!; until_status processes.1; "
            "\"$0\" ctl start -o \"$2\" & first=$!; \"$0\" ctl start -o \"$3\" & wait $first $!; "
            "\"$0\" ctl ps -f csv | grep -c recording; \"$0\" ctl stop; kill $job; wait; "
            "ls \"$2\" \"$3\" 2>/dev/null | wc -l");
    expect(&result, "\n1\nstopped: ");
    expect(&result, "\n1\n");
    cli_result_free(&result);
}

static void records_steps(void **state)
{
    (void)state;
    struct cli_result result =
        run("eval \"$(\"$0\" env -t nvtx --iteration tick@standing)\"; "
            "\"$1\" 60000 & one=$!; \"$1\" 60000 & until_status processes.2; "
            "\"$0\" ctl steps 5 -o \"$2\"; \"$0\" ctl status | grep state; "
            "\"$0\" ctl steps 7; kill $one $!; wait");
    expect(&result, " (from 0) of 2 processes: /");
    expect(&result, "state\tdormant\n");
    cli_result_free(&result);
    struct nvt_trace *trace = trace_of("a.nvt");
    assert_int_equal(recorded_count(trace, "tick"), 2 * (5 + 7));
    nvt_trace_free(trace);
}

/* The variable is enough: on a host where nobody has made the session, the first process does. */
static void the_first_process_makes_it(void **state)
{
    (void)state;
    struct cli_result result = run(
        "eval \"$(\"$0\" env -t nvtx)\"; rm -r $NVTALLY_TMPDIR/nvtally-*; for i in 1 2 3 4 5 6 7 "
        "8; do "
        "\"$1\" 8000 & done; until_status processes.8; ls $NVTALLY_TMPDIR/nvtally-*; "
        "\"$0\" ctl status | head -2; \"$0\" ctl start -o \"$2\"; wait");
    expect(&result, "control\nstate\tdormant\nprocesses\t8\n");
    cli_result_free(&result);
    struct nvt_trace *trace = trace_of("a.nvt");
    assert_int_equal(trace->processes.count, 8);
    nvt_trace_free(trace);
}

/* A folder of that name that others may enter is not ours; a program is none the worse for it. */
static void joins_no_folder_of_others(void **state)
{
    (void)state;
    struct cli_result result = run("eval \"$(\"$0\" env -t nvtx)\"; rm -r "
                                   "$NVTALLY_TMPDIR/nvtally-*; folder=${NVTALLY_SESSION%%:*}; "
                                   "mkdir -m 755 $folder; \"$1\" 100; echo ended with $?; ls -A "
                                   "$folder | wc -l; rmdir $folder");
    expect(&result, "ended with 0\n0\n");
    cli_result_free(&result);
}

static void the_variable(void **state)
{
    (void)state;
    struct nvt_standing standing, again;
    char text[1024];
    assert_int_equal(nvt_standing_parse("/dev/shm/nvtally-AbCdEf", &standing), 0);
    assert_int_equal(standing.is_standing, 0);
    assert_int_equal(nvt_standing_parse("/a:b/nvtally-AbCdEf:3:400:a:b@c", &standing), 0);
    assert_int_equal(standing.is_standing, 1);
    assert_string_equal(standing.folder, "/a:b/nvtally-AbCdEf");
    assert_string_equal(standing.iteration, "a:b@c");
    assert_true(nvt_standing_text(&standing, text, sizeof(text)));
    assert_int_equal(nvt_standing_parse(text, &again), 0);
    assert_memory_equal(&standing, &again, sizeof(again));
    static const char *const wrong[] = {"",
                                        "/d/nvtally-AbCdEf:",
                                        "/d/nvtally-AbCdEf:0:400:",
                                        "/d/nvtally-AbCdEf:3:401:",
                                        "/d/nvtally-AbCdEf:3:200:",
                                        "/d/nvtally-AbCdEf:3:400",
                                        "/d/nvtally-AbCdEf:3:80000000:",
                                        "/d/nvtally-AbCdEf:x:400:"};
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++)
        assert_int_equal(nvt_standing_parse(wrong[i], &standing), -1);
}

/* A page of counters that were chosen, the caller's. */
static struct nvt_control *choose(void)
{
    struct nvt_control *page = calloc(1, sizeof(*page));
    assert_non_null(page);
    page->trace = NVT_TRACE_COUNTERS | NVT_TRACE_METRICS;
    page->usual_counters = 3;
    page->chosen_counters = NVT_CHOSEN_MOST;
    for (uint32_t i = 0; i < NVT_CHOSEN_MOST; i++) {
        page->chosen[i].type = 4;
        page->chosen[i].config = UINT64_MAX - i;
        snprintf(page->chosen[i].name, sizeof(page->chosen[i].name), "pmu::EVENT.%u:MASK:k=1", i);
    }
    snprintf(page->topdown, sizeof(page->topdown), "some processor");
    memcpy(page->metrics, "gr__cycles_active.avg\nsm__x.sum\n", 33);
    page->metrics_hz = 20000;
    return page;
}

/* Counters go with the variable onto the page of another host, names and all. */
static void the_variable_has_counters(void **state)
{
    (void)state;
    struct nvt_standing standing = {.trace = NVT_TRACE_COUNTERS | NVT_TRACE_METRICS,
                                    .slots = 1024,
                                    .iteration = "a:b@c"},
                        again;
    struct nvt_control *page = choose(), *made = calloc(1, sizeof(*made));
    char wishes[NVT_STANDING_WISHES], text[4096];
    nvt_standing_wishes(page, 1, wishes);
    standing.wishes = wishes;
    standing.wishes_size = strlen(wishes);
    snprintf(standing.folder, sizeof(standing.folder), "%s/" NVT_SESSION_PREFIX "AbCdEf",
             getenv("NVTALLY_TMPDIR"));
    assert_true(nvt_standing_text(&standing, text, sizeof(text)));
    assert_int_equal(nvt_standing_parse(text, &again), 0);
    assert_string_equal(again.iteration, "a:b@c");
    assert_int_equal(nvt_standing_make(&again, 0, 0), 0);
    FILE *file = fopen(cli_in(standing.folder, NVT_CONTROL_NAME), "rb");
    assert_non_null(file);
    assert_non_null(made);
    assert_int_equal(fread(made, sizeof(*made), 1, file), 1);
    fclose(file);
    assert_int_equal(made->usual_counters, 3);
    assert_int_equal(made->chosen_counters, NVT_CHOSEN_MOST);
    assert_memory_equal(made->chosen, page->chosen, sizeof(page->chosen));
    assert_string_equal(made->topdown, page->topdown);
    assert_string_equal(made->metrics, page->metrics);
    assert_int_equal(made->metrics_hz, 20000);
    unlink(cli_in(standing.folder, NVT_CONTROL_NAME));
    static const char *const wrong[] = {
        "[c3,4.1]",
        "[c3,4]",
        "[m0,x]",
        "[m10]",
        "[m10,]",
        "[x1]",
        "[c1,0.1.a,0.2.b,0.3.c,0.4.d,0.5.e]",
        ("[c1,0.1."
         "1234567890123456789012345678901234567890123456789012345678901234]"),
        "[t1234567890123456789012345678901234567890]"};
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        snprintf(text, sizeof(text), "%s:8000:400%s:", standing.folder, wrong[i]);
        assert_int_equal(nvt_standing_parse(text, &again), 0);
        if (!nvt_standing_make(&again, 0, 0) || errno != EPROTO)
            fail_msg("%s was taken", wrong[i]);
    }
    snprintf(text, sizeof(text), "%s:8000:400[c3:", standing.folder);
    assert_int_equal(nvt_standing_parse(text, &again), -1);
    rmdir(standing.folder);
    free(page);
    free(made);
}

/* Which counters a job was asked to count is known when somebody records it; why there are none, too. */
static void counters_are_chosen(void **state)
{
    (void)state;
    struct cli_result result =
        run("eval \"$(\"$0\" env -t nvtx,counters=cycles,L1-dcache-load-misses)\"; \"$1\" 60000 & "
            "until_status processes.1; \"$0\" ctl start -o \"$2\"; sleep 0.3; \"$0\" ctl stop; "
            "kill $!; wait");
    expect(&result, "stopped: ");
    cli_result_free(&result);
    struct nvt_trace *trace = trace_of("a.nvt");
    assert_true(recorded_count(trace, "tick") > 3);
    assert_true(trace->range_counts.count > 0);
    assert_string_equal(nvt_trace_meta(trace, NVT_FACT_CHOSEN), "L1-dcache-load-misses");
    char why[NVT_HARDWARE_WHY_MAX];
    if (!nvt_hardware_counters(why, sizeof(why)))
        assert_string_equal(nvt_trace_meta(trace, NVT_FACT_NO_HARDWARE), why);
    else
        assert_null(nvt_trace_meta(trace, NVT_FACT_NO_HARDWARE));
    nvt_trace_free(trace);
}

static void expect_refused(const char *needle, const char *const words[])
{
    const char *argv[8] = {"nvtally", "env"};
    for (size_t i = 0; words[i]; i++)
        argv[i + 2] = words[i];
    struct cli_result result = cli_run(argv);
    cli_expect_failure(&result, needle);
    cli_result_free(&result);
}
#define EXPECT_REFUSED(needle, ...) expect_refused(needle, (const char *const[]){__VA_ARGS__, NULL})

static void wrong_options(void **state)
{
    (void)state;
    EXPECT_REFUSED("--trace nvtx,cpu: cpu cannot be recorded later", "-t", "nvtx,cpu");
    EXPECT_REFUSED("--trace nope: there is no 'nope'", "--trace", "nope");
    EXPECT_REFUSED("there is no counter 'cylces'", "-t", "counters=cylces");
    EXPECT_REFUSED("--trace metrics: there is no 'nope'", "-t", "metrics=nope");
    EXPECT_REFUSED("must be a rate from 10Hz to 200kHz", "-t", "metrics@1MHz");
    EXPECT_REFUSED("--trace metrics=bf16: bf16, tf32, fp8, fp32 and bytes are counted over ranges: "
                   "nvtally record --counters-of RANGE",
                   "-t", "metrics=bf16");
    EXPECT_REFUSED("--trace none leaves nothing to record", "--trace", "none");
    EXPECT_REFUSED("--iteration needs --trace nvtx", "-t", "kernel", "--iteration", "x");
    EXPECT_REFUSED("--pytorch needs --trace nvtx", "-t", "kernel", "--pytorch");
    EXPECT_REFUSED("--iteration : must be the name of a range", "--iteration", "");
    EXPECT_REFUSED("--ring-size 3: must be from 64K to 1G", "--ring-size", "3");
    EXPECT_REFUSED("'true' is one word too many; a command stands behind --", "true");
    EXPECT_REFUSED("/no/such: command not found", "--", "/no/such");
    EXPECT_REFUSED("no-such: command not found", "--", "no-such");
    EXPECT_REFUSED("needs a value", "-t");
    EXPECT_REFUSED("unknown option -x", "-x");
    EXPECT_REFUSED("unknown option -ZY", "-ZY");
    const char *const environment[] = {"NVTX_INJECTION64_PATH=/lib/other.so", NULL};
    const struct cli_options options = {.environment = environment};
    const char *argv[] = {"nvtally", "env", NULL};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_failure(&result, "another tool is injected already (NVTX_INJECTION64_PATH)");
    cli_result_free(&result);
}

/* Two variables, three where GPUs are to be recorded; and what a command gets. */
static void prints_variables(void **state)
{
    (void)state;
    struct cli_result result =
        run("\"$0\" env -t nvtx | cut -d= -f1; \"$0\" env | wc -l; \"$0\" env -t nvtx -- env | "
            "grep -c -e "
            "^NVTALLY_SESSION= -e ^NVTX_INJECTION64_PATH=; \"$0\" env --pytorch -t nvtx | grep -c "
            "-e PYTHONPATH= -e NVTALLY_PYTORCH=");
    expect(&result, "export NVTALLY_SESSION\nexport NVTX_INJECTION64_PATH\n3\n2\n2\n");
    cli_result_free(&result);
}

/* Sessions of others on this machine are none of ours, nor those of the test before. */
static int set_up(void **state)
{
    char path[PATH_MAX];
    const int status = recorded_set_up(state);
    char *folder = realpath(recorded_in("."), NULL);
    snprintf(path, sizeof(path), "%s/tmp", folder);
    mkdir(path, 0700);
    setenv("NVTALLY_TMPDIR", path, 1);
    free(folder);
    return status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_variable),
        cmocka_unit_test(the_variable_has_counters),
        cmocka_unit_test(wrong_options),
        cmocka_unit_test(prints_variables),
        cmocka_unit_test(goes_with_the_job),
        cmocka_unit_test(records_when_asked),
        cmocka_unit_test(counters_are_chosen),
        cmocka_unit_test(recorders_follow_one_another),
        cmocka_unit_test(two_at_once),
        cmocka_unit_test(records_steps),
        cmocka_unit_test(the_first_process_makes_it),
        cmocka_unit_test(joins_no_folder_of_others),
    };
    return cmocka_run_group_tests(tests, set_up, recorded_tear_down);
}
