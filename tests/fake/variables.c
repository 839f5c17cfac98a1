// SPDX-License-Identifier: GPL-2.0-or-later
#include "variables.h"

#include <string.h>

#define MAX_PCPUS 4096

/* As in Xen, by the names that the agent knows them by. */
void *stack_base[MAX_PCPUS];
const void *idle_vcpu[MAX_PCPUS];
unsigned long cpu_online_map[MAX_PCPUS / 64];
uint32_t xen_tb_event_mask;
uint32_t nmi_watchdog;
uint32_t xen_nmi_perfctr_msr;

void fake_variables_clear(void)
{
	memset(stack_base, 0, sizeof(stack_base));
	memset(idle_vcpu, 0, sizeof(idle_vcpu));
	memset(cpu_online_map, 0, sizeof(cpu_online_map));
	xen_tb_event_mask = 0;
	nmi_watchdog = xen_nmi_perfctr_msr = 0;
}

void fake_variables_set_stack(unsigned int cpu, void *stack)
{
	stack_base[cpu] = stack;
}

void fake_variables_set_idle_vcpu(unsigned int cpu, const void *vcpu)
{
	idle_vcpu[cpu] = vcpu;
}

void fake_variables_set_online(unsigned int cpu, int online)
{
	unsigned long bit = 1ul << (cpu % 64);

	if (online)
		cpu_online_map[cpu / 64] |= bit;
	else
		cpu_online_map[cpu / 64] &= ~bit;
}

void fake_variables_set_event_mask(uint32_t mask)
{
	xen_tb_event_mask = mask;
}

void fake_variables_set_watchdog(uint32_t msr)
{
	nmi_watchdog = msr ? 2 : 0;
	xen_nmi_perfctr_msr = msr;
}
