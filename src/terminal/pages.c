// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "terminal/internal.h"

const char *const xf_help_lines[] = {
        "Pages",
        "  1, 2, 3, 4      functions; callers and callees; call tree; domains and CPUs",
        "  Tab             the next one",
        "  Esc             one step back: out of the filter, to the page before, out of",
        "                  a domain or CPU, and at last out of xenflame",
        "  q               out of xenflame",
        "",
        "Moving",
        "  Up Down j k     a line; PgUp PgDn a screen; Home End g G first and last",
        "  < >             moves long names to the left and back",
        "",
        "Finding",
        "  /               filter: lines whose name has what is typed, in whatever case;",
        "                  Enter keeps it, Esc takes it away. A call tree keeps what the",
        "                  matching functions were called by, and what they called",
        "  s               order: by self, by total, by name",
        "",
        "Functions, callers and callees",
        "  Enter           the callers and callees of this function",
        "",
        "Call tree",
        "  Right + Enter   opens a function, and what follows while there is one way only",
        "  Left -          closes it, or goes to its caller",
        "  e               opens all that stands under it",
        "  i               turns the tree over: from the innermost functions outwards",
        "  f               the callers and callees of this function",
        "",
        "Domains and CPUs",
        "  Enter           shows only this domain, or pCPU, on all pages",
        "",
        "Self is time in the function itself, total with all that it called. Shares are",
        "of all samples shown, idle ones included.",
        NULL,
};

/* Each list's own. */
static const struct xf_sort own_order = {.nr = 0};

/* ---- Lines ----------------------------------------------------------------------------------- */

