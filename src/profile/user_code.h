// SPDX-License-Identifier: GPL-2.0-or-later
/* What a recording says of the code of processes: those of its instructions that samples show. */
#ifndef XF_PROFILE_USER_CODE_H
#define XF_PROFILE_USER_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "profile/format.h"
#include "unwind/unwind.h"

struct xf_user_place {
	uint32_t file;   /* XF_NO_FILE: in the memory of ... */
	uint32_t pid;    /* ... this process; else 0 */
	uint64_t offset; /* in the file; without one the address */
	uint64_t start;  /* the same, of where its function begins */
	struct xf_unwind_row row;
	const char *name; /* of the function; "": it has none. Borrowed from the recording */
};

/* Starts zeroed; freed with xf_user_code_free. */
struct xf_user_places {
	struct xf_user_place *places; /* once finished: by file, pid and offset */
	size_t nr;
};

/* Takes in the content of a chunk of that type, which must outlive @places. Return: 0; -EBADMSG
 * where it makes no sense from some byte on (what came before is kept); -ENOMEM. */
int xf_user_code_read(struct xf_user_places *places, struct xf_cursor content);

/* After the last chunk. */
void xf_user_code_finish(struct xf_user_places *places);
void xf_user_code_free(struct xf_user_places *places);

/* Return: what is known of the instruction at @offset, NULL where that is nothing. */
const struct xf_user_place *xf_user_code_find(const struct xf_user_places *places, uint32_t file,
                                              uint32_t pid, uint64_t offset);

#endif
