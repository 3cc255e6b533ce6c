# libnvtally-cuda.so: the operations by nvcc, everything above them as plain C, and the backend. The
# program loads it when a device is asked for, and is never linked to it. Without nvcc, or without the
# C++ compiler behind it, it is left out, and `all` says so.
#   NVCC        may begin with a launcher: "ccache /usr/local/cuda/bin/nvcc"
#   CUDA_ARCH   virtual architectures; code is made for each, and the last one's PTX for newer devices
#   CUDA_LINES  1: with the lines of the sources, for Nsight Compute. The same code, but not the same bits twice:
#               ptxas writes the time of each source into .debug_line
CUDA_ARCH   ?= 80 90
CUDA_LINES  ?=
NVCC_WERROR ?= $(if $(WERROR),-Werror=all-warnings -Xcompiler=-Werror)
HAVE_NVCC   := $(if $(NVCC),$(if $(wildcard $(dir $(lastword $(NVCC)))../include/cublas_v2.h),$(shell \
                 printf 'int main(){}' | $(or $(CXX),c++) -x c++ -fsyntax-only - 2>/dev/null && echo 1)))
CUDA_ROOT   := $(if $(HAVE_NVCC),$(abspath $(dir $(lastword $(NVCC)))..))

CUDA_SRC     := $(sort $(wildcard kernels/cuda/*.cu))
CUDA_OPS_SRC := $(filter kernels/ops/%,$(HOST_SRC))
CUDA_C_SRC   := $(filter-out kernels/ops/% kernels/host/%,$(HOST_SRC)) $(HOST_LIB_SRC)
CUDA_OBJ     := $(patsubst %,$(BUILD)/cuda/%.o,$(CUDA_SRC) $(CUDA_OPS_SRC) $(CUDA_C_SRC))

NVCC_FLAGS := -std=c++20 -O3 $(if $(CUDA_LINES),-lineinfo) -I. -Xcompiler -fPIC,-fvisibility=hidden,-Wall,-Wextra \
              $(foreach a,$(CUDA_ARCH),-gencode arch=compute_$(a)$(,)code=sm_$(a)) \
              -gencode arch=compute_$(lastword $(CUDA_ARCH))$(,)code=compute_$(lastword $(CUDA_ARCH))
CUDA_LINK  := -shared -cudart shared -lcublas -lcublasLt -Xlinker -rpath$(,)$(CUDA_ROOT)/lib64

# The names of arrays in shared memory hold a checksum of the source's whole path, which nvcc tells its front end; the
# last word is ours.
NVCC_PATHS  := $(if $(HAVE_NVCC),$(shell $(lastword $(NVCC)) --dryrun -x cu -c /dev/null -o /dev/null 2>&1 | \
                 grep -q -e '--orig_src_path_name' && echo 1))
SAME_NAMES   = $(if $(NVCC_PATHS),-Xcudafe=--orig_src_path_name=$<)

# nvcc puts the name of a temporary file into each object, another one each time.
OBJCOPY     ?= objcopy
FORGET_TEMPORARY = $(OBJCOPY) --wildcard --strip-symbol='tmpxft_*' $@

$(BUILD)/cuda/%.cu.o: %.cu
	@mkdir -p $(@D)
	$(if $(Q),@echo "  NVCC $<")
	$(Q)$(HERE) $(NVCC) $(NVCC_FLAGS) $(SAME_NAMES) $(NVCC_WERROR) -MMD -MP -MF $(@:.o=.d) -c $< -o $@ && $(FORGET_TEMPORARY)

$(BUILD)/cuda/kernels/ops/%.c.o: kernels/ops/%.c
	@mkdir -p $(@D)
	$(if $(Q),@echo "  NVCC $<")
	$(Q)$(HERE) $(NVCC) -x cu $(NVCC_FLAGS) $(SAME_NAMES) $(NVCC_WERROR) -MMD -MP -MF $(@:.o=.d) -c $< -o $@ && $(FORGET_TEMPORARY)

$(BUILD)/cuda/%.c.o: %.c
	@mkdir -p $(@D)
	$(if $(Q),@echo "  PIC  $< (device)")
	$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) -DNVT_NO_KERNELS=1 $(CFLAGS) $(WARN) $(WERROR) -fPIC -fvisibility=hidden -MMD -MP -c $< -o $@

$(BUILD)/libnvtally-cuda.so: $(CUDA_OBJ)
	$(if $(Q),@echo "  LD   $@")
	$(Q)$(NVCC) $^ $(CUDA_LINK) -Xlinker -z$(,)defs -o $@

all: $(if $(HAVE_NVCC),$(BUILD)/libnvtally-cuda.so,no-cuda)

no-cuda:
	@echo "libnvtally-cuda.so is left out: no nvcc with cuBLAS and a C++ compiler here (CUDA_HOME or NVCC tells where)" >&2

.PHONY: no-cuda
