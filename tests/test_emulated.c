/*
 * The CUDA backend as it is compiled for a device, kernels, streams, graphs and memory, on the stand-in for
 * CUDA in tests/emulated: that it computes what the host computes, in whatever order the rules allow, and
 * what it says when the device refuses.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/input/runs.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "reference/transformer.h"

#define WORDS_MOST 48

/* --- operations ------------------------------------------------------------------------------- */

/* ThreadSanitizer does not see into OpenMP's library, and takes what waits for each other there for a race. */
#ifdef __SANITIZE_THREAD__
#define REFERENCE_THREADS "OMP_NUM_THREADS=1"
#else
#define REFERENCE_THREADS "OMP_DYNAMIC=FALSE"
#endif

/* All operations, or `only` one; FIRST_SHAPES: all, with the first shape of each; SMALL_SHAPES: all, without shapes whose numbers multiply
 * to more than SHORT, which take three quarters of the time. In short, large shapes are left out of all. */
#define SHORT        "10000000"
#define FIRST_SHAPES "--most"
#define SMALL_SHAPES "--most " SHORT
static struct cli_result check(const char *setting, const char *only)
{
    const int first = only && !strcmp(only, FIRST_SHAPES);
    const int small = only ? !strcmp(only, SMALL_SHAPES) : !cli_is_long();
    const char *most = first ? "1" : small ? SHORT : NULL;
    const char *option = most ? "--most" : only ? "--only" : NULL;
    const char *argv[] = {cli_built("emulated/device/check"),
                          cli_built("emulated/device/libcheck-reference.so"),
                          cli_built("emulated/device/libcheck-cuda.so"),
                          option,
                          most ? most : only,
                          NULL};
    const char *const environment[] = {"ASAN_OPTIONS=detect_leaks=0", REFERENCE_THREADS, setting,
                                       NULL};
    struct cli_options options = {.environment = environment, .timeout_s = 300};
    return cli_run_with(&options, argv);
}

static void every_operation_agrees_in_any_order(void **state)
{
    (void)state;
    CLI_SKIP_THREAD_SANITIZED("plain loops of a reference, for twenty minutes");
    static const char *const seeds[] = {"EMULATED_SEED=1", "EMULATED_SEED=20261122"};
    for (size_t i = 0; i < (cli_is_long() ? NVT_COUNT_OF(seeds) : 1); i++) {
        struct cli_result result = check(seeds[i], i ? SMALL_SHAPES : NULL);
        if (result.status)
            print_error("%s\n%s", result.out, result.err);
        cli_expect_status(&result, 0);
        assert_non_null(strstr(result.out, "emulated device"));
        assert_null(strstr(result.out, "FAILED"));
        cli_result_free(&result);
    }
}

/* The stand-in is a test only as far as it finds what is wrong. */
static void what_is_left_out_is_found(void **state)
{
    (void)state;
    static const struct {
        const char *setting, *operation;
    } broken[] = {{"EMULATED_IGNORE=barriers", "softmax_forward"},
                  {"EMULATED_IGNORE=barriers", "expert_forward"},
                  {"EMULATED_IGNORE=barriers", "quantize_all_transposed"},
                  {"EMULATED_IGNORE=products", "matmul_nn"},
                  {"EMULATED_IGNORE=mode", "half_sums_tn"},
                  {"EMULATED_IGNORE=waits", "streams"}};
    for (size_t i = 0; i < NVT_COUNT_OF(broken); i++) {
        struct cli_result result = check(broken[i].setting, broken[i].operation);
        cli_expect_status(&result, 1);
        assert_non_null(strstr(result.out, "FAILED: "));
        cli_result_free(&result);
    }
    /* Memory that is touched after its time ends the program. */
    struct cli_result result = check("EMULATED_IGNORE=frees", "freed_in_order");
    assert_int_not_equal(result.status, 0);
    assert_null(strstr(result.out, "operations agree"));
    cli_result_free(&result);
}

/* A call that fails once is of the operation that made it: those behind it agree. */
static void a_failure_is_of_one_operation(void **state)
{
    (void)state;
    struct cli_result result = check("EMULATED_FAIL=cublasGemm:1", FIRST_SHAPES);
    int agree = 0, all = 0;
    cli_expect_status(&result, 1);
    const char *failed = strstr(result.out, "FAILED: CUDA: cublas");
    assert_non_null(failed);
    assert_null(strstr(failed + 1, "FAILED"));
    const char *end = strstr(failed, "\n\n");
    assert_non_null(end);
    assert_int_equal(sscanf(end, "%d of %d operations", &agree, &all), 2);
    assert_int_equal(agree, all - 1);
    cli_result_free(&result);
}

