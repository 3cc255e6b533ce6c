# make bench: each claim of speed beside its floor and beside what others use.
HAVE_LTTNG := $(if $(filter bench,$(MAKECMDGOALS)),$(call have,lttng/tracepoint.h,-llttng-ust))

$(BUILD)/bench/pair: tests/bench/pair.c lib/clock.c lib/clock.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) tests/bench/pair.c lib/clock.c -o $@ -ldl -lpthread

$(BUILD)/bench/launch: tests/bench/launch.c lib/clock.c lib/clock.h tests/cupti/stand_in.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) tests/bench/launch.c lib/clock.c -o $@ -ldl

$(BUILD)/bench/lttng_pair: tests/bench/lttng_pair.c tests/bench/lttng_pair_tp.h lib/clock.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CPPFLAGS) $(CFLAGS) tests/bench/lttng_pair.c lib/clock.c -o $@ -llttng-ust -ldl

$(BUILD)/bench/nothing.so: tests/bench/nothing.c lib/clock.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CPPFLAGS) -O3 -fPIC -shared $< -o $@

$(BUILD)/bench/make_trace: $(call obj,tests/bench/make_trace.c tests/bench/nvt_sink.c) $(BUILD)/libnvtally.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(BUILD)/bench/timed: tests/bench/timed.c lib/clock.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) $< -o $@

$(BUILD)/bench/columns: $(call obj,tests/bench/columns.c) $(BUILD)/libnvtally.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

