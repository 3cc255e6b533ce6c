#include "faults_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/folder.h"

static char *folder;
static char output[512];

int faults_are_full(void)
{
    const char *form = getenv("NVTALLY_FAULTS");
    return form && !strcmp(form, "full");
}

int faults_set_up(void **state)
{
    (void)state;
    folder = cli_tempdir();
    snprintf(output, sizeof(output), "%s/t.nvt", folder);
    return setenv("NVTALLY_TMPDIR", folder, 1);
}

int faults_tear_down(void **state)
{
    (void)state;
    cli_tempdir_remove(folder);
    return 0;
}

const char *faults_folder(void)
{
    return folder;
}

const char *faults_output(void)
{
    return output;
}

struct cli_result faults_record(const char *how, const char *file)
{
    const char *argv[] = {"nvtally", "record", "-o", output, "--", cli_client("faults"),
                          how,       file,     NULL};
    struct cli_options options = {.timeout_s = 30};
    struct cli_result result = cli_run_with(&options, argv);
    assert_false(result.timed_out);
    return result;
}

struct cli_result faults_shell(const char *script)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    struct cli_options options = {.timeout_s = faults_are_full() ? 600 : 60};
    struct cli_result result = cli_run_with(&options, argv);
    assert_false(result.timed_out);
    return result;
}

struct nvt_trace *faults_read(void)
{
    char text[1200];
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_read(output, &err);
    if (!trace)
        fail_msg("%s", nvt_error_text(&err, text, sizeof(text)));
    return trace;
}

uint32_t faults_count(const struct nvt_trace *trace, const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        count += !strcmp(nvt_name(trace, trace->ranges.name[i]), name) &&
                 !(trace->ranges.flags[i] & NVT_RANGE_UNCLOSED);
    return count;
}

uint64_t faults_said_lost(const struct cli_result *result)
{
    return strstr(result->err, "1 event was lost") ? 1 : faults_said(result, " events were lost");
}

uint64_t faults_said(const struct cli_result *result, const char *words)
{
    const char *end = strstr(result->err, words);
    const char *at = end;
    while (at && at > result->err && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return at ? strtoull(at, NULL, 10) : 0;
}

int faults_sessions(void)
{
    int count = 0;
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (struct dirent *entry; (entry = nvt_folder_next(entries));)
        count += !strncmp(entry->d_name, "nvtally-", 8);
    closedir(entries);
    return count;
}

void faults_no_session_left(void)
{
    assert_int_equal(faults_sessions(), 0);
}

static FILE *open_table(void)
{
    const char *path = getenv("NVTALLY_FAULTS_TABLE");
    FILE *table = path ? fopen(path, "a") : stdout;
    assert_non_null(table);
    return table;
}

static void close_table(FILE *table)
{
    if (table != stdout)
        fclose(table);
}

void faults_note_said(const char *fault, uint64_t completed, uint64_t in_file, const char *said,
                      double seconds)
{
    FILE *table = open_table();
    fprintf(table, "%-44s %12llu %12llu %16s %8.2f\n", fault, (unsigned long long)completed,
            (unsigned long long)in_file, said, seconds);
    close_table(table);
}

void faults_note_runs(const char *fault, unsigned long runs, unsigned long of)
{
    FILE *table = open_table();
    fprintf(table, "%-50s %6lu runs of %lu\n", fault, runs, of);
    close_table(table);
}

void faults_note(const char *fault, uint64_t completed, uint64_t in_file, uint64_t lost,
                 double seconds)
{
    char said[32];
    snprintf(said, sizeof(said), "%llu", (unsigned long long)lost);
    faults_note_said(fault, completed, in_file, said, seconds);
    /* What was lost is counted in events, two a range. */
    if (completed > in_file + (lost + 1) / 2)
        fail_msg("%s: %llu ranges completed, %llu in the file, %s events reported lost", fault,
                 (unsigned long long)completed, (unsigned long long)in_file, said);
}
