/*
 * make bench-diagnosis: how often `diagnose` is right, on traces with a known truth (bench.h).
 *
 *     diagnosis [SEED|draw [CASES [TRACE...]]]   CASES of each trouble and variant; without a seed one is drawn; problems are planted
 *                                                into the traces, recordings of the emulated device, too
 *
 * Prints a table by trouble, one by variant, false findings of healthy traces, and how often findings of each confidence are
 * right. With NVTALLY_BENCH_MISSES=1 a line for each case that was missed, misplaced, of a wrong size, or false. With
 * NVTALLY_BENCH_WRITE=FOLDER the cases of one trace with a device become files of nsys's schema there, and a line each in
 * FOLDER/cases.tsv: file, trouble ("healthy": none), variant, cost in ns (beside.py reads them).
 */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../../lib/count_of.h"
#include "../../../analyze/diagnosis/diagnose.h"
#include "../../../analyze/exports/export.h"
#include "bench.h"

#define RANKS       BENCH_RANKS
#define SIZE_WITHIN 0.2
#define TRUTHS      2
#define SWEEPS      8 /* for each case */

uint64_t bench_random(struct bench_random *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

int64_t bench_between(struct bench_random *random, int64_t low, int64_t high)
{
    return low + (int64_t)(bench_random(random) % (uint64_t)(high - low + 1));
}

double bench_even(struct bench_random *random, double low, double high)
{
    return low + (high - low) * (double)(bench_random(random) >> 11) / 9007199254740992.0;
}

double bench_even_log(struct bench_random *random, double low, double high)
{
    return low * pow(high / low, bench_even(random, 0, 1));
}

struct bench_trouble bench_troubles[MOST_TROUBLES];
size_t bench_trouble_count;

static void gather_troubles(void)
{
    const struct bench_troubles *const all[] = {&bench_loop_troubles, &bench_waiting_troubles,
                                                &bench_machine_troubles, &bench_operator_troubles};
    for (size_t i = 0; i < NVT_COUNT_OF(all); i++)
        for (size_t k = 0; k < all[i]->count; k++)
            bench_troubles[bench_trouble_count++] = all[i]->items[k];
}

/* --- programs -------------------------------------------------------------------------------------- */

static const struct bench_names frameworks[] = {
    {"iteration", {"gemm", "softmax", "layer_norm", "add", "gelu", "adam"}, "work"},
    {"ProfilerStep#%d",
     {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>",
      "ampere_sgemm_128x64_tn", "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>",
      "flash_fwd_kernel", "void at::native::reduce_kernel<512, 1>", "multi_tensor_apply_kernel"},
     "workload.step (train.py)"},
    {"iteration",
     {"loop_fusion_1", "input_reduce_fusion", "gemm_fusion_dot_3", "wrapped_transpose",
      "loop_add_fusion_7", "custom-call.2"},
     "jit_work"},
};

int64_t bench_vary(struct bench_program *program, int64_t ns)
{
    return program->is_noisy ? (int64_t)((double)ns * bench_even(&program->random, 0.85, 1.15))
                             : ns;
}

void bench_operator(struct bench_program *program, const char *name, int64_t ns)
{
    struct maker *maker = &program->maker;
    const uint32_t domain = maker->domain;
    const int64_t start = maker->now;
    maker->domain = nvt_trace_domain(maker->trace, maker->process, "cpu_op");
    maker->now += ns;
    make_range(maker, name, start);
    maker->domain = domain;
}

void bench_body(struct bench_program *program)
{
    struct maker *maker = &program->maker;
    if (program->has_operators) {
        bench_operator(program, "aten::linear", bench_vary(program, program->host_ns));
        return;
    }
    if (!program->has_device) {
        maker->now += bench_vary(program, program->host_ns);
        return;
    }
    maker->now += 2000;
    for (int i = 0; i < program->kernels; i++)
        make_launch(maker, program->names->kernels[i % 6], bench_vary(program, program->kernel_ns));
    make_wait(maker);
}

void bench_iteration(struct bench_program *program, int64_t start)
{
    char name[64];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(name, sizeof(name), program->names->iteration, program->iteration);
#pragma GCC diagnostic pop
    make_range(&program->maker, name, start);
    program->maker.now += 100;
}

static struct bench_program begin(uint64_t seed, int has_device, uint32_t rank)
{
    struct bench_program program = {.maker = make_begin(), .random = {seed}};
    char path[32];
    (void)snprintf(path, sizeof(path), "rank%u.nvt", rank);
    free(program.maker.trace->path);
    program.maker.trace->path = strdup(path);
    program.maker.trace->processes.rank[program.maker.process] = rank;
    program.maker.trace->origin_ns = INT64_C(1700000000000000000); /* one clock for all */
    program.rank = rank;
    program.has_device = has_device;
    program.names = &frameworks[bench_random(&program.random) % 3];
    program.kernels = (int)bench_between(&program.random, 8, 24);
    program.kernel_ns = bench_between(&program.random, 60000, 200000);
    program.host_ns = bench_between(&program.random, 2000000, 8000000);
    program.iterations = (int)bench_between(&program.random, 40, 80);
    program.is_noisy = (int)(bench_random(&program.random) & 1);
    return program;
}

/* What an iteration of a program's body lasts. */
static double body_ns(const struct bench_program *program)
{
    return program->has_device ? (double)(program->kernels * program->kernel_ns)
                               : (double)program->host_ns;
}

const char *const bench_variant_names[VARIANTS] = {
    "2 times the threshold", "just above the threshold", "5 times the threshold",
    "two problems at once",  "at the start only",        "at the end only",
    "every n-th iteration",  "one rank of eight"};

struct truth {
    const struct bench_trouble *trouble;
    int64_t ns;     /* it is asked to cost in an iteration that has it */
    double share;   /* of the mean iteration that it has to cost at least */
    double cost_ns; /* of the mean iteration, as measured */
};

struct bench_case {
    enum variant variant;
    uint64_t seed;
    int has_device, every;
    uint32_t rank; /* that has it */
    struct truth truths[TRUTHS];
    size_t count;
};

static int has_ranks(const struct bench_case *given)
{
    return given->variant == ONE_RANK || given->truths[0].trouble->is_of_ranks;
}

static int is_active(const struct bench_case *given, const struct bench_program *program)
{
    switch (given->variant) {
    case AT_START:
        return program->iteration < program->iterations / 4;
    case AT_END:
        return program->iteration >= program->iterations * 3 / 4;
    case EVERY_NTH:
        return program->iteration % given->every == given->every - 1;
    default:
        return 1;
    }
}

/* Its trace; bit i of `well`: the i-th trouble is done well. *mean_ns gets what an iteration of the second half lasts. */
static struct nvt_trace *make_case(const struct bench_case *given, uint32_t rank, unsigned well,
                                   double *mean_ns)
{
    struct bench_program program = begin(given->seed, given->has_device, rank);
    int64_t half = 0;
    program.has_operators = given->truths[0].trouble->has_operators;
    for (program.iteration = 0; program.iteration < program.iterations; program.iteration++) {
        const int64_t start = program.maker.now;
        /* The noise of the body is the same with and without the trouble. */
        program.random.state = given->seed + (uint64_t)program.iteration * 977;
        if (program.iteration == program.iterations / 2)
            half = start;
        bench_body(&program);
        for (size_t i = 0; i < given->count; i++) {
            const struct truth *truth = &given->truths[i];
            const int is_off = (well >> i & 1) || !is_active(given, &program);
            program.is_peer = !is_off && rank != given->rank;
            truth->trouble->put(&program, truth->ns, is_off || rank != given->rank);
        }
        bench_iteration(&program, start);
    }
    *mean_ns =
        (double)(program.maker.now - half) / (double)(program.iterations - program.iterations / 2);
    for (size_t i = 0; i < given->count; i++) {
        const int is_off = well >> i & 1;
        program.is_peer = !is_off && rank != given->rank;
        if (given->truths[i].trouble->end)
            given->truths[i].trouble->end(&program, is_off || rank != given->rank);
    }
    return make_end(&program.maker);
}

/* The mean iteration with all troubles. */
static double measure_truths(struct bench_case *given)
{
    double with, without;
    nvt_trace_free(make_case(given, given->rank, 0, &with));
    for (size_t i = 0; i < given->count; i++) {
        nvt_trace_free(make_case(given, given->rank, 1u << i, &without));
        given->truths[i].cost_ns = with - without;
    }
    return with;
}

/* What is asked of a trouble is only about what it costs, and not a share of a whole that other work makes longer: ask for more
 * until each truly costs its share. */
static void settle_truths(struct bench_case *given)
{
    for (int tries = 0; tries < 24; tries++) {
        const double whole = measure_truths(given);
        int is_settled = 1;
        for (size_t i = 0; i < given->count && given->variant != AT_START; i++) {
            struct truth *truth = &given->truths[i];
            if (truth->trouble->no_size || truth->cost_ns >= truth->share * whole)
                continue;
            truth->ns = truth->ns * 5 / 4;
            is_settled = 0;
        }
        if (is_settled)
            return;
    }
}

/* --- scores ---------------------------------------------------------------------------------------- */

int bench_tells_of(const char *cause, const char *const *causes)
{
    for (size_t i = 0; i < BENCH_CAUSES && causes[i]; i++)
        if (!strcmp(cause, causes[i]))
            return 1;
    return 0;
}

static int tells_of(const struct nvt_finding *finding, const char *const *causes)
{
    return bench_tells_of(finding->cause, causes);
}

static int says(const struct nvt_finding *finding, const char *text)
{
    return strstr(finding->what, text) || strstr(finding->evidence, text) ||
           strstr(finding->where, text) || strstr(finding->subject, text);
}

static void show(const struct bench *bench, const struct bench_case *given, const char *what,
                 const struct truth *truth, const struct nvt_finding *finding)
{
    if (!bench->shows_misses)
        return;
    printf("%s: %s, %s, seed %llu", what, truth ? truth->trouble->name : "-",
           bench_variant_names[given->variant], (unsigned long long)given->seed);
    if (truth)
        printf(", %.0f ns", truth->cost_ns);
    if (finding)
        printf("; %s (%.0f ns): %s; %s", finding->cause, finding->cost_ns, finding->what,
               finding->evidence);
    putchar('\n');
}

static void count(struct bench *bench, const struct bench_case *given, const struct truth *truth,
                  size_t offset, int value)
{
    struct score *const scores[] = {&bench->troubles[truth->trouble - bench_troubles],
                                    &bench->variants[given->variant], &bench->all};
    for (size_t i = 0; i < 3; i++)
        *(unsigned *)(void *)((char *)scores[i] + offset) += (unsigned)value;
}

#define COUNT(field, value) count(bench, given, truth, offsetof(struct score, field), (value))

/* Where the trouble ended before the steady half, silence is right. */
static void score_silence(struct bench *bench, const struct bench_case *given,
                          const struct truth *truth, const struct nvt_findings *findings)
{
    int told = 0;
    for (size_t i = 0; i < findings->count; i++)
        told |= tells_of(&findings->items[i], truth->trouble->causes);
    COUNT(silent_cases, 1);
    COUNT(silent, !told);
    if (told)
        show(bench, given, "told although over", truth, &findings->items[0]);
}

static void score_truth(struct bench *bench, const struct bench_case *given,
                        const struct truth *truth, int is_largest,
                        const struct nvt_findings *findings)
{
    const struct nvt_finding *found = NULL;
    const struct bench_trouble *trouble = truth->trouble;
    for (size_t i = 0; i < findings->count && !found; i++)
        if (tells_of(&findings->items[i], trouble->causes))
            found = &findings->items[i];
    COUNT(cases, 1);
    COUNT(found, found != NULL);
    if (!found) {
        show(bench, given, "missed", truth, findings->count ? &findings->items[0] : NULL);
        return;
    }
    const int is_first = found == findings->items || !is_largest;
    COUNT(first, is_first);
    if (!is_first)
        show(bench, given, "not first", truth, &findings->items[0]);
    if (trouble->place || has_ranks(given)) {
        char rank[16];
        (void)snprintf(rank, sizeof(rank), trouble->is_of_ranks ? "rank %u" : "rank%u.nvt",
                       given->rank);
        const int is_placed = (!trouble->place || says(found, trouble->place)) &&
                              (!has_ranks(given) || says(found, rank));
        COUNT(placeable, 1);
        COUNT(placed, is_placed);
        if (!is_placed)
            show(bench, given, "wrong place", truth, found);
    }
    if (!trouble->no_size) {
        const int is_sized = fabs(found->cost_ns - truth->cost_ns) <= SIZE_WITHIN * truth->cost_ns;
        COUNT(sizeable, 1);
        COUNT(sized, is_sized);
        if (!is_sized)
            show(bench, given, "wrong size", truth, found);
    }
}

/* A finding is right if it tells of one of the truths. */
static void score_confidences(struct bench *bench, const struct bench_case *given,
                              const struct nvt_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        int is_right = 0;
        for (size_t k = 0; k < given->count; k++)
            is_right |= tells_of(&findings->items[i], given->truths[k].trouble->causes) ||
                        tells_of(&findings->items[i], given->truths[k].trouble->consequences);
        /* That single iterations are slow, or every n-th, is true of these, if not why. */
        is_right |= (given->variant == EVERY_NTH || given->variant == AT_END) &&
                    (!strcmp(findings->items[i].cause, nvt_rule_iterations.cause) ||
                     (given->variant == EVERY_NTH &&
                      !strcmp(findings->items[i].cause, nvt_rule_periodic.cause)));
        bench->confidences[findings->items[i].confidence].told++;
        bench->confidences[findings->items[i].confidence].right += (unsigned)is_right;
        if (!is_right)
            show(bench, given, "also told", &given->truths[0], &findings->items[i]);
    }
}

