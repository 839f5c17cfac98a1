// SPDX-License-Identifier: GPL-2.0-or-later
/* What Xen says of single vCPUs. */
#ifndef XF_XEN_VCPUS_H
#define XF_XEN_VCPUS_H

#include <stdint.h>

#include "profile/format.h"
#include "xen/hypercall.h"

/* Starts with @xen alone. */
struct xf_vcpus {
	struct xf_xen *xen;
	uint32_t version; /* of the interface; 0 until it is known */
};

/*
 * The state of a vCPU now. Return: 0; -EAGAIN where Xen does not tell whether it waits or is
 * paused; -EINVAL beyond the domain's last vCPU, -ESRCH where there is no such domain or vCPU;
 * another negative errno value where Xen can't be asked.
 */
int xf_vcpus_state(struct xf_vcpus *vcpus, uint16_t domid, uint16_t vcpu, enum xf_runstate *state);

#endif
