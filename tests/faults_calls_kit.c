#include "faults_calls_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"

const struct way faults_ways[WAYS] = {
    {"write", "ENOSPC", 0, NO},     {"write", "ENOSPC", 1, NO},      {"write", "EIO", 0, NO},
    {"write", "SHORT", 0, ALL},     {"write", "EINTR", 0, RECORDER}, {"make", "EMFILE", 0, NO},
    {"make", "ENOMEM", 0, NO},      {"make", "EACCES", 1, NO},       {"read", "EIO", 0, NO},
    {"read", "EINTR", 0, RECORDER},
};

unsigned long faults_step_of(unsigned long count, unsigned long most)
{
    return faults_are_full() ? 1 : count / most + 1;
}

const char *faults_name_of(const struct fault *fault, char *out, size_t size)
{
    if (fault->way)
        snprintf(out, size, "%s %s%s, call %lu", fault->way->group, fault->way->error,
                 fault->way->all_later ? " from there on" : "", fault->number);
    else
        snprintf(out, size, "allocation %lu", fault->number);
    return out;
}

struct cli_result faults_run_with(const struct fault *fault, const char *const argv[])
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
                 faults_name_of(fault, text, sizeof(text)), result.timed_out ? "hangs" : "signal",
                 result.signal, result.err);
    return result;
}

unsigned long faults_count_of(const struct way *way, const char *const argv[])
{
    struct cli_result result = faults_run_with(&(struct fault){way, 0}, argv);
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

int faults_lines_of(const char *text)
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

int faults_is_harmless(const struct fault *fault, int is_recorder)
{
    return fault->way &&
           (fault->way->harmless == ALL || (fault->way->harmless == RECORDER && is_recorder));
}

void faults_assert_sound(const struct cli_result *result, const char *command,
                         const struct fault *fault)
{
    char text[100];
    if (result->status == 2 ? !is_clear(result->err) : result->status != 0)
        fail_msg("%s, %s: status %d\n%s", command, faults_name_of(fault, text, sizeof(text)),
                 result->status, result->err);
    if (result->status && faults_is_harmless(fault, !strcmp(command, "record")))
        fail_msg("%s, %s: must not matter\n%s", command, faults_name_of(fault, text, sizeof(text)),
                 result->err);
}

unsigned long faults_of_all; /* allocations or calls that commands made, for note_runs() */

void faults_note_runs_of(const char *command, const struct way *way, unsigned long runs)
{
    char title[120];
    if (way)
        snprintf(title, sizeof(title), "%s: %s calls, %s%s", command, way->group, way->error,
                 way->all_later ? " from then on" : "");
    else
        snprintf(title, sizeof(title), "%s: allocations", command);
    if (faults_are_full())
        faults_note_runs(title, runs, faults_of_all);
    faults_of_all = 0;
}
