// SPDX-License-Identifier: GPL-2.0-or-later
/* Where dom0 has the files of other domains, by the command line: NAME=DIRECTORY. */
#ifndef XF_CMD_RECORD_GUEST_ROOTS_H
#define XF_CMD_RECORD_GUEST_ROOTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "xen/domains.h"
#include "xenflame/agent.h"

#define XF_MOST_GUEST_ROOTS 64u

struct xf_guest_root {
	const char *request;   /* borrowed */
	const char *directory; /* once checked: in it */
	uint16_t domid;
};

/* Starts zeroed. */
struct xf_guest_roots {
	struct xf_guest_root roots[XF_MOST_GUEST_ROOTS];
	size_t nr;
};

/* Takes in "NAME=DIRECTORY". Return: 0; -EINVAL and @error where it is not that, or one too many.
 */
int xf_guest_roots_request(struct xf_guest_roots *roots, const char *text, struct xf_error *error);

/* Finds the domains that are meant among @nr @domains, whose stacks are read as @config has it.
 * Return: 0; -EINVAL and @error where there is none, its stacks are not read, or there is no such
 * directory. */
int xf_guest_roots_check(struct xf_guest_roots *roots, const struct xf_domain *domains, size_t nr,
                         const struct xf_agent_config *config, struct xf_error *error);

/* Return: the directory in which the files of @domid are; NULL where none is known. */
const char *xf_guest_roots_find(const struct xf_guest_roots *roots, uint16_t domid);

#endif
