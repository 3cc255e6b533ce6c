/*
 * The collector takes nothing that the program may come to need: what a process has of each scarce thing, alone and recorded; and a
 * program that has used one of them up ends as it does alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cli.h"
#include "record_kit.h"

#define CPU 1 /* levels with cpu */

static const struct {
    const char *list;
    int has;
} levels[] = {{"nvtx", 0}, {"nvtx,osrt", 0}, {"nvtx,cpu", CPU}, {"nvtx,osrt,cpu,mpi,machine", CPU}};

/* What may differ, and by how much; everything else is the same, line by line. */
static const struct {
    const char *name;
    long least, most; /* recorded less alone */
    int needs;        /* of levels; 0: all */
} allowed[] = {
    {"keys", -1, 0, 0}, /* of 1,024: one that sees threads end, */
    {"keys", -2, 0, CPU},
    /* KiB; each thread's buffer, as large as it may get, is 1,024 of them */
    {"VmSize:", 0, 8192, 0},
    {"maps", 0, 64, 0},
    /* one a thread; each is a pending signal that RLIMIT_SIGPENDING allows */
    {"timers", 1, 1, CPU},
};

/* Variables that only the recorded program has. */
static const char *const variables[] = {"env-NVTX_INJECTION64_PATH",
                                        "env-CUDA_INJECTION64_PATH",
                                        "env-NVTALLY_SESSION",
                                        "env-LD_PRELOAD",
                                        "env-PYTHONPATH",
                                        "env-NVTALLY_SAMPLE_SIGNAL",
                                        "env-ASAN_OPTIONS"};

static struct cli_result run(const char *list, const char *way)
{
    if (!list)
        return cli_run((const char *const[]){cli_client("scarce"), way, NULL});
    return cli_run((const char *const[]){"nvtally", "record", "-f", "--trace", list, "-o",
                                         recorded_path(), "--", cli_client("scarce"), way, NULL});
}

/* The line of that name, "" where there is none; valid until the next call. */
static const char *line_of(const char *text, const char *name)
{
    static char line[4096];
    const size_t length = strcspn(name, " \t\n");
    for (const char *at = text; *at; at += strcspn(at, "\n") + 1) {
        if (strncmp(at, name, length) != 0 || !strchr(" \t", at[length]))
            continue;
        snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
        return line;
    }
    return "";
}

static long number_of(const char *line)
{
    return strtol(line + strcspn(line, " \t"), NULL, 10);
}

static int is_variable(const char *line)
{
    for (size_t i = 0; i < NVT_COUNT_OF(variables); i++)
        if (!strncmp(line, variables[i], strlen(variables[i])))
            return 1;
    return 0;
}

/* With samples there is a handler for one more signal, a real-time one. */
static int is_one_more_handler(const char *alone, const char *recorded)
{
    const uint64_t before = strtoull(alone + strlen("SigCgt:\t"), NULL, 16);
    const uint64_t now = strtoull(recorded + strlen("SigCgt:\t"), NULL, 16);
    const uint64_t more = now & ~before;
    return !(before & ~now) && more && !(more & (more - 1)) && more >> 33;
}

static int may_differ(const char *alone, const char *recorded, int has)
{
    const size_t length = strcspn(recorded, " \t");
    /* Sanitizers take all addresses that there are. */
    if (!strncmp(recorded, "VmSize:", length) && number_of(recorded) > 1 << 30)
        return 1;
    if (has && !strncmp(recorded, "SigCgt:", length))
        return is_one_more_handler(alone, recorded);
    for (size_t i = 0; i < NVT_COUNT_OF(allowed); i++) {
        const long more = number_of(recorded) - number_of(alone);
        if (!strncmp(recorded, allowed[i].name, length) && strlen(allowed[i].name) == length &&
            (!allowed[i].needs || allowed[i].needs == has) && more >= allowed[i].least &&
            more <= allowed[i].most)
            return 1;
    }
    return 0;
}

static void compare(const char *alone, const char *recorded, const char *list, int has)
{
    uint32_t lines = 0;
    for (const char *at = recorded; *at; at += strcspn(at, "\n") + 1) {
        char line[4096];
        snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
        const char *before = line_of(alone, line);
        if (strcmp(before, line) != 0 && !is_variable(line) &&
            (!*before || !may_differ(before, line, has)))
            fail_msg("%s: '%s', alone '%s'", list, line, before);
        lines++;
    }
    assert_true(lines > 40);
    for (const char *at = alone; *at; at += strcspn(at, "\n") + 1)
        if (!*line_of(recorded, at))
            fail_msg("%s: nothing of %.80s", list, at);
}

