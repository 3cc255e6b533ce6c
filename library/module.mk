# libnvtally.so, for others' benchmarks: its public functions, and of the program's objects those that they need.
LIBRARY_ABI := 0
# Archives that were not built for libraries are linked into it so that their symbols are its own (packaging/wheel).
LIBRARY_LDFLAGS ?=

all: $(BUILD)/libnvtally.so

$(BUILD)/libnvtally.so.$(LIBRARY_ABI): $(call obj,library/nvtally.c) $(BUILD)/libnvtally.a
	$(if $(Q),@echo "  LD   $@")
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) $(LIBRARY_LDFLAGS) -shared -Wl,-soname,$(@F),-z,nodelete$(if $(SANITIZE),,$(,)-z$(,)defs) $^ \
	  $(if $(HAVE_ZSTD),-lzstd) -lm -ldl -lpthread -o $@

$(BUILD)/libnvtally.so: $(BUILD)/libnvtally.so.$(LIBRARY_ABI)
	$(Q)ln -sf $(<F) $@

# libnvtally-trace.so: traces as data (include/nvtally-trace.h), and the module of Python over it.
TRACE_ABI := 0

all: $(BUILD)/libnvtally-trace.so

$(BUILD)/libnvtally-trace.so.$(TRACE_ABI): $(call obj,library/trace.c no_workloads.c $(PROFILER_SRC)) library/trace.map
	$(if $(Q),@echo "  LD   $@")
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) $(LIBRARY_LDFLAGS) -shared -Wl,-soname,$(@F),--version-script,library/trace.map$(if $(SANITIZE),,$(,)-z$(,)defs) $(filter %.o,$^) \
	  $(LDLIBS) -o $@

$(BUILD)/libnvtally-trace.so: $(BUILD)/libnvtally-trace.so.$(TRACE_ABI)
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

# It uses the library as others do, by its header.
$(BUILD)/tests/test_trace_library $(BUILD)/tests/test_doors: private LDLIBS := -L$(BUILD) -lnvtally-trace '-Wl,-rpath,$$ORIGIN/..' $(LDLIBS)
$(BUILD)/tests/test_trace_library $(BUILD)/tests/test_doors: | $(BUILD)/libnvtally-trace.so

.PHONY: examples
