// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/host_exit.h"

#include <errno.h>

enum xf_exit xf_host_exit(const struct xf_error *error)
{
	switch (error->code) {
	case -EPERM:
		return XF_EXIT_NOT_ROOT;
	case -ENODEV:
		return XF_EXIT_NOT_XEN;
	case -EOPNOTSUPP:
	case -ENOBUFS: /* Xen has no memory; -ENOMEM is ours */
		return XF_EXIT_UNSUPPORTED;
	case -EBUSY:
		return XF_EXIT_BUSY;
	default:
		return XF_EXIT_FAILURE;
	}
}
