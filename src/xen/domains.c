// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Paths as the xl/libxl toolstack writes them (docs/misc/xenstore-paths): name and vm under
 * /local/domain/<domid>, the kind of guest under /libxl/<domid>/type. XAPI writes the first two.
 */
#include "xen/domains.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xenstore.h>

/* Copies the value at the path into @value; empty where there is none. */
static void read_value(struct xs_handle *store, const char *path, char *value, size_t size)
{
	unsigned int length = 0;
	char *read = xs_read(store, XBT_NULL, path, &length);

	value[0] = '\0';
	if (read)
		snprintf(value, size, "%.*s", (int)length, read);
	free(read);
}

static enum xf_domain_type type_of(struct xs_handle *store, uint16_t domid)
{
	char path[64], type[16];

	/* dom0 was not made by the toolstack. A PVH dom0 says so in its kernel's words only. */
	snprintf(path, sizeof(path), "/libxl/%u/type", domid);
	read_value(store, path, type, sizeof(type));
	if (strcmp(type, "pv") == 0)
		return XF_DOMAIN_PV;
	if (strcmp(type, "pvh") == 0)
		return XF_DOMAIN_PVH;
	if (strcmp(type, "hvm") == 0)
		return XF_DOMAIN_HVM;
	return XF_DOMAIN_UNKNOWN;
}

static void read_domain(struct xs_handle *store, uint16_t domid, struct xf_domain *domain)
{
	char path[64], vm[64];

	domain->domid = domid;
	snprintf(path, sizeof(path), "/local/domain/%u/name", domid);
	read_value(store, path, domain->name, sizeof(domain->name));
	snprintf(path, sizeof(path), "/local/domain/%u/vm", domid);
	read_value(store, path, vm, sizeof(vm));
	if (strncmp(vm, "/vm/", 4) == 0) {
		snprintf(domain->uuid, sizeof(domain->uuid), "%.36s", vm + 4);
		snprintf(path, sizeof(path), "/vm/%.36s/start_time", vm + 4);
		read_value(store, path, domain->started, sizeof(domain->started));
	}
	domain->type = type_of(store, domid);
}

static int compare_domains(const void *left, const void *right)
{
	return (int)((const struct xf_domain *)left)->domid -
	       (int)((const struct xf_domain *)right)->domid;
}

int xf_domains_list(struct xf_domain **list, size_t *nr, struct xf_error *error)
{
	struct xs_handle *store = xs_open(0);
	unsigned int count = 0;
	char **entries = store ? xs_directory(store, XBT_NULL, "/local/domain", &count) : NULL;
	unsigned int i;

	*nr = 0;
	*list = calloc(count ? count : 1, sizeof(**list));
	for (i = 0; *list && entries && i < count; i++) {
		char *end;
		unsigned long domid = strtoul(entries[i], &end, 10);

		if (*end == '\0' && domid < 0x7ff0)
			read_domain(store, (uint16_t)domid, &(*list)[(*nr)++]);
	}
	free(entries);
	if (store)
		xs_close(store);
	if (!*list)
		return xf_fail(error, -ENOMEM, "out of memory");
	qsort(*list, *nr, sizeof(**list), compare_domains);
	return 0;
}