/* One that takes the device with it has failed, and those behind it agree in a new process. */
static void a_lost_device_is_of_one_operation(void **state)
{
    (void)state;
    struct cli_result result = check("EMULATED_LOSE=bias_forward", FIRST_SHAPES);
    int agree = 0, all = 0, failed = 0;
    cli_expect_status(&result, 1);
    for (const char *at = result.out; (at = strstr(at, "FAILED")); at++)
        failed++;
    assert_true(failed > 0);
    assert_null(strstr(result.out, "memory"));
    const char *end = strstr(result.out, " operations agree");
    assert_non_null(end);
    while (end[-1] != '\n')
        end--;
    assert_int_equal(sscanf(end, "%d of %d operations", &agree, &all), 2);
    assert_int_equal(agree, all - failed);
    assert_true(agree > 80);
    cli_result_free(&result);
}

/* What there is no memory for has failed; what needs less has not. */
static void without_memory_an_operation_fails(void **state)
{
    (void)state;
    struct cli_result result = check("EMULATED_MEMORY=35000000", "matmul_nn");
    cli_expect_status(&result, 1);
    assert_non_null(strstr(result.out, "FAILED: out of device memory"));
    assert_non_null(strstr(result.out, "0 of 1 operations agree"));
    cli_result_free(&result);
}

/* A product of 8-bit integers that cuBLAS has no kernel for is computed by ours; that is said once. */
static void products_that_are_refused_are_computed(void **state)
{
    (void)state;
    static const char *const ways[] = {"EMULATED_REFUSE=int8", "EMULATED_REFUSE=int8 as invalid",
                                       "EMULATED_REFUSE=int8 by error"};
    for (size_t i = 0; i < NVT_COUNT_OF(ways); i++) {
        struct cli_result result = check(ways[i], "int8_product");
        cli_expect_status(&result, 0);
        const char *told = strstr(result.err, "cuBLAS refuses products of int8 of ");
        assert_non_null(told);
        assert_null(strstr(told + 1, "cuBLAS refuses"));
        cli_result_free(&result);
    }
}

/* A linear layer adds its bias where its product is made, of a single row too; where cuBLASLt refuses, a kernel does. */
static void a_bias_is_added_with_the_product(void **state)
{
    (void)state;
    /* The first: no kernel adds it. */
    static const char *const ways[] = {"EMULATED_LOSE=bias_forward", "EMULATED_REFUSE=bias"};
    for (size_t i = 0; i < NVT_COUNT_OF(ways); i++) {
        struct cli_result result = check(ways[i], "linear_forward");
        cli_expect_status(&result, 0);
        cli_result_free(&result);
    }
}

/* --- workloads -------------------------------------------------------------------------------- */

/* A run of words apart by blanks, into a folder of the fixture's. */
static struct cli_result run(const char *words, const char *backend, const char *folder,
                             const char *const *environment)
{
    char text[512];
    const char *argv[WORDS_MOST];
    size_t count = 0;
    snprintf(text, sizeof(text), "run %s", words);
    argv[count++] = cli_built("emulated/nvtally");
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        argv[count++] = word;
    assert_true(count + 7 <= WORDS_MOST);
    argv[count++] = "--backend";
    argv[count++] = backend;
    argv[count++] = "--collect";
    argv[count++] = "off";
    argv[count++] = "-o";
    argv[count++] = cli_in(cli_folder, folder);
    argv[count] = NULL;
    struct cli_options options = {.environment = environment, .timeout_s = 300};
    return cli_run_with(&options, argv);
}

static struct nvt_runs *rows_that_end(int status, const char *words, const char *backend,
                                      const char *folder, const char *const *environment)
{
    struct cli_result result = run(words, backend, folder, environment);
    cli_expect_status(&result, status);
    cli_result_free(&result);
    return cli_read_runs(cli_in(cli_folder, folder));
}

static struct nvt_runs *rows_of(const char *words, const char *backend, const char *folder,
                                const char *const *environment)
{
    return rows_that_end(0, words, backend, folder, environment);
}

static int is_near(double value, double expected)
{
    return fabs(value - expected) <= 2e-5 * fabs(expected);
}

/* Rows of both in pairs: the same loss, the same memory. */
static void expect_the_hosts(const char *words, const char *folder, const char *seed)
{
    char of_host[64], of_device[64];
    const char *const environment[] = {seed, NULL};
    snprintf(of_host, sizeof(of_host), "%s-host", folder);
    snprintf(of_device, sizeof(of_device), "%s-device", folder);
    struct nvt_runs *host = rows_of(words, "host", of_host, NULL);
    struct nvt_runs *device = rows_of(words, "cuda", of_device, environment);
    assert_int_equal(host->count, device->count);
    assert_true(host->count > 0);
    for (size_t i = 0; i < host->count; i++) {
        const struct nvt_record *here = &host->records[i], *there = &device->records[i];
        assert_string_equal(nvt_record_text(there, "status"), "ok");
        assert_string_equal(nvt_record_text(there, "backend"), "cuda");
        assert_non_null(strstr(nvt_record_text(there, "device"), "emulated"));
        double loss = nvt_record_number(there, "loss"), want = nvt_record_number(here, "loss");
        if (!is_near(loss, want))
            fail_msg("%s, row %zu: the loss is %.9g, not %.9g", words, i, loss, want);
        assert_true(nvt_record_number(here, "peak_allocated_bytes") ==
                    nvt_record_number(there, "peak_allocated_bytes"));
    }
    nvt_runs_free(host);
    nvt_runs_free(device);
}

