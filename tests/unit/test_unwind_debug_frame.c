// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The inferred frames against the compiler's: at every instruction that .debug_frame covers, the
 * frame's base and the place of the caller's RBP. readelf interprets .debug_frame, so that no
 * code of ours stands on both sides.
 *
 * XENFLAME_XEN_SYMS names an unstripped hypervisor with .debug_frame (Debian:
 * xen-hypervisor-4.20-amd64-dbg, /usr/lib/debug/boot/xen-syms-4.20-amd64). Skipped, loudly, where
 * it is not set. XENFLAME_UNWIND_DIFFERENCES=1 lists every difference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/agree.h"
#include "read_file.h"
#include "unwind/infer.h"

/* Registers of interest by their DWARF numbers' names in readelf's output. */
static const char *const names[XF_NR_REGS] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp",
                                              "rsi", "rdi", "r8",  "r9",  "r10", "r11",
                                              "r12", "r13", "r14", "r15"};

struct image {
	uint8_t *file;
	size_t file_size;
	struct xf_code code; /* .text to .init.text, what lies between filled with int3 */
	uint8_t *bytes;
	uint64_t *entries;
	size_t nr_entries;
};

/* What we say. */
struct inferred {
	struct xf_inference inference;
	struct known *known; /* for each offset */
};

struct rule {
	bool moves; /* RSP moves within the rule's range, so the rule cannot be right there */
	bool word;  /* base is the word at rbp + offset */
	unsigned int reg;
	int64_t offset;
	char rbp; /* 's'ame, 'c': at base + rbp_offset, 'e'xpression: at rbp + 0 */
	int64_t rbp_offset;
};

struct tally {
	unsigned long filler, all, base_equal, base_undefined, base_assembly, base_different;
	unsigned long rbp_equal, rbp_in_register, rbp_unknown, rbp_different;
	unsigned long undefined[256];
	bool list;
};

static const Elf64_Shdr *section_at(const struct image *image, size_t index)
{
	const Elf64_Ehdr *header = (const void *)image->file;

	return (const Elf64_Shdr *)(image->file + header->e_shoff) + index;
}

static const char *section_name(const struct image *image, const Elf64_Shdr *section)
{
	const Elf64_Ehdr *header = (const void *)image->file;

	return (const char *)image->file + section_at(image, header->e_shstrndx)->sh_offset +
	       section->sh_name;
}

static bool is_code(const struct image *image, const Elf64_Shdr *section)
{
	return strcmp(section_name(image, section), ".text") == 0 ||
	       strcmp(section_name(image, section), ".init.text") == 0;
}

static void add_symbols(struct image *image, const Elf64_Shdr *table)
{
	const Elf64_Sym *symbols = (const void *)(image->file + table->sh_offset);
	size_t count = table->sh_size / sizeof(*symbols);

	image->entries = calloc(count + 1, sizeof(*image->entries));
	assert_non_null(image->entries);
	for (size_t i = 0; i < count; i++) {
		unsigned int type = ELF64_ST_TYPE(symbols[i].st_info);
		uint16_t section = symbols[i].st_shndx;

		if ((type != STT_FUNC && type != STT_NOTYPE) || section == SHN_UNDEF ||
		    section >= SHN_LORESERVE || !is_code(image, section_at(image, section)))
			continue;
		image->entries[image->nr_entries++] = symbols[i].st_value;
	}
}

static void load_image(struct image *image, const char *path)
{
	const Elf64_Ehdr *header;
	uint64_t low = UINT64_MAX, high = 0;

	image->file = read_file(path, &image->file_size);
	assert_non_null(image->file);
	header = (const void *)image->file;
	for (size_t i = 0; i < header->e_shnum; i++) {
		const Elf64_Shdr *section = section_at(image, i);

		if (section->sh_type == SHT_SYMTAB)
			add_symbols(image, section);
		if (!is_code(image, section))
			continue;
		low = section->sh_addr < low ? section->sh_addr : low;
		high = section->sh_addr + section->sh_size > high
		               ? section->sh_addr + section->sh_size
		               : high;
	}
	assert_true(high > low);
	image->bytes = malloc(high - low);
	assert_non_null(image->bytes);
	memset(image->bytes, 0xcc, high - low);
	for (size_t i = 0; i < header->e_shnum; i++) {
		const Elf64_Shdr *section = section_at(image, i);

		if (is_code(image, section))
			memcpy(image->bytes + section->sh_addr - low,
			       image->file + section->sh_offset, section->sh_size);
	}
	image->code = (struct xf_code){low, image->bytes, high - low};
}

