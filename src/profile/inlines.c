// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/inlines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

/* Where @frame's function is, that of the call at @nth of @address. */
static int keep_place(struct xf_inlines *inlines, struct xf_frame_id frame, uint64_t address,
                      size_t nth)
{
	const char *file;
	int line;

	if (frame.index < inlines->nr_places && inlines->places[frame.index])
		return 0;
	if (!xf_debug_definition(inlines->debug, address, nth, &file, &line))
		return 0;
	if (frame.index >= inlines->nr_places) {
		size_t wanted = 2 * (size_t)frame.index + 64;
		char **grown = reallocarray(inlines->places, wanted, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + inlines->nr_places, 0,
		       (wanted - inlines->nr_places) * sizeof(*grown));
		inlines->places = grown;
		inlines->nr_places = wanted;
	}
	if (asprintf(&inlines->places[frame.index], "%.1000s:%d", file, line) < 0) {
		inlines->places[frame.index] = NULL;
		return -ENOMEM;
	}
	return 0;
}

/* As perf names them. */
static int add_frame(struct xf_inlines *inlines, uint64_t address, const struct xf_call *call,
                     size_t nth)
{
	struct xf_frame_id frame;
	char *name;
	int code;

	if (!xf_make_room(&inlines->inlined, inlines->nr_inlined, &inlines->allocated_inlined,
	                  sizeof(*inlines->inlined)) ||
	    asprintf(&name, "%s (inlined)", call->function) < 0)
		return -ENOMEM;
	code = xf_calltree_frame(inlines->tree, XF_FRAME_XEN, name, &frame);
	free(name);
	if (!code)
		code = keep_place(inlines, frame, address, nth);
	if (!code)
		inlines->inlined[inlines->nr_inlined++] = frame;
	return code;
}

/* Asks the debug info of @address; the first call there is @frame's own function. */
static int learn(struct xf_inlines *inlines, uint64_t address, struct xf_frame_id frame,
                 struct xf_inlined *known)
{
	struct xf_call calls[XF_CALLS_MAX];
	size_t nr = xf_debug_calls(inlines->debug, address, calls, XF_CALLS_MAX);
	int code = 0;

	*known = (struct xf_inlined){.address = address, .first = inlines->nr_inlined};
	if (nr && !calls[nr - 1].inlined)
		code = keep_place(inlines, frame, address, nr - 1);
	for (size_t i = nr; !code && inlines->frames && i > 0; i--) {
		if (calls[i - 1].inlined && calls[i - 1].function)
			code = add_frame(inlines, address, &calls[i - 1], i - 1);
	}
	known->nr = inlines->nr_inlined - known->first;
	return code;
}

/* The same, from memory where possible. */
static int look_up(struct xf_inlines *inlines, uint64_t address, struct xf_frame_id frame,
                   struct xf_inlined *known)
{
	uint64_t hash = xf_hash_mix(0, address);
	struct xf_index_probe probe = xf_index_probe(&inlines->index, hash);
	int code;

	while (xf_index_next(&inlines->index, &probe)) {
		*known = inlines->known[probe.id];
		if (known->address == address)
			return 0;
	}
	code = learn(inlines, address, frame, known);
	if (!code && !xf_make_room(&inlines->known, inlines->nr_known, &inlines->allocated_known,
	                           sizeof(*inlines->known)))
		code = -ENOMEM;
	if (!code)
		code = xf_index_add(&inlines->index, hash, (uint32_t)inlines->nr_known);
	if (!code)
		inlines->known[inlines->nr_known++] = *known;
	return code;
}

int xf_inlines_find(struct xf_inlines *inlines, uint64_t address, struct xf_frame_id frame,
                    const struct xf_frame_id **frames, size_t *nr)
{
	struct xf_inlined known = {0};
	int code = look_up(inlines, address, frame, &known);

	*frames = inlines->inlined + known.first;
	*nr = code ? 0 : known.nr;
	return code;
}

void xf_inlines_free(struct xf_inlines *inlines)
{
	free(inlines->known);
	xf_index_free(&inlines->index);
	free(inlines->inlined);
	for (size_t i = 0; i < inlines->nr_places; i++)
		free(inlines->places[i]);
	free(inlines->places);
}
