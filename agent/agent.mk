# SPDX-License-Identifier: GPL-2.0-or-later
#
# The agent: one relocatable object for every Xen, embedded in the tool as bytes.

AGENT_CFLAGS := -std=gnu17 -O2 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	$(WERROR) -Wframe-larger-than=512 -Iinclude -Iagent/machine -MMD -MP \
	-ffreestanding -fPIC -fvisibility=hidden -mgeneral-regs-only -mno-red-zone -mcmodel=small \
	-fno-jump-tables -fno-stack-protector -fno-asynchronous-unwind-tables -fno-common \
	-fno-tree-loop-distribute-patterns -fomit-frame-pointer -fcf-protection=branch \
	-ffunction-sections -fno-ident
agent_objects := $(patsubst %.c,$(B)/%.agent.o,$(wildcard agent/*.c))

$(B)/agent/%.agent.o: agent/%.c
	@mkdir -p $(@D)
	$(say) AGENT $<
	$(Q)$(CC) $(AGENT_CFLAGS) -c -o $@ $<

# One .text, between two marks that tell the tool where the agent's code lies once it is loaded.
$(B)/agent.o: $(agent_objects) agent/agent.lds
	$(say) AGENT $@
	$(Q)ld -r -T agent/agent.lds -o $@ $(agent_objects)

$(B)/agent/embed.o: agent/embed.S $(B)/agent.o
	@mkdir -p $(@D)
	$(say) AS $<
	$(Q)$(CC) -c -DXF_AGENT_OBJECT='"$(B)/agent.o"' -o $@ $<
