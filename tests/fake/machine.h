// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stands in for agent/machine/machine.h when the agent is compiled as an ordinary program: found
 * first by the order of include paths. The stack pointer, the time and CR3 are those of the
 * simulated pCPU that runs just now.
 *
 * The atomic operations get a point before and a point after them at which the fake may let the
 * pCPU be delayed: an NMI comes in, or other pCPUs run for a while. That is how one thread tries
 * what only several could do.
 */
#ifndef XF_FAKE_MACHINE_H
#define XF_FAKE_MACHINE_H

#include <stdint.h>

#define XF_MACHINE_LOWEST 4096u

uint64_t xf_machine_stack_pointer(void);
uint64_t xf_machine_entry_stack_pointer(void);
uint64_t xf_machine_tsc(void);
uint64_t xf_machine_cr3(void);
uint64_t xf_machine_msr(uint32_t number);

/* Return: @value. */
uint64_t fake_pause(uint64_t value);

#define __atomic_load_n(pointer, order)                                                            \
	((__typeof__(*(pointer)))(fake_pause(0), fake_pause(__atomic_load_n(pointer, order))))
#define __atomic_store_n(pointer, value, order)                                                    \
	(fake_pause(0), __atomic_store_n(pointer, value, order), (void)fake_pause(0))
#define __atomic_exchange_n(pointer, value, order)                                                 \
	((__typeof__(*(pointer)))(fake_pause(0),                                                   \
	                          fake_pause(__atomic_exchange_n(pointer, value, order))))
#define __atomic_sub_fetch(pointer, value, order)                                                  \
	((__typeof__(*(pointer)))(fake_pause(0),                                                   \
	                          fake_pause(__atomic_sub_fetch(pointer, value, order))))
#define __atomic_compare_exchange_n(pointer, from, to, weak, success, failure)                     \
	((_Bool)(fake_pause(0), fake_pause(__atomic_compare_exchange_n(pointer, from, to, weak,    \
	                                                               success, failure))))

#endif
