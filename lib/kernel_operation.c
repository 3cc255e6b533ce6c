/* What PyTorch's kernels do, which only their templates say. */
#include <ctype.h>
#include <string.h>

#include "count_of.h"
#include "one_of.h"
#include "kernel_names.h"

static int is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static int ends_with(const char *word, size_t size, const char *end)
{
    const size_t length = strlen(end);
    return size > length && !memcmp(word + size - length, end, length);
}

/* What an identifier of a template's arguments says of the operation: where that begins, and how long it is; 0: nothing. */
static size_t operation_of(const char **word, size_t size)
{
    static const char *const shapes[] = {"BinaryFunctor", "AUnaryFunctor", "BUnaryFunctor",
                                         "UnaryFunctor"};
    static const char *const ends[] = {"_kernel_cuda",   "_kernel_impl", "_functor",
                                       "Functor",        "Ops",          "_kernel",
                                       "CUDAKernelImpl", "KernelImpl"};
    static const char *const starts[] = {"CUDAFunctorOnSelf_", "CUDAFunctor_", "launch_"};
    static const char general[] = "gpu_kernel";
    /* gpu_kernel, gpu_kernel_impl: of all of them */
    if (size >= strlen(general) && !memcmp(*word, general, strlen(general)))
        return 0;
    for (size_t i = 0; i < NVT_COUNT_OF(shapes); i++)
        if (size == strlen(shapes[i]) && !memcmp(*word, shapes[i], size))
            return 0;
    for (size_t i = 0; i < NVT_COUNT_OF(starts); i++) {
        const size_t length = strlen(starts[i]);
        if (size > length && !memcmp(*word, starts[i], length)) {
            *word += length;
            return size - length;
        }
    }
    /* PointwiseOpScalarFunctor and the like: the shape of what is done, too. */
    if (ends_with(*word, size, "Functor") && memmem(*word, size, "Op", 2))
        return 0;
    for (size_t i = 0; i < NVT_COUNT_OF(ends); i++)
        if (ends_with(*word, size, ends[i]))
            return size - strlen(ends[i]);
    return 0;
}

/* std::multiplies<float> and the like. */
static const char *standard_of(const char *word, size_t size)
{
    static const char *const names[][2] = {
        {"plus", "add"}, {"minus", "sub"}, {"multiplies", "mul"}, {"divides", "div"}};
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++)
        if (size == strlen(names[i][0]) && !memcmp(word, names[i][0], size))
            return names[i][1];
    return NULL;
}

/* Whether an identifier is a class that does one thing, as at::native::Sqrt does. */
static int is_class(const char *word, size_t size)
{
    static const char *const others[] = {"Op", "Tensor", "Functor"};
    for (size_t i = 0; i < NVT_COUNT_OF(others); i++)
        if (memmem(word, size, others[i], strlen(others[i])))
            return 0;
    return size > 2 && isupper((unsigned char)word[0]) && islower((unsigned char)word[1]);
}

/* What the identifier [*word, *word + size) says, which *word then is; 0: nothing. */
static size_t say(const char **word, size_t size, int takes_classes)
{
    const char *standard = standard_of(*word, size);
    if (standard) {
        *word = standard;
        return strlen(standard);
    }
    const size_t length = operation_of(word, size);
    return length || !takes_classes || !is_class(*word, size) ? length : size;
}

/* The kernels whose operation is an argument; whether any class may be it. */
static int takes_operation(const char *function, int *takes_classes)
{
    static const char *const functions[] = {"vectorized_elementwise_kernel",
                                            "unrolled_elementwise_kernel",
                                            "elementwise_kernel",
                                            "elementwise_kernel_with_index",
                                            "index_elementwise_kernel",
                                            "distribution_elementwise_grid_stride_kernel",
                                            "reduce_kernel",
                                            "multi_tensor_apply_kernel"};
    *takes_classes = *function == 'm';
    return NVT_IS_ONE_OF(function, functions);
}

int nvt_kernel_operation(const char *function, const char *name, size_t size,
                         char out[NVT_OPERATION_MAX])
{
    int takes_classes;
    const char *open = memchr(name, '<', size);
    if (!takes_operation(function, &takes_classes) || !open)
        return 0;
    for (size_t i = (size_t)(open - name), end; i < size; i = end + 1) {
        for (end = i; end < size && is_word(name[end]); end++)
            ;
        const char *word = name + i;
        size_t length = say(&word, end - i, takes_classes);
        if (!length)
            continue;
        length = length < NVT_OPERATION_MAX ? length : NVT_OPERATION_MAX - 1;
        for (size_t k = 0; k < length; k++)
            out[k] = (char)tolower((unsigned char)word[k]);
        out[length] = 0;
        return 1;
    }
    return 0;
}
