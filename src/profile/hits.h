// SPDX-License-Identifier: GPL-2.0-or-later
/* How often each instruction of a function was the interrupted one. */
#ifndef XF_PROFILE_HITS_H
#define XF_PROFILE_HITS_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

/* A function with its code. */
struct xf_function {
	const struct xf_symbol *symbol;
	struct xf_code code; /* its own, from its first byte to its last */
};

/*
 * The functions of @recording that go by @name, in order of their addresses: static ones of several
 * files may share it.
 * Return: 0 and an array that the caller frees; -ENOENT, also where their code is not recorded, and
 * @error; -ENOMEM.
 */
int xf_functions_find(const struct xf_recording *recording, const char *name,
                      struct xf_function **functions, size_t *nr, struct xf_error *error);

struct xf_hits {
	uint64_t *of; /* of each byte of the function: samples that were interrupted there */
	uint64_t total;
};

/* Counts the samples that the filters of @options let through. Return: 0 and *@hits, whose array
 * the caller frees; -ENOMEM. */
int xf_hits_count(const struct xf_recording *recording, const struct xf_profile_options *options,
                  const struct xf_function *function, struct xf_hits *hits);

#endif
