// SPDX-License-Identifier: GPL-2.0-or-later
#include "image.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

/* The kernel's struct orc_entry, of which the ratio of sizes is made, has a place in a section of
 * its own: 32 bits, relative to where they lie. */
#define ORC_PLACE_BYTES 4u

/* Where code lies that was made here. */
#define MADE_ADDRESS  0xffff82d040200000ull
/* Of each made function: its room, its calls, and how many functions ahead they may lead. */
#define CHAINED_BYTES 128u
#define CHAINED_CALLS 16u
#define CHAINED_STEP  200u

static void *take(size_t size)
{
	void *memory = malloc(size != 0 ? size : 1);

	if (memory == NULL)
		bench_fail("out of memory");
	return memory;
}

void bench_image_read(struct bench_image *image, const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;

	memset(image, 0, sizeof(*image));
	if (file < 0 || fstat(file, &status) != 0)
		bench_fail("cannot read %s", path);
	image->file_size = status.st_size;
	image->file = mmap(NULL, image->file_size, PROT_READ, MAP_PRIVATE, file, 0);
	if (image->file == MAP_FAILED)
		bench_fail("cannot read %s", path);
	close(file);
}

static const Elf64_Shdr *section_at(const struct bench_image *image, size_t index)
{
	const Elf64_Ehdr *header = (const void *)image->file;

	return (const Elf64_Shdr *)(image->file + header->e_shoff) + index;
}

/* Return: the section of that name or, without a name, of that type; NULL: there is none. */
static const Elf64_Shdr *find_section(const struct bench_image *image, const char *name,
                                      uint32_t type)
{
	const Elf64_Ehdr *header = (const void *)image->file;
	const char *names =
	        (const char *)image->file + section_at(image, header->e_shstrndx)->sh_offset;

	for (size_t i = 0; i < header->e_shnum; i++) {
		const Elf64_Shdr *section = section_at(image, i);

		if (name != NULL ? strcmp(names + section->sh_name, name) == 0
		                 : section->sh_type == type)
			return section;
	}
	return NULL;
}

static void load_entries(struct bench_image *image, const Elf64_Shdr *table)
{
	const Elf64_Sym *symbols = (const void *)(image->file + table->sh_offset);
	size_t count = table->sh_size / sizeof(*symbols);

	image->entries = take(count * sizeof(*image->entries));
	for (size_t i = 0; i < count; i++) {
		unsigned int type = ELF64_ST_TYPE(symbols[i].st_info);

		if ((type == STT_FUNC || type == STT_NOTYPE) &&
		    symbols[i].st_value - image->code.address < image->code.size)
			image->entries[image->nr_entries++] = symbols[i].st_value;
	}
}

static void count_orc(struct bench_image *image, const Elf64_Shdr *places)
{
	for (size_t at = 0; at + ORC_PLACE_BYTES <= places->sh_size; at += ORC_PLACE_BYTES) {
		int32_t distance;

		memcpy(&distance, image->file + places->sh_offset + at, sizeof(distance));
		image->nr_orc +=
		        places->sh_addr + at + distance - image->code.address < image->code.size;
	}
}

void bench_image_load(struct bench_image *image, const char *path)
{
	const Elf64_Shdr *section;

	bench_image_read(image, path);
	if (image->file_size < sizeof(Elf64_Ehdr) || memcmp(image->file, ELFMAG, SELFMAG) != 0)
		bench_fail("%s is no ELF file", path);
	section = find_section(image, ".text", 0);
	if (section == NULL || section->sh_type != SHT_PROGBITS)
		bench_fail("%s has no .text", path);
	image->code = (struct xf_code){section->sh_addr, image->file + section->sh_offset,
	                               section->sh_size};
	section = find_section(image, NULL, SHT_SYMTAB);
	if (section != NULL)
		load_entries(image, section);
	section = find_section(image, ".orc_unwind_ip", 0);
	if (section != NULL)
		count_orc(image, section);
}

