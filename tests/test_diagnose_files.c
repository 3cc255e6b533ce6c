/*
 * diagnose of many files: what it keeps of each, once its events are released, says the same as whole traces do; and where that is
 * not enough, it says so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/diagnosis/diagnosed.h"
#include "../analyze/exports/export.h"
#include "../analyze/input/rows.h"
#include "../analyze/model/cuda_names.h"
#include "cli.h"
#include "made_job.h"
#include "random_kit.h"

static char *paths[32];
static size_t path_count;

static void forget_files(void)
{
    while (path_count)
        free(paths[--path_count]);
}

/* The files of a job, which is freed. */
static void write_files(struct made_job *job)
{
    forget_files();
    for (uint32_t i = 0; i < job->ranks; i++) {
        char name[32];
        struct nvt_error err = NVT_ERROR_INIT;
        snprintf(name, sizeof(name), "rank%02u.nvt", i);
        paths[i] = strdup(cli_in(cli_folder, name));
        assert_non_null(paths[i]);
        path_count = i + 1;
        assert_int_equal(nvt_exporter_nvt.write_file(job->traces[i].trace, paths[i], &err), 0);
    }
    made_job_free(job);
}

static void put_finding(const struct nvt_finding *finding, FILE *out)
{
    char title[NVT_TITLE_MAX], where[NVT_WHERE_MAX], moments[NVT_MOMENTS_MAX];
    nvt_finding_title(finding, title, sizeof(title));
    nvt_finding_where(finding, where, sizeof(where));
    nvt_finding_moments(finding, moments, sizeof(moments));
    fprintf(out, "%s\n%s\n%s\n%s\n%s\n%s\n%zu\n", title, finding->what, where, finding->evidence,
            moments, finding->remedy, finding->explained_by);
}

/* All that diagnose says of the files, by whole traces or by what is kept of them. */
static char *said(const struct nvt_input_digester *digester)
{
    struct nvt_input input = {.plain_names = 1, .leaves_out = 1, .digester = digester};
    struct nvt_findings findings = {0};
    struct nvt_buffer lines = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    char *text = NULL;
    size_t size;
    assert_int_equal(nvt_input_add_all(&input, paths, path_count, &err), 0);
    assert_int_equal(nvt_input_rows(&input, &err), 0);
    assert_int_equal(nvt_diagnosed_is_enough(&input, &err), 1);
    assert_int_equal(input.traces[0].trace->ops.count > 0, !digester);
    assert_int_equal(nvt_diagnose(&input, NULL, &findings, &err), 0);
    assert_int_equal(nvt_diagnose_end(&input, &lines, &err), 0);
    assert_int_equal(nvt_diagnose_idle(&input, &findings, &lines, &err), 0);
    assert_int_equal(nvt_diagnose_looked(&input, &lines, &err), 0);
    assert_int_equal(nvt_diagnose_more(&input, &lines, &err), 0);
    assert_int_equal(nvt_diagnose_missing(&input, &lines, &err), 0);
    assert_int_equal(nvt_diagnose_shared(&input, &findings, 1, &err), 0);
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    for (size_t i = 0; i < findings.count; i++)
        put_finding(&findings.items[i], out);
    fprintf(out, "%.*s%.*s", (int)lines.size, (const char *)lines.data, (int)input.notes.size,
            input.notes.size ? (const char *)input.notes.data : "");
    fclose(out);
    nvt_buffer_free(&lines);
    free(findings.items);
    nvt_input_free(&input);
    return text;
}

/* Kernels take a tenth of their time. */
static void make_idle(struct nvt_ops *ops)
{
    for (uint32_t i = 0; i < ops->count; i++)
        ops->end[i] = ops->start[i] + (ops->end[i] - ops->start[i]) / 10;
}

