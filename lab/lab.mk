# SPDX-License-Identifier: GPL-2.0-or-later

demo:
	$(Q)lab/demo

# A plugin for the lab's emulator (lab/oracle/oracle.c), for the tests that compare stacks with it.
$(B)/lab/liboracle.so: lab/oracle/oracle.c lab/oracle/log.h lab/oracle/qemu_plugin.h
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) -shared -fPIC -fvisibility=hidden $(LDFLAGS) -o $@ $<

# Another, that counts what the agent executes (lab/oracle/cost.c), for the test of what a sample costs.
$(B)/lab/libcost.so: lab/oracle/cost.c lab/oracle/agent_code.c lab/oracle/agent_code.h lab/oracle/qemu_plugin.h
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) -shared -fPIC -fvisibility=hidden $(LDFLAGS) -o $@ $(filter %.c,$^)
