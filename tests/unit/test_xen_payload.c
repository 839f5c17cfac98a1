// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * src/xen/payload.c on the agent as it is built for Xen: the file that it writes is looked at with
 * libelf, by Xen's rules (docs/misc/livepatch.pandoc and common/livepatch_elf.c).
 * XF_AGENT_OBJECT names another object than build/agent.o.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>

#include "xen/payload.h"
#include "xenflame/sample.h"

#ifndef XF_AGENT_OBJECT
#define XF_AGENT_OBJECT "build/agent.o"
#endif

#define XEN 0xffff82d040200000ull

/* What the agent needs of Xen, as a Xen names it; [1] where another name serves as well. */
static const char *const xen_names[][3] = {
        {"get_s_time"},
        {"init_timer"},
        {"set_timer"},
        {"migrate_timer"},
        {"kill_timer"},
        {"arch/x86/traps.c#nmi_callback", "traps.c#nmi_callback", "nmi_callback"},
        {"nmi_watchdog"},
        {"arch/x86/nmi.c#nmi_perfctr_msr", "nmi.c#nmi_perfctr_msr", "nmi_perfctr_msr"},
        {"send_IPI_mask"},
        {"open_softirq"},
        {"raise_softirq"},
        {"stack_base"},
        {"idle_vcpu"},
        {"cpu_online_map"},
        {"arch/x86/livepatch.c#saved_nmi_callback", "saved_nmi_callback"},
        {"common/softirq.c#softirq_handlers", "softirq.c#softirq_handlers", "softirq_handlers"},
        {"common/timer.c#timer_softirq_action", "timer.c#timer_softirq_action",
         "timer_softirq_action"},
        {"common/trace.c#tb_event_mask", "trace.c#tb_event_mask", "tb_event_mask"},
        {"trace", "__trace_var"},
};
#define NR_NAMES (sizeof(xen_names) / sizeof(xen_names[0]))

static const uint8_t build_id[20] = {0xab, 0xcd, 1, 2, 3};
static const struct xf_agent_config config = {
        .version = XF_FORMAT_VERSION, .nr_pcpus = 8, .frequency = 99, .seed = 5, .text_start = XEN};

static uint8_t *object;
static size_t object_size;
static struct xf_symbols *symbols;

/* What was written last, and libelf's view of it. */
static uint8_t *payload;
static size_t payload_size;
static Elf *elf;
static struct xf_error error;

static int read_object(void **state)
{
	const char *path = getenv("XF_AGENT_OBJECT");
	FILE *file = fopen(path ? path : XF_AGENT_OBJECT, "rb");
	size_t got;

	(void)state;
	if (!file) {
		print_error("no agent: run make " XF_AGENT_OBJECT "\n");
		return -1;
	}
	object = malloc(1u << 20);
	got = fread(object, 1, 1u << 20, file);
	fclose(file);
	/* The exact size, so that ASan sees a read beyond the end. */
	object = realloc(object, got);
	object_size = got;
	elf_version(EV_CURRENT);
	return 0;
}

static int free_object(void **state)
{
	(void)state;
	free(object);
	return 0;
}

static void forget(void)
{
	if (elf)
		elf_end(elf);
	free(payload);
	xf_symbols_free(symbols);
	elf = NULL;
	payload = NULL;
	symbols = NULL;
}

static int tear_down(void **state)
{
	(void)state;
	forget();
	return 0;
}

/* A Xen with these symbols: of each name that with the given index, or none for @missing. */
static void make_symbols(size_t choice, size_t missing)
{
	size_t i;

	symbols = xf_symbols_new();
	for (i = 0; i < NR_NAMES; i++) {
		size_t name = choice;

		while (!xen_names[i][name])
			name--;
		if (i != missing)
			xf_symbols_add(symbols, XEN + 0x100 * (i + 1), 0, 't', xen_names[i][name]);
	}
	xf_symbols_add(symbols, XEN + 0x10, 0, 't', "common/other.c#init_timer");
	xf_symbols_finish(symbols);
}

