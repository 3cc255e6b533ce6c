# Sampling of devices, tested without any: stand-ins for NVML, of two ages, by the name that it is loaded by.
NVML_STAND_INS := $(BUILD)/tests/nvml/libnvidia-ml.so.1 $(BUILD)/tests/nvml-older/libnvidia-ml.so.1

$(BUILD)/tests/nvml-older/libnvidia-ml.so.1: private CPPFLAGS += -DOLDER
$(NVML_STAND_INS): tests/nvml/stand_in.c
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) $(WERROR) -fPIC -shared $< -o $@

$(BUILD)/tests/test_machine $(BUILD)/tests/test_machine_reports: | all $(NVML_STAND_INS) $(BUILD)/tests/clients/flight
