// SPDX-License-Identifier: GPL-2.0-or-later
/* What the files of the model share. */
#ifndef XF_TERMINAL_INTERNAL_H
#define XF_TERMINAL_INTERNAL_H

#include "profile/breakdown.h"
#include "profile/outline.h"
#include "terminal/model.h"

enum item_role {
	ITEM_TEXT, /* a line of help, or an empty one */
	ITEM_HEADING,
	ITEM_FUNCTION, /* self, total */
	ITEM_NEIGHBOUR,
	ITEM_NODE,
	ITEM_ROW,
	ITEM_TIMES, /* what Xen's scheduler did with a domain's vCPUs */
};

struct item {
	enum item_role role;
	const char *text; /* of the first two, and where there is no frame */
	struct xf_frame_id frame;
	struct xf_node_id node;
	uint64_t self;
	uint64_t total;
	struct xf_profile_counts counts;
	enum xf_breakdown_by by;
	enum xf_frame_kind kind;
	uint32_t number;
	size_t first; /* of the vCPUs' times */
	uint32_t indent;
	char mark; /* '+' closed, '-' open, ' ' */
};

struct place {
	enum xf_page page;
	struct xf_frame_id frame; /* that the sandwich is of */
	size_t selected;
	size_t top;
};
#define PLACES 64u /* the way back; longer ones lose their beginning */

struct tree_state {
	struct xf_calltree *inverted; /* owned; NULL: the profile's own tree */
	bool *open;
	bool *keep; /* by the filter; not valid without one */
	bool *shown_open;
};

struct xf_model {
	const struct xf_profile *profile;
	struct xf_facts facts;
	struct xf_profile_options selection;
	char *domain; /* what selection.domain points to; NULL: nothing */
	char selection_text[160];
	char status[200];

	enum xf_page page;
	struct xf_frame_id frame;
	size_t selected;
	size_t top;
	size_t rows;
	size_t shift;
	struct place way[PLACES];
	size_t nr_way;

	char filters[XF_PAGES][XF_FILTER_BYTES];
	bool typing;
	struct xf_sort sort;
	bool inverted;
	struct tree_state trees[2]; /* from the outermost, from the innermost functions */

	struct item *items;
	size_t nr;
	size_t allocated;
	size_t of; /* how many there would be without the filter */
};

/* Fills in the lines of the page. Return: 0 or -ENOMEM. */
int xf_model_fill(struct xf_model *model);

/* Return: whether the line at @index can be the selected one. */
bool xf_model_can_select(const struct xf_model *model, size_t index);

/* Frees what belongs to the profile that is shown. */
void xf_model_forget(struct xf_model *model);

/* ---- The tree -------------------------------------------------------------------------------- */

/* Return: the tree of the page, made if need be; NULL without memory. */
const struct xf_calltree *xf_model_tree(struct xf_model *model);

/* Opens @node and what follows in its column. */
void xf_model_open(struct xf_model *model, struct xf_node_id node);
void xf_model_open_all(struct xf_model *model, struct xf_node_id node);
void xf_model_close(struct xf_model *model, struct xf_node_id node);

/* Marks what the filter keeps. Return: 0 or -ENOMEM. */
int xf_model_filter_tree(struct xf_model *model);

/* ---- The filter ------------------------------------------------------------------------------ */

/* Whether the page's filter lets @name through. */
bool xf_model_matches(const struct xf_model *model, const char *name);

/* Return: samples with a frame that the filter lets through. */
uint64_t xf_model_matched(const struct xf_model *model);

extern const char *const xf_help_lines[];

#endif