void bench_image_double(struct bench_image *twice, const struct bench_image *image)
{
	size_t size = image->code.size;

	memset(twice, 0, sizeof(*twice));
	twice->made = take(2 * size);
	memcpy(twice->made, image->code.bytes, size);
	memcpy(twice->made + size, image->code.bytes, size);
	twice->code = (struct xf_code){image->code.address, twice->made, 2 * size};
	twice->entries = take(2 * image->nr_entries * sizeof(*twice->entries));
	for (size_t i = 0; i < image->nr_entries; i++) {
		twice->entries[twice->nr_entries++] = image->entries[i];
		twice->entries[twice->nr_entries++] = image->entries[i] + size;
	}
}

static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*seed >> 33);
}

void bench_image_draw(struct bench_image *image, size_t size)
{
	static const uint8_t favourites[] = {0x55, 0x53, 0x5b, 0x5d, 0xc3, 0xe8, 0xe9, 0xeb,
	                                     0x74, 0x48, 0x83, 0xec, 0xc4, 0x89, 0xe5, 0xcf,
	                                     0x0f, 0x0b, 0x00, 0xff, 0xfe, 0x08, 0x50, 0x24};
	uint64_t seed = 1;

	memset(image, 0, sizeof(*image));
	image->made = take(size);
	for (size_t i = 0; i < size; i++) {
		image->made[i] = favourites[next_random(&seed) % sizeof(favourites)];
	}
	image->code = (struct xf_code){MADE_ADDRESS, image->made, size};
	image->nr_entries = size / 256;
	image->entries = take(image->nr_entries * sizeof(*image->entries));
	for (size_t i = 0; i < image->nr_entries; i++)
		image->entries[i] = MADE_ADDRESS + i * 256;
}

/* push %rbx; sub $16,%rsp; { call X }*; add $16,%rsp; pop %rbx; ret */
static void write_function(uint8_t *code, size_t number, size_t count, uint64_t *seed)
{
	static const uint8_t prologue[] = {0x53, 0x48, 0x83, 0xec, 0x10};
	static const uint8_t epilogue[] = {0x48, 0x83, 0xc4, 0x10, 0x5b, 0xc3};
	size_t at = sizeof(prologue), ahead = count - number - 1;

	memset(code, 0xcc, CHAINED_BYTES);
	memcpy(code, prologue, sizeof(prologue));
	for (size_t i = 0; i < CHAINED_CALLS && ahead; i++, at += 5) {
		size_t step = 1 + next_random(seed) % (ahead < CHAINED_STEP ? ahead : CHAINED_STEP);
		int32_t distance = (int32_t)(step * CHAINED_BYTES - (at + 5));

		code[at] = 0xe8;
		memcpy(code + at + 1, &distance, sizeof(distance));
	}
	memcpy(code + at, epilogue, sizeof(epilogue));
}

void bench_image_chain(struct bench_image *image, size_t count)
{
	uint64_t seed = 1;

	memset(image, 0, sizeof(*image));
	image->made = take(count * CHAINED_BYTES);
	image->entries = take(count * sizeof(*image->entries));
	image->nr_entries = count;
	image->code = (struct xf_code){MADE_ADDRESS, image->made, count * CHAINED_BYTES};
	for (size_t i = 0; i < count; i++) {
		write_function(image->made + i * CHAINED_BYTES, i, count, &seed);
		image->entries[i] = MADE_ADDRESS + i * CHAINED_BYTES;
	}
}

void bench_image_free(struct bench_image *image)
{
	if (image->file != NULL)
		munmap(image->file, image->file_size);
	free(image->made);
	free(image->entries);
	memset(image, 0, sizeof(*image));
}

struct xf_unwind_table *bench_table(const struct bench_image *image)
{
	struct xf_unwind_table *table;
	struct xf_error error;

	if (xf_unwind_table_build(&image->code, image->entries, image->nr_entries, &table,
	                          &error) != 0)
		bench_fail("%s", error.text);
	return table;
}
