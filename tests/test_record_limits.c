/*
 * What `record` does where programs, limits, folders or environments leave it no way to record: the command runs as it
 * would alone, and the reason is said.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../lib/trace_file.h"
#include "record_kit.h"

static void says_what_cannot_be_run(void **state)
{
    (void)state;
    const char *missing[] = {"nvtally", "record",          "-o", recorded_path(),
                             "--",      "no-such-command", NULL};
    unlink(recorded_path());
    struct cli_result result = cli_run(missing);
    cli_expect_failure(&result, "no-such-command: command not found");
    cli_result_free(&result);
    assert_int_equal(access(recorded_path(), F_OK), -1);
    const char *folder[] = {"nvtally", "record", "-o", recorded_path(), "--", "/", NULL};
    result = cli_run(folder);
    cli_expect_failure(&result, "Permission denied");
    cli_result_free(&result);
    const char *nowhere[] = {"nvtally", "record", "-o", "/no/such/folder/t.nvt",
                             "--",      "true",   NULL};
    result = cli_run(nowhere);
    cli_expect_failure(&result, "/no/such/folder/t.nvt: cannot be created");
    cli_result_free(&result);
}

/* A command that is found and cannot be started: what stands where the trace would be stays as it is. */
static void leaves_the_output_alone_when_nothing_runs(void **state)
{
    (void)state;
    static const char script[] = "#!/no/such/interpreter\n";
    const char *broken = recorded_in("broken"), *device = recorded_in("device");
    struct stat status;
    cli_write_file(broken, script, sizeof(script) - 1);
    assert_int_equal(chmod(broken, 0700), 0);
    static const char trace[] = NVT_FILE_MAGIC "what was there";
    cli_write_file(recorded_path(), trace, sizeof(trace));
    const char *argv[] = {"nvtally", "record", "-o", recorded_path(), "--", broken, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_failure(&result, "the interpreter /no/such/interpreter, which is not there");
    cli_result_free(&result);
    size_t size;
    char *kept = cli_read_file(recorded_path(), &size);
    assert_int_equal(size, sizeof(trace));
    assert_memory_equal(kept, trace, sizeof(trace));
    free(kept);
    unlink(recorded_path());
    result = cli_run(argv);
    cli_expect_failure(&result, "which is not there");
    cli_result_free(&result);
    assert_int_equal(access(recorded_path(), F_OK), -1);
    if (mknod(device, S_IFCHR | 0600, makedev(1, 3)))
        return; /* no right to make one */
    argv[3] = device;
    result = cli_run(argv);
    cli_expect_failure(&result, "which is not there");
    cli_result_free(&result);
    assert_int_equal(lstat(device, &status), 0);
}

/* It waits for nobody who may never come, and whom no signal would end. */
static void a_pipe_that_nobody_reads_is_named(void **state)
{
    (void)state;
    const char *pipe_path = recorded_in("pipe");
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    const char *argv[] = {"nvtally", "record", "-o", pipe_path, "--", "echo", "ran", NULL};
    struct cli_options options = {.timeout_s = 20};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_failure(&result, "is a pipe that nobody reads");
    cli_result_free(&result);
    char script[2000];
    snprintf(script, sizeof(script),
             "cat %s >%s & exec \"$0\" record --trace nvtx -o %s -- %s plain", pipe_path,
             recorded_path(), pipe_path, cli_client("life"));
    const char *read_it[] = {"sh", "-c", script, cli_built("nvtally"), NULL};
    for (int try = 0; try < 50; try++) {
        result = cli_run_with(&options, read_it); /* cat may not have come yet */
        const int is_read = result.status == 3;
        cli_result_free(&result);
        if (is_read)
            break;
        assert_true(try < 49);
    }
    unlink(pipe_path);
}

static void leaves_another_tool_alone(void **state)
{
    (void)state;
    const char *argv[] = {"nvtally", "record", "-o", recorded_path(),
                          "--",      "sh",     "-c", "echo $NVTX_INJECTION64_PATH",
                          NULL};
    const char *environment[] = {"NVTX_INJECTION64_PATH=/opt/other/tool.so", NULL};
    struct cli_options options = {.environment = environment};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "/opt/other/tool.so\n");
    assert_non_null(strstr(result.err, "another tool is injected already"));
    cli_result_free(&result);
}

