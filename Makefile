# nvtally: one non-recursive Makefile. Any folder's new *.c file is picked up by itself.
#   make            build/nvtally, build/libnvtally-inject.so, -host.so, and -cuda.so where nvcc is
#   make help       everything else
.DEFAULT_GOAL := all
# make PROFILER=1 leaves the workloads out: no kernels/, and no BLAS, oneDNN, OpenMP, CUDA compiler or MPI.
PROFILER ?=
BUILD  ?= $(if $(PROFILER),build-profiler,build)
CC     ?= cc
CFLAGS ?= -O2 -g
# In C an enumerator is an int. clang warns as of C++20, and where it does not vectorise a loop that it was allowed to.
WARN   := -Wall -Wextra -Wshadow -Wconversion -Wno-enum-enum-conversion -Wno-enum-float-conversion -Wno-pass-failed
WERROR ?=
V      ?=
Q      := $(if $(V),,@)

# --- what is here --------------------------------------------------------------------------------
# CUDA headers: CUDA_HOME, /usr/local/cuda, pip's nvidia/* folders under .deps (see ./setup), or /usr/include, where Debian's
# packages have them. The NVTX of CUDA 12 has no counters and no payloads; where that is CUDA 13's, its CUPTI is taken too, for
# tests that name what older headers lack. What is built with it works with libcupti of CUDA 12.
CUDA_HOME ?= $(firstword $(wildcard /usr/local/cuda))
first_with = $(firstword $(foreach d,$(2),$(if $(wildcard $(d)/$(1)),$(d))))
PIP_DIRS   := $(wildcard .deps/nvidia/*/include .deps/lib/python3*/site-packages/nvidia/*/include)
CUDA_DIRS  := $(if $(CUDA_HOME),$(addprefix $(CUDA_HOME)/,include extras/CUPTI/include)) $(PIP_DIRS) /usr/include
NVTX_INC   ?= $(call first_with,nvtx3/nvToolsExtCounters.h,$(CUDA_DIRS))
CUPTI_INC  ?= $(call first_with,cupti.h,$(NVTX_INC) $(CUDA_DIRS))
CUDA_INC   ?= $(call first_with,cuda.h,$(CUPTI_INC) $(CUDA_DIRS))
NVCC       ?= $(firstword $(if $(CUDA_HOME),$(wildcard $(CUDA_HOME)/bin/nvcc)) $(shell command -v nvcc 2>/dev/null) \
                $(abspath $(wildcard .deps/nvidia/*/bin/nvcc)))
# Vendors' headers: no warnings from them. Compilers have /usr/include in its place in their order, which -isystem changes.
vendors = $(addprefix -isystem ,$(filter-out /usr/include,$(1)))

have = $(shell printf '\043include <$(1)>\nint main(void){return 0;}\n' | $(or $(3),$(CC)) -x c - $(2) -o /dev/null 2>/dev/null && echo 1)
HAVE_ZSTD   := $(call have,zstd.h,-lzstd)
HAVE_SQLITE := $(call have,sqlite3.h,-lsqlite3)
HAVE_ZLIB   := $(call have,zlib.h,-lz)
# Loaded when it is wanted: only its header is needed.
HAVE_MICROHTTPD := $(call have,microhttpd.h,-fsyntax-only)
HAVE_CBLAS  := $(if $(PROFILER),,$(call have,cblas.h,-lopenblas))
HAVE_DNNL   := $(if $(PROFILER),,$(call have,oneapi/dnnl/dnnl.h,-ldnnl))

ifeq ($(NVTX_INC),)
$(if $(filter-out help clean,$(or $(MAKECMDGOALS),all)),$(error the NVTX headers (nvtx3/nvToolsExtCounters.h, as of CUDA 13) were not found: run ./setup build, or set CUDA_HOME or NVTX_INC))
endif

