# libnvtally-cuda.so: the operations by nvcc, everything above them as plain C, and the backend. The
# program loads it when a device is asked for, and is never linked to it. Without nvcc, or without the
# C++ compiler behind it, it is left out, and `all` says so.
#   NVCC        may begin with a launcher: "ccache /usr/local/cuda/bin/nvcc"
#   NVCC_CCBIN  the C++ compiler behind it. nvcc refuses those that are newer than it (12.4: gcc 14). Then it gets the newest
#               g++-* that is installed and that it takes
#   CUDA_ARCH   virtual architectures; code is made for each, and the last one's PTX for newer devices
#   CUDA_LINES  1: with the lines of the sources, for Nsight Compute. The same code, but not the same bits twice:
#               ptxas writes the time of each source into .debug_line
CUDA_ARCH   ?= 80 90
CUDA_LINES  ?=
NVCC_WERROR ?= $(if $(WERROR),-Werror=all-warnings -Xcompiler=-Werror)
CUDA_ROOT   := $(if $(NVCC),$(abspath $(dir $(lastword $(NVCC)))..))
HAVE_CUBLAS := $(if $(CUDA_ROOT),$(wildcard $(CUDA_ROOT)/include/cublas_v2.h))
# That nvcc compiles C++20 with a C++ compiler; none: with the one that it takes by itself.
nvcc_works   = $(shell $(lastword $(NVCC)) $(addprefix -ccbin ,$(1)) -std=c++20 -x cu -E /dev/null >/dev/null 2>&1 && echo 1)
ifneq ($(HAVE_CUBLAS),)
HAVE_NVCC   := $(call nvcc_works,$(NVCC_CCBIN))
ifeq ($(HAVE_NVCC)$(NVCC_CCBIN),)
NVCC_CCBIN  := $(firstword $(foreach c,$(foreach v,16 15 14 13 12 11 10,g++-$(v)),$(if $(call nvcc_works,$(c)),$(c))))
HAVE_NVCC   := $(if $(NVCC_CCBIN),1)
endif
endif

CUDA_SRC     := $(sort $(wildcard kernels/cuda/*.cu))
CUDA_OPS_SRC := $(filter kernels/ops/%,$(HOST_SRC))
CUDA_C_SRC   := $(filter-out kernels/ops/% kernels/host/%,$(HOST_SRC)) $(HOST_LIB_SRC)
CUDA_OBJ     := $(patsubst %,$(BUILD)/cuda/%.o,$(CUDA_SRC) $(CUDA_OPS_SRC) $(CUDA_C_SRC))

NVCC_HOST  := $(addprefix -ccbin ,$(NVCC_CCBIN))
NVCC_FLAGS := $(NVCC_HOST) -std=c++20 -O3 $(if $(CUDA_LINES),-lineinfo) -I. -Xcompiler -fPIC,-fvisibility=hidden,-Wall,-Wextra \
              -Xptxas=-warn-spills
# gencode ARCHITECTURES. What Hopper has and no later device is in 90a alone.
gencode     = $(foreach a,$(1),-gencode arch=compute_$(a)$(,)code=sm_$(a)) \
              -gencode arch=compute_$(lastword $(1))$(,)code=compute_$(lastword $(1))
NVCC_CODE   = $(call gencode,$(CUDA_ARCH))
$(BUILD)/cuda/kernels/cuda/int8_linear.cu.o: NVCC_CODE = $(call gencode,$(patsubst 90,90a,$(CUDA_ARCH))) \
              $(if $(filter 90 90a,$(CUDA_ARCH)),-DNVT_HOPPER=1)
# A distribution's package has its libraries where the loader looks.
CUDA_LINK  := $(NVCC_HOST) -shared -cudart shared -lcublas -lcublasLt $(if $(wildcard $(CUDA_ROOT)/lib64/libcudart.so*),-Xlinker -rpath$(,)$(CUDA_ROOT)/lib64)

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
	$(Q)$(HERE) $(NVCC) $(NVCC_FLAGS) $(NVCC_CODE) $(SAME_NAMES) $(NVCC_WERROR) -MMD -MP -MF $(@:.o=.d) -c $< -o $@ && $(FORGET_TEMPORARY)

$(BUILD)/cuda/kernels/ops/%.c.o: kernels/ops/%.c
	@mkdir -p $(@D)
	$(if $(Q),@echo "  NVCC $<")
	$(Q)$(HERE) $(NVCC) -x cu $(NVCC_FLAGS) $(NVCC_CODE) $(SAME_NAMES) $(NVCC_WERROR) -MMD -MP -MF $(@:.o=.d) -c $< -o $@ && $(FORGET_TEMPORARY)

$(BUILD)/cuda/%.c.o: %.c
	@mkdir -p $(@D)
	$(if $(Q),@echo "  PIC  $< (device)")
	$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) -DNVT_NO_KERNELS=1 $(CFLAGS) $(WARN) $(WERROR) -fPIC -fvisibility=hidden -MMD -MP -c $< -o $@

$(BUILD)/libnvtally-cuda.so: $(CUDA_OBJ)
	$(if $(Q),@echo "  LD   $@")
	$(Q)$(NVCC) $^ $(CUDA_LINK) -Xlinker -z$(,)defs -o $@

all: $(if $(HAVE_NVCC),$(BUILD)/libnvtally-cuda.so,no-cuda)

# Why it is left out, in one line. HAVE_NVCC= asks for that.
NO_CUDA := $(if $(NVCC),$(if $(HAVE_CUBLAS),$(NVCC) compiles no C++20 with a C++ compiler that is here: CUDA 12.4 takes g++-13 \
  and older$(,) CUDA 13 g++-15 and older$(,) NVCC_CCBIN names one$(,) and CUDA 11 takes none,there is no \
  $(CUDA_ROOT)/include/cublas_v2.h),no nvcc here (CUDA_HOME or NVCC tells where))
no-cuda:
	@echo "libnvtally-cuda.so is left out: $(if $(findstring command,$(origin HAVE_NVCC)),HAVE_NVCC is empty,$(NO_CUDA))" >&2

.PHONY: no-cuda