static void write_case(struct bench *bench, const struct nvt_input *input, const char *trouble,
                       const char *variant, double cost_ns)
{
    struct nvt_error err = NVT_ERROR_INIT;
    char path[PATH_MAX];
    if (!bench->folder || input->trace_count > 1 || !input->traces->trace->ops.count)
        return;
    snprintf(path, sizeof(path), "%s/case-%04u.sqlite", bench->folder, bench->written++);
    if (nvt_exporter_sqlite.write_file(input->traces->trace, path, &err))
        fail_msg("%s: %s", path, err.message);
    fprintf(bench->list, "%s\t%s\t%s\t%.0f\n", path, trouble, variant, cost_ns);
}

static void run_case(struct bench *bench, struct bench_case *given)
{
    const uint32_t ranks = has_ranks(given) ? RANKS : 1;
    struct nvt_input_trace traces[RANKS] = {{.trace = NULL}};
    struct nvt_input input = {.traces = traces, .trace_count = ranks};
    struct nvt_findings findings = {0};
    double mean, most = 0;
    settle_truths(given);
    for (uint32_t i = 0; i < input.trace_count; i++)
        traces[i].trace = make_case(given, ranks > 1 ? i : given->rank, 0, &mean);
    assert_int_equal(nvt_diagnose(&input, NULL, &findings, NULL), 0);
    for (size_t i = 0; i < given->count; i++)
        most = fmax(most, given->truths[i].cost_ns);
    if (given->count == 1 && given->variant != AT_START)
        write_case(bench, &input, given->truths[0].trouble->name,
                   bench_variant_names[given->variant], most);
    for (size_t i = 0; i < given->count; i++)
        if (given->variant == AT_START)
            score_silence(bench, given, &given->truths[i], &findings);
        else
            score_truth(bench, given, &given->truths[i], given->truths[i].cost_ns >= most,
                        &findings);
    if (given->variant != AT_START)
        score_confidences(bench, given, &findings);
    free(findings.items);
    nvt_buffer_free(&input.notes);
    for (size_t i = 0; i < input.trace_count; i++)
        nvt_trace_free(traces[i].trace);
}

