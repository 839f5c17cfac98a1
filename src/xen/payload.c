// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What Xen's loader wants is in docs/xen-interfaces.md, with the sources. Xen's own symbols are
 * bound here, as absolute symbols: their addresses come from the running hypervisor, statics
 * included, whose names are not unique and differ between releases.
 */
#include "xen/payload.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "xenflame/sample.h"

#define MAX_SECTIONS    32u
#define PCPUS_SECTION   ".bss.xenflame_pcpus"
/* Xen refuses larger zeroed sections (LIVEPATCH_MAX_SIZE). */
#define MAX_PCPUS_BYTES (2u << 20)

/* Names in agent/xen.h that stand for something of Xen's with another name, or one of several. */
static const struct {
	const char *agent;
	const char *xen[4];
} renamed[] = {
        {"xen_saved_nmi_callback",
         {"arch/x86/livepatch.c#saved_nmi_callback", "saved_nmi_callback"}},
        {"xen_nmi_callback",
         {"arch/x86/traps.c#nmi_callback", "traps.c#nmi_callback", "nmi_callback"}},
        {"xen_nmi_perfctr_msr",
         {"arch/x86/nmi.c#nmi_perfctr_msr", "nmi.c#nmi_perfctr_msr", "nmi_perfctr_msr"}},
        {"xen_softirq_handlers",
         {"common/softirq.c#softirq_handlers", "softirq.c#softirq_handlers", "softirq_handlers"}},
        {"xen_timer_softirq_action",
         {"common/timer.c#timer_softirq_action", "timer.c#timer_softirq_action",
          "timer_softirq_action"}},
        {"xen_tb_event_mask",
         {"common/trace.c#tb_event_mask", "trace.c#tb_event_mask", "tb_event_mask"}},
        {"xen_copy_from_guest_pv", {"copy_from_guest_pv"}},
        {"xen_copy_from_guest_hvm", {"hvm_copy_from_guest_linear"}},
        {"xen_hvm_get_segment_register", {"hvm_get_segment_register"}},
        {"xen_hvm_get_reg", {"hvm_get_reg"}},
        {"xen_toggle_guest_pt", {"toggle_guest_pt"}},
        {"xen_trace_cycles", {"__trace_var", "trace"}},
        {"xen_trace", {"trace", "__trace_var"}},
};

/* What a Xen may do without: xf_agent_config.guest_readers says so, and they are never called. Some
 * function has to be bound in their place. */
static const char *const optional[] = {"xen_copy_from_guest_pv", "xen_copy_from_guest_hvm",
                                       "xen_hvm_get_segment_register", "xen_hvm_get_reg",
                                       "xen_toggle_guest_pt"};
#define IN_THEIR_PLACE "xen_trace"

struct section {
	char name[48];
	GElf_Shdr header;
	uint8_t *content; /* owned; NULL for SHT_NOBITS */
};

/* The agent's object in pieces, to be put together again. Index 0 is ELF's null section. */
struct object {
	struct section sections[MAX_SECTIONS];
	size_t nr;
	size_t symtab;
	size_t strtab;
};

static void free_object(struct object *object)
{
	size_t i;

	for (i = 0; i < object->nr; i++)
		free(object->sections[i].content);
}

static int bad_object(struct xf_error *error, const char *why)
{
	return xf_fail(error, -EINVAL, "the embedded agent is not usable: %s", why);
}

static int read_section(Elf *elf, Elf_Scn *scn, size_t names, struct section *section)
{
	const char *name;
	Elf_Data *data;
	size_t file_size;

	if (!gelf_getshdr(scn, &section->header) || !elf_rawfile(elf, &file_size))
		return -EINVAL;
	name = elf_strptr(elf, names, section->header.sh_name);
	if (!name || strlen(name) >= sizeof(section->name))
		return -EINVAL;
	memcpy(section->name, name, strlen(name) + 1);
	if (section->header.sh_type == SHT_NOBITS)
		return 0;
	if (section->header.sh_offset > file_size ||
	    section->header.sh_size > file_size - section->header.sh_offset)
		return -EINVAL;
	data = elf_rawdata(scn, NULL);
	if (!data || data->d_size != section->header.sh_size)
		return -EINVAL;
	section->content = calloc(1, section->header.sh_size + 1);
	if (!section->content)
		return -ENOMEM;
	if (data->d_size)
		memcpy(section->content, data->d_buf, data->d_size);
	return 0;
}

