/* SPDX-License-Identifier: GPL-2.0-or-later */
/* idle: nothing. Known answer: the host's CPUs are idle. */
#include "common.h"

int main(void)
{
	for (;;)
		pause();
}
