# Manual pages, installation, the Debian package, lints.
PREFIX  ?= /usr/local
BINDIR  ?= $(PREFIX)/bin
LIBDIR  ?= $(PREFIX)/lib
DATADIR ?= $(PREFIX)/share
ZSHDIR  ?= $(DATADIR)/zsh/site-functions
VERSION := $(shell sed -n 's/.*NVT_VERSION "\(.*\)"/\1/p' lib/version.h)
SCDOC   ?= $(shell command -v scdoc 2>/dev/null)

MAN_PAGES := $(patsubst docs/man/%.scd,$(BUILD)/man/%,$(sort $(wildcard docs/man/*.scd)))

$(BUILD)/man/%: docs/man/%.scd
	@mkdir -p $(@D)
	$(Q)scdoc <$< >$@.part && mv $@.part $@

# The published documents are built into the program.
$(BUILD)/obj/analyze/published_data.o: $(wildcard data/published/*)

man: $(MAN_PAGES) ## the manual pages

# The program finds its libraries in ../lib/nvtally from where it lies.
install: all $(if $(SCDOC),man) ## install into DESTDIR and PREFIX (/usr/local)
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/nvtally $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 755 $(BUILD)/nvtally $(DESTDIR)$(BINDIR)
	install -m 644 $(wildcard $(BUILD)/libnvtally-*.so) $(DESTDIR)$(LIBDIR)/nvtally
	install -m 644 $(BUILD)/libnvtally.so.$(LIBRARY_ABI) $(DESTDIR)$(LIBDIR)
	ln -sf libnvtally.so.$(LIBRARY_ABI) $(DESTDIR)$(LIBDIR)/libnvtally.so
	install -D -m 644 include/nvtally.h $(DESTDIR)$(PREFIX)/include/nvtally.h
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' \
	  packaging/nvtally.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/nvtally.pc
	install -D -m 644 completion/nvtally.bash $(DESTDIR)$(DATADIR)/bash-completion/completions/nvtally
	install -D -m 644 completion/_nvtally $(DESTDIR)$(ZSHDIR)/_nvtally
	install -D -m 644 completion/nvtally.fish $(DESTDIR)$(DATADIR)/fish/vendor_completions.d/nvtally.fish
	install -d $(DESTDIR)$(DATADIR)/doc/nvtally
	install -m 644 README.md CHANGELOG.md $(DESTDIR)$(DATADIR)/doc/nvtally
	install -m 644 LICENSE $(DESTDIR)$(DATADIR)/doc/nvtally/copyright
	$(if $(SCDOC),install -d $(DESTDIR)$(DATADIR)/man/man1 && \
	  install -m 644 $(MAN_PAGES) $(DESTDIR)$(DATADIR)/man/man1)

uninstall: ## remove what install put there
	rm -f $(DESTDIR)$(BINDIR)/nvtally $(DESTDIR)$(LIBDIR)/pkgconfig/nvtally.pc
	rm -f $(DESTDIR)$(DATADIR)/bash-completion/completions/nvtally
	rm -f $(DESTDIR)$(ZSHDIR)/_nvtally
	rm -f $(DESTDIR)$(DATADIR)/fish/vendor_completions.d/nvtally.fish
	rm -f $(addprefix $(DESTDIR)$(DATADIR)/man/man1/,$(notdir $(MAN_PAGES)))
	rm -f $(DESTDIR)$(PREFIX)/include/nvtally.h $(DESTDIR)$(LIBDIR)/libnvtally.so*
	rm -rf $(DESTDIR)$(LIBDIR)/nvtally $(DESTDIR)$(DATADIR)/doc/nvtally

# Built apart, for the plainest processor of the architecture, optimised and without debug symbols.
deb: ## a Debian package, in build/
	$(Q)packaging/deb $(VERSION) $(BUILD)

LINT_SRC := $(wildcard nvtally.c lib/*.c analyze/*.c plots/*.c collectors/*.c collectors/inject/*.c library/*.c kernels/*.c kernels/*/*.c tests/*.c)
lint: ## clang-tidy, cppcheck, shellcheck and the format, where they are installed
	$(Q)packaging/lint "$(STD) $(CPPFLAGS) $(CUPTI_FLAGS)" $(LINT_SRC)

.PHONY: man install uninstall deb lint
