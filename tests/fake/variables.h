// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Xen's variables that the agent declares constant, as it may not write them. Here they are written
 * to, so they are defined where the agent's declarations are not seen.
 */
#ifndef XF_FAKE_VARIABLES_H
#define XF_FAKE_VARIABLES_H

#include <stdint.h>

void fake_variables_clear(void);
void fake_variables_set_stack(unsigned int cpu, void *stack);
void fake_variables_set_idle_vcpu(unsigned int cpu, const void *vcpu);
void fake_variables_set_online(unsigned int cpu, int online);
void fake_variables_set_event_mask(uint32_t mask);
void fake_variables_set_watchdog(uint32_t msr);

#endif