static void leaves_no_session_behind(void **state)
{
    (void)state;
    /* A place of its own: other recordings may come and go in the common one. */
    char place[600];
    snprintf(place, sizeof(place), "NVTALLY_TMPDIR=%s", recorded_in("sessions"));
    assert_int_equal(mkdir(recorded_in("sessions"), 0700), 0);
    const char *environment[] = {place, NULL};
    struct cli_options options = {.environment = environment};
    const char *argv[] = {"nvtally",
                          "record",
                          "-o",
                          recorded_path(),
                          "--",
                          "sh",
                          "-c",
                          "ls -d \"$NVTALLY_TMPDIR\"/nvtally-*/control; exec \"$0\" forks",
                          cli_client("life"),
                          NULL};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.out, "/sessions/nvtally-"));
    cli_result_free(&result);
    assert_int_equal(rmdir(recorded_in("sessions")), 0);
}

/* Somebody who says where the buffers shall be has a reason, a small /dev/shm as a rule. */
static void keeps_to_the_folder_that_was_asked_for(void **state)
{
    (void)state;
    char place[600];
    snprintf(place, sizeof(place), "NVTALLY_TMPDIR=%s", recorded_in("no-such-folder"));
    const char *environment[] = {place, NULL};
    struct cli_options options = {.environment = environment};
    const char *argv[] = {"nvtally", "record", "-o", recorded_path(), "--", "echo", "ran", NULL};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 2);
    assert_string_equal(result.out, "");
    assert_non_null(strstr(result.err, "no-such-folder: no private folder can be made for the "
                                       "buffers in it, as NVTALLY_TMPDIR asks: No such file"));
    cli_result_free(&result);
    environment[0] = "NVTALLY_TMPDIR=";
    result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    assert_string_equal(result.out, "ran\n");
    cli_result_free(&result);
}

/* Its loader ends a program over what a preloaded library lacks. In a tree of both, the other libc's programs are recorded. */
static void programs_of_another_libc_start(void **state)
{
    (void)state;
    if (!recorded_preloads())
        skip();
    const char *program = recorded_in("musl");
    char script[1200];
    snprintf(script, sizeof(script),
             "command -v musl-gcc >/dev/null || exit 77; "
             "printf 'int puts(const char *), usleep(unsigned); int main(void) { puts(\"runs\"); "
             "usleep(500000); return 3; }' >%s.c; "
             "musl-gcc %s.c -o %s",
             program, program, program);
    struct cli_result result = cli_run((const char *const[]){"sh", "-c", script, NULL});
    if (result.status == 77) {
        cli_result_free(&result);
        print_message("no musl-gcc here: not run\n");
        skip();
    }
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    static const char *const levels[] = {"nvtx", "osrt", "cpu", "mpi", "nvtx,osrt,cpu,mpi"};
    snprintf(script, sizeof(script), "%s plain >/dev/null; %s; s=$?; sleep 0.02; exit $s",
             cli_client("life"), program);
    for (size_t i = 0; i < NVT_COUNT_OF(levels); i++) {
        result =
            cli_run((const char *const[]){"nvtally", "record", "-f", "--trace", levels[i], "-o",
                                          recorded_path(), "--", "sh", "-c", script, NULL});
        cli_expect_status(&result, 3);
        assert_string_equal(result.out, "runs\n");
        if (!strstr(result.err, "not recorded, as it is of another libc: musl ("))
            fail_msg("%s", result.err);
        cli_result_free(&result);
        struct nvt_trace *trace = recorded_trace();
        if (strstr(levels[i], "nvtx"))
            assert_int_equal(recorded_count(trace, "plain"), 1);
        if (strstr(levels[i], "osrt"))
            assert_true(trace->os_calls.count > 0);
        nvt_trace_free(trace);
    }
}

/* AddressSanitizer as a shared library ends a program where another one is in front of it, unless it is told not to look: so
 * programs that have it start, and are recorded, at all levels; what the user has said of it stays. */
