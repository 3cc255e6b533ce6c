# Faults: a short form in `make check`, all of it here.
FAIL_ALLOC := $(BUILD)/tests/libfail-alloc.so

$(FAIL_ALLOC): tests/faults/fail_alloc.c
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CC) $(STD) -D_GNU_SOURCE $(CFLAGS) $(WARN) $(WERROR) -fPIC -shared $< -o $@ -ldl

STEP_CLOCK := $(BUILD)/tests/libstep-clock.so

$(STEP_CLOCK): tests/faults/step_clock.c
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CC) $(STD) -D_GNU_SOURCE $(CFLAGS) $(WARN) $(WERROR) -fPIC -shared $< -o $@

$(BUILD)/tests/libstatic-tls.so: tests/faults/static_tls.c
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CC) $(STD) $(CFLAGS) $(WARN) $(WERROR) -fPIC -shared $< -o $@

# Where there is a libc that can be linked statically.
LIFE_STATIC := $(BUILD)/tests/clients/life-static

$(LIFE_STATIC): tests/clients/life.c
	@mkdir -p $(@D)
	-$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) $(CFLAGS) -static $< -o $@ -ldl -lpthread 2>/dev/null

$(BUILD)/tests/test_program_file: | $(LIFE_STATIC)

$(BUILD)/tests/test_scarce: | $(BUILD)/tests/libstatic-tls.so

FAIL_CALL := $(BUILD)/tests/fail-call

$(FAIL_CALL): tests/faults/fail_call.c
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CC) $(STD) -D_GNU_SOURCE $(CFLAGS) $(WARN) $(WERROR) $< -o $@

FAULT_TESTS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(sort $(wildcard tests/test_faults*.c))) $(patsubst %,$(BUILD)/tests/test_%,record record_limits record_lives record_losses)

$(call obj,tests/test_faults_device.c): EXTRA_CPPFLAGS += $(CUPTI_FLAGS)

$(FAULT_TESTS): | all $(BUILD)/examples/range_stats $(FAIL_ALLOC) $(FAIL_CALL) $(STEP_CLOCK) $(BUILD)/tests/libcupti-stand-in.so clients

check-faults: $(FAULT_TESTS) ## faults in full, and a table of what each cost: 10,000 processes, every allocation and call failing
	$(Q)rm -f $(BUILD)/faults.txt; failed=; for test in $^; do echo "== $$test"; \
	  NVTALLY_FAULTS=full NVTALLY_FAULTS_TABLE=$(abspath $(BUILD))/faults.txt NVTALLY_BUILD=$(abspath $(BUILD)) $$test || \
	  failed="$$failed $$test"; done; \
	printf '\n%-44s %12s %12s %16s %8s\n' fault "done before" "in the file" "events lost" seconds; cat $(BUILD)/faults.txt; \
	[ -z "$$failed" ] || { echo "FAILED:$$failed"; exit 1; }

.PHONY: check-faults
