# libnvtally.so, for others' benchmarks: its public functions and what they need of the program.
LIBRARY_SRC := library/nvtally.c collectors/self_record.c collectors/recorder_rings.c collectors/stale.c collectors/drain.c collectors/drain_os.c collectors/drain_cpu.c collectors/drain_device.c \
  collectors/owners.c collectors/output.c collectors/functions.c collectors/symbols.c $(patsubst %,collectors/%.c,capture_wish retain cut cut_state cut_state_device) \
  $(patsubst %,analyze/model/%.c,lanes launches launch_walk trace finish layout batches extent mpi sort column recorded_events parallel cuda_names) \
  $(patsubst %,analyze/device/%.c,project) \
  analyze/readers/frames.c analyze/readers/nvtx_payload.c analyze/readers/nvtx_schema.c analyze/readers/pools.c $(sort $(filter-out analyze/readers/nvtx%,$(wildcard analyze/readers/nvt*.c))) lib/error.c lib/clock.c lib/buffer.c lib/map.c lib/frame_tree.c \
  lib/strings.c lib/os_calls.c lib/sample.c lib/trace_file.c lib/event_columns.c lib/keep_file.c lib/trace_writer.c lib/create_file.c lib/device_rows.c \
  lib/device_columns.c lib/device_columns_put.c lib/packed.c lib/demangle.c
LIBRARY_ABI := 0

all: $(BUILD)/libnvtally.so

$(BUILD)/libnvtally.so.$(LIBRARY_ABI): $(call pic,$(LIBRARY_SRC))
	$(if $(Q),@echo "  LD   $@")
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -shared -Wl,-soname,$(@F),-z,nodelete$(if $(SANITIZE),,$(,)-z$(,)defs) $^ \
	  $(if $(HAVE_ZSTD),-lzstd) -lm -ldl -lpthread -o $@

$(BUILD)/libnvtally.so: $(BUILD)/libnvtally.so.$(LIBRARY_ABI)
	$(Q)ln -sf $(<F) $@

$(BUILD)/tests/test_session_library $(BUILD)/tests/test_session_device: private LDLIBS += '-Wl,-rpath,$$ORIGIN/..'

# The one with Google Benchmark is left out where that is not installed.
HAVE_BENCHMARK := $(wildcard /usr/include/benchmark/benchmark.h)
examples: $(BUILD)/examples/range_stats $(if $(HAVE_BENCHMARK),$(BUILD)/examples/google_benchmark) ## programs that use libnvtally

$(BUILD)/examples/range_stats: examples/range_stats.c include/nvtally.h $(BUILD)/libnvtally.so
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) -Iinclude $(CFLAGS) $(WARN) $(WERROR) $(SANITIZE) $< -L$(BUILD) -lnvtally \
	  '-Wl,-rpath,$$ORIGIN/..' -ldl -o $@

$(BUILD)/examples/google_benchmark: examples/google_benchmark.cpp include/nvtally.h $(BUILD)/libnvtally.so
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CXX) -std=c++17 $(CPPFLAGS) -Iinclude $(CFLAGS) -Wall -Wextra $(WERROR) $(SANITIZE) $< -L$(BUILD) -lnvtally -lbenchmark \
	  '-Wl,-rpath,$$ORIGIN/..' -ldl -lpthread -o $@

$(BUILD)/tests/test_session_library: $(BUILD)/libnvtally.so | examples

.PHONY: examples
