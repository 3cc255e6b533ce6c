# What tests/device/run needs: `make device` takes a C compiler, make and CUDA, nothing else.
#   build/device/check                the comparison
#   build/device/libcheck-*.so        the operations: reference (host, double), host (float), cuda
#   build/device/libcheck-broken*.so  with operations that are wrong, for the test of the check
#   build/device/managed, endings, copies, gemm, cupti_cost  programs that are run there
#   build/device/cupti_alone.so    CUPTI in a program, asked as the collector asks it, and nothing else of the collector
CHECK_SRC     := $(filter-out tests/device/check.c tests/device/cupti_alone.c,$(sort $(wildcard tests/device/*.c)))
CHECK_PIPELINE := $(sort $(wildcard kernels/pipeline/*.c))
CHECK_BELOW   := $(sort $(wildcard kernels/ops/*.c kernels/host/*.c)) kernels/frame/allocator.c kernels/workloads/layer.c $(CHECK_PIPELINE) lib/error.c lib/processor.c
CHECK_FLAGS    = $(STD) $(CPPFLAGS) $(CFLAGS) -O3 -march=$(HOST_ARCH) $(OPENMP) -fno-math-errno $(WARN) $(WERROR) $(SANITIZE) -fPIC -fvisibility=hidden -MMD -MP

CHECK_LIBS     := $(if $(HAVE_CBLAS),-lopenblas) $(if $(HAVE_DNNL),-ldnnl)

ifneq ($(filter device,$(MAKECMDGOALS)),)
ifeq ($(call have,xxhash.h,$(XXHASH_INC)),)
$(error xxhash.h was not found: ./setup puts a copy into .deps/include on a machine with a network; bring that folder)
endif
endif

# The reference has products of low precision of its own, in check_reference.c.
check_below = $(if $(filter reference,$(1)),$(filter-out kernels/host/low_precision.c,$(CHECK_BELOW)),$(CHECK_BELOW))
check_obj   = $(patsubst %.c,$(BUILD)/check-$(1)/%.o,$(CHECK_SRC) $(call check_below,$(1)))

define check_library
$(BUILD)/check-$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(if $$(Q),@echo "  CHK  $$< ($(1))")
	$$(Q)$$(HERE) $$(CC) $$(CHECK_FLAGS) $(2) -c $$< -o $$@

$(BUILD)/device/libcheck-$(1).so: $(call check_obj,$(1))
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CFLAGS) $$(OPENMP) $$(SANITIZE) $$(LDFLAGS) -shared $(if $(SANITIZE),,-Wl,-z$(,)defs) $$^ $(3) -lm -o $$@
endef
$(eval $(call check_library,reference,-DNVT_REAL_DOUBLE=1 -DNVT_CHECK_BROKEN=1))
$(eval $(call check_library,host,,$(CHECK_LIBS)))
$(eval $(call check_library,broken,-DNVT_CHECK_BROKEN=1,$(CHECK_LIBS)))

# Of the library that is checked on a device, only the table is built apart.
CHECK_CUDA_SRC := $(CUDA_SRC) $(CUDA_OPS_SRC) kernels/frame/allocator.c kernels/workloads/layer.c $(CHECK_PIPELINE) lib/error.c $(CHECK_SRC)
$(BUILD)/device/libcheck-cuda.so: $(patsubst %,$(BUILD)/cuda/%.o,$(CHECK_CUDA_SRC))
	@mkdir -p $(@D)
	$(Q)$(NVCC) $^ $(CUDA_LINK) -Xlinker -z$(,)defs -o $@

$(BUILD)/device/check: tests/device/check.c tests/device/check.h
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) $(WERROR) $(SANITIZE) $< -o $@ -ldl -lm

# A program with managed memory, to be recorded; and what CUPTI takes by itself.
$(BUILD)/device/managed $(BUILD)/device/endings $(BUILD)/device/copies $(BUILD)/device/gemm $(BUILD)/device/cupti_cost: $(BUILD)/device/%: tests/device/%.cu
	@mkdir -p $(@D)
	$(if $(Q),@echo "  NVCC $<")
	$(Q)$(HERE) $(NVCC) $(filter-out -Xcompiler -fPIC%,$(NVCC_FLAGS)) $(NVCC_CODE) $(call vendors,$(NVTX_INC) $(CUPTI_INC)) -Xcompiler -Wall,-Wextra $(NVCC_WERROR) $< -ldl $(DEVICE_LIBS) -o $@

$(BUILD)/device/gemm: DEVICE_LIBS := -lcublas $(if $(wildcard $(CUDA_ROOT)/lib64/libcublas.so*),-Xlinker -rpath$(,)$(CUDA_ROOT)/lib64)

# Of the collector it has what asks CUPTI, and what that needs.
CUPTI_ALONE_SRC := tests/device/cupti_alone.c $(patsubst %,collectors/inject/cupti_%.c,api endings find levels state) $(INJECT_LIB_SRC)
$(call pic,tests/device/cupti_alone.c): PIC_FLAGS := -O3 $(CUPTI_FLAGS)
$(call pic,tests/device/cupti_alone.c) $(BUILD)/device/cupti_alone.so: override SANITIZE := $(INJECT_SANITIZE)
$(BUILD)/device/cupti_alone.so: $(call pic,$(CUPTI_ALONE_SRC))
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -shared -Wl,-z,nodelete,-z,defs $^ -ldl -lpthread -o $@

CHECK_HERE := $(BUILD)/device/check $(patsubst %,$(BUILD)/device/libcheck-%.so,reference host $(if $(HAVE_NVCC),cuda)) $(if $(HAVE_NVCC),$(BUILD)/device/managed $(BUILD)/device/endings $(BUILD)/device/copies $(BUILD)/device/gemm $(if $(CUPTI_INC),$(BUILD)/device/cupti_cost $(BUILD)/device/cupti_alone.so))

device: all $(CHECK_HERE) ## what tests/device/run needs on a machine with a GPU: a C compiler, make and CUDA suffice

check: $(CHECK_HERE) $(BUILD)/device/libcheck-broken.so

.PHONY: device
