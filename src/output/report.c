// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/facts.h"
#include "output/text.h"
#include "profile/shares.h"
#include "symbol/symbols.h"

/* A view in the making: what is left out is counted. */
struct view {
	FILE *out;
	const struct xf_profile *profile;
	const struct xf_report_options *options;
	uint32_t written;
	uint64_t left_out;
};

/* Return: whether a line for @count samples is to be written; counts it either way. */
static bool takes_line(struct view *view, uint64_t count)
{
	if (xf_percent(count, view->profile->samples) < view->options->percent_limit ||
	    (view->options->lines && view->written >= view->options->lines)) {
		view->left_out++;
		return false;
	}
	view->written++;
	return true;
}

static void end_view(struct view *view)
{
	if (view->left_out)
		fprintf(view->out, "(%" PRIu64 " more)\n", view->left_out);
	view->written = 0;
	view->left_out = 0;
}

/* "12.34%", or "-" for nothing at all, in eight columns. */
static void write_percent(struct view *view, uint64_t count)
{
	if (count)
		fprintf(view->out, "%7.2f%%", xf_percent(count, view->profile->samples));
	else
		fputs("       -", view->out);
}

static const char *name_of(const struct view *view, struct xf_frame_id frame)
{
	return xf_calltree_name(view->profile->tree, frame);
}

/* ---- Domains, vCPUs, pCPUs ------------------------------------------------------------------- */

struct row {
	struct xf_frame_id domain;
	uint32_t number;
	struct xf_profile_counts counts;
};

static uint64_t row_total(const struct row *row)
{
	return row->counts.guest + row->counts.xen + row->counts.idle;
}

static int compare_rows_by_total(const void *left, const void *right, void *context)
{
	const struct row *a = left;
	const struct row *b = right;
	const struct xf_calltree *tree = context;
	bool idle_a = xf_calltree_kind(tree, a->domain) == XF_FRAME_IDLE;
	bool idle_b = xf_calltree_kind(tree, b->domain) == XF_FRAME_IDLE;

	if (idle_a != idle_b)
		return idle_a ? 1 : -1;
	if (row_total(a) != row_total(b))
		return row_total(a) > row_total(b) ? -1 : 1;
	if (a->domain.index != b->domain.index)
		return strcmp(xf_calltree_name(tree, a->domain), xf_calltree_name(tree, b->domain));
	return a->number < b->number ? -1 : a->number > b->number;
}

static int compare_rows_by_number(const void *left, const void *right, void *context)
{
	const struct row *a = left;
	const struct row *b = right;

	(void)context;
	return a->number < b->number ? -1 : a->number > b->number;
}

static void write_row(struct view *view, const struct row *row, enum xf_report_view kind)
{
	char count[32];

	if (!takes_line(view, row_total(row)))
		return;
	write_percent(view, row_total(row));
	fprintf(view->out, "%12s", xf_text_count(row_total(row), count));
	write_percent(view, row->counts.guest);
	write_percent(view, row->counts.xen);
	write_percent(view, row->counts.idle);
	fputs("  ", view->out);
	if (kind == XF_REPORT_PCPUS) {
		fprintf(view->out, "pCPU %" PRIu32 "\n", row->number);
		return;
	}
	xf_text_write(view->out, name_of(view, row->domain), "");
	if (kind == XF_REPORT_VCPUS)
		fprintf(view->out, " vCPU %" PRIu32, row->number);
	fputc('\n', view->out);
}

static uint32_t row_number(const struct xf_profile_group *group, enum xf_report_view kind)
{
	return kind == XF_REPORT_SUMMARY ? 0 : kind == XF_REPORT_VCPUS ? group->vcpu : group->pcpu;
}

static int compare_keys(const void *left, const void *right)
{
	const struct row *a = left;
	const struct row *b = right;

	if (a->domain.index != b->domain.index)
		return a->domain.index < b->domain.index ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* Adds up neighbours that are the same domain and number. Return: how many are left. */
static size_t merge_rows(struct row *rows, size_t nr)
{
	size_t last = 0;

	for (size_t i = 1; i < nr; i++) {
		if (compare_keys(&rows[last], &rows[i]) != 0) {
			rows[++last] = rows[i];
			continue;
		}
		rows[last].counts.guest += rows[i].counts.guest;
		rows[last].counts.xen += rows[i].counts.xen;
		rows[last].counts.idle += rows[i].counts.idle;
	}
	return nr ? last + 1 : 0;
}

static int write_rows(struct view *view, enum xf_report_view kind, const char *title)
{
	const struct xf_profile *profile = view->profile;
	struct row *rows = calloc(profile->nr_groups, sizeof(*rows));
	size_t nr = profile->nr_groups;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		const struct xf_profile_group *group = &profile->groups[i];

		rows[i] = (struct row){.number = row_number(group, kind), .counts = group->counts};
		if (kind != XF_REPORT_PCPUS)
			rows[i].domain = group->domain;
	}
	qsort(rows, nr, sizeof(*rows), compare_keys);
	nr = merge_rows(rows, nr);
	qsort_r(rows, nr, sizeof(*rows),
	        kind == XF_REPORT_PCPUS ? compare_rows_by_number : compare_rows_by_total,
	        profile->tree);
	fprintf(view->out, "\n%s\n   Share     Samples   Guest     Xen    Idle  %s\n", title,
	        kind == XF_REPORT_SUMMARY ? "Domain"
	        : kind == XF_REPORT_VCPUS ? "vCPU"
	                                  : "pCPU");
	for (size_t i = 0; i < nr; i++)
		write_row(view, &rows[i], kind);
	end_view(view);
	free(rows);
	return 0;
}

