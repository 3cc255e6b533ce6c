# Fuzzing: one program a reader (and for payloads, published logs, the records of runs and buffers of CUPTI), for clang's libFuzzer, with AddressSanitizer and UBSan.
#   make fuzz FUZZ_SECONDS=60          seconds for each; what it finds stays in build-fuzz/
#   make fuzz FUZZ_JOBS=6 …            so many at a time
FUZZ_SECONDS ?= 60
FUZZ_JOBS    ?= 1
FUZZ_CLANG   ?= clang
FUZZERS      := nvt tables nsys kineto perfetto xplane rocpd rocprofv3 flight snapshot payload published runs $(if $(CUPTI_FLAGS),cupti)

FUZZ_CUPTI   := $(call obj,tests/fuzz/fuzz_cupti.c)
$(FUZZ_CUPTI): EXTRA_CPPFLAGS += $(CUPTI_FLAGS)

$(BUILD)/fuzz/%: $(BUILD)/obj/tests/fuzz/fuzz_%.o $(BUILD)/obj/tests/fuzz/fuzz_readers.o $(BUILD)/obj/tests/trace_same.o $(BUILD)/libnvtally.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) -fsanitize=fuzzer $(LDFLAGS) $^ $(LDLIBS) -o $@

# Files of tables that are not packed, of traces that can be read.
$(BUILD)/fuzz/seed_tables: $(call obj,tests/fuzz/seed_tables.c) $(BUILD)/libnvtally.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(subst fuzzer-no-link$(,),,$(SANITIZE)) $(LDFLAGS) $^ $(LDLIBS) -o $@

# The seed of our own format is recorded here, so that no checkout holds facts about a machine.
fuzz: all $(BUILD)/tests/clients/everything $(BUILD)/tests/clients/counters $(BUILD)/tests/clients/device $(BUILD)/tests/clients/os_calls $(BUILD)/tests/clients/cpu_samples $(BUILD)/tests/libcupti-stand-in.so $(BUILD)/tests/mpi/program $(MPI_CALLS) ## fuzz every reader for FUZZ_SECONDS
	$(Q)$(MAKE) BUILD=build-fuzz CC=$(FUZZ_CLANG) CFLAGS="-O1 -g" \
	  SANITIZE="-fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined" \
	  $(addprefix build-fuzz/fuzz/,$(FUZZERS) seed_tables)
	$(Q)mkdir -p $(addprefix build-fuzz/corpus/,$(FUZZERS) nvt tables published runs cupti) && \
	  cp -rn tests/fuzz/corpus/. build-fuzz/corpus/ && \
	  cp -n data/published/*.txt data/published/*.log data/published/*.md build-fuzz/corpus/published/ && \
	  $(BUILD)/nvtally record --level 0 -o build-fuzz/corpus/nvt/everything.nvt -- \
	    $(BUILD)/tests/clients/everything >/dev/null && \
	  $(BUILD)/nvtally record --level 0 -o build-fuzz/corpus/nvt/counters.nvt -- \
	    $(BUILD)/tests/clients/counters && \
	  $(BUILD)/nvtally record --level 0 --trace mpi -o build-fuzz/corpus/nvt/mpi.nvt -- \
	    $(BUILD)/tests/mpi/program sizes >/dev/null && \
	  mkdir -p build-fuzz/calls && $(BUILD)/nvtally record --level 0 --trace osrt -o build-fuzz/corpus/nvt/osrt.nvt -- \
	    $(BUILD)/tests/clients/os_calls files build-fuzz/calls >/dev/null && \
	  { $(BUILD)/nvtally record --level 0 --trace nvtx,osrt,cpu -o build-fuzz/corpus/nvt/waits.nvt -- \
	    timeout -s KILL 3 $(BUILD)/tests/clients/os_calls hangs / >/dev/null; true; } && \
	  $(BUILD)/nvtally record --level 0 --trace nvtx,cpu -o build-fuzz/corpus/nvt/cpu.nvt -- \
	    $(BUILD)/tests/clients/cpu_samples forks
	$(Q)for log in fragments.txt switchback.txt transformer.md gpipe.log; do \
	  rm -rf build-fuzz/imported && \
	  $(BUILD)/nvtally import data/published/$$log -o build-fuzz/imported 2>/dev/null && \
	  head -n 4 build-fuzz/imported/results.jsonl >build-fuzz/corpus/runs/$$log.jsonl || exit 1; \
	done
	-$(Q)NVTALLY_CUPTI=$(BUILD)/tests/libcupti-stand-in.so NVTALLY_KEEP_BUFFERS=$(abspath build-fuzz/corpus/cupti) $(BUILD)/nvtally record --level 0 --trace full,um \
	    -o build-fuzz/corpus/nvt/device.nvt -- $(BUILD)/tests/clients/device plain
	$(Q)build-fuzz/fuzz/seed_tables build-fuzz/corpus/tables build-fuzz/corpus/nvt/* tests/fuzz/corpus/nsys/* tests/fuzz/corpus/flight/* tests/fuzz/corpus/snapshot/* tests/fuzz/corpus/kineto/* tests/fuzz/corpus/perfetto/* tests/fuzz/corpus/xplane/* tests/fuzz/corpus/rocpd/* tests/fuzz/corpus/rocprofv3/*
	$(Q)printf '%s\n' $(FUZZERS) | xargs -P $(FUZZ_JOBS) -I '{}' tests/fuzz/one '{}' $(FUZZ_SECONDS)
	$(Q)tests/fuzz/totals $(FUZZERS)

.PHONY: fuzz
