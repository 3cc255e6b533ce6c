/*
 * Every allocation and every system call of the program failing in turn (SQLite's way), one run for
 * each: the command ends as it should or with one clear line, and never by a signal, and does not
 * hang. What it says it did, it did. The short form takes every n-th; NVTALLY_FAULTS=full (make
 * check-faults) takes all calls, and of the allocations that commands make in one place, with the same
 * callers, the first two and the last.
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

#include "../analyze/reports/report.h"
#include "../lib/count_of.h"
#include "faults_kit.h"

#define MOST      16 /* arguments of a command */
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

/* How calls fail. `harmless`: the work must be done all the same, by all commands or by the
 * recorder alone. (stdio, by which the others write, gives up at EINTR; they have no handlers that
 * could cause it.) */
enum harmless { NO, RECORDER, ALL };
static const struct way {
    const char *group, *error;
    int all_later;
    enum harmless harmless;
} ways[] = {
    {"write", "ENOSPC", 0, NO},     {"write", "ENOSPC", 1, NO},      {"write", "EIO", 0, NO},
    {"write", "SHORT", 0, ALL},     {"write", "EINTR", 0, RECORDER}, {"make", "EMFILE", 0, NO},
    {"make", "ENOMEM", 0, NO},      {"make", "EACCES", 1, NO},       {"read", "EIO", 0, NO},
    {"read", "EINTR", 0, RECORDER},
};
#define WAYS NVT_COUNT_OF(ways)

/* Every n-th in the short form, so that each part is met. */
static unsigned long step_of(unsigned long count, unsigned long most)
{
    return faults_are_full() ? 1 : count / most + 1;
}

/* --- one run ---------------------------------------------------------------------------------- */

/* What fails in a run: an allocation (way NULL), or a call. */
struct fault {
    const struct way *way;
    unsigned long number; /* 0: none, it is counted only */
};

static const char *name_of(const struct fault *fault, char *out, size_t size)
{
    if (fault->way)
        snprintf(out, size, "%s %s%s, call %lu", fault->way->group, fault->way->error,
                 fault->way->all_later ? " from there on" : "", fault->number);
    else
        snprintf(out, size, "allocation %lu", fault->number);
    return out;
}

static struct cli_result run_with(const struct fault *fault, const char *const argv[])
{
    char preload[600], failing[60], counts[600], stacks[600], number[40], text[100];
    const char *all[MOST + 8] = {0};
    size_t count = 0;
    snprintf(number, sizeof(number), "%lu%s", fault->number,
             fault->way && fault->way->all_later ? "+" : "");
    snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", cli_built("tests/libfail-alloc.so"));
    snprintf(failing, sizeof(failing), "FAIL_ALLOC=%s", number);
    snprintf(counts, sizeof(counts), "FAIL_ALLOC_COUNT=%s", cli_in(faults_folder(), "count"));
    snprintf(stacks, sizeof(stacks), "FAIL_ALLOC_STACKS=%s", cli_in(faults_folder(), "stacks"));
    const char *environment[] = {preload, failing, counts, fault->number ? NULL : stacks, NULL};
    struct cli_options options = {.directory = faults_folder(), .timeout_s = 40};
    if (fault->way) {
        const char *front[] = {cli_built("tests/fail-call"), fault->way->group, fault->way->error,
                               number, cli_in(faults_folder(), "count")};
        memcpy(all, front, sizeof(front));
        count = NVT_COUNT_OF(front);
        all[count++] = strcmp(*argv, "nvtally") ? *argv : cli_built("nvtally");
        argv++;
    } else {
        options.environment = environment;
    }
    while (*argv && count < MOST + 7)
        all[count++] = *argv++;
    struct cli_result result = cli_run_with(&options, all);
    if (result.timed_out || result.signal)
        fail_msg("%s, %s: %s %d\n%s", all[fault->way ? 6 : 1] ? all[fault->way ? 6 : 1] : *all,
                 name_of(fault, text, sizeof(text)), result.timed_out ? "hangs" : "signal",
                 result.signal, result.err);
    return result;
}

