# A library that programs load, or have in front of libc beside ours: for tests of `record --trace osrt`.
OSRT_LIBRARY := $(BUILD)/tests/osrt-library.so

$(OSRT_LIBRARY): tests/osrt/library.c
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) $(WERROR) -fPIC -shared $< -o $@ -ldl -lpthread

$(BUILD)/tests/test_osrt $(BUILD)/tests/test_osrt_options: | all $(OSRT_LIBRARY) $(BUILD)/tests/clients/os_calls
