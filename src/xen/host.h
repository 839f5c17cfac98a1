// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The host as far as xenflame needs to know it: a list of requirements, each with a probe that
 * fills in what it found. `check` prints them all, `record` stops at the first that is not met.
 * Nothing is changed on the host by any of them.
 */
#ifndef XF_XEN_HOST_H
#define XF_XEN_HOST_H

#include "base/error.h"
#include "profile/format.h"
#include "symbol/symbols.h"
#include "xen/boot.h"
#include "xen/discover.h"
#include "xen/hardware.h"
#include "xen/hypercall.h"
#include "xen/tracebuffer.h"

struct xf_host {
	struct xf_xen *xen;
	struct xf_xen_version version;
	struct xf_xen_host machine;
	struct xf_hardware hardware;
	bool hardware_known;
	struct xf_trace_claim *claim;
	struct xf_symbols *symbols;
	struct xf_boot_image image;
	struct xf_text_range text;
	struct xf_code code; /* Xen's text, borrowed from @image */
	struct xf_agent_config config;
};

struct xf_requirement {
	const char *name;
	/*
	 * Return: 0 where it is met, and @detail says in a few words what was found; otherwise a
	 * negative errno value and @error says what to do.
	 */
	int (*probe)(struct xf_host *host, char detail[256], struct xf_error *error);
};

/* In the order in which they build upon each other; the name of the one after the last is NULL. */
extern const struct xf_requirement xf_requirements[];

/*
 * As much of @host as unwinding needs: its code and symbols. @image is the file that the running
 * Xen was booted from; NULL: it is looked for in /boot. Return: 0; as the probes, or -EBADMSG where
 * @image is another file.
 */
int xf_host_read_code(struct xf_host *host, const char *image, struct xf_error *error);

void xf_host_close(struct xf_host *host);

/* "4.17.7" */
void xf_host_version_text(const struct xf_host *host, char text[48]);
/* Xen's build-id in hexadecimal digits. */
void xf_host_build_id_text(const struct xf_host *host, char text[129]);

#endif
