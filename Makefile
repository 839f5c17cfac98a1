# SPDX-License-Identifier: GPL-2.0-or-later
#
#   make            builds build/xenflame
#   make check      unit, golden and lab smoke tests, lints; ends with one line of counts
#   make check-lab  everything that boots
#   make bench      ratios of speed and size to what others need for the same
#   make demo       from nothing to out/host.svg on an emulated host
#   make install    PREFIX=/usr/local, DESTDIR=
#   make deb        build/deb/xenflame_VERSION_amd64.deb
#   make static     build/static/xenflame, which needs no library of the host's
#   make lint       layout of the sources, the rooms' arrows, man pages and docs
#   make format     clang-format over all sources
#   make V=1 ...    with the commands in full
#
# WERROR= builds with other compilers than CI's; SANITIZE=1 builds the tool under ASan and UBSan.

VERSION := 0.1.0
PREFIX ?= /usr/local
CC ?= gcc
WERROR ?= -Werror
B := build

ifeq ($(V),1)
say = @:
else
say = @printf '  %-5s %s\n'
Q := @
endif

ifeq ($(SANITIZE),1)
B := build/sanitize
SANITIZERS := -fsanitize=address,undefined -fno-sanitize-recover=undefined
endif

CFLAGS ?= -O2 -g
override CFLAGS += -std=gnu17 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wno-missing-field-initializers $(WERROR) -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 \
	-DXF_VERSION='"$(VERSION)"' -Iinclude -Isrc -MMD -MP $(SANITIZERS)

# Rooms that touch nothing but memory, and those that need Xen's or the system's libraries.
PURE_ROOMS := base unwind symbol profile output terminal
HOST_ROOMS := xen cmd
PKG_CONFIG ?= pkg-config
PURE_LIBS := -lZydis -lzstd -lz -ldw -lelf -lm
HOST_LIBS := -lxencall -lxenforeignmemory -lxenevtchn -lxenstore -lelf -lz \
	$(shell $(PKG_CONFIG) --libs ncursesw 2>/dev/null || echo -lncursesw -ltinfo)

# What draws on the terminal.
drawing_sources := $(addprefix src/terminal/,ability.c canvas.c screen.c top_screen.c)
pure_sources := $(filter-out $(drawing_sources),$(foreach room,$(PURE_ROOMS),$(wildcard src/$(room)/*.c)))
host_sources := $(foreach room,$(HOST_ROOMS),$(wildcard src/$(room)/*.c)) $(drawing_sources)
pure_objects := $(pure_sources:%.c=$(B)/%.o)
host_objects := $(host_sources:%.c=$(B)/%.o) $(B)/agent/embed.o

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all check check-lab demo install format lint clean unit

all: $(B)/xenflame

$(B)/xenflame: $(host_objects) $(pure_objects)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(HOST_LIBS) $(PURE_LIBS)

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

include agent/agent.mk
include src/output/output.mk
include tests/tests.mk
-include lab/lab.mk
-include bench/bench.mk

install: $(B)/xenflame
	install -D -m 755 $(B)/xenflame $(DESTDIR)$(PREFIX)/bin/xenflame
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -D -m 644 completion/xenflame $(DESTDIR)$(PREFIX)/share/bash-completion/completions/xenflame

include packaging/packaging.mk

lint:
	$(Q)tests/run lint

clean:
	rm -rf build

format:
	clang-format -i $(shell git ls-files '*.c' '*.h')

-include $(shell find $(B) -name '*.d' 2>/dev/null)