/* ---- Functions ------------------------------------------------------------------------------- */

static bool is_function(enum xf_frame_kind kind)
{
	return kind == XF_FRAME_XEN || kind == XF_FRAME_AGENT || kind == XF_FRAME_UNKNOWN ||
	       kind == XF_FRAME_GUEST || kind == XF_FRAME_KERNEL || kind == XF_FRAME_USER ||
	       kind == XF_FRAME_INCOMPLETE || kind == XF_FRAME_IDLE;
}

/* The Idle domain's frame is of the idle kind too, but nothing ever ends in it. */
static bool is_domain(const struct xf_profile *profile, struct xf_frame_id frame)
{
	for (size_t i = 0; i < profile->nr_groups; i++) {
		if (profile->groups[i].domain.index == frame.index)
			return true;
	}
	return false;
}

static int write_functions(struct view *view)
{
	const struct xf_calltree *tree = view->profile->tree;
	struct xf_share *shares;
	size_t nr;
	int code = xf_shares_functions(tree, &shares, &nr);

	if (code)
		return code;
	fputs("\nFunctions\n    Self   Total     Samples  Function\n", view->out);
	for (size_t i = 0; i < nr; i++) {
		const struct xf_share *share = &shares[i];
		enum xf_frame_kind kind = xf_calltree_kind(tree, share->frame);
		char count[32];

		if (!is_function(kind) ||
		    (kind == XF_FRAME_IDLE && is_domain(view->profile, share->frame)) ||
		    !takes_line(view, share->total))
			continue;
		write_percent(view, share->self);
		write_percent(view, share->total);
		fprintf(view->out, "%12s  ", xf_text_count(share->self, count));
		xf_text_write(view->out, xf_calltree_name(tree, share->frame), "");
		fputc('\n', view->out);
	}
	end_view(view);
	free(shares);
	return 0;
}

/* Before anything is written. */
static int check_function(const struct xf_profile *profile, const char *name,
                          struct xf_error *error)
{
	for (size_t f = 1; name && f < xf_calltree_nr_frames(profile->tree); f++) {
		struct xf_frame_id frame = {.index = (uint32_t)f};

		if (xf_symbol_goes_by(xf_calltree_name(profile->tree, frame), name))
			return 0;
	}
	return name ? xf_fail(error, -ENOENT, "no sample is in a function named \"%.200s\"", name)
	            : 0;
}

/* The neighbours of every frame that goes by @name. */
static int write_neighbours(struct view *view, const char *name, bool callers,
                            struct xf_error *error)
{
	const struct xf_calltree *tree = view->profile->tree;

	for (size_t f = 1; f < xf_calltree_nr_frames(tree); f++) {
		struct xf_frame_id frame = {.index = (uint32_t)f};
		struct xf_share *shares;
		size_t nr;
		int code;

		if (!xf_symbol_goes_by(xf_calltree_name(tree, frame), name))
			continue;
		code = callers ? xf_shares_callers(tree, frame, &shares, &nr)
		               : xf_shares_callees(tree, frame, &shares, &nr);
		if (code)
			return xf_fail(error, code, "no memory for the report");
		fprintf(view->out, "\n%s ", callers ? "Callers of" : "Callees of");
		xf_text_write(view->out, xf_calltree_name(tree, frame), "");
		fputs("\n   Share     Samples  Function\n", view->out);
		for (size_t i = 0; i < nr; i++) {
			char count[32];

			if (!takes_line(view, shares[i].total))
				continue;
			write_percent(view, shares[i].total);
			fprintf(view->out, "%12s  ", xf_text_count(shares[i].total, count));
			xf_text_write(view->out,
			              shares[i].frame.index ? name_of(view, shares[i].frame)
			              : callers             ? "(nobody)"
			                                    : "(itself)",
			              "");
			fputc('\n', view->out);
		}
		end_view(view);
		free(shares);
	}
	return 0;
}

/* ---- Trees ----------------------------------------------------------------------------------- */

/* Children of @node that get a line: most samples first. */
struct branch {
	struct xf_node_id node;
	uint64_t total;
	uint32_t order;
	bool only; /* it has all of its caller's samples */
};

static int compare_branches(const void *left, const void *right)
{
	const struct branch *a = left;
	const struct branch *b = right;

	if (a->total != b->total)
		return a->total < b->total ? -1 : 1; /* the last one is popped first */
	return a->order > b->order ? -1 : a->order < b->order;
}

