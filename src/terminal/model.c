// SPDX-License-Identifier: GPL-2.0-or-later
#include "terminal/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "terminal/internal.h"
#include "terminal/typing.h"

/* What 's' goes through. */
static const enum xf_sort_key orders[] = {XF_SORT_SELF, XF_SORT_TOTAL, XF_SORT_NAME};
#define ORDERS (sizeof(orders) / sizeof(orders[0]))

bool xf_model_matches(const struct xf_model *model, const char *name)
{
	const char *filter = model->filters[model->page];

	return !filter[0] || strcasestr(name, filter);
}

/* ---- What is selected ------------------------------------------------------------------------ */

bool xf_model_can_select(const struct xf_model *model, size_t index)
{
	return model->page == XF_PAGE_HELP ||
	       (model->items[index].role != ITEM_HEADING && model->items[index].role != ITEM_TEXT);
}

/* Selects @wanted, or what is nearest to it in that direction, or in the other one. */
static void move_to(struct xf_model *model, size_t wanted, bool down)
{
	size_t index = wanted < model->nr ? wanted : model->nr ? model->nr - 1 : 0;

	for (int turn = 0; turn < 2; turn++, down = !down) {
		for (size_t i = index; i < model->nr; i += down ? 1 : SIZE_MAX) {
			if (!xf_model_can_select(model, i))
				continue;
			model->selected = i;
			return;
		}
	}
	model->selected = 0;
}

/* The selected line is on the screen, and the screen is full where there are as many lines. What
   stands above the first line that can be selected is shown with it. */
static void scroll(struct xf_model *model)
{
	size_t last = model->nr > model->rows ? model->nr - model->rows : 0;

	if (model->page == XF_PAGE_HELP)
		model->top = model->selected;
	if (model->selected < model->top)
		model->top = model->selected;
	if (model->selected >= model->top + model->rows)
		model->top = model->selected - model->rows + 1;
	if (model->top > last)
		model->top = last;
	if (model->top && model->selected == model->top &&
	    !xf_model_can_select(model, model->top - 1))
		model->top--;
}

static void move_by(struct xf_model *model, size_t lines, bool down)
{
	/* Help has no lines to select: it scrolls. */
	size_t from = model->page == XF_PAGE_HELP ? model->top : model->selected;

	if (down)
		move_to(model, from + lines, true);
	else
		move_to(model, from > lines ? from - lines : 0, false);
}

static const struct item *selected_item(const struct xf_model *model)
{
	return model->selected < model->nr && xf_model_can_select(model, model->selected)
	               ? &model->items[model->selected]
	               : NULL;
}

/* ---- Pages ----------------------------------------------------------------------------------- */

static enum xf_wish refill(struct xf_model *model)
{
	size_t selected = model->selected;

	if (xf_model_fill(model))
		return XF_WISH_GIVE_UP;
	move_to(model, selected, true);
	scroll(model);
	return XF_WISH_DRAW;
}

static enum xf_wish enter_page(struct xf_model *model, enum xf_page page, struct xf_frame_id frame)
{
	if (model->nr_way == PLACES) {
		memmove(model->way, model->way + 1, (PLACES - 1) * sizeof(*model->way));
		model->nr_way--;
	}
	model->way[model->nr_way++] = (struct place){.page = model->page,
	                                             .frame = model->frame,
	                                             .selected = model->selected,
	                                             .top = model->top};
	model->page = page;
	model->frame = frame;
	model->selected = model->top = model->shift = 0;
	if (page == XF_PAGE_SANDWICH)
		model->filters[page][0] = 0;
	return refill(model);
}

static enum xf_wish turn_to(struct xf_model *model, enum xf_page page)
{
	const struct item *item = selected_item(model);
	struct xf_frame_id frame = model->frame;

	if (page == model->page)
		return XF_WISH_DRAW;
	if (page == XF_PAGE_SANDWICH && item && item->frame.index && item->role != ITEM_ROW)
		frame = item->frame;
	return enter_page(model, page, frame);
}

static enum xf_wish go_back(struct xf_model *model)
{
	const struct place *place = &model->way[--model->nr_way];

