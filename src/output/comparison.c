// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/comparison.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/facts.h"
#include "output/text.h"

/* ---- Values ---------------------------------------------------------------------------------- */

bool xf_comparison_whole(const struct xf_profile *const profiles[2], enum xf_measure measure,
                         struct xf_sides *whole)
{
	for (int side = 0; side < 2; side++) {
		const struct xf_profile *profile = profiles[side];
		/* Ticks of one pCPU. */
		long double ticks = (long double)profile->duration * profile->frequency / 1e9L;

		whole->count[side] = measure == XF_MEASURE_ABSOLUTE  ? 1
		                     : measure == XF_MEASURE_SAMPLES ? profile->samples
		                     : ticks < 0x1p63L               ? (uint64_t)ticks
		                                                     : 0;
	}
	return whole->count[0] && whole->count[1];
}

const char *xf_comparison_value(const struct xf_comparison *comparison, uint64_t count, int side,
                                char text[32])
{
	if (!count) {
		snprintf(text, 32, "-");
		return text;
	}
	if (comparison->measure == XF_MEASURE_ABSOLUTE)
		return xf_text_count(count, text);
	snprintf(text, 32, "%.2f%%", xf_percent(count, comparison->difference->whole.count[side]));
	return text;
}

const char *xf_comparison_change(const struct xf_comparison *comparison, struct xf_sides sides,
                                 char text[32])
{
	bool less = sides.count[1] < sides.count[0];
	double change = 100 * xf_difference_change(comparison->difference, sides);

	if (comparison->measure == XF_MEASURE_ABSOLUTE) {
		char count[32];

		xf_text_count(less ? sides.count[0] - sides.count[1]
		                   : sides.count[1] - sides.count[0],
		              count);
		snprintf(text, 32, "%c%.30s", less ? '-' : '+', count);
		return text;
	}
	snprintf(text, 32, "%+.2f", change);
	/* What is rounded to nothing has no sign. */
	return strcmp(text + 1, "0.00") == 0 ? memmove(text, text + 1, sizeof("0.00")) : text;
}

const char *xf_comparison_unit(const struct xf_comparison *comparison)
{
	static const char *const units[] = {
	        [XF_MEASURE_SAMPLES] = "shares of all samples of its recording",
	        [XF_MEASURE_TIME] = "shares of the time of one pCPU",
	        [XF_MEASURE_ABSOLUTE] = "numbers of samples",
	};

	return units[comparison->measure];
}

/* ---- Lines ----------------------------------------------------------------------------------- */

struct line {
	const struct xf_change *change;
	double size; /* by which lines are sorted ... */
	double also; /* ... and by this where that is the same */
	bool significant;
};

struct lines {
	FILE *out;
	const struct xf_comparison *comparison;
	const struct xf_comparison_options *options;
	const struct xf_calltree *tree;
	struct line *items;
	size_t nr;
};

static double size_of(double change)
{
	return change < 0 ? -change : change;
}

static int compare_lines(const void *left, const void *right, void *context)
{
	const struct line *a = left;
	const struct line *b = right;
	const struct xf_calltree *tree = context;

	if (a->size < b->size || a->size > b->size)
		return a->size > b->size ? -1 : 1;
	if (a->also < b->also || a->also > b->also)
		return a->also > b->also ? -1 : 1;
	return strcmp(xf_calltree_name(tree, a->change->frame),
	              xf_calltree_name(tree, b->change->frame));
}

static bool is_domain(enum xf_frame_kind kind)
{
	return kind == XF_FRAME_DOMAIN || kind == XF_FRAME_VCPU || kind == XF_FRAME_PCPU;
}

/* The Idle domain's frame is of the idle kind, but nothing ends in it. */
static bool wants(const struct lines *lines, const struct xf_change *change, bool domains)
{
	enum xf_frame_kind kind = xf_calltree_kind(lines->tree, change->frame);
	bool ends = change->self.count[0] || change->self.count[1];

	return (is_domain(kind) || (kind == XF_FRAME_IDLE && !ends)) == domains;
}

