// SPDX-License-Identifier: GPL-2.0-or-later
#include "terminal/top_model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "terminal/typing.h"

#define NANOSECONDS 1000000000ull

/* What '+' and '-' go through, in tenths of a second, and what may be typed. */
static const unsigned int delays[] = {5, 10, 20, 30, 50, 100, 300, 600};
#define DELAYS     (sizeof(delays) / sizeof(delays[0]))
#define MOST_DELAY 3600.0

/* What 's' goes through. */
static const enum xf_sort_key orders[] = {XF_SORT_SELF, XF_SORT_TOTAL, XF_SORT_NAME};
static const char *const order_names[] = {"self", "total", "name"};
#define ORDERS (sizeof(orders) / sizeof(orders[0]))

static const char *const help_lines[] = {
        "Pages",
        "  1 to 5          all in short; functions; dom0's processes; domains; pCPUs",
        "  Tab             the next one",
        "  q               out of xenflame, which takes the agent out of Xen",
        "",
        "Moving",
        "  Up Down j k     a line; PgUp PgDn a screen; Home End g G first and last",
        "  < >             moves long names to the left and back",
        "",
        "Time",
        "  p Space         holds the picture, and lets it go again",
        "  d               types the seconds between two pictures; + longer, - shorter",
        "",
        "Finding",
        "  / f             filter: functions, processes and domains whose name has what",
        "                  is typed, in whatever case; Enter keeps it, Esc takes it away",
        "  s               order: by self, by total, by name",
        "",
        "Shares are of all samples between two pictures, idle ones included; on a pCPU's",
        "line, of that pCPU's. Self is time in the function itself, total with all that",
        "it called. Idle functions are not listed.",
        NULL,
};

enum typing {
	TYPING_NOTHING,
	TYPING_FILTER,
	TYPING_DELAY,
};

/* A line of the page. */
struct row {
	const char *text; /* a heading, or help; NULL: a line of ... */
	enum xf_top_section section;
	size_t index;
	bool heading;
};

struct xf_top_model {
	struct xf_top_moment moment; /* of none the interval is NULL */
	struct xf_top_facts facts;
	struct xf_top_lines sections[XF_TOP_SECTIONS];
	enum xf_top_page page;
	enum xf_top_page before; /* help */
	size_t rows;
	size_t top; /* lines passed over: of the functions on the page of all */
	size_t shift;
	size_t order;
	enum typing typing;
	char filter[XF_FILTER_BYTES];
	char delay_text[XF_FILTER_BYTES];
	uint64_t delay;
	bool paused;
	struct row *shown;
	size_t nr;
	size_t allocated;
	char note[160];
	char prompt[XF_FILTER_BYTES + 16];
	char status[320];
};

/* ---- Rows ------------------------------------------------------------------------------------ */

