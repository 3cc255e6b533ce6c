# Faults: a short form in `make check`, all of it here.
FAIL_ALLOC := $(BUILD)/tests/libfail-alloc.so

$(FAIL_ALLOC): tests/faults/fail_alloc.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) -D_GNU_SOURCE $(CFLAGS) $(WARN) $(WERROR) -fPIC -shared $< -o $@

$(BUILD)/tests/test_faults: | all $(FAIL_ALLOC) $(BUILD)/tests/clients/faults $(BUILD)/tests/clients/everything

check-faults: $(BUILD)/tests/test_faults ## faults in full: 10,000 processes, every allocation failing in turn
	$(Q)NVTALLY_FAULTS=full NVTALLY_BUILD=$(abspath $(BUILD)) $<

.PHONY: check-faults
