# SPDX-License-Identifier: GPL-2.0-or-later
#
# The agent as an ordinary program: its sources, unchanged, with tests/fake/machine.h in the place
# of agent/machine/machine.h, and a Xen that exists only in this program. For test_agent_*.

fake_objects := $(patsubst %.c,$(T)/%.o,$(wildcard tests/fake/*.c)) \
	$(patsubst %.c,$(T)/fake/%.o,$(wildcard agent/*.c))

$(T)/fake/agent/%.o: agent/%.c
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(TEST_CFLAGS) -Itests/fake -c -o $@ $<

$(T)/tests/fake/%.o: tests/fake/%.c
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(TEST_CFLAGS) -Itests/fake -c -o $@ $<

agent_tests := $(patsubst tests/unit/%.c,$(T)/%,$(wildcard tests/unit/test_agent_*.c))
$(agent_tests): $(T)/test_agent_%: tests/unit/test_agent_%.c $(fake_objects) $(test_objects)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(TEST_CFLAGS) -Itests/fake $(LDFLAGS) -o $@ $^ $(PURE_LIBS) -lelf -lcmocka

# One file of the agent alone, in a world of its own. Coroutines are left in the middle, which leaves
# marks behind that ASan would take for faults.
$(T)/test_nmi_interleavings: tests/unit/test_nmi_interleavings.c agent/kick.c
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(filter-out -fsanitize=%,$(TEST_CFLAGS)) -fsanitize=undefined \
		-fno-sanitize-recover=undefined -Itests/fake $(LDFLAGS) -o $@ $^ -lcmocka

# The payload is that of the agent as it is built for Xen.
$(T)/test_xen_payload: $(B)/agent.o
