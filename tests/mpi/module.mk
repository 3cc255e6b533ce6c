# A stand-in for MPI, a program that calls it, and a library that does.
MPI_TEST := $(addprefix $(BUILD)/tests/mpi/,libmpi-made.so program libplugin.so)
$(BUILD)/tests/mpi/libmpi-made.so: tests/mpi/library.c tests/mpi/calls.def
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) $(WERROR) -Wno-unused-parameter -fPIC -shared $< -o $@
$(BUILD)/tests/mpi/program: tests/mpi/program.c tests/mpi/calls.def $(BUILD)/tests/mpi/libmpi-made.so
	$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) $(WERROR) $< -L$(@D) -lmpi-made '-Wl,-rpath,$$ORIGIN' -ldl -o $@
$(BUILD)/tests/mpi/libplugin.so: tests/mpi/plugin.c $(BUILD)/tests/mpi/libmpi-made.so
	$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) $(WERROR) -fPIC -shared $< -L$(@D) -lmpi-made '-Wl,-rpath,$$ORIGIN' -o $@
$(BUILD)/tests/test_mpi: | $(MPI_TEST) $(MPI_CALLS)