static void layers_give_the_losses_of_the_host(void **state)
{
    (void)state;
    expect_the_hosts("fragmented --size 64,96 --batch 5 --fragments 2,8 --iterations 2 --warmup 1",
                     "layers", "EMULATED_SEED=3");
}

#define SMALL_MODEL                                                                                \
    "--d-model 32 --d-ff 64 --layers 2 --heads 4 --context 12 --vocabulary 101 --batch 2 "

static void the_model_gives_the_losses_of_the_host(void **state)
{
    (void)state;
    expect_the_hosts("transformer " SMALL_MODEL "--phase forward,forward_backward,train "
                     "--iterations 2 --warmup 1",
                     "model", "EMULATED_SEED=4");
}

/* A replayed graph is the same work: the same loss to the bit, in every precision. */
static void graphs_change_nothing(void **state)
{
    (void)state;
    struct nvt_runs *runs =
        rows_of("transformer " SMALL_MODEL "--phase forward_backward,train --graph off,on "
                "--precision fp32,tf32,bf16,fp16 --iterations 3 --warmup 1",
                "cuda", "graphs", NULL);
    assert_int_equal(runs->count, 16);
    for (size_t i = 0; i < runs->count; i += 2) {
        const struct nvt_record *off = &runs->records[i], *on = &runs->records[i + 1];
        assert_string_equal(nvt_record_text(off, "graph"), "false");
        assert_string_equal(nvt_record_text(on, "graph"), "true");
        assert_string_equal(nvt_record_text(on, "status"), "ok");
        assert_string_equal(nvt_record_text(on, "loss"), nvt_record_text(off, "loss"));
    }
    nvt_runs_free(runs);
}

/* How far off the losses of ten steps may be: tests/device/goals.py says why. */
static void losses_of_each_precision_are_near_the_reference(void **state)
{
    (void)state;
    static const double bounds[] = {1e-4, 0x1p-11, 0x1p-8, 0x1p-11};
    struct nvt_runs *runs = rows_of("transformer --d-model 32 --d-ff 64 --layers 2 --heads 4 "
                                    "--vocabulary 50 --batch 2 --context 8 --phase train "
                                    "--precision fp32,tf32,bf16,fp16 --warmup 0 --iterations 10",
                                    "cuda", "reference", NULL);
    const double expected = reference_losses[REFERENCE_STEPS - 1];
    assert_int_equal(runs->count, NVT_COUNT_OF(bounds));
    for (size_t i = 0; i < runs->count; i++) {
        double loss = nvt_record_number(&runs->records[i], "loss");
        if (!(fabs(loss / expected - 1) <= bounds[i]))
            fail_msg("row %zu: the loss is %.9g, not %.9g", i, loss, expected);
        /* Each rounds in a way of its own. */
        assert_true(!i || loss != nvt_record_number(&runs->records[i - 1], "loss"));
    }
    nvt_runs_free(runs);
}

/*
 * N = 128 rows, d = 64, d_ff = 128, V = 128, two layers of four heads, eight samples of 16 positions; an array's bytes are
 * counted as they are, at multiples of 512. What is stored takes two bytes less: of a layer two norms, q, k and v, softmax,
 * attention's output and the hidden features twice; the last norm; rows and groups; the gradients dn, dh, dheads and dp.
 * Copies are added: the weights that products read, and the gradients of logits and of the residual stream.
 */
static void stored_numbers_take_two_bytes(void **state)
{
    (void)state;
    const double wide = 128 * 64, hidden = 128 * 128, square = 8 * 4 * 16 * 16;
    const double logits = 128 * 128;
    const double layer = 2 * wide + 3 * wide + square + wide + 2 * hidden;
    const double passes = wide + 3 * wide + wide, gradients = wide + hidden + 3 * wide + square;
    const double weights = 128 * 64 + 2 * (4 * 64 * 64 + 2 * 64 * 128);
    const double saved[] = {layer + passes - weights,
                            2 * layer + passes + gradients - weights - logits - wide};
    struct nvt_runs *runs =
        rows_of("transformer --d-model 64 --d-ff 128 --layers 2 --heads 4 --vocabulary 128 "
                "--batch 8 --context 16 --phase forward,forward_backward "
                "--precision fp32,bf16,fp16 --warmup 0 --iterations 1",
                "cuda", "stored", NULL);
    assert_int_equal(runs->count, 6);
    for (size_t i = 0; i < runs->count; i++) {
        const struct nvt_record *record = &runs->records[i];
        const int is_backward = !strcmp(nvt_record_text(record, "phase"), "forward_backward");
        const int is_float = !strcmp(nvt_record_text(record, "precision"), "fp32");
        double peak = nvt_record_number(record, "peak_allocated_bytes"), of_float = NAN;
        for (size_t k = 0; k < runs->count; k++)
            if (!strcmp(nvt_record_text(&runs->records[k], "precision"), "fp32") &&
                !strcmp(nvt_record_text(&runs->records[k], "phase"),
                        nvt_record_text(record, "phase")))
                of_float = nvt_record_number(&runs->records[k], "peak_allocated_bytes");
        assert_true(of_float - peak == (is_float ? 0 : 2 * saved[is_backward]));
    }
    nvt_runs_free(runs);
}

