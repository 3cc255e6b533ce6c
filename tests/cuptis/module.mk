# Libraries that tests/test_cupti_find.c has found: a toolkit with CUPTI of three CUDA versions, one with the newest alone, a
# runtime with its CUPTI, a copy under the name of a wheel, a tool that is named after it, and drivers, one of which does not tell its
# version.
CUPTIS := $(addprefix $(BUILD)/tests/cuptis/, \
  toolkit/lib64/libcupti.so.13 toolkit/lib64/libcupti.so.12 toolkit/extras/CUPTI/lib64/libcupti.so.11.8 \
  newest/lib64/libcupti.so.13 runtime/lib/libcudart.so.12 runtime/lib/libcupti.so.12 \
  wheel/libcupti-0a1b2c3d.so.11.8 wheel/libcupti_trace_injection.so \
  $(patsubst %,driver/libcuda.so.%,580.65.06 595.10 570.124.06 520.61.05 1.1))
$(CUPTIS): tests/cuptis/library.c
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CC) $(STD) $(CFLAGS) $(WARN) $(WERROR) $(if $(findstring libcuda.so,$@),-DDRIVER) -fPIC -shared \
	  -Wl,-soname,$(if $(findstring libcuda.so,$@),libcuda.so.1,$(@F)) $< -o $@
CUPTI_FIND_TEST := $(call obj,tests/test_cupti_find.c)
$(CUPTI_FIND_TEST): EXTRA_CPPFLAGS += $(CUPTI_FLAGS)
$(BUILD)/tests/test_cupti_find: $(call pic,collectors/inject/cupti_find.c) | $(CUPTIS)
