// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What can be recognised of the machine from dom0: the processor as Linux tells it, features as Xen
 * tells them, and what Xen's log says of the boot. Whatever cannot be told is "not known"; nothing
 * is concluded from a processor's name. docs/hardware.md says what each line means for the agent.
 */
#ifndef XF_XEN_HARDWARE_H
#define XF_XEN_HARDWARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xen/hypercall.h"

enum xf_answer {
	XF_UNKNOWN,
	XF_NO,
	XF_YES,
};

struct xf_hardware {
	/* Of the first processor in /proc/cpuinfo; empty where it is not there. */
	char vendor[16];
	char model_name[64];
	char family[8], model[8], stepping[8];
	char microcode[16];
	/* Of Xen's features. */
	bool nested; /* Xen runs under another hypervisor */
	bool invariant_tsc;
	bool has_shadow_stacks; /* the processor; not whether Xen uses them */
	/* Of Xen's log. */
	bool log_is_whole; /* it still begins with the boot */
	enum xf_answer shadow_stacks;
	enum xf_answer branch_tracking;
	enum xf_answer fred;
	char speculation[160]; /* Xen's settings against speculation; empty where not known */
	/* Of Xen. */
	unsigned int online_pcpus, possible_pcpus;
	unsigned int threads_per_core, cores_per_socket, nodes;
	uint64_t tsc_hz;
	bool idle_states_known;
	unsigned int idle_states; /* of pCPU 0, C0 among them; 0: Xen only halts */
};

/* @text: /proc/cpuinfo. */
void xf_hardware_read_cpuinfo(const char *text, struct xf_hardware *hardware);
/* @host: Xen's answer about its pCPUs and their features. */
void xf_hardware_read_host(const struct xf_xen_host *host, struct xf_hardware *hardware);
/* @text: the oldest that Xen's log still holds. To be called after xf_hardware_read_host. */
void xf_hardware_read_log(const char *text, struct xf_hardware *hardware);

/* All of the above, from this host. Nothing is changed. Return: 0, or -ENOMEM and @error. */
int xf_hardware_probe(struct xf_xen *xen, const struct xf_xen_host *host,
                      struct xf_hardware *hardware, struct xf_error *error);

/*
 * Return: whether applying a live patch would take this host down: 4.17.0 corrupts what it patches
 * where CET is in use. True as well where that can't be told.
 */
bool xf_hardware_dies_of_live_patches(const struct xf_hardware *hardware,
                                      const struct xf_xen_version *version);

#define XF_HARDWARE_DETAIL 256
struct xf_hardware_fact {
	const char *name;
	void (*tell)(const struct xf_hardware *hardware, char detail[XF_HARDWARE_DETAIL]);
};

/* In the order in which they are told; the name of the one after the last is NULL. */
extern const struct xf_hardware_fact xf_hardware_facts[];

#endif
