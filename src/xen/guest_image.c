// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/guest_image.h"

#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "symbol/kallsyms.h"
#include "symbol/kallsyms_image.h"
#include "unwind/elf.h"
#include "unwind/source.h"
#include "xen/kernel_survey.h"
#include "xen/vmlinuz.h"

/* Far above what any kernel has, its debugging information included. */
#define MOST_FILE_BYTES (2ull << 30)

/* ---- Symbols --------------------------------------------------------------------------------- */

/* The letter that /proc/kallsyms has for a symbol; 0: it is not shown there. */
static char type_of(Elf *elf, const GElf_Sym *symbol)
{
	Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
	unsigned int type = GELF_ST_TYPE(symbol->st_info);
	GElf_Shdr header;

	if ((type != STT_FUNC && type != STT_NOTYPE && type != STT_OBJECT) || !section ||
	    symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE ||
	    !gelf_getshdr(section, &header))
		return 0;
	if (!(header.sh_flags & SHF_EXECINSTR))
		return GELF_ST_BIND(symbol->st_info) == STB_LOCAL ? 'd' : 'D';
	return GELF_ST_BIND(symbol->st_info) == STB_LOCAL ? 't' : 'T';
}

static void print_symbols(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, FILE *text)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
		char type = type_of(elf, &symbol);

		if (type && name && name[0] && !strpbrk(name, "\t\n "))
			fprintf(text, "%016" PRIx64 " %c %s\n", symbol.st_value, type, name);
	}
}