static int add(struct xf_top_model *model, struct row row)
{
	size_t wanted = model->allocated ? model->allocated * 2 : 64;
	struct row *grown;

	if (model->nr == model->allocated) {
		grown = reallocarray(model->shown, wanted, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		model->shown = grown;
		model->allocated = wanted;
	}
	model->shown[model->nr++] = row;
	return 0;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* @room lines of a section from @from on, its heads among them. Return: 0 or -ENOMEM. */
static int add_section(struct xf_top_model *model, enum xf_top_section section, size_t from,
                       size_t room)
{
	size_t nr = model->sections[section].nr;
	int code;

	if (room < 2)
		return 0;
	code = add(model, (struct row){.text = xf_top_heads(section), .heading = true});
	for (size_t i = from; !code && i < nr && i - from + 1 < room; i++)
		code = add(model, (struct row){.section = section, .index = i});
	return code;
}

/* How much of the screen a section other than the functions gets, its heads included: what it
 * needs, up to a quarter. */
static size_t share_of(const struct xf_top_model *model, enum xf_top_section section)
{
	size_t most = model->rows / 4 > 3 ? model->rows / 4 : 3;

	return least(model->sections[section].nr + 1, most);
}

static int fill_all(struct xf_top_model *model)
{
	size_t pcpus = share_of(model, XF_TOP_PCPUS);
	size_t domains = share_of(model, XF_TOP_DOMAINS);
	size_t processes = share_of(model, XF_TOP_PROCESSES);
	int code = add_section(model, XF_TOP_PCPUS, 0, pcpus);

	if (!code)
		code = add_section(model, XF_TOP_DOMAINS, 0, domains);
	if (!code)
		code = add_section(model, XF_TOP_PROCESSES, 0, processes);
	if (!code && model->rows > model->nr)
		code = add_section(model, XF_TOP_FUNCTIONS, model->top, model->rows - model->nr);
	return code;
}

static int fill_help(struct xf_top_model *model)
{
	int code = 0;

	for (size_t i = model->top; !code && help_lines[i] && model->nr < model->rows; i++)
		code = add(model, (struct row){.text = help_lines[i],
		                               .heading = help_lines[i][0] >= 'A' &&
		                                          !strchr(help_lines[i], '.') &&
		                                          !strchr(help_lines[i], ',')});
	return code;
}

static enum xf_top_section section_of(enum xf_top_page page)
{
	switch (page) {
	case XF_TOP_PAGE_PCPUS:
		return XF_TOP_PCPUS;
	case XF_TOP_PAGE_DOMAINS:
		return XF_TOP_DOMAINS;
	case XF_TOP_PAGE_PROCESSES:
		return XF_TOP_PROCESSES;
	default:
		return XF_TOP_FUNCTIONS;
	}
}

/* How many lines could be passed over. */
static size_t passable(const struct xf_top_model *model)
{
	size_t nr = 0;

	if (model->page != XF_TOP_PAGE_HELP)
		return model->sections[section_of(model->page)].nr;
	while (help_lines[nr])
		nr++;
	return nr > model->rows ? nr - model->rows + 1 : 1;
}

static int fill(struct xf_top_model *model)
{
	size_t most = passable(model);

	model->nr = 0;
	if (model->top >= most)
		model->top = most ? most - 1 : 0;
	if (model->page == XF_TOP_PAGE_HELP)
		return fill_help(model);
	if (!model->moment.interval)
		return 0;
	if (model->page == XF_TOP_PAGE_ALL)
		return fill_all(model);
	return add_section(model, section_of(model->page), model->top, model->rows);
}

static void forget(struct xf_top_model *model)
{
	for (size_t i = 0; i < XF_TOP_SECTIONS; i++)
		free(model->sections[i].lines);
	memset(model->sections, 0, sizeof(model->sections));
}

/* All lines anew, after another moment, order or filter. Return: 0 or -ENOMEM. */
static int remake(struct xf_top_model *model)
{
	struct xf_sort sort = {.keys = {orders[model->order], XF_SORT_SELF, XF_SORT_TOTAL},
	                       .nr = 3};
	int code = 0;

	forget(model);
	for (size_t i = 0; !code && model->moment.interval && i < XF_TOP_SECTIONS; i++)
		code = xf_top_lines_of(&model->moment, (enum xf_top_section)i, &sort,
		                       i == XF_TOP_PCPUS ? "" : model->filter, &model->sections[i]);
	return code ? code : fill(model);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static enum xf_wish wish_of(int code)
{
	return code ? XF_WISH_GIVE_UP : XF_WISH_DRAW;
}

static enum xf_wish turn_to(struct xf_top_model *model, enum xf_top_page page)
{
	if (model->page != XF_TOP_PAGE_HELP)
		model->before = model->page;
	model->page = page;
	model->top = 0;
	return wish_of(fill(model));
}

/* The next longer or shorter one of those that there are. */
static void change_delay(struct xf_top_model *model, bool longer)
{
	uint64_t tenth = NANOSECONDS / 10, chosen = model->delay;

	for (size_t i = 0; i < DELAYS; i++) {
		uint64_t delay = delays[longer ? i : DELAYS - 1 - i] * tenth;

		if (longer ? delay <= model->delay : delay >= model->delay)
			continue;
		chosen = delay;
		break;
	}
	model->delay = chosen;
}

/* What makes no sense changes nothing. */
static void take_delay(struct xf_top_model *model)
{
	char *end;
	double seconds = strtod(model->delay_text, &end);

	if (end != model->delay_text && !*end && seconds >= 0.1 && seconds <= MOST_DELAY)
		model->delay = (uint64_t)(seconds * (double)NANOSECONDS);
}

static enum xf_wish begin_typing(struct xf_top_model *model, enum typing what)
{
	model->typing = what;
	model->delay_text[0] = 0;
	return XF_WISH_DRAW;
}

static enum xf_wish press_to_type(struct xf_top_model *model, uint32_t key)
{
	bool filter = model->typing == TYPING_FILTER;
	enum xf_typed typed = xf_type(filter ? model->filter : model->delay_text, key);

	if (typed == XF_TYPED_DONE || typed == XF_TYPED_DROPPED) {
		if (!filter && typed == XF_TYPED_DONE)
			take_delay(model);
		model->typing = TYPING_NOTHING;
	}
	return filter ? wish_of(remake(model)) : XF_WISH_DRAW;
}

static enum xf_wish move_by(struct xf_top_model *model, size_t lines, bool down)
{
	if (down)
		model->top = lines < SIZE_MAX - model->top ? model->top + lines : SIZE_MAX;
	else
		model->top -= least(lines, model->top);
	return wish_of(fill(model));
}

/* Return: whether @key moves; it has done so, and *@wish is what is to happen. */
static bool press_to_move(struct xf_top_model *model, uint32_t key, enum xf_wish *wish)
{
	size_t lines = 1;
	bool down = false;

	switch (key) {
	case XF_KEY_UP:
	case 'k':
		break;
	case XF_KEY_DOWN:
	case 'j':
		down = true;
		break;
	case XF_KEY_PAGE_UP:
		lines = model->rows;
		break;
	case XF_KEY_PAGE_DOWN:
		lines = model->rows;
		down = true;
		break;
	case XF_KEY_HOME:
	case 'g':
		lines = SIZE_MAX;
		break;
	case XF_KEY_END:
	case 'G':
		lines = SIZE_MAX;
		down = true;
		break;
	default:
		return false;
	}
	*wish = move_by(model, lines, down);
	return true;
}

static enum xf_wish escape(struct xf_top_model *model)
{
	if (model->page == XF_TOP_PAGE_HELP)
		return turn_to(model, model->before);
	model->filter[0] = 0;
	return wish_of(remake(model));
}

static enum xf_wish press_other(struct xf_top_model *model, uint32_t key)
{
	switch (key) {
	case '1':
	case '2':
	case '3':
	case '4':
	case '5':
		return turn_to(model, (enum xf_top_page)(key - '1'));
	case XF_KEY_TAB:
		return turn_to(model, (enum xf_top_page)((model->page + 1) % XF_TOP_PAGE_HELP));
	case 'h':
	case '?':
		return turn_to(model, XF_TOP_PAGE_HELP);
	case '/':
	case 'f':
		return begin_typing(model, TYPING_FILTER);
	case 'd':
		return begin_typing(model, TYPING_DELAY);
	case 's':
		model->order = (model->order + 1) % ORDERS;
		model->top = 0;
		return wish_of(remake(model));
	case 'p':
	case ' ':
		model->paused = !model->paused;
		return XF_WISH_DRAW;
	case '+':
	case '-':
		change_delay(model, key == '+');
		return XF_WISH_DRAW;
	case '>':
		model->shift += 8;
		return XF_WISH_DRAW;
	case '<':
		model->shift -= model->shift ? 8 : 0;
		return XF_WISH_DRAW;
	case XF_KEY_ESCAPE:
		return escape(model);
	case 'q':
		return XF_WISH_LEAVE;
	default:
		return XF_WISH_DRAW;
	}
}

enum xf_wish xf_top_model_press(struct xf_top_model *model, uint32_t key)
{
	enum xf_wish wish;

	if (model->typing)
		return press_to_type(model, key);
	return press_to_move(model, key, &wish) ? wish : press_other(model, key);
}

/* ---- What is shown --------------------------------------------------------------------------- */

static const char *shown_of(const struct xf_top_model *model, char text[64])
{
	const struct xf_top_lines *lines = &model->sections[section_of(model->page)];

	text[0] = 0;
	if (model->page != XF_TOP_PAGE_HELP && lines->nr < lines->of)
		snprintf(text, 64, ", %zu of %zu", lines->nr, lines->of);
	return text;
}

static void write_status(struct xf_top_model *model)
{
	char counted[64];

	snprintf(model->status, sizeof(model->status), "%s%s%severy %.4g s, by %s%s",
	         model->paused ? "held; " : "", model->note, model->note[0] ? "; " : "",
	         (double)model->delay / (double)NANOSECONDS, order_names[model->order],
	         shown_of(model, counted));
}

void xf_top_model_screen(struct xf_top_model *model, struct xf_top_screen *screen)
{
	write_status(model);
	model->prompt[0] = 0;
	if (model->typing == TYPING_DELAY)
		snprintf(model->prompt, sizeof(model->prompt), "Seconds: %s_", model->delay_text);
	else if (model->typing == TYPING_FILTER || model->filter[0])
		snprintf(model->prompt, sizeof(model->prompt), "/%s%s", model->filter,
		         model->typing ? "_" : "");
	*screen = (struct xf_top_screen){.page = model->page,
	                                 .facts = &model->facts,
	                                 .prompt = model->prompt,
	                                 .status = model->status,
	                                 .nr = model->nr,
	                                 .shift = model->shift};
}

void xf_top_model_line(const struct xf_top_model *model, size_t index, struct xf_model_line *line)
{
	const struct row *row = &model->shown[index];
	const struct xf_top_line *shown;

	*line = (struct xf_model_line){.name = row->text, .heading = row->heading};
	if (row->text)
		return;
	shown = &model->sections[row->section].lines[row->index];
	snprintf(line->left, sizeof(line->left), "%s", shown->left);
	line->name = shown->name;
	line->coloured = true;
	line->kind = shown->kind;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

int xf_top_model_show(struct xf_top_model *model, const struct xf_top_moment *moment)
{
	model->moment = *moment;
	xf_top_facts_of(moment, &model->facts);
	return remake(model);
}

void xf_top_model_note(struct xf_top_model *model, const char *note)
{
	snprintf(model->note, sizeof(model->note), "%s", note);
}

int xf_top_model_resize(struct xf_top_model *model, size_t rows)
{
	if (model->rows == rows)
		return 0;
	model->rows = rows;
	return fill(model);
}

uint64_t xf_top_model_delay(const struct xf_top_model *model)
{
	return model->delay;
}

bool xf_top_model_paused(const struct xf_top_model *model)
{
	return model->paused;
}

struct xf_top_model *xf_top_model_new(uint64_t delay)
{
	struct xf_top_model *model = calloc(1, sizeof(*model));

	if (!model)
		return NULL;
	model->delay = delay;
	model->rows = 1;
	return model;
}

void xf_top_model_free(struct xf_top_model *model)
{
	if (!model)
		return;
	forget(model);
	free(model->shown);
	free(model);
}
