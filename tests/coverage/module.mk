# make coverage: which lines of lib/, collectors/ and analyze/ the tests run. Nothing else is counted:
# kernels are compared with mathematics instead, line by line it says nothing of them.
COVERAGE       ?=
COVERAGE_LEAST ?= 90
# Tests that run no line of those folders which others do not, and compute for long.
COVERAGE_LEFT_OUT := $(patsubst %,$(BUILD)/tests/test_%,ops_transformer layer transformer_model real_math \
  pipeline_double switchback device_check device_goals device_parts device_rehearsal device_run device_verdicts emulated emulated_refusals emulated_workloads \
  pipeline_gradients_double setup)

ifneq ($(COVERAGE),)
COVERED := $(call obj,$(filter lib/% collectors/% analyze/%,$(MAIN_SRC)) library/nvtally.c) \
           $(call pic,$(INJECT_SRC) $(INJECT_LIB_SRC))
# Counters of several threads, and of processes that share a file of counters.
$(COVERED): EXTRA_CPPFLAGS += --coverage -fprofile-update=atomic
$(call pic,$(INJECT_SRC) $(INJECT_LIB_SRC)): PIC_FLAGS := -O1 -ftls-model=initial-exec -fno-plt $(CUPTI_FLAGS)
LDFLAGS += --coverage
endif

coverage: ## lines of lib/, collectors/ and analyze/ that the tests run (gcovr)
	$(Q)$(MAKE) BUILD=build-coverage COVERAGE=1 CFLAGS="-O1 -g" coverage-run

# Tests that let every write fail let gcov's fail too: it complains elsewhere than on stderr, and they
# come first, as files of counters that were cut begin anew.
COVERAGE_FIRST := $(BUILD)/tests/test_faults_calls $(BUILD)/tests/test_faults
# Only what this run has counted; failing tests are told and do not hide the rest.
coverage-run: all $(TESTS) $(CLIENTS)
	$(Q)find $(BUILD) -name '*.gcda' -delete
	$(Q)for test in $(COVERAGE_FIRST) $(filter-out $(COVERAGE_FIRST) $(COVERAGE_LEFT_OUT),$(TESTS)); do \
	  GCOV_ERROR_FILE=$(abspath $(BUILD))/gcov.log NVTALLY_BUILD=$(abspath $(BUILD)) $$test >$$test.log 2>&1 || echo "coverage: $$test fails: $$test.log" >&2; \
	done
	$(Q)$(MAKE) --no-print-directory coverage-summary

# What a process that was killed left half written can be a counter below 0, which gcovr 5.2 does not read.
coverage-summary:
	$(Q)gcovr --gcov-ignore-parse-errors --root . --object-directory $(BUILD) --filter lib/ --filter collectors/ --filter analyze/ \
	  $(BUILD) --csv $(BUILD)/coverage.csv
	$(Q)awk -v least=$(COVERAGE_LEAST) -f tests/coverage/summary.awk $(BUILD)/coverage.csv

.PHONY: coverage coverage-run coverage-summary
