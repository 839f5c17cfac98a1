// SPDX-License-Identifier: GPL-2.0-or-later
/* Which guests' stacks the agent reads. Pure. */
#ifndef XF_XEN_GUESTS_H
#define XF_XEN_GUESTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "xen/domains.h"
#include "xenflame/agent.h"

/*
 * Puts into @config what @wanted says: "all", "none", or names and domids between commas, at most
 * XF_MAX_GUESTS of them; a domain's name comes before a number. @domains are the host's.
 * Return: 0; -EINVAL and @error where there is no such domain, or too many are named.
 */
int xf_guests_choose(const char *wanted, const struct xf_domain *domains, size_t nr,
                     struct xf_agent_config *config, struct xf_error *error);

/* Return: the domid that @text, of @size characters, stands for; -1 where it stands for none. */
int xf_guests_find(const char *text, size_t size, const struct xf_domain *domains, size_t nr);

/* Return: whether the stacks of @domid are read. */
bool xf_guests_are_read(const struct xf_agent_config *config, uint16_t domid);

#endif
