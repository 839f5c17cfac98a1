// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Profiles from Linux's perf.data, as `perf record` and `xenflame export -f perf` write it.
 *
 * A command is the domain, a thread the vCPU, as in perf script's text (text_input.h); each of
 * perf's events is one sample. perf.data has addresses in files, and no names: those somebody else
 * finds. What stays without one is "FILE+0xOFFSET".
 */
#ifndef XF_PROFILE_PERF_INPUT_H
#define XF_PROFILE_PERF_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "profile/profile.h"

/* An address, as far as the file tells of it. */
struct xf_perf_place {
	bool kernel;             /* of Linux itself, or a module of it */
	const char *path;        /* of what is mapped there */
	const uint8_t *build_id; /* of that */
	size_t build_id_size;    /* 0: not known */
	uint64_t offset;         /* in the file; of the kernel, from where it begins */
};

struct xf_perf_names {
	/* Return: the name of the function at @place, valid until the next call; NULL: not known.
	 */
	const char *(*find)(void *context, const struct xf_perf_place *place);
	void *context;
};

/* Return: whether a file that begins with these bytes is some perf.data. */
bool xf_perf_begins(const void *bytes, size_t size);

/*
 * Makes the profile of @size bytes of perf.data, which must outlive it.
 * Return: 0 and *@profile, to be freed with xf_profile_free; -EBADMSG where the file is damaged,
 * -ENOTSUP where it is of a kind that is not read; -ENODATA where no sample is left, or has no time
 * while one is needed; -ENOMEM; @error tells, without the file's name.
 */
int xf_perf_profile(const void *bytes, size_t size, const struct xf_profile_options *options,
                    const struct xf_perf_names *names, struct xf_profile **profile,
                    struct xf_error *error);

#endif