static int write_payload(const void *bytes, size_t size, const struct xf_agent_config *wanted)
{
	struct xf_payload_input input = {.object = bytes,
	                                 .object_size = size,
	                                 .symbols = symbols,
	                                 .config = wanted,
	                                 .build_id = build_id,
	                                 .build_id_size = sizeof(build_id),
	                                 .own_build_id = {9, 8, 7}};
	int result;

	memset(&error, 0, sizeof(error));
	result = xf_payload_write(&input, &payload, &payload_size, &error);
	assert_int_equal(result, error.code);
	if (!result) {
		elf = elf_memory((char *)payload, payload_size);
		assert_non_null(elf);
	}
	return result;
}

static int set_up(void **state)
{
	(void)state;
	make_symbols(0, NR_NAMES);
	return write_payload(object, object_size, &config);
}

static const char *section_name(Elf_Scn *section)
{
	GElf_Shdr header;
	size_t names;

	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	assert_non_null(gelf_getshdr(section, &header));
	return elf_strptr(elf, names, header.sh_name);
}

static Elf_Scn *find_section(const char *name)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)) != NULL)
		if (strcmp(section_name(section), name) == 0)
			return section;
	return NULL;
}

static GElf_Shdr header_of(const char *name)
{
	Elf_Scn *section = find_section(name);
	GElf_Shdr header;

	if (!section)
		fail_msg("no section %s", name);
	assert_non_null(gelf_getshdr(section, &header));
	return header;
}

static GElf_Sym symbol_at(size_t index, const char **name)
{
	Elf_Scn *section = find_section(".symtab");
	GElf_Shdr header = header_of(".symtab");
	GElf_Sym symbol;

	assert_non_null(gelf_getsym(elf_getdata(section, NULL), (int)index, &symbol));
	*name = elf_strptr(elf, header.sh_link, symbol.st_name);
	return symbol;
}

static size_t nr_symbols(void)
{
	GElf_Shdr header = header_of(".symtab");

	return header.sh_size / header.sh_entsize;
}

static GElf_Sym find_symbol(const char *wanted)
{
	const char *name;
	size_t i;

	for (i = 1; i < nr_symbols(); i++) {
		GElf_Sym symbol = symbol_at(i, &name);

		if (name && strcmp(name, wanted) == 0)
			return symbol;
	}
	fail_msg("no symbol %s", wanted);
	return (GElf_Sym){0};
}

static void it_is_a_relocatable_file_for_x86_64(void **state)
{
	GElf_Ehdr header;

	(void)state;
	assert_non_null(gelf_getehdr(elf, &header));
	assert_int_equal(header.e_type, ET_REL);
	assert_int_equal(header.e_machine, EM_X86_64);
	assert_int_equal(header.e_ident[EI_CLASS], ELFCLASS64);
	assert_int_equal(header.e_ident[EI_DATA], ELFDATA2LSB);
	assert_int_equal(header.e_shentsize, sizeof(Elf64_Shdr));
	assert_int_equal(header.e_phnum, 0);
	assert_true(header.e_shnum < 64); /* Xen's limit is 64 */
}

/* Xen's livepatch_elf_load and elf_resolve_sections. */
static void sections_lie_within_the_file_and_do_not_overlap(void **state)
{
	uint8_t *used = calloc(1, payload_size);
	Elf_Scn *section = NULL;

	(void)state;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header;
		size_t i;

		assert_non_null(gelf_getshdr(section, &header));
		if (header.sh_type == SHT_NOBITS)
			continue;
		assert_true(header.sh_offset >= sizeof(Elf64_Ehdr));
		assert_true(header.sh_offset + header.sh_size <= payload_size);
		if (header.sh_addralign)
			assert_int_equal(header.sh_offset % header.sh_addralign, 0);
		for (i = 0; i < header.sh_size; i++)
			assert_int_equal(used[header.sh_offset + i]++, 0);
	}
	free(used);
}