static unsigned long count_of(const struct way *way, const char *const argv[])
{
    struct cli_result result = run_with(&(struct fault){way, 0}, argv);
    if (result.status == 97) {
        cli_result_free(&result);
        return 0;
    }
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *text = cli_read_file(cli_in(faults_folder(), "count"), NULL);
    assert_non_null(text);
    unsigned long count = strtoul(text, NULL, 10);
    free(text);
    return count;
}

static int lines_of(const char *text)
{
    int lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* One line of ours, beside warnings, the traces that `run` could not write, the reason that a run of it had,
 * and where it has left what it had measured by then. */
static int is_clear(const char *text)
{
    static const char of_a_trace[] = ".nvt: cannot be written: ";
    int errors = 0, traces = 0;
    for (const char *next; *text; text = next) {
        size_t length = strcspn(text, "\n");
        next = text + length + (text[length] == '\n');
        if (strncmp(text, "nvtally: ", 9))
            return 0;
        if (memmem(text, length, of_a_trace, strlen(of_a_trace)))
            traces++;
        else
            errors += strncmp(text + 9, "warning: ", 9) && strncmp(text + 9, "results in ", 11) &&
                      strncmp(text + 9, "linear ", 7) &&
                      strncmp(text + 9, "one run per side: ", 18);
    }
    return errors == 1 || (!errors && traces == 1);
}

static int is_harmless(const struct fault *fault, int is_recorder)
{
    return fault->way &&
           (fault->way->harmless == ALL || (fault->way->harmless == RECORDER && is_recorder));
}

/* Success, or an end with one clear line. */
static void assert_sound(const struct cli_result *result, const char *command,
                         const struct fault *fault)
{
    char text[100];
    if (result->status == 2 ? !is_clear(result->err) : result->status != 0)
        fail_msg("%s, %s: status %d\n%s", command, name_of(fault, text, sizeof(text)),
                 result->status, result->err);
    if (result->status && is_harmless(fault, !strcmp(command, "record")))
        fail_msg("%s, %s: must not matter\n%s", command, name_of(fault, text, sizeof(text)),
                 result->err);
}

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
    if (result->status || lines_of(result->err) != reference->messages)
        return;
    char *data = written(command, result, &size);
    /* A document says within itself what it had to do without. */
    if (!data || ((size != reference->size || memcmp(data, reference->data, size)) &&
                  !strstr(data, "warning: ")))
        fail_msg("%s, %s: good, it says, but it is not what it should be\n%.3000s%s", command->name,
                 name_of(fault, text, sizeof(text)), data ? data : "(nothing)", result->err);
    free(data);
}

static unsigned long of_all; /* allocations or calls that commands made, for note_runs() */

