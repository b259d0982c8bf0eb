# SPDX-License-Identifier: MIT
# belljar: `make run` and `make test` are all a newcomer needs; `make help` lists the rest.

BUILD    ?= build
PREFIX   ?= /usr/local
DESTDIR  ?=
CC       ?= cc
PKG      ?= pkg-config
V        ?=
WERROR   ?=
SAN      ?=

.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

Q := $(if $(V),,@)
cc-option = $(shell echo 'int x;' | $(CC) $(1) -Werror -x c -c -o /dev/null - 2>/dev/null && echo $(1))

# The program that runs things links its libraries statically: eight shared ones cost 0.4 ms at each start. What only
# the screens need (ncursesw) lives in a program of its own that the guard starts.
CORE_LIBS   := libseccomp libcap jansson inih libmd
SCREEN_LIBS := ncursesw
TEST_LIBS   := cmocka

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wundef -Wvla -Wpointer-arith \
            -Wwrite-strings $(if $(WERROR),-Werror)
HARDEN   := -fstack-protector-strong -fPIE -fstack-clash-protection -fcf-protection \
            $(if $(SAN),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2) $(call cc-option,-ftrivial-auto-var-init=zero)
SANITIZE := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
CFLAGS   ?= -O2 -g
ALL_CFLAGS  = -std=gnu17 -D_GNU_SOURCE -I. $(WARNINGS) $(HARDEN) $(SANITIZE) $(CFLAGS)
ALL_LDFLAGS = -pie -Wl,-z,relro,-z,now,-z,noexecstack $(SANITIZE) $(LDFLAGS)

CORE_SRC    := $(filter-out core/agent/%,$(wildcard core/*/*.c))
TUI_SRC     := $(wildcard tui/*.c tui/command/*.c)
SCREEN_SRC  := $(wildcard tui/screen/*.c)
CORE_OBJ    := $(CORE_SRC:%.c=$(BUILD)/%.o)
TUI_OBJ     := $(TUI_SRC:%.c=$(BUILD)/%.o)
SCREEN_OBJ  := $(SCREEN_SRC:%.c=$(BUILD)/%.o)
UNIT        := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/test_*.c))

static-libs = -Wl,-Bstatic $(shell $(PKG) --libs $(1)) -Wl,-Bdynamic

all: $(BUILD)/belljar $(BUILD)/belljar-screens ## build the program

$(BUILD)/belljar: $(TUI_OBJ) $(BUILD)/libbelljar.a
	@echo "  LINK  $@"
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call static-libs,$(CORE_LIBS))

$(BUILD)/belljar-screens: $(SCREEN_OBJ) $(BUILD)/libbelljar.a
	@echo "  LINK  $@"
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call static-libs,$(CORE_LIBS)) $$($(PKG) --libs $(SCREEN_LIBS))

$(BUILD)/libbelljar.a: $(CORE_OBJ)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(BUILD)/libbelljar.a
	@echo "  LINK  $@"
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call static-libs,$(CORE_LIBS)) $$($(PKG) --libs $(TEST_LIBS))

test-unit: $(UNIT) ## the unit tests alone
	$(Q)set -e; for t in $(UNIT); do $$t; done

clean: ## remove the build folder
	rm -rf $(BUILD)

.PHONY: all test-unit clean
.SECONDARY:

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