/* What .symtab says, as /proc/kallsyms would. */
static int text_of_symtab(const struct xf_elf *elf, char **text, size_t *size,
                          struct xf_error *error)
{
	FILE *stream = open_memstream(text, size);
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	if (!stream)
		return xf_fail(error, -ENOMEM, "no memory for its symbols");
	while ((section = elf_nextscn(elf->elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
			print_symbols(elf->elf, section, &header, stream);
	if (fclose(stream) != 0) {
		free(*text);
		*text = NULL;
		return xf_fail(error, -ENOMEM, "no memory for its symbols");
	}
	return 0;
}

/* The table that the kernel has for itself, or else the linker's. */
static int text_of(const struct xf_elf *elf, uint64_t base, char **text, size_t *size,
                   struct xf_error *error)
{
	struct xf_elf_section rodata = {0};
	struct xf_error own = {0};
	int code;

	xf_elf_section(elf, ".rodata", &rodata);
	code = xf_kallsyms_of_image(rodata.bytes, rodata.size, rodata.address, base, text, size,
	                            &own);
	if (!code)
		return 0;
	code = text_of_symtab(elf, text, size, error);
	if (!code && !*size) {
		free(*text);
		*text = NULL;
		code = xf_fail(error, own.code, "%s, and no .symtab", own.text);
	}
	return code;
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

static int copy(const void *bytes, size_t size, void **copied, struct xf_error *error)
{
	*copied = malloc(size ? size : 1);
	if (!*copied)
		return xf_fail(error, -ENOMEM, "no memory for it");
	if (size)
		memcpy(*copied, bytes, size);
	return 0;
}

static int take_orc(const struct xf_elf *elf, struct xf_kernel *kernel, struct xf_error *error)
{
	enum xf_orc_layout layout;
	struct xf_orc orc;
	int code = 0;

	if (!xf_source_orc(elf, &orc) || !kernel->text.size ||
	    xf_orc_find_layout(&orc, &layout, NULL)) {
		xf_fail(&kernel->notice, -ENODATA,
		        "it has no unwind table of a kind that is known (CONFIG_UNWINDER_ORC): "
		        "stacks end at their innermost frame");
		return 0;
	}
	code = copy(orc.places, orc.places_size, &kernel->owned[0], error);
	if (!code)
		code = copy(orc.entries, orc.entries_size, &kernel->owned[1], error);
	if (!code && orc.header)
		code = copy(orc.header, orc.header_size, &kernel->owned[2], error);
	if (code)
		return code;
	kernel->orc = orc;
	kernel->orc.places = kernel->owned[0];
	kernel->orc.entries = kernel->owned[1];
	kernel->orc.header = kernel->owned[2];
	return 0;
}

/* Of the thunks ORC says no more, up to 6.3, than that the stack ends. */
static int take_thunks(struct xf_guest_image *image, const struct xf_survey *survey,
                       struct xf_error *error)
{
	static const enum xf_survey_place places[] = {XF_SURVEY_THUNKS, XF_SURVEY_ITS_THUNKS};
	struct xf_kernel *kernel = &image->kernel;
	const struct xf_code *text = &image->slide.text;

	kernel->code = calloc(sizeof(places) / sizeof(places[0]), sizeof(*kernel->code));
	if (!kernel->code)
		return xf_fail(error, -ENOMEM, "no memory for it");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct xf_code thunks = xf_survey_thunks(survey, places[i]);
		uint64_t offset = thunks.address - text->address;
		void *bytes;

		if (!thunks.size || offset >= text->size || thunks.size > text->size - offset)
			continue;
		if (copy(text->bytes + offset, thunks.size, &bytes, error))
			return -ENOMEM;
		thunks.bytes = bytes;
		kernel->code[kernel->nr_code++] = thunks;
		if (places[i] == XF_SURVEY_THUNKS) {
			image->slide.thunks_start = thunks.address;
			image->slide.thunks_end = thunks.address + thunks.size;
		}
	}
	return 0;
}

/* "Linux version 6.1.0-44-amd64 (...": what the kernel itself says that it is. */
static void take_name(const struct xf_elf *elf, const struct xf_survey *survey,
                      struct xf_kernel *kernel)
{
	struct xf_elf_section rodata = {0};
	char version[128];
	uint64_t offset;

	snprintf(kernel->name, sizeof(kernel->name), "Linux");
	if (!xf_elf_section(elf, ".rodata", &rodata))
		return;
	offset = survey->banner - rodata.address;
	if (offset >= rodata.size)
		return;
	snprintf(version, sizeof(version), "%.*s",
	         (int)(rodata.size - offset < 127 ? rodata.size - offset : 127),
	         (const char *)rodata.bytes + offset);
	if (strncmp(version, "Linux version ", 14) != 0)
		return;
	version[14 + strcspn(version + 14, " \n")] = '\0';
	snprintf(kernel->name, sizeof(kernel->name), "Linux %s", version + 14);
}

/* An image may be without: then only its processes, or their functions, are not known. */
static void take_layouts(const struct xf_elf *elf, const char *symbols, size_t size,
                         struct xf_kernel *kernel)
{
	struct xf_elf_section types;

	if (!xf_elf_section(elf, ".BTF", &types)) {
		xf_fail(&kernel->no_task_layout, -ENOENT,
		        "it does not carry its own types (CONFIG_DEBUG_INFO_BTF, since Linux 5.2)");
		kernel->no_memory_layout = kernel->no_task_layout;
		return;
	}
	kernel->has_task_layout =
	        !xf_btf_task_layout(types.bytes, types.size, symbols, size, &kernel->task_layout,
	                            &kernel->no_task_layout);
	kernel->has_memory_layout = !xf_btf_memory_layout(
	        types.bytes, types.size, &kernel->memory_layout, &kernel->no_memory_layout);
	kernel->has_module_layout = !xf_btf_module_layout(types.bytes, types.size, symbols, size,
	                                                  &kernel->module_layout, NULL);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static int take_text(const struct xf_elf *elf, struct xf_guest_image *image, struct xf_error *error)
{
	struct xf_elf_section text;
	void *bytes;
	int code;

	if (!xf_elf_section(elf, ".text", &text) || text.size > XF_MOST_KERNEL_BYTES)
		return xf_fail(error, -EBADMSG, "it has no code that could be a kernel's (.text)");
	code = copy(text.bytes, text.size, &bytes, error);
	if (code)
		return code;
	image->text = bytes;
	image->slide.text =
	        (struct xf_code){.address = text.address, .bytes = bytes, .size = text.size};
	return 0;
}

/* Behind its code begins what it says nothing of, such as modules. */
static int mark_ends(const struct xf_elf *elf, struct xf_symbols *symbols)
{
	int code = 0;

	for (size_t i = 0; !code && i < elf->nr_pieces; i++)
		code = xf_symbols_add(symbols,
		                      elf->pieces[i].code.address + elf->pieces[i].code.size, 0,
		                      'd', "");
	return code;
}

static int take_symbols(const struct xf_elf *elf, struct xf_guest_image *image, const char *text,
                        size_t size, struct xf_error *error)
{
	int code = xf_kallsyms_parse(text, size, &image->kernel.symbols, error);

	if (code)
		return code;
	if (mark_ends(elf, image->kernel.symbols))
		return xf_fail(error, -ENOMEM, "no memory for its symbols");
	xf_symbols_finish(image->kernel.symbols);
	image->entries = xf_symbols_entries(image->kernel.symbols, &image->slide.nr_entries);
	image->slide.entries = image->entries;
	return image->entries ? 0 : xf_fail(error, -ENOMEM, "no memory for its symbols");
}

static int use_elf(const struct xf_elf *elf, struct xf_guest_image *image, struct xf_error *error)
{
	struct xf_survey survey = {0};
	char *text = NULL;
	size_t size;
	int code = take_text(elf, image, error);

	if (!code)
		code = text_of(elf, image->slide.text.address, &text, &size, error);
	if (!code)
		code = take_symbols(elf, image, text, size, error);
	if (!code && xf_survey_symbols(&survey, text, size))
		code = xf_fail(error, -ENOMEM, "no memory for its symbols");
	if (!code) {
		image->kernel.text = xf_survey_text(&survey);
		take_name(elf, &survey, &image->kernel);
		take_layouts(elf, text, size, &image->kernel);
		code = take_thunks(image, &survey, error);
	}
	if (!code)
		code = take_orc(elf, &image->kernel, error);
	xf_survey_free(&survey);
	free(text);
	return code;
}

static int use(void *context, const void *bytes, size_t size, struct xf_error *error)
{
	struct xf_elf elf;
	int code = xf_elf_open(bytes, size, &elf, error);

	if (!code)
		code = use_elf(&elf, context, error);
	xf_elf_close(&elf);
	return code;
}

int xf_guest_image_read(const char *path, struct xf_guest_image *image, struct xf_error *error)
{
	struct stat file;
	int code;

	*image = (struct xf_guest_image){0};
	/* Of what is no file an open might wait for ever. */
	if (stat(path, &file) != 0)
		return xf_fail(error, -errno, "cannot open %s: %s", path, strerror(errno));
	if (!S_ISREG(file.st_mode) || (uint64_t)file.st_size > MOST_FILE_BYTES)
		return xf_fail(error, -EBADMSG, "%s is no file of a kernel's size", path);
	code = xf_vmlinuz_unpack(path, use, image, error);
	if (code) {
		if (error && !strstr(error->text, path))
			xf_fail_prefix(error, "%s", path);
		xf_guest_image_free(image);
	}
	return code;
}

void xf_guest_image_free(struct xf_guest_image *image)
{
	xf_kernel_free(&image->kernel);
	free(image->text);
	free(image->entries);
	*image = (struct xf_guest_image){0};
}