static void no_section_is_writable_and_executable(void **state)
{
	Elf_Scn *section = NULL;

	(void)state;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header;

		assert_non_null(gelf_getshdr(section, &header));
		assert_true((header.sh_flags & (SHF_WRITE | SHF_EXECINSTR)) !=
		            (SHF_WRITE | SHF_EXECINSTR));
		assert_int_equal(header.sh_flags & SHF_EXECINSTR,
		                 strcmp(section_name(section), ".text") == 0 ? SHF_EXECINSTR : 0);
	}
}

static void the_hooks_are_load_and_unload_and_no_others(void **state)
{
	Elf_Scn *section = NULL;
	unsigned int hooks = 0;

	(void)state;
	assert_int_equal(header_of(".livepatch.hooks.load").sh_size, 8);
	assert_int_equal(header_of(".livepatch.hooks.unload").sh_size, 8);
	while ((section = elf_nextscn(elf, section)) != NULL) {
		const char *name = section_name(section);

		/* Any pre or post hook would make Xen refuse a vendor's replace. */
		assert_null(strstr(name, "preapply"));
		assert_null(strstr(name, "postapply"));
		assert_null(strstr(name, "prerevert"));
		assert_null(strstr(name, "postrevert"));
		assert_null(strstr(name, "hooks.apply"));
		assert_null(strstr(name, "hooks.revert"));
		assert_null(strstr(name, ".livepatch.funcs"));
		hooks += strncmp(name, ".livepatch.hooks.", 17) == 0;
	}
	assert_int_equal(hooks, 2);
}

static void want_note(const char *name, const uint8_t *id, size_t size)
{
	GElf_Shdr header = header_of(name);
	const uint8_t *note = payload + header.sh_offset;
	const uint32_t start[3] = {4, (uint32_t)size, NT_GNU_BUILD_ID};

	assert_int_equal(header.sh_type, SHT_NOTE);
	assert_true(header.sh_flags & SHF_ALLOC);
	assert_int_equal(header.sh_size, 16 + size);
	assert_memory_equal(note, start, 12);
	assert_memory_equal(note + 12, "GNU", 4);
	assert_memory_equal(note + 16, id, size);
}

static void the_notes_name_xens_build_id_and_its_own(void **state)
{
	static const uint8_t own[20] = {9, 8, 7};

	(void)state;
	want_note(".note.gnu.build-id", own, sizeof(own));
	want_note(".livepatch.depends", build_id, sizeof(build_id));
	want_note(".livepatch.xen_depends", build_id, sizeof(build_id));
}

static void relocations_are_of_the_kinds_that_xen_knows_and_within_bounds(void **state)
{
	Elf_Scn *section = NULL;
	size_t relocations = 0;

	(void)state;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header, target;
		GElf_Rela entry;
		int i;

		assert_non_null(gelf_getshdr(section, &header));
		assert_int_not_equal(header.sh_type, SHT_REL);
		if (header.sh_type != SHT_RELA)
			continue;
		assert_non_null(gelf_getshdr(elf_getscn(elf, header.sh_info), &target));
		assert_ptr_equal(elf_getscn(elf, header.sh_link), find_section(".symtab"));
		for (i = 0; (size_t)i < header.sh_size / sizeof(Elf64_Rela); i++) {
			size_t width = 0;

			assert_non_null(gelf_getrela(elf_getdata(section, NULL), i, &entry));
			switch (GELF_R_TYPE(entry.r_info)) {
			case R_X86_64_64:
				width = 8;
				break;
			case R_X86_64_PC32:
			case R_X86_64_PLT32:
				width = 4;
				break;
			default:
				fail_msg("relocation of type %u",
				         (unsigned int)GELF_R_TYPE(entry.r_info));
			}
			assert_true(entry.r_offset + width <= target.sh_size);
			assert_true(GELF_R_SYM(entry.r_info) < nr_symbols());
			assert_int_not_equal(GELF_R_SYM(entry.r_info), 0);
			relocations++;
		}
	}
	assert_true(relocations > 50);
}

