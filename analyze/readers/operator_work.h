/*
 * FLOPs and bytes of PyTorch's operators from the shapes of their inputs (torch.profiler with record_shapes=True: "Input Dims",
 * "Input type"), as a payload that declares work (analyze/studies/declared.h).
 *
 * Known are those that do the products, and not the operators around them, so that no product counts twice. With A of m × k and B
 * of k × n a product is 2·m·n·k FLOPs, and moves (m·k + k·n + m·n) numbers at least. Attention with queries of b × h × s × d and keys and
 * values of b × h × t × d is two products forward, 4·b·h·s·t·d FLOPs, and five backward (as torch.utils.flop_counter counts them);
 * a causal mask, which needs half of that, is not looked at. Convolutions are not known: their padding is not among the shapes.
 */
#ifndef NVT_OPERATOR_WORK_H
#define NVT_OPERATOR_WORK_H

#include <stddef.h>
#include <stdint.h>

#define NVT_SHAPE_INPUTS 5
#define NVT_SHAPE_SIZES  5

/* Of the first inputs of an operator; others have `count` of them. */
struct nvt_shapes {
    unsigned inputs, types; /* that were read, of which the first NVT_SHAPE_INPUTS are kept */
    unsigned sizes[NVT_SHAPE_INPUTS]; /* dimensions; more than NVT_SHAPE_SIZES: too many */
    int64_t size[NVT_SHAPE_INPUTS][NVT_SHAPE_SIZES];
    char type[NVT_SHAPE_INPUTS][16]; /* "float", "c10::BFloat16" … */
};

/* Whether two operators have the same inputs, as far as they are kept. */
int nvt_shapes_are_same(const struct nvt_shapes *a, const struct nvt_shapes *b);

/* Whether an operator of that name is known: only its shapes are worth reading. */
int nvt_is_operator_with_work(const char *name);

/* {"flops":F,"bytes":B,"precision":"bf16"} of it; 1, or 0: the shapes or the type are not what it has. */
#define NVT_OPERATOR_WORK_MAX 96
int nvt_operator_work(const char *name, const struct nvt_shapes *shapes,
                      char out[NVT_OPERATOR_WORK_MAX]);

#endif
