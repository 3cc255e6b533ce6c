#include "kernel_class.h"

#include <ctype.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../model/cuda_names.h"
#include "communication.h"

/*
 * What names have in them, in small letters. Parts are found in whatever letters, with or without '_' within; words stand alone:
 * between other characters than letters, or where small letters and capitals meet, as "mma" does not in "GammaBetaBackward".
 */
struct signs {
    const char *const *parts, *const *words;
    size_t part_count, word_count;
};

static const char *const gemm_parts[] = {
    "gemm",        "gemv",     "matmul",   "nvjet",  "splitkreduce", "tritontemfused", "convolve",
    "convolution", "winograd", "dgrad",    "wgrad",  "fprop",        "cutlass",        "scudnn",
    "hcudnn",      "884cudnn", "688cudnn", "im2col", "col2im"};
static const char *const gemm_words[] = {"mm",   "bmm",  "mma",    "wgmma",  "hmma",
                                         "syrk", "trsm", "conv2d", "conv1d", "conv3d"};
static const char *const attention_parts[] = {"attention", "flashfwd", "flashbwd", "flashattn",
                                              "fmha"};
static const char *const attention_words[] = {"sdpa", "mha", "attn"};
static const char *const elementwise_parts[] = {
    "elementwise",      "pointwise", "reduce",    "reduction", "softmax",   "layernorm",
    "batchnorm",        "rmsnorm",   "groupnorm", "dropout",   "transpose", "embedding",
    "multitensorapply", "gather",    "scatter",   "entropy",   "optimizer", "quantize",
    "catarray",         "sigmoid",   "tritonpoi", "tritonred", "tritonper"};
static const char *const elementwise_words[] = {
    "bn",   "pool",  "add",  "mul",    "sum",   "mean",  "max",  "min",  "norm",
    "relu", "gelu",  "silu", "swiglu", "tanh",  "exp",   "cast", "fill", "zero",
    "copy", "scale", "mask", "bias",   "adam",  "adamw", "sgd",  "loss", "mse",
    "nll",  "topk",  "sort", "argmax", "index", "round", "rope", "axpy"};

#define SIGNS(kind)                                                                                \
    {                                                                                              \
        kind##_parts, kind##_words, NVT_COUNT_OF(kind##_parts), NVT_COUNT_OF(kind##_words)         \
    }
static const struct signs gemm = SIGNS(gemm), attention = SIGNS(attention),
                          elementwise = SIGNS(elementwise);
#undef SIGNS

/* Whether a word ends or begins between two letters of a name. */
static int is_border(char before, char behind)
{
    return !isalpha((unsigned char)before) || !isalpha((unsigned char)behind) ||
           (islower((unsigned char)before) && isupper((unsigned char)behind));
}

static int has_alone(const char *name, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = name; (at = strcasestr(at, word)) != NULL; at++)
        if ((at == name || is_border(at[-1], at[0])) && is_border(at[length - 1], at[length]))
            return 1;
    return 0;
}

static int has_sign(const char *name, const struct signs *signs)
{
    for (size_t i = 0; i < signs->part_count; i++)
        if (nvt_names_word(name, signs->parts[i]))
            return 1;
    for (size_t i = 0; i < signs->word_count; i++)
        if (has_alone(name, signs->words[i]))
            return 1;
    return 0;
}

const char *nvt_kernel_class_name(enum nvt_kernel_class class)
{
    static const char *const names[NVT_KERNEL_CLASSES] = {
        [NVT_CLASS_GEMM] = "GEMM",
        [NVT_CLASS_ATTENTION] = "attention",
        [NVT_CLASS_ELEMENTWISE] = "elementwise, reduction",
        [NVT_CLASS_COPY] = "copy",
        [NVT_CLASS_COMMUNICATION] = "communication",
        [NVT_CLASS_OTHER] = "other kernels"};
    return names[class];
}

enum nvt_kernel_class nvt_kernel_class_of_name(const char *name, const char *whole)
{
    char telling[NVT_TELLING_NAME_MAX];
    if (nvt_is_graph_name(whole))
        return NVT_CLASS_OTHER;
    if (*whole == '[')
        return NVT_CLASS_COPY;
    if (nvt_is_communication_name(name, whole))
        return NVT_CLASS_COMMUNICATION;
    nvt_kernel_function(whole, strlen(whole), telling);
    /* What Inductor generates lists the operators that it came from. */
    if (!strncmp(telling, "triton_poi", 10) || !strncmp(telling, "triton_red", 10) ||
        !strncmp(telling, "triton_per", 10))
        return NVT_CLASS_ELEMENTWISE;
    if (has_sign(telling, &attention))
        return NVT_CLASS_ATTENTION;
    if (has_sign(telling, &gemm) || !strncmp(whole, "void cublasLt::", 15) ||
        !strncmp(whole, "cublasLt::", 10))
        return NVT_CLASS_GEMM;
    return has_sign(telling, &elementwise) || strstr(whole, "at::native::") ? NVT_CLASS_ELEMENTWISE
                                                                            : NVT_CLASS_OTHER;
}

enum nvt_kernel_class nvt_kernel_class_of(const struct nvt_trace *trace, uint32_t op)
{
    const struct nvt_ops *ops = &trace->ops;
    if (nvt_is_communication(trace, op))
        return NVT_CLASS_COMMUNICATION;
    return ops->kind[op] != NVT_OP_KERNEL
               ? NVT_CLASS_COPY
               : nvt_kernel_class_of_name(nvt_name(trace, ops->short_name[op]),
                                          nvt_name(trace, ops->name[op]));
}
