// SPDX-License-Identifier: GPL-2.0-or-later
/* Which guests' memory the agent reads, and for what. Pure. */
#ifndef XF_XEN_GUESTS_H
#define XF_XEN_GUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "symbol/btf.h"
#include "xen/domains.h"
#include "xenflame/agent.h"

/*
 * Puts into @config, whose tasks it empties, what @wanted says: "all", "none", or names and domids
 * between commas, at most XF_MAX_GUESTS of them; a domain's name comes before a number. @domains
 * are the host's. Return: 0; -EINVAL and @error where there is no such domain, or too many are
 * named.
 */
int xf_guests_choose(const char *wanted, const struct xf_domain *domains, size_t nr,
                     struct xf_agent_config *config, struct xf_error *error);

/* Return: the domid that @text, of @size characters, stands for; -1 where it stands for none.
 * "dom0" is the control domain, where no other is named so. */
int xf_guests_find(const char *text, size_t size, const struct xf_domain *domains, size_t nr);

/*
 * Finds, for the option @option, the other domain than dom0 that @text, of @size characters, stands
 * for, whose stacks are read as @config has it. @own: what of dom0's needs no such option, as
 * "kernel is read from". Return: its domid; -EINVAL and @error where there is none.
 */
int xf_guests_find_other(const char *option, const char *own, const char *text, size_t size,
                         const struct xf_domain *domains, size_t nr,
                         const struct xf_agent_config *config, struct xf_error *error);

/* Return: whether the stacks of @domid are read. */
bool xf_guests_are_read(const struct xf_agent_config *config, uint16_t domid);

/* Makes the agent tell which task a domain's Linux runs, whose kernel has the @layout at the
 * addresses at which it runs. Return: false where it does so for XF_MAX_GUESTS already. */
bool xf_guests_add_task(struct xf_agent_config *config, uint16_t domid,
                        const struct xf_task_layout *layout);

#endif
