// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/guests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SPECIAL_DOMID 0x7ff0u /* public/xen.h: DOMID_FIRST_RESERVED */

static bool is_named(const struct xf_domain *domain, const char *text, size_t size)
{
	return strlen(domain->name) == size && memcmp(domain->name, text, size) == 0;
}

int xf_guests_find(const char *text, size_t size, const struct xf_domain *domains, size_t nr)
{
	unsigned long domid;
	char *end;

	for (size_t i = 0; i < nr; i++)
		if (is_named(&domains[i], text, size))
			return domains[i].domid;
	if (size == 4 && memcmp(text, "dom0", size) == 0)
		return 0; /* as everybody calls it */
	if (size == 0 || text[0] < '0' || text[0] > '9')
		return -1;
	domid = strtoul(text, &end, 10);
	if (end != text + size || domid >= FIRST_SPECIAL_DOMID)
		return -1;
	for (size_t i = 0; i < nr; i++)
		if (domains[i].domid == domid)
			return (int)domid;
	/* There may be no xenstore to tell, and dom0 always is. */
	return domid == 0 || nr == 0 ? (int)domid : -1;
}

static int refuse(const char *text, size_t size, const struct xf_domain *domains, size_t nr,
                  struct xf_error *error)
{
	char names[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < nr && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s (%u)",
		                         i ? ", " : "", domains[i].name, domains[i].domid);
	return xf_fail(error, -EINVAL, "--guests: no domain is named or numbered '%.*s'%s%s",
	               (int)(size < 64 ? size : 64), text, names[0] ? "; there are " : "", names);
}

int xf_guests_choose(const char *wanted, const struct xf_domain *domains, size_t nr,
                     struct xf_agent_config *config, struct xf_error *error)
{
	config->nr_guests = 0;
	config->nr_tasks = 0;
	if (strcmp(wanted, "none") == 0)
		return 0;
	if (strcmp(wanted, "all") == 0) {
		config->nr_guests = XF_GUESTS_ALL;
		return 0;
	}
	for (;;) {
		size_t size = strcspn(wanted, ",");
		int domid = xf_guests_find(wanted, size, domains, nr);

		if (domid < 0)
			return refuse(wanted, size, domains, nr, error);
		if (config->nr_guests == XF_MAX_GUESTS)
			return xf_fail(error, -EINVAL,
			               "--guests takes at most %u domains; 'all' takes any number",
			               XF_MAX_GUESTS);
		config->guest_domids[config->nr_guests++] = (uint16_t)domid;
		if (wanted[size] == '\0')
			return 0;
		wanted += size + 1;
	}
}

bool xf_guests_are_read(const struct xf_agent_config *config, uint16_t domid)
{
	if (config->nr_guests == XF_GUESTS_ALL)
		return true;
	for (uint32_t i = 0; i < config->nr_guests; i++)
		if (config->guest_domids[i] == domid)
			return true;
	return false;
}

int xf_guests_find_other(const char *option, const char *own, const char *text, size_t size,
                         const struct xf_domain *domains, size_t nr,
                         const struct xf_agent_config *config, struct xf_error *error)
{
	int shown = (int)(size < 64 ? size : 64), domid = xf_guests_find(text, size, domains, nr);

	if (domid < 0)
		return xf_fail(error, -EINVAL, "%s: no domain is named or numbered '%.*s'", option,
		               shown, text);
	if (domid == 0)
		return xf_fail(error, -EINVAL, "%s: dom0's %s itself; leave '%.*s' out", option,
		               own, shown, text);
	if (!xf_guests_are_read(config, (uint16_t)domid))
		return xf_fail(error, -EINVAL,
		               "%s: the stacks of '%.*s' are not read; add it to --guests", option,
		               shown, text);
	return domid;
}

bool xf_guests_add_task(struct xf_agent_config *config, uint16_t domid,
                        const struct xf_task_layout *layout)
{
	if (config->nr_tasks == XF_MAX_GUESTS)
		return false;
	config->tasks[config->nr_tasks++] = (struct xf_agent_task){.current = layout->current,
	                                                           .domid = domid,
	                                                           .stack = layout->stack,
	                                                           .pid = layout->pid,
	                                                           .comm = layout->comm};
	return true;
}