static bool base_agrees(const struct rule *rule, const struct xf_state *state)
{
	xf_value rbp = state->reg[XF_REG_RBP];

	if (rule->word)
		return state->base_slot != XF_VALUE_UNKNOWN &&
		       state->base_slot == xf_value_add(rbp, rule->offset) &&
		       state->base_saved == xf_value_make(XF_ORIGIN_FRAME, 0);
	return state->reg[rule->reg] == xf_value_make(XF_ORIGIN_FRAME, -rule->offset);
}

static void tally_rbp(struct tally *tally, const struct rule *rule, const struct xf_state *state,
                      uint64_t address)
{
	bool in_register = state->reg[XF_REG_RBP] == XF_VALUE_CALLER_RBP;
	bool agrees;

	if (rule->rbp == 's')
		agrees = in_register;
	else if (rule->rbp == 'c')
		agrees = state->rbp_slot == xf_value_make(XF_ORIGIN_FRAME, rule->rbp_offset);
	else
		agrees = state->rbp_slot != XF_VALUE_UNKNOWN &&
		         state->rbp_slot == state->reg[XF_REG_RBP];
	if (agrees) {
		tally->rbp_equal++;
	} else if (in_register) {
		/* Already restored, or not yet changed: the same value by another way. */
		tally->rbp_in_register++;
	} else if (state->rbp_slot == XF_VALUE_UNKNOWN) {
		tally->rbp_unknown++;
		if (tally->list)
			print_message("rbp unknown %" PRIx64 " compiler %c%+" PRId64 "\n", address,
			              rule->rbp, rule->rbp_offset);
	} else {
		tally->rbp_different++;
		if (tally->list)
			print_message("rbp different %" PRIx64 " compiler %c%+" PRId64 "\n",
			              address, rule->rbp, rule->rbp_offset);
	}
}

/*
 * The compiler does not look into inline assembly: where that pushes, or sets RSP, its table is
 * wrong until RSP is back. Such a place shows itself, without our inference having a say: RSP
 * moves while the compiler's rule says that it does not.
 */
static bool is_assembly(const struct rule *rule)
{
	return rule->moves && !rule->word && rule->reg == XF_REG_RSP;
}

static void tally_insn(struct tally *tally, const struct rule *rule, const struct xf_state *state,
                       uint64_t address, bool padding)
{
	struct xf_unwind_row row = xf_state_row(state);

	/* Filler in the middle of a function, which is jumped over or lies behind a call that does
	 * not come back. */
	if (padding && (state->kind == XF_STATE_NONE || !base_agrees(rule, state))) {
		tally->filler++;
		return;
	}
	tally->all++;
	if (row.kind == XF_ROW_UNDEFINED) {
		tally->base_undefined++;
		tally->undefined[row.reason]++;
		if (tally->list)
			print_message("undefined %" PRIx64 " %s\n", address,
			              xf_unwind_reason_name((enum xf_unwind_reason)row.reason));
		return;
	}
	if (row.kind == XF_ROW_CALL && base_agrees(rule, state)) {
		tally->base_equal++;
		tally_rbp(tally, rule, state, address);
		return;
	}
	if (is_assembly(rule)) {
		tally->base_assembly++;
		return;
	}
	tally->base_different++;
	if (tally->list)
		print_message("different %" PRIx64 " compiler %s%+" PRId64 " ours %s%+d\n", address,
		              names[rule->reg], rule->offset, names[row.base_register],
		              row.base_offset);
}

