// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/guest_maps.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/grow.h"

/* Reads the mapping that comes next, which is to lie behind @end. Return: 0; -EBADMSG; -ENOMEM. */
static int read_map(struct xf_guest_maps *maps, struct xf_cursor *content, uint64_t end)
{
	struct xf_guest_map map = {.address = xf_cursor_u64(content),
	                           .size = xf_cursor_u64(content),
	                           .offset = xf_cursor_u64(content),
	                           .file = xf_cursor_u32(content)};
	struct xf_guest_map *added;

	xf_cursor_u32(content);
	if (content->failed || map.address < end || map.address + map.size <= map.address ||
	    map.offset + map.size < map.offset)
		return -EBADMSG;
	added = XF_GROW(maps->maps, maps->nr_maps);
	if (!added)
		return -ENOMEM;
	*added = map;
	maps->nr_maps++;
	return 0;
}

int xf_guest_maps_read(struct xf_guest_maps *maps, struct xf_cursor content)
{
	struct xf_guest_look look = {.head.domid = xf_cursor_u16(&content), .first = maps->nr_maps};
	struct xf_guest_look *added;
	uint64_t end = 0;
	int code = 0;

	xf_cursor_u16(&content);
	look.head.pid = xf_cursor_u32(&content);
	look.head.root = xf_cursor_u64(&content);
	look.head.tsc = xf_cursor_u64(&content);
	if (content.failed)
		return -EBADMSG;
	while (!code && xf_cursor_left(&content)) {
		code = read_map(maps, &content, end);
		if (!code)
			end = maps->maps[maps->nr_maps - 1].address +
			      maps->maps[maps->nr_maps - 1].size;
	}
	look.nr = maps->nr_maps - look.first;
	added = code ? NULL : XF_GROW(maps->looks, maps->nr_looks);
	if (!code && !added)
		code = -ENOMEM;
	if (code) {
		maps->nr_maps = look.first;
		return code;
	}
	*added = look;
	maps->nr_looks++;
	return 0;
}

/* By process alone. */
static int compare_processes(const struct xf_guest_maps_head *a, const struct xf_guest_maps_head *b)
{
	if (a->domid != b->domid)
		return a->domid < b->domid ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->root < b->root ? -1 : a->root > b->root;
}

static int compare_looks(const void *left, const void *right)
{
	const struct xf_guest_look *a = left;
	const struct xf_guest_look *b = right;
	int order = compare_processes(&a->head, &b->head);

	if (order)
		return order;
	if (a->head.tsc != b->head.tsc)
		return a->head.tsc < b->head.tsc ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

void xf_guest_maps_finish(struct xf_guest_maps *maps)
{
	if (maps->nr_looks)
		qsort(maps->looks, maps->nr_looks, sizeof(*maps->looks), compare_looks);
	for (size_t i = 0; i < maps->nr_looks; i++)
		maps->looks[i].maps = maps->maps + maps->looks[i].first;
}

void xf_guest_maps_free(struct xf_guest_maps *maps)
{
	free(maps->looks);
	free(maps->maps);
	*maps = (struct xf_guest_maps){0};
}

struct xf_guest_looks xf_guest_maps_find(const struct xf_guest_maps *maps,
                                         const struct xf_sample *sample, uint32_t pid)
{
	const struct xf_guest_maps_head wanted = {
	        .domid = sample->domid, .pid = pid, .root = xf_guest_maps_root(sample)};
	struct xf_guest_looks found = {0};
	size_t low = 0, high = maps->nr_looks;

	/* @low becomes the number of looks at earlier processes, or at this one up to the sample.
	 */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare_processes(&maps->looks[middle].head, &wanted);

		if (order < 0 || (!order && maps->looks[middle].head.tsc <= sample->tsc))
			low = middle + 1;
		else
			high = middle;
	}
	if (low && !compare_processes(&maps->looks[low - 1].head, &wanted))
		found.before = &maps->looks[low - 1];
	if (low < maps->nr_looks && !compare_processes(&maps->looks[low].head, &wanted))
		found.after = &maps->looks[low];
	return found;
}

/* Return: the mapping at @address, NULL where there was none. */
static const struct xf_guest_map *find_map(const struct xf_guest_look *look, uint64_t address)
{
	size_t low = 0, high = look ? look->nr : 0;

	/* @low becomes the number of mappings that begin at or before it. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (look->maps[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address - look->maps[low - 1].address < look->maps[low - 1].size
	               ? &look->maps[low - 1]
	               : NULL;
}

bool xf_guest_looks_mapping(const struct xf_guest_looks *looks, uint64_t address,
                            struct xf_guest_map *map)
{
	const struct xf_guest_map *before = find_map(looks->before, address);
	const struct xf_guest_map *after = find_map(looks->after, address);

	if (!before && !after)
		return false;
	*map = before ? *before : *after;
	return !before || !after ||
	       (before->file == after->file &&
	        before->offset - before->address == after->offset - after->address);
}
