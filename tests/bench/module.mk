# make bench: each claim of speed beside its floor and beside what others use.
HAVE_LTTNG := $(if $(filter bench,$(MAKECMDGOALS)),$(call have,lttng/tracepoint.h,-llttng-ust))

$(BUILD)/bench/pair: tests/bench/pair.c lib/clock.c lib/clock.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) tests/bench/pair.c lib/clock.c -o $@ -ldl -lpthread

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

bench-analyze: all $(BUILD)/bench/make_trace $(BUILD)/bench/timed ## the speed of reports, beside SQL's and HTA's
	$(Q)BUILD=$(BUILD) tests/bench/analyze

bench: all $(BUILD)/bench/nothing.so $(BUILD)/bench/pair $(if $(HAVE_LTTNG),$(BUILD)/bench/lttng_pair) ## the cost of the collector, beside its floor and LTTng-UST; and the speed of reports
	$(Q)BUILD=$(BUILD) tests/bench/run
	$(Q)$(MAKE) --no-print-directory bench-analyze

bench-disturbance: all ## what collecting does to every workload on the host, with intervals (6 minutes)
	$(Q)BUILD=$(BUILD) tests/bench/disturbance

.PHONY: bench bench-analyze bench-disturbance
