/*
 * The residual network of basic blocks (He et al., "Deep residual learning for image recognition", 2016) as
 * modules: convolution, norm, ReLU, pool, [3, 13, 30, 3] blocks, mean pool, flatten, classifier. Images are
 * channels last. Batch normalisation is over the samples of a micro-batch: its loss depends on how many
 * micro-batches there are, as in GPipe without its synchronised variant.
 */
#include "../ops/image.h"
#include "../ops/vector.h"
#include "module.h"

#include <math.h>

#define EPSILON ((real)1e-5)

enum { SIDE, CHANNELS, OUT_CHANNELS, STRIDE }; /* in shape[] */

/* --- convolution and norm, as parts of modules ------------------------------------------------------- */

/* y[places][out] = patches of x · w[out][size² · channels]ᵀ. 0, or -1 when out of memory. */
static int convolve(struct nvt_pass *pass, const struct nvt_window *window, real *y, const real *x,
                    const real *w, int64_t out)
{
    int64_t places = window->samples * window->out_height * window->out_width;
    int64_t length = window->size * window->size * window->channels;
    real *patches = nvt_pass_take(pass, places * length);
    if (!patches)
        return -1;
    nvt_unroll(window, patches, x);
    nvt_backend_matmul(0, 1, places, out, length, 1, patches, w, 0, y);
    nvt_pass_give(pass, patches);
    return 0;
}

/* dw += …, and dx is written unless NULL. */
static int convolve_backward(struct nvt_pass *pass, const struct nvt_window *window, real *dx,
                             real *dw, const real *dy, const real *x, const real *w, int64_t out)
{
    int64_t places = window->samples * window->out_height * window->out_width;
    int64_t length = window->size * window->size * window->channels;
    real *patches = nvt_pass_take(pass, places * length);
    if (!patches)
        return -1;
    nvt_unroll(window, patches, x);
    nvt_backend_matmul(1, 0, out, length, places, 1, dy, patches, 1, dw);
    if (dx) {
        nvt_backend_matmul(0, 0, places, length, out, 1, dy, w, 0, patches);
        nvt_unroll_backward(window, dx, patches);
    }
    nvt_pass_give(pass, patches);
    return 0;
}

/* He et al.'s initialisation: deviation √(2 / fan-out). */
static void init_convolution(real *w, int64_t size, int64_t in, int64_t out, uint64_t seed,
                             uint64_t stream)
{
    nvt_random_normal(w, size * size * in * out, seed, stream,
                      (real)sqrt(2 / (double)(size * size * out)));
}

static void init_norm(real *w, int64_t channels)
{
    nvt_fill(w, channels, 1);
    nvt_fill(w + channels, channels, 0);
}

/* --- stem ---------------------------------------------------------------------------------------------- */

static struct nvt_window stem_window(const struct nvt_module *module, const struct nvt_pass *pass)
{
    return nvt_window_of(pass->samples, module->shape[SIDE], module->shape[SIDE],
                         module->shape[CHANNELS], 7, 2, 3);
}

static void stem_init(const struct nvt_module *module, uint64_t seed)
{
    init_convolution(module->w, 7, module->shape[CHANNELS], module->shape[OUT_CHANNELS], seed,
                     module->stream * 16);
}

static int stem_forward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                        real *y)
{
    struct nvt_window window = stem_window(module, pass);
    return convolve(pass, &window, y, x, module->w, module->shape[OUT_CHANNELS]);
}

static int stem_backward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                         const real *y, real *dy, real *dx)
{
    struct nvt_window window = stem_window(module, pass);
    (void)y;
    return convolve_backward(pass, &window, dx, module->g, dy, x, module->w,
                             module->shape[OUT_CHANNELS]);
}

static double stem_flops(const struct nvt_module *module, int64_t samples)
{
    (void)samples;
    return 2.0 * 49 * (double)module->shape[CHANNELS] * (double)module->out;
}

static void norm_init(const struct nvt_module *module, uint64_t seed)
{
    (void)seed;
    init_norm(module->w, module->shape[CHANNELS]);
}

static int norm_forward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                        real *y)
{
    int64_t channels = module->shape[CHANNELS], rows = pass->samples * module->in / channels;
    real *m = nvt_pass_keep(pass, channels), *r = nvt_pass_keep(pass, channels);
    if (!m || !r)
        return -1;
    nvt_batchnorm_forward(y, m, r, x, module->w, module->w + channels, rows, channels, EPSILON);
    return 0;
}