#define SMALL_PIPELINE                                                                             \
    "gpipe --layers 4 --d-model 16 --heads 2 --d-ff 32 --batch 4 --sequence 6 --vocabulary 31 "    \
    "--iterations 2 --warmup 1 "

/* Partitions have a thread and a stream each: any order that their events allow must do. */
static void pipelines_give_the_losses_of_the_host_in_any_order(void **state)
{
    (void)state;
    static const char *const seeds[] = {"EMULATED_SEED=5", "EMULATED_SEED=6", "EMULATED_SEED=7"};
    for (size_t i = 0; i < (cli_is_long() ? NVT_COUNT_OF(seeds) : 1); i++)
        expect_the_hosts(SMALL_PIPELINE "--partitions 4 --microbatches 4 --schedule gpipe,1f1b",
                         "pipeline", seeds[i]);
    expect_the_hosts(SMALL_PIPELINE "--partitions 2 --microbatches 4 --schedule interleaved "
                                    "--checkpoint on --engine self",
                     "interleaved", "EMULATED_SEED=8");
}

static void pipelines_need_their_events(void **state)
{
    (void)state;
    static const char *const environment[] = {"EMULATED_IGNORE=waits", "EMULATED_SEED=5", NULL};
    struct nvt_runs *runs =
        rows_of(SMALL_PIPELINE "--partitions 4 --microbatches 4 --checkpoint off --engine self",
                "cuda", "unordered", environment);
    struct nvt_runs *right =
        rows_of(SMALL_PIPELINE "--partitions 4 --microbatches 4 --checkpoint off --engine self",
                "cuda", "ordered", NULL);
    assert_false(is_near(nvt_record_number(&runs->records[0], "loss"),
                         nvt_record_number(&right->records[0], "loss")));
    nvt_runs_free(runs);
    nvt_runs_free(right);
}

/* What a run leaves behind in its process, streams and graphs and scratch memory, changes nothing for the next. */
static void one_process_changes_nothing(void **state)
{
    (void)state;
    const char *const words[] = {
        "fragmented --size 64,96 --batch 5 --fragments 2,8 --iterations 2 --warmup 1",
        "transformer " SMALL_MODEL "--phase forward,train --graph on,off --precision bf16,fp32 "
        "--iterations 2 --warmup 1",
        cli_is_long() ? SMALL_PIPELINE "--partitions 4,1,2 --microbatches 4,1"
                      : SMALL_PIPELINE "--partitions 4,1 --microbatches 4 --engine self",
        "switchback --dim 64 --batch 128,64 --iterations 1 --warmup 0"};
    static const char *const same[] = {"loss", "peak_allocated_bytes", "peak_reserved_bytes"};
    for (size_t i = 0; i < NVT_COUNT_OF(words); i++) {
        char together[512];
        snprintf(together, sizeof(together), "%s --one-process", words[i]);
        struct nvt_runs *each = rows_of(words[i], "cuda", "each", NULL);
        struct nvt_runs *all = rows_of(together, "cuda", "all", NULL);
        assert_int_equal(each->count, all->count);
        for (size_t k = 0; k < all->count; k++)
            for (size_t j = 0; j < NVT_COUNT_OF(same); j++) {
                const char *one = nvt_record_text(&each->records[k], same[j]);
                const char *other = nvt_record_text(&all->records[k], same[j]);
                if (strcmp(one ? one : "", other ? other : "") != 0)
                    fail_msg("%s, row %zu: %s is %s, not %s", words[i], k, same[j], other, one);
            }
        nvt_runs_free(each);
        nvt_runs_free(all);
    }
}

/* What the pool keeps of a run leaves cuBLAS no room for the workspaces of the next one's streams: that has to be given
 * back in between. */
static void a_run_leaves_the_next_its_memory(void **state)
{
    (void)state;
    static const char *const environment[] = {"EMULATED_IGNORE=work", "EMULATED_REFUSE=bare",
                                              "EMULATED_MEMORY=625000000", NULL};
    struct nvt_runs *runs =
        rows_of("gpipe --layers 4 --d-model 512 --heads 8 --d-ff 2048 --batch 32 --sequence 64 "
                "--vocabulary 101 --partitions 1,2 --microbatches 8 --checkpoint off --engine self "
                "--schedule gpipe --iterations 1 --warmup 0 --one-process",
                "cuda", "left", environment);
    assert_int_equal(runs->count, 2);
    for (size_t i = 0; i < runs->count; i++)
        assert_string_equal(nvt_record_text(&runs->records[i], "status"), "ok");
    nvt_runs_free(runs);
}