static void what_is_kept_says_what_traces_say(void **state)
{
    (void)state;
    const int rounds = cli_is_long() ? 20 : 3;
    uint64_t seed = kit_seed(1);
    int stragglers = 0, idle = 0;
    for (int i = 0; i < rounds * (MADE_LINK + 1); i++, seed++) {
        struct made_job job =
            made_job(seed, (enum made_cause)(i % (MADE_LINK + 1)), 16, i % 7 == 0);
        for (uint32_t k = 0; k < job.ranks && i % 5 == 4; k++)
            make_idle(&job.traces[k].trace->ops);
        write_files(&job);
        char *whole = said(NULL), *kept = said(&nvt_diagnosis_digester);
        assert_string_equal(whole, kept);
        stragglers += strstr(whole, "straggler") != NULL;
        idle += strstr(whole, "GPU idle") != NULL;
        free(whole);
        free(kept);
    }
    print_message("%d with stragglers, %d with idle devices\n", stragglers, idle);
    assert_true(stragglers > rounds && idle > 0);
}

/* Whether what is kept of the files is enough. */
static int is_enough(void)
{
    struct nvt_input input = {
        .plain_names = 1, .leaves_out = 1, .digester = &nvt_diagnosis_digester};
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(nvt_input_add_all(&input, paths, path_count, &err), 0);
    assert_int_equal(input.trace_count, path_count);
    const int enough = nvt_diagnosed_is_enough(&input, &err);
    nvt_input_free(&input);
    return enough;
}

static void what_needs_events_is_read_as_a_whole(void **state)
{
    (void)state;
    enum { OS_CALL, STOPPED, COPIES, ONE_GPU, OTHER_GPUS, ALONE, CASES };
    for (int i = 0; i < CASES; i++) {
        struct made_job job = made_job(7, MADE_HEALTHY, 16, 0);
        struct nvt_trace *first = job.traces[0].trace;
        for (uint32_t k = 0; k < job.ranks && i != OS_CALL && i != STOPPED; k++) {
            struct nvt_trace *trace = job.traces[k].trace;
            char uuid[32];
            snprintf(uuid, sizeof(uuid), "GPU-%u", i == ONE_GPU && k < 2 ? 0 : k);
            trace->origin_ns = INT64_C(1700000000000000000);
            trace->devices.count = 0;
            const struct nvt_device row = {.process = trace->ops.process[0],
                                           .device = trace->ops.device[0],
                                           .gpu = nvt_strings_add_text(trace->strings, uuid)};
            assert_int_not_equal(nvt_device_add(trace, &row), NVT_NONE);
        }
        const struct nvt_os_call call = {.start = first->first_ns,
                                         .end = first->first_ns,
                                         .name = nvt_strings_add_text(first->strings, "read")};
        if (i == OS_CALL)
            assert_int_not_equal(nvt_os_call_add(first, &call), NVT_NONE);
        if (i == STOPPED)
            assert_int_equal(nvt_trace_set_meta(first, "ended", "was killed by signal 9"), 0);
        if (i == COPIES)
            for (uint32_t op = 0; op < first->ops.count; op++) {
                first->ops.kind[op] = NVT_OP_MEMCPY;
                first->ops.copy_kind[op] = NVT_COPY_PTOP;
                first->ops.detail[op] = NVT_NONE;
            }
        if (i == ALONE)
            while (job.ranks > 1)
                nvt_trace_free(job.traces[--job.ranks].trace);
        write_files(&job);
        print_message("case %d\n", i);
        assert_int_equal(is_enough(), i == OTHER_GPUS);
    }
}

/* Of the first one nothing is kept, and the second one cannot be read again. */
static void a_pipe_is_read_once(void **state)
{
    (void)state;
    static const char script[] = "cat \"$1\" | \"$0\" diagnose \"$2\" /dev/stdin";
    struct made_job job = made_job(7, MADE_HEALTHY, 16, 0);
    assert_int_equal(nvt_trace_set_meta(job.traces[0].trace, "ended", "was killed by signal 9"), 0);
    write_files(&job);
    const char *command[] = {"sh", "-c", script, cli_built("nvtally"), paths[1], paths[0], NULL};
    struct cli_result result = cli_run(command);
    cli_expect_status(&result, 0);
    assert_null(strstr(result.err, "left out"));
    cli_result_free(&result);
}

static int forget(void **state)
{
    forget_files();
    return cli_folder_tear_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_says_what_traces_say),
        cmocka_unit_test(what_needs_events_is_read_as_a_whole),
        cmocka_unit_test(a_pipe_is_read_once),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, forget);
}
