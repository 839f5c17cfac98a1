// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A made-up guest kernel, for make_recording.c: functions of equal frames, by Linux's own kind of
 * table. A stack is "u:ENTRY>...>INNERMOST" where a process called or was interrupted, "u:" alone
 * where it was running, and "k:ENTRY>..." of a thread of the kernel's own. A '|' in place of a '>'
 * stands where the kernel was interrupted: the next function saves the registers, the one after it
 * switches to the stack for interrupts, on which the others are. A '!' in front takes the words
 * away, so that the stack is incomplete.
 */
#ifndef XF_TEST_GOLDEN_GUEST_KERNEL_H
#define XF_TEST_GOLDEN_GUEST_KERNEL_H

#include "profile/recording.h"

/* Makes the functions of @stack known. */
void guest_kernel_learn(const char *stack);

/* Writes the kernel, as number 1. Return: as the writer. */
int guest_kernel_write(struct xf_recording_writer *writer);

/* Return: where the guest was, in its kernel or in user code. */
uint64_t guest_kernel_rip(const char *stack);

/* Writes the stacks of a sample with @sequence on @pcpu; @user is what the process did, as
 * user_program.h has it, or NULL. Return: as the writer. */
int guest_kernel_write_stacks(struct xf_recording_writer *writer, const char *stack,
                              const char *user, uint32_t sequence, uint16_t pcpu);

/* Writes what the kernel says of the task that it runs, "PID:NAME", on that sample's stack. Return:
 * as the writer. */
int guest_kernel_write_task(struct xf_recording_writer *writer, const char *task, uint32_t sequence,
                            uint16_t pcpu);

#endif
