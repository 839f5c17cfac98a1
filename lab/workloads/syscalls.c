/* SPDX-License-Identifier: GPL-2.0-or-later */
/* syscalls: a round of system calls and of computing, each from a function of its own. What it does
 * in the kernel it does with interrupts on, so that a sampler that they drive sees it too. */
#include "common.h"

#include <sys/stat.h>

#define BLOCK (256u << 10)

static char block[BLOCK];

static __attribute__((noinline)) void read_zeros(int zero)
{
	for (int i = 0; i < 16; i++)
		must(read(zero, block, sizeof(block)), "read");
}

static __attribute__((noinline)) void write_to_null(int null)
{
	for (int i = 0; i < 400; i++)
		must(write(null, block, 64), "write");
}

static __attribute__((noinline)) void look_at_files(void)
{
	struct stat found;

	for (int i = 0; i < 200; i++)
		must(stat("/lab/workloads/syscalls", &found), "stat");
}

static __attribute__((noinline)) unsigned int compute_little(unsigned int value)
{
	for (int i = 0; i < 600000; i++)
		value = value * 1103515245 + 12345;
	return value;
}

static __attribute__((noinline)) unsigned int compute_much(unsigned int value)
{
	for (int i = 0; i < 1800000; i++)
		value = value * 1664525 + 1013904223;
	return value;
}

int main(void)
{
	int zero = open_device("/dev/zero");
	int null = open_device("/dev/null");
	volatile unsigned int sum = 0;

	for (;;) {
		read_zeros(zero);
		write_to_null(null);
		look_at_files();
		sum = compute_little(sum);
		sum = compute_much(sum);
	}
}