static void take_lines(struct lines *lines, const struct xf_change *changes, size_t nr,
                       bool domains)
{
	const struct xf_difference *difference = lines->comparison->difference;
	bool by_total = domains || lines->options->by_total;

	lines->nr = 0;
	for (size_t i = 0; i < nr; i++) {
		const struct xf_change *change = &changes[i];
		double self, total;

		if (!wants(lines, change, domains))
			continue;
		self = size_of(xf_difference_change(difference, change->self));
		total = size_of(xf_difference_change(difference, change->total));
		lines->items[lines->nr++] = (struct line){
		        .change = change,
		        .size = by_total ? total : self,
		        .also = by_total ? self : total,
		        .significant = xf_difference_is_significant(difference, change->self) ||
		                       xf_difference_is_significant(difference, change->total)};
	}
	qsort_r(lines->items, lines->nr, sizeof(*lines->items), compare_lines, (void *)lines->tree);
}

static void write_values(const struct lines *lines, struct xf_sides sides)
{
	char text[32];

	for (int side = 0; side < 2; side++)
		fprintf(lines->out, " %7s",
		        xf_comparison_value(lines->comparison, sides.count[side], side, text));
	fprintf(lines->out, " %7s", xf_comparison_change(lines->comparison, sides, text));
}

static void write_line(const struct lines *lines, const struct line *line, bool domains)
{
	const struct xf_sides *total = &line->change->total;

	if (!domains)
		write_values(lines, line->change->self);
	write_values(lines, *total);
	fputs(line->significant || line->size + line->also <= 0 ? "  " : " ~", lines->out);
	xf_text_write(lines->out, xf_calltree_name(lines->tree, line->change->frame), "");
	fputs(!total->count[0] ? "  (new)\n" : !total->count[1] ? "  (gone)\n" : "\n", lines->out);
}

static void write_lines(const struct lines *lines, bool domains)
{
	uint64_t chance = 0, more = 0, written = 0;

	for (size_t i = 0; i < lines->nr; i++) {
		const struct line *line = &lines->items[i];

		if (!line->significant && !lines->options->all && !domains)
			chance++;
		else if (lines->options->lines && written >= lines->options->lines)
			more++;
		else {
			write_line(lines, line, domains);
			written++;
		}
	}
	if (!written)
		fputs(lines->nr ? "(none that is more than chance)\n" : "(none)\n", lines->out);
	if (more)
		fprintf(lines->out, "(%" PRIu64 " more)\n", more);
	if (chance)
		fprintf(lines->out,
		        "(%" PRIu64 " more, the same or with a change that may be chance)\n",
		        chance);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void write_side(FILE *out, const struct xf_comparison *comparison, int side)
{
	struct xf_facts facts;

	xf_facts_of(comparison->profiles[side], &facts);
	fprintf(out, "%c          ", "AB"[side]);
	xf_text_write(out, comparison->names[side], "");
	fputs("\n           ", out);
	xf_text_write(out, facts.host, "");
	fprintf(out, "\n           %s\n           samples %s\n           %s\n", facts.recorded,
	        facts.samples, facts.quality);
	if (facts.notes[0])
		fprintf(out, "           %s\n", facts.notes);
}

int xf_comparison_write(FILE *out, const struct xf_comparison *comparison,
                        const struct xf_comparison_options *options)
{
	struct lines lines = {.out = out,
	                      .comparison = comparison,
	                      .options = options,
	                      .tree = comparison->difference->tree};
	struct xf_change *changes;
	size_t nr;

	if (xf_difference_functions(comparison->difference, &changes, &nr))
		return -ENOMEM;
	lines.items = calloc(nr + 1, sizeof(*lines.items));
	if (!lines.items) {
		free(changes);
		return -ENOMEM;
	}
	write_side(out, comparison, 0);
	write_side(out, comparison, 1);
	fprintf(out, "Values     %s; ~ may be chance\n", xf_comparison_unit(comparison));
	take_lines(&lines, changes, nr, true);
	if (lines.nr) {
		fputs("\nDomains\n       A       B  Change  Domain\n", out);
		write_lines(&lines, true);
	}
	take_lines(&lines, changes, nr, false);
	fprintf(out,
	        "\nFunctions, by change of %s\n  Self A  Self B  Change Total A Total B  Change"
	        "  Function\n",
	        options->by_total ? "total" : "self");
	write_lines(&lines, false);
	free(lines.items);
	free(changes);
	return 0;
}