static void programs_with_address_sanitizer_start(void **state)
{
    (void)state;
    if (!recorded_preloads())
        skip();
    const char *program = recorded_in("asan");
    char script[1200];
    snprintf(script, sizeof(script),
             "printf '#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
             "int main(void) { usleep(20000); puts(getenv(\"ASAN_OPTIONS\") ? "
             "getenv(\"ASAN_OPTIONS\") : \"none\"); return 3; }' >%s.c; "
             "gcc -fsanitize=address %s.c -o %s 2>/dev/null && %s >/dev/null",
             program, program, program, program);
    struct cli_result result = cli_run((const char *const[]){"sh", "-c", script, NULL});
    const int is_there = result.status == 3;
    cli_result_free(&result);
    if (!is_there) {
        print_message("no AddressSanitizer here: not run\n");
        skip();
    }
    static const struct {
        const char *levels, *before, *seen;
    } ways[] = {{"nvtx", "ASAN_OPTIONS", "none\n"},
                {"osrt", "ASAN_OPTIONS", "verify_asan_link_order=0\n"},
                {"cpu", "ASAN_OPTIONS=exitcode=9", "verify_asan_link_order=0:exitcode=9\n"},
                {"mpi,osrt,cpu", "ASAN_OPTIONS=", "verify_asan_link_order=0\n"}};
    for (size_t i = 0; i < NVT_COUNT_OF(ways); i++) {
        const char *environment[] = {ways[i].before, NULL};
        const struct cli_options options = {.environment = environment};
        result = cli_run_with(&options, (const char *const[]){"nvtally", "record", "-f", "--trace",
                                                              ways[i].levels, "-o", recorded_path(),
                                                              "--", program, NULL});
        cli_expect_status(&result, 3);
        assert_string_equal(result.out, ways[i].seen);
        cli_result_free(&result);
        struct nvt_trace *trace = recorded_trace();
        if (strstr(ways[i].levels, "osrt"))
            assert_true(trace->os_calls.count > 0);
        nvt_trace_free(trace);
    }
}

/* A program under a limit of address space, whose shell is there for so many seconds behind it: time for the recorder to look at it. */
static struct cli_result record_limited(int kib, double seconds)
{
    char script[600];
    snprintf(script, sizeof(script),
             "exec $0 record -f --trace nvtx -o %s -- sh -c 'ulimit -v %d; %s plain; s=$?; "
             "/bin/sleep %g; exit $s'",
             recorded_path(), kib, cli_client("life"), seconds);
    return cli_run((const char *const[]){"sh", "-c", script, cli_built("nvtally"), NULL});
}

static const char has_all[] = "nvtally: 2 events of 1 thread in 1 process";

/* Whether the limit is not said of a program that ran and was not recorded. */
static int is_limit_unsaid(const struct cli_result *result)
{
    return result->status == 3 && !strstr(result->err, has_all) &&
           !strstr(result->err, "the limit of address space (ulimit -v) is") &&
           !strstr(result->err, ": Cannot allocate memory") && !strstr(result->err, "were lost");
}

/* `record` needs little stack, and says so where the address space has no room for the collector. */
static void limits_of_memory_are_kept_to(void **state)
{
    (void)state;
    char script[600];
    static const char *const levels[] = {"nvtx", "nvtx,osrt,cpu,mpi,machine,process"};
    for (size_t i = 0; i < NVT_COUNT_OF(levels); i++) {
        if (i && !recorded_preloads())
            break;
        snprintf(script, sizeof(script),
                 "ulimit -s 64 && exec $0 record -f --trace %s -o %s -- %s plain", levels[i],
                 recorded_path(), cli_client("life"));
        struct cli_result result =
            cli_run((const char *const[]){"sh", "-c", script, cli_built("nvtally"), NULL});
        cli_expect_status(&result, 3);
        if (!strstr(result.err, has_all))
            fail_msg("%s: %s", levels[i], result.err);
        cli_result_free(&result);
    }
#ifdef __SANITIZE_ADDRESS__
    print_message("no limit of address space: AddressSanitizer takes terabytes of it\n");
    return;
#endif
    /* From a limit at which no program starts up to one that leaves room: who is recorded has all, of the others it is said. */
    int has_some = 0;
    for (int kib = 2000; !has_some && kib < 1 << 20; kib += kib / 8) {
        struct cli_result result = record_limited(kib, 0.3);
        for (double seconds = 3; seconds < 20 && is_limit_unsaid(&result); seconds *= 2) {
            print_message("%d KiB: nobody looked: again\n", kib);
            cli_result_free(&result);
            result = record_limited(kib, seconds);
        }
        has_some = strstr(result.err, has_all) != 0;
        if (is_limit_unsaid(&result))
            fail_msg("%d KiB: %s", kib, result.err);
        cli_result_free(&result);
    }
    assert_true(has_some);
}

