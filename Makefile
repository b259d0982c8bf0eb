# SPDX-License-Identifier: MIT
# belljar: `make run` and `make test` are all a newcomer needs; `make help` lists the rest.

SAN      ?=
BUILD    ?= build$(if $(SAN),-san)
PREFIX   ?= /usr/local
DESTDIR  ?=
CC       ?= cc
CLANG    ?= clang
PKG      ?= pkg-config
INSTALL  ?= install
V        ?=
WERROR   ?=
CFLAGS   ?= -O2 -g

.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

Q := $(if $(V),,@)
say = @printf '  %-5s %s\n' $(1) $(2)
cc-option = $(shell echo 'int x;' | $(CC) $(1) -Werror -x c -c -o /dev/null - 2>/dev/null && echo $(1))

# The program that runs things links its libraries statically: eight shared ones cost 0.4 ms at each start. What only
# the screens need (ncursesw, libedit) lives in a program of its own that the guard starts.
CORE_LIBS   := libseccomp libcap jansson inih libmd
SCREEN_LIBS := ncursesw libedit
TEST_LIBS   := cmocka

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wundef -Wvla -Wpointer-arith \
            -Wwrite-strings $(if $(WERROR),-Werror)
FORTIFY  := $(if $(or $(SAN),$(filter -O0,$(CFLAGS))),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
HARDEN   := -fstack-protector-strong -fPIE $(FORTIFY) $(call cc-option,-fstack-clash-protection) \
            $(call cc-option,-fcf-protection) $(call cc-option,-ftrivial-auto-var-init=zero)
SANITIZE := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=undefined)

# The user's CFLAGS and LDFLAGS come last, so that they win, and are never overwritten.
LANGUAGE    := -std=gnu17 -D_GNU_SOURCE -I.
ALL_CFLAGS   = $(LANGUAGE) $(LIB_CFLAGS) $(WARNINGS) $(HARDEN) $(SANITIZE) $(CFLAGS)
ALL_LDFLAGS  = -pie -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed $(SANITIZE) $(LDFLAGS)

# libs-of: the linker's words for some packages; static-libs-of: each as its archive where there is one, so that a
# distribution without static libraries still builds. Both ask once, at the first use.
libs-of        = $(or $(shell $(PKG) --libs $(1)),$(error a library is missing: say `make deps`))
archive-of     = $(if $(findstring /,$(shell $(CC) -print-file-name=lib$(1).a)),-l:lib$(1).a,-l$(1))
static-libs-of = $(foreach w,$(call libs-of,$(1)),$(if $(filter -l%,$w),$(call archive-of,$(w:-l%=%)),$w))
once           = $(eval $(1) := $(2))$($(1))
LIB_CFLAGS     = $(call once,LIB_CFLAGS,$(shell $(PKG) --cflags-only-I $(CORE_LIBS) $(SCREEN_LIBS)))
CORE_LINK      = $(call once,CORE_LINK,$(call static-libs-of,$(CORE_LIBS)))
SCREEN_LINK    = $(call once,SCREEN_LINK,$(call libs-of,$(SCREEN_LIBS)))
TEST_LINK      = $(call once,TEST_LINK,$(call libs-of,$(TEST_LIBS)))