# The host backend's compiler, where another one than that of the rest has OpenMP.
HOST_CC := $(or $(HOST_CC),$(CC))
# gcc has it with it, clang in a package of its own.
ifeq ($(if $(PROFILER),1,$(call have,omp.h,-fopenmp -fsyntax-only,$(HOST_CC))),)
$(if $(filter-out help clean,$(or $(MAKECMDGOALS),all)),$(error $(HOST_CC) has no OpenMP here (Debian: gcc libc6-dev, or for clang libomp-dev)))
endif

# xxhash.h is all that there is of xxHash. ./setup keeps a copy for machines that it cannot be installed on.
XXHASH_INC := $(if $(wildcard .deps/include/xxhash.h),-idirafter .deps/include)

CPPFLAGS += -D_GNU_SOURCE -I. $(call vendors,$(NVTX_INC)) $(XXHASH_INC)
CPPFLAGS += $(if $(HAVE_ZSTD),-DHAVE_ZSTD) $(if $(HAVE_SQLITE),-DHAVE_SQLITE) \
            $(if $(HAVE_ZLIB),-DHAVE_ZLIB) $(if $(HAVE_MICROHTTPD),-DHAVE_MICROHTTPD) $(if $(HAVE_CBLAS),-DHAVE_CBLAS) $(if $(HAVE_DNNL),-DHAVE_DNNL)
# CUPTI's headers need CUDA's.
CUPTI_FLAGS := $(if $(and $(CUPTI_INC),$(CUDA_INC)),-DHAVE_CUPTI $(call vendors,$(CUPTI_INC) $(CUDA_INC)))
STD      := -std=gnu11
# Compilers write the folder that they run in into debug information, by the name that PWD gives it. With this
# one, the same sources give the same bits wherever they lie, and a debugger started here finds them.
HERE     := PWD=/proc/self/cwd
LDLIBS   := $(if $(HAVE_ZSTD),-lzstd) $(if $(HAVE_SQLITE),-lsqlite3) $(if $(HAVE_ZLIB),-lz) -lm -ldl -lpthread
SANITIZE ?=
# ThreadSanitizer sees nothing of what libgomp's threads wait for: with it, their loops run on one,
# and OpenBLAS's too.
OPENMP = $(if $(findstring thread,$(SANITIZE)),-fopenmp-simd,-fopenmp)
# The processor that the host backend is built for; a package sets the plainest one.
HOST_ARCH ?= native
# What its library gets OpenMP from.
HOST_OPENMP ?= $(OPENMP)

