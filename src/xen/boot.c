// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/boot.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define MAX_IMAGE_BYTES (64u << 20)

/* Reads a file, gzipped or not. Return: its bytes, to be freed; NULL where that fails. */
static uint8_t *read_file(const char *path, size_t *size)
{
	gzFile file = gzopen(path, "rb");
	uint8_t *bytes = malloc(1 << 20);
	size_t room = 1 << 20;
	int got = 0;

	*size = 0;
	while (file && bytes && (got = gzread(file, bytes + *size, room - *size)) > 0) {
		*size += got;
		if (*size == room && room < MAX_IMAGE_BYTES) {
			uint8_t *larger = realloc(bytes, room *= 2);

			if (!larger)
				free(bytes);
			bytes = larger;
		}
	}
	if (file)
		gzclose(file);
	if (!file || got < 0) {
		free(bytes);
		return NULL;
	}
	return bytes;
}

static bool has_build_id(const struct xf_image *image, const struct xf_xen_build_id *build_id)
{
	return image->build_id && image->build_id_size == build_id->size &&
	       memcmp(image->build_id, build_id->bytes, build_id->size) == 0;
}

/* Looks at one file. Return: whether it is the one; if not @note says what it is. */
static bool try_file(const char *path, const struct xf_xen_build_id *build_id,
                     struct xf_boot_image *found, const char **note)
{
	memset(found, 0, sizeof(*found));
	snprintf(found->path, sizeof(found->path), "%s", path);
	found->bytes = read_file(path, &found->size);
	if (!found->bytes)
		*note = "unreadable";
	else if (xf_image_parse(found->bytes, found->size, &found->image, NULL) != 0)
		*note = "not a multiboot image";
	else if (!has_build_id(&found->image, build_id))
		*note = found->image.build_id ? "another build-id" : "no build-id";
	else
		return true;
	xf_boot_image_free(found);
	return false;
}

int xf_boot_image_find(const char *directory, const struct xf_xen_build_id *build_id,
                       struct xf_boot_image *found, struct xf_error *error)
{
	char seen[512] = "";
	DIR *files = opendir(directory);
	struct dirent *entry;

	if (!files)
		return xf_fail(error, -EOPNOTSUPP, "cannot look for Xen's image in %s: %s",
		               directory, strerror(errno));
	while ((entry = readdir(files)) != NULL) {
		const char *note = "";
		char path[512];
		size_t used;

		if (strncmp(entry->d_name, "xen", 3) != 0 || strstr(entry->d_name, ".config"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (try_file(path, build_id, found, &note)) {
			closedir(files);
			return 0;
		}
		used = strlen(seen);
		snprintf(seen + used, sizeof(seen) - used, "%s%s (%s)", used ? ", " : "",
		         entry->d_name, note);
	}
	closedir(files);
	return xf_fail(error, -EOPNOTSUPP,
	               "no file in %s is the image of the running Xen, by its build-id; looked at: "
	               "%s. After an upgrade of Xen's package the old image is gone until the host "
	               "has been rebooted",
	               directory, seen[0] ? seen : "nothing named xen*");
}

int xf_boot_image_open(const char *path, const struct xf_xen_build_id *build_id,
                       struct xf_boot_image *found, struct xf_error *error)
{
	const char *note = "";

	if (try_file(path, build_id, found, &note))
		return 0;
	return xf_fail(error, -EBADMSG, "%s is not the image of the running Xen: %s", path, note);
}

void xf_boot_image_free(struct xf_boot_image *image)
{
	free(image->bytes);
	memset(image, 0, sizeof(*image));
}