static void note_runs(const char *command, const struct way *way, unsigned long runs)
{
    char title[120];
    if (way)
        snprintf(title, sizeof(title), "%s: %s calls, %s%s", command, way->group, way->error,
                 way->all_later ? " from then on" : "");
    else
        snprintf(title, sizeof(title), "%s: allocations", command);
    if (faults_are_full())
        faults_note_runs(title, runs, of_all);
    of_all = 0;
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
    unsigned long count = count_of(way, command->argv);
    unsigned char *chosen = !way && faults_are_full() ? chosen_of(count) : NULL;
    for (unsigned long n = 1; n <= count; n += step_of(count, most)) {
        struct fault fault = {way, n};
        if (chosen && !chosen[n])
            continue;
        runs++;
        remove_outputs();
        struct cli_result result = run_with(&fault, command->argv);
        assert_sound(&result, command->name, &fault);
        if (reference->data)
            assert_same(command, reference, &fault, &result);
        cli_result_free(&result);
    }
    free(chosen);
    of_all += count;
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
    reference.messages = lines_of(result.err);
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
        note_runs(commands[i].name, way, runs);
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
    note_runs("stats -r", NULL, runs);
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
        unsigned long count = count_of(fail[i], argv);
        assert_true(count > 0 || fail[i]); /* 0: no right to ptrace here */
        for (unsigned long n = 1; n <= count; n++) {
            struct fault fault = {fail[i], n};
            struct cli_result failed = run_with(&fault, argv);
            assert_sound(&failed, command.name, &fault);
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
    if (!count_of(&ways[0], commands[0].argv)) {
        print_message("no right to ptrace here: not run\n");
        skip();
    }
    for (size_t i = 0; i < WAYS; i++)
        all_of(&ways[i], 3);
}

/* --- recording -------------------------------------------------------------------------------- */

/* The ranges of a recording that goes well. */
static uint32_t ranges_of(const char *const argv[])
{
    struct cli_result made = cli_run(argv);
    cli_expect_status(&made, 0);
    cli_result_free(&made);
    struct nvt_trace *trace = faults_read();
    uint32_t all = trace->ranges.count;
    nvt_trace_free(trace);
    return all;
}

/* A recording is whole, or says what it lost, or did not begin; and what is there can be read. */
static void assert_recording(const struct cli_result *result, const struct fault *fault,
                             uint32_t all)
{
    char text[100];
    struct nvt_error err = NVT_ERROR_INIT;
    assert_sound(result, "record", fault);
    struct nvt_trace *trace =
        access(faults_output(), F_OK) ? NULL : nvt_trace_read(faults_output(), &err);
    name_of(fault, text, sizeof(text));
    if (!result->status && !trace && !strstr(result->err, "cannot be written"))
        fail_msg("%s: no trace: %s\n%s", text, err.message, result->err);
    if (!result->status && trace && trace->ranges.count != all &&
        !strstr(result->err, "out of memory") && !strstr(result->err, " lost") &&
        !strstr(result->err, "no NVTX calls were recorded") &&
        !strstr(result->err, "could not join the recording"))
        fail_msg("%s: %u of %u ranges\n%s", text, trace->ranges.count, all, result->err);
    if (is_harmless(fault, 1) && (!trace || trace->ranges.count != all))
        fail_msg("%s: must not matter\n%s", text, result->err);
    nvt_trace_free(trace);
    faults_no_session_left();
}

static void recording_survives(const struct way *way, unsigned long most)
{
    char client[600]; /* cli_client's paths do not last for so many runs */
    snprintf(client, sizeof(client), "%s", cli_client("everything"));
    const char *argv[] = {"nvtally", "record", "-o", faults_output(), "--", client, NULL};
    uint32_t all = ranges_of(argv);
    unsigned long count = count_of(way, argv), runs = 0;
    /* A recorder looks for news as long as it lives: the last of its reads may not come. */
    for (unsigned long n = 1; n <= count; n += step_of(count, most), runs++) {
        struct fault fault = {way, n};
        unlink(faults_output());
        struct cli_result result = run_with(&fault, argv);
        assert_recording(&result, &fault, all);
        cli_result_free(&result);
    }
    of_all = count;
    note_runs("record", way, runs);
}

/* A recording of which the latest part is kept: it was cut, or says why it was not, and can be read as it is. */
static void assert_cut(const struct cli_result *result, const struct fault *fault)
{
    char text[100];
    struct nvt_error err = NVT_ERROR_INIT;
    assert_sound(result, "record --max-age", fault);
    struct nvt_trace *trace =
        access(faults_output(), F_OK) ? NULL : nvt_trace_read(faults_output(), &err);
    name_of(fault, text, sizeof(text));
    int is_told = strstr(result->err, "could not be cut off: ") ||
                  strstr(result->err, "cannot be written") ||
                  strstr(result->err, "out of memory") || strstr(result->err, " lost") ||
                  strstr(result->err, "no NVTX calls were recorded") ||
                  strstr(result->err, "could not join the recording");
    int is_cut = trace && trace->notes && strstr(trace->notes, "was cut off");
    if (!result->status && ((!is_cut && !is_told) || (is_cut && trace->warning && !is_told)))
        fail_msg("%s: %s\n%s", text, trace ? trace->notes : err.message, result->err);
    if (is_harmless(fault, 1) && !is_cut)
        fail_msg("%s: must not matter\n%s", text, result->err);
    nvt_trace_free(trace);
    faults_no_session_left();
}

static void cutting_survives(const struct way *way, unsigned long most)
{
    char client[600];
    snprintf(client, sizeof(client), "%s", cli_client("flight"));
    const char *argv[] = {"nvtally", "record", "--max-age", "1ms", "-o", faults_output(),
                          "--",      client,   "150",       "3",   NULL};
    unsigned long count = count_of(way, argv), runs = 0;
    for (unsigned long n = 1; n <= count; n += step_of(count, most), runs++) {
        struct fault fault = {way, n};
        unlink(faults_output());
        struct cli_result result = run_with(&fault, argv);
        assert_cut(&result, &fault);
        cli_result_free(&result);
    }
    of_all = count;
    note_runs("record --max-age", way, runs);
}

static void recording_survives_failing_allocations(void **state)
{
    (void)state;
    FAULTS_SKIP_SANITIZED();
    recording_survives(NULL, 40);
    cutting_survives(NULL, 30);
}

static void recording_survives_failing_calls(void **state)
{
    (void)state;
    FAULTS_SKIP_SANITIZED();
    const char *argv[] = {"nvtally", "reference", "gpipe", NULL};
    if (!count_of(&ways[0], argv)) {
        print_message("no right to ptrace here: not run\n");
        skip();
    }
    for (size_t i = 0; i < WAYS; i++)
        recording_survives(&ways[i], 6);
    for (size_t i = 0; i < WAYS; i++)
        cutting_survives(&ways[i], 6);
}

/* --- the collector in the target -------------------------------------------------------------- */

/* The target's own calls fail, those of the collector in it among them: it ends as always, and the
 * recording is whole or says what is missing. */
static void target_survives_failing_calls(void **state)
{
    (void)state;
    FAULTS_SKIP_SANITIZED();
    static const struct way its_ways[] = {{"make", "ENOMEM", 0, NO},
                                          {"make", "EMFILE", 0, NO},
                                          {"make", "EMFILE", 1, NO},
                                          {"write", "ENOSPC", 0, NO},
                                          {"read", "EIO", 0, NO}};
    char client[600], tool[600], counts[600], number[40];
    snprintf(client, sizeof(client), "%s", cli_client("faults"));
    snprintf(tool, sizeof(tool), "%s", cli_built("tests/fail-call"));
    snprintf(counts, sizeof(counts), "%s", cli_in(faults_folder(), "count"));
    for (size_t i = 0; i < NVT_COUNT_OF(its_ways); i++) {
        unsigned long count = 1;
        for (unsigned long n = 0; n <= count; n++) {
            snprintf(number, sizeof(number), "%lu%s", n, its_ways[i].all_later ? "+" : "");
            const char *argv[] = {"nvtally",
                                  "record",
                                  "-o",
                                  faults_output(),
                                  "--",
                                  tool,
                                  its_ways[i].group,
                                  its_ways[i].error,
                                  number,
                                  counts,
                                  client,
                                  "once",
                                  NULL};
            struct cli_result result = cli_run(argv);
            if (result.status == 97)
                skip();
            assert_false(result.timed_out);
            assert_recording(&result, &(struct fault){&its_ways[i], n}, 1);
            cli_result_free(&result);
            char *text = cli_read_file(counts, NULL);
            if (!n)
                count = strtoul(text, NULL, 10);
            free(text);
        }
        assert_true(count > 0);
    }
}

/* Every allocation in the target, the loader's and libc's for the collector among them. A client
 * that cannot go on for itself has status 3. */
static void target_survives_failing_allocations(void **state)
{
    (void)state;
    FAULTS_SKIP_SANITIZED();
    static const char *const clients[] = {"everything", "device"};
    char cupti[600], preload[600], number[60], counts[600], client[600];
    snprintf(cupti, sizeof(cupti), "NVTALLY_CUPTI=%s", cli_built("tests/libcupti-stand-in.so"));
    snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", cli_built("tests/libfail-alloc.so"));
    snprintf(counts, sizeof(counts), "FAIL_ALLOC_COUNT=%s", cli_in(faults_folder(), "count"));
    const char *environment[] = {cupti, "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", NULL};
    struct cli_options options = {.environment = environment, .timeout_s = 40};
    for (size_t i = 0; i < 2; i++) {
        unsigned long count = 1;
        snprintf(client, sizeof(client), "%s", cli_client(clients[i]));
        for (unsigned long n = 0; n <= count; n++) {
            snprintf(number, sizeof(number), "FAIL_ALLOC=%lu", n);
            const char *argv[] = {"nvtally",       "record", "--trace", "nvtx,kernel", "-o",
                                  faults_output(), "--",     "env",     preload,       number,
                                  counts,          client,   "plain",   NULL};
            struct cli_result result = cli_run_with(&options, argv);
            if (result.timed_out || result.signal || (result.status && result.status != 3))
                fail_msg("%s, allocation %lu: status %d, signal %d\n%s", clients[i], n,
                         result.status, result.signal, result.err);
            nvt_trace_free(faults_read());
            faults_no_session_left();
            cli_result_free(&result);
            char *text = cli_read_file(cli_in(faults_folder(), "count"), NULL);
            if (!n)
                count = strtoul(text, NULL, 10);
            free(text);
        }
        assert_true(count > 5);
    }
}

/* --- libnvtally ------------------------------------------------------------------------------- */

/* A program that measures itself ends with its result or with a line, whatever fails in it. */
static void a_session_of_ones_own_survives(void **state)
{
    (void)state;
    FAULTS_SKIP_SANITIZED();
    char program[600];
    const char *argv[] = {program, NULL};
    snprintf(program, sizeof(program), "%s", cli_built("examples/range_stats"));
    for (size_t i = 0; i <= WAYS; i++) {
        const struct way *way = i ? &ways[i - 1] : NULL;
        unsigned long count = count_of(way, argv);
        for (unsigned long n = 1; n <= count; n += step_of(count, 6)) {
            char text[100];
            struct fault fault = {way, n};
            struct cli_result result = run_with(&fault, argv);
            name_of(&fault, text, sizeof(text));
            if (result.status != 0 && (result.status != 1 || lines_of(result.err) != 1))
                fail_msg("%s: status %d\n%s", text, result.status, result.err);
            /* Nothing, where its own output could not be written. */
            if (!result.status && *result.out && !strstr(result.out, "work: 100 times, ") &&
                !strstr(result.out, " events were lost"))
                fail_msg("%s: %s", text, result.out);
            cli_result_free(&result);
            faults_no_session_left();
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_survive_failing_allocations),
        cmocka_unit_test(reports_survive_failing_allocations),
        cmocka_unit_test(info_says_what_it_cannot_tell),
        cmocka_unit_test(recording_survives_failing_allocations),
        cmocka_unit_test(commands_survive_failing_calls),
        cmocka_unit_test(recording_survives_failing_calls),
        cmocka_unit_test(target_survives_failing_calls),
        cmocka_unit_test(target_survives_failing_allocations),
        cmocka_unit_test(a_session_of_ones_own_survives),
    };
    return cmocka_run_group_tests(tests, faults_set_up, faults_tear_down);
}