static void every_symbol_is_bound(void **state)
{
	size_t i, absolute = 0;
	const char *name;

	(void)state;
	for (i = 1; i < nr_symbols(); i++) {
		GElf_Sym symbol = symbol_at(i, &name);

		if (symbol.st_shndx == SHN_UNDEF)
			fail_msg("%s is not bound", name);
		assert_int_not_equal(symbol.st_shndx, SHN_COMMON); /* Xen refuses it */
		absolute += symbol.st_shndx == SHN_ABS && GELF_ST_TYPE(symbol.st_info) != STT_FILE;
	}
	/* The trace function is there twice, and stands for five optional ones that are not. */
	assert_int_equal(absolute, NR_NAMES + 6);
}

static void want_bound(const char *agents, size_t name)
{
	GElf_Sym symbol = find_symbol(agents);

	assert_int_equal(symbol.st_shndx, SHN_ABS);
	assert_int_equal(symbol.st_value, XEN + 0x100 * (name + 1));
}

static void symbols_are_bound_to_xens_whatever_their_file_is_called(void **state)
{
	size_t choice;

	(void)state;
	for (choice = 0; choice < 3; choice++) {
		forget();
		make_symbols(choice, NR_NAMES);
		assert_int_equal(write_payload(object, object_size, &config), 0);
		want_bound("init_timer", 1);
		want_bound("xen_nmi_callback", 5);
		want_bound("xen_nmi_perfctr_msr", 7);
		want_bound("cpu_online_map", 13);
		want_bound("xen_saved_nmi_callback", 14);
		want_bound("xen_softirq_handlers", 15);
		want_bound("xen_timer_softirq_action", 16);
		want_bound("xen_tb_event_mask", 17);
		want_bound("xen_trace", 18);
		want_bound("xen_trace_cycles", 18);
	}
}

static void each_trace_function_gets_its_own_where_xen_has_both(void **state)
{
	(void)state;
	forget();
	make_symbols(0, NR_NAMES);
	xf_symbols_free(symbols);
	symbols = xf_symbols_new();
	for (size_t i = 0; i < NR_NAMES; i++)
		xf_symbols_add(symbols, XEN + 0x100 * (i + 1), 0, 't', xen_names[i][0]);
	xf_symbols_add(symbols, XEN + 0x9000, 0, 't', "__trace_var");
	xf_symbols_finish(symbols);
	assert_int_equal(write_payload(object, object_size, &config), 0);
	want_bound("xen_trace", 18);
	assert_int_equal(find_symbol("xen_trace_cycles").st_value, XEN + 0x9000);
}

static void a_missing_symbol_is_named(void **state)
{
	size_t missing;

	(void)state;
	for (missing = 0; missing < NR_NAMES; missing++) {
		const char *name = xen_names[missing][0];
		const char *file = strchr(name, '#');

		forget();
		make_symbols(0, missing);
		assert_int_equal(write_payload(object, object_size, &config), -EOPNOTSUPP);
		assert_null(payload);
		if (!strstr(error.text, file ? file + 1 : name))
			fail_msg("%s is missing, but: %s", name, error.text);
	}
}

static void the_configuration_is_filled_in(void **state)
{
	GElf_Sym symbol = find_symbol(XF_SYMBOL_CONFIG);
	GElf_Shdr header;

	(void)state;
	assert_non_null(gelf_getshdr(elf_getscn(elf, symbol.st_shndx), &header));
	assert_int_equal(header.sh_type, SHT_PROGBITS);
	assert_true(header.sh_flags & SHF_WRITE);
	assert_true(symbol.st_value + sizeof(config) <= header.sh_size);
	assert_memory_equal(payload + header.sh_offset + symbol.st_value, &config, sizeof(config));
}

