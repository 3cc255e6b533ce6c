# make check-profiles PROFILES=…: reports on ranks compared with sums of a script, over profiles that others have published: a folder for each job.
check-profiles: all ## PROFILES=folder: reports on ranks compared with a script's sums, over profiles of PyTorch's profiler
	$(Q)python3 tests/public/ranks $(BUILD)/nvtally $(PROFILES)

.PHONY: check-profiles
