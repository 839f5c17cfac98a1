// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes, followed as a recording that is being written: the first byte says after how many
 * chunks an interval ends, then chunk after chunk goes to the view, which shows each interval as
 * text. tests/fuzz/run has how to build and replay.
 */
#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/top.h"
#include "profile/live.h"
#include "profile/recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define MAGIC_BYTES 16u

/* A copy of its own for each chunk: ASan sees a read beyond it. */
static void take(struct xf_live *live, struct xf_chunk_head head, const uint8_t *content)
{
	uint8_t *copy = malloc(head.size ? head.size : 1);

	if (!copy)
		return;
	memcpy(copy, content, head.size);
	if (xf_live_take(live, head, copy))
		abort(); /* memory does not run out here */
	free(copy);
}

/* Samples that are dropped for want of room are the only ones that may be missing. */
static void check(const struct xf_live_interval *interval)
{
	const struct xf_profile *profile = interval->profile;
	const struct xf_node *root;

	if (!profile)
		return;
	root = xf_calltree_node(profile->tree, XF_CALLTREE_ROOT);
	if (root->total != profile->samples ||
	    profile->counts.process_unknown > profile->counts.processes)
		abort();
}

static void look(struct xf_live *live, FILE *out)
{
	struct xf_profile_options options = XF_PROFILE_DEFAULTS;
	struct xf_live_interval interval;
	struct xf_top_moment moment = {.interval = &interval, .nanoseconds = 1000000000};
	struct xf_error error;

	options.by_process = true;
	if (xf_live_look(live, &options, &interval, &error))
		return;
	check(&interval);
	xf_top_write(out, &moment, 20);
	xf_live_interval_free(&interval);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	FILE *out = fopen("/dev/null", "w");
	struct xf_live *live = xf_live_new();
	unsigned int every = size ? bytes[0] % 64 + 1 : 1;
	size_t at = 1 + MAGIC_BYTES;
	struct xf_chunk_head head;

	for (unsigned int nr = 1; live && out && at < size && size - at >= sizeof(head); nr++) {
		memcpy(&head, bytes + at, sizeof(head));
		head.type = le32toh(head.type);
		head.flags = le32toh(head.flags);
		head.size = le64toh(head.size);
		at += sizeof(head);
		if (head.size > size - at)
			break;
		take(live, head, bytes + at);
		at += head.size;
		if (nr % every == 0)
			look(live, out);
	}
	if (live && out)
		look(live, out);
	xf_live_free(live);
	if (out)
		fclose(out);
	return 0;
}
