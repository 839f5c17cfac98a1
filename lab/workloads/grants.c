/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * grants: pages granted by this domain to itself; mapped and unmapped, and copied, without end.
 */
#include "common.h"

#include <string.h>
#include <sys/mman.h>
#include <xen/xen.h>
#include <xen/grant_table.h>
#include <xen/sys/gntalloc.h>
#include <xen/sys/gntdev.h>

enum {
	PAGES = 8,
	PAGE = 4096
};

static uint32_t refs[PAGES];

static void grant(int fd, uint16_t own)
{
	char space[sizeof(struct ioctl_gntalloc_alloc_gref) + PAGES * sizeof(uint32_t)];
	struct ioctl_gntalloc_alloc_gref *alloc = (void *)space;

	memset(space, 0, sizeof(space));
	alloc->domid = own;
	alloc->flags = GNTALLOC_FLAG_WRITABLE;
	alloc->count = PAGES;
	must(ioctl(fd, IOCTL_GNTALLOC_ALLOC_GREF, alloc), "alloc");
	memcpy(refs, alloc->gref_ids, sizeof(refs));
}

static void map_and_unmap(int fd, uint16_t own)
{
	char space[sizeof(struct ioctl_gntdev_map_grant_ref) +
	           PAGES * sizeof(struct ioctl_gntdev_grant_ref)];
	struct ioctl_gntdev_map_grant_ref *map = (void *)space;
	char *pages;

	memset(space, 0, sizeof(space));
	map->count = PAGES;
	for (int i = 0; i < PAGES; i++) {
		map->refs[i].domid = own;
		map->refs[i].ref = refs[i];
	}
	must(ioctl(fd, IOCTL_GNTDEV_MAP_GRANT_REF, map), "map");
	pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)map->index);
	if (pages == MAP_FAILED)
		must(-1, "mmap");
	pages[0]++;
	munmap(pages, PAGES * PAGE);

	struct ioctl_gntdev_unmap_grant_ref unmap = {.index = map->index, .count = PAGES};

	must(ioctl(fd, IOCTL_GNTDEV_UNMAP_GRANT_REF, &unmap), "unmap");
}

static void copy(int fd, uint16_t own, char *buffer)
{
	struct ioctl_gntdev_grant_copy_segment segments[PAGES];
	struct ioctl_gntdev_grant_copy request = {.count = PAGES, .segments = segments};

	memset(segments, 0, sizeof(segments));
	for (int i = 0; i < PAGES; i++) {
		segments[i].source.foreign.ref = refs[i];
		segments[i].source.foreign.domid = own;
		segments[i].dest.virt = buffer + i * PAGE;
		segments[i].len = PAGE;
		segments[i].flags = GNTCOPY_source_gref;
	}
	must(ioctl(fd, IOCTL_GNTDEV_GRANT_COPY, &request), "copy");
}

int main(void)
{
	const uint16_t own = 0; /* dom0: mapping takes no DOMID_SELF */
	static char buffer[PAGES * PAGE] __attribute__((aligned(PAGE)));
	int allocator = open_device("/dev/xen/gntalloc"), device = open_device("/dev/xen/gntdev");

	grant(allocator, own);
	for (;;) {
		map_and_unmap(device, own);
		for (int i = 0; i < 4; i++)
			copy(device, own, buffer);
	}
}
