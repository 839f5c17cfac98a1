// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest's kernel from its image: made up, damaged, packed, and stock ones (XENFLAME_KERNEL
 * unpacked, XENFLAME_KERNEL_6_12 too; skipped, loudly, where they are not set).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "unit/made_image.h"
#include "xen/guest_image.h"

static char path[] = "/tmp/xenflame-image-XXXXXX";

static void read_image(struct xf_guest_image *image)
{
	struct xf_error error = {0};

	if (xf_guest_image_read(path, image, &error))
		fail_msg("%s", error.text);
}

static void check_image(const struct xf_guest_image *image)
{
	assert_string_equal(image->kernel.notice.text, "");
	assert_string_equal(image->kernel.no_task_layout.text, "");
	assert_true(image->kernel.has_task_layout);
	assert_int_equal(image->kernel.task_layout.pid, MADE_TASK);
	assert_int_equal(image->kernel.orc.entries_size, 12);
	assert_true(image->kernel.orc.places_address == IMAGE_ORC);
	assert_true(image->kernel.text.address == TABLES_BASE);
	assert_int_equal(image->kernel.text.size, TABLES_TEXT);
	assert_int_equal(image->slide.text.size, TABLES_TEXT);
	/* Modules and what else lies behind the code have no names of the kernel's. */
	assert_null(xf_symbols_find(image->kernel.symbols, TABLES_BASE + TABLES_TEXT));
	assert_null(xf_symbols_find(image->kernel.symbols, 0xffffffffc0400000ull));
}

static void names_are_from_its_own_tables(void **state)
{
	struct made_image *made = make_image(1, true);
	struct xf_guest_image image;

	(void)state;
	write_image(path, made->bytes, made->size);
	read_image(&image);
	check_image(&image);
	assert_string_equal(image.kernel.name, "Linux 9.9.9-made");
	assert_string_equal(xf_symbols_find(image.kernel.symbols, TABLES_BASE + 64 + 5)->name,
	                    "function_3");
	/* Before 6.15, wherever the kernel is. */
	assert_true(image.kernel.task_layout.current == 0x40 + MADE_HOT);
	assert_false(image.kernel.task_layout.slides);
	xf_guest_image_free(&image);
	free(made);
}

static void or_from_the_linkers(void **state)
{
	struct made_image *made = make_image(1, false);
	struct xf_guest_image image;

	(void)state;
	write_image(path, made->bytes, made->size);
	read_image(&image);
	check_image(&image);
	assert_string_equal(xf_symbols_find(image.kernel.symbols, TABLES_BASE + 64 + 5)->name,
	                    "main_function");
	/* Since 6.15, and the global one. */
	assert_true(image.kernel.task_layout.current == TABLES_DATA + 8);
	assert_true(image.kernel.task_layout.slides);
	xf_guest_image_free(&image);
	free(made);
}

static void without_types_only_its_task_is_not_known(void **state)
{
	struct made_image *made = make_image(1, true);
	struct xf_guest_image image;

	(void)state;
	((Elf64_Shdr *)(made->bytes + made->size) - NR_SECTIONS)[SECTION_TYPES].sh_name = 0;
	write_image(path, made->bytes, made->size);
	read_image(&image);
	assert_false(image.kernel.has_task_layout);
	assert_non_null(strstr(image.kernel.no_task_layout.text, "CONFIG_DEBUG_INFO_BTF"));
	assert_string_equal(image.kernel.notice.text, "");
	assert_string_equal(image.kernel.name, "Linux 9.9.9-made");
	xf_guest_image_free(&image);
	free(made);
}

static void what_is_no_kernel_is_refused(void **state)
{
	struct made_image *made = make_image(1, false);
	struct xf_guest_image image;
	struct xf_error error = {0};

	(void)state;
	write_image(path, "no ELF", 6);
	assert_int_equal(xf_guest_image_read(path, &image, &error), -EBADMSG);
	assert_non_null(strstr(error.text, path));
	write_image(path, "", 0);
	assert_int_equal(xf_guest_image_read(path, &image, &error), -EBADMSG);
	assert_int_equal(xf_guest_image_read("/dev/zero", &image, &error), -EBADMSG);
	assert_int_equal(xf_guest_image_read("/tmp", &image, &error), -EBADMSG);
	assert_int_equal(xf_guest_image_read("/nosuch", &image, &error), -ENOENT);
	/* Neither table. */
	((Elf64_Shdr *)(made->bytes + made->size) - NR_SECTIONS)[SECTION_SYMBOLS].sh_type =
	        SHT_PROGBITS;
	write_image(path, made->bytes, made->size);
	assert_int_equal(xf_guest_image_read(path, &image, &error), -ENOENT);
	assert_non_null(strstr(error.text, "no .symtab"));
	free(made);
}