/* All instructions from @from up to @to, which share one rule. */
static void tally_range(struct tally *tally, const struct inferred *inferred, struct rule *rule,
                        uint64_t from, uint64_t to)
{
	const struct xf_code *code = inferred->inference.graph.code;
	struct xf_decoder decoder;

	xf_decoder_start(&decoder);
	rule->moves = moves_rsp(code, from, to);
	while (from < to) {
		uint64_t offset = from - code->address;
		struct xf_decoded decoded;

		if (offset >= code->size)
			return;
		xf_insn_decode(&decoder, code->bytes + offset, code->size - offset, &decoded);
		tally_insn(
		        tally, rule,
		        xf_states_at(&inferred->inference.states, inferred->known[offset].number),
		        from, decoded.padding);
		from += decoded.length;
	}
}

static void parse_base(const char *text, int64_t expression, struct rule *rule)
{
	rule->word = strcmp(text, "exp") == 0;
	if (rule->word) {
		rule->reg = XF_REG_RBP;
		rule->offset = expression;
		return;
	}
	for (unsigned int i = 0; i < XF_NR_REGS; i++) {
		size_t length = strlen(names[i]);

		if (strncmp(text, names[i], length) != 0 ||
		    (text[length] != '+' && text[length] != '-'))
			continue;
		rule->reg = i;
		rule->offset = strtoll(text + length, NULL, 10);
		return;
	}
	fail_msg("what base is %s?", text);
}

static void parse_rbp(const char *text, struct rule *rule)
{
	rule->rbp = 's';
	if (strcmp(text, "exp") == 0) {
		rule->rbp = 'e';
	} else if (text[0] == 'c') {
		rule->rbp = 'c';
		rule->rbp_offset = strtoll(text + 1, NULL, 10);
	}
}

/* One line of an FDE's table: address, base, and the column of rbp. */
static uint64_t parse_row(char *line, int rbp_column, int64_t expression, struct rule *rule)
{
	uint64_t address = 0;
	int column = 0;

	*rule = (struct rule){.rbp = 's'};
	for (char *word = strtok(line, " \n"); word != NULL; word = strtok(NULL, " \n")) {
		if (column == 0)
			address = strtoull(word, NULL, 16);
		else if (column == 1)
			parse_base(word, expression, rule);
		else if (column == rbp_column)
			parse_rbp(word, rule);
		column++;
	}
	return address;
}

static int find_column(char *line, const char *name)
{
	int column = 0;

	for (char *word = strtok(line, " \n"); word != NULL; word = strtok(NULL, " \n")) {
		if (strcmp(word, name) == 0)
			return column;
		column++;
	}
	return -1;
}

/* Expressions: readelf's interpreted form leaves out what they say. Return: the offset in the one
 * form there is, "the word at rbp + offset", for the FDE that begins at @start; 0 none. */
static int64_t find_expression(FILE *raw, uint64_t start)
{
	char line[1024];
	uint64_t from = 0;
	int64_t offset = 0;

	rewind(raw);
	while (fgets(line, sizeof(line), raw) != NULL) {
		const char *pc = strstr(line, " pc="), *what;

		if (pc != NULL)
			from = strtoull(pc + 4, NULL, 16);
		what = strstr(line, "def_cfa_expression (DW_OP_breg6 (rbp): ");
		if (from == start && what != NULL && strstr(what, "; DW_OP_deref)") != NULL)
			offset = strtoll(strchr(what, ':') + 1, NULL, 10);
	}
	return offset;
}

static FILE *run_readelf(const char *what, const char *path)
{
	char command[4096];

	snprintf(command, sizeof(command), "readelf --debug-dump=%s '%s' 2>/dev/null", what, path);
	return popen(command, "r");
}

/* Keeps readelf's raw dump in a file that can be read again. */
static FILE *dump_raw(const char *path)
{
	FILE *raw = tmpfile(), *pipe = run_readelf("frames", path);
	char line[1024];

	assert_non_null(raw);
	assert_non_null(pipe);
	while (fgets(line, sizeof(line), pipe) != NULL)
		fputs(line, raw);
	assert_int_equal(pclose(pipe), 0);
	return raw;
}

