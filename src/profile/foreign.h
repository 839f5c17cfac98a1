// SPDX-License-Identifier: GPL-2.0-or-later
/* Profiles of stacks that other tools took: what the readers of their files share. For src/profile/
 * alone. */
#ifndef XF_PROFILE_FOREIGN_H
#define XF_PROFILE_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/index.h"
#include "profile/profile.h"

struct xf_foreign_frame {
	const char *name;
	enum xf_frame_kind kind;
};

/* Frames go from the outermost. Starts zeroed; @frames is to be freed. */
struct xf_foreign_stack {
	const char *domain;
	uint32_t thread;
	uint32_t cpu;
	uint64_t time; /* ns */
	uint64_t count;
	struct xf_foreign_frame *frames;
	size_t nr;
	size_t allocated;
};

/* Return: 0 or -ENOMEM. */
int xf_foreign_push(struct xf_foreign_stack *stack, const char *name, enum xf_frame_kind kind);

/* Turns the frames round. */
void xf_foreign_reverse(struct xf_foreign_stack *stack);

/* What a bracketed name stands for; XF_FRAME_FUNCTION where it is none that is known. */
enum xf_frame_kind xf_foreign_kind(const char *name);

/* The same of a name in @image, as perf names it. */
enum xf_frame_kind xf_foreign_kind_in(const char *name, const char *image);

/* A profile under way. */
struct xf_foreign {
	const struct xf_profile_options *options;
	struct xf_profile *profile;
	struct xf_index group_index;
	size_t allocated_groups;
	struct xf_frame_id *path; /* of the stack that is added */
	size_t allocated_path;
	bool timed;
	uint64_t first; /* time of all, and the last */
	uint64_t last;
	uint64_t total;
};

/* Return: 0 or -ENOMEM; xf_foreign_end is due in all cases. */
int xf_foreign_start(struct xf_foreign *foreign, const struct xf_profile_options *options);
void xf_foreign_end(struct xf_foreign *foreign);

/* Adds a stack of one frame at least, whose time is known where it is @timed; names are copied.
 * Return: 0, -EOVERFLOW or -ENOMEM. */
int xf_foreign_add(struct xf_foreign *foreign, const struct xf_foreign_stack *stack, bool timed);

/* @host is not copied. Return: 0 and *@made; -ENODATA and @error where no sample is left; -ENOMEM.
 */
int xf_foreign_finish(struct xf_foreign *foreign, const char *host, struct xf_profile **made,
                      struct xf_error *error);

#endif
