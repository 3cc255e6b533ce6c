/*
 * What a backend can reach: large matrix products and a large copy, all through what workloads
 * use.
 */
#include <math.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../ops/copy.h"
#include "../ops/ops.h"
#include "../ops/quantize.h"
#include "../workload.h"

#define LEAST_RUNS 5
#define MOST_RUNS  200
#define MOST_NS    INT64_C(400000000) /* of all runs of one kind */

/* Sizes that take a device or a processor a few ms, beyond its caches. */
struct sizes {
    int64_t square; /* rows and columns of the matrices, at most half the root of `copied` */
    int64_t copied; /* numbers */
};

/* What is taken where there is room for it; then the half of each, down to a quarter of the rows. Less would lie in
 * caches. */
static const struct sizes of_host = {1024, 1 << 25}, of_device = {8192, 1 << 28};
enum { HALVINGS = 2 };

enum kind { OF_REALS, OF_INT8, OF_INT8_LAYER, COPY };

struct trial {
    real *a, *b, *c;
    void *left, *right; /* a and b as products read them: themselves, or rounded copies */
    struct sizes sizes;
    enum nvt_precision precision;
    enum kind kind;
};

static void run_once(struct trial *trial)
{
    const int64_t n = trial->sizes.square;
    struct nvt_matmul shape;
    memset(&shape, 0, sizeof(shape));
    if (trial->kind == COPY) {
        nvt_copy(trial->c, trial->a, trial->sizes.copied);
        return;
    }
    if (trial->kind == OF_INT8) {
        const int8_t *integers = (const int8_t *)trial->b;
        void *sums = trial->c;
        nvt_backend_matmul_int8(n, n, n, integers, integers + n * n, (int32_t *)sums);
        return;
    }
    if (trial->kind == OF_INT8_LAYER) {
        const int8_t *integers = (const int8_t *)trial->b;
        void *halves = trial->c, *scales = trial->c + n * n, *sums = trial->c + 2 * n * n;
        nvt_int8_linear((nvt_half *)halves, integers, (const float *)scales, integers + n * n,
                        (const float *)scales, 1, n, n, n, (int32_t *)sums);
        return;
    }
    shape.transpose_b = 1;
    shape.m = shape.n = shape.k = n;
    shape.alpha = 1;
    shape.count = 1;
    shape.precision = trial->precision;
    nvt_backend_matmul_batched(&shape, trial->left, trial->right, trial->c);
}

/* The shortest of several runs, in ns: what others on the machine took is not the backend's. */
static double best_of(struct trial *trial)
{
    int64_t best = INT64_MAX, all = 0;
    run_once(trial);
    nvt_backend_sync();
    for (int i = 0; i < LEAST_RUNS || (i < MOST_RUNS && all < MOST_NS); i++) {
        const int64_t start = nvt_monotonic_ns();
        run_once(trial);
        nvt_backend_sync();
        const int64_t took = nvt_monotonic_ns() - start;
        best = took < best ? took : best;
        all += took;
    }
    return best > 0 ? (double)best : 1;
}

/* Inputs are rounded beforehand, as a product's speed is asked for and not that of what is around it. 0: there is no memory for
 * that. */
static double product_of(struct trial *trial, enum nvt_precision precision)
{
    const int64_t count = trial->sizes.square * trial->sizes.square;
    const size_t each = nvt_backend_stored_bytes(precision), bytes = (size_t)count * each;
    trial->precision = precision;
    trial->left = trial->a;
    trial->right = trial->b;
    if (each == sizeof(real))
        return best_of(trial);
    trial->left = nvt_backend_alloc(0, 2 * bytes);
    if (!trial->left)
        return 0;
    trial->right = (char *)trial->left + bytes;
    nvt_store(precision, trial->left, trial->a, count);
    nvt_store(precision, trial->right, trial->b, count);
    const double best = best_of(trial);
    nvt_backend_free(0, trial->left);
    return best;
}

/* Normal numbers as SwitchBack quantises them, both matrices in b; c, in which they are halves meanwhile, has room for
 * 4 n² numbers. */