static void a_process_has_what_it_has_alone(void **state)
{
    (void)state;
    struct cli_result alone = run(NULL, NULL);
    cli_expect_status(&alone, 0);
    for (size_t i = 0; i < NVT_COUNT_OF(levels); i++) {
        struct cli_result recorded = run(levels[i].list, NULL);
        cli_expect_status(&recorded, 0);
        assert_non_null(strstr(recorded.err, "nvtally: 4 events of 2 threads"));
        compare(alone.out, recorded.out, levels[i].list, levels[i].has);
        cli_result_free(&recorded);
    }
    cli_result_free(&alone);
}

/* The thing that is used up, and by how much less there is of it: of libraries that need 64 bytes of static thread-local storage, two. */
static const struct {
    const char *name;
    long less;
} ways[] = {{"descriptors", 0}, {"keys", 0},      {"memory", 0}, {"locked", 0}, {"blocked", 0},
            {"forks", 0},       {"signals", 0},   {"timers", 0}, {"stacks", 0}, {"mappings", 0},
            {"locks", 0},       {"children", 0},  {"files", 0},  {"data", 0},   {"sandbox", 0},
            {"tls", 0},         {"tls-behind", 2}};

static void a_program_without_any_ends_as_alone(void **state)
{
    (void)state;
    for (size_t way = 0; way < NVT_COUNT_OF(ways); way++) {
        struct cli_result alone = run(NULL, ways[way].name);
        if (alone.status == 77) {
            print_message("%s: cannot be used up here, not run\n", ways[way].name);
            cli_result_free(&alone);
            continue;
        }
        cli_expect_status(&alone, 0);
        for (size_t i = 0; i < NVT_COUNT_OF(levels); i++) {
            struct cli_result recorded = run(levels[i].list, ways[way].name);
            if (recorded.status)
                fail_msg("%s, %s: status %d\n%s", ways[way].name, levels[i].list, recorded.status,
                         recorded.err);
            if (ways[way].less)
                assert_in_range(strtol(recorded.out, NULL, 10),
                                strtol(alone.out, NULL, 10) - ways[way].less,
                                strtol(alone.out, NULL, 10));
            else
                assert_string_equal(recorded.out, alone.out);
            cli_result_free(&recorded);
        }
        cli_result_free(&alone);
    }
}

/* Root may have and lock what it likes: the way as another user, alone and at two levels. Skipped where it cannot be used up. */
static struct cli_result as_somebody(const char *way)
{
    char script[1200], folder[] = "/tmp/nvtally-scarce-XXXXXX";
    if (geteuid() || !mkdtemp(folder))
        skip();
    snprintf(script, sizeof(script),
             "chown 65534 %s && cd %s && as() { setpriv --reuid 65534 --regid 65534 --clear-groups "
             "\"$@\"; }; as %s %s || exit 77; for t in nvtx nvtx,osrt,cpu; do as %s record -f "
             "--trace $t -o t.nvt %s %s || exit 1; done",
             folder, folder, cli_client("scarce"), way, cli_built("nvtally"), cli_client("scarce"),
             way);
    struct cli_result result = cli_run((const char *const[]){"sh", "-c", script, NULL});
    struct cli_result removed = cli_run((const char *const[]){"rm", "-rf", folder, NULL});
    cli_result_free(&removed);
    if (result.status == 77)
        skip();
    cli_expect_status(&result, 0);
    return result;
}

static void memory_may_be_locked(void **state)
{
    (void)state;
    struct cli_result result = as_somebody("locked");
    cli_result_free(&result);
}

/* `record` is two processes, which the limit of its user counts. */
static void threads_are_two_less(void **state)
{
    (void)state;
    struct cli_result result = as_somebody("threads");
    char *at = result.out;
    const long alone = strtol(at, &at, 10);
    assert_in_range(alone, 12, 100);
    for (int i = 0; i < 2; i++)
        assert_int_equal(strtol(at, &at, 10), alone - 2);
    cli_result_free(&result);
}

/* Copies of a library, each of which is another one. */
static int set_up(void **state)
{
    char script[1200];
    if (recorded_set_up(state))
        return -1;
    const char *folder = recorded_in("libraries");
    snprintf(script, sizeof(script),
             "mkdir %s && for i in $(seq 100); do cp %s %s/$i || exit; done", folder,
             cli_built("tests/libstatic-tls.so"), folder);
    setenv("SCARCE_LIBRARIES", folder, 1);
    struct cli_result result = cli_run((const char *const[]){"sh", "-c", script, NULL});
    const int status = result.status;
    cli_result_free(&result);
    return status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_has_what_it_has_alone),
        cmocka_unit_test(a_program_without_any_ends_as_alone),
        cmocka_unit_test(memory_may_be_locked),
        cmocka_unit_test(threads_are_two_less),
    };
    return cmocka_run_group_tests(tests, set_up, recorded_tear_down);
}
