// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/kcore.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A segment each for the kernel's text, its modules, the vmalloc area and pieces of memory. */
#define MAX_SEGMENTS 4096u

/* Return: 0; -EIO where the file ends, or a negative errno value. */
static int read_all(int fd, void *bytes, size_t size, uint64_t offset)
{
	char *next = bytes;

	while (size) {
		ssize_t got = pread(fd, next, size, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EIO;
		next += got;
		offset += (uint64_t)got;
		size -= (size_t)got;
	}
	return 0;
}

static int read_segments(struct xf_kcore *kcore, const Elf64_Ehdr *header)
{
	size_t nr = header->e_phnum;
	Elf64_Phdr *headers = calloc(nr + 1, sizeof(*headers));
	int code = headers ? 0 : -ENOMEM;

	kcore->segments = calloc(nr + 1, sizeof(*kcore->segments));
	if (!kcore->segments)
		code = -ENOMEM;
	if (!code)
		code = read_all(kcore->fd, headers, nr * sizeof(*headers), header->e_phoff);
	for (size_t i = 0; !code && i < nr; i++) {
		const Elf64_Phdr *segment = &headers[i];

		if (segment->p_type == PT_LOAD &&
		    segment->p_vaddr + segment->p_filesz >= segment->p_vaddr &&
		    segment->p_offset + segment->p_filesz >= segment->p_offset)
			kcore->segments[kcore->nr++] =
			        (struct xf_kcore_segment){.address = segment->p_vaddr,
			                                  .size = segment->p_filesz,
			                                  .offset = segment->p_offset};
	}
	free(headers);
	return code;
}

int xf_kcore_open(const char *path, struct xf_kcore *kcore, struct xf_error *error)
{
	Elf64_Ehdr header;
	int code;

	*kcore = (struct xf_kcore){.path = path, .fd = open(path, O_RDONLY | O_CLOEXEC)};
	if (kcore->fd < 0)
		return xf_fail(error, -errno, "cannot open %s: %s", path, strerror(errno));
	code = read_all(kcore->fd, &header, sizeof(header), 0);
	if (code)
		return xf_fail(error, code, "cannot read %s: %s", path, strerror(-code));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64 ||
	    header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > MAX_SEGMENTS)
		return xf_fail(error, -EBADMSG, "%s is no ELF file of x86-64 memory", path);
	code = read_segments(kcore, &header);
	return code ? xf_fail(error, code, "cannot read the segments of %s: %s", path,
	                      strerror(-code))
	            : 0;
}

void xf_kcore_close(struct xf_kcore *kcore)
{
	if (kcore->fd >= 0)
		close(kcore->fd);
	free(kcore->segments);
	*kcore = (struct xf_kcore){.fd = -1};
}

int xf_kcore_read(const struct xf_kcore *kcore, uint64_t address, size_t size, void **bytes,
                  struct xf_error *error)
{
	for (size_t i = 0; i < kcore->nr; i++) {
		const struct xf_kcore_segment *segment = &kcore->segments[i];
		uint64_t offset = address - segment->address;
		void *read;
		int code;

		if (address < segment->address || offset >= segment->size ||
		    size > segment->size - offset)
			continue;
		read = malloc(size);
		code = read ? read_all(kcore->fd, read, size, segment->offset + offset) : -ENOMEM;
		if (!code) {
			*bytes = read;
			return 0;
		}
		free(read);
		return xf_fail(error, code, "cannot read %zu bytes at %#" PRIx64 " in %s: %s", size,
		               address, kcore->path, strerror(-code));
	}
	return xf_fail(error, -EFAULT, "%s does not have the %zu bytes at %#" PRIx64, kcore->path,
	               size, address);
}