static void try_image(const void *bytes, size_t size)
{
	struct xf_guest_image image;

	write_image(path, bytes, size);
	if (!xf_guest_image_read(path, &image, NULL))
		xf_guest_image_free(&image);
}

/* Cuts everywhere, and wrong bytes in all headers and every so often elsewhere: refused or read. */
static void damaged_images_are_survived(void **state)
{
	(void)state;
	for (int tables = 0; tables < 2; tables++) {
		struct made_image *made = make_image(1, tables);
		size_t headers = made->size - sizeof(made->sections);

		for (size_t cut = 0; cut < made->size; cut += 97)
			try_image(made->bytes, cut);
		for (size_t at = 0; at < made->size; at += at < 128 || at >= headers ? 1 : 41) {
			made->bytes[at] ^= 0xff;
			try_image(made->bytes, made->size);
			made->bytes[at] ^= 0x7f;
			try_image(made->bytes, made->size);
			made->bytes[at] ^= 0x80;
		}
		free(made);
	}
}

/* ---- Packed ---------------------------------------------------------------------------------- */

/* As Documentation/arch/x86/boot.rst has it: one sector and a half of set-up, then what is packed,
 * and its size behind it. Return: its bytes, to be freed. */
static uint8_t *pack(const void *bytes, size_t size, size_t *packed_size)
{
	const size_t setup = 2 * 512, offset = 256;
	size_t room = ZSTD_compressBound(size);
	uint8_t *packed = calloc(1, setup + offset + room + 4);
	uint32_t numbers[2] = {offset, 0};

	numbers[1] = (uint32_t)ZSTD_compress(packed + setup + offset, room, bytes, size, 3) + 4;
	packed[0x1f1] = 1;
	memcpy(packed + 0x202, "HdrS", 4);
	memcpy(packed + 0x248, numbers, sizeof(numbers));
	*packed_size = setup + offset + numbers[1];
	return packed;
}

static void an_image_that_zstd_packed_is_unpacked(void **state)
{
	struct made_image *made = make_image(1, true);
	struct xf_guest_image image;
	size_t size;
	uint8_t *packed = pack(made->bytes, made->size, &size);

	(void)state;
	write_image(path, packed, size);
	read_image(&image);
	check_image(&image);
	xf_guest_image_free(&image);
	for (size_t cut = 0; cut < size; cut += 61)
		try_image(packed, cut);
	for (size_t at = 0x1f0; at < size; at += at < 0x250 || at / 256 == 5 ? 1 : 61) {
		packed[at] ^= 0xff;
		try_image(packed, size);
		packed[at] ^= 0xff;
	}
	/* The frame says that more comes. */
	memset(packed + size / 2, 0, size - size / 2);
	try_image(packed, size);
	free(packed);
	free(made);
}

/* ---- Stock kernels --------------------------------------------------------------------------- */

static void read_stock(const char *variable, const char *name)
{
	const char *stock = getenv(variable);
	struct xf_guest_image image;
	struct xf_error error = {0};
	const struct xf_symbol *symbol;

	if (!stock) {
		print_message("SKIPPED: %s names no unpacked kernel\n", variable);
		skip();
	}
	if (xf_guest_image_read(stock, &image, &error))
		fail_msg("%s", error.text);
	assert_memory_equal(image.kernel.name, name, strlen(name));
	assert_true(xf_symbols_count(image.kernel.symbols) > 40000);
	assert_true(image.kernel.orc.entries_size / 6 > 300000);
	assert_true(image.kernel.has_task_layout);
	assert_false(image.kernel.task_layout.slides);
	assert_int_equal(image.kernel.nr_code, 2); /* thunks of both kinds */
	symbol = xf_symbols_by_name(image.kernel.symbols, "do_syscall_64");
	assert_non_null(symbol);
	assert_null(xf_symbols_find(image.kernel.symbols, 0xffffffffc0400000ull));
	xf_guest_image_free(&image);
}

static void a_stock_kernel_of_6_1_is_read(void **state)
{
	(void)state;
	read_stock("XENFLAME_KERNEL", "Linux 6.1.");
}

static void a_stock_kernel_of_6_12_is_read(void **state)
{
	(void)state;
	read_stock("XENFLAME_KERNEL_6_12", "Linux 6.12.");
}

static int make_file(void **state)
{
	int file = mkstemp(path);

	(void)state;
	return file < 0 ? -1 : close(file);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(names_are_from_its_own_tables),
	        cmocka_unit_test(or_from_the_linkers),
	        cmocka_unit_test(without_types_only_its_task_is_not_known),
	        cmocka_unit_test(what_is_no_kernel_is_refused),
	        cmocka_unit_test(damaged_images_are_survived),
	        cmocka_unit_test(an_image_that_zstd_packed_is_unpacked),
	        cmocka_unit_test(a_stock_kernel_of_6_1_is_read),
	        cmocka_unit_test(a_stock_kernel_of_6_12_is_read),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