# --- what is made of what ------------------------------------------------------------------------
# lib, analyze, plots, collectors, kernels: the program. What lies in folders below the last two is in libraries that it loads.
PROFILER_SRC  := $(sort $(wildcard lib/*.c lib/*/*.c analyze/*.c analyze/*/*.c plots/*.c plots/*/*.c collectors/*.c))
WORKLOADS_SRC := $(sort $(wildcard kernels/*.c)) kernels/frame/configuration.c kernels/frame/turns.c
MAIN_SRC   := $(PROFILER_SRC) $(if $(PROFILER),no_workloads.c,$(WORKLOADS_SRC))
INJECT_SRC := $(sort $(wildcard collectors/inject/*.c))
# What the injected library shares with the program.
INJECT_LIB_SRC := collectors/budget.c collectors/cupti_decode.c collectors/cupti_keep.c collectors/memory_groups.c collectors/standing.c lib/clock.c lib/device_rows.c lib/gpu_metric_names.c
HOST_SRC   := $(sort $(wildcard kernels/ops/*.c kernels/pipeline/*.c kernels/workloads/*.c kernels/frame/*.c kernels/host/*.c))
# The host library also carries the few parts of lib/ that workloads use.
HOST_LIB_SRC := lib/error.c lib/clock.c lib/processor.c
TEST_SRC   := $(sort $(wildcard tests/test_*.c))
TEST_HELPERS := $(filter-out $(TEST_SRC),$(sort $(wildcard tests/*.c)))

, := ,

obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
pic = $(patsubst %.c,$(BUILD)/pic/%.o,$(1))

# Ranges of PyTorch: modules of Python, and the library that they call.
PYTORCH_SRC := $(sort $(wildcard collectors/pytorch/*.c))
PYTORCH     := $(BUILD)/libnvtally-pytorch.so $(patsubst collectors/%,$(BUILD)/%,$(wildcard collectors/pytorch/*.py))

# In front of MPI: its calls are ranges.
MPI_CALLS_SRC := $(sort $(wildcard collectors/mpi/*.c))
MPI_CALLS     := $(BUILD)/libnvtally-mpi-calls.so

# What NCCL loads as its profiler plugin.
NCCL_PROFILER_SRC := $(sort $(wildcard collectors/nccl/*.c))
NCCL_PROFILER     := $(BUILD)/libnvtally-nccl-profiler.so

# In front of libc: its calls that may block.
OS_CALLS_SRC := $(sort $(wildcard collectors/os/*.c))
OS_CALLS     := $(BUILD)/libnvtally-os-calls.so

# In front of libc, too: threads that begin, to be sampled.
CPU_SAMPLES_SRC := $(sort $(wildcard collectors/cpu/*.c))
CPU_SAMPLES     := $(BUILD)/libnvtally-cpu-samples.so

# What stands in LD_PRELOAD for each of the three. A loader of glibc puts the library that it names in front of it; that of another
# libc, which has no use for those, does not know this entry and loads a library of nothing.
# They have nothing in them of a libc. lld, which a compiler for an older one may link with, has no --auxiliary.
PRELOAD_CC ?= $(CC)
PRELOADS := $(patsubst %,$(BUILD)/libnvtally-preload-%.so,mpi-calls os-calls cpu-samples)

all: $(BUILD)/nvtally $(BUILD)/libnvtally-inject.so $(if $(PROFILER),,$(BUILD)/libnvtally-host.so) $(PYTORCH) $(MPI_CALLS) $(NCCL_PROFILER) $(OS_CALLS) $(CPU_SAMPLES) $(PRELOADS) ## build everything for this machine

# Code that a library can hold, and of which it shows only what is marked NVT_EXPORT.
PIC := -fPIC -fvisibility=hidden

# What was built in another way is built again: with a compiler, an option or a library that was not there before.
WAY := $(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(PIC) $(CUPTI_FLAGS) $(SANITIZE) $(INJECT_SANITIZE) $(HOST_ARCH)
$(BUILD)/way: force
	@mkdir -p $(@D)
	@echo '$(WAY)' | cmp -s - $@ || echo '$(WAY)' >$@

$(BUILD)/obj/%.o: %.c $(BUILD)/way
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC   $<")
	$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) $(EXTRA_CPPFLAGS) $(CFLAGS) $(OBJ_FLAGS) $(WARN) $(WERROR) $(SANITIZE) -MMD -MP -c $< -o $@
# libnvtally.so takes of these what it needs (library/module.mk).
$(call obj,$(PROFILER_SRC) no_workloads.c $(wildcard library/*.c)): OBJ_FLAGS := $(PIC)

# Libraries that are loaded into other programs.
$(BUILD)/pic/%.o: %.c $(BUILD)/way
	@mkdir -p $(@D)
	$(if $(Q),@echo "  PIC  $<")
	$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) $(EXTRA_CPPFLAGS) $(CFLAGS) $(PIC_FLAGS) $(WARN) $(WERROR) $(SANITIZE) $(PIC) -MMD -MP -c $< -o $@

$(call pic,$(INJECT_SRC) $(INJECT_LIB_SRC)): PIC_FLAGS := -O3 -ftls-model=initial-exec -fno-plt $(CUPTI_FLAGS)
# Who has called what is known by the return address (os.h): a call that is a jump has that of somebody else.
$(call pic,$(addprefix collectors/inject/,session.c thread.c os.c os_files.c)): PIC_FLAGS += -fno-optimize-sibling-calls
# It is loaded into programs that have no sanitizer's runtime, so it is built without one, unless a
# check asks for it that runs instrumented programs alone.
INJECT_SANITIZE ?=
$(call pic,$(INJECT_SRC) $(INJECT_LIB_SRC)) $(BUILD)/libnvtally-inject.so: override SANITIZE := $(INJECT_SANITIZE)
$(call pic,$(HOST_SRC)): override CC := $(HOST_CC)
$(call pic,$(HOST_SRC)): PIC_FLAGS := -O3 -march=$(HOST_ARCH) $(OPENMP) -fno-math-errno -DNVT_HOST=1

# Texts that are built in.
$(call obj,analyze/view/page.c): $(wildcard analyze/view/page/*)
$(call obj,plots/documents/html_script.c): plots/documents/page/report.js

# What env.json says of the sources; nothing where they are no checkout of their own, as in a package.
REVISION := $(if $(wildcard .git),$(shell git describe --always --dirty --abbrev=40 --exclude='*' 2>/dev/null))
$(BUILD)/revision: force
	@mkdir -p $(@D)
	@echo '$(REVISION)' | cmp -s - $@ || echo '$(REVISION)' >$@
$(call obj,kernels/environment.c): $(BUILD)/revision
$(call obj,kernels/environment.c): EXTRA_CPPFLAGS += -DNVT_GIT_REVISION='"$(REVISION)"'

# The decoder is checked wherever CUPTI's headers are.
$(call obj,collectors/cupti_decode.c collectors/cupti_keep.c): EXTRA_CPPFLAGS += $(CUPTI_FLAGS)

$(BUILD)/libnvtally.a: $(call obj,$(MAIN_SRC))
	$(Q)rm -f $@ && $(AR) rcsDP $@ $^

$(BUILD)/nvtally: $(BUILD)/obj/nvtally.o $(BUILD)/libnvtally.a
	$(if $(Q),@echo "  LD   $@")
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) $^ $(LDLIBS) -o $@

# What PROFILER=1 makes, of the objects at hand.
$(BUILD)/profiler/nvtally: $(call obj,nvtally.c no_workloads.c $(PROFILER_SRC))
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) $^ $(LDLIBS) -o $@

$(BUILD)/libnvtally-inject.so: $(call pic,$(INJECT_SRC) $(INJECT_LIB_SRC))
	$(if $(Q),@echo "  LD   $@")
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -shared -Wl,-z,nodelete,-z,defs $^ -ldl -lpthread -o $@

# It is loaded into Python, which has no sanitizer's runtime.
$(call pic,$(PYTORCH_SRC) $(MPI_CALLS_SRC) $(NCCL_PROFILER_SRC) $(OS_CALLS_SRC) $(CPU_SAMPLES_SRC)) $(BUILD)/libnvtally-pytorch.so $(MPI_CALLS) $(NCCL_PROFILER) $(OS_CALLS) $(CPU_SAMPLES): override SANITIZE :=
$(BUILD)/libnvtally-pytorch.so: $(call pic,$(PYTORCH_SRC))
	$(if $(Q),@echo "  LD   $@")
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-z,defs $^ -ldl -o $@

$(MPI_CALLS): $(call pic,$(MPI_CALLS_SRC))
	$(if $(Q),@echo "  LD   $@")
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-z,defs $^ -ldl -o $@

# NCCL unloads it with its last communicator, while other threads may be in it.
$(NCCL_PROFILER): $(call pic,$(NCCL_PROFILER_SRC))
	$(if $(Q),@echo "  LD   $@")
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-z,nodelete,-z,defs $^ -ldl -lpthread -o $@

# Threads are cancelled in calls, and exceptions come out of callbacks: they pass through.
$(call pic,$(OS_CALLS_SRC)): PIC_FLAGS := -O3 -fno-plt -fexceptions
$(call pic,$(CPU_SAMPLES_SRC)): PIC_FLAGS := -O3 -fno-plt -fexceptions
$(OS_CALLS): $(call pic,$(OS_CALLS_SRC))
$(CPU_SAMPLES): $(call pic,$(CPU_SAMPLES_SRC))
# Whose unwinder exceptions pass through: the process's own, where the compiler does not name it by itself.
UNWIND ?=
$(OS_CALLS) $(CPU_SAMPLES): $(BUILD)/libnvtally-inject.so
	$(if $(Q),@echo "  LD   $@")
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-z,defs -Wl,-rpath,'$$ORIGIN' $(filter %.o,$^) -L$(BUILD) -l:libnvtally-inject.so -ldl $(UNWIND) -o $@

$(PRELOADS): $(BUILD)/libnvtally-preload-%.so: collectors/preload/nothing.c
	$(if $(Q),@echo "  LD   $@")
	@mkdir -p $(@D)
	$(Q)$(PRELOAD_CC) -shared -nostdlib -fPIC -Wl,--auxiliary='$$ORIGIN/libnvtally-$*.so' $< -o $@

$(BUILD)/pytorch/%.py: collectors/pytorch/%.py
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(BUILD)/libnvtally-host.so: $(call pic,$(HOST_SRC) $(HOST_LIB_SRC))
	$(if $(Q),@echo "  LD   $@")
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -shared $(if $(SANITIZE),,-Wl,-z$(,)defs) $^ $(HOST_OPENMP) $(if $(HAVE_CBLAS),-lopenblas) $(if $(HAVE_DNNL),-ldnnl) -ldl -lm -o $@

# --- tests ---------------------------------------------------------------------------------------
TESTS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(TEST_SRC))
# Programs that tests run under `record`: C and C++ clients of NVTX.
CLIENTS := $(patsubst tests/clients/%.c,$(BUILD)/tests/clients/%,$(wildcard tests/clients/*.c)) \
           $(patsubst tests/clients/%.cpp,$(BUILD)/tests/clients/%,$(wildcard tests/clients/*.cpp))

$(BUILD)/tests/test_profiler: | $(BUILD)/profiler/nvtally
$(BUILD)/tests/%: $(BUILD)/obj/tests/%.o $(call obj,$(TEST_HELPERS)) $(BUILD)/libnvtally.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) $^ -lcmocka $(LDLIBS) -o $@

# This one has the host backend in it.
$(BUILD)/tests/test_switchback: private LDLIBS += $(if $(HAVE_CBLAS),-lopenblas) $(if $(HAVE_DNNL),-ldnnl)

# Kernels in double precision, for tests/test_*_double.c: gradients against finite differences.
DOUBLE_SRC := $(filter-out kernels/workloads/% kernels/frame/driver.c kernels/host/low_precision.c,$(HOST_SRC))
double = $(patsubst %.c,$(BUILD)/double/%.o,$(1))

$(BUILD)/double/%.o: %.c $(BUILD)/way
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CC) $(STD) $(filter-out -DHAVE_CBLAS,$(CPPFLAGS)) -DNVT_REAL_DOUBLE $(CFLAGS) $(OPENMP) $(WARN) $(WERROR) $(SANITIZE) -MMD -MP -c $< -o $@

$(BUILD)/libdouble.a: $(call double,$(DOUBLE_SRC))
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/tests/%_double: $(BUILD)/double/tests/%_double.o $(call obj,$(TEST_HELPERS)) $(BUILD)/libdouble.a $(BUILD)/libnvtally.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(OPENMP) $(SANITIZE) $(LDFLAGS) $^ -lcmocka $(LDLIBS) -o $@

# A sanitizer takes no library in front of its own.
$(patsubst %,$(BUILD)/tests/clients/%,os_calls cpu_samples cpu_exceptions team): override SANITIZE :=
$(BUILD)/tests/clients/%: tests/clients/%.c
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) $(WERROR) $(SANITIZE) -MMD -MP -MF $@.d $< -o $@ -ldl -lpthread

$(BUILD)/tests/clients/%: tests/clients/%.cpp
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CXX) -std=c++17 $(CPPFLAGS) $(CFLAGS) -Wall -Wextra $(WERROR) $(SANITIZE) -MMD -MP -MF $@.d $< -o $@ -ldl -lpthread

# Named here, make takes none of them for a step in between, which it would remove, and would not miss.
objects: $(call obj,$(TEST_HELPERS) $(filter-out %_double.c,$(TEST_SRC)) $(wildcard tests/fuzz/*.c)) \
         $(call double,$(filter %_double.c,$(TEST_SRC)))

clients: $(CLIENTS) ## the programs that tests start
tests: $(TESTS) clients ## build the tests, and run none

$(if $(and $(PROFILER),$(filter check% tests objects,$(MAKECMDGOALS))),$(error the tests need the workloads: run them without PROFILER; tests/test_profiler.c is about that build))
# Tests run side by side, the longest first, so that none of them is waited for at the end. Those that measure time run alone, last.
# Every one is run, then the verdict (tests/runner/run.c). NVTALLY_TEST_JOBS=1 runs them one after another.
TESTS_LONGEST := cpu_python device_rehearsal docs_commands sql emulated gpipe_ranks transport_nccl emulated_workloads cpu faults_calls \
                 faults_record emulated_devices device_check pipeline_gradients_double record_window ctl ctl_steps live cut_recordings tasks python_locks
TESTS_ALONE   := load overhead compensate
tests_named = $(patsubst %,$(BUILD)/tests/test_%,$(1))
run_tests   = NVTALLY_BUILD=$(abspath $(BUILD)) $(BUILD)/tests/runner/run $(filter-out $(call tests_named,$(TESTS_ALONE)), \
  $(foreach t,$(call tests_named,$(TESTS_LONGEST)),$(filter $t,$(1))) $(filter-out $(call tests_named,$(TESTS_LONGEST)),$(1))) \
  --alone $(filter $(call tests_named,$(TESTS_ALONE)),$(1))

check: all $(TESTS) $(CLIENTS) ## build and run every test
	$(Q)$(call run_tests,$(TESTS))

# Tests that have a long form (cli_is_long()): more seeds, shapes and settings of what the short form shows, too. With NVTALLY_LONG=1,
# `make check` runs every test, these in their long form.
TESTS_LONG := $(call tests_named,device_rehearsal docs_commands emulated emulated_devices emulated_workloads pipeline_gradients_double rank_blame transport_nccl)
check-long: all $(TESTS_LONG) ## the tests that have a long form, in that form
	$(Q)NVTALLY_LONG=1 $(call run_tests,$(TESTS_LONG))

check-longest: all $(BUILD)/tests/test_longest $(BUILD)/tests/clients/longest ## a recording of a billion events, started and stopped all the time (EVENTS=; root, 4 GiB of memory for a disk)
	$(Q)NVTALLY_BUILD=$(abspath $(BUILD)) NVTALLY_LONGEST=$(or $(EVENTS),1000000000) $(BUILD)/tests/test_longest

ASAN := -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined
TSAN := -fsanitize=thread

check-asan: ## the same under AddressSanitizer and UBSan
	$(Q)$(MAKE) BUILD=build-asan SANITIZE="$(ASAN)" check

# What reads and what makes tables, in the time that CI has: built without optimisation, no program run.
QUICK_TESTS ?= $(patsubst %,test_%,cupti_decode cupti_kinds read_chrome read_kineto read_nsys read_nsys_odd report_devices report_gpu reports reports_of_runs \
  sample sort table table_formats tables tables_refused)
check-asan-quick: ## a few of them, in a minute
	$(Q)$(MAKE) BUILD=build-asan-quick SANITIZE="$(ASAN)" CFLAGS="-O0 -g" quick-run

quick-run: $(BUILD)/nvtally $(BUILD)/tests/runner/run $(patsubst %,$(BUILD)/tests/%,$(QUICK_TESTS))
	$(Q)$(call run_tests,$(patsubst %,$(BUILD)/tests/%,$(QUICK_TESTS)))

check-tsan: ## the same under ThreadSanitizer
	$(Q)TSAN_OPTIONS=suppressions=$(CURDIR)/tests/tsan.supp OPENBLAS_NUM_THREADS=1 $(MAKE) BUILD=build-tsan SANITIZE="$(TSAN)" check

# The injected library too, loaded into clients that have the same sanitizer; programs without one
# cannot load it, so only the tests that record our own clients are run.
INJECT_TESTS ?= test_record test_record_lives test_record_limits test_record_losses test_record_threads test_record_window test_ctl test_ctl_steps \
  test_flight test_counters test_cupti test_cupti_ends test_cupti_refusals
check-inject: ## the collector under AddressSanitizer and UBSan, the injected library with it
	$(Q)$(MAKE) BUILD=build-inject-asan SANITIZE="$(ASAN)" INJECT_SANITIZE="$(ASAN)" CFLAGS="-O1 -g" check-inject-run

check-inject-tsan: ## the same under ThreadSanitizer
	$(Q)$(MAKE) BUILD=build-inject-tsan SANITIZE="$(TSAN)" INJECT_SANITIZE="$(TSAN)" CFLAGS="-O1 -g" check-inject-run

check-inject-run: $(BUILD)/nvtally $(BUILD)/libnvtally-inject.so $(CLIENTS) $(patsubst %,$(BUILD)/tests/%,$(INJECT_TESTS))
	$(Q)failed=; for test in $(INJECT_TESTS); do \
	  echo "== $$test"; ASAN_OPTIONS=verify_asan_link_order=0:handle_segv=0 TSAN_OPTIONS=suppressions=$(CURDIR)/tests/tsan.supp \
	    NVTALLY_BUILD=$(abspath $(BUILD)) $(BUILD)/tests/$$test || failed="$$failed $$test"; \
	done; if [ -n "$$failed" ]; then echo "FAILED:$$failed"; exit 1; fi

layers: ## whether every folder uses only the floors below it (docs/architecture.md)
	$(Q)tests/layers --planted && tests/layers

words: ## whether documents, manual pages and messages use the words of the glossary (CONTRIBUTING.md)
	$(Q)tests/words --planted && tests/words

comments: ## whether comments stand by themselves, and none splits the declaration that it is about
	$(Q)tests/comments --planted && tests/comments

first-screen: $(BUILD)/nvtally $(BUILD)/tests/test_first_screen ## draw the README's picture of the first screen again
	$(Q)NVTALLY_DRAW=1 NVTALLY_BUILD=$(abspath $(BUILD)) $(BUILD)/tests/test_first_screen

view-picture: all ## draw the README's picture of view again, by chromium
	$(Q)python3 tests/view/picture.py chromium $(BUILD)/nvtally docs/results/h100/traces/train.nvt docs/images/view.png

demo: all ## the fragment study, small enough for a laptop: a table, charts and findings
	$(Q)tests/demo

include $(wildcard library/module.mk $(if $(PROFILER),,kernels/*/module.mk) packaging/module.mk tests/*/module.mk)

clean: ## remove what was built
	rm -rf build build-arm64 build-asan build-asan-quick build-tsan build-fuzz build-inject-asan build-inject-tsan build-coverage build-valgrind build-profiler

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

.PHONY: force all objects clients tests check check-long check-longest check-asan check-asan-quick quick-run check-tsan check-inject check-inject-tsan check-inject-run layers words comments first-screen view-picture demo clean help
-include $(shell find $(BUILD) -type f -name '*.d' 2>/dev/null)
