// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef XF_BASE_HEX_H
#define XF_BASE_HEX_H

/* Return: the value of @c, a hexadecimal digit as kernels and build-ids are written with; -1 where
 * it is none. */
static inline int xf_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
