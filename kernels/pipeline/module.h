/*
 * Modules: the parts that a pipeline is cut from. A module maps each sample of a micro-batch from `in` to
 * `out` numbers; a model is a chain of them. A kind of module is one struct nvt_module_type.
 */
#ifndef NVT_MODULE_H
#define NVT_MODULE_H

#include "../frame/allocator.h"
#include "../ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NVT_KEPT_MOST 20

/* What a module keeps of its forward for its backward, besides input and output: blocks of the
 * partition's allocator, released behind the backward. */
struct nvt_kept {
    void *blocks[NVT_KEPT_MOST];
    int count;
};

/* One micro-batch on its way through a module. */
struct nvt_pass {
    struct nvt_allocator *allocator;
    int64_t samples;
    /* What dropout draws from, together with the module's number and the place in it: the same again when
     * a forward is recomputed, and however the model is cut. */
    uint64_t seed;
    int64_t iteration;
    int microbatch;
    struct nvt_kept *kept;
};

struct nvt_module;

struct nvt_module_type {
    const char *name;
    /* What the backward reads besides what was kept. */
    int needs_input, needs_output;
    /* Weights, from the generator's stream module->stream. */
    void (*init)(const struct nvt_module *module, uint64_t seed);
    /* y[samples][out] from x[samples][in]. 0, or -1 when out of memory. */
    int (*forward)(const struct nvt_module *module, struct nvt_pass *pass, const real *x, real *y);
    /* dx[samples][in] from dy[samples][out], and module->g += its gradient. x and y are NULL unless needed,
     * dx is NULL for the first module of a model. dy may be written to. 0, or -1 when out of memory. */
    int (*backward)(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                    const real *y, real *dy, real *dx);
    /* FLOPs of a forward of one sample of a micro-batch of so many; the backward of a matrix product takes twice
     * as many. NULL: none worth counting. */
    double (*flops)(const struct nvt_module *module, int64_t samples);
};

struct nvt_module {
    const struct nvt_module_type *type;
    int64_t in, out; /* numbers a sample */
    int64_t parameters;
    int64_t shape[8]; /* as the type has it */
    real dropout;     /* probability */
    uint64_t stream;  /* number in the model, for random numbers */
    real *w, *g;      /* weights and gradient, the partition's */
};

/* Memory for a module's own use: `keep` until its backward, or temporary (give it back yourself). NULL
 * when there is none left. */
real *nvt_pass_keep(struct nvt_pass *pass, int64_t numbers);
real *nvt_pass_take(struct nvt_pass *pass, int64_t numbers);
void nvt_pass_give(struct nvt_pass *pass, void *block);
/* Give back all that was kept. */
void nvt_pass_release(struct nvt_pass *pass);

/*
 * The models. A model's modules are made in order into modules[0 … count), weights not yet set; the number
 * of modules, or -1 when it is larger than `most`.
 */
struct nvt_gpt2_shape {
    int64_t d_model, layers, heads, d_ff, sequence, vocabulary;
    int attends_batch; /* attention across the samples of a micro-batch, as the published code does */
    real dropout;
};
int nvt_gpt2_modules(const struct nvt_gpt2_shape *shape, struct nvt_module *modules, int most);

/* The residual network of basic blocks [3, 13, 30, 3] on images of 3×32×32, ten classes: 56 modules. */
#define NVT_RESNET_MODULES 56
int nvt_resnet_modules(struct nvt_module *modules, int most);

#ifdef __cplusplus
}
#endif
#endif