/* What it is asked to cost so that it is so many times the least share that is told, in the mean of all iterations. */
static int64_t ask(const struct bench_case *given, const struct bench_trouble *trouble,
                   double times)
{
    struct bench_program program = begin(given->seed, given->has_device, 0);
    const double share = fmin(trouble->least * times, trouble->most > 0 ? trouble->most : 0.8);
    const double part = given->variant == AT_END      ? 0.5
                        : given->variant == EVERY_NTH ? 1.0 / given->every
                                                      : 1;
    int64_t ns = (int64_t)(body_ns(&program) * share / (1 - share) / part);
    nvt_trace_free(make_end(&program.maker));
    return ns;
}

static void make_and_run(struct bench *bench, const struct bench_trouble *trouble,
                         enum variant variant)
{
    struct bench_case given = {.variant = variant,
                               .seed = bench_random(&bench->random) >> 16,
                               .has_device = trouble->has_device,
                               .every = (int)bench_between(&bench->random, 2, 5),
                               .count = 1};
    const double times = variant == NEAR_THRESHOLD ? bench_even(&bench->random, 1.3, 1.5)
                         : variant == LARGE        ? bench_even(&bench->random, 4, 6)
                                                   : bench_even(&bench->random, 1.8, 2.2);
    given.rank = variant == ONE_RANK || trouble->is_of_ranks
                     ? (uint32_t)bench_between(&bench->random, 0, RANKS - 1)
                     : 0;
    given.truths[0] = (struct truth){
        .trouble = trouble,
        .ns = ask(&given, trouble, times),
        .share = fmin(trouble->least * times, trouble->most > 0 ? trouble->most : 0.6)};
    if (variant == TWO) {
        const struct bench_trouble *other;
        do
            other = &bench_troubles[bench_random(&bench->random) % bench_trouble_count];
        while (other == trouble || other->has_device != trouble->has_device || other->no_size ||
               other->is_once || other->is_alone);
        given.truths[1] = (struct truth){.trouble = other,
                                         .ns = ask(&given, other, times),
                                         .share = fmin(other->least * times, 0.4)};
        given.truths[0].share = fmin(given.truths[0].share, 0.4);
        given.count = 2;
    }
    run_case(bench, &given);
}