/* That cuBLAS has no workspace is said, as its products may take longer then. The next run of the process has one, without
 * which no graph could be made here. */
static void a_missing_workspace_is_told(void **state)
{
    (void)state;
    static const char *const environment[] = {"EMULATED_FAIL=cudaMalloc:1", NULL};
    struct cli_result result = run("transformer " SMALL_MODEL "--phase forward --precision fp32 "
                                   "--graph off,on --iterations 2 --warmup 1 --one-process",
                                   "cuda", "bare", environment);
    cli_expect_status(&result, 0);
    const char *told = strstr(result.err, "no 32 MiB left for cuBLAS");
    assert_non_null(told);
    assert_null(strstr(told + 1, "no 32 MiB left"));
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(cli_in(cli_folder, "bare"));
    assert_int_equal(runs->count, 2);
    for (size_t i = 0; i < runs->count; i++)
        assert_string_equal(nvt_record_text(&runs->records[i], "status"), "ok");
    nvt_runs_free(runs);
}

/* A run that takes the device with it takes no other: those behind it have a new process. */
static void a_lost_device_is_of_one_run(void **state)
{
    (void)state;
    static const char *const environment[] = {"EMULATED_LOSE=expert_backward", NULL};
    struct nvt_runs *runs = rows_that_end(
        2, "fragmented --size 64,96 --batch 5 --fragments 2 --iterations 1 --one-process", "cuda",
        "lost", environment);
    size_t lost = 0;
    for (size_t i = 0; i < runs->count; i++) {
        int has_expert = !strcmp(nvt_record_text(&runs->records[i], "mode"), "inference");
        assert_string_equal(nvt_record_text(&runs->records[i], "status"),
                            has_expert ? "error" : "ok");
        lost += (size_t)has_expert;
    }
    assert_int_equal(lost, 4);
    nvt_runs_free(runs);
}

static void sums_are_those_of_the_host(void **state)
{
    (void)state;
    struct nvt_runs *host = rows_of("accumulate", "host", "sums-host", NULL);
    struct nvt_runs *device = rows_of("accumulate", "cuda", "sums-device", NULL);
    assert_int_equal(host->count, device->count);
    for (size_t i = 0; i < host->count; i++)
        assert_string_equal(nvt_record_text(&host->records[i], "sum"),
                            nvt_record_text(&device->records[i], "sum"));
    nvt_runs_free(host);
    nvt_runs_free(device);
}

static void the_int8_study_runs(void **state)
{
    (void)state;
    struct nvt_runs *runs = rows_of("switchback --dim 64 --batch 96 --width-multiplier 1,4 "
                                    "--iterations 2 --warmup 0",
                                    "cuda", "switchback", NULL);
    for (size_t i = 0; i < runs->count; i++) {
        assert_string_equal(nvt_record_text(&runs->records[i], "status"), "ok");
        assert_true(isfinite(nvt_record_number(&runs->records[i], "w_quantize_global_ns_mean")));
    }
    nvt_runs_free(runs);
}

/* The published peak of a row, in bytes; NaN when there is none. */
static double published_peak(const char *csv, const struct nvt_record *record)
{
    char key[96];
    snprintf(key, sizeof(key), "\ngpt2,%s,%s,%s,%s,", nvt_record_text(record, "partitions"),
             nvt_record_text(record, "microbatches"),
             strcmp(nvt_record_text(record, "checkpoint"), "true") ? "off" : "on",
             nvt_record_text(record, "engine"));
    const char *at = strstr(csv, key), *heading = strstr(csv, "peak activation (MiB)");
    assert_non_null(heading);
    if (!at)
        return NAN;
    at++;
    for (const char *before = csv; before < heading; before++)
        if (*before == ',')
            at = strchr(at, ',') + 1;
    return strtod(at, NULL) * 1048576;
}

/* The published pipelines at their own size, nothing of which is computed: what the allocator takes does not depend
 * on numbers. */
