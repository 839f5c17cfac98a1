/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hypercall: xen_version, the cheapest hypercall there is, without end. */
#include "common.h"

#include <xen/version.h>
#include <xen/sys/privcmd.h>
#include <xen/xen.h>

int main(void)
{
	int fd = open_device("/dev/xen/privcmd");

	for (;;) {
		privcmd_hypercall_t call = {.op = __HYPERVISOR_xen_version,
		                            .arg = {XENVER_version}};

		must(ioctl(fd, IOCTL_PRIVCMD_HYPERCALL, &call), "xen_version");
	}
}
