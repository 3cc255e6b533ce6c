# The CUDA backend on a stand-in for CUDA, for machines without a device or nvcc:
#   build/emulated/libnvtally-cuda.so    with the program beside it, which loads it as it would the real one
#   build/emulated/device                the operations for tests/device/check
EMULATED       := $(BUILD)/emulated
EMULATED_SRC   := $(sort $(wildcard tests/emulated/*.cpp))
EMULATED_FLAGS := -std=gnu++20 -Itests/emulated -I. -D__CUDACC__ $(CFLAGS) -fPIC -fvisibility=hidden $(OPENMP) -Wall -Wextra \
                  -Wno-unknown-pragmas $(WERROR)
# ThreadSanitizer knows nothing of threads that are no system's: there it is built without.
$(EMULATED)/%.o $(EMULATED)/%.so: override SANITIZE := $(if $(findstring thread,$(SANITIZE)),,$(SANITIZE))
emulated = $(patsubst %,$(EMULATED)/obj/%.o,$(1))

# Kernels are C++ here, whatever their files are called.
define emulated_cxx
$(EMULATED)/obj/$(1).o: $(1)
	@mkdir -p $$(@D)
	$$(Q)$$(HERE) $$(CXX) -x c++ $$(EMULATED_FLAGS) $$(SANITIZE) -MMD -MP -c $$< -o $$@

endef
$(foreach pattern,%.cu %.cpp kernels/ops/%.c,$(eval $(call emulated_cxx,$(pattern))))

$(EMULATED)/obj/%.c.o: %.c
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) -DNVT_NO_KERNELS=1 $(CFLAGS) $(WARN) $(WERROR) $(SANITIZE) -fPIC -fvisibility=hidden -MMD -MP -c $< -o $@

$(EMULATED)/libnvtally-cuda.so: $(call emulated,$(EMULATED_SRC) $(CUDA_SRC) $(CUDA_OPS_SRC) $(CUDA_C_SRC))
	$(Q)$(CXX) $(CFLAGS) $(OPENMP) $(SANITIZE) $(LDFLAGS) -shared $^ -Wl,-z,defs -ldl -lm -o $@

$(EMULATED)/device/libcheck-cuda.so: $(call emulated,$(EMULATED_SRC) $(CHECK_CUDA_SRC))
	@mkdir -p $(@D)
	$(Q)$(CXX) $(CFLAGS) $(OPENMP) $(SANITIZE) $(LDFLAGS) -shared $^ -Wl,-z,defs -ldl -lm -o $@

# The program finds its libraries beside itself.
$(EMULATED)/%: $(BUILD)/%
	@mkdir -p $(@D)
	$(Q)cp $< $@

EMULATED_ALL := $(EMULATED)/libnvtally-cuda.so $(EMULATED)/device/libcheck-cuda.so \
                $(patsubst %,$(EMULATED)/%,nvtally libnvtally-host.so libnvtally-inject.so libnvtally-nccl.so $(if $(MPI_PACKAGE),libnvtally-mpi.so) device/check device/libcheck-reference.so $(if $(CUPTI_INC),device/cupti_alone.so))
$(call obj,tests/test_emulated_traces.c): EXTRA_CPPFLAGS += $(CUPTI_FLAGS)
$(addprefix $(BUILD)/tests/test_,emulated emulated_workloads emulated_refusals emulated_traces emulated_devices transport_nccl device_rehearsal): | $(EMULATED_ALL) $(STAND_IN) $(NCCL_STAND_IN)
emulated: $(EMULATED_ALL) ## the CUDA backend on the processor, on a stand-in for CUDA
.PHONY: emulated
