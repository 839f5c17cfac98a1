// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Made-up processes, for make_recording.c: all run one program, whose
 * functions have equal frames. What a process did is "PID:OUTERMOST>...>INNERMOST"; a '!' in front
 * takes the words away, so that the stack is incomplete. "0:" is a thread of the kernel's own, or,
 * with a stack, a process of another domain than the control domain.
 */
#ifndef XF_TEST_GOLDEN_USER_PROGRAM_H
#define XF_TEST_GOLDEN_USER_PROGRAM_H

#include "profile/recording.h"

/* A stack with room for its words. */
union user_stack {
	struct xf_guest_stack stack;
	uint64_t storage[XF_GUEST_HEAD_BYTES / 8 + 64];
};

/* Makes the functions of @run and its process known. */
void user_program_learn(const char *run);

/* Return: where the process was. */
uint64_t user_program_rip(const char *run);

/* Sets the registers and the words of @user to what @run's process was at. */
void user_program_fill(const char *run, union user_stack *user);

/* Writes the processes, what they have mapped and what is known of the code; TSC values from @start
 * on,
 * @hz a second. Return: as the writer. */
int user_program_write(struct xf_recording_writer *writer, uint64_t start, uint64_t hz);

/* Writes that process @pid of domain @domid had the same program mapped at @tsc, with page tables
 * at 0. Return: as the writer. */
int user_program_write_guest(struct xf_recording_writer *writer, uint16_t domid, uint32_t pid,
                             uint64_t tsc);

/* @tsc after the start @vcpu begins to run @run's process; NULL: nobody knows which. Return: as the
 * writer. */
int user_program_switch(struct xf_recording_writer *writer, uint16_t vcpu, uint64_t tsc,
                        uint64_t hz, const char *run);

#endif
