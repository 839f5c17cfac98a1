// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent_code.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* An object that the build has just made: it is taken to be well formed. */
struct object {
	const uint8_t *bytes;
	const Elf64_Shdr *sections;
	const char *names; /* of the sections */
	size_t nr;
};

static const Elf64_Shdr *find(const struct object *object, const char *name)
{
	for (size_t i = 0; i < object->nr; i++) {
		if (strcmp(object->names + object->sections[i].sh_name, name) == 0)
			return &object->sections[i];
	}
	return NULL;
}

static bool open_object(struct object *object, const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	const Elf64_Ehdr *header;
	struct stat status;

	if (file < 0 || fstat(file, &status) != 0 || (size_t)status.st_size < sizeof(*header))
		return false;
	header = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	close(file);
	if (header == MAP_FAILED || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	object->bytes = (const uint8_t *)header;
	object->sections = (const Elf64_Shdr *)(object->bytes + header->e_shoff);
	object->nr = header->e_shnum;
	object->names =
	        (const char *)object->bytes + object->sections[header->e_shstrndx].sh_offset;
	return true;
}

/* All relocations that Xen's loader takes for code fill in 32 bits. */
static void open_relocated(struct agent_code *code, const struct object *object,
                           const Elf64_Shdr *section)
{
	const Elf64_Rela *relocations = (const Elf64_Rela *)(object->bytes + section->sh_offset);

	for (size_t i = 0; i < section->sh_size / sizeof(*relocations); i++) {
		for (size_t j = 0; j < 4 && relocations[i].r_offset + j < code->size; j++)
			code->open[relocations[i].r_offset + j] = true;
	}
}

static bool find_functions(struct agent_code *code, const struct object *object)
{
	const Elf64_Shdr *table = find(object, ".symtab"), *strings = find(object, ".strtab");
	unsigned int found = 0;

	if (!table || !strings)
		return false;
	const Elf64_Sym *symbols = (const Elf64_Sym *)(object->bytes + table->sh_offset);
	const char *names = (const char *)object->bytes + strings->sh_offset;
	const struct {
		const char *name;
		uint64_t *offset;
	} wanted[] = {
	        {"xf_capture_nmi", &code->capture},
	        {"xf_emit_softirq", &code->emit},
	        {"xf_pace_tick", &code->tick},
	};

	for (size_t i = 0; i < table->sh_size / sizeof(*symbols); i++) {
		for (size_t j = 0; j < sizeof(wanted) / sizeof(wanted[0]); j++) {
			if (strcmp(names + symbols[i].st_name, wanted[j].name) != 0)
				continue;
			*wanted[j].offset = symbols[i].st_value;
			found++;
		}
	}
	return found == sizeof(wanted) / sizeof(wanted[0]);
}

bool agent_code_read(struct agent_code *code, const char *path)
{
	const Elf64_Shdr *text, *relocations;
	struct object object;

	if (!open_object(&object, path)) {
		fprintf(stderr, "cost: %s cannot be read, or is no object\n", path);
		return false;
	}
	text = find(&object, ".text");
	relocations = find(&object, ".rela.text");
	if (text && relocations) {
		code->size = text->sh_size;
		code->bytes = malloc(code->size);
		code->open = calloc(code->size, sizeof(code->open[0]));
	}
	if (!code->bytes || !code->open || !find_functions(code, &object)) {
		fprintf(stderr, "cost: %s is not the agent\n", path);
		return false;
	}
	memcpy(code->bytes, object.bytes + text->sh_offset, code->size);
	open_relocated(code, &object, relocations);
	return true;
}