static void there_is_memory_for_every_pcpu(void **state)
{
	GElf_Sym bytes = find_symbol(XF_SYMBOL_PCPU_BYTES);
	GElf_Sym pcpus = find_symbol(XF_SYMBOL_PCPUS);
	GElf_Shdr header;
	uint32_t each;

	(void)state;
	assert_non_null(gelf_getshdr(elf_getscn(elf, bytes.st_shndx), &header));
	memcpy(&each, payload + header.sh_offset + bytes.st_value, sizeof(each));
	assert_non_null(gelf_getshdr(elf_getscn(elf, pcpus.st_shndx), &header));
	assert_int_equal(header.sh_type, SHT_NOBITS);
	assert_int_equal(header.sh_flags, SHF_ALLOC | SHF_WRITE);
	assert_int_equal(pcpus.st_value, 0);
	assert_int_equal(header.sh_size, each * config.nr_pcpus);
}

static void more_pcpus_than_a_live_patch_has_memory_for_are_refused(void **state)
{
	struct xf_agent_config large = config;
	uint32_t low = 1, high = 4096;

	(void)state;
	while (high - low > 1) {
		large.nr_pcpus = low + (high - low) / 2;
		forget();
		make_symbols(0, NR_NAMES);
		if (write_payload(object, object_size, &large) == 0) {
			low = large.nr_pcpus;
			/* Xen's LIVEPATCH_MAX_SIZE, for each section. */
			assert_true(header_of(".bss.xenflame_pcpus").sh_size <= 2u << 20);
			continue;
		}
		assert_int_equal(error.code, -EOPNOTSUPP);
		assert_non_null(strstr(error.text, "pCPUs"));
		high = large.nr_pcpus;
	}
	print_message("  up to %u pCPUs\n", low);
	assert_true(low >= 128);
	large.nr_pcpus = UINT32_MAX;
	forget();
	make_symbols(0, NR_NAMES);
	assert_int_equal(write_payload(object, object_size, &large), -EOPNOTSUPP);
}

static void a_damaged_agent_is_refused(void **state)
{
	uint8_t *copy = malloc(object_size);
	size_t size;

	(void)state;
	forget();
	make_symbols(0, NR_NAMES);
	for (size = 0; size < object_size; size += size < 128 ? 1 : 61) {
		uint8_t *cut = malloc(size ? size : 1);

		memcpy(cut, object, size);
		assert_int_equal(write_payload(cut, size, &config), -EINVAL);
		assert_true(error.text[0]);
		free(cut);
	}
	free(copy);
}

/* ASan ends the program that allocates what such a section claims to hold. */
static void a_section_larger_than_the_file_is_refused_unread(void **state)
{
	static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 1, 1ull << 62, 1ull << 40};
	uint8_t *copy = malloc(object_size);
	Elf64_Ehdr header;
	Elf64_Shdr section;

	(void)state;
	memcpy(&header, object, sizeof(header));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		forget();
		make_symbols(0, NR_NAMES);
		memcpy(copy, object, object_size);
		memcpy(&section, copy + header.e_shoff + sizeof(section), sizeof(section));
		section.sh_size = sizes[i];
		memcpy(copy + header.e_shoff + sizeof(section), &section, sizeof(section));
		assert_int_equal(write_payload(copy, object_size, &config), -EINVAL);
		assert_non_null(strstr(error.text, "a damaged section"));
	}
	free(copy);
}

static int accept(void *context, uint64_t address, uint64_t size, const char *name)
{
	(void)context;
	(void)address;
	(void)size;
	(void)name;
	return 0;
}

/* The object is our own, but a reader of files is a reader of files. */
static void any_damage_to_the_agents_headers_is_survived(void **state)
{
	uint8_t *copy = malloc(object_size);
	size_t headers = object_size - 13 * sizeof(Elf64_Shdr);
	uint32_t random = 1;
	unsigned int round;
	struct xf_code text;

	(void)state;
	for (round = 0; round < 500; round++) {
		size_t at;

		forget();
		make_symbols(0, NR_NAMES);
		memcpy(copy, object, object_size);
		random = random * 1664525 + 1013904223;
		at = random >> 8;
		at = round % 4 == 0 ? at % 64 : headers + at % (object_size - headers);
		random = random * 1664525 + 1013904223;
		copy[at] = (uint8_t)(random >> 16);
		write_payload(copy, object_size, &config);
		if (xf_payload_text(copy, object_size, XEN, symbols, &text, accept, NULL, &error) ==
		    0)
			free((void *)text.bytes);
	}
	free(copy);
}

