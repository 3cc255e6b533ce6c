# Transports of the pipeline between processes: libnvtally-mpi.so where MPI is installed, and
# libnvtally-nccl.so, which loads NCCL when it is asked for and needs nothing of it to be built.
MPI_PACKAGE := $(firstword $(foreach p,ompi-c mpich mpi-c,$(shell pkg-config --exists $(p) 2>/dev/null && echo $(p))))
MPI_CFLAGS  := $(if $(MPI_PACKAGE),$(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(MPI_PACKAGE))))
MPI_LIBS    := $(if $(MPI_PACKAGE),$(shell pkg-config --libs $(MPI_PACKAGE)))

ifneq ($(MPI_PACKAGE),)
all: $(BUILD)/libnvtally-mpi.so

$(call pic,kernels/transports/mpi.c): PIC_FLAGS := $(MPI_CFLAGS)
$(BUILD)/libnvtally-mpi.so: $(call pic,kernels/transports/mpi.c lib/error.c lib/clock.c)
	$(if $(Q),@echo "  LD   $@")
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -shared $^ $(MPI_LIBS) -lpthread -o $@
endif

all: $(BUILD)/libnvtally-nccl.so

$(BUILD)/libnvtally-nccl.so: $(call pic,kernels/transports/nccl.c kernels/nccl_library.c kernels/ranks.c lib/error.c)
	$(if $(Q),@echo "  LD   $@")
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -shared $^ -ldl -lpthread -o $@