# It makes its traces as the tests do.
BENCH_DIAGNOSIS_SRC := $(sort $(wildcard tests/bench/diagnosis/*.c))
$(BUILD)/bench/diagnosis: $(call obj,$(BENCH_DIAGNOSIS_SRC) tests/made_trace.c tests/made_program.c tests/read_kit.c tests/trace_same.c tests/cli.c) $(BUILD)/libnvtally.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) $^ -lcmocka $(LDLIBS) -o $@

BENCH_EMULATED := $(BUILD)/bench/emulated
bench-diagnosis: all $(BUILD)/bench/diagnosis $(EMULATED_ALL) $(STAND_IN) ## how often diagnose is right, on traces with a known truth (SEED=, CASES=)
	$(Q)rm -rf $(BENCH_EMULATED); NVTALLY_CUPTI=$(STAND_IN) $(BUILD)/emulated/nvtally run transformer --d-model 16 --d-ff 32 --layers 2 --heads 2 --context 8 \
		--vocabulary 31 --batch 2 --phase train --warmup 2 --iterations 16 --backend cuda --collect full -o $(BENCH_EMULATED) 2>$(BUILD)/bench/emulated.log || \
		echo "no recording of the emulated device: $$(tail -n 1 $(BUILD)/bench/emulated.log)"
	$(Q)$(BUILD)/bench/diagnosis $(or $(SEED),draw) $(or $(CASES),5) $$(ls $(BENCH_EMULATED)/*.nvt 2>/dev/null)

$(BUILD)/bench/loop: tests/bench/diagnosis/programs/loop.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) $< -ldl -lpthread -o $@

$(BUILD)/bench/loop++: tests/bench/diagnosis/programs/loop.cpp
	@mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 $(CPPFLAGS) -O2 -g -Wall -Wextra $(WERROR) $< -ldl -lpthread -o $@

bench-budget: all $(BUILD)/tests/clients/loop $(STAND_IN) ## whether record --budget keeps to its share, seen from outside (ROUNDS=, BUDGETS=, TORCH=)
	$(Q)BUILD=$(BUILD) tests/bench/budget

bench-programs: all $(BUILD)/bench/loop $(BUILD)/bench/loop++ ## the same of programs that run here, known troubles (NVTALLY_TORCH_PYTHON=, CASES=, SEED=)
	$(Q)sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1; BUILD=$(BUILD) tests/bench/diagnosis/programs/run.py $(BUILD)/bench/loop $(or $(CASES),3) $(SEED)

NSYS_AI ?= $(shell command -v nsys-ai 2>/dev/null)
bench-beside: all $(BUILD)/bench/diagnosis ## nsys-ai (NSYS_AI=), HTA (HTA_PYTHON=) and nsys's expert rules on the traces that bench-diagnosis makes (SEED=)
	$(Q)rm -rf $(BUILD)/bench/cases && mkdir -p $(BUILD)/bench/cases
	$(Q)NVTALLY_BENCH_WRITE=$(BUILD)/bench/cases $(BUILD)/bench/diagnosis $(or $(SEED),$$(date +%s%N)) 1 | head -n 1
	$(Q)BUILD=$(BUILD) tests/bench/diagnosis/beside.py $(BUILD)/bench/cases '$(NSYS_AI)' '$(HTA_PYTHON)'

bench-columns: $(BUILD)/bench/columns ## device rows as columns against one after the other: bytes, writing, reading
	$(Q)sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1; echo "$$(nproc) cores, $$(date -u +%Y-%m-%dT%H:%MZ), load $$(cut -d' ' -f1 /proc/loadavg), host"; $<

bench-analyze: all $(BUILD)/bench/make_trace $(BUILD)/bench/timed ## the speed of reports, beside SQL's and HTA's
	$(Q)BUILD=$(BUILD) tests/bench/analyze

$(BUILD)/bench/step: tests/bench/step.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) $< -o $@ -lsqlite3

bench-read: all $(BUILD)/bench/make_trace $(BUILD)/bench/timed $(BUILD)/bench/step ## how fast profiles and exports are read, next to orjson, DuckDB (READ_PYTHON=), HTA (HTA_PYTHON=) and SQLite's own loop (MEGABYTES=, GROWTH=)
	$(Q)BUILD=$(BUILD) tests/bench/read

bench-ranks: all $(BUILD)/bench/make_trace $(BUILD)/bench/timed ## reports over a file for each rank of a job (SIZES=)
	$(Q)BUILD=$(BUILD) tests/bench/ranks

bench-view: all $(BUILD)/bench/make_trace ## what view takes for a large trace: start, moves, memory (EVENTS=)
	$(Q)BUILD=$(BUILD) tests/bench/view

bench-sql: all $(BUILD)/bench/make_trace $(BUILD)/bench/timed ## the speed of SQL, compared with the reports that answer the same (EVENTS=, ROUNDS=)
	$(Q)sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1; BUILD=$(BUILD) tests/bench/sql

bench-path: all $(BUILD)/bench/make_trace $(BUILD)/bench/timed ## the speed of the critical path, beside HTA's
	$(Q)BUILD=$(BUILD) tests/bench/path

bench-nsys-ai: all $(BUILD)/bench/make_trace $(BUILD)/bench/timed ## the speed of reports of nsys's exports, beside nsys-ai's
	$(Q)BUILD=$(BUILD) tests/bench/nsys_ai

bench-mpi: all ## what recording costs a call of MPI, beside nsys (NSYS=path)
	$(Q)BUILD=$(BUILD) tests/bench/mpi

$(BUILD)/bench/osrt: tests/bench/osrt.c lib/clock.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) $< -o $@ -lpthread

bench-osrt: all $(BUILD)/bench/osrt ## what recording costs a call of the operating system's libraries, beside nsys (NSYS=path)
	$(Q)BUILD=$(BUILD) tests/bench/osrt

$(BUILD)/bench/cpu: tests/bench/cpu.c lib/clock.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) $< -o $@

bench-cpu: all $(BUILD)/bench/cpu ## what being sampled costs a program, beside nsys (NSYS=path) and py-spy (PYSPY=path)
	$(Q)BUILD=$(BUILD) tests/bench/cpu

$(BUILD)/bench/lives: tests/bench/lives.c lib/clock.c lib/clock.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) tests/bench/lives.c lib/clock.c -o $@ -ldl -lpthread

bench-lives: all $(BUILD)/bench/lives ## what recording costs programs of 10,000 short threads and processes (ROUNDS=, PERCENT= of them)
	$(Q)echo "$$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $$(nproc) cores, $$(date -u +%Y-%m-%dT%H:%MZ), load $$(cut -d' ' -f1 /proc/loadavg), host"
	$(Q)$(BUILD)/bench/lives $(BUILD)/nvtally $(or $(ROUNDS),7) $(or $(PERCENT),100)

bench-before: all $(BUILD)/bench/pair ## the cost of a pair, interleaved with that of another tree (BEFORE=its build folder, ROUNDS=)
	$(Q)BUILD=$(BUILD) tests/bench/before $(BEFORE) $(ROUNDS)

bench-counters: all $(BUILD)/bench/pair ## the cost of a pair with CPU counters, interleaved with that of one without (ROUNDS=)
	$(Q)BUILD=$(BUILD) tests/bench/counters $(ROUNDS)

bench-samples: all ## the speed of reading samples of what threads run from an export of nsys's, beside SQL's
	$(Q)BUILD=$(BUILD) tests/bench/samples

bench: all $(BUILD)/bench/nothing.so $(BUILD)/bench/pair $(if $(CUPTI_FLAGS),$(BUILD)/bench/launch $(STAND_IN)) $(if $(HAVE_LTTNG),$(BUILD)/bench/lttng_pair) ## the cost of the collector, beside its floor and LTTng-UST; and the speed of reports
	$(Q)BUILD=$(BUILD) tests/bench/run
	$(Q)$(MAKE) --no-print-directory bench-counters
	$(Q)$(MAKE) --no-print-directory bench-columns
	$(Q)$(MAKE) --no-print-directory bench-analyze
	$(Q)$(MAKE) --no-print-directory bench-path
	$(Q)$(MAKE) --no-print-directory bench-nsys-ai
	$(Q)$(MAKE) --no-print-directory bench-samples
	$(Q)$(MAKE) --no-print-directory bench-mpi
	$(Q)$(MAKE) --no-print-directory bench-osrt
	$(Q)$(MAKE) --no-print-directory bench-cpu
	$(Q)$(MAKE) --no-print-directory bench-lives

bench-disturbance: all ## what collecting does to every workload on the host, with intervals (a quarter of an hour)
	$(Q)BUILD=$(BUILD) tests/bench/disturbance

# What is written goes to LOAD_DIR and is removed: a minute at full rate is some hundred megabytes.
LOAD_SECONDS ?= 60
LOAD_THREADS ?= 2
LOAD_DIR     ?= $(BUILD)

$(BUILD)/bench/load_run: $(call obj,tests/bench/load_run.c tests/trace_tally.c) $(BUILD)/libnvtally.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

bench-load: all $(BUILD)/bench/load_run $(BUILD)/tests/clients/load ## LOAD_SECONDS=60 at full rate from LOAD_THREADS=2: what is lost, the rate, the waits, the memory
	$(Q)sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1; echo "$$(nproc) cores, $$(date -u +%Y-%m-%dT%H:%MZ), load average before: $$(cut -d' ' -f1 /proc/loadavg)"
	$(Q)$(BUILD)/bench/load_run $(BUILD)/nvtally $(BUILD)/tests/clients/load $(LOAD_SECONDS) $(LOAD_THREADS) $(LOAD_DIR)/load.nvt; \
	  status=$$?; rm -f $(LOAD_DIR)/load.nvt; exit $$status

$(BUILD)/tests/test_load: | all $(BUILD)/tests/clients/load

.PHONY: bench bench-before bench-lives bench-read bench-ranks bench-view bench-sql bench-columns bench-budget bench-diagnosis bench-programs bench-beside bench-analyze bench-path bench-samples bench-mpi bench-osrt bench-cpu bench-load bench-disturbance
