// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/foreign.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <xenforeignmemory.h>

struct xf_foreign {
	xenforeignmemory_handle *handle;
};

int xf_foreign_open(struct xf_foreign **foreign, struct xf_error *error)
{
	struct xf_foreign *opened = calloc(1, sizeof(*opened));

	if (!opened)
		return xf_fail(error, -ENOMEM, "no memory for mapping that of domains");
	opened->handle = xenforeignmemory_open(NULL, 0);
	if (!opened->handle) {
		int code = -errno;

		free(opened);
		return xf_fail(error, code, "other domains' memory can't be mapped: %s",
		               strerror(-code));
	}
	*foreign = opened;
	return 0;
}

void xf_foreign_close(struct xf_foreign *foreign)
{
	if (!foreign)
		return;
	xenforeignmemory_close(foreign->handle);
	free(foreign);
}

bool xf_foreign_copy(void *domain, uint64_t frame, uint8_t page[XF_GUEST_PAGE])
{
	const struct xf_foreign_domain *from = domain;
	xen_pfn_t number = frame;
	int failed = 0;
	void *mapped = xenforeignmemory_map(from->foreign->handle, from->domid, PROT_READ, 1,
	                                    &number, &failed);

	if (!mapped)
		return false;
	if (!failed)
		memcpy(page, mapped, XF_GUEST_PAGE);
	xenforeignmemory_unmap(from->foreign->handle, mapped, 1);
	return !failed;
}
