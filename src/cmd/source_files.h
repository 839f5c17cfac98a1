// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines of source files below a directory. */
#ifndef XF_CMD_SOURCE_FILES_H
#define XF_CMD_SOURCE_FILES_H

#include "output/annotate.h"

struct xf_source_files;

/* Return: what finds @text below @directory, NULL without memory. Free with xf_source_files_free.
 */
struct xf_source_files *xf_source_files_new(const char *directory, struct xf_source_text *text);
void xf_source_files_free(struct xf_source_files *files);

#endif
