// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef XF_TEST_READ_FILE_H
#define XF_TEST_READ_FILE_H

#include <stddef.h>

/* Return: the file's bytes, *@size of them and not one more, so that ASan sees a read beyond the
 * end; NULL where it cannot be read. */
void *read_file(const char *path, size_t *size);

#endif