static void pipelines_take_no_more_than_published(void **state)
{
    (void)state;
    static const char *const environment[] = {"EMULATED_IGNORE=work",
                                              "EMULATED_MEMORY=100000000000", NULL};
    const char *argv[] = {"nvtally", "reference", "gpipe", "-f", "csv", NULL};
    struct cli_result reference = cli_run(argv);
    cli_expect_status(&reference, 0);
    struct nvt_runs *runs = rows_of("gpipe --attention-axis batch --warmup 1 --iterations 1",
                                    "cuda", "published", environment);
    int no_more = 0;
    assert_int_equal(runs->count, 84);
    for (size_t i = 0; i < runs->count; i++) {
        const struct nvt_record *record = &runs->records[i];
        assert_string_equal(nvt_record_text(record, "status"), "ok");
        double published = published_peak(reference.out, record);
        assert_true(published > 0);
        no_more += nvt_record_number(record, "peak_activation_bytes") <= published;
        /* Weights, rounded up to 2 MiB a partition. */
        double weights = 0, partitions = nvt_record_number(record, "partitions");
        for (int p = 0; p < partitions; p++) {
            char key[64];
            snprintf(key, sizeof(key), "parameter_bytes_per_partition.%d", p);
            weights += nvt_record_number(record, key);
        }
        assert_true(weights >= 359049216 && weights < 359049216 + partitions * (2 << 20));
    }
    print_message("%d of 84 rows take no more than published\n", no_more);
    assert_true(no_more >= 80);
    nvt_runs_free(runs);
    cli_result_free(&reference);
}

/* Every row of the published studies, nothing of it computed: launches, products and memory have sizes that a device of
 * 139 GiB takes. */
static void studies_fit_a_device(void **state)
{
    (void)state;
    static const char *const environment[] = {"EMULATED_IGNORE=work",
                                              "EMULATED_MEMORY=149250000000", NULL};
    static const struct {
        const char *words;
        size_t rows;
    } studies[] = {
        {"fragmented --warmup 1 --iterations 1", 117},
        {"switchback --warmup 1 --iterations 1", 142},
        {"transformer --precision fp32,tf32,bf16,fp16 --phase forward,forward_backward,train "
         "--graph off,on --warmup 1 --iterations 1",
         120}};
    for (size_t i = 0; i < NVT_COUNT_OF(studies); i++) {
        char folder[16];
        snprintf(folder, sizeof(folder), "study-%zu", i);
        struct nvt_runs *runs = rows_of(studies[i].words, "cuda", folder, environment);
        assert_int_equal(runs->count, studies[i].rows);
        for (size_t row = 0; row < runs->count; row++)
            if (strcmp(nvt_record_text(&runs->records[row], "status"), "ok") != 0)
                fail_msg("%s, row %zu: %s", studies[i].words, row,
                         nvt_record_text(&runs->records[row], "message"));
        nvt_runs_free(runs);
    }
}

/* Products that nobody computed are NaN; the rows' times stand, and they say so. */
static void a_loss_that_is_no_number_is_told(void **state)
{
    (void)state;
    static const char *const environment[] = {"EMULATED_IGNORE=products", NULL};
    struct cli_result result =
        run("linear --size 64,128 --batch 1", "cuda", "no-loss", environment);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "nvtally: linear size64-batch1-linear: the loss is not "));
    assert_non_null(strstr(result.err, "nvtally: linear size128-batch1-linear: the loss is not "));
    cli_result_free(&result);
    struct nvt_runs *runs = cli_read_runs(cli_in(cli_folder, "no-loss"));
    assert_int_equal(runs->count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(nvt_record_text(&runs->records[i], "status"), "ok");
        assert_non_null(
            strstr(nvt_record_text(&runs->records[i], "message"), "the loss is not finite"));
    }
    nvt_runs_free(runs);
}

/* --- devices that refuse ---------------------------------------------------------------------- */

static void what_does_not_fit_is_a_row(void **state)
{
    (void)state;
    static const char *const environment[] = {"EMULATED_MEMORY=8388608", NULL};
    struct nvt_runs *runs =
        rows_of("linear --size 64,2048,128 --batch 1 --iterations 1", "cuda", "full", environment);
    assert_int_equal(runs->count, 3);
    assert_string_equal(nvt_record_text(&runs->records[0], "status"), "ok");
    assert_string_equal(nvt_record_text(&runs->records[1], "status"), "oom");
    assert_string_equal(nvt_record_text(&runs->records[2], "status"), "ok");
    nvt_runs_free(runs);
}

/* Memory that a library takes for itself is no other matter. */
static void what_the_backend_cannot_take_is_a_row_too(void **state)
{
    (void)state;
    static const char *const environment[] = {"EMULATED_FULL=cublasCreate:1", NULL};
    struct nvt_runs *runs = rows_of("transformer " SMALL_MODEL
                                    "--precision bf16 --phase forward --iterations 1 --warmup 1",
                                    "cuda", "full-library", environment);
    assert_int_equal(runs->count, 1);
    assert_string_equal(nvt_record_text(&runs->records[0], "status"), "oom");
    assert_string_equal(nvt_record_text(&runs->records[0], "message"),
                        "out of memory: CUDA: cuBLAS: CUBLAS_STATUS_ALLOC_FAILED");
    nvt_runs_free(runs);
}