static void compare(struct tally *tally, const struct inferred *inferred, const char *path)
{
	const struct rule initial = {.reg = XF_REG_RSP, .offset = 8, .rbp = 's'};
	FILE *raw = dump_raw(path), *pipe = run_readelf("frames-interp", path);
	struct rule rule = initial;
	uint64_t start = 0, from = 0, end = 0;
	int64_t expression = 0;
	int rbp_column = -1;
	char line[1024];

	assert_non_null(pipe);
	while (fgets(line, sizeof(line), pipe) != NULL) {
		const char *pc = strstr(line, " pc=");

		if (pc != NULL || strstr(line, " CIE ") != NULL) {
			tally_range(tally, inferred, &rule, from, end);
			start = from = pc != NULL ? strtoull(pc + 4, NULL, 16) : 0;
			end = pc != NULL ? strtoull(strstr(pc, "..") + 2, NULL, 16) : 0;
			rule = initial;
			expression = 0;
		} else if (strstr(line, "LOC") != NULL) {
			rbp_column = find_column(line, "rbp");
		} else if (line[0] == 'f' && end != 0) {
			uint64_t address = strtoull(line, NULL, 16);

			if (strstr(line, "exp") != NULL && expression == 0)
				expression = find_expression(raw, start);
			tally_range(tally, inferred, &rule, from, address);
			from = parse_row(line, rbp_column, expression, &rule);
		}
	}
	tally_range(tally, inferred, &rule, from, end);
	assert_int_equal(pclose(pipe), 0);
	fclose(raw);
}

static void report(const struct tally *tally)
{
	print_message("instructions covered by .debug_frame: %lu, and %lu of filler\n", tally->all,
	              tally->filler);
	print_message("base equal %lu (%.4f %%), undefined %lu, different %lu, "
	              "inline assembly that the compiler did not see %lu\n",
	              tally->base_equal, 100.0 * tally->base_equal / tally->all,
	              tally->base_undefined, tally->base_different, tally->base_assembly);
	for (unsigned int i = 0; i < 256; i++)
		if (tally->undefined[i] != 0)
			print_message("  undefined, %s: %lu\n",
			              xf_unwind_reason_name((enum xf_unwind_reason)i),
			              tally->undefined[i]);
	print_message("rbp equal %lu (%.4f %%), the same but in the register %lu, unknown %lu, "
	              "different %lu\n",
	              tally->rbp_equal,
	              100.0 * (tally->rbp_equal + tally->rbp_in_register) / tally->base_equal,
	              tally->rbp_in_register, tally->rbp_unknown, tally->rbp_different);
}

static void test_against_compiler(void **state)
{
	const char *path = getenv("XENFLAME_XEN_SYMS");
	struct inferred inferred;
	struct image image = {0};
	struct tally tally = {0};

	(void)state;
	if (path == NULL) {
		print_message("SKIPPED: XENFLAME_XEN_SYMS names no hypervisor with .debug_frame\n");
		skip();
	}
	tally.list = getenv("XENFLAME_UNWIND_DIFFERENCES") != NULL;
	load_image(&image, path);
	assert_int_equal(
	        xf_infer(&inferred.inference, &image.code, image.entries, image.nr_entries), 0);
	inferred.known = spread_states(&inferred.inference);
	assert_non_null(inferred.known);
	compare(&tally, &inferred, path);
	report(&tally);
	free(inferred.known);
	xf_infer_free(&inferred.inference);
	free(image.entries);
	free(image.bytes);
	free(image.file);
	assert_true(tally.all > 100000);
	assert_true(tally.base_equal >= (tally.all - tally.base_assembly) * 0.999);
	assert_true(tally.rbp_equal + tally.rbp_in_register >= tally.base_equal * 0.999);
	assert_int_equal(tally.base_different, 0);
	assert_int_equal(tally.rbp_different, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_against_compiler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
