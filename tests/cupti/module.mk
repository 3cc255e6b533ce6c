# The collector of device records, tested without a device: a stand-in for libcupti.
STAND_IN := $(BUILD)/tests/libcupti-stand-in.so

STAND_IN_SRC := $(sort $(wildcard tests/cupti/*.c))
$(STAND_IN): $(STAND_IN_SRC) $(wildcard tests/cupti/*.h) collectors/inject/cupti_profiler.h | $(BUILD)/tests/cupti-headers
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) $(CUPTI_FLAGS) $(CFLAGS) $(WARN) $(WERROR) -fPIC -shared $(STAND_IN_SRC) -o $@ -lpthread

# And one for a libcupti with the second interface.
STAND_IN_SECOND := $(BUILD)/tests/libcupti-stand-in-second.so
STAND_IN_SECOND_SRC := $(STAND_IN_SRC) collectors/inject/cupti_selected.c
$(STAND_IN_SECOND): $(STAND_IN_SECOND_SRC) $(wildcard tests/cupti/*.h) collectors/inject/cupti_second.h collectors/inject/cupti_selected.h collectors/inject/cupti_profiler.h | $(BUILD)/tests/cupti-headers
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) $(CUPTI_FLAGS) -DSTAND_IN_SECOND $(CFLAGS) $(WARN) $(WERROR) -fPIC -shared $(STAND_IN_SECOND_SRC) -o $@ -lpthread
$(BUILD)/tests/test_cupti_second: | all $(STAND_IN_SECOND) $(STAND_IN) $(BUILD)/tests/clients/device
$(BUILD)/tests/test_budget: | all $(STAND_IN) $(BUILD)/tests/clients/loop $(BUILD)/tests/clients/flight
$(BUILD)/tests/test_heaps: | all $(STAND_IN) $(BUILD)/tests/clients/heaps
$(BUILD)/tests/test_late_start: | all $(STAND_IN) $(BUILD)/tests/clients/late

CUPTI_TESTS := $(call obj,tests/test_budget.c tests/test_cupti.c tests/test_cupti_ends.c tests/test_cupti_refusals.c tests/test_cupti_second.c tests/cupti_kit.c tests/test_cupti_decode.c tests/test_cupti_kinds.c tests/test_cupti_buffers.c tests/test_cupti_keep.c tests/test_session_device.c tests/test_gpu_sampling.c tests/test_metric_sets.c)
$(CUPTI_TESTS): EXTRA_CPPFLAGS += $(CUPTI_FLAGS)
$(CUPTI_TESTS): | $(BUILD)/tests/cupti-headers
$(BUILD)/tests/test_cupti $(BUILD)/tests/test_cupti_ends $(BUILD)/tests/test_cupti_refusals: | all $(STAND_IN) $(BUILD)/tests/clients/device
$(BUILD)/tests/test_gpu_sampling: | all $(STAND_IN) $(STAND_IN_SECOND) $(BUILD)/tests/clients/device
$(BUILD)/tests/test_gpu_sampling: $(call pic,collectors/inject/cupti_metrics_clock.c)
$(BUILD)/tests/test_metric_sets: $(call pic,collectors/inject/cupti_metric_set.c)
# cupti_profiler_host.h of CUDA 13.0 includes C++'s <string>, which C has not: an empty file stands for it.
$(call obj,tests/test_metric_sets.c): EXTRA_CPPFLAGS += -isystem tests/cupti/no_string
$(BUILD)/tests/test_cupti_buffers: $(call pic,collectors/inject/cupti_buffers.c)
# It is shown an object that the test has made up.
$(BUILD)/tests/test_exit_hook: $(call pic,collectors/inject/exit_hook.c)
$(BUILD)/tests/test_exit_hook: private LDLIBS += -Wl,--wrap=dl_iterate_phdr
$(BUILD)/tests/test_cupti_keep: | all $(STAND_IN) $(BUILD)/tests/clients/device
$(BUILD)/tests/test_session_fork: | $(BUILD)/libnvtally-inject.so
$(BUILD)/tests/test_session_device: $(BUILD)/libnvtally.so | all $(STAND_IN)

# Tests have records that CUDA 12 does not have. That is said in one line, and not by the compiler.
$(BUILD)/tests/cupti-headers: $(BUILD)/way
	@mkdir -p $(@D)
	$(Q)printf '%s\n' '#ifdef HAVE_CUPTI' '#include <cupti.h>' '#if CUPTI_API_VERSION < 130000' '#error' '#endif' '#endif' | \
	  $(CC) $(CPPFLAGS) $(CUPTI_FLAGS) -x c -E - >/dev/null 2>&1 && touch $@ || \
	  { echo "tests need CUPTI's headers of CUDA 13, and $(CUPTI_INC) has older ones; ./setup fetches them, CUPTI_INC names them" >&2; exit 1; }

# The collector's sources with older headers than those that are here.
CUPTI_SRC := collectors/cupti_decode.c collectors/cupti_keep.c $(sort $(wildcard collectors/inject/cupti_*.c))
$(BUILD)/tests/cupti-older: $(CUPTI_SRC) $(wildcard collectors/*.h collectors/inject/*.h) tests/cupti/older.h
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) $(CUPTI_FLAGS) -include tests/cupti/older.h $(WARN) $(WERROR) -fsyntax-only $(CUPTI_SRC) && touch $@

check: $(if $(CUPTI_FLAGS),$(BUILD)/tests/cupti-older)
