// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/changes.h"

#include <inttypes.h>
#include <string.h>

#include "output/facts.h"
#include "output/text.h"

/* In hundredths of what there is: where a colour begins, the palest first. */
static const double steps[] = {0, 0.25, 1, 3};

/* Return: 1 to 4 where there is more in B, -1 to -4 where less, 0 where that may be chance. */
static int change_of(const struct xf_comparison *comparison, struct xf_node_id node)
{
	const struct xf_difference *difference = comparison->difference;
	struct xf_sides sides = difference->total[node.index];
	struct xf_sides all = difference->total[0];
	double change = 100 * xf_difference_change(difference, sides);
	int step = 0;

	if (!xf_difference_is_significant(difference, sides))
		return 0;
	if (comparison->measure == XF_MEASURE_ABSOLUTE)
		change /= (double)(all.count[0] > all.count[1] ? all.count[0] : all.count[1]);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		step += (change < 0 ? -change : change) >= steps[i];
	return change < 0 ? -step : step;
}

void xf_changes_write_class(FILE *out, const struct xf_comparison *comparison,
                            struct xf_node_id node)
{
	int change = change_of(comparison, node);

	if (change)
		fprintf(out, "%s%d", change < 0 ? "less" : "more", change < 0 ? -change : change);
	else
		fputs("even", out);
}

void xf_changes_write_tip(FILE *out, const struct xf_comparison *comparison, struct xf_node_id node)
{
	struct xf_sides sides = comparison->difference->total[node.index];
	char text[32];

	fprintf(out, "A %s, ", xf_comparison_value(comparison, sides.count[0], 0, text));
	fprintf(out, "B %s, ", xf_comparison_value(comparison, sides.count[1], 1, text));
	fputs(xf_comparison_change(comparison, sides, text), out);
	if (!sides.count[0])
		fputs(", new", out);
	else if (!sides.count[1])
		fputs(", gone", out);
	if (!xf_difference_is_significant(comparison->difference, sides) &&
	    strcmp(text, "0.00") != 0)
		fputs(", may be chance", out);
}

void xf_changes_write_facts(FILE *out, const struct xf_comparison *comparison)
{
	for (int side = 0; side < 2; side++) {
		struct xf_facts facts;
		char count[32];

		xf_facts_of(comparison->profiles[side], &facts);
		fprintf(out, "<text class=\"s\" x=\"14\" y=\"%d\">%c  ", 53 + 18 * side,
		        "AB"[side]);
		xf_text_write_xml(out, comparison->names[side], 40);
		fputs("  \xc2\xb7  ", out);
		xf_text_write_xml(out, facts.host, 80);
		/* Not what they were: a line that is cut at the window's edge says less. */
		fprintf(out, "  \xc2\xb7  %s  \xc2\xb7  samples %s  \xc2\xb7  %s</text>\n",
		        facts.recorded, xf_text_count(comparison->profiles[side]->samples, count),
		        facts.quality);
	}
}

void xf_changes_write_legend(FILE *out, uint32_t x)
{
	static const struct {
		const char *class;
		const char *label;
		uint32_t room;
	} entries[] = {
	        {"less4", "", 12},
	        {"less3", "", 12},
	        {"less2", "", 12},
	        {"less1", "less in B", 86},
	        {"even", "may be chance", 122},
	        {"more1", "", 12},
	        {"more2", "", 12},
	        {"more3", "", 12},
	        {"more4", "more in B", 0},
	};

	fputs("<g id=\"legend\">", out);
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		fprintf(out,
		        "<g class=\"%s\"><rect x=\"%" PRIu32
		        "\" y=\"84\" width=\"11\" height=\"11\" rx=\"2\"/></g>",
		        entries[i].class, x);
		if (entries[i].label[0])
			fprintf(out, "<text class=\"l\" x=\"%" PRIu32 "\" y=\"94\">%s</text>",
			        x + 17, entries[i].label);
		x += entries[i].room;
	}
	fputs("</g>\n", out);
}