/* Of 2 GiB the peak is measured with half of what a device usually has for it; 400 MiB are too few. */
static void a_small_device_has_a_peak_too(void **state)
{
    (void)state;
    static const char *const some[] = {"EMULATED_IGNORE=work", "EMULATED_MEMORY=2147483648", NULL};
    static const char *const few[] = {"EMULATED_IGNORE=work", "EMULATED_MEMORY=419430400", NULL};
    struct nvt_runs *runs =
        rows_of("linear --size 64 --batch 1 --iterations 1 --peak", "cuda", "small", some);
    assert_true(nvt_record_number(&runs->env, "peak_bytes") > 0);
    nvt_runs_free(runs);
    struct cli_result result = run("linear --size 64 --peak", "cuda", "smaller", few);
    cli_expect_status(&result, 2);
    assert_non_null(
        strstr(result.err, "too little memory to measure the peak: 528 MiB are needed"));
    cli_result_free(&result);
}

/* Products of 8-bit integers have a peak of their own, unless cuBLAS leaves them to a plain kernel. */
static void integers_have_a_peak(void **state)
{
    (void)state;
    static const char *const taken[] = {"EMULATED_IGNORE=work", "EMULATED_MEMORY=2147483648", NULL};
    static const char *const refused[] = {"EMULATED_IGNORE=work", "EMULATED_MEMORY=2147483648",
                                          "EMULATED_REFUSE=int8", NULL};
    const char words[] = "switchback --dim 64 --batch 64 --iterations 1 --warmup 0 --peak";
    struct nvt_runs *runs = rows_of(words, "cuda", "int8", taken);
    assert_true(nvt_record_number(&runs->env, "peak_flops_int8") > 0);
    assert_true(nvt_record_number(&runs->env, "peak_flops_fp16") > 0);
    nvt_runs_free(runs);
    runs = rows_of(words, "cuda", "int8-refused", refused);
    assert_null(nvt_record_find(&runs->env, "peak_flops_int8"));
    assert_true(nvt_record_number(&runs->env, "peak_flops_fp16") > 0);
    nvt_runs_free(runs);
}

static void a_device_without_pools_will_do(void **state)
{
    (void)state;
    expect_the_hosts("fragmented --size 64 --batch 3 --fragments 4 --iterations 2", "poolless",
                     "EMULATED_POOL=0");
    expect_the_hosts(SMALL_PIPELINE "--partitions 2 --microbatches 2 --checkpoint on",
                     "poolless-gpipe", "EMULATED_POOL=0");
}

/* Threads begin on the first device; their streams lie on the rank's. */
static void a_rank_takes_its_device(void **state)
{
    (void)state;
    static const char *const environment[] = {"EMULATED_DEVICES=3", "EMULATED_NUMBERED=1",
                                              "OMPI_COMM_WORLD_LOCAL_RANK=4", NULL};
    struct nvt_runs *runs = rows_of(SMALL_PIPELINE "--partitions 2 --microbatches 2 --engine self",
                                    "cuda", "rank", environment);
    assert_true(runs->count > 0);
    for (size_t i = 0; i < runs->count; i++) {
        assert_string_equal(nvt_record_text(&runs->records[i], "status"), "ok");
        assert_non_null(strstr(nvt_record_text(&runs->records[i], "device"), "emulated device 1"));
    }
    nvt_runs_free(runs);
}

static void without_a_device_it_is_one_line(void **state)
{
    (void)state;
    static const char *const environment[] = {"EMULATED_DEVICES=0", NULL};
    struct cli_result result = run("linear --size 32 --batch 1", "cuda", "none", environment);
    cli_expect_failure(&result, "no CUDA-capable device is detected");
    cli_result_free(&result);
}

/* Whatever call fails, and when: a line, or a row that names it. */
static void calls_that_fail_are_told(void **state)
{
    (void)state;
    static const char *const calls[] = {"cudaGetDeviceCount",
                                        "cudaSetDevice",
                                        "cudaGetDeviceProperties",
                                        "cudaDeviceGetDefaultMemPool",
                                        "cudaMemPoolSetAttribute",
                                        "cudaStreamCreateWithFlags",
                                        "cublasCreate",
                                        "cublasSetStream",
                                        "cublasSetWorkspace",
                                        "cublasSetMathMode",
                                        "cublasGemm",
                                        "launch",
                                        "cudaMallocAsync",
                                        "cudaFreeAsync",
                                        "cudaMemsetAsync",
                                        "cudaMemcpyAsync",
                                        "cudaStreamSynchronize",
                                        "cudaDeviceSynchronize",
                                        "cudaEventCreateWithFlags",
                                        "cudaEventRecord",
                                        "cudaStreamWaitEvent",
                                        "cudaEventDestroy"};
    for (size_t i = 0; i < NVT_COUNT_OF(calls); i++) {
        char setting[96], folder[64];
        const char *const environment[] = {setting, NULL};
        snprintf(setting, sizeof(setting), "EMULATED_FAIL=%s:1", calls[i]);
        snprintf(folder, sizeof(folder), "fails-%s", calls[i]);
        struct cli_result result =
            run(SMALL_PIPELINE "--partitions 2 --microbatches 2 --engine self --checkpoint on",
                "cuda", folder, environment);
        cli_expect_status(&result, 2);
        /* Where nothing could be begun there is no row. */
        if (access(cli_in(cli_in(cli_folder, folder), "results.jsonl"), R_OK)) {
            cli_expect_failure(&result, "");
        } else {
            struct nvt_runs *runs = cli_read_runs(cli_in(cli_folder, folder));
            if (strcmp(nvt_record_text(&runs->records[0], "status"), "error") != 0)
                fail_msg("%s fails, and the row is %s", calls[i],
                         nvt_record_text(&runs->records[0], "status"));
            assert_non_null(nvt_record_text(&runs->records[0], "message"));
            print_message("%s: %s\n", calls[i], nvt_record_text(&runs->records[0], "message"));
            nvt_runs_free(runs);
        }
        cli_result_free(&result);
    }
}

