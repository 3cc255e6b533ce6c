/*
 * Names of kernels, as people write them or mangled: the function's own, the one by which kernels are added up, and the short one that
 * people read, which is the same in all tables, trees, findings and charts. Formats for programs have the whole name.
 */
#ifndef NVT_KERNEL_NAMES_H
#define NVT_KERNEL_NAMES_H

#include <stddef.h>

/*
 * The function's own name within a demangled one: without return type, scope, template arguments
 * and parameters. Points into `name`; *length gets its length. The whole name when it has none of
 * these; of a mangled one, as ROCm's profiles have, the last of its words. Linear in the length of the name.
 */
const char *nvt_short_name(const char *name, size_t size, size_t *length);

/* Room for a name of these. What is longer is cut. */
#define NVT_TELLING_NAME_MAX 256

/*
 * The function that says what a kernel is: its short name, unless that says nothing, as Kernel2 of
 * cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1> does. Then it is the name of what the template is made of: of its
 * first argument, through wrappers as cutlass::device_kernel<enable_sm90<…>>. Where that is no class, it is the name with its
 * scopes, internal::gemvx::kernel. Returns out. Linear in the length of the name, but for wrappers, each of which is looked at
 * again.
 */
const char *nvt_kernel_function(const char *name, size_t size, char out[NVT_TELLING_NAME_MAX]);

/* By which kernels are added up: that function, and behind it the operation that PyTorch's kernels have as a template's argument,
 * "vectorized_elementwise_kernel add". Of such a name it is that name. Returns out. */
const char *nvt_telling_name(const char *name, size_t size, char out[NVT_TELLING_NAME_MAX]);

/* Room for an operation. */
#define NVT_OPERATION_MAX 64

/* What a PyTorch kernel of this function does: "add", "sum". 0: nothing says it, and out is unchanged. kernel_operation.c */
int nvt_kernel_operation(const char *function, const char *name, size_t size,
                         char out[NVT_OPERATION_MAX]);

/*
 * The short name of a kernel (kernel_label.c): its telling name, or what is left of it without architecture, stages, warps and
 * alignment. Of GEMMs and convolutions of cuBLAS, cuDNN, CUTLASS and Tensile it is library, operation, precision, tile and layout:
 * "cutlass sgemm 128x256 nt", "xmma gemm f32 tn 64x64x8"; "elementwise add", "fmha backward f32 64x64". A name in brackets, of a
 * copy or a graph, stays. Returns out.
 */
const char *nvt_kernel_label(const char *name, char out[NVT_TELLING_NAME_MAX]);

/*
 * Short names of kernels that stand together: the label, or, where several kernels would have the same, the telling name of each;
 * where that does not tell them apart either, the first words in which their names differ, "reduce sum …128", at most four, or
 * else the name from where they differ.
 * Zero-initialise.
 */
struct nvt_kernel_labels {
    struct nvt_kernel_labelled *items;
    size_t count, capacity;
    size_t limit; /* where repeated names are dropped next */
};

/* Add a kernel by its whole or telling name, which must outlive this; any number of times. 0, or -1 when out of memory. */
int nvt_kernel_labels_add(struct nvt_kernel_labels *labels, const char *name);
/* When all are there. 0, or -1 when out of memory. Takes as long as to sort them. */
int nvt_kernel_labels_finish(struct nvt_kernel_labels *labels);
/* What a kernel is called, until they are freed; one that was not added by its own name. */
const char *nvt_kernel_labels_get(const struct nvt_kernel_labels *labels, const char *name);
void nvt_kernel_labels_free(struct nvt_kernel_labels *labels);

#endif
