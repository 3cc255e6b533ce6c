/*
 * Every allocation and every system call of commands that read failing in turn (SQLite's way), one run for each: the
 * command ends as it should or with one clear line, and never by a signal, and does not hang. What it says it did, it
 * did. The short form takes every n-th; NVTALLY_FAULTS=full (make check-faults) takes all calls, and of the allocations
 * that commands make in one place, with the same callers, the first two and the last.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/reports/report.h"
#include "../lib/count_of.h"
#include "faults_calls_kit.h"
#include "faults_kit.h"

#define LOG_BYTES 8000

/* A command whose arguments are in the folder of the tests; `file`: what it writes, or NULL. */
struct command {
    const char *name;
    const char *argv[MOST];
    const char *file;
};

static const struct command commands[] = {
    {"stats", {"nvtally", "stats", "-r", "nvtx_sum", "t.nvt"}, NULL},
    {"stats -o", {"nvtally", "stats", "-f", "csv", "-o", "s.csv", "t.nvt"}, "s.csv"},
    {"export chrome", {"nvtally", "export", "t.nvt", "--to", "chrome", "-o", "c.json"}, "c.json"},
    {"export csv", {"nvtally", "export", "t.nvt", "--to", "csv", "-o", "c.csv"}, "c.csv"},
    {"export sqlite", {"nvtally", "export", "t.nvt", "--to", "sqlite", "-o", "c.sqlite"}, NULL},
    {"import", {"nvtally", "import", "published.log", "-o", "i"}, "i/results.jsonl"},
    {"diagnose", {"nvtally", "diagnose", "t.nvt"}, NULL},
    {"plot", {"nvtally", "plot", "t.nvt", "-o", "p"}, NULL},
    {"report", {"nvtally", "report", "published", "-o", "r.html"}, NULL},
    {"plot vs", {"nvtally", "plot", "t.nvt", "vs", "t.nvt", "-o", "p"}, NULL},
    {"report vs", {"nvtally", "report", "t.nvt", "vs", "t.nvt", "-o", "v.html"}, NULL},
    {"run",
     {"nvtally", "run", "linear", "--backend", "host", "--size", "32", "--batch", "1", "--warmup",
      "1", "--iterations", "2", "-o", "w"},
     NULL},
};
#define COMMANDS NVT_COUNT_OF(commands)

/* --- commands that read ----------------------------------------------------------------------- */

/* What a command wrote: its file, else its standard output. Freed by the caller; NULL: nothing. */
static char *written(const struct command *command, const struct cli_result *result, size_t *size)
{
    if (command->file)
        return cli_read_file(cli_in(faults_folder(), command->file), size);
    char *copy = malloc(result->out_size + 1);
    assert_non_null(copy);
    memcpy(copy, result->out, result->out_size + 1);
    *size = result->out_size;
    return copy;
}

static void remove_outputs(void)
{
    struct cli_options options = {.directory = faults_folder()};
    const char *argv[] = {"rm", "-rf", "s.csv",  "c.json", "c.csv", "c.sqlite",
                          "i",  "p",   "r.html", "v.html", "w",     NULL};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
}

/* As it is without a fault; and it says the same each time. */
struct reference {
    char *data;
    size_t size;
    int messages; /* lines on standard error */
};

static void assert_same(const struct command *command, const struct reference *reference,
                        const struct fault *fault, const struct cli_result *result)
{
    size_t size = 0;
    char text[100];
    if (result->status || faults_lines_of(result->err) != reference->messages)
        return;
    char *data = written(command, result, &size);
    /* A document says within itself what it had to do without. */
    if (!data || ((size != reference->size || memcmp(data, reference->data, size)) &&
                  !strstr(data, "warning: ")))
        fail_msg("%s, %s: good, it says, but it is not what it should be\n%.3000s%s", command->name,
                 faults_name_of(fault, text, sizeof(text)), data ? data : "(nothing)", result->err);
    free(data);
}

/* --- places ----------------------------------------------------------------------------------- */

/* Where allocations are made, by a hash of the stack. Whoever reads a file of a thousand rows allocates a thousand times in
 * one place, and fifty reports read it in the same places: a failure in each would be the same one again. */
#define PLACES 65536
static struct place {
    uint64_t hash;
    unsigned long count, last; /* allocations of the command at hand, and the last one's number */
    int settled;               /* a command before this one has had it fail */
} places[PLACES];

static struct place *place_of(uint64_t hash)
{
    size_t at = hash % PLACES;
    for (size_t i = 0; i < PLACES; i++, at = (at + 1) % PLACES)
        if (places[at].hash == hash || !places[at].hash) {
            places[at].hash = hash;
            return &places[at];
        }
    fail_msg("more than %d places", PLACES);
    return NULL;
}

/* Of the allocations that the last counted run of a command made: which are to fail. Freed by the caller. */
static unsigned char *chosen_of(unsigned long count)
{
    size_t size;
    char *file = cli_read_file(cli_in(faults_folder(), "stacks"), &size);
    unsigned char *chosen = calloc(count + 1, 1);
    assert_true(file && chosen);
    size = size / 8 < count ? size / 8 : count;
    for (size_t i = 0; i < size; i++) {
        uint64_t hash;
        memcpy(&hash, file + i * 8, sizeof(hash));
        struct place *place = place_of(hash ? hash : 1);
        place->last = i + 1;
        chosen[i + 1] = !place->settled && ++place->count <= 2;
    }
    for (size_t i = 0; i < PLACES; i++) {
        if (places[i].count) {
            chosen[places[i].last] = 1;
            places[i].settled = 1;
        }
        places[i].count = 0;
    }
    /* What no stack came of: another thread's, by chance. */
    memset(chosen + size + 1, 1, count - size);
    free(file);
    return chosen;
}