static void run_healthy(struct bench *bench, size_t which)
{
    const uint64_t seed = bench_random(&bench->random) >> 16;
    struct nvt_input_trace traces[RANKS] = {{.trace = NULL}};
    struct nvt_input input = {.traces = traces,
                              .trace_count = bench_healthy[which].is_of_ranks ? RANKS : 1};
    struct nvt_findings findings = {0};
    for (uint32_t i = 0; i < input.trace_count; i++) {
        struct bench_program program = begin(seed, bench_healthy[which].has_device, i);
        bench_healthy[which].make(&program);
        traces[i].trace = make_end(&program.maker);
    }
    assert_int_equal(nvt_diagnose(&input, NULL, &findings, NULL), 0);
    write_case(bench, &input, "healthy", bench_healthy[which].name, 0);
    bench->healthy[which]++;
    for (size_t i = 0; i < findings.count; i++) {
        if (tells_of(&findings.items[i], bench_healthy[which].may_be_told))
            continue;
        bench->healthy_false[which]++;
        bench->confidences[findings.items[i].confidence].told++;
        if (bench->shows_misses)
            printf("false: %s, seed %llu; %s: %s; %s\n", bench_healthy[which].name,
                   (unsigned long long)seed, findings.items[i].cause, findings.items[i].what,
                   findings.items[i].evidence);
    }
    free(findings.items);
    nvt_buffer_free(&input.notes);
    for (size_t i = 0; i < input.trace_count; i++)
        nvt_trace_free(traces[i].trace);
}

