// SPDX-License-Identifier: GPL-2.0-or-later
/* The build-ids of ELF files, wherever their bytes are. */
#ifndef XF_XEN_BUILD_ID_H
#define XF_XEN_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

#define XF_BUILD_ID_MAX 32u

/* Copies what a file has at @offset. Return: how many bytes it has there, at most @size. */
typedef size_t (*xf_file_bytes_t)(void *context, uint64_t offset, void *to, size_t size);

/* Return: the bytes of the build-id in the ELF file that @read reads, copied to @build_id; 0 where
 * it has none. */
size_t xf_file_build_id(xf_file_bytes_t read, void *context, uint8_t build_id[XF_BUILD_ID_MAX]);

/* Looks for a build-id among notes, as ELF files and the kernel have them. Return: its size, 0
 * where there is none. */
size_t xf_notes_build_id(const uint8_t *notes, size_t size, uint8_t build_id[XF_BUILD_ID_MAX]);

#endif
