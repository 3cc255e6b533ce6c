# A stand-in for MPI, a program that calls it, and a library that does; with an MPI, a program whose ranks wait for each other.
MPI_TEST := $(addprefix $(BUILD)/tests/mpi/,libmpi-made.so program libplugin.so)
$(BUILD)/tests/mpi/libmpi-made.so: tests/mpi/library.c tests/mpi/calls.def
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) $(WERROR) -Wno-unused-parameter -fPIC -shared $< -o $@
$(BUILD)/tests/mpi/program: tests/mpi/program.c tests/mpi/calls.def $(BUILD)/tests/mpi/libmpi-made.so
	$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) $(WERROR) $< -L$(@D) -lmpi-made '-Wl,-rpath,$$ORIGIN' -Wl,-z,lazy -ldl -o $@
$(BUILD)/tests/mpi/libplugin.so: tests/mpi/plugin.c $(BUILD)/tests/mpi/libmpi-made.so
	$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) $(WERROR) -fPIC -shared $< -L$(@D) -lmpi-made '-Wl,-rpath,$$ORIGIN' -o $@
$(BUILD)/tests/test_mpi: | $(MPI_TEST) $(MPI_CALLS)

ifneq ($(MPI_PACKAGE),)
$(BUILD)/tests/mpi/waits: tests/mpi/waits.c
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) $(WERROR) $(MPI_CFLAGS) $< $(MPI_LIBS) -ldl -o $@
$(BUILD)/tests/test_mpi_waits_recorded: | $(BUILD)/tests/mpi/waits $(MPI_CALLS)
endif
