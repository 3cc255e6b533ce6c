/*
 * What a backend can reach: a large matrix product and a large copy, both through what workloads
 * use.
 */
#include <math.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../ops/copy.h"
#include "../ops/ops.h"
#include "../workload.h"

#define LEAST_RUNS 5
#define MOST_RUNS  200
#define MOST_NS    INT64_C(400000000) /* of all runs of one kind */

/* Sizes that take a device or a processor a few ms, beyond its caches. */
struct sizes {
    int64_t square; /* rows and columns of the matrices */
    int64_t copied; /* numbers */
};

struct trial {
    real *a, *b, *c;
    struct sizes sizes;
    enum nvt_precision precision;
    int is_copy;
};

static void run_once(const struct trial *trial)
{
    const int64_t n = trial->sizes.square;
    struct nvt_matmul shape;
    memset(&shape, 0, sizeof(shape));
    if (trial->is_copy) {
        nvt_copy(trial->c, trial->a, trial->sizes.copied);
        return;
    }
    shape.transpose_b = 1;
    shape.m = shape.n = shape.k = n;
    shape.alpha = 1;
    shape.count = 1;
    shape.precision = trial->precision;
    nvt_backend_matmul_batched(&shape, trial->a, trial->b, trial->c);
}

/* The shortest of several runs, in ns: what others on the machine took is not the backend's. */
static double best_of(const struct trial *trial)
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

static void measure(struct trial *trial, struct nvt_peak *peak)
{
    const double n = (double)trial->sizes.square;
    nvt_random_normal(trial->a, trial->sizes.copied, 1, 1, 1);
    nvt_random_normal(trial->b, trial->sizes.square * trial->sizes.square, 1, 2, 1);
    for (int i = NVT_FP32; i <= NVT_FP16; i++) {
        trial->precision = (enum nvt_precision)i;
        if (!nvt_backend_emulates(trial->precision))
            peak->flops[i] = 2 * n * n * n / best_of(trial) * 1e9;
    }
    trial->is_copy = 1;
    peak->bytes = 2.0 * (double)sizeof(real) * (double)trial->sizes.copied / best_of(trial) * 1e9;
}

int nvt_workload_peak(struct nvt_peak *peak, struct nvt_error *err)
{
    struct nvt_backend_facts facts;
    memset(peak, 0, sizeof(*peak));
    if (nvt_workload_backend(&facts, err))
        return -1;
    const int is_host = !strcmp(facts.name, "host");
    struct trial trial;
    memset(&trial, 0, sizeof(trial));
    trial.sizes.square = is_host ? 1024 : 8192;
    trial.sizes.copied = is_host ? 1 << 25 : 1 << 28;
    const size_t copied = (size_t)trial.sizes.copied * sizeof(real);
    trial.a = (real *)nvt_backend_alloc(copied);
    trial.b =
        (real *)nvt_backend_alloc((size_t)(trial.sizes.square * trial.sizes.square) * sizeof(real));
    trial.c = (real *)nvt_backend_alloc(copied);
    int status =
        trial.a && trial.b && trial.c ? 0 : nvt_fail(err, "no memory to measure the peak with");
    if (!status) {
        measure(&trial, peak);
        status = nvt_backend_failed(err);
    }
    nvt_backend_free(trial.a);
    nvt_backend_free(trial.b);
    nvt_backend_free(trial.c);
    return status;
}
