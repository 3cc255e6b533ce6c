# 64-bit Arm, of which there is no machine here: built across, run by an emulator (tests/arm64/run tells what that takes).
#   ARM64_TESTS   some of the tests; ARM64_PAGE=65536: on pages of that size, as many kernels for Arm have them
#   ARM64_CACHE   where the Debian for Arm is kept that they run in
ARM64_BUILD := build-arm64
ARM64_CACHE ?= .deps/arm64
ARM64_CROSS := aarch64-linux-gnu-
# Those of the collector, of formats and of arithmetic. Left out: what runs workloads or gnuplot for long, what measures time,
# which says nothing of an emulator, and what needs ptrace, shells, MPI, libcupti or a network.
ARM64_TESTS ?= capture counters cupti cupti_buffers cupti_ends cupti_refusals cut cut_devices cut_recordings device_columns \
  exit_hook harness layer map ops_transformer phase_breakdown pickle pipeline pipeline_run plain_names private processor \
  projection read_chrome read_kineto read_nsys read_nsys_odd read_snapshot read_threads record record_limits record_lives \
  record_threads sample sort spool stats table table_formats trace_file
# No folder of the host's but headers, which are the same for both; MPI and Google Benchmark are not in that Debian.
ARM64_MAKE = $(MAKE) BUILD=$(ARM64_BUILD) CC="$(ARM64_CROSS)gcc $(1)" CXX="$(ARM64_CROSS)g++ $(1)" AR=$(ARM64_CROSS)ar OBJCOPY=$(ARM64_CROSS)objcopy \
  HOST_ARCH=armv8-a NVCC= MPI_PACKAGE= HAVE_BENCHMARK= WERROR=-Werror

arm64: ## built for 64-bit Arm, tested by an emulator (root, debootstrap, qemu-user, aarch64-linux-gnu-g++)
	$(Q)tests/arm64/run root $(ARM64_CACHE)
	$(Q)$(call ARM64_MAKE,--sysroot=$(abspath $(ARM64_CACHE))/root) all tests examples
	$(Q)ARM64_PAGE=$(ARM64_PAGE) tests/arm64/run tests $(ARM64_CACHE) $(ARM64_BUILD) $(ARM64_TESTS)

.PHONY: arm64
