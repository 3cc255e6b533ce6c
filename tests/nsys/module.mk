# make check-nsys NSYS=… [EXPORTS="…sqlite …"]: nvtally beside a real nsys (tests/nsys/unpack fetches one). By hand: nsys is NVIDIA's.
$(BUILD)/tests/nsys/client: tests/nsys/client.c
	@mkdir -p $(@D)
	$(Q)$(HERE) $(CC) $(STD) $(CPPFLAGS) $(CFLAGS) $(WARN) $(WERROR) $< -o $@ -ldl

check-nsys: all $(CLIENTS) $(BUILD)/tests/nsys/client ## NSYS=path: every report beside a real nsys's, and what both keep of a killed program
	$(Q)BUILD=$(BUILD) tests/nsys/check "$(NSYS)" $(EXPORTS)

.PHONY: check-nsys