CORE_SRC   := $(filter-out core/agent/%,$(wildcard core/*/*.c))
TUI_SRC    := $(wildcard tui/*.c tui/command/*.c)
SCREEN_SRC := $(wildcard tui/screen/*.c)
CORE_OBJ   := $(CORE_SRC:%.c=$(BUILD)/%.o)
TUI_OBJ    := $(TUI_SRC:%.c=$(BUILD)/%.o)
SCREEN_OBJ := $(SCREEN_SRC:%.c=$(BUILD)/%.o)
UNIT       := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/test_*.c))
FUZZ       := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
REPLAY     := $(FUZZ:%=$(BUILD)/tests/fuzz/fuzz_%)
PROBE      := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/probes/*.c))
BENCH      := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bench/*.c))
AGENT_SRC  := $(wildcard core/agent/*.c)
STAGE_SRC  := $(wildcard core/agent/stage/*.c)

# What a microVM is made of. Nothing of it is needed to build the rest: where a part cannot be had, a line says so, and
# that level is not available. Every build folder takes the kernel out of the same packages; see .ci/guest-kernel.
GUEST  := $(BUILD)/guest
KERNEL := build/kernel

##@ For everyone
run: deps-build ## install what is missing, build, open the screens with an example (no terminal: print its timeline)
	$(Q)$(MAKE) --no-print-directory all
	$(Q)if [ -t 0 ] && [ -t 1 ]; then exec $(BUILD)/belljar examples/tour.py; \
	    else exec $(BUILD)/belljar run -v examples/tour.py; fi

test: deps-test ## install what is missing, build, run every test (as root: once more as an ordinary user)
	$(Q)$(MAKE) --no-print-directory all tests
	$(Q)BUILD='$(BUILD)' tests/run

##@ Building
all: $(BUILD)/belljar $(BUILD)/belljar-screens guest ## build the program

deps: deps-test ## install the packages that are missing for building and testing, fetch the guest's kernel
deps-build deps-test: deps-%:
	$(Q).ci/deps $*
	$(Q){ .ci/deps guest && .ci/guest-kernel fetch $(KERNEL); } || echo 'deps: so the level microvm is not available here'

tests: $(UNIT) $(REPLAY) $(PROBE) $(BENCH) ## build the tests

$(BUILD)/belljar: $(TUI_OBJ) $(BUILD)/libbelljar.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(CORE_LINK)

$(BUILD)/belljar-screens: $(SCREEN_OBJ) $(BUILD)/libbelljar.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(CORE_LINK) $(SCREEN_LINK)

# The agent brings its libraries with it, as a guest has none; a sanitizer cannot be brought.
GUEST_PARTS := $(addprefix $(GUEST)/,$(if $(AGENT_SRC),agent) stage stage.py release)
guest: $(if $(SAN),,$(GUEST_PARTS) $(GUEST)/sums) ## build what a microVM is made of

AGENT_LACKS = $(filter-out -l:%,$(filter -l%,$(CORE_LINK) $(call archive-of,c)))
$(GUEST)/agent: $(AGENT_SRC:%.c=$(BUILD)/%.o) $(BUILD)/libbelljar.a
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)if [ -n '$(AGENT_LACKS)' ]; then echo 'guest: no agent; these libraries are not there as archives: $(AGENT_LACKS)'; \
	    else $(CC) -static -s -Wl,-z,relro,-z,now,-z,noexecstack $(LDFLAGS) -o $@ $^ $(CORE_LINK); fi

$(GUEST)/stage: $(STAGE_SRC) Makefile
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)[ -n '$(AGENT_LACKS)' ] || $(CC) $(LANGUAGE) $(WARNINGS) -Os -static -s -o $@ $(STAGE_SRC)

$(GUEST)/stage.py: core/agent/stage/stage.py
	$(Q)$(INSTALL) -D -m 644 $< $@

$(GUEST)/release: .ci/guest-kernel $(wildcard $(KERNEL)/*.deb)
	$(call say,GUEST,$(GUEST)/vmlinux)
	$(Q).ci/guest-kernel make $(KERNEL) $(GUEST) || :

# By these the program knows the contents without reading them all.
$(GUEST)/sums: $(GUEST_PARTS)
	$(Q)cd $(GUEST) && find . -type f ! -name 'sums*' | LC_ALL=C sort | xargs sha256sum >sums.new && mv sums.new sums

$(BUILD)/libbelljar.a: $(CORE_OBJ)
# What a test may link of the face: everything but the two programs' main().
$(BUILD)/libtui.a: $(filter-out %/main.o,$(TUI_OBJ) $(SCREEN_OBJ))
$(BUILD)/libbelljar.a $(BUILD)/libtui.a:
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

UNIT_TUI := $(shell grep -l '"tui/' /dev/null $(wildcard tests/unit/test_*.c))
$(UNIT_TUI:%.c=$(BUILD)/%): $(BUILD)/libtui.a
$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(BUILD)/libbelljar.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $< $(filter %/libtui.a,$^) $(BUILD)/libbelljar.a \
	    $(CORE_LINK) $(SCREEN_LINK) $(TEST_LINK)

# Each corpus is replayed by a plain build in `make test`; `make fuzz` looks for new inputs.
$(BUILD)/tests/fuzz/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $(BUILD)/tests/fuzz/replay.o $(BUILD)/libbelljar.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(CORE_LINK)

# The probe runs inside whatever view a sandbox gives it, so it brings all that it needs.
$(BUILD)/tests/probes/%: tests/probes/%.c Makefile
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LANGUAGE) $(WARNINGS) -O1 -static -pthread -o $@ $<

$(BUILD)/tests/bench/%: $(BUILD)/tests/bench/%.o $(BUILD)/libbelljar.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(CORE_LINK)

##@ Parts of the tests
PARTS := unit integration screens fuzz layers
$(PARTS:%=test-%): test-%: all tests
	$(Q)BUILD='$(BUILD)' tests/run $*
test-unit: ## one core file each, as data
test-integration: ## the program itself, at each level
test-screens: ## the screens under tmux, compared with stored ones
test-fuzz: ## replay the corpus of every parser of foreign bytes
test-layers: ## the includes against the table of rooms

FUZZ_SECONDS ?= 20
FUZZ_CFLAGS  := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
fuzz: $(FUZZ:%=fuzz-%) ## let each fuzzer look for FUZZ_SECONDS (20)
$(FUZZ:%=fuzz-%): fuzz-%: $(BUILD)/fuzz/%
	@mkdir -p $(BUILD)/fuzz/found/$* tests/fuzz/corpus/$*
	$(Q)$< -max_total_time=$(FUZZ_SECONDS) -timeout=5 -rss_limit_mb=2048 -print_final_stats=1 \
	    -artifact_prefix=$(BUILD)/fuzz/crash-$*- $(patsubst %,-dict=%,$(wildcard tests/fuzz/fuzz_$*.dict)) \
	    $(BUILD)/fuzz/found/$* tests/fuzz/corpus/$* 2>&1 | tee $(BUILD)/fuzz/$*.log | tail -n 4; \
	    ! ls $(BUILD)/fuzz/crash-$*-* 2>/dev/null

$(BUILD)/fuzz/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CLANG,$<)
	$(Q)$(CLANG) $(LANGUAGE) $(LIB_CFLAGS) $(FUZZ_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/fuzz/%: $(BUILD)/fuzz/tests/fuzz/fuzz_%.o $(CORE_SRC:%.c=$(BUILD)/fuzz/%.o)
	$(call say,LINK,$@)
	$(Q)$(CLANG) -fsanitize=fuzzer,address,undefined -o $@ $^ $(CORE_LINK)

##@ The rest
bench: all tests ## what a start costs beside others, watching beside strace, a machine, the screens in floods, in tables
	$(Q)BUILD='$(BUILD)' tests/bench/bench.sh
	$(Q)tests/bench/machine.py $(BUILD)
	$(Q)tests/bench/screens.py $(BUILD)/belljar

screenshots: all ## draw the scenes of tests/tui/scenes into screenshots/, in each look
	$(Q).ci/deps pictures
	$(Q)/usr/bin/python3 tests/tui/screenshots.py $(BUILD)/belljar-screens screenshots

BIN    = $(DESTDIR)$(PREFIX)/bin
EXEC   = $(DESTDIR)$(PREFIX)/libexec/belljar
SHARE  = $(DESTDIR)$(PREFIX)/share/belljar
MAN    = $(DESTDIR)$(PREFIX)/share/man/man1
EXAMPLES = $(shell find examples -type f ! -name '*.pyc')
install: all ## install below PREFIX (/usr/local), staged below DESTDIR
	$(INSTALL) -D -m 755 $(BUILD)/belljar $(BIN)/belljar
	$(INSTALL) -D -m 755 $(BUILD)/belljar-screens $(EXEC)/belljar-screens
	rm -rf $(EXEC)/guest
	if [ -f $(GUEST)/sums ]; then cp -R $(GUEST) $(EXEC)/guest && chmod -R u=rwX,go=rX $(EXEC)/guest; fi
	$(INSTALL) -D -m 644 -t $(SHARE)/presets $(wildcard presets/*.ini)
	$(INSTALL) -D -m 644 -t $(SHARE)/presets/syscalls $(wildcard presets/syscalls/*)
	for f in $(EXAMPLES); do $(INSTALL) -D -m 644 $$f $(SHARE)/$$f || exit 1; done
	$(INSTALL) -D -m 644 tui/belljar.1 $(MAN)/belljar.1

uninstall: ## remove what install put there
	rm -f $(BIN)/belljar $(EXEC)/belljar-screens $(MAN)/belljar.1
	rm -rf $(SHARE) $(EXEC)/guest
	-rmdir $(EXEC) 2>/dev/null

# By clang's flags: clang-tidy and clangd refuse some of gcc's.
compile_commands.json: ## for clangd and clang-tidy
	$(Q)$(MAKE) --no-print-directory CC=$(CLANG) compile-commands > $@.new && mv $@.new $@
compile-commands:
	@printf '['; sep=; for f in $(CORE_SRC) $(AGENT_SRC) $(STAGE_SRC) $(TUI_SRC) $(SCREEN_SRC) $(wildcard tests/*/*.c); do \
	    printf '%s\n{"directory":"%s","file":"%s","command":"%s"}' "$$sep" '$(CURDIR)' "$$f" \
	        "$(CC) $(strip $(ALL_CFLAGS)) -c $$f"; sep=,; done; printf '\n]\n'

format: ## lay out the code by .clang-format
	$(Q)$(CLANG)-format -i $(filter-out tests/cases/%,$(wildcard core/*/*.[ch] core/*/*/*.[ch] tui/*.[ch] tui/*/*.[ch] tests/*/*.[ch]))

clean: ## remove what was built
	rm -rf build build-san compile_commands.json $(BUILD)

help: ## this list
	@awk 'BEGIN { FS = ":.*## " } /^##@/ { printf "\n%s\n", substr($$0, 5) } \
	     /^[a-z_.-]+:.*## / { printf "  %-22s %s\n", $$1, $$2 }' Makefile
	@printf '\nVariables: BUILD PREFIX DESTDIR CC CFLAGS LDFLAGS V=1 WERROR=1 SAN=address,undefined FUZZ_SECONDS\n'

.PHONY: run test all guest deps deps-build deps-test tests $(PARTS:%=test-%) fuzz $(FUZZ:%=fuzz-%) bench screenshots install uninstall \
        compile_commands.json compile-commands format clean help
.SECONDARY:

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
