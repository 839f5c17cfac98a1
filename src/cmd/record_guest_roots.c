// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/record_guest_roots.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "xen/guests.h"

#define OPTION "--guest-root"

int xf_guest_roots_request(struct xf_guest_roots *roots, const char *text, struct xf_error *error)
{
	const char *equals = strchr(text, '=');

	if (!equals || equals == text || !equals[1])
		return xf_fail(error, -EINVAL,
		               OPTION " wants NAME=DIRECTORY, a domain's name or domid and where "
		                      "its files are in dom0, not '%.200s'",
		               text);
	if (roots->nr == XF_MOST_GUEST_ROOTS)
		return xf_fail(error, -EINVAL, OPTION " can be given at most %u times",
		               XF_MOST_GUEST_ROOTS);
	roots->roots[roots->nr++] = (struct xf_guest_root){.request = text};
	return 0;
}

static int check(struct xf_guest_root *root, const struct xf_domain *domains, size_t nr,
                 const struct xf_agent_config *config, struct xf_error *error)
{
	const char *name = root->request;
	size_t size = strcspn(name, "=");
	int domid = xf_guests_find_other(OPTION, "files are found by", name, size, domains, nr,
	                                 config, error);
	struct stat status;

	root->directory = name + size + 1;
	if (domid < 0)
		return domid;
	if (stat(root->directory, &status) != 0)
		return xf_fail(error, -EINVAL, OPTION ": %s: %s", root->directory, strerror(errno));
	if (!S_ISDIR(status.st_mode))
		return xf_fail(error, -EINVAL,
		               OPTION ": %s is no directory; mount the guest's file system, or a "
		                      "copy of it, read-only, and name where",
		               root->directory);
	root->domid = (uint16_t)domid;
	return 0;
}

int xf_guest_roots_check(struct xf_guest_roots *roots, const struct xf_domain *domains, size_t nr,
                         const struct xf_agent_config *config, struct xf_error *error)
{
	int code = 0;

	for (size_t i = 0; !code && i < roots->nr; i++)
		code = check(&roots->roots[i], domains, nr, config, error);
	return code;
}

const char *xf_guest_roots_find(const struct xf_guest_roots *roots, uint16_t domid)
{
	for (size_t i = 0; i < roots->nr; i++)
		if (roots->roots[i].domid == domid)
			return roots->roots[i].directory;
	return NULL;
}