static int norm_backward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                         const real *y, real *dy, real *dx)
{
    int64_t channels = module->shape[CHANNELS], rows = pass->samples * module->in / channels;
    (void)y;
    nvt_batchnorm_backward(dx, module->g, module->g + channels, dy, x, module->w,
                           (const real *)pass->kept->blocks[0], (const real *)pass->kept->blocks[1],
                           rows, channels);
    return 0;
}

static int relu_forward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                        real *y)
{
    nvt_relu_forward(y, x, pass->samples * module->in);
    return 0;
}

static int relu_backward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                         const real *y, real *dy, real *dx)
{
    (void)x;
    nvt_relu_backward(dx, dy, y, pass->samples * module->in);
    return 0;
}

static struct nvt_window pool_window(const struct nvt_module *module, const struct nvt_pass *pass)
{
    return nvt_window_of(pass->samples, module->shape[SIDE], module->shape[SIDE],
                         module->shape[CHANNELS], 3, 2, 1);
}

static int pool_forward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                        real *y)
{
    struct nvt_window window = pool_window(module, pass);
    /* A place needs four bytes: a real has at least as many. */
    real *at = nvt_pass_keep(pass, pass->samples * module->out);
    if (!at)
        return -1;
    nvt_max_pool_forward(&window, y, (void *)at, x);
    return 0;
}

static int pool_backward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                         const real *y, real *dy, real *dx)
{
    struct nvt_window window = pool_window(module, pass);
    (void)x;
    (void)y;
    nvt_max_pool_backward(&window, dx, dy, (const void *)pass->kept->blocks[0]);
    return 0;
}

/* --- basic block ------------------------------------------------------------------------------------- */

/* Two 3×3 convolutions with their norms, and a 1×1 projection of the shortcut where the shape changes. */
struct block {
    struct nvt_window first, second, shortcut;
    int64_t out, rows, numbers; /* channels; places; numbers of the output */
    int projects;
};

struct weights {
    real *conv1, *norm1, *conv2, *norm2, *conv3, *norm3;
};

static struct block block_of(const struct nvt_module *module, int64_t samples)
{
    int64_t side = module->shape[SIDE], in = module->shape[CHANNELS],
            stride = module->shape[STRIDE];
    struct block block;
    block.out = module->shape[OUT_CHANNELS];
    block.first = nvt_window_of(samples, side, side, in, 3, stride, 1);
    block.second =
        nvt_window_of(samples, block.first.out_height, block.first.out_width, block.out, 3, 1, 1);
    block.shortcut = nvt_window_of(samples, side, side, in, 1, stride, 0);
    block.rows = samples * block.first.out_height * block.first.out_width;
    block.numbers = block.rows * block.out;
    block.projects = stride > 1 || in != block.out;
    return block;
}

static struct weights weights_at(const struct nvt_module *module, real *at)
{
    int64_t in = module->shape[CHANNELS], out = module->shape[OUT_CHANNELS];
    struct weights w;
    w.conv1 = at;
    w.norm1 = w.conv1 + 9 * in * out;
    w.conv2 = w.norm1 + 2 * out;
    w.norm2 = w.conv2 + 9 * out * out;
    w.conv3 = w.norm2 + 2 * out;
    w.norm3 = w.conv3 + in * out;
    return w;
}

static int64_t block_parameters(int64_t in, int64_t out, int projects)
{
    return 9 * in * out + 9 * out * out + 4 * out + (projects ? in * out + 2 * out : 0);
}

static void block_init(const struct nvt_module *module, uint64_t seed)
{
    int64_t in = module->shape[CHANNELS], out = module->shape[OUT_CHANNELS];
    struct weights w = weights_at(module, module->w);
    init_convolution(w.conv1, 3, in, out, seed, module->stream * 16);
    init_norm(w.norm1, out);
    init_convolution(w.conv2, 3, out, out, seed, module->stream * 16 + 1);
    init_norm(w.norm2, out);
    if (block_of(module, 1).projects) {
        init_convolution(w.conv3, 1, in, out, seed, module->stream * 16 + 2);
        init_norm(w.norm3, out);
    }
}

enum { CONV1, ACTIVE, CONV2, CONV3, STATISTICS, KEPT }; /* STATISTICS: six times `out` */