struct branches {
	struct branch *items; /* a stack: what is still to be written */
	uint32_t *indent;     /* of each node */
	size_t nr;
};

static void push_children(struct view *view, const struct xf_calltree *tree, struct xf_node_id node,
                          struct branches *branches)
{
	const struct xf_node_id *children;
	size_t nr = xf_calltree_children(tree, node, &children);
	size_t first = branches->nr;

	for (size_t i = 0; i < nr; i++) {
		uint64_t total = xf_calltree_node(tree, children[i])->total;

		if (xf_percent(total, view->profile->samples) < view->options->percent_limit) {
			view->left_out++;
			continue;
		}
		branches->items[branches->nr++] = (struct branch){
		        .node = children[i],
		        .total = total,
		        .order = (uint32_t)i,
		        .only = node.index && total == xf_calltree_node(tree, node)->total};
	}
	qsort(branches->items + first, branches->nr - first, sizeof(*branches->items),
	      compare_branches);
	/* What takes all of its caller's samples stays in its column, behind a '>': deep stacks
	   keep within the screen's width. */
	for (size_t i = first; i < branches->nr; i++)
		branches->indent[branches->items[i].node.index] =
		        branches->indent[node.index] + (node.index && !branches->items[i].only);
}

static int write_tree(struct view *view, const struct xf_calltree *tree, const char *title)
{
	size_t nodes = xf_calltree_nr_nodes(tree);
	struct branches branches = {.items = calloc(nodes, sizeof(*branches.items)),
	                            .indent = calloc(nodes, sizeof(*branches.indent))};

	if (!branches.items || !branches.indent) {
		free(branches.items);
		free(branches.indent);
		return -ENOMEM;
	}
	fprintf(view->out, "\n%s\n   Total    Self  Function\n", title);
	push_children(view, tree, XF_CALLTREE_ROOT, &branches);
	while (branches.nr) {
		struct branch branch = branches.items[--branches.nr];
		const struct xf_node *node = xf_calltree_node(tree, branch.node);

		if (view->options->lines && view->written >= view->options->lines) {
			view->left_out++;
			continue;
		}
		view->written++;
		write_percent(view, node->total);
		write_percent(view, node->self);
		fprintf(view->out, "  %*s%s", (int)branches.indent[branch.node.index] * 2, "",
		        branch.only ? "> " : "");
		xf_text_write(view->out, xf_calltree_name(tree, node->frame), "");
		fputc('\n', view->out);
		push_children(view, tree, branch.node, &branches);
	}
	end_view(view);
	free(branches.items);
	free(branches.indent);
	return 0;
}

static int write_inverted(struct view *view)
{
	struct xf_calltree *inverted;
	int code = xf_calltree_invert(view->profile->tree, &inverted);

	if (code)
		return code;
	code = write_tree(view, inverted,
	                  "Call tree, from the innermost functions to their callers");
	xf_calltree_free(inverted);
	return code;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void write_fact(FILE *out, const char *label, const char *text)
{
	if (!text[0])
		return;
	fprintf(out, "%-10s ", label);
	xf_text_write(out, text, "");
	fputc('\n', out);
}

static void write_header(FILE *out, const struct xf_profile *profile)
{
	struct xf_facts facts;

	xf_facts_of(profile, &facts);
	write_fact(out, "Host", facts.host);
	write_fact(out, "Recorded", facts.recorded);
	write_fact(out, "Samples", facts.samples);
	write_fact(out, "Quality", facts.quality);
	write_fact(out, "Note", facts.notes);
}

int xf_report_write(FILE *out, const struct xf_profile *profile,
                    const struct xf_report_options *options, struct xf_error *error)
{
	struct view view = {.out = out, .profile = profile, .options = options};
	int code = check_function(profile, options->callers, error);

	if (!code)
		code = check_function(profile, options->callees, error);
	if (code)
		return code;
	if (options->header)
		write_header(out, profile);
	if (options->views & XF_REPORT_SUMMARY)
		code = write_rows(&view, XF_REPORT_SUMMARY, "Where the CPUs' time went");
	if (!code && options->views & XF_REPORT_FUNCTIONS)
		code = write_functions(&view);
	if (!code && options->views & XF_REPORT_VCPUS)
		code = write_rows(&view, XF_REPORT_VCPUS, "By vCPU");
	if (!code && options->views & XF_REPORT_PCPUS)
		code = write_rows(&view, XF_REPORT_PCPUS, "By pCPU");
	if (!code && options->views & XF_REPORT_CALLERS_FIRST)
		code = write_tree(&view, profile->tree,
		                  "Call tree, from the outermost functions inwards");
	if (!code && options->views & XF_REPORT_CALLEES_FIRST)
		code = write_inverted(&view);
	if (code)
		return xf_fail(error, code, "no memory for the report");
	if (options->callers)
		code = write_neighbours(&view, options->callers, true, error);
	if (!code && options->callees)
		code = write_neighbours(&view, options->callees, false, error);
	return code;
}
