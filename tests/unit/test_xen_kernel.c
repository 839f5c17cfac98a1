// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The running kernel's facts, from files made up here in place of those in /proc. With a stock
 * kernel, named by XENFLAME_KERNEL (tests/run unpacks Debian's), its table is read from its image.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <unistd.h>

#include "cmd/record_kernel.h"
#include "profile/recording.h"
#include "read_file.h"
#include "unit/made_btf.h"
#include "unit/taken_bytes.h"
#include "unwind/elf.h"
#include "xen/kernel.h"

#define TEXT   0xffffffff81000000ull
#define RODATA 0xffffffff82000000ull
#define MODULE 0xffffffffc0400000ull
#define SIZE   0x4000u

/* Where things are in the read-only data. */
#define PLACES  0x100u
#define ENTRIES 0x200u
#define HEADER  0x300u

static char directory[] = "/tmp/xenflame-kernel-XXXXXX";

/* The path of a file in the directory, the same each time. */
static const char *in_directory(const char *name)
{
	static char paths[16][128];
	char path[128];
	size_t i = 0;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	while (paths[i][0] && strcmp(paths[i], path) != 0)
		i++;
	assert_true(i + 1 < sizeof(paths) / sizeof(paths[0]));
	strcpy(paths[i], path);
	return paths[i];
}

static const char *write_file(const char *name, const void *bytes, size_t size)
{
	const char *path = in_directory(name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
	return path;
}

static const char *write_lines(const char *name, const char *text)
{
	return write_file(name, text, strlen(text));
}

static const char *write_btf(void)
{
	size_t size;
	uint8_t *bytes = make_btf(&size);
	const char *path = write_file("btf", bytes, size);

	free(bytes);
	return path;
}

/* Three segments: text, read-only data with ORC of 6.4, modules. */
static const char *write_kcore(void)
{
	static const uint64_t addresses[] = {TEXT, RODATA, MODULE};
	static const uint16_t entries[2][3] = {{8, 0, 5 | 2 << 8}, {16, 0, 5 | 2 << 8}};
	static const uint8_t hash[20] = {0xfe, 0x5d, 0x32, 0xbf, 0x58, 0x1b, 0xd6,
	                                 0x3b, 0x2c, 0xa9, 0xa5, 0xc6, 0x5b, 0xa5,
	                                 0xa6, 0x25, 0xea, 0xb3, 0xfe, 0x24};
	const int32_t places[2] = {(int32_t)(TEXT - (RODATA + PLACES)),
	                           (int32_t)(TEXT + 0x40 - (RODATA + PLACES + 4))};
	uint8_t *file = calloc(1, 4 * SIZE);
	Elf64_Ehdr *header = (Elf64_Ehdr *)file;
	Elf64_Phdr *segments = (Elf64_Phdr *)(header + 1);
	const char *path;

	memcpy(header->e_ident, ELFMAG, SELFMAG);
	header->e_ident[EI_CLASS] = ELFCLASS64;
	header->e_machine = EM_X86_64;
	header->e_phoff = sizeof(*header);
	header->e_phentsize = sizeof(*segments);
	header->e_phnum = 4;
	segments[0].p_type = PT_NOTE;
	for (int i = 0; i < 3; i++)
		segments[i + 1] = (Elf64_Phdr){.p_type = PT_LOAD,
		                               .p_vaddr = addresses[i],
		                               .p_filesz = SIZE,
		                               .p_offset = (uint64_t)(i + 1) * SIZE};
	memset(file + SIZE, 0xc3, SIZE);
	memcpy(file + (size_t)2 * SIZE + PLACES, places, sizeof(places));
	memcpy(file + (size_t)2 * SIZE + ENTRIES, entries, sizeof(entries));
	memcpy(file + (size_t)2 * SIZE + HEADER, hash, sizeof(hash));
	memset(file + (size_t)3 * SIZE, 0x90, SIZE);
	path = write_file("kcore", file, (size_t)4 * SIZE);
	free(file);
	return path;
}

static const char kallsyms[] = "0000000000001000 A pcpu_hot\n"
                               "ffffffff81000000 T _stext\n"
                               "ffffffff81000000 T _text\n"
                               "ffffffff81000040 t function\n"
                               "ffffffff81000800 T __x86_indirect_thunk_rax\n"
                               "ffffffff810009e0 T __x86_indirect_thunk_r15\n"
                               "ffffffff81001000 T hypercall_page\n"
                               "ffffffff81002000 T _etext\n"
                               "ffffffff82000100 r __start_orc_unwind_ip\n"
                               "ffffffff82000108 r __stop_orc_unwind_ip\n"
                               "ffffffff82000200 r __start_orc_unwind\n"
                               "ffffffff8200020c r __stop_orc_unwind\n"
                               "ffffffff82000300 r __start_orc_header\n"
                               "ffffffff82000314 r __stop_orc_header\n"
                               "ffffffffc0400010 t poll\t[net]\n"
                               "ffffffffc0400900 t send\t[net]\n"
                               "ffffffffc0403000 t bpf_prog_1\t[bpf]\n";
static const char modules[] = "net 8192 1 other,another, Live 0xffffffffc0400000\n";

static void read_kernel(const struct xf_kernel_paths *paths, struct xf_kernel *kernel)
{
	struct xf_error error = {0};

	if (xf_kernel_read(paths, kernel, &error))
		fail_msg("%s", error.text);
}

static void the_running_kernel_is_read_from_its_memory(void **state)
{
	const struct xf_kernel_paths paths = {.kallsyms = write_lines("kallsyms", kallsyms),
	                                      .modules = write_lines("modules", modules),
	                                      .kcore = write_kcore(),
	                                      .btf = write_btf()};
	struct xf_kernel kernel;

	(void)state;
	read_kernel(&paths, &kernel);
	assert_string_equal(kernel.notice.text, "");
	assert_int_equal(strncmp(kernel.name, "Linux ", 6), 0);
	assert_true(kernel.text.address == TEXT);
	assert_int_equal(kernel.text.size, 0x2000);
	assert_int_equal(kernel.orc.entries_size, 12);
	assert_int_equal(kernel.orc.header_size, 20);
	assert_true(kernel.orc.places_address == RODATA + PLACES);
	assert_int_equal(kernel.nr_code, 4);
	/* The module: from the page of its first function to one page behind its last one's. */
	assert_true(kernel.code[0].address == MODULE);
	assert_int_equal(kernel.code[0].size, 0x2000);
	assert_int_equal(kernel.code[0].bytes[0], 0x90);
	assert_true(kernel.code[1].address == TEXT + 0x800); /* the thunks */
	assert_int_equal(kernel.code[1].size, 0x200);
	assert_true(kernel.code[2].address == TEXT + 0x1000); /* the page of hypercalls */
	assert_true(kernel.code[3].address == MODULE + 0x3000);
	assert_string_equal(xf_symbols_find(kernel.symbols, MODULE + 0x1fff)->name, "send [net]");
	assert_null(xf_symbols_find(kernel.symbols, MODULE + 0x2000));
	xf_kernel_free(&kernel);
}

static void and_where_it_keeps_its_task(void **state)
{
	struct xf_kernel_paths paths = {.kallsyms = write_lines("kallsyms", kallsyms),
	                                .modules = write_lines("modules", modules),
	                                .kcore = write_kcore(),
	                                .btf = write_btf()};
	struct xf_kernel kernel;

	(void)state;
	read_kernel(&paths, &kernel);
	assert_string_equal(kernel.no_task_layout.text, "");
	assert_true(kernel.has_task_layout);
	assert_true(kernel.task_layout.current == 0x1000 + MADE_HOT);
	assert_int_equal(kernel.task_layout.comm, MADE_COMM);
	xf_kernel_free(&kernel);
	/* Or why it does not say. */
	paths.btf = in_directory("no-btf");
	read_kernel(&paths, &kernel);
	assert_false(kernel.has_task_layout);
	assert_non_null(strstr(kernel.no_task_layout.text, "no-btf"));
	assert_non_null(strstr(kernel.no_task_layout.text, "CONFIG_DEBUG_INFO_BTF"));
	assert_string_equal(kernel.notice.text, "");
	xf_kernel_free(&kernel);
	paths.btf = write_lines("btf", "no types");
	read_kernel(&paths, &kernel);
	assert_false(kernel.has_task_layout);
	assert_true(kernel.no_task_layout.code == -EBADMSG);
	xf_kernel_free(&kernel);
}

/* The first idle task has been called from it. */
static void code_of_the_boot_is_part_of_the_table(void **state)
{
	char text[sizeof(kallsyms) + 128];
	const struct xf_kernel_paths paths = {.kallsyms = in_directory("kallsyms"),
	                                      .modules = write_lines("modules", modules),
	                                      .kcore = write_kcore(),
	                                      .btf = write_btf()};
	struct xf_kernel kernel;

	(void)state;
	snprintf(text, sizeof(text), "%s%s", kallsyms,
	         "ffffffff83000000 T _sinittext\nffffffff83000010 T start_kernel\n"
	         "ffffffff83001000 T _einittext\n");
	write_lines("kallsyms", text);
	read_kernel(&paths, &kernel);
	assert_int_equal(kernel.text.size, 0x2001000);
	assert_string_equal(xf_symbols_find(kernel.symbols, 0xffffffff83000fffull)->name,
	                    "start_kernel");
	xf_kernel_free(&kernel);
}

static void without_its_memory_there_are_names_and_the_reason(void **state)
{
	const struct xf_kernel_paths paths = {.kallsyms = write_lines("kallsyms", kallsyms),
	                                      .modules = write_lines("modules", modules),
	                                      .kcore = in_directory("absent"),
	                                      .image = in_directory("no-image"),
	                                      .btf = in_directory("no-btf")};
	struct xf_kernel kernel;

	(void)state;
	read_kernel(&paths, &kernel);
	assert_null(kernel.orc.entries);
	assert_int_equal(kernel.nr_code, 0);
	assert_non_null(strstr(kernel.notice.text, "absent"));
	assert_non_null(strstr(kernel.notice.text, "no-image"));
	assert_non_null(strstr(kernel.notice.text, "innermost frame"));
	assert_string_equal(xf_symbols_find(kernel.symbols, TEXT + 0x41)->name, "function");
	xf_kernel_free(&kernel);
}

static void without_symbols_there_is_no_kernel(void **state)
{
	struct xf_kernel_paths paths = {.kallsyms = in_directory("nothing")};
	struct xf_error error = {0};
	struct xf_kernel kernel;

	(void)state;
	assert_int_equal(xf_kernel_read(&paths, &kernel, &error), -ENOENT);
	assert_non_null(strstr(error.text, "nothing"));
	paths.kallsyms = write_lines("kallsyms", "0000000000000000 T _stext\n");
	assert_int_equal(xf_kernel_read(&paths, &kernel, &error), -EACCES);
	assert_non_null(strstr(error.text, "kallsyms: all addresses in it are hidden"));
}

/* Every cut and every wrong byte of the core's headers: no table, or one that was there. */
static void a_damaged_core_is_survived(void **state)
{
	struct xf_kernel_paths paths = {.kallsyms = write_lines("kallsyms", kallsyms),
	                                .modules = write_lines("modules", modules),
	                                .image = in_directory("no-image"),
	                                .btf = in_directory("no-btf")};
	size_t size;
	uint8_t *core = read_file(write_kcore(), &size);

	(void)state;
	for (size_t at = 0; at < sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Phdr); at++) {
		struct xf_kernel kernel;
		uint8_t before = core[at];

		core[at] ^= 0xff;
		paths.kcore = write_file("damaged", core, size);
		core[at] = before;
		read_kernel(&paths, &kernel);
		xf_kernel_free(&kernel);
		paths.kcore = write_file("damaged", core, at);
		read_kernel(&paths, &kernel);
		assert_null(kernel.orc.entries);
		xf_kernel_free(&kernel);
	}
	free(core);
}

static void what_was_read_is_in_the_recording(void **state)
{
	const struct xf_kernel_paths paths = {.kallsyms = write_lines("kallsyms", kallsyms),
	                                      .modules = write_lines("modules", modules),
	                                      .kcore = write_kcore(),
	                                      .btf = write_btf()};
	const struct xf_recording_kernel_of of = {.kernel = 3, .tsc = 77};
	const struct xf_recording_kernel *found;
	struct bytes bytes = {0};
	struct xf_recording_sink sink = {.write = take, .context = &bytes};
	struct xf_recording_writer *writer;
	struct xf_recording *recording;
	struct xf_kernel kernel;
	uint64_t slide = 1;

	(void)state;
	read_kernel(&paths, &kernel);
	assert_int_equal(xf_recording_writer_new(sink, &writer, NULL), 0);
	assert_int_equal(xf_record_kernel_write(writer, &kernel, 3), 0);
	assert_int_equal(xf_recording_write_kernel_of(writer, &of), 0);
	xf_recording_writer_free(writer);
	assert_int_equal(xf_recording_open(bytes.at, bytes.size, &recording, NULL), 0);
	assert_int_equal(xf_recording_state(recording).damaged, 0);
	assert_null(xf_kernels_of(xf_recording_kernels(recording), 0, 76, &slide));
	found = xf_kernels_of(xf_recording_kernels(recording), 0, 77, &slide);
	assert_non_null(found);
	assert_true(slide == 0);
	assert_string_equal(found->name, kernel.name);
	assert_int_equal(found->nr_code, 4);
	assert_memory_equal(found->orc.entries, kernel.orc.entries, 12);
	assert_memory_equal(found->orc.header, kernel.orc.header, 20);
	assert_true(found->orc_code.address == TEXT);
	xf_recording_free(recording);
	xf_kernel_free(&kernel);
	free(bytes.at);
}

/* ---- A stock kernel's image ------------------------------------------------------------------ */

/* Return: its notes in a file, as Linux shows those of the running kernel; NULL without an image.
 */
static const char *notes_of(const char *path)
{
	struct xf_elf_section section;
	struct xf_error error = {0};
	const char *notes = NULL;
	struct xf_elf elf;
	size_t size;
	void *bytes = path ? read_file(path, &size) : NULL;

	if (!bytes)
		return NULL;
	assert_int_equal(xf_elf_open(bytes, size, &elf, &error), 0);
	if (xf_elf_section(&elf, ".notes", &section))
		notes = write_file("notes", section.bytes, section.size);
	xf_elf_close(&elf);
	free(bytes);
	return notes;
}

static void where_memory_cannot_be_read_the_image_has_the_table(void **state)
{
	const char *image = getenv("XENFLAME_KERNEL");
	struct xf_kernel_paths paths = {.kallsyms = write_lines("kallsyms", kallsyms),
	                                .modules = write_lines("modules", modules),
	                                .kcore = in_directory("absent"),
	                                .image = image,
	                                .btf = in_directory("no-btf")};
	struct xf_kernel kernel;

	(void)state;
	if (!image) {
		print_message("SKIPPED: XENFLAME_KERNEL names no unpacked kernel\n");
		skip();
	}
	paths.notes = notes_of(image);
	assert_non_null(paths.notes);
	read_kernel(&paths, &kernel);
	assert_true(kernel.orc.entries_size / 6 > 300000);
	assert_non_null(strstr(kernel.notice.text, "stacks end at modules"));
	xf_kernel_free(&kernel);
	/* An image that is not the running kernel's would bring wrong frames. */
	paths.notes = write_lines("other-notes", "");
	read_kernel(&paths, &kernel);
	assert_null(kernel.orc.entries);
	assert_non_null(strstr(kernel.notice.text, "build-id"));
	xf_kernel_free(&kernel);
}

static int make_directory(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
	static const char *const names[] = {"kallsyms", "modules",     "kcore", "damaged",
	                                    "notes",    "other-notes", "btf"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(in_directory(names[i]));
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_running_kernel_is_read_from_its_memory),
	        cmocka_unit_test(and_where_it_keeps_its_task),
	        cmocka_unit_test(code_of_the_boot_is_part_of_the_table),
	        cmocka_unit_test(without_its_memory_there_are_names_and_the_reason),
	        cmocka_unit_test(without_symbols_there_is_no_kernel),
	        cmocka_unit_test(a_damaged_core_is_survived),
	        cmocka_unit_test(what_was_read_is_in_the_recording),
	        cmocka_unit_test(where_memory_cannot_be_read_the_image_has_the_table),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
