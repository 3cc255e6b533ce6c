/*
 * FLOPs and bytes of PyTorch's operators from the shapes of their inputs (torch.profiler with record_shapes=True: "Input Dims",
 * "Input type", "Concrete Inputs"), as a payload that declares work (analyze/studies/declared.h).
 *
 * Known are those that do the products, and not the operators around them, so that no product counts twice. With A of m × k and B
 * of k × n a product is 2·m·n·k FLOPs, and moves (m·k + k·n + m·n) numbers at least. Attention with queries of b × h × s × d and keys and
 * values of b × h × t × d is two products forward, 4·b·h·s·t·d FLOPs, and five backward (as torch.utils.flop_counter counts them),
 * of which one and two are of the values' width where that is another;
 * a causal mask, which needs half of that, is not looked at.
 *
 * A convolution of N images with weights w, whose result has S places (of a transposed one: whose input has), is 2·N·S·|w| FLOPs
 * forward, and as many for each gradient that its output_mask asks for. S follows from the input's size, stride, padding and
 * dilation, which are among the concrete inputs. The same number is told whatever the algorithm: a library may need less (Winograd).
 */
#ifndef NVT_OPERATOR_WORK_H
#define NVT_OPERATOR_WORK_H

#include <stddef.h>
#include <stdint.h>

#define NVT_SHAPE_INPUTS 5
#define NVT_SHAPE_SIZES  5
#define NVT_SHAPE_VALUES 11

/* Of the first inputs of an operator; others have `count` of them. */
struct nvt_shapes {
    unsigned inputs, types; /* that were read, of which the first NVT_SHAPE_INPUTS are kept */
    unsigned sizes[NVT_SHAPE_INPUTS]; /* dimensions; more than NVT_SHAPE_SIZES: too many */
    int64_t size[NVT_SHAPE_INPUTS][NVT_SHAPE_SIZES];
    char type[NVT_SHAPE_INPUTS][24]; /* "float", "c10::BFloat16" … */
    unsigned values;                 /* of `value` that were read */
    /* of inputs that are no tensors: "[2, 2]", "True"; "" of others */
    char value[NVT_SHAPE_VALUES][32];
};

/* Whether two operators have the same inputs, as far as they are kept. */
int nvt_shapes_are_same(const struct nvt_shapes *a, const struct nvt_shapes *b);

/* Whether an operator of that name is known: only its shapes are worth reading. */
int nvt_is_operator_with_work(const char *name);

/* Whether it is one whose concrete inputs count, too. */
int nvt_is_convolution(const char *name);

/* {"flops":F,"bytes":B,"precision":"bf16"} of it, of another type {"flops":F,"precision":"other"}; 1, or 0: the shapes are not
 * what it has, or there is no type. A complex product is four. */
#define NVT_OPERATOR_WORK_MAX 96
int nvt_operator_work(const char *name, const struct nvt_shapes *shapes,
                      char out[NVT_OPERATOR_WORK_MAX]);

/*
 * FLOPs of an operator whose range's name has its shapes, as torch.autograd.profiler.emit_nvtx(record_shapes=True) writes it, also for nsys's
 * --pytorch=autograd-shapes-nvtx: "aten::mm, seq = 3, op_id = 7, sizes = [[2, 3], [3, 4]]". The type is not in it. 0: it is none
 * of the operators known by shapes alone.
 */
double nvt_operator_flops_in_name(const char *name);

/* Whether a name is like that: has shapes. */
int nvt_has_shapes_in_name(const char *name);

#endif
