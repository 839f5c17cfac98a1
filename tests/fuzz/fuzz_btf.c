// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The types of a kernel, and the first byte says which symbols are with them. What is found must be
 * the kernel's that these symbols are of, and lie within a task; what is not must be untouched.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/btf.h"

#define CURRENT 0x1fb80ull
#define HOT     0x351c0ull
#define MOVED   0xffffffff834f5018ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_found(const struct xf_task_layout *layout, unsigned int which)
{
	static const uint64_t from[] = {CURRENT, HOT, MOVED};
	uint64_t most = which == 1 ? UINT16_MAX : 0;

	if (layout->current - from[which] > most || layout->slides != (which == 2))
		abort();
	if (layout->stack > UINT16_MAX - 8 || layout->pid > UINT16_MAX - 8 ||
	    layout->comm > UINT16_MAX - XF_TASK_NAME_BYTES)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const symbols[] = {
	        "000000000001fb80 A current_task\nffffffff8241cb60 D __per_cpu_offset\n",
	        "00000000000351c0 A pcpu_hot\nffffffff8241cb60 D __per_cpu_offset\n",
	        "ffffffff8241cb60 D __per_cpu_offset\nffffffff834f5018 D current_task\n"};
	struct xf_task_layout layout, before;
	struct xf_error error = {0};
	unsigned int which;

	if (!size)
		return 0;
	which = data[0] % 3;
	memset(&before, 0xa5, sizeof(before));
	memcpy(&layout, &before, sizeof(before));
	if (!xf_btf_task_layout(data + 1, size - 1, symbols[which], strlen(symbols[which]), &layout,
	                        &error))
		check_found(&layout, which);
	else if (!error.text[0] || memcmp(&layout, &before, sizeof(before)) != 0)
		abort();
	return 0;
}
