/* SPDX-License-Identifier: GPL-2.0-or-later */
/* burn: user mode only. Known answer: its domain uses the whole of one vCPU, outside Xen. */

int main(void)
{
	volatile unsigned long sum = 0;

	for (;;)
		sum++;
}
