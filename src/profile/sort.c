// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/sort.h"

#include <string.h>

static const char *const key_names[XF_SORT_KEYS] = {
        [XF_SORT_SELF] = "self", [XF_SORT_TOTAL] = "total", [XF_SORT_SAMPLES] = "samples",
        [XF_SORT_NAME] = "name", [XF_SORT_KIND] = "kind",
};

int xf_sort_names(const char *a, const char *b)
{
	int order = strverscmp(a, b);

	return order ? order : strcmp(a, b);
}

static int most_first(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

static int compare_by(enum xf_sort_key key, const struct xf_sort_line *a,
                      const struct xf_sort_line *b)
{
	switch (key) {
	case XF_SORT_SELF:
		return most_first(a->self, b->self);
	case XF_SORT_TOTAL:
		return most_first(a->total, b->total);
	case XF_SORT_SAMPLES:
		return most_first(a->samples, b->samples);
	case XF_SORT_KIND:
		return a->kind < b->kind ? -1 : a->kind > b->kind;
	default:
		return xf_sort_names(a->name, b->name);
	}
}

int xf_sort_compare(const struct xf_sort *sort, const struct xf_sort_line *a,
                    const struct xf_sort_line *b)
{
	int order = 0;

	for (size_t i = 0; !order && i < sort->nr; i++)
		order = compare_by(sort->keys[i], a, b);
	return order ? order : xf_sort_names(a->name, b->name);
}

bool xf_sort_parse(const char *words, struct xf_sort *sort)
{
	struct xf_sort made = {0};

	for (const char *word = words;; word++) {
		size_t size = strcspn(word, ",");
		size_t key = 0;

		while (key < XF_SORT_KEYS &&
		       (strlen(key_names[key]) != size || strncmp(key_names[key], word, size) != 0))
			key++;
		if (key == XF_SORT_KEYS || made.nr == XF_SORT_KEYS)
			return false;
		made.keys[made.nr++] = (enum xf_sort_key)key;
		word += size;
		if (!*word)
			break;
	}
	*sort = made;
	return true;
}
