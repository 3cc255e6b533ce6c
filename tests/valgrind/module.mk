# make check-valgrind: memcheck over the tests that read, analyse, write and record; what they start
# is checked too. Left out are the tests that compute for long or judge times, and programs of others.
VALGRIND_LEFT_OUT := $(COVERAGE_LEFT_OUT) $(patsubst %,$(BUILD)/tests/test_%,peak cuda_backend docs faults faults_calls load run \
  transformer gpipe python plot published accumulate overhead hostile)
VALGRIND_TESTS ?= $(notdir $(filter-out $(VALGRIND_LEFT_OUT),$(TESTS)))
VALGRIND_SKIP  := /bin/*,/usr/bin/*,*/gnuplot,*/python3*

# Plain instructions: memcheck knows no AVX-512. A child that has errors exits with 99, and its test fails.
check-valgrind: ## most tests under valgrind's memcheck (a quarter of an hour)
	$(Q)$(MAKE) BUILD=build-valgrind CFLAGS="-O1 -g" HOST_ARCH=x86-64-v2 valgrind-run

valgrind-run: all $(TESTS) $(CLIENTS)
	$(Q)failed=; for test in $(VALGRIND_TESTS); do \
	  NVTALLY_BUILD=$(abspath $(BUILD)) valgrind --quiet --trace-children=yes --trace-children-skip='$(VALGRIND_SKIP)' \
	    --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite --error-exitcode=99 \
	    --suppressions=tests/valgrind/suppressions --log-file=$(BUILD)/$$test.%p.valgrind \
	    $(BUILD)/tests/$$test >$(BUILD)/$$test.log 2>&1 && echo "$$test" || { echo "$$test FAILED: $(BUILD)/$$test.log"; failed=1; }; \
	done; find $(BUILD) -maxdepth 1 -name '*.valgrind' -empty -delete; \
	cat $(BUILD)/*.valgrind 2>/dev/null; test -z "$$failed" && ! ls $(BUILD)/*.valgrind >/dev/null 2>&1

.PHONY: check-valgrind valgrind-run
