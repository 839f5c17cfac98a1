// SPDX-License-Identifier: GPL-2.0-or-later
/* What is on the screen, as text. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "output/text.h"
#include "terminal/internal.h"

static void percent(char *text, size_t size, uint64_t part, uint64_t whole)
{
	if (part)
		snprintf(text, size, "%7.2f%%", xf_percent(part, whole));
	else
		snprintf(text, size, "%8s", "-");
}

/* Lines of deep trees begin in the middle of the screen at most. */
#define INDENT_MAX 20

static void write_numbers(const struct xf_model *model, const struct item *item,
                          struct xf_model_line *line)
{
	uint64_t whole = model->profile->samples;
	char a[16], b[16], c[16], d[16], count[32];
	unsigned int indent = item->indent < INDENT_MAX ? item->indent : INDENT_MAX;

	percent(a, sizeof(a), item->self, whole);
	percent(b, sizeof(b), item->total, whole);
	switch (item->role) {
	case ITEM_FUNCTION:
		snprintf(line->left, sizeof(line->left), "%s%s %11s  ", a, b,
		         xf_text_count(item->self, count));
		break;
	case ITEM_NEIGHBOUR:
		snprintf(line->left, sizeof(line->left), "%8s%s %11s  ", "", b,
		         xf_text_count(item->total, count));
		break;
	case ITEM_NODE:
		snprintf(line->left, sizeof(line->left), "%s%s  %*s%c ", b, a, (int)indent * 2, "",
		         item->mark);
		break;
	default:
		percent(a, sizeof(a), item->counts.guest, whole);
		percent(c, sizeof(c), item->counts.xen, whole);
		percent(d, sizeof(d), item->counts.idle, whole);
		snprintf(line->left, sizeof(line->left), "%s %11s%s%s%s  ", b,
		         xf_text_count(item->total, count), item->by == XF_BY_KIND ? "" : a,
		         item->by == XF_BY_KIND ? "" : c, item->by == XF_BY_KIND ? "" : d);
	}
}

static void write_times(const struct xf_model *model, const struct item *item,
                        struct xf_model_line *line)
{
	struct xf_vcpu_time sum;
	uint64_t whole;
	char text[XF_RUNSTATES + 1][16];

	xf_vcpu_times_domain(&model->profile->vcpu_times, item->first, &sum);
	whole = xf_vcpu_time_whole(&sum);
	for (size_t i = 0; i < XF_RUNSTATES; i++)
		percent(text[i], sizeof(text[i]), sum.time[i], whole);
	percent(text[XF_RUNSTATES], sizeof(text[0]), sum.unknown, whole);
	snprintf(line->left, sizeof(line->left), "%s%s%s%s%s  ", text[0], text[1], text[2], text[3],
	         text[4]);
	snprintf(line->right, sizeof(line->right), ", %" PRIu32 " vCPU%s", item->number,
	         item->number == 1 ? "" : "s");
}

void xf_model_line(const struct xf_model *model, size_t index, struct xf_model_line *line)
{
	const struct item *item = &model->items[index];

	*line = (struct xf_model_line){
	        .name = item->text, .heading = item->role == ITEM_HEADING, .kind = item->kind};
	if (item->role == ITEM_HEADING || item->role == ITEM_TEXT)
		return;
	line->coloured = true;
	if (item->role == ITEM_TIMES)
		write_times(model, item, line);
	else
		write_numbers(model, item, line);
	if (!line->name)
		line->name = xf_calltree_name(model->profile->tree, item->frame);
	if (item->role == ITEM_ROW && item->by == XF_BY_VCPU)
		snprintf(line->right, sizeof(line->right), " vCPU %" PRIu32, item->number);
	if (item->role == ITEM_ROW && item->by == XF_BY_PROCESS && item->text)
		snprintf(line->right, sizeof(line->right), " in %s",
		         xf_calltree_name(model->profile->tree, item->frame));
	if (item->role == ITEM_ROW && item->by == XF_BY_PCPU)
		snprintf(line->right, sizeof(line->right), " %" PRIu32, item->number);
}

static const char *heads_of(const struct xf_model *model)
{
	static const char *const heads[XF_PAGES] = {
	        [XF_PAGE_FUNCTIONS] = "    Self   Total     Samples  Function",
	        [XF_PAGE_SANDWICH] = "    Self   Total     Samples  Function",
	        [XF_PAGE_TREE] = "   Total    Self  Function",
	        [XF_PAGE_BREAKDOWN] = "   Share     Samples   Guest     Xen    Idle",
	        [XF_PAGE_HELP] = "",
	};

	return heads[model->page];
}

static const char *order_name(const struct xf_model *model)
{
	switch (model->sort.keys[0]) {
	case XF_SORT_TOTAL:
		return "total";
	case XF_SORT_NAME:
		return "name";
	default:
		return "self";
	}
}

static void tell_status(struct xf_model *model)
{
	bool functions = model->page == XF_PAGE_FUNCTIONS || model->page == XF_PAGE_SANDWICH;
	bool filtered = model->filters[model->page][0];
	char found[48] = "", matched[48] = "", order[32] = "";
	size_t lines = 0;

	for (size_t i = 0; i < model->nr; i++)
		lines += xf_model_can_select(model, i);
	if (filtered && model->page != XF_PAGE_TREE)
		snprintf(found, sizeof(found), "%zu of %zu, ", lines, model->of);
	if (filtered && model->page != XF_PAGE_BREAKDOWN)
		snprintf(matched, sizeof(matched), "in %.2f%% of samples, ",
		         xf_percent(xf_model_matched(model), model->profile->samples));
	if (functions)
		snprintf(order, sizeof(order), "by %s", order_name(model));
	if (model->page == XF_PAGE_TREE)
		snprintf(order, sizeof(order), "%s first",
		         model->inverted ? "innermost" : "outermost");
	snprintf(model->status, sizeof(model->status), "%s%s%s", found, matched, order);
	if (!order[0] && found[0])
		model->status[strlen(model->status) - 2] = 0;
}

static void tell_selection(struct xf_model *model)
{
	char pcpu[32] = "";

	if (model->selection.pcpu != XF_ANY_PCPU)
		snprintf(pcpu, sizeof(pcpu), "%spCPU %" PRIu32, model->domain ? ", " : "",
		         model->selection.pcpu);
	snprintf(model->selection_text, sizeof(model->selection_text), "%s%.100s%s",
	         model->domain ? "domain " : "", model->domain ? model->domain : "", pcpu);
}

void xf_model_screen(struct xf_model *model, struct xf_model_screen *screen)
{
	tell_status(model);
	tell_selection(model);
	*screen = (struct xf_model_screen){.page = model->page,
	                                   .facts = &model->facts,
	                                   .selection = model->selection_text,
	                                   .heads = heads_of(model),
	                                   .status = model->status,
	                                   .filter = model->filters[model->page],
	                                   .typing = model->typing,
	                                   .nr = model->nr,
	                                   .top = model->top,
	                                   .selected = model->selected,
	                                   .shift = model->shift};
	if (!model->nr || !xf_model_can_select(model, model->selected) ||
	    model->page == XF_PAGE_HELP)
		screen->selected = SIZE_MAX;
}