/* Where a limit leaves a recorder no room, the command runs as it would alone, and a line says so. */
static void limits_that_leave_no_room(void **state)
{
    (void)state;
    static const struct {
        const char *limit, *value, *said;
    } limits[] = {{"-n 8", "8\n", "ulimit -n allows 8 open files: "},
                  {"-f 4", "4\n", "ulimit -f allows "}};
    for (size_t i = 0; i < NVT_COUNT_OF(limits); i++) {
        char script[600];
        snprintf(script, sizeof(script),
                 "rm -f %s; ulimit %s && exec $0 record -o %s -- sh -c 'ulimit %.2s; exit 3'",
                 recorded_path(), limits[i].limit, recorded_path(), limits[i].limit);
        struct cli_result result =
            cli_run((const char *const[]){"sh", "-c", script, cli_built("nvtally"), NULL});
        cli_expect_status(&result, 3);
        assert_string_equal(result.out, limits[i].value);
        if (strncmp(result.err, "nvtally: the command runs without being recorded, as ", 53) != 0 ||
            !strstr(result.err, limits[i].said) || strchr(result.err, '\n')[1])
            fail_msg("%s: %s", limits[i].limit, result.err);
        cli_result_free(&result);
        assert_int_not_equal(access(recorded_path(), F_OK), 0);
        /* What cannot be started is still that. */
        snprintf(script, sizeof(script), "ulimit %s && exec $0 record -o %s -- ./missing",
                 limits[i].limit, recorded_path());
        result = cli_run((const char *const[]){"sh", "-c", script, cli_built("nvtally"), NULL});
        cli_expect_failure(&result, "missing");
        cli_result_free(&result);
    }
}

/* As the recorder itself has said, which nobody may have kept. */
static void events_without_a_buffer_are_noted(void **state)
{
    (void)state;
    char script[600];
    snprintf(script, sizeof(script),
             "(ulimit -f 32; exec $0 record -f -o %s -- %s plain 2>/dev/null); "
             "exec $0 stats -r nvtx_sum %s",
             recorded_path(), cli_client("life"), recorded_path());
    struct cli_result result =
        cli_run((const char *const[]){"sh", "-c", script, cli_built("nvtally"), NULL});
    if (!strstr(result.err, "2 events were lost of threads that got no buffer\n"))
        fail_msg("%s", result.err);
    cli_result_free(&result);
}

/* Why nothing was recorded is what the process itself found, not a guess. */
static void who_cannot_join_says_why(void **state)
{
    (void)state;
    static const struct {
        const char *script, *said;
    } ways[] = {
        {"unshare -m sh -c 'mount -t tmpfs none /dev/shm && exec %s plain' 2>/dev/null",
         "is not there in its mount namespace"},
        {"setpriv --reuid 65534 --clear-groups %s plain", "it runs as another user"},
        {"exec %s changes_user", "changed its user after it had joined the recording"},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(ways); i++) {
        char script[800];
        snprintf(script, sizeof(script), ways[i].script, cli_client("life"));
        struct cli_result result = cli_run((const char *const[]){
            "nvtally", "record", "-f", "-o", recorded_path(), "--", "sh", "-c", script, NULL});
        if (result.status != 3) {
            cli_result_free(&result);
            print_message("no right to make a mount namespace, or to be another user: not run\n");
            skip();
        }
        if (!strstr(result.err, ways[i].said) || !strstr(result.err, "life (process "))
            fail_msg("%s", result.err);
        assert_null(strstr(result.err, "no NVTX calls were recorded"));
        cli_result_free(&result);
    }
}

