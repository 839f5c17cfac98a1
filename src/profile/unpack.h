// SPDX-License-Identifier: GPL-2.0-or-later
/* Content of a recording that is compressed. */
#ifndef XF_PROFILE_UNPACK_H
#define XF_PROFILE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"

/*
 * Unpacks @packed, one frame of zstd's, into at most @room bytes. Return: 0, and in *@bytes, which
 * is to be freed, *@size bytes, for which *@allocated have been taken: up to where it is damaged,
 * or there is no more room, unless *@whole. -ENOMEM, and *@bytes as before, where it cannot even
 * begin.
 */
int xf_unpack(const struct xf_cursor *packed, size_t room, uint8_t **bytes, size_t *size,
              size_t *allocated, bool *whole);

#endif
