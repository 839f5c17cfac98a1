# SPDX-License-Identifier: GPL-2.0-or-later
#
# Unit tests: one program per tests/unit/test_*.c, linked with the pure rooms and those parts of
# src/xen and src/cmd that need no Xen, always under ASan and UBSan. tests/run runs everything and
# prints the closing line.

T := build/test
TEST_CFLAGS := $(CFLAGS) -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -Itests -I.
unit_sources := $(wildcard tests/unit/test_*.c)
unit_programs := $(unit_sources:tests/unit/%.c=$(T)/%)
testable_host_sources := $(wildcard $(addprefix src/xen/,build_id.c discover.c gathered.c guest_image.c guest_memory.c guest_modules.c guest_process.c \
	guests.c image.c \
	kcore.c kernel.c kernel_survey.c libxl_config.c payload.c \
	perf_map.c perf_records.c procfs.c runstates.c sideband.c stream.c syms.c user_file.c vmlinuz.c) \
	src/cmd/helper_output.c src/cmd/program.c src/cmd/record_guest_kernels.c src/cmd/record_guest_processes.c \
	src/cmd/record_guest_roots.c src/cmd/record_kernel.c src/cmd/record_target.c)
test_objects := $(pure_sources:%.c=$(T)/%.o) $(testable_host_sources:%.c=$(T)/%.o) \
	$(T)/tests/read_file.o

$(T)/%.o: %.c
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(TEST_CFLAGS) -c -o $@ $<

$(T)/test_%: tests/unit/test_%.c $(test_objects)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(TEST_CFLAGS) $(LDFLAGS) -o $@ $< $(test_objects) $(PURE_LIBS) -lelf -lcmocka

# What compares with libbpf, where that is there.
$(T)/test_symbol_btf_libbpf: tests/unit/test_symbol_btf_libbpf.c $(test_objects)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(TEST_CFLAGS) $(LDFLAGS) -o $@ $< $(test_objects) $(PURE_LIBS) -lcmocka \
		$(shell $(PKG_CONFIG) --libs libbpf 2>/dev/null)

# What compares what is inferred with a table that an image brings.
agree_objects := $(T)/tests/elf/agree.o $(T)/tests/elf/kallsyms.o
$(T)/test_unwind_orc $(T)/test_unwind_debug_frame: $(T)/test_%: tests/unit/test_%.c $(agree_objects) $(test_objects)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(TEST_CFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(PURE_LIBS) -lcmocka

# The same for one ELF file and its call frame information, for tests/elf/sweep.
$(T)/compare_with_cfi: tests/elf/compare.c tests/elf/agree.c tests/read_file.c $(pure_sources:%.c=$(B)/%.o)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) -Itests $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(PURE_LIBS)

sweep: $(T)/compare_with_cfi
	$(Q)tests/elf/sweep

# On a Xen that exists only in this test: the rest of src/xen is not linked.
session_objects := $(T)/src/xen/session.o $(T)/src/xen/runstates.o $(pure_sources:%.c=$(T)/%.o)
$(T)/test_xen_session: tests/unit/test_xen_session.c $(session_objects)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(TEST_CFLAGS) $(LDFLAGS) -o $@ $< $(session_objects) $(PURE_LIBS) -lcmocka

# Without the recorder that it is a part of.
user_code_objects := $(T)/src/cmd/record_user_code.o $(test_objects)
$(T)/test_cmd_record_user_code: tests/unit/test_cmd_record_user_code.c $(user_code_objects)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(TEST_CFLAGS) $(LDFLAGS) -o $@ $< $(user_code_objects) $(PURE_LIBS) -lelf -lcmocka

# The same for what is recognised of the machine.
hardware_objects := $(T)/src/xen/hardware.o $(T)/src/base/error.o
$(T)/test_xen_hardware: tests/unit/test_xen_hardware.c $(hardware_objects)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(TEST_CFLAGS) $(LDFLAGS) -o $@ $< $(hardware_objects) -lcmocka

# What compares recordings with the lab's oracle, for tests/lab/test_lab_oracle.sh.
$(T)/compare_with_oracle: tests/oracle/compare.c tests/read_file.c lab/oracle/log.h $(pure_sources:%.c=$(B)/%.o)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) -Itests -I. $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(PURE_LIBS)

# What joins recordings with what the lab's emulator counted, for tests/lab/test_lab_cost.sh.
$(T)/cost_of_samples: tests/oracle/cost.c tests/read_file.c $(pure_sources:%.c=$(B)/%.o)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) -Itests $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(PURE_LIBS)

# What looks for stacks that a guest made up, for tests/lab/test_lab_hostile.sh.
$(T)/examine_hostile: tests/hostile/examine.c tests/read_file.c $(pure_sources:%.c=$(B)/%.o)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) -Itests -I. $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(PURE_LIBS)

# What compares an image's symbols with the running kernel's, for tests/lab/test_lab_guest_kernels.sh.
$(T)/compare_kernels: tests/kernels/compare.c tests/read_file.c $(pure_sources:%.c=$(B)/%.o)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) -Itests $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(PURE_LIBS)

# Made-up recordings, for tests/golden/run, tests/exports/run and tests/browser/run.
$(T)/make_recording: tests/golden/make_recording.c tests/golden/guest_kernel.c tests/golden/user_program.c $(pure_sources:%.c=$(B)/%.o)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(PURE_LIBS)

include tests/fake/fake.mk

.PHONY: sweep
unit: $(unit_programs) $(addprefix $(T)/,make_recording compare_with_oracle cost_of_samples examine_hostile \
	compare_kernels compare_with_cfi) $(B)/lab/liboracle.so $(B)/lab/libcost.so bench-programs

-include $(shell find build/test -name '*.d' 2>/dev/null)

# A fresh machine has no compiler yet: install first, then build in a make of its own.
check:
	$(Q)lab/install
	$(Q)$(MAKE) --no-print-directory all unit
	$(Q)tests/run unit golden exports terminal browser fuzz lint agent package smoke

check-lab:
	$(Q)lab/install
	$(Q)$(MAKE) --no-print-directory all unit
	$(Q)tests/run unit golden exports terminal browser fuzz lint agent package smoke lab
