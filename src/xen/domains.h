// SPDX-License-Identifier: GPL-2.0-or-later
/* The host's domains by name, from xenstore. */
#ifndef XF_XEN_DOMAINS_H
#define XF_XEN_DOMAINS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/format.h"

struct xf_domain {
	uint16_t domid;
	enum xf_domain_type type;
	char name[256];
	char uuid[37];
	/* When the toolstack made it, as it writes that: a domain that is started anew keeps its
	   name and its UUID, and may get the domid of one that has gone. */
	char started[32];
};

/*
 * All domains as of now, by domid. Return: 0 and *@list, to be freed by the caller; where there is
 * no xenstore (it is optional) an empty list and 0. -ENOMEM.
 */
int xf_domains_list(struct xf_domain **list, size_t *nr, struct xf_error *error);

#endif
