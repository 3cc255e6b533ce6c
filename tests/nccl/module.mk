# The transport over NCCL, tested without a device: a stand-in for libnccl.
NCCL_STAND_IN := $(BUILD)/tests/libnccl-stand-in.so

$(NCCL_STAND_IN): tests/nccl/stand_in.c tests/nccl/stand_in.h kernels/transports/nccl_api.h
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CC) $(STD) -D_GNU_SOURCE -I. $(CFLAGS) $(WARN) $(WERROR) -fPIC -shared $< -o $@ -lpthread

$(BUILD)/tests/test_transport_nccl $(BUILD)/tests/test_device_run: | all $(NCCL_STAND_IN)
