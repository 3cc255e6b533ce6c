# What runs the tests: build/tests/runner/run (tests/runner/run.c).
RUNNER := $(BUILD)/tests/runner/run
$(RUNNER): override SANITIZE :=
$(RUNNER): tests/runner/run.c
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CC) $(STD) -D_GNU_SOURCE $(CFLAGS) $(WARN) $(WERROR) $< -o $@

$(BUILD)/tests/test_runner: | $(RUNNER)
check: $(RUNNER)