	model->page = place->page;
	model->frame = place->frame;
	model->selected = place->selected;
	model->top = place->top;
	model->shift = 0;
	return refill(model);
}

static enum xf_wish select_samples(struct xf_model *model, const char *domain, uint32_t pcpu)
{
	char *copy = domain ? strdup(domain) : NULL;

	if (domain && !copy)
		return XF_WISH_GIVE_UP;
	free(model->domain);
	model->domain = copy;
	model->selection.domain = copy;
	model->selection.pcpu = pcpu;
	return XF_WISH_PROFILE;
}

/* One step back. */
static enum xf_wish escape(struct xf_model *model)
{
	if (model->filters[model->page][0]) {
		model->filters[model->page][0] = 0;
		return refill(model);
	}
	if (model->nr_way)
		return go_back(model);
	if (model->selection.domain || model->selection.pcpu != XF_ANY_PCPU)
		return select_samples(model, NULL, XF_ANY_PCPU);
	return XF_WISH_LEAVE;
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static enum xf_wish open_row(struct xf_model *model, const struct item *item)
{
	if (item->by == XF_BY_PCPU)
		return select_samples(model, model->selection.domain, item->number);
	if (item->by == XF_BY_KIND)
		return XF_WISH_DRAW;
	return select_samples(model, xf_calltree_name(model->profile->tree, item->frame),
	                      model->selection.pcpu);
}

static enum xf_wish open_node(struct xf_model *model, const struct item *item, bool toggle)
{
	if (item->mark == '+')
		xf_model_open(model, item->node);
	else if (toggle)
		xf_model_close(model, item->node);
	return refill(model);
}

static enum xf_wish close_node(struct xf_model *model, const struct item *item)
{
	const struct xf_calltree *tree = xf_model_tree(model);
	uint32_t parent = xf_calltree_node(tree, item->node)->parent.index;

	if (item->mark == '-') {
		xf_model_close(model, item->node);
		return refill(model);
	}
	for (size_t i = model->selected; i-- > 0;) {
		if (model->items[i].node.index != parent)
			continue;
		model->selected = i;
		break;
	}
	scroll(model);
	return XF_WISH_DRAW;
}

static enum xf_wish press_enter(struct xf_model *model)
{
	const struct item *item = selected_item(model);

	if (model->page == XF_PAGE_HELP)
		return go_back(model);
	if (!item)
		return XF_WISH_DRAW;
	switch (item->role) {
	case ITEM_ROW:
		return open_row(model, item);
	case ITEM_NODE:
		return open_node(model, item, true);
	default:
		if (!item->frame.index ||
		    (model->page == XF_PAGE_SANDWICH && item->frame.index == model->frame.index))
			return XF_WISH_DRAW;
		return enter_page(model, XF_PAGE_SANDWICH, item->frame);
	}
}

static enum xf_wish press_in_tree(struct xf_model *model, uint32_t key)
{
	const struct item *item = selected_item(model);

	if (key == 'i') {
		model->inverted = !model->inverted;
		model->selected = model->top = 0;
		return refill(model);
	}
	if (!item)
		return XF_WISH_DRAW;
	switch (key) {
	case XF_KEY_RIGHT:
	case '+':
		return open_node(model, item, false);
	case XF_KEY_LEFT:
	case '-':
		return close_node(model, item);
	case 'e':
		xf_model_open_all(model, item->node);
		return refill(model);
	case 'f':
		return enter_page(model, XF_PAGE_SANDWICH, item->frame);
	default:
		return XF_WISH_DRAW;
	}
}

static enum xf_wish next_order(struct xf_model *model)
{
	size_t order = 0;

