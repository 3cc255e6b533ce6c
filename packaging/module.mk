# Manual pages, installation, the Debian package, lints.
PREFIX  ?= /usr/local
BINDIR  ?= $(PREFIX)/bin
LIBDIR  ?= $(PREFIX)/lib
DATADIR ?= $(PREFIX)/share
# Where Python looks for modules of packages.
PYTHONDIR ?= $(LIBDIR)/python3/dist-packages
ZSHDIR  ?= $(DATADIR)/zsh/site-functions
VERSION := $(shell sed -n 's/.*NVT_VERSION "\(.*\)"/\1/p' lib/version.h)
SCDOC   ?= $(shell command -v scdoc 2>/dev/null)

MAN_PAGES := $(patsubst docs/man/%.scd,$(BUILD)/man/%,$(sort $(wildcard docs/man/*.scd)))

# The first line, NAME(SECTION), gets the version for the foot of the page.
$(BUILD)/man/%: docs/man/%.scd lib/version.h packaging/module.mk
	@mkdir -p $(@D)
	$(Q)sed '1s/$$/ "nvtally $(VERSION)"/' $< | scdoc >$@.part && mv $@.part $@

# Between its parts, the pages of the rules: scdoc reads the Markdown that they are printed in.
$(BUILD)/man/nvtally-findings.1: docs/man/nvtally-findings.1.scd lib/version.h packaging/module.mk $(BUILD)/nvtally
	@mkdir -p $(@D)
	$(Q){ sed -e '1s/$$/ "nvtally $(VERSION)"/' -e '/^# EXAMPLES/,$$d' $< && \
	  $(BUILD)/nvtally diagnose --explain all -f markdown && echo && sed -n '/^# EXAMPLES/,$$p' $<; } | scdoc >$@.part && mv $@.part $@

# The published documents are built into the program.
$(BUILD)/obj/analyze/published/data.o: $(wildcard data/published/*)

man: $(MAN_PAGES) ## the manual pages

# The program finds its libraries in ../lib/nvtally from where it lies.
install: all $(if $(SCDOC),man) ## install into DESTDIR and PREFIX (/usr/local)
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/nvtally $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 755 $(BUILD)/nvtally $(DESTDIR)$(BINDIR)
	install -m 644 $$(ls $(BUILD)/libnvtally-*.so | grep -v /libnvtally-trace.so) $(DESTDIR)$(LIBDIR)/nvtally
	install -d $(DESTDIR)$(LIBDIR)/nvtally/pytorch
	install -m 644 collectors/pytorch/*.py $(DESTDIR)$(LIBDIR)/nvtally/pytorch
	install -m 644 $(BUILD)/libnvtally.so.$(LIBRARY_ABI) $(DESTDIR)$(LIBDIR)
	ln -sf libnvtally.so.$(LIBRARY_ABI) $(DESTDIR)$(LIBDIR)/libnvtally.so
	install -m 644 $(BUILD)/libnvtally-trace.so.$(TRACE_ABI) $(DESTDIR)$(LIBDIR)
	ln -sf libnvtally-trace.so.$(TRACE_ABI) $(DESTDIR)$(LIBDIR)/libnvtally-trace.so
	install -d $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PYTHONDIR)/nvtally
	install -m 644 include/*.h $(DESTDIR)$(PREFIX)/include
	install -m 644 python/nvtally/*.py $(DESTDIR)$(PYTHONDIR)/nvtally
	for name in nvtally nvtally-trace; do \
	  sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' \
	    packaging/$$name.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/$$name.pc && \
	  chmod 644 $(DESTDIR)$(LIBDIR)/pkgconfig/$$name.pc || exit; \
	done
	install -D -m 644 completion/nvtally.bash $(DESTDIR)$(DATADIR)/bash-completion/completions/nvtally
	install -D -m 644 completion/_nvtally $(DESTDIR)$(ZSHDIR)/_nvtally
	install -D -m 644 completion/nvtally.fish $(DESTDIR)$(DATADIR)/fish/vendor_completions.d/nvtally.fish
	install -d $(addprefix $(DESTDIR)$(DATADIR)/doc/nvtally/,docs/images docs/results docs/skills/nvtally examples)
	install -m 644 README.md CHANGELOG.md CONTRIBUTING.md $(DESTDIR)$(DATADIR)/doc/nvtally
	install -m 644 docs/*.md $(DESTDIR)$(DATADIR)/doc/nvtally/docs
	install -m 644 docs/skills/nvtally/* $(DESTDIR)$(DATADIR)/doc/nvtally/docs/skills/nvtally
	install -m 644 docs/images/* $(DESTDIR)$(DATADIR)/doc/nvtally/docs/images
	install -m 644 docs/results/*.md $(DESTDIR)$(DATADIR)/doc/nvtally/docs/results
	find docs/results/h100 docs/results/host -type f -exec install -D -m 644 '{}' '$(DESTDIR)$(DATADIR)/doc/nvtally/{}' ';'
	install -m 644 examples/* $(DESTDIR)$(DATADIR)/doc/nvtally/examples
	install -m 644 LICENSE $(DESTDIR)$(DATADIR)/doc/nvtally/copyright
	$(if $(SCDOC),install -d $(DESTDIR)$(DATADIR)/man/man1 && \
	  install -m 644 $(MAN_PAGES) $(DESTDIR)$(DATADIR)/man/man1,\
	  @echo "no manual pages were installed: there is no scdoc here to make them (Debian: scdoc)")

uninstall: ## remove what install put there
	rm -f $(DESTDIR)$(BINDIR)/nvtally $(DESTDIR)$(LIBDIR)/pkgconfig/nvtally.pc $(DESTDIR)$(LIBDIR)/pkgconfig/nvtally-trace.pc
	rm -f $(DESTDIR)$(DATADIR)/bash-completion/completions/nvtally
	rm -f $(DESTDIR)$(ZSHDIR)/_nvtally
	rm -f $(DESTDIR)$(DATADIR)/fish/vendor_completions.d/nvtally.fish
	rm -f $(addprefix $(DESTDIR)$(DATADIR)/man/man1/,$(notdir $(MAN_PAGES)))
	rm -f $(DESTDIR)$(PREFIX)/include/nvtally.h $(DESTDIR)$(PREFIX)/include/nvtally-trace.h
	rm -f $(DESTDIR)$(LIBDIR)/libnvtally.so* $(DESTDIR)$(LIBDIR)/libnvtally-trace.so*
	rm -rf $(DESTDIR)$(PYTHONDIR)/nvtally $(DESTDIR)$(LIBDIR)/nvtally $(DESTDIR)$(DATADIR)/doc/nvtally

# Built apart, for the plainest processor of the architecture, optimised and without debug symbols.
deb: ## a Debian package, in build/ (PROFILER=1: nvtally-profiler, without the workloads)
	$(Q)PROFILER=$(PROFILER) packaging/deb $(VERSION) $(BUILD)

# For every Linux with glibc 2.28 and later, and nothing to install but itself.
wheel: ## a Python wheel and a tarball of the program with the host backend, in build/
	$(Q)packaging/wheel $(VERSION) $(BUILD)

check-deb: deb ## the package in a fresh Debian 12: installed, tested, built against, removed (root, network)
	$(Q)NVTX_INC="$(NVTX_INC)" packaging/test-deb $(BUILD)/nvtally$(if $(PROFILER),-profiler)_$(VERSION)_$$(dpkg --print-architecture).deb

RELEASE ?= trixie
check-release: ## ./setup check in a fresh Debian, RELEASE=trixie (root, network)
	$(Q)packaging/test-release $(RELEASE)

reproducible: ## build twice in different folders, times and environments: the same bits?
	$(Q)packaging/reproducible

reproducible-wheel: ## the same of the wheel and the tarball
	$(Q)packaging/reproducible wheel

# The network is not needed once ./setup has installed what it installs. OFFLINE_TESTS: some of them.
check-offline: ## a fresh copy built and tested with no network
	$(Q)packaging/check-offline $(OFFLINE_TESTS)

# --- lints ---------------------------------------------------------------------------------------
# Sources of C by folder: the program and what it loads first, then tests, helpers and clients.
PROGRAM_C := $(wildcard nvtally.c no_workloads.c lib/*.c lib/*/*.c analyze/*.c analyze/*/*.c plots/*.c plots/*/*.c collectors/*.c collectors/inject/*.c collectors/pytorch/*.c collectors/preload/*.c collectors/mpi/*.c collectors/nccl/*.c collectors/os/*.c collectors/cpu/*.c library/*.c kernels/*.c kernels/*/*.c)
LINT_SRC  := $(filter-out $(if $(MPI_CFLAGS),,kernels/transports/mpi.c kernels/transports/job.c tests/nsys/mpi.c tests/bench/mpi.c),$(PROGRAM_C) $(wildcard tests/*.c tests/*/*.c examples/*.c))
LINT_FLAGS = $(CPPFLAGS) $(CUPTI_FLAGS) $(MPI_CFLAGS) -Iinclude
ANY_SRC   := $(LINT_SRC) $(wildcard include/*.h lib/*.h lib/*/*.h analyze/*.h analyze/*/*.h plots/*.h plots/*/*.h collectors/*.h collectors/*/*.h kernels/*.h kernels/*/*.h library/*.h tests/*.h tests/*/*.h \
             kernels/*/*.cu tests/*/*.cpp examples/*.cpp)
# clang-tidy over what TIDY names: a minute of a processor for every 25 files.
TIDY ?= $(LINT_SRC)

# A file that is clean leaves a mark, so that only what has changed is looked at again. One file at a
# time: with several, LLVM 14 takes every va_list for uninitialised.
$(patsubst %.c,$(BUILD)/tidy/%.ok,$(filter tests/%,$(LINT_SRC))): tests/.clang-tidy
$(patsubst %.c,$(BUILD)/tidy/%.ok,$(wildcard tests/*.c)): tests/analysed_cmocka.h
$(patsubst %.c,$(BUILD)/tidy/%.ok,$(wildcard tests/*.c)): TIDY_FLAGS := -include tests/analysed_cmocka.h
tidy_one = clang-tidy --quiet --warnings-as-errors='*' $(1) $< -- $(STD) $(LINT_FLAGS) $(TIDY_FLAGS) $(if $(filter $(HOST_SRC),$<),-DNVT_HOST=1) \
  $(if $(filter %_double.c,$<),-DNVT_REAL_DOUBLE) 2>$@.err || { grep -v 'warnings\? generated\|^Suppressed' $@.err; exit 1; }
tidy_mark = $(CC) $(STD) $(LINT_FLAGS) -MM -MP -MT $@ -MF $@.d $< && touch $@
$(BUILD)/tidy/%.ok: %.c .clang-tidy
	@mkdir -p $(@D)
	$(if $(Q),@echo "  TIDY $<")
	$(Q)$(call tidy_one)
	$(Q)$(tidy_mark)

# Without the static analyzer, which is five sixths of the time.
$(BUILD)/tidy/%.quick: %.c .clang-tidy
	@mkdir -p $(@D)
	$(if $(Q),@echo "  TIDY $<")
	$(Q)$(call tidy_one,--checks=-clang-analyzer-*)
	$(Q)$(tidy_mark)

# With one that follows fewer paths through a function (50,000 states instead of 225,000), in a third of the time.
$(BUILD)/tidy/%.few: TIDY_FLAGS := -Xclang -analyzer-config -Xclang max-nodes=50000
$(BUILD)/tidy/%.few: %.c .clang-tidy
	@mkdir -p $(@D)
	$(if $(Q),@echo "  TIDY $<")
	$(Q)$(call tidy_one)
	$(Q)$(tidy_mark)

tidy: $(patsubst %.c,$(BUILD)/tidy/%.ok,$(TIDY)) ## clang-tidy (use -j); what is left out stands in .clang-tidy

# CI analyses what reads untrusted files, what is loaded into others' programs and what writes. Reports, findings and charts,
# which turn one structure into another, get all checks but the analyzer; cppcheck sees them too.
ANALYZED := $(wildcard nvtally.c lib/*.c lib/*/*.c library/*.c collectors/*.c collectors/*/*.c analyze/model/*.c analyze/readers/*.c analyze/input/*.c analyze/exports/*.c)
tidy-ci: $(ANALYZED:%.c=$(BUILD)/tidy/%.few) $(patsubst %.c,$(BUILD)/tidy/%.quick,$(filter-out $(ANALYZED),$(wildcard analyze/*.c analyze/*/*.c plots/*.c plots/*/*.c))) ## what CI does of it

# Its posix.cfg knows files, descriptors and directories, so that leaks of them are found. Where it is wrong
# a `cppcheck-suppress` at that line names the check and the reason; nothing is left out for all.
cppcheck: ## cppcheck
	$(Q)mkdir -p $(BUILD)/cppcheck
	$(Q)cppcheck --quiet -j2 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
	  --cppcheck-build-dir=$(BUILD)/cppcheck --library=posix --library=packaging/cppcheck.cfg \
	  --std=c11 -I. -Iinclude $(filter -D%,$(LINT_FLAGS)) \
	  $(filter-out tests/bench/lttng_pair.c,$(LINT_SRC)) # whose macros are LTTng's

format-check: ## the layout that .clang-format gives, and files of 600 lines at most
	$(Q)clang-format --dry-run --Werror $(ANY_SRC) || { echo "format-check: clang-format -i FILE gives a file that layout"; exit 1; }
	$(Q)awk 'FNR == 601 { print FILENAME ": more than 600 lines"; long = 1 } END { exit long }' $(ANY_SRC)

shellcheck:
	$(Q)shellcheck setup .ci/run tests/demo tests/device/run packaging/deb packaging/test-deb packaging/test-release packaging/test-installed packaging/offline packaging/check-offline packaging/fresh-copy packaging/reproducible tests/bench/before tests/bench/disturbance tests/bench/read tests/fuzz/totals tests/arm64/run tests/nsys/unpack tests/bench/run

# Scripts of pages, without a build step.
VIEW_PAGE := $(wildcard analyze/view/page/*)
scriptcheck: ## the syntax of scripts in pages, by Node.js, and that the timeline's page has less than 120 KB
	$(Q)test $$(cat $(VIEW_PAGE) | wc -c) -lt 120000 || { echo "analyze/view/page has 120 KB or more"; exit 1; }
	$(Q)if command -v node >/dev/null; then node --check analyze/view/page/view.js && node --check plots/documents/page/report.js; else echo "node is not installed: scripts are not checked"; fi

lint: tidy cppcheck shellcheck scriptcheck format-check layers words comments ## what CI checks but for the tests; clang-tidy in full

.PHONY: man install uninstall deb wheel check-deb check-release reproducible reproducible-wheel check-offline tidy tidy-ci cppcheck format-check shellcheck scriptcheck lint
