// SPDX-License-Identifier: GPL-2.0-or-later
/* Frames of other domains' memory, copied: mapped for that moment, to be read only. */
#ifndef XF_XEN_FOREIGN_H
#define XF_XEN_FOREIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "xen/guest_memory.h"

struct xf_foreign;

/* Return: 0 and *@foreign, to be closed with xf_foreign_close, which takes NULL; a negative errno
 * value and @error. */
int xf_foreign_open(struct xf_foreign **foreign, struct xf_error *error);
void xf_foreign_close(struct xf_foreign *foreign);

/* Whose frames. */
struct xf_foreign_domain {
	struct xf_foreign *foreign;
	uint16_t domid;
};

/* An xf_guest_frame_t; @domain is a struct xf_foreign_domain. While it is mapped, Xen keeps the
 * frame for the domain. */
bool xf_foreign_copy(void *domain, uint64_t frame, uint8_t page[XF_GUEST_PAGE]);

#endif