static int read_object(const void *bytes, size_t size, struct object *object,
                       struct xf_error *error)
{
	Elf *elf;
	Elf_Scn *scn = NULL;
	size_t names;
	int result = 0;

	elf_version(EV_CURRENT);
	elf = elf_memory((char *)bytes, size);
	if (!elf || elf_getshdrstrndx(elf, &names) != 0) {
		elf_end(elf);
		return bad_object(error, elf_errmsg(-1));
	}
	object->nr = 1;
	while ((scn = elf_nextscn(elf, scn)) != NULL && !result) {
		struct section *section = &object->sections[object->nr];

		if (object->nr + 8 >= MAX_SECTIONS) {
			result = bad_object(error, "too many sections");
			break;
		}
		object->nr++;
		result = read_section(elf, scn, names, section);
		if (result == -ENOMEM)
			xf_fail(error, result, "out of memory");
		else if (result)
			result = bad_object(error, "a damaged section");
		else if (section->header.sh_type == SHT_SYMTAB) {
			object->symtab = object->nr - 1;
			object->strtab = section->header.sh_link;
		}
	}
	elf_end(elf);
	if (!result && (!object->symtab || object->strtab >= object->nr ||
	                !object->sections[object->strtab].content))
		result = bad_object(error, "no symbol table");
	return result;
}

static Elf64_Sym *symbol_array(const struct object *object, size_t *nr)
{
	const struct section *symtab = &object->sections[object->symtab];

	*nr = symtab->header.sh_size / sizeof(Elf64_Sym);
	return (Elf64_Sym *)symtab->content;
}

static const char *symbol_name(const struct object *object, const Elf64_Sym *symbol)
{
	const struct section *strtab = &object->sections[object->strtab];

	return symbol->st_name < strtab->header.sh_size
	               ? (const char *)strtab->content + symbol->st_name
	               : "";
}

/* Return: the symbol that the agent defines as @name, NULL where it does not. */
static Elf64_Sym *find_symbol(const struct object *object, const char *name)
{
	Elf64_Sym *symbols;
	size_t nr, i;

	symbols = symbol_array(object, &nr);
	for (i = 1; i < nr; i++)
		if (strcmp(symbol_name(object, &symbols[i]), name) == 0)
			return &symbols[i];
	return NULL;
}

/* The @size bytes of the agent's variable @name. Return: NULL where it is not there in full. */
static uint8_t *variable(struct object *object, const char *name, size_t size)
{
	const Elf64_Sym *symbol = find_symbol(object, name);
	struct section *section;

	if (!symbol || symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= object->nr)
		return NULL;
	section = &object->sections[symbol->st_shndx];
	if (!section->content || symbol->st_value > section->header.sh_size ||
	    size > section->header.sh_size - symbol->st_value)
		return NULL;
	return section->content + symbol->st_value;
}

static bool is_optional(const char *name)
{
	for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++)
		if (strcmp(optional[i], name) == 0)
			return true;
	return false;
}

/* Return: what Xen has under the first of the names that @name stands for. */
static const struct xf_symbol *find_alias(const struct xf_symbols *symbols, const char *name)
{
	size_t i, j;

	for (i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++) {
		if (strcmp(renamed[i].agent, name) != 0)
			continue;
		for (j = 0; j < 4 && renamed[i].xen[j]; j++) {
			const struct xf_symbol *found =
			        xf_symbols_by_name(symbols, renamed[i].xen[j]);

			if (found)
				return found;
		}
		return NULL;
	}
	return xf_symbols_by_name(symbols, name);
}

