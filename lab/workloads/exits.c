/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exits: CPUID and port input from user mode. In a hardware-virtualized guest each is an exit to
 * Xen; in a PV guest CPUID runs natively or faults, and port input faults.
 */
#include "common.h"

#include <cpuid.h>
#include <sys/io.h>

enum {
	PORT = 0x3e8
}; /* a serial port that no lab guest has */

int main(void)
{
	int ports = ioperm(PORT, 8, 1) == 0;

	for (;;) {
		unsigned int a, b, c, d;

		for (int i = 0; i < 100; i++) {
			__cpuid(0, a, b, c, d);
			__cpuid_count(7, 0, a, b, c, d);
		}
		for (int i = 0; ports && i < 100; i++)
			(void)inb(PORT + 5);
	}
}
