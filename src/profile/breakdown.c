// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/breakdown.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_keys(const void *left, const void *right)
{
	const struct xf_breakdown_row *a = left;
	const struct xf_breakdown_row *b = right;

	if (a->domain.index != b->domain.index)
		return a->domain.index < b->domain.index ? -1 : 1;
	if (a->process.index != b->process.index)
		return a->process.index < b->process.index ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* Adds up neighbours that are the same domain, process and number. Return: how many are left. */
static size_t merge_rows(struct xf_breakdown_row *rows, size_t nr)
{
	size_t last = 0;

	for (size_t i = 1; i < nr; i++) {
		if (compare_keys(&rows[last], &rows[i]) != 0) {
			rows[++last] = rows[i];
			continue;
		}
		rows[last].samples += rows[i].samples;
		rows[last].counts.guest += rows[i].counts.guest;
		rows[last].counts.guest_kernel += rows[i].counts.guest_kernel;
		rows[last].counts.xen += rows[i].counts.xen;
		rows[last].counts.idle += rows[i].counts.idle;
		rows[last].counts.other += rows[i].counts.other;
		rows[last].counts.incomplete += rows[i].counts.incomplete;
		rows[last].counts.unnamed += rows[i].counts.unnamed;
	}
	return nr ? last + 1 : 0;
}

static struct xf_breakdown_row row_of(const struct xf_profile *profile,
                                      const struct xf_profile_group *group, enum xf_breakdown_by by)
{
	const struct xf_profile_counts *counts = &group->counts;
	struct xf_breakdown_row row = {.samples = counts->guest + counts->xen + counts->idle +
	                                          counts->other,
	                               .counts = *counts,
	                               .kind = XF_FRAME_PCPU};

	if (by == XF_BY_PCPU) {
		row.number = group->pcpu;
		return row;
	}
	row.domain = group->domain;
	row.kind = xf_calltree_kind(profile->tree, group->domain);
	row.number = by == XF_BY_VCPU ? group->vcpu : 0;
	return row;
}

/* A row for each group of @profile's. Return: 0 and *@nr of them, to be freed; -ENOMEM. */
static int list_groups(const struct xf_profile *profile, enum xf_breakdown_by by,
                       struct xf_breakdown_row **made, size_t *nr)
{
	struct xf_breakdown_row *rows = calloc(profile->nr_groups + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < profile->nr_groups; i++)
		rows[i] = row_of(profile, &profile->groups[i], by);
	*made = rows;
	*nr = profile->nr_groups;
	return 0;
}

/* A row for each kind that there are samples of; likewise. */
static int count_kinds(const struct xf_calltree *tree, struct xf_breakdown_row **made, size_t *nr)
{
	struct xf_breakdown_row *rows = calloc(XF_FRAME_KINDS, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	*made = rows;
	*nr = 0;
	for (size_t kind = 0; kind < XF_FRAME_KINDS; kind++)
		rows[kind] = (struct xf_breakdown_row){.kind = (enum xf_frame_kind)kind};
	for (size_t i = 0; i < xf_calltree_nr_nodes(tree); i++) {
		const struct xf_node *node =
		        xf_calltree_node(tree, (struct xf_node_id){.index = (uint32_t)i});

		rows[xf_calltree_kind(tree, node->frame)].samples += node->self;
	}
	for (size_t kind = 0; kind < XF_FRAME_KINDS; kind++) {
		if (rows[kind].samples)
			rows[(*nr)++] = rows[kind];
	}
	return 0;
}

struct order {
	const struct xf_calltree *tree;
	const struct xf_sort *sort;
	enum xf_breakdown_by by;
};

static const char *row_name(const struct order *order, const struct xf_breakdown_row *row)
{
	if (order->by == XF_BY_KIND)
		return xf_frame_kind_name(row->kind);
	return xf_calltree_name(order->tree,
	                        order->by == XF_BY_PROCESS ? row->process : row->domain);
}

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct xf_breakdown_row *a = left;
	const struct xf_breakdown_row *b = right;
	const struct order *order = context;
	static const struct xf_sort by_samples = {.keys = {XF_SORT_SAMPLES}, .nr = 1};
	static const struct xf_sort by_name = {0};
	bool idle_a = order->by != XF_BY_KIND && a->kind == XF_FRAME_IDLE;
	bool idle_b = order->by != XF_BY_KIND && b->kind == XF_FRAME_IDLE;
	const struct xf_sort *sort = order->sort->nr           ? order->sort
	                             : order->by == XF_BY_PCPU ? &by_name
	                                                       : &by_samples;
	int result;

	if (!order->sort->nr && idle_a != idle_b)
		return idle_a ? 1 : -1;
	result = xf_sort_compare(sort,
	                         &(struct xf_sort_line){.self = a->samples,
	                                                .total = a->samples,
	                                                .samples = a->samples,
	                                                .name = row_name(order, a),
	                                                .kind = a->kind},
	                         &(struct xf_sort_line){.self = b->samples,
	                                                .total = b->samples,
	                                                .samples = b->samples,
	                                                .name = row_name(order, b),
	                                                .kind = b->kind});
	return result ? result : compare_keys(a, b);
}

int xf_breakdown(const struct xf_profile *profile, enum xf_breakdown_by by,
                 const struct xf_sort *sort, struct xf_breakdown_row **rows, size_t *nr)
{
	struct order order = {.tree = profile->tree, .sort = sort, .by = by};
	int code = by == XF_BY_KIND      ? count_kinds(profile->tree, rows, nr)
	           : by == XF_BY_PROCESS ? xf_breakdown_processes(profile, rows, nr)
	                                 : list_groups(profile, by, rows, nr);

	if (code)
		return code;
	if (by != XF_BY_KIND) {
		qsort(*rows, *nr, sizeof(**rows), compare_keys);
		*nr = merge_rows(*rows, *nr);
	}
	qsort_r(*rows, *nr, sizeof(**rows), compare_rows, &order);
	return 0;
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

int xf_breakdown_functions(const struct xf_profile *profile, const struct xf_sort *sort,
                           struct xf_share **shares, size_t *nr)
{
	const struct xf_calltree *tree = profile->tree;
	size_t all, kept = 0;
	int code = xf_shares_functions(tree, shares, &all);

	if (code)
		return code;
	for (size_t i = 0; i < all; i++) {
		struct xf_share share = (*shares)[i];
		enum xf_frame_kind kind = xf_calltree_kind(tree, share.frame);

		if (!xf_frame_is_function(kind) ||
		    (kind == XF_FRAME_IDLE && is_domain(profile, share.frame)))
			continue;
		(*shares)[kept++] = share;
	}
	xf_shares_sort(tree, sort, *shares, kept);
	*nr = kept;
	return 0;
}