/* `nvtally record` of a shell's script, which has "%s" for how long programs sleep. The recorder looks at them now and then: where it
 * had no chance to, on a busy machine, they sleep for longer. */
static struct cli_result record_sleepers(const char *script, const char *first, const char *named)
{
    static const char *const naps[] = {"0.5", "5", "30"};
    struct cli_result result = {0};
    for (size_t i = 0; i < NVT_COUNT_OF(naps); i++) {
        char text[1600];
        snprintf(text, sizeof(text), script, naps[i]);
        result =
            cli_run((const char *const[]){"nvtally", "record", "-f", "--trace", "nvtx", "-o",
                                          recorded_path(), "--", "sh", "-c", text, first, NULL});
        if (!named || strstr(result.err, named) || i + 1 == NVT_COUNT_OF(naps))
            break;
        cli_result_free(&result);
    }
    return result;
}

/* sudo and others begin programs with an environment that does not name the session. */
static void programs_without_our_environment_are_named(void **state)
{
    (void)state;
    static const char says[] = "as it began without nvtally's environment";
    static const struct {
        const char *script;
        int is_named, has_events;
    } ways[] = {{"exec env -i /bin/sleep %s", 1, 0},
                {"exec env -i PATH=/bin A=1 /bin/sleep %s", 1, 0},
                {"exec env -i A=1 b_2= /bin/sleep %s", 1, 0},
                {"$0 plain; exec env -i /bin/sleep %s", 1, 1}, /* next to one that is recorded */
                {"$0 plain; exec /bin/sleep %s", 0, 1},
                {"exec /bin/sleep %s", 0, 0}};
    for (size_t i = 0; i < NVT_COUNT_OF(ways); i++) {
        struct cli_result result =
            record_sleepers(ways[i].script, cli_client("life"), ways[i].is_named ? says : NULL);
        cli_expect_status(&result, 0);
        const int is_named = strstr(result.err, says) != 0;
        const int is_guessed = strstr(result.err, "no NVTX calls were recorded") != 0;
        if (is_named != ways[i].is_named || is_guessed != (!is_named && !ways[i].has_events))
            fail_msg("%s: %s", ways[i].script, result.err);
        cli_result_free(&result);
    }
}

/* A root folder without the collector, as that of a container or a chroot: the program runs, and the recorder has seen where. */
static void roots_without_the_collector_are_named(void **state)
{
    (void)state;
    static const char says[] = "libraries are not in its root folder (a container?): sleep (";
    static const char script[] =
        "mkdir -p $0/bin && cp /bin/sleep $0/bin && ldd /bin/sleep | grep -o '/[^ ]*' | "
        "while read -r file; do mkdir -p $0$(dirname $file) && cp $file $0$file; done; "
        "chroot $0 /bin/sleep %s && exit 3";
    struct cli_result result = record_sleepers(script, recorded_in("root"), says);
    if (result.status != 3) {
        cli_result_free(&result);
        print_message("no right to call chroot: not run\n");
        skip();
    }
    if (!strstr(result.err, says))
        fail_msg("%s", result.err);
    assert_null(strstr(result.err, "no NVTX calls were recorded"));
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_of_another_libc_start),
        cmocka_unit_test(programs_with_address_sanitizer_start),
        cmocka_unit_test(limits_of_memory_are_kept_to),
        cmocka_unit_test(limits_that_leave_no_room),
        cmocka_unit_test(events_without_a_buffer_are_noted),
        cmocka_unit_test(who_cannot_join_says_why),
        cmocka_unit_test(programs_without_our_environment_are_named),
        cmocka_unit_test(roots_without_the_collector_are_named),
        cmocka_unit_test(says_what_cannot_be_run),
        cmocka_unit_test(leaves_the_output_alone_when_nothing_runs),
        cmocka_unit_test(a_pipe_that_nobody_reads_is_named),
        cmocka_unit_test(leaves_another_tool_alone),
        cmocka_unit_test(leaves_no_session_behind),
        cmocka_unit_test(keeps_to_the_folder_that_was_asked_for),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
