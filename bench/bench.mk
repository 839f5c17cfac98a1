# SPDX-License-Identifier: GPL-2.0-or-later
#
# make bench: ratios to what others need for the same, one line each. Nothing fails when one is missed.

bench_common := $(patsubst %.c,$(B)/bench/%.o,bench.c image.c)
bench_programs := $(addprefix $(B)/bench/,bench_table bench_objtool bench_lines bench_walk bench_commands make_recording)
bench_unwind := $(filter $(B)/src/unwind/% $(B)/src/base/%,$(pure_objects))
# libunwind is a rival that may be missing.
LIBUNWIND = $(shell $(CC) -E -include libunwind.h -x c /dev/null >/dev/null 2>&1 && echo -lunwind)

.PHONY: bench bench-programs

# A fresh machine has no compiler yet: install first, then build in a make of its own. What was compiled
# before may not know of a rival that is there now.
bench:
	$(Q)lab/install build lab
	$(Q)lab/install bench || echo "make bench: goes on without them"
	$(Q)rm -f $(B)/bench/rival_*.o $(B)/bench/bench_walk
	$(Q)$(MAKE) --no-print-directory all bench-programs
	$(Q)bench/run

bench-programs: $(bench_programs)

$(B)/bench/bench_table $(B)/bench/bench_objtool: $(B)/bench/%: $(B)/bench/%.o $(bench_common) $(bench_unwind)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(PURE_LIBS)

$(B)/bench/bench_lines: $(B)/bench/bench_lines.o $(bench_common) $(bench_unwind) $(filter $(B)/src/symbol/%,$(pure_objects))
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(PURE_LIBS)

$(B)/bench/bench_walk: $(patsubst %.c,$(B)/bench/%.o,bench_walk.c samples.c rival_dwfl.c rival_libunwind.c) \
		$(bench_common) $(pure_objects)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(PURE_LIBS) $(LIBUNWIND)

$(B)/bench/bench_commands: $(B)/bench/bench_commands.o $(B)/bench/bench.o
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

$(B)/bench/make_recording: $(B)/bench/make_recording.o $(B)/bench/samples.o $(bench_common) $(pure_objects)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(PURE_LIBS)
