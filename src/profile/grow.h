// SPDX-License-Identifier: GPL-2.0-or-later
/* Arrays whose length is not known beforehand. */
#ifndef XF_PROFILE_GROW_H
#define XF_PROFILE_GROW_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one more element in the array at @array, which has @nr of them and grows in powers
   of two. Return: the new element, zeroed; NULL without memory. */
static inline void *xf_grow(void **array, size_t nr, size_t size)
{
	if (!*array || !(nr & (nr - 1))) {
		void *grown = reallocarray(*array, nr ? nr * 2 : 1, size);

		if (!grown)
			return NULL;
		*array = grown;
	}
	memset((char *)*array + nr * size, 0, size);
	return (char *)*array + nr * size;
}

#define XF_GROW(array, nr) xf_grow((void **)&(array), (nr), sizeof(*(array)))

#endif
