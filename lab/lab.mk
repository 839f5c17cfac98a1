# SPDX-License-Identifier: GPL-2.0-or-later

demo:
	$(Q)lab/demo

# A plugin for the lab's emulator (lab/oracle/oracle.c), for the tests that compare stacks with it.
$(B)/lab/liboracle.so: lab/oracle/oracle.c lab/oracle/log.h lab/oracle/qemu_plugin.h
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) -shared -fPIC -fvisibility=hidden $(LDFLAGS) -o $@ $<
