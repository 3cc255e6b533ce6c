# make check-valgrind: memcheck over the tests that start no program: readers, tables, reports, decoders.
# valgrind 3.19 knows no pidfd_open(), which the harness and `record` wait with; what they run is under
# AddressSanitizer instead (check-asan, check-inject).
VALGRIND_TESTS ?= $(patsubst %,test_%,change cupti_decode cupti_kinds projection projection_random report_devices report_gpu report_loops reports reports_of_runs sample sort table table_formats)

# Plain instructions: memcheck knows no AVX-512.
check-valgrind: ## the tests that start no program, under valgrind's memcheck
	$(Q)$(MAKE) BUILD=build-valgrind CFLAGS="-O1 -g" HOST_ARCH=x86-64-v2 valgrind-run

valgrind-run: $(addprefix $(BUILD)/tests/,$(VALGRIND_TESTS))
	$(Q)failed=; for test in $(VALGRIND_TESTS); do \
	  NVTALLY_BUILD=$(abspath $(BUILD)) valgrind --quiet --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite --error-exitcode=99 \
	    --log-file=$(BUILD)/$$test.%p.valgrind \
	    $(BUILD)/tests/$$test >$(BUILD)/$$test.log 2>&1 && echo "$$test" || { echo "$$test FAILED: $(BUILD)/$$test.log"; failed=1; }; \
	done; find $(BUILD) -maxdepth 1 -name '*.valgrind' -empty -delete; \
	cat $(BUILD)/*.valgrind 2>/dev/null; test -z "$$failed" && ! ls $(BUILD)/*.valgrind >/dev/null 2>&1

.PHONY: check-valgrind valgrind-run
