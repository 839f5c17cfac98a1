// SPDX-License-Identifier: GPL-2.0-or-later
/* An ELF file with a note, the code, symbols and their names, in this order. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/perf_images.h"
#include "output/text.h"

enum section {
	SECTION_NONE,
	SECTION_NOTE,
	SECTION_TEXT,
	SECTION_SYMBOLS,
	SECTION_STRINGS,
	SECTION_NAMES, /* of the sections */
	SECTIONS,
};

static const char section_names[] = "\0.note.gnu.build-id\0.text\0.symtab\0.strtab\0.shstrtab";
static const Elf64_Word section_name_at[SECTIONS] = {0, 1, 20, 26, 34, 42};

#define SEGMENTS    2u
#define NOTE_OFFSET (sizeof(Elf64_Ehdr) + SEGMENTS * sizeof(Elf64_Phdr))
#define NOTE_OWNER  "GNU"

struct note {
	Elf64_Nhdr head;
	char owner[4];
	uint8_t build_id[XF_PERF_BUILD_ID_BYTES];
};

struct object {
	FILE *out;
	const struct xf_perf_image *image;
	uint64_t written;
	uint64_t symbols; /* where they are in the file */
	char *strings;
	size_t strings_size;
	Elf64_Sym *table;
	size_t nr;
};

static void put(struct object *object, const void *bytes, size_t size)
{
	if (size)
		fwrite(bytes, 1, size, object->out);
	object->written += size;
}

static void put_zeroes(struct object *object, uint64_t offset)
{
	static const char zeroes[64];

	while (object->written < offset) {
		uint64_t left = offset - object->written;

		put(object, zeroes, left < sizeof(zeroes) ? left : sizeof(zeroes));
	}
}

static size_t note_size(const struct xf_perf_image *image)
{
	return offsetof(struct note, build_id) + ((image->build_id_size + 3) & ~3ull);
}

/* Names as they are shown. Return: 0 or -ENOMEM. */
static int make_symbols(struct object *object)
{
	const struct xf_perf_image *image = object->image;
	FILE *out = open_memstream(&object->strings, &object->strings_size);

	object->nr = image->nr_symbols + 1;
	object->table = calloc(object->nr, sizeof(*object->table));
	if (!out || !object->table) {
		if (out)
			fclose(out);
		return -ENOMEM;
	}
	fputc(0, out);
	for (size_t i = 0; i < image->nr_symbols; i++) {
		const struct xf_perf_symbol *symbol = &image->symbols[i];

		object->table[i + 1] = (Elf64_Sym){
		        .st_name = (Elf64_Word)ftello(out),
		        .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		        .st_shndx = SECTION_TEXT,
		        .st_value = symbol->start - image->start + image->address,
		        .st_size = symbol->end - symbol->start,
		};
		xf_text_write(out, symbol->name, "");
		fputc(0, out);
	}
	return fclose(out) ? -ENOMEM : 0;
}

static void write_head(struct object *object)
{
	const struct xf_perf_image *image = object->image;
	Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
	                               EV_CURRENT},
	                   .e_type = ET_DYN,
	                   .e_machine = EM_X86_64,
	                   .e_version = EV_CURRENT,
	                   .e_phoff = sizeof(head),
	                   .e_ehsize = sizeof(head),
	                   .e_phentsize = sizeof(Elf64_Phdr),
	                   .e_phnum = SEGMENTS,
	                   .e_shentsize = sizeof(Elf64_Shdr),
	                   .e_shnum = SECTIONS,
	                   .e_shstrndx = SECTION_NAMES};
	/* With the file's head, as linkers have it: libdwfl takes the first segment for the file's
	   beginning, wherever that says it is. */
	Elf64_Phdr segments[SEGMENTS] = {
	        {.p_type = PT_LOAD,
	         .p_flags = PF_R | PF_X,
	         .p_vaddr = image->address - image->offset,
	         .p_paddr = image->address - image->offset,
	         .p_filesz = image->code ? image->offset + image->code_size : 0,
	         .p_memsz = image->offset + image->size,
	         .p_align = 1},
	        {.p_type = PT_NOTE,
	         .p_flags = PF_R,
	         .p_offset = NOTE_OFFSET,
	         .p_filesz = note_size(image),
	         .p_memsz = note_size(image),
	         .p_align = 4}};

	head.e_shoff = object->symbols + object->nr * sizeof(Elf64_Sym);
	put(object, &head, sizeof(head));
	put(object, segments, sizeof(segments));
}

static void write_note(struct object *object)
{
	const struct xf_perf_image *image = object->image;
	struct note note = {.head = {.n_namesz = sizeof(NOTE_OWNER),
	                             .n_descsz = (Elf64_Word)image->build_id_size,
	                             .n_type = NT_GNU_BUILD_ID},
	                    .owner = NOTE_OWNER};

	memcpy(note.build_id, image->build_id, image->build_id_size);
	put(object, &note, note_size(image));
}

/* They come right behind the symbols; the names behind them. */
static void write_sections(struct object *object)
{
	const struct xf_perf_image *image = object->image;
	uint64_t strings =
	        object->symbols + object->nr * sizeof(Elf64_Sym) + SECTIONS * sizeof(Elf64_Shdr);
	Elf64_Shdr sections[SECTIONS] = {
	        [SECTION_NOTE] = {.sh_type = SHT_NOTE,
	                          .sh_flags = SHF_ALLOC,
	                          .sh_offset = NOTE_OFFSET,
	                          .sh_size = note_size(image),
	                          .sh_addralign = 4},
	        [SECTION_TEXT] = {.sh_type = image->code ? SHT_PROGBITS : SHT_NOBITS,
	                          .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
	                          .sh_addr = image->address,
	                          .sh_offset = image->offset,
	                          .sh_size = image->code ? image->code_size : image->size,
	                          .sh_addralign = 1},
	        [SECTION_SYMBOLS] = {.sh_type = SHT_SYMTAB,
	                             .sh_offset = object->symbols,
	                             .sh_size = object->nr * sizeof(Elf64_Sym),
	                             .sh_link = SECTION_STRINGS,
	                             .sh_info = 1,
	                             .sh_addralign = 8,
	                             .sh_entsize = sizeof(Elf64_Sym)},
	        [SECTION_STRINGS] = {.sh_type = SHT_STRTAB,
	                             .sh_offset = strings,
	                             .sh_size = object->strings_size,
	                             .sh_addralign = 1},
	        [SECTION_NAMES] = {.sh_type = SHT_STRTAB,
	                           .sh_offset = strings + object->strings_size,
	                           .sh_size = sizeof(section_names),
	                           .sh_addralign = 1},
	};

	for (size_t i = 0; i < SECTIONS; i++)
		sections[i].sh_name = section_name_at[i];
	put(object, sections, sizeof(sections));
}

int xf_perf_object_write(FILE *out, const struct xf_perf_image *image)
{
	struct object object = {.out = out, .image = image};
	uint64_t end = NOTE_OFFSET + note_size(image);
	int code = make_symbols(&object);

	if (image->code)
		end = image->offset + image->code_size;
	object.symbols = (end + 7) & ~7ull;
	if (!code) {
		write_head(&object);
		write_note(&object);
		if (image->code) {
			put_zeroes(&object, image->offset);
			put(&object, image->code, image->code_size);
		}
		put_zeroes(&object, object.symbols);
		put(&object, object.table, object.nr * sizeof(*object.table));
		write_sections(&object);
		put(&object, object.strings, object.strings_size);
		put(&object, section_names, sizeof(section_names));
	}
	free(object.strings);
	free(object.table);
	return code;
}
