// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/match.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	const char *name; /* that it is looked up by */
	enum xf_frame_kind kind;
	size_t frame;
};

/* What compilers put behind a function's name, mostly with a number behind it. */
static bool is_suffix(const char *suffix)
{
	static const char *const known[] = {".isra", ".part",     ".constprop",
	                                    ".cold", ".lto_priv", ".llvm"};
	size_t digits = strspn(suffix + 1, "0123456789");

	if (digits && !suffix[1 + digits])
		return true;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(suffix, known[i]) == 0)
			return true;
	}
	return false;
}

static void strip_suffixes(char *name)
{
	char *dot;

	while ((dot = strrchr(name, '.')) && dot > name && is_suffix(dot)) {
		/* A number alone belongs to a word before it. */
		if (isdigit((unsigned char)dot[1])) {
			char *word;

			*dot = 0;
			word = strrchr(name, '.');
			if (!word || word == name || !is_suffix(word)) {
				*dot = '.';
				return;
			}
			dot = word;
		}
		*dot = 0;
	}
}

/* "[unknown 0xffff82d040200000]" as "[unknown]" */
static void strip_address(char *name)
{
	char *address = strstr(name, " 0x");

	if (name[0] == '[' && address &&
	    address[3 + strspn(address + 3, "0123456789abcdef")] == ']')
		memcpy(address, "]", sizeof("]"));
}

static char **plain_names(const struct xf_calltree *tree)
{
	size_t nr = xf_calltree_nr_frames(tree);
	char **names = calloc(nr + 1, sizeof(*names));

	for (size_t i = 0; names && i < nr; i++) {
		struct xf_frame_id frame = {.index = (uint32_t)i};
		enum xf_frame_kind kind = xf_calltree_kind(tree, frame);

		names[i] = strdup(xf_calltree_name(tree, frame));
		if (!names[i]) {
			xf_match_free(tree, names);
			return NULL;
		}
		if (kind == XF_FRAME_XEN || kind == XF_FRAME_AGENT)
			strip_suffixes(names[i]);
		if (kind == XF_FRAME_XEN || kind == XF_FRAME_UNKNOWN)
			strip_address(names[i]);
	}
	return names;
}

static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left;
	const struct entry *b = right;
	int order = strcmp(a->name, b->name);

	return order ? order : (a->kind > b->kind) - (a->kind < b->kind);
}

static struct entry *sort_names(const struct xf_calltree *tree, char **names)
{
	size_t nr = xf_calltree_nr_frames(tree);
	struct entry *entries = calloc(nr + 1, sizeof(*entries));

	for (size_t i = 0; entries && i < nr; i++)
		entries[i] = (struct entry){
		        .name = names[i],
		        .kind = xf_calltree_kind(tree, (struct xf_frame_id){(uint32_t)i}),
		        .frame = i};
	if (entries)
		qsort(entries, nr, sizeof(*entries), compare_entries);
	return entries;
}

/* Leaves of @mine the static functions that @theirs lacks, by their names without the file.
 * Return: how many are left. */
static size_t keep_strangers(struct entry *mine, size_t nr, const struct entry *theirs,
                             size_t nr_theirs)
{
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++) {
		const char *mark = strrchr(mine[i].name, '#');

		if (mine[i].kind != XF_FRAME_XEN || !mark || !mark[1] ||
		    bsearch(&mine[i], theirs, nr_theirs, sizeof(*theirs), compare_entries))
			continue;
		mine[kept] = mine[i];
		mine[kept++].name = mark + 1;
	}
	qsort(mine, kept, sizeof(*mine), compare_entries);
	return kept;
}

static bool is_alone(const struct entry *entries, size_t nr, size_t i)
{
	return (!i || strcmp(entries[i - 1].name, entries[i].name) != 0) &&
	       (i + 1 == nr || strcmp(entries[i + 1].name, entries[i].name) != 0);
}

/* Gives A's strangers the names of B's that have the same name in another file. */
static int match_strangers(char **names[2], struct entry *const entries[2], const size_t nr[2])
{
	for (size_t i = 0; i < nr[0]; i++) {
		const struct entry *found =
		        bsearch(&entries[0][i], entries[1], nr[1], sizeof(*found), compare_entries);
		char *name;

		if (!found || !is_alone(entries[0], nr[0], i) ||
		    !is_alone(entries[1], nr[1], (size_t)(found - entries[1])))
			continue;
		name = strdup(names[1][found->frame]);
		if (!name)
			return -ENOMEM;
		/* The entry's own name is a part of the old one, and no longer looked at. */
		free(names[0][entries[0][i].frame]);
		names[0][entries[0][i].frame] = name;
		entries[0][i].name = strrchr(name, '#') + 1;
	}
	return 0;
}

static int match(const struct xf_calltree *a, const struct xf_calltree *b, char **names[2])
{
	struct entry *all[2] = {sort_names(a, names[0]), sort_names(b, names[1])};
	struct entry *left[2] = {sort_names(a, names[0]), sort_names(b, names[1])};
	size_t nr[2] = {xf_calltree_nr_frames(a), xf_calltree_nr_frames(b)};
	int code = -ENOMEM;

	if (all[0] && all[1] && left[0] && left[1]) {
		size_t kept[2] = {keep_strangers(left[0], nr[0], all[1], nr[1]),
		                  keep_strangers(left[1], nr[1], all[0], nr[0])};

		code = match_strangers(names, left, kept);
	}
	for (int side = 0; side < 2; side++) {
		free(all[side]);
		free(left[side]);
	}
	return code;
}

int xf_match_names(const struct xf_calltree *a, const struct xf_calltree *b, char **names[2])
{
	int code = -ENOMEM;

	names[0] = plain_names(a);
	names[1] = plain_names(b);
	if (names[0] && names[1])
		code = match(a, b, names);
	if (code) {
		xf_match_free(a, names[0]);
		xf_match_free(b, names[1]);
	}
	return code;
}

void xf_match_free(const struct xf_calltree *tree, char **names)
{
	for (size_t i = 0; names && i < xf_calltree_nr_frames(tree); i++)
		free(names[i]);
	free(names);
}