static int block_forward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                         real *y)
{
    struct block block = block_of(module, pass->samples);
    struct weights w = weights_at(module, module->w);
    real **kept = (real **)pass->kept->blocks;
    int64_t n = block.numbers, out = block.out;
    for (int i = 0; i < KEPT; i++)
        if (!nvt_pass_keep(pass, i == STATISTICS ? 6 * out : i == CONV3 && !block.projects ? 1 : n))
            return -1;
    real *s = kept[STATISTICS];
    if (convolve(pass, &block.first, kept[CONV1], x, w.conv1, out))
        return -1;
    nvt_batchnorm_forward(kept[ACTIVE], s, s + out, kept[CONV1], w.norm1, w.norm1 + out, block.rows,
                          out, EPSILON);
    nvt_relu_forward(kept[ACTIVE], kept[ACTIVE], n);
    if (convolve(pass, &block.second, kept[CONV2], kept[ACTIVE], w.conv2, out))
        return -1;
    if (block.projects) {
        real *shortcut = nvt_pass_take(pass, n);
        if (!shortcut || convolve(pass, &block.shortcut, kept[CONV3], x, w.conv3, out)) {
            nvt_pass_give(pass, shortcut);
            return -1;
        }
        nvt_batchnorm_forward(shortcut, s + 4 * out, s + 5 * out, kept[CONV3], w.norm3,
                              w.norm3 + out, block.rows, out, EPSILON);
        nvt_batchnorm_forward(y, s + 2 * out, s + 3 * out, kept[CONV2], w.norm2, w.norm2 + out,
                              block.rows, out, EPSILON);
        nvt_add(y, shortcut, n);
        nvt_pass_give(pass, shortcut);
    } else {
        nvt_batchnorm_forward(y, s + 2 * out, s + 3 * out, kept[CONV2], w.norm2, w.norm2 + out,
                              block.rows, out, EPSILON);
        nvt_add(y, x, n);
    }
    nvt_relu_forward(y, y, n);
    return 0;
}

/* dx = the gradient that comes by the shortcut. */
static int shortcut_backward(const struct nvt_module *module, struct nvt_pass *pass,
                             const struct block *block, const real *x, const real *dy, real *dx)
{
    struct weights w = weights_at(module, module->w), g = weights_at(module, module->g);
    const real *const *kept = (const real *const *)pass->kept->blocks;
    const real *s = kept[STATISTICS];
    int64_t out = block->out;
    if (!block->projects) {
        nvt_copy(dx, dy, block->numbers);
        return 0;
    }
    real *through = nvt_pass_take(pass, block->numbers);
    if (!through)
        return -1;
    nvt_batchnorm_backward(through, g.norm3, g.norm3 + out, dy, kept[CONV3], w.norm3, s + 4 * out,
                           s + 5 * out, block->rows, out);
    int status = convolve_backward(pass, &block->shortcut, dx, g.conv3, through, x, w.conv3, out);
    nvt_pass_give(pass, through);
    return status;
}

static int block_backward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                          const real *y, real *dy, real *dx)
{
    struct block block = block_of(module, pass->samples);
    struct weights w = weights_at(module, module->w), g = weights_at(module, module->g);
    const real *const *kept = (const real *const *)pass->kept->blocks;
    const real *s = kept[STATISTICS];
    int64_t out = block.out, in_numbers = pass->samples * module->in;
    nvt_relu_backward(dy, dy, y, block.numbers);
    if (shortcut_backward(module, pass, &block, x, dy, dx))
        return -1;
    real *inner = nvt_pass_take(pass, block.numbers), *straight = nvt_pass_take(pass, in_numbers);
    int status = inner && straight ? 0 : -1;
    if (!status) {
        nvt_batchnorm_backward(dy, g.norm2, g.norm2 + out, dy, kept[CONV2], w.norm2, s + 2 * out,
                               s + 3 * out, block.rows, out);
        status =
            convolve_backward(pass, &block.second, inner, g.conv2, dy, kept[ACTIVE], w.conv2, out);
    }
    if (!status) {
        nvt_relu_backward(inner, inner, kept[ACTIVE], block.numbers);
        nvt_batchnorm_backward(inner, g.norm1, g.norm1 + out, inner, kept[CONV1], w.norm1, s,
                               s + out, block.rows, out);
        status = convolve_backward(pass, &block.first, straight, g.conv1, inner, x, w.conv1, out);
    }
    if (!status)
        nvt_add(dx, straight, in_numbers);
    nvt_pass_give(pass, straight);
    nvt_pass_give(pass, inner);
    return status;
}

static double block_flops(const struct nvt_module *module, int64_t samples)
{
    (void)samples;
    double in = (double)module->shape[CHANNELS], out = (double)module->shape[OUT_CHANNELS];
    double projection = block_of(module, 1).projects ? in : 0;
    return 2 * (double)module->out * (9 * in + 9 * out + projection);
}

/* --- the end ------------------------------------------------------------------------------------------- */