static void make_integers(struct trial *trial)
{
    const int64_t n = trial->sizes.square, count = n * n;
    void *room = trial->c, *behind = trial->c + count;
    nvt_half *halves = (nvt_half *)room;
    float *scales = (float *)behind;
    int8_t *integers = (int8_t *)trial->b;
    nvt_half_from_float(halves, (const float *)trial->a, count);
    nvt_half_from_float(halves + count, (const float *)trial->b, count);
    for (int i = 0; i < 2; i++)
        nvt_quantize_rows(integers + i * count, scales, halves + i * count, n, n);
}

/* The faster of the library's product, whose sums go to memory, and a layer's, whose scales a device may apply before. b is
 * lost by it. 0 where it would be, or has become, a plain loop. */
static double int8_of(struct trial *trial)
{
    if (nvt_backend_int8_is_plain())
        return 0;
    make_integers(trial);
    trial->kind = OF_INT8;
    const double n = (double)trial->sizes.square, product = best_of(trial);
    trial->kind = OF_INT8_LAYER;
    const double layer = best_of(trial);
    return nvt_backend_int8_is_plain() ? 0 : 2 * n * n * n / fmin(product, layer) * 1e9;
}

static void measure(struct trial *trial, struct nvt_peak *peak)
{
    const double n = (double)trial->sizes.square;
    nvt_random_normal(trial->a, trial->sizes.copied, 1, 1, 1);
    nvt_random_normal(trial->b, trial->sizes.square * trial->sizes.square, 1, 2, 1);
    for (int i = NVT_FP32; i <= NVT_FP16; i++) {
        const double took = nvt_backend_emulates((enum nvt_precision)i)
                                ? 0
                                : product_of(trial, (enum nvt_precision)i);
        peak->flops[i] = took > 0 ? 2 * n * n * n / took * 1e9 : 0;
    }
    peak->int8 = int8_of(trial);
    trial->kind = COPY;
    peak->bytes = 2.0 * (double)sizeof(real) * (double)trial->sizes.copied / best_of(trial) * 1e9;
}

static size_t copied_bytes(const struct sizes *sizes)
{
    return (size_t)sizes->copied * sizeof(real);
}

static size_t matrix_bytes(const struct sizes *sizes)
{
    return (size_t)(sizes->square * sizes->square) * sizeof(real);
}

static int take(struct trial *trial)
{
    const size_t copied = copied_bytes(&trial->sizes), matrix = matrix_bytes(&trial->sizes);
    trial->a = (real *)nvt_backend_alloc(0, copied);
    trial->b = trial->a ? (real *)nvt_backend_alloc(0, matrix) : NULL;
    trial->c = trial->b ? (real *)nvt_backend_alloc(0, copied) : NULL;
    return trial->c ? 0 : -1;
}

static void give_back(struct trial *trial)
{
    real *const all[] = {trial->a, trial->b, trial->c};
    for (int i = 0; i < 3; i++)
        if (all[i])
            nvt_backend_free(0, all[i]);
    trial->a = trial->b = trial->c = NULL;
}

int nvt_workload_peak(struct nvt_peak *peak, struct nvt_error *err)
{
    struct nvt_backend_facts facts;
    memset(peak, 0, sizeof(*peak));
    if (nvt_workload_backend(&facts, err))
        return -1;
    struct trial trial;
    memset(&trial, 0, sizeof(trial));
    trial.sizes = strcmp(facts.name, "host") ? of_device : of_host;
    int lacks = take(&trial);
    for (int i = 0; i < HALVINGS && lacks; i++) {
        give_back(&trial);
        trial.sizes.square /= 2;
        trial.sizes.copied /= 2;
        lacks = take(&trial);
    }
    if (!lacks)
        measure(&trial, peak);
    give_back(&trial);
    if (nvt_backend_failed(err))
        return -1;
    return lacks ? nvt_fail(err, "too little memory to measure the peak: %.0f MiB are needed",
                            (double)(2 * copied_bytes(&trial.sizes) + matrix_bytes(&trial.sizes)) /
                                1048576)
                 : 0;
}