/* The agent's text as it will lie in Xen. */

static size_t functions;
static uint64_t capture_at;

static int take_function(void *context, uint64_t address, uint64_t size, const char *name)
{
	const uint64_t *base = context;

	assert_true(address >= *base && size > 0);
	functions++;
	if (strcmp(name, "xf_capture_nmi") == 0)
		capture_at = address;
	return 0;
}

static void the_text_at_its_address_has_its_calls_resolved(void **state)
{
	uint64_t base = XEN + 0x800000;
	size_t i, rela_nr, calls = 0;
	Elf_Scn *rela = find_section(".rela.text");
	struct xf_code text;

	(void)state;
	functions = 0;
	assert_int_equal(xf_payload_text(object, object_size, base, symbols, &text, take_function,
	                                 &base, &error),
	                 0);
	assert_int_equal(text.address, base);
	assert_int_equal(text.size, header_of(".text").sh_size);
	assert_true(functions >= 8);
	assert_int_equal(capture_at, base + find_symbol("xf_capture_nmi").st_value);
	rela_nr = header_of(".rela.text").sh_size / sizeof(Elf64_Rela);
	for (i = 0; i < rela_nr; i++) {
		GElf_Rela entry;
		GElf_Sym symbol;
		const char *name;
		int32_t value;

		assert_non_null(gelf_getrela(elf_getdata(rela, NULL), (int)i, &entry));
		symbol = symbol_at(GELF_R_SYM(entry.r_info), &name);
		memcpy(&value, text.bytes + entry.r_offset, 4);
		if (symbol.st_shndx != SHN_ABS || GELF_R_TYPE(entry.r_info) != R_X86_64_PLT32)
			continue;
		assert_int_equal(base + entry.r_offset + 4 + (uint64_t)(int64_t)value,
		                 symbol.st_value + (uint64_t)entry.r_addend + 4);
		calls++;
	}
	assert_true(calls > 5);
	free((void *)text.bytes);
}

static int refuse(void *context, uint64_t address, uint64_t size, const char *name)
{
	(void)context;
	(void)address;
	(void)size;
	(void)name;
	return -ECANCELED;
}

static void a_refusal_while_the_text_is_told_ends_it(void **state)
{
	struct xf_code text;

	(void)state;
	assert_int_equal(
	        xf_payload_text(object, object_size, XEN, symbols, &text, refuse, NULL, &error),
	        -ECANCELED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	        TEST(it_is_a_relocatable_file_for_x86_64),
	        TEST(sections_lie_within_the_file_and_do_not_overlap),
	        TEST(no_section_is_writable_and_executable),
	        TEST(the_hooks_are_load_and_unload_and_no_others),
	        TEST(the_notes_name_xens_build_id_and_its_own),
	        TEST(relocations_are_of_the_kinds_that_xen_knows_and_within_bounds),
	        TEST(every_symbol_is_bound),
	        TEST(symbols_are_bound_to_xens_whatever_their_file_is_called),
	        TEST(each_trace_function_gets_its_own_where_xen_has_both),
	        TEST(a_missing_symbol_is_named),
	        TEST(the_configuration_is_filled_in),
	        TEST(there_is_memory_for_every_pcpu),
	        TEST(more_pcpus_than_a_live_patch_has_memory_for_are_refused),
	        TEST(a_damaged_agent_is_refused),
	        TEST(a_section_larger_than_the_file_is_refused_unread),
	        TEST(any_damage_to_the_agents_headers_is_survived),
	        TEST(the_text_at_its_address_has_its_calls_resolved),
	        TEST(a_refusal_while_the_text_is_told_ends_it),
	};

	return cmocka_run_group_tests(tests, read_object, free_object);
}
