# make check-nsys NSYS=… [EXPORTS="…sqlite …"]: nvtally beside a real nsys (tests/nsys/unpack fetches one). By hand: nsys is NVIDIA's.
$(BUILD)/tests/nsys/client: tests/nsys/client.c
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) $(WERROR) $< -o $@ -ldl

# Not optimised: its functions must stay what they are.
$(BUILD)/tests/nsys/samples: tests/nsys/samples.c
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) -O1 -g $(WARN) $(WERROR) $< -o $@ -ldl -lpthread

check-nsys: all $(CLIENTS) $(BUILD)/tests/nsys/client $(BUILD)/tests/nsys/samples ## NSYS=path: every report beside a real nsys's, and what both keep of a killed program
	$(Q)BUILD=$(BUILD) tests/nsys/check "$(NSYS)" $(EXPORTS)

.PHONY: check-nsys