/* Returns how many runs there were. */
static unsigned long fail_in_turn(const struct command *command, const struct way *way,
                                  const struct reference *reference, unsigned long most)
{
    unsigned long runs = 0;
    remove_outputs();
    unsigned long count = faults_count_of(way, command->argv);
    unsigned char *chosen = !way && faults_are_full() ? chosen_of(count) : NULL;
    for (unsigned long n = 1; n <= count; n += faults_step_of(count, most)) {
        struct fault fault = {way, n};
        if (chosen && !chosen[n])
            continue;
        runs++;
        remove_outputs();
        struct cli_result result = faults_run_with(&fault, command->argv);
        faults_assert_sound(&result, command->name, &fault);
        if (reference->data)
            assert_same(command, reference, &fault, &result);
        cli_result_free(&result);
    }
    free(chosen);
    faults_of_all += count;
    return runs;
}

static void make_inputs(void)
{
    struct cli_options options = {.directory = faults_folder()};
    struct cli_result made = faults_record("once", NULL);
    cli_expect_status(&made, 0);
    cli_result_free(&made);
    static const char log[] = "data/published/gpipe.log";
    char *text = cli_read_file(log, NULL);
    assert_non_null(text);
    /* Its beginning: each record adds a hundred allocations. */
    assert_true(strlen(text) > LOG_BYTES);
    cli_write_file(cli_in(faults_folder(), "published.log"), text, LOG_BYTES);
    free(text);
    const char *argv[] = {"nvtally", "import", "published.log", "-o", "published", NULL};
    if (access(cli_in(faults_folder(), "published"), F_OK)) {
        made = cli_run_with(&options, argv);
        cli_expect_status(&made, 0);
        cli_result_free(&made);
    }
}

static struct reference reference_of(const struct command *command)
{
    struct reference reference = {0};
    struct cli_options options = {.directory = faults_folder()};
    remove_outputs();
    struct cli_result result = cli_run_with(&options, command->argv);
    cli_expect_status(&result, 0);
    reference.data = written(command, &result, &reference.size);
    reference.messages = faults_lines_of(result.err);
    cli_result_free(&result);
    return reference;
}

/* Whether the command says and writes the same in each run, dates and times apart. */
static int is_repeatable(const char *name)
{
    return strcmp(name, "run") && strcmp(name, "export sqlite");
}

static void all_of(const struct way *way, unsigned long most)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        struct reference reference = {0};
        if (is_repeatable(commands[i].name))
            reference = reference_of(&commands[i]);
        unsigned long runs = fail_in_turn(&commands[i], way, &reference, most);
        free(reference.data);
        faults_note_runs_of(commands[i].name, way, runs);
    }
    remove_outputs();
}

static void commands_survive_failing_allocations(void **state)
{
    (void)state;
    FAULTS_SKIP_SANITIZED();
    make_inputs();
    all_of(NULL, 20);
}

/* Each report of a trace of a device: whole, or one line. */
static void reports_survive_failing_allocations(void **state)
{
    (void)state;
    FAULTS_SKIP_SANITIZED();
    size_t size, count;
    unsigned long runs = 0;
    char *profile = cli_read_file("tests/docs/profile.json", &size);
    assert_non_null(profile);
    cli_write_file(cli_in(faults_folder(), "d.json"), profile, size);
    free(profile);
    const struct nvt_report *const *reports = nvt_reports(&count);
    for (size_t i = 0; i < count; i++) {
        const struct command command = {
            reports[i]->name,
            {"nvtally", "stats", "-r", reports[i]->name, "-f", "csv", "d.json"},
            NULL};
        if (reports[i]->needs & NVT_NEEDS_RUNS)
            continue;
        struct reference reference = reference_of(&command);
        runs += fail_in_turn(&command, NULL, &reference, 20);
        free(reference.data);
    }
    faults_note_runs_of("stats -r", NULL, runs);
}

/* What is there, each line of it, or that this cannot be told. */
static void info_says_what_it_cannot_tell(void **state)
{
    (void)state;
    FAULTS_SKIP_SANITIZED();
    static const char *const argv[] = {"nvtally", "info", NULL};
    const struct command command = {.name = "info"};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    struct reference reference = {result.out, result.out_size, 0};
    const struct way files = {"make", "EMFILE", 0, NO}, *const fail[] = {NULL, &files};
    for (size_t i = 0; i < NVT_COUNT_OF(fail); i++) {
        unsigned long count = faults_count_of(fail[i], argv);
        assert_true(count > 0 || fail[i]); /* 0: no right to ptrace here */
        for (unsigned long n = 1; n <= count; n++) {
            struct fault fault = {fail[i], n};
            struct cli_result failed = faults_run_with(&fault, argv);
            faults_assert_sound(&failed, command.name, &fault);
            if (failed.status || !strstr(failed.out, "cannot tell: "))
                assert_same(&command, &reference, &fault, &failed);
            cli_result_free(&failed);
        }
    }
    cli_result_free(&result);
}

static void commands_survive_failing_calls(void **state)
{
    (void)state;
    FAULTS_SKIP_SANITIZED();
    make_inputs();
    if (!faults_count_of(&faults_ways[0], commands[0].argv)) {
        print_message("no right to ptrace here: not run\n");
        skip();
    }
    for (size_t i = 0; i < WAYS; i++)
        all_of(&faults_ways[i], 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_survive_failing_allocations),
        cmocka_unit_test(reports_survive_failing_allocations),
        cmocka_unit_test(info_says_what_it_cannot_tell),
        cmocka_unit_test(commands_survive_failing_calls),
    };
    return cmocka_run_group_tests(tests, faults_set_up, faults_tear_down);
}
