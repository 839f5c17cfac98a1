// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "output/text.h"

int xf_folded_write(FILE *out, const struct xf_profile *profile)
{
	const struct xf_calltree *tree = profile->tree;
	struct xf_calltree_walk walk = {0};
	char *line = NULL;
	size_t size = 0;
	FILE *prefix = open_memstream(&line, &size);
	/* Where in the line the frame of each depth ends, so that leaving one is cutting it off. */
	long *ends = calloc(xf_calltree_nr_nodes(tree) + 1, sizeof(*ends));

	while (prefix && ends && xf_calltree_next(tree, &walk)) {
		const struct xf_node *node = xf_calltree_node(tree, walk.node);

		if (walk.leaving || !node->depth)
			continue;
		fseek(prefix, ends[node->depth - 1], SEEK_SET);
		if (node->depth > 1)
			fputc(';', prefix);
		xf_text_write(prefix, xf_calltree_name(tree, node->frame), ";");
		ends[node->depth] = ftell(prefix);
		if (!node->self)
			continue;
		fflush(prefix);
		fwrite(line, 1, (size_t)ends[node->depth], out);
		fprintf(out, " %" PRIu64 "\n", node->self);
	}
	free(ends);
	if (!prefix)
		return -ENOMEM;
	fclose(prefix);
	free(line);
	return walk.started ? 0 : -ENOMEM;
}