/* Return: what the agent's undefined symbol @name is to be bound to, NULL where Xen lacks it. */
static const struct xf_symbol *find_in_xen(const struct xf_symbols *symbols, const char *name)
{
	const struct xf_symbol *found = find_alias(symbols, name);

	return found || !is_optional(name) ? found : find_alias(symbols, IN_THEIR_PLACE);
}

/* Binds what the agent leaves open: its per-pCPU array to @pcpus_section, the rest to Xen's. */
static int bind_symbols(struct object *object, const struct xf_symbols *xen, size_t pcpus_section,
                        struct xf_error *error)
{
	Elf64_Sym *symbols;
	size_t nr, i;

	symbols = symbol_array(object, &nr);
	for (i = 1; i < nr; i++) {
		const char *name = symbol_name(object, &symbols[i]);
		const struct xf_symbol *found;

		if (symbols[i].st_shndx != SHN_UNDEF)
			continue;
		if (strcmp(name, XF_SYMBOL_PCPUS) == 0) {
			symbols[i].st_shndx = pcpus_section;
			symbols[i].st_value = 0;
			continue;
		}
		found = find_in_xen(xen, name);
		/* What does nothing is needed itself, and missed then. */
		if (!found && is_optional(name))
			continue;
		if (!found)
			return xf_fail(error, -EOPNOTSUPP,
			               "this Xen has no symbol %s, which the sampling agent needs",
			               strncmp(name, "xen_", 4) == 0 ? name + 4 : name);
		symbols[i].st_shndx = SHN_ABS;
		symbols[i].st_value = found->address;
	}
	return 0;
}

/* Adds a section; @content (copied) may be NULL for zeroes. Return: its index, 0 without memory. */
static size_t add_section(struct object *object, const char *name, uint64_t flags, uint64_t align,
                          const void *content, size_t size)
{
	struct section *section = &object->sections[object->nr];

	strncpy(section->name, name, sizeof(section->name) - 1);
	section->header.sh_type = content ? SHT_PROGBITS : SHT_NOBITS;
	section->header.sh_flags = flags;
	section->header.sh_addralign = align;
	section->header.sh_size = size;
	if (content) {
		section->content = malloc(size);
		if (!section->content)
			return 0;
		memcpy(section->content, content, size);
	}
	return object->nr++;
}

/* Adds a section that holds one GNU build-id note. */
static bool add_note(struct object *object, const char *name, const uint8_t *build_id, size_t size)
{
	uint8_t note[12 + 4 + 64] = {0};
	uint32_t header[3] = {4, (uint32_t)size, NT_GNU_BUILD_ID};
	size_t index;

	memcpy(note, header, sizeof(header));
	memcpy(note + 12, "GNU", 4);
	memcpy(note + 16, build_id, size);
	index = add_section(object, name, SHF_ALLOC, 4, note, 16 + ((size + 3) & ~(size_t)3));
	if (index)
		object->sections[index].header.sh_type = SHT_NOTE;
	return index != 0;
}

static int add_sections(struct object *object, const struct xf_payload_input *input,
                        struct xf_error *error)
{
	static const char information[] = "name=xenflame\0"
	                                  "purpose=sampling profiler; see xenflame(1)";
	const uint8_t *bytes = variable(object, XF_SYMBOL_PCPU_BYTES, sizeof(uint32_t));
	uint32_t pcpu_bytes;
	size_t index;