static int mean_forward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                        real *y)
{
    int64_t channels = module->shape[CHANNELS];
    nvt_mean_pool_forward(y, x, pass->samples, module->in / channels, channels);
    return 0;
}

static int mean_backward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                         const real *y, real *dy, real *dx)
{
    int64_t channels = module->shape[CHANNELS];
    (void)x;
    (void)y;
    nvt_mean_pool_backward(dx, dy, pass->samples, module->in / channels, channels);
    return 0;
}

static int flatten_forward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                           real *y)
{
    nvt_copy(y, x, pass->samples * module->in);
    return 0;
}

static int flatten_backward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                            const real *y, real *dy, real *dx)
{
    (void)x;
    (void)y;
    nvt_copy(dx, dy, pass->samples * module->in);
    return 0;
}

static void classify_init(const struct nvt_module *module, uint64_t seed)
{
    nvt_random_normal(module->w, module->parameters, seed, module->stream * 16, (real)0.02);
    nvt_fill(module->w + module->in * module->out, module->out, 0);
}

static int classify_forward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                            real *y)
{
    nvt_linear_forward(y, x, module->w, module->w + module->in * module->out, pass->samples,
                       module->out, module->in);
    return 0;
}

static int classify_backward(const struct nvt_module *module, struct nvt_pass *pass, const real *x,
                             const real *y, real *dy, real *dx)
{
    (void)y;
    nvt_backend_matmul(1, 0, module->out, module->in, pass->samples, 1, dy, x, 1, module->g);
    nvt_bias_backward(module->g + module->in * module->out, dy, pass->samples, module->out);
    nvt_backend_matmul(0, 0, pass->samples, module->in, module->out, 1, dy, module->w, 0, dx);
    return 0;
}

static double classify_flops(const struct nvt_module *module, int64_t samples)
{
    (void)samples;
    return 2.0 * (double)module->in * (double)module->out;
}

/* --- the model ----------------------------------------------------------------------------------------- */

static const struct nvt_module_type stem = {"convolution", 1,         0, stem_init, stem_forward,
                                            stem_backward, stem_flops};
static const struct nvt_module_type norm = {"norm",        1,   0, norm_init, norm_forward,
                                            norm_backward, NULL};
static const struct nvt_module_type relu = {"relu", 0, 1, NULL, relu_forward, relu_backward, NULL};
static const struct nvt_module_type pool = {"pool", 0, 0, NULL, pool_forward, pool_backward, NULL};
static const struct nvt_module_type block_type = {
    "block", 1, 1, block_init, block_forward, block_backward, block_flops};
static const struct nvt_module_type mean = {"mean", 0, 0, NULL, mean_forward, mean_backward, NULL};
static const struct nvt_module_type flatten = {"flatten",        0,   0, NULL, flatten_forward,
                                               flatten_backward, NULL};
static const struct nvt_module_type classify = {
    "classifier", 1, 0, classify_init, classify_forward, classify_backward, classify_flops};

/* The image between two modules. */
struct image {
    int64_t side, channels;
};

static void add_module(struct nvt_module *modules, int *count, const struct nvt_module_type *type,
                       struct image *image, struct image next, int64_t parameters)
{
    struct nvt_module module = {
        type,
        image->side * image->side * image->channels,
        next.side * next.side * next.channels,
        parameters,
        {image->side, image->channels, next.channels, image->side / next.side},
        0,
        (uint64_t)*count,
        NULL,
        NULL};
    modules[(*count)++] = module;
    *image = next;
}

int nvt_resnet_modules(struct nvt_module *modules, int most)
{
    static const int depths[4] = {3, 13, 30, 3};
    struct image image = {32, 3};
    int count = 0;
    if (most < NVT_RESNET_MODULES)
        return -1;
    add_module(modules, &count, &stem, &image, (struct image){16, 64}, 49 * 3 * 64);
    add_module(modules, &count, &norm, &image, image, 128);
    add_module(modules, &count, &relu, &image, image, 0);
    add_module(modules, &count, &pool, &image, (struct image){8, 64}, 0);
    for (int group = 0; group < 4; group++)
        for (int i = 0; i < depths[group]; i++) {
            struct image next = {8 >> group, (int64_t)64 << group};
            int projects = next.side != image.side || next.channels != image.channels;
            add_module(modules, &count, &block_type, &image, next,
                       block_parameters(image.channels, next.channels, projects));
        }
    add_module(modules, &count, &mean, &image, (struct image){1, 512}, 0);
    add_module(modules, &count, &flatten, &image, image, 0);
    add_module(modules, &count, &classify, &image, (struct image){1, 10}, 513 * 10);
    return count;
}
