// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load KERNEL: gives Xen the lab's crash kernel, an ELF file, to run when it crashes.
 *
 * The hypercall and its structures are those of xen/include/public/kexec.h, which are stable.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xencall.h>

#include "crash.h"

#define HYPERCALL_KEXEC 37u
#define GET_RANGE       3u
#define LOAD            4u
#define RANGE_CRASH     0
#define RANGE_CPU       2
#define TYPE_CRASH      1

struct range {
	int32_t range;
	int32_t nr;
	uint64_t size;
	uint64_t start;
};

struct segment {
	uint64_t buffer;
	uint64_t buffer_size;
	uint64_t machine_address;
	uint64_t machine_size;
};

struct load {
	uint8_t type;
	uint8_t reserved;
	uint16_t machine;
	uint32_t nr_segments;
	uint64_t segments;
	uint64_t entry;
};

static xencall_handle *xen;

static void die(const char *what)
{
	fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Memory that Xen can read and write while it is in a hypercall of ours. */
static void *shared(size_t size)
{
	void *memory = xencall_alloc_buffer(xen, size);

	if (!memory)
		die("memory for a hypercall");
	memset(memory, 0, size);
	return memory;
}

static int get_range(struct range *range, int which, int nr)
{
	range->range = which;
	range->nr = nr;
	return xencall2(xen, HYPERCALL_KEXEC, GET_RANGE, (uintptr_t)range);
}

static void check_region(struct range *range)
{
	if (get_range(range, RANGE_CRASH, 0))
		die("asking Xen for the crash kernel's memory");
	if (range->start != CRASH_REGION) {
		fprintf(stderr, "load: the crash kernel's memory is at %#llx, not %#x\n",
		        (unsigned long long)range->start, CRASH_REGION);
		exit(1);
	}
}

static struct crash_table *find_notes(struct range *range)
{
	struct crash_table *table = shared(CRASH_PAGE);

	for (; table->nr < CRASH_MAX_PCPUS && get_range(range, RANGE_CPU, (int)table->nr) == 0 &&
	       range->size;
	     table->nr++) {
		table->notes[table->nr].start = range->start;
		table->notes[table->nr].size = range->size;
	}
	if (!table->nr)
		die("asking Xen where it notes what its pCPUs did");
	return table;
}

static uint64_t round_up(uint64_t size)
{
	return (size + CRASH_PAGE - 1) / CRASH_PAGE * CRASH_PAGE;
}

/* The memory image of the file at @path, from CRASH_KERNEL on. */
static char *read_kernel(const char *path, uint64_t *size, uint64_t *entry)
{
	FILE *file = fopen(path, "rb");
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	char *image = NULL;

	if (!file || fread(&header, sizeof(header), 1, file) != 1)
		die(path);
	*size = 0;
	for (int pass = 0; pass < 2; pass++) {
		for (unsigned int i = 0; i < header.e_phnum; i++) {
			if (fseek(file, (long)(header.e_phoff + i * sizeof(segment)), SEEK_SET) ||
			    fread(&segment, sizeof(segment), 1, file) != 1)
				die(path);
			if (segment.p_type != PT_LOAD || segment.p_vaddr < CRASH_KERNEL)
				continue;
			if (pass == 0 && segment.p_vaddr - CRASH_KERNEL + segment.p_memsz > *size)
				*size = segment.p_vaddr - CRASH_KERNEL + segment.p_memsz;
			if (pass == 1 && segment.p_filesz &&
			    (fseek(file, (long)segment.p_offset, SEEK_SET) ||
			     fread(image + (segment.p_vaddr - CRASH_KERNEL), segment.p_filesz, 1,
			           file) != 1))
				die(path);
		}
		if (pass == 0)
			image = shared(round_up(*size));
	}
	fclose(file);
	*size = round_up(*size);
	*entry = header.e_entry;
	return image;
}

int main(int argc, char **argv)
{
	struct range *range;
	struct segment *segments;
	struct load *load;

	if (argc != 2) {
		fprintf(stderr, "usage: load KERNEL\n");
		return 2;
	}
	xen = xencall_open(NULL, 0);
	if (!xen)
		die("opening Xen's hypercall device");
	range = shared(sizeof(*range));
	segments = shared(2 * sizeof(*segments));
	load = shared(sizeof(*load));
	check_region(range);

	segments[0].buffer = (uintptr_t)find_notes(range);
	segments[0].buffer_size = segments[0].machine_size = CRASH_PAGE;
	segments[0].machine_address = CRASH_TABLE;
	segments[1].buffer =
	        (uintptr_t)read_kernel(argv[1], &segments[1].buffer_size, &load->entry);
	segments[1].machine_size = segments[1].buffer_size;
	segments[1].machine_address = CRASH_KERNEL;

	load->type = TYPE_CRASH;
	load->machine = EM_X86_64;
	load->nr_segments = 2;
	load->segments = (uintptr_t)segments;
	if (xencall2(xen, HYPERCALL_KEXEC, LOAD, (uintptr_t)load))
		die("loading the crash kernel");
	return 0;
}
