// SPDX-License-Identifier: GPL-2.0-or-later
/* `record --self-test`: a recording whose promises are looked at, and a report about it. */
#ifndef XF_CMD_SELF_TEST_H
#define XF_CMD_SELF_TEST_H

#include <stdbool.h>

struct xf_self_test_request {
	unsigned int frequency;
	double seconds;     /* 0: a few */
	const char *output; /* NULL: the recording is not kept */
	bool verbose;
};

/* Return: enum xf_exit; the report is on standard output. */
int xf_self_test_run(const struct xf_self_test_request *request);

#endif
