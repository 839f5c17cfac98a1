// SPDX-License-Identifier: GPL-2.0-or-later
/* Layout: xen/include/public/domctl.h of 4.17 to 4.22, in which getvcpuinfo has not changed. */
#include "xen/vcpus.h"

#include <errno.h>

#define HYPERCALL_DOMCTL     36
/* 0x15 in 4.17, 0x16 in 4.18, 0x17 in 4.19 to 4.21, 0x18 in 4.22. */
#define DOMCTL_VERSION_FIRST 0x15u
#define DOMCTL_VERSION_LAST  0x1fu
#define DOMCTL_GET_VCPU_INFO 14

struct domctl {
	uint32_t command;
	uint32_t interface_version;
	uint16_t domid;
	uint16_t pad[3];
	union {
		struct {
			uint32_t vcpu;
			uint8_t online;
			uint8_t blocked;
			uint8_t running;
			uint64_t cpu_time;
			uint32_t cpu;
		} vcpu_info;
		uint8_t space[128];
	};
};

int xf_vcpus_state(struct xf_vcpus *vcpus, uint16_t domid, uint16_t vcpu, enum xf_runstate *state)
{
	struct domctl *domctl = xf_xen_buffer(vcpus->xen, sizeof(*domctl));
	int result;

	if (!domctl)
		return -ENOMEM;
	*domctl = (struct domctl){
	        .command = DOMCTL_GET_VCPU_INFO, .domid = domid, .vcpu_info.vcpu = vcpu};
	result = xf_xen_call_in_version(vcpus->xen, HYPERCALL_DOMCTL, domctl, &vcpus->version,
	                                DOMCTL_VERSION_FIRST, DOMCTL_VERSION_LAST);
	if (!result && domctl->vcpu_info.running)
		*state = XF_RUNSTATE_RUNNING;
	else if (!result && !domctl->vcpu_info.online)
		*state = XF_RUNSTATE_OFFLINE;
	else if (!result && domctl->vcpu_info.blocked)
		*state = XF_RUNSTATE_BLOCKED;
	else if (!result)
		result = -EAGAIN;
	xf_xen_buffer_free(vcpus->xen, domctl);
	return result;
}