static const char *list_name(const char *folder)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/cases.tsv", folder);
    return path;
}

int main(int argc, char **argv)
{
    static const char *const h100[] = {"docs/results/h100/traces/looped.nvt",
                                       "docs/results/h100/traces/pytorch.nvt",
                                       "docs/results/h100/traces/train.nvt"};
    static struct bench bench;
    const uint64_t drawn = (uint64_t)time(NULL) * 1000003u ^ (uint64_t)getpid();
    const uint64_t seed =
        argc > 1 && strcmp(argv[1], "draw") ? (uint64_t)strtoull(argv[1], NULL, 10) : drawn;
    gather_troubles();
    bench.random.state = seed;
    bench.cases = argc > 2 ? atoi(argv[2]) : 5;
    bench.shows_misses = getenv("NVTALLY_BENCH_MISSES") != NULL;
    bench.folder = getenv("NVTALLY_BENCH_WRITE");
    if (bench.folder && !(bench.list = fopen(list_name(bench.folder), "w"))) {
        perror(bench.folder);
        return 2;
    }
    printf("seed %llu, %d cases of each trouble and variant\n", (unsigned long long)seed,
           bench.cases);
    for (size_t i = 0; i < bench_trouble_count; i++)
        for (int variant = 0; variant < VARIANTS; variant++) {
            if (bench_troubles[i].is_once &&
                (variant == AT_START || variant == AT_END || variant == EVERY_NTH))
                continue;
            if (variant == TWO && (bench_troubles[i].is_of_ranks || bench_troubles[i].is_alone))
                continue;
            for (int k = 0; k < bench.cases; k++)
                make_and_run(&bench, &bench_troubles[i], (enum variant)variant);
        }
    for (size_t i = 0; i < bench_healthy_count; i++)
        for (int k = 0; k < 8 * bench.cases; k++)
            run_healthy(&bench, i);
    bench.sweep_count = bench_sweeps(&bench.random, (unsigned)(SWEEPS * bench.cases),
                                     bench.shows_misses, &bench.sweeps);
    bench.recorded.shows_misses = bench.emulated.shows_misses = bench.shows_misses;
    bench_plant(&bench.recorded, &bench.random, h100, NVT_COUNT_OF(h100), (unsigned)bench.cases);
    if (argc > 3)
        bench_plant(&bench.emulated, &bench.random, (const char *const *)argv + 3, (size_t)argc - 3,
                    (unsigned)bench.cases);
    bench_print(&bench);
    if (bench.list && fclose(bench.list)) {
        perror(bench.folder);
        return 2;
    }
    return 0;
}