/* A graph takes memory of the device, which may be full: as everywhere, that is an answer. */
static void graphs_without_memory_have_no_room(void **state)
{
    (void)state;
    static const char *const calls[] = {"cudaGraphInstantiate", "cudaGraphLaunch"};
    for (size_t i = 0; i < NVT_COUNT_OF(calls); i++) {
        char setting[96], folder[64];
        const char *const environment[] = {setting, NULL};
        snprintf(setting, sizeof(setting), "EMULATED_FULL=%s:1", calls[i]);
        snprintf(folder, sizeof(folder), "full-%s", calls[i]);
        struct nvt_runs *runs =
            rows_that_end(0,
                          "transformer " SMALL_MODEL
                          "--phase forward --precision fp32 --graph on --iterations 2 --warmup 1",
                          "cuda", folder, environment);
        assert_string_equal(nvt_record_text(&runs->records[0], "status"), "oom");
        print_message("%s: %s\n", calls[i], nvt_record_text(&runs->records[0], "message"));
        nvt_runs_free(runs);
    }
}

static void captures_that_fail_are_told(void **state)
{
    (void)state;
    static const char *const calls[] = {"cudaStreamBeginCapture", "cudaStreamEndCapture",
                                        "cudaGraphInstantiate", "cudaGraphLaunch"};
    for (size_t i = 0; i < NVT_COUNT_OF(calls); i++) {
        char setting[96], folder[64];
        const char *const environment[] = {setting, NULL};
        snprintf(setting, sizeof(setting), "EMULATED_FAIL=%s:1", calls[i]);
        snprintf(folder, sizeof(folder), "captures-%s", calls[i]);
        struct nvt_runs *runs =
            rows_that_end(2, "transformer " SMALL_MODEL "--phase forward --graph --iterations 1",
                          "cuda", folder, environment);
        assert_string_equal(nvt_record_text(&runs->records[0], "status"), "error");
        assert_non_null(strstr(nvt_record_text(&runs->records[0], "message"), "graph"));
        nvt_runs_free(runs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_agrees_in_any_order),
        cmocka_unit_test(what_is_left_out_is_found),
        cmocka_unit_test(a_failure_is_of_one_operation),
        cmocka_unit_test(a_lost_device_is_of_one_operation),
        cmocka_unit_test(without_memory_an_operation_fails),
        cmocka_unit_test(products_that_are_refused_are_computed),
        cmocka_unit_test(a_bias_is_added_with_the_product),
        cmocka_unit_test(layers_give_the_losses_of_the_host),
        cmocka_unit_test(the_model_gives_the_losses_of_the_host),
        cmocka_unit_test(graphs_change_nothing),
        cmocka_unit_test(losses_of_each_precision_are_near_the_reference),
        cmocka_unit_test(stored_numbers_take_two_bytes),
        cmocka_unit_test(pipelines_give_the_losses_of_the_host_in_any_order),
        cmocka_unit_test(pipelines_need_their_events),
        cmocka_unit_test(one_process_changes_nothing),
        cmocka_unit_test(a_run_leaves_the_next_its_memory),
        cmocka_unit_test(a_missing_workspace_is_told),
        cmocka_unit_test(a_lost_device_is_of_one_run),
        cmocka_unit_test(sums_are_those_of_the_host),
        cmocka_unit_test(the_int8_study_runs),
        cmocka_unit_test(pipelines_take_no_more_than_published),
        cmocka_unit_test(studies_fit_a_device),
        cmocka_unit_test(a_loss_that_is_no_number_is_told),
        cmocka_unit_test(what_does_not_fit_is_a_row),
        cmocka_unit_test(what_the_backend_cannot_take_is_a_row_too),
        cmocka_unit_test(a_small_device_has_a_peak_too),
        cmocka_unit_test(integers_have_a_peak),
        cmocka_unit_test(a_device_without_pools_will_do),
        cmocka_unit_test(a_rank_takes_its_device),
        cmocka_unit_test(without_a_device_it_is_one_line),
        cmocka_unit_test(calls_that_fail_are_told),
        cmocka_unit_test(graphs_without_memory_have_no_room),
        cmocka_unit_test(captures_that_fail_are_told),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
