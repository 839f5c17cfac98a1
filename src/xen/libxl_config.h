// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What libxl keeps of the configuration that it made a domain from: a JSON file for each domain
 * (libxl__userdata_store, "libxl-json"). Xenstore has the kernel of PV domains alone.
 */
#ifndef XF_XEN_LIBXL_CONFIG_H
#define XF_XEN_LIBXL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XF_LIBXL_DIRECTORY "/var/lib/xen"

/*
 * Return: whether the @size bytes of @json, such a file, tell where in dom0 the domain's kernel is
 * from (direct kernel boot): the absolute path, in @path of @room bytes.
 */
bool xf_libxl_parse_kernel(const char *json, size_t size, char *path, size_t room);

/* The same from the file of the domain in @directory, NULL: where libxl has it. */
bool xf_libxl_kernel(const char *directory, uint16_t domid, const char *uuid, char *path,
                     size_t room);

#endif