	if (!bytes || input->build_id_size > 64 || !input->build_id_size)
		return bad_object(error, "no size of its per-pCPU memory, or no build-id");
	memcpy(&pcpu_bytes, bytes, sizeof(pcpu_bytes));
	if ((uint64_t)pcpu_bytes * input->config->nr_pcpus > MAX_PCPUS_BYTES)
		return xf_fail(
		        error, -EOPNOTSUPP,
		        "this host has more pCPUs (%u) than a live patch has memory for (%u)",
		        input->config->nr_pcpus, MAX_PCPUS_BYTES / pcpu_bytes);
	index = add_section(object, PCPUS_SECTION, SHF_ALLOC | SHF_WRITE, 64, NULL,
	                    (size_t)pcpu_bytes * input->config->nr_pcpus);
	if (!add_note(object, ".note.gnu.build-id", input->own_build_id,
	              sizeof(input->own_build_id)) ||
	    !add_note(object, ".livepatch.depends", input->build_id, input->build_id_size) ||
	    !add_note(object, ".livepatch.xen_depends", input->build_id, input->build_id_size) ||
	    !add_section(object, ".modinfo", SHF_ALLOC, 1, information, sizeof(information)))
		return xf_fail(error, -ENOMEM, "out of memory");
	return bind_symbols(object, input->symbols, index, error);
}

/* The section names' table, made anew. Return: its index, 0 without memory. */
static size_t write_names(struct object *object)
{
	char names[MAX_SECTIONS * 48] = {0};
	size_t used = 1;
	size_t i;

	for (i = 1; i < object->nr; i++) {
		if (strcmp(object->sections[i].name, ".shstrtab") == 0)
			memcpy(object->sections[i].name, ".shstrtab.old", sizeof(".shstrtab.old"));
		object->sections[i].header.sh_name = used;
		memcpy(names + used, object->sections[i].name,
		       strlen(object->sections[i].name) + 1);
		used += strlen(names + used) + 1;
	}
	memcpy(names + used, ".shstrtab", sizeof(".shstrtab"));
	i = add_section(object, ".shstrtab", 0, 1, names, used + sizeof(".shstrtab"));
	if (i) {
		object->sections[i].header.sh_name = used;
		/* What a section holds belongs to the object, which the checker loses sight of. */
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		object->sections[i].header.sh_type = SHT_STRTAB;
	}
	return i;
}

/* Gives every section its place. Return: the size of the whole file. */
static size_t lay_out(struct object *object)
{
	size_t offset = sizeof(Elf64_Ehdr);
	size_t i;

	for (i = 1; i < object->nr; i++) {
		GElf_Shdr *header = &object->sections[i].header;
		size_t align = header->sh_addralign ? header->sh_addralign : 1;

		header->sh_addr = 0;
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): as in write_names */
		offset = (offset + align - 1) & ~(align - 1);
		header->sh_offset = offset;
		if (header->sh_type != SHT_NOBITS)
			offset += header->sh_size;
	}
	offset = (offset + 7) & ~(size_t)7;
	return offset + object->nr * sizeof(Elf64_Shdr);
}

static int assemble(struct object *object, uint8_t **payload, size_t *size, struct xf_error *error)
{
	Elf64_Ehdr header = {.e_type = ET_REL,
	                     .e_machine = EM_X86_64,
	                     .e_version = EV_CURRENT,
	                     .e_ehsize = sizeof(Elf64_Ehdr),
	                     .e_shentsize = sizeof(Elf64_Shdr)};
	size_t names = write_names(object);
	size_t i;

	if (!names)
		return xf_fail(error, -ENOMEM, "out of memory");
	*size = lay_out(object);
	*payload = calloc(1, *size);
	if (!*payload)
		return xf_fail(error, -ENOMEM, "out of memory");
	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	header.e_shoff = *size - object->nr * sizeof(Elf64_Shdr);
	header.e_shnum = object->nr;
	header.e_shstrndx = names;
	memcpy(*payload, &header, sizeof(header));
	for (i = 0; i < object->nr; i++) {
		const struct section *section = &object->sections[i];

		/* On a 64-bit host GElf_Shdr is Elf64_Shdr. */
		memcpy(*payload + header.e_shoff + i * sizeof(Elf64_Shdr), &section->header,
		       sizeof(Elf64_Shdr));
		if (section->content)
			memcpy(*payload + section->header.sh_offset, section->content,
			       section->header.sh_size);
	}
	return 0;
}