	while (order + 1 < ORDERS && orders[order] != model->sort.keys[0])
		order++;
	model->sort.keys[0] = orders[(order + 1) % ORDERS];
	model->selected = model->top = 0;
	return refill(model);
}

static enum xf_wish press_other(struct xf_model *model, uint32_t key)
{
	switch (key) {
	case '1':
	case '2':
	case '3':
	case '4':
		return turn_to(model, (enum xf_page)(key - '1'));
	case XF_KEY_TAB:
		return turn_to(model, (enum xf_page)((model->page + 1) % XF_PAGE_HELP));
	case '?':
		return turn_to(model, XF_PAGE_HELP);
	case '/':
		model->typing = model->page != XF_PAGE_HELP;
		return XF_WISH_DRAW;
	case 's':
		return next_order(model);
	case '>':
		model->shift += 8;
		return XF_WISH_DRAW;
	case '<':
		model->shift -= model->shift ? 8 : 0;
		return XF_WISH_DRAW;
	case XF_KEY_ENTER:
		return press_enter(model);
	case XF_KEY_ESCAPE:
		return escape(model);
	case 'q':
		return XF_WISH_LEAVE;
	default:
		return model->page == XF_PAGE_TREE ? press_in_tree(model, key) : XF_WISH_DRAW;
	}
}

/* Return: whether @key moves; it has done so. */
static bool press_to_move(struct xf_model *model, uint32_t key)
{
	switch (key) {
	case XF_KEY_UP:
	case 'k':
		move_by(model, 1, false);
		break;
	case XF_KEY_DOWN:
	case 'j':
		move_by(model, 1, true);
		break;
	case XF_KEY_PAGE_UP:
		move_by(model, model->rows, false);
		break;
	case XF_KEY_PAGE_DOWN:
	case ' ':
		move_by(model, model->rows, true);
		break;
	case XF_KEY_HOME:
	case 'g':
		move_to(model, 0, true);
		break;
	case XF_KEY_END:
	case 'G':
		move_to(model, SIZE_MAX, false);
		break;
	default:
		return false;
	}
	scroll(model);
	return true;
}

/* ---- The filter ------------------------------------------------------------------------------ */

static enum xf_wish press_to_type(struct xf_model *model, uint32_t key)
{
	enum xf_typed typed = xf_type(model->filters[model->page], key);

	if (typed == XF_TYPED_OTHER) {
		if (press_to_move(model, key))
			model->typing = false;
		return XF_WISH_DRAW;
	}
	model->typing = typed == XF_TYPED_MORE;
	if (typed == XF_TYPED_DONE)
		return XF_WISH_DRAW;
	model->selected = model->top = 0;
	return refill(model);
}

enum xf_wish xf_model_press(struct xf_model *model, uint32_t key)
{
	if (model->typing)
		return press_to_type(model, key);
	return press_to_move(model, key) ? XF_WISH_DRAW : press_other(model, key);
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

int xf_model_show(struct xf_model *model, const struct xf_profile *profile)
{
	xf_model_forget(model);
	model->profile = profile;
	xf_facts_of(profile, &model->facts);
	model->page = XF_PAGE_FUNCTIONS;
	model->frame = (struct xf_frame_id){0};
	model->nr_way = 0;
	model->selected = model->top = model->shift = 0;
	for (size_t i = 0; i < XF_PAGES; i++)
		model->filters[i][0] = 0;
	return refill(model) == XF_WISH_DRAW ? 0 : -ENOMEM;
}

int xf_model_new(const struct xf_profile *profile, const struct xf_profile_options *selection,
                 struct xf_model **model)
{
	struct xf_model *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	made->rows = 1;
	made->sort = (struct xf_sort){.keys = {XF_SORT_SELF, XF_SORT_TOTAL}, .nr = 2};
	made->selection = *selection;
	if (selection->domain &&
	    select_samples(made, selection->domain, selection->pcpu) == XF_WISH_GIVE_UP) {
		free(made);
		return -ENOMEM;
	}
	if (xf_model_show(made, profile)) {
		xf_model_free(made);
		return -ENOMEM;
	}
	*model = made;
	return 0;
}

void xf_model_free(struct xf_model *model)
{
	if (!model)
		return;
	xf_model_forget(model);
	free(model->domain);
	free(model->items);
	free(model);
}

const struct xf_profile_options *xf_model_selection(const struct xf_model *model)
{
	return &model->selection;
}

void xf_model_resize(struct xf_model *model, size_t rows)
{
	model->rows = rows ? rows : 1;
	scroll(model);
}
