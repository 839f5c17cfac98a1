// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/user_code.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/grow.h"

/* Return: whether a walk can go by @row. */
static bool is_sound(const struct xf_unwind_row *row)
{
	return (row->kind == XF_ROW_CALL || row->kind == XF_ROW_UNDEFINED) &&
	       row->base_rule <= XF_BASE_WORD && row->rbp_rule <= XF_RBP_AT_RSP;
}

static int read_place(struct xf_user_places *places, struct xf_user_place *place,
                      struct xf_cursor *content)
{
	struct xf_user_place *added;

	place->offset = xf_cursor_u64(content);
	place->start = xf_cursor_u64(content);
	place->row.kind = xf_cursor_u8(content);
	place->row.reason = xf_cursor_u8(content);
	place->row.base_rule = xf_cursor_u8(content);
	place->row.base_register = xf_cursor_u8(content);
	place->row.rbp_rule = xf_cursor_u8(content);
	xf_cursor_take(content, 3);
	place->row.base_offset = (int32_t)xf_cursor_u32(content);
	place->row.base_addend = (int32_t)xf_cursor_u32(content);
	place->row.rbp_offset = (int32_t)xf_cursor_u32(content);
	place->name = xf_cursor_string(content);
	if (content->failed || !is_sound(&place->row))
		return -EBADMSG;
	added = XF_GROW(places->places, places->nr);
	if (!added)
		return -ENOMEM;
	*added = *place;
	places->nr++;
	return 0;
}

int xf_user_code_read(struct xf_user_places *places, struct xf_cursor content)
{
	struct xf_user_place place = {.file = xf_cursor_u32(&content)};
	int code;

	place.pid = xf_cursor_u32(&content);
	code = content.failed ? -EBADMSG : 0;
	while (!code && xf_cursor_left(&content))
		code = read_place(places, &place, &content);
	return code;
}

static int compare_places(const void *left, const void *right)
{
	const struct xf_user_place *a = left;
	const struct xf_user_place *b = right;

	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

void xf_user_code_finish(struct xf_user_places *places)
{
	if (places->nr)
		qsort(places->places, places->nr, sizeof(*places->places), compare_places);
}

void xf_user_code_free(struct xf_user_places *places)
{
	free(places->places);
	*places = (struct xf_user_places){0};
}

const struct xf_user_place *xf_user_code_find(const struct xf_user_places *places, uint32_t file,
                                              uint32_t pid, uint64_t offset)
{
	const struct xf_user_place wanted = {
	        .file = file, .pid = pid, .offset = offset, .name = NULL};
	size_t low = 0;
	size_t high = places->nr;

	/* Names are never NULL: @low becomes the number of places before the wanted one. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_places(&places->places[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == places->nr || places->places[low].file != file ||
	    places->places[low].pid != pid || places->places[low].offset != offset)
		return NULL;
	return &places->places[low];
}
