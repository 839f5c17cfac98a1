// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The instructions that C has no words for. The agent's tests replace this file, and nothing else,
 * to run the same code as an ordinary program.
 */
#ifndef XF_AGENT_MACHINE_H
#define XF_AGENT_MACHINE_H

#include <stdint.h>

/* Xen lives in the upper half of the address space, wherever it is. */
#define XF_MACHINE_LOWEST 0xffff800000000000ull

/* Context: any. The stack pointer, good enough to tell which stack we are on. */
static inline uint64_t xf_machine_stack_pointer(void)
{
	uint64_t value;

	__asm__ volatile("mov %%rsp, %0" : "=r"(value));
	return value;
}

/* Context: any. What the stack pointer was when the function began that this is written in: it then
 * pointed to the return address. */
#define xf_machine_entry_stack_pointer() ((uint64_t)__builtin_frame_address(0) + 8)

/* Context: any. The time stamp counter. */
static inline uint64_t xf_machine_tsc(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

/* Context: ring 0. @number is an MSR that this processor has: others fault. */
static inline uint64_t xf_machine_msr(uint32_t number)
{
	uint32_t low, high;

	__asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(number));
	return (uint64_t)high << 32 | low;
}

/* Context: ring 0. The page table root in use. */
static inline uint64_t xf_machine_cr3(void)
{
	uint64_t value;

	__asm__ volatile("mov %%cr3, %0" : "=r"(value));
	return value;
}

#endif
