/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * evtchn: two event channel ports of this domain bound to each other; send, take, unmask,
 * without end, and now and then close and bind anew.
 */
#include "common.h"

#include <xen/xen.h>
#include <xen/sys/evtchn.h>

int main(void)
{
	int fd = open_device("/dev/xen/evtchn");
	const unsigned int own = DOMID_SELF;

	for (;;) {
		struct ioctl_evtchn_bind_unbound_port unbound = {.remote_domain = own};
		unsigned int first = (unsigned int)must(
		        ioctl(fd, IOCTL_EVTCHN_BIND_UNBOUND_PORT, &unbound), "unbound");
		struct ioctl_evtchn_bind_interdomain bind = {.remote_domain = own,
		                                             .remote_port = first};
		unsigned int second = (unsigned int)must(
		        ioctl(fd, IOCTL_EVTCHN_BIND_INTERDOMAIN, &bind), "interdomain");

		for (int i = 0; i < 2000; i++) {
			struct ioctl_evtchn_notify notify = {.port = second};
			uint32_t port;

			must(ioctl(fd, IOCTL_EVTCHN_NOTIFY, &notify), "notify");
			must(read(fd, &port, sizeof(port)), "read");
			must(write(fd, &port, sizeof(port)), "unmask");
		}

		struct ioctl_evtchn_unbind close_first = {.port = first};
		struct ioctl_evtchn_unbind close_second = {.port = second};

		must(ioctl(fd, IOCTL_EVTCHN_UNBIND, &close_second), "unbind");
		must(ioctl(fd, IOCTL_EVTCHN_UNBIND, &close_first), "unbind");
	}
}