static int add(struct xf_model *model, const struct item *item)
{
	size_t wanted = model->allocated ? model->allocated * 2 : 256;
	struct item *grown;

	if (model->nr == model->allocated) {
		grown = reallocarray(model->items, wanted, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		model->items = grown;
		model->allocated = wanted;
	}
	model->items[model->nr++] = *item;
	return 0;
}

static int add_text(struct xf_model *model, enum item_role role, const char *text)
{
	return add(model, &(struct item){.role = role, .text = text});
}

static const char *name_of(const struct xf_model *model, struct xf_frame_id frame)
{
	return xf_calltree_name(model->profile->tree, frame);
}

/* What passes the filter; counts the rest too. */
static int add_share(struct xf_model *model, enum item_role role, const struct xf_share *share,
                     const char *nobody)
{
	struct item item = {.role = role,
	                    .frame = share->frame,
	                    .text = share->frame.index ? NULL : nobody,
	                    .self = share->self,
	                    .total = share->total,
	                    .kind = xf_calltree_kind(model->profile->tree, share->frame)};

	model->of++;
	if (!xf_model_matches(model, item.text ? item.text : name_of(model, share->frame)))
		return 0;
	return add(model, &item);
}

static int fill_functions(struct xf_model *model)
{
	struct xf_share *shares;
	size_t nr;
	int code = xf_breakdown_functions(model->profile, &model->sort, &shares, &nr);

	if (code)
		return code;
	for (size_t i = 0; !code && i < nr; i++)
		code = add_share(model, ITEM_FUNCTION, &shares[i], NULL);
	free(shares);
	return code;
}

/* ---- Callers and callees --------------------------------------------------------------------- */

static int fill_neighbours(struct xf_model *model, bool callers)
{
	const struct xf_calltree *tree = model->profile->tree;
	struct xf_share *shares;
	size_t nr;
	int code = callers ? xf_shares_callers(tree, model->frame, &shares, &nr)
	                   : xf_shares_callees(tree, model->frame, &shares, &nr);

	if (code)
		return code;
	if (model->sort.keys[0] == XF_SORT_NAME)
		xf_shares_sort(tree, &model->sort, shares, nr);
	code = add_text(model, ITEM_HEADING, callers ? "Called by" : "Calls");
	for (size_t i = 0; !code && i < nr; i++)
		code = add_share(model, ITEM_NEIGHBOUR, &shares[i],
		                 callers ? "(nobody)" : "(itself)");
	free(shares);
	return code;
}

static int fill_itself(struct xf_model *model)
{
	struct xf_share *shares;
	size_t nr;
	int code = xf_shares_functions(model->profile->tree, &shares, &nr);

	if (code)
		return code;
	for (size_t i = 0; !code && i < nr; i++) {
		if (shares[i].frame.index != model->frame.index)
			continue;
		model->of++;
		code = add(model, &(struct item){.role = ITEM_FUNCTION,
		                                 .frame = model->frame,
		                                 .self = shares[i].self,
		                                 .total = shares[i].total,
		                                 .kind = xf_calltree_kind(model->profile->tree,
		                                                          model->frame)});
	}
	free(shares);
	return code;
}

static int fill_sandwich(struct xf_model *model)
{
	int code;

	if (!model->frame.index)
		return add_text(model, ITEM_TEXT,
		                "No function is chosen: Enter on one of page 1 does that.");
	code = fill_neighbours(model, true);
	if (!code)
		code = add_text(model, ITEM_HEADING, "The function");
	if (!code)
		code = fill_itself(model);
	return code ? code : fill_neighbours(model, false);
}

/* ---- The tree -------------------------------------------------------------------------------- */

static int fill_tree(struct xf_model *model)
{
	const struct xf_calltree *tree = xf_model_tree(model);
	struct tree_state *state = &model->trees[model->inverted];
	bool filtered = model->filters[XF_PAGE_TREE][0];
	struct xf_outline_options options = {.sort = &own_order, .open = state->open};
	struct xf_outline outline;
	int code = tree ? 0 : -ENOMEM;

	if (!code && filtered)
		code = xf_model_filter_tree(model);
	if (code)
		return code;
	options.open = filtered ? state->shown_open : state->open;
	options.keep = filtered ? state->keep : NULL;
	code = xf_outline_make(tree, &options, &outline);
	if (code)
		return code;
	model->of = xf_calltree_nr_nodes(tree) - 1;
	for (size_t i = 0; !code && i < outline.nr; i++) {
		const struct xf_outline_line *line = &outline.lines[i];
		const struct xf_node *node = xf_calltree_node(tree, line->node);

		code = add(model, &(struct item){.role = ITEM_NODE,
		                                 .node = line->node,
		                                 .frame = node->frame,
		                                 .self = node->self,
		                                 .total = node->total,
		                                 .kind = xf_calltree_kind(tree, node->frame),
		                                 .indent = line->indent,
		                                 .mark = !line->parent                    ? ' '
		                                         : options.open[line->node.index] ? '-'
		                                                                          : '+'});
	}
	free(outline.lines);
	return code;
}

/* ---- Domains and CPUs ------------------------------------------------------------------------ */

/* Return: what a row goes by; NULL: its domain. */
static const char *text_of(const struct xf_model *model, enum xf_breakdown_by by,
                           const struct xf_breakdown_row *row)
{
	if (by == XF_BY_PCPU)
		return "pCPU";
	if (by == XF_BY_KIND)
		return xf_frame_kind_name(row->kind);
	return row->process.index ? name_of(model, row->process) : NULL;
}

static int add_row(struct xf_model *model, enum xf_breakdown_by by,
                   const struct xf_breakdown_row *row)
{
	struct item item = {.role = ITEM_ROW,
	                    .by = by,
	                    .frame = row->domain,
	                    .text = text_of(model, by, row),
	                    .total = row->samples,
	                    .counts = row->counts,
	                    .kind = row->kind,
	                    .number = row->number};

	model->of++;
	if (!xf_model_matches(model, item.text ? item.text : name_of(model, row->domain)))
		return 0;
	return add(model, &item);
}

static int fill_rows(struct xf_model *model, enum xf_breakdown_by by, const char *heading)
{
	struct xf_breakdown_row *rows;
	size_t nr;
	int code = xf_breakdown(model->profile, by, &own_order, &rows, &nr);

	if (code)
		return code;
	code = add_text(model, ITEM_HEADING, heading);
	for (size_t i = 0; !code && i < nr; i++)
		code = add_row(model, by, &rows[i]);
	free(rows);
	return code;
}

static int fill_times(struct xf_model *model)
{
	const struct xf_vcpu_times *times = &model->profile->vcpu_times;
	struct xf_vcpu_time sum;
	size_t first, nr;
	int code = 0;

	if (times->nr)
		code = add_text(
		        model, ITEM_HEADING,
		        " Running Waiting Blocked Offline Unknown  What Xen's scheduler did");
	for (first = 0; !code && first < times->nr; first += nr) {
		nr = xf_vcpu_times_domain(times, first, &sum);
		if (sum.domid == XF_DOMID_IDLE)
			continue;
		model->of++;
		if (xf_model_matches(model, sum.domain))
			code = add(model, &(struct item){.role = ITEM_TIMES,
			                                 .first = first,
			                                 .text = sum.domain,
			                                 .kind = XF_FRAME_DOMAIN,
			                                 .number = (uint32_t)nr});
	}
	return code;
}

static int fill_breakdown(struct xf_model *model)
{
	bool cpus = !model->profile->without_cpus;
	int code = fill_rows(model, XF_BY_DOMAIN, "Domains");

	if (!code)
		code = fill_times(model);
	if (!code && cpus)
		code = fill_rows(model, XF_BY_PCPU, "Physical CPUs");
	if (!code && cpus)
		code = fill_rows(model, XF_BY_VCPU, "Virtual CPUs");
	if (!code && model->profile->counts.processes)
		code = fill_rows(model, XF_BY_PROCESS, "Processes");
	return code ? code : fill_rows(model, XF_BY_KIND, "What was running");
}

static int fill_help(struct xf_model *model)
{
	int code = 0;

	for (size_t i = 0; !code && xf_help_lines[i]; i++)
		code = add_text(model,
		                xf_help_lines[i][0] >= 'A' && !strchr(xf_help_lines[i], '.')
		                        ? ITEM_HEADING
		                        : ITEM_TEXT,
		                xf_help_lines[i]);
	return code;
}

int xf_model_fill(struct xf_model *model)
{
	static int (*const fill[XF_PAGES])(struct xf_model * model) = {
	        [XF_PAGE_FUNCTIONS] = fill_functions, [XF_PAGE_SANDWICH] = fill_sandwich,
	        [XF_PAGE_TREE] = fill_tree,           [XF_PAGE_BREAKDOWN] = fill_breakdown,
	        [XF_PAGE_HELP] = fill_help,
	};

	int code;

	model->nr = model->of = 0;
	code = fill[model->page](model);
	if (code || !model->filters[model->page][0])
		return code;
	for (size_t i = 0; i < model->nr; i++) {
		if (model->items[i].role > ITEM_HEADING)
			return 0;
	}
	model->nr = 0;
	return add_text(model, ITEM_TEXT,
	                "No name here has that in it; Esc takes the filter away.");
}