int xf_payload_write(const struct xf_payload_input *input, uint8_t **payload, size_t *size,
                     struct xf_error *error)
{
	struct object object = {0};
	uint8_t *config;
	int result = read_object(input->object, input->object_size, &object, error);

	if (!result)
		result = add_sections(&object, input, error);
	if (!result) {
		config = variable(&object, XF_SYMBOL_CONFIG, sizeof(*input->config));
		if (config)
			memcpy(config, input->config, sizeof(*input->config));
		else
			result = bad_object(error, "no configuration in it");
	}
	if (!result)
		result = assemble(&object, payload, size, error);
	free_object(&object);
	return result;
}

/* Resolves the 32-bit PC-relative references of .text to code, with .text at @address. */
static void relocate_text(const struct object *object, const struct section *relocations,
                          uint64_t address, const struct xf_symbols *xen, uint8_t *text,
                          size_t text_size)
{
	size_t nr = relocations->header.sh_size / sizeof(Elf64_Rela);
	const Elf64_Sym *symbols;
	size_t nr_symbols, i;

	symbols = symbol_array(object, &nr_symbols);
	for (i = 0; i < nr; i++) {
		Elf64_Rela entry;
		const Elf64_Sym *symbol;
		const struct xf_symbol *found;
		uint64_t target;
		uint32_t value;

		memcpy(&entry, relocations->content + i * sizeof(entry), sizeof(entry));
		if (ELF64_R_SYM(entry.r_info) >= nr_symbols || entry.r_offset > text_size - 4)
			continue;
		symbol = &symbols[ELF64_R_SYM(entry.r_info)];
		found = symbol->st_shndx == SHN_UNDEF
		                ? find_in_xen(xen, symbol_name(object, symbol))
		                : NULL;
		if (symbol->st_shndx == 1)
			target = address + symbol->st_value;
		else if (found)
			target = found->address;
		else
			continue;
		value = (uint32_t)(target + (uint64_t)entry.r_addend - address - entry.r_offset);
		memcpy(text + entry.r_offset, &value, sizeof(value));
	}
}

static int copy_text(const struct object *object, uint64_t address, const struct xf_symbols *xen,
                     struct xf_code *code, struct xf_error *error)
{
	const struct section *text = &object->sections[1];
	uint8_t *copy;
	size_t i;

	if (object->nr < 2 || strcmp(text->name, ".text") != 0 || !text->content ||
	    text->header.sh_size < 4)
		return bad_object(error, "its first section is not .text");
	copy = malloc(text->header.sh_size);
	if (!copy)
		return xf_fail(error, -ENOMEM, "out of memory");
	memcpy(copy, text->content, text->header.sh_size);
	for (i = 1; i < object->nr; i++)
		if (strcmp(object->sections[i].name, ".rela.text") == 0 &&
		    object->sections[i].content)
			relocate_text(object, &object->sections[i], address, xen, copy,
			              text->header.sh_size);
	*code = (struct xf_code){.address = address, .bytes = copy, .size = text->header.sh_size};
	return 0;
}

int xf_payload_text(const void *bytes, size_t size, uint64_t address, const struct xf_symbols *xen,
                    struct xf_code *code,
                    int (*take)(void *context, uint64_t address, uint64_t size, const char *name),
                    void *context, struct xf_error *error)
{
	struct object object = {0};
	const Elf64_Sym *symbols;
	size_t nr, i;
	int result = read_object(bytes, size, &object, error);

	if (!result)
		result = copy_text(&object, address, xen, code, error);
	if (result)
		goto out;
	symbols = symbol_array(&object, &nr);
	for (i = 1; i < nr && !result; i++)
		if (symbols[i].st_shndx == 1 && ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC)
			result = take(context, address + symbols[i].st_value, symbols[i].st_size,
			              symbol_name(&object, &symbols[i]));
	if (result)
		free((void *)code->bytes);
out:
	free_object(&object);
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): as in write_names */
	return result;
}
