// SPDX-License-Identifier: GPL-2.0-or-later
/* Which code of processes the samples of a recording may need to know, at the end of making it. */
#ifndef XF_PROFILE_USER_HITS_H
#define XF_PROFILE_USER_HITS_H

#include <stddef.h>
#include <stdint.h>

#include "profile/processes.h"
#include "profile/recording.h"

/* An instruction that was running, or may have called. */
struct xf_user_hit {
	uint32_t file;   /* XF_NO_FILE: in the memory of ... */
	uint32_t pid;    /* ... this process; else 0 */
	uint64_t offset; /* in the file; without one the address */
	/* Of which domain's process. Domains that have the same file share its number: each may be
	   the one whose files are to be had. */
	uint16_t domid;
	/* An instance of it: where a process had that file mapped. */
	uint32_t mapped_in;
	uint64_t map_address;
	uint64_t map_size;
};

/* Return: 0 and *@nr hits by file, pid, offset and domid, each once, in *@hits, to be freed;
 * -ENOMEM. */
int xf_user_hits_collect(const struct xf_recording *recording, const struct xf_processes *processes,
                         struct xf_user_hit **hits, size_t *nr);

#endif
