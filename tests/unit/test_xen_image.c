// SPDX-License-Identifier: GPL-2.0-or-later
/* src/xen/image.c on a hand-made 32-bit ELF file, and on what is left of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>

#include "xen/image.h"

#define CODE_BYTES 96u
#define CODE_AT    256u
#define NOTE_AT    176u
#define FILE_BYTES (CODE_AT + CODE_BYTES)
#define PHYSICAL   0x200000u

static const uint8_t build_id[20] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                     11, 12, 13, 14, 15, 16, 17, 18, 19, 20};

struct note {
	uint32_t name_size, size, type;
	char name[4];
	uint8_t content[20];
};

/* A file as xen.gz holds it: another note before the build-id, a small segment before the large. */
struct file {
	Elf32_Ehdr header;
	Elf32_Phdr segments[3];
	uint8_t rest[FILE_BYTES - sizeof(Elf32_Ehdr) - 3 * sizeof(Elf32_Phdr)];
};

_Static_assert(sizeof(Elf32_Ehdr) + 3 * sizeof(Elf32_Phdr) <= NOTE_AT, "room before the notes");
_Static_assert(NOTE_AT + 20 + sizeof(struct note) <= CODE_AT, "room for the notes");

static struct file make_file(void)
{
	struct file file = {
	        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
	                   .e_type = ET_EXEC,
	                   .e_machine = EM_386,
	                   .e_phoff = sizeof(Elf32_Ehdr),
	                   .e_phentsize = sizeof(Elf32_Phdr),
	                   .e_phnum = 3},
	        .segments =
	                {{.p_type = PT_LOAD, .p_offset = CODE_AT + 8, .p_filesz = 8, .p_paddr = 1},
	                 {.p_type = PT_LOAD,
	                  .p_offset = CODE_AT,
	                  .p_filesz = CODE_BYTES,
	                  .p_paddr = PHYSICAL},
	                 {.p_type = PT_NOTE,
	                  .p_offset = NOTE_AT,
	                  .p_filesz = 20 + sizeof(struct note)}},
	};
	struct note note = {.name_size = 4, .size = 20, .type = NT_GNU_BUILD_ID, .name = "GNU"};
	uint32_t other[5] = {4, 1, 7, 0x006e6558 /* "Xen" */, 0xff};
	uint8_t *bytes = (uint8_t *)&file;
	unsigned int i;

	memcpy(note.content, build_id, sizeof(build_id));
	memcpy(bytes + NOTE_AT, other, sizeof(other));
	memcpy(bytes + NOTE_AT + sizeof(other), &note, sizeof(note));
	for (i = 0; i < CODE_BYTES; i++)
		bytes[CODE_AT + i] = (uint8_t)(0x90 + i);
	return file;
}

/* Parses exactly @size bytes: a read beyond them is seen by ASan. */
static int parse(const struct file *file, size_t size, struct xf_image *image)
{
	struct xf_error error = {0};
	uint8_t *copy = malloc(size ? size : 1);
	int result;

	memcpy(copy, file, size);
	result = xf_image_parse(size ? copy : NULL, size, image, &error);
	if (result) {
		assert_int_equal(result, -EINVAL);
		assert_int_equal(error.code, -EINVAL);
		assert_non_null(strstr(error.text, "not a Xen image"));
	} else {
		assert_true(image->bytes >= copy && image->bytes + image->size <= copy + size);
		if (image->build_id)
			assert_true(image->build_id >= copy &&
			            image->build_id + image->build_id_size <= copy + size);
	}
	if (!result && image->bytes == copy + CODE_AT && image->size == CODE_BYTES)
		assert_int_equal(image->bytes[1], 0x91);
	free(copy);
	return result;
}

static void the_largest_segment_and_the_build_id_are_found(void **state)
{
	struct file file = make_file();
	struct xf_image image;
	struct xf_error error;

	(void)state;
	assert_int_equal(xf_image_parse(&file, sizeof(file), &image, &error), 0);
	assert_ptr_equal(image.bytes, (uint8_t *)&file + CODE_AT);
	assert_int_equal(image.size, CODE_BYTES);
	assert_int_equal(image.physical, PHYSICAL);
	assert_int_equal(image.build_id_size, 20);
	assert_memory_equal(image.build_id, build_id, 20);
}

static void a_file_cut_at_any_byte_is_refused_or_loses_its_notes_only(void **state)
{
	struct file file = make_file();
	struct xf_image image;
	size_t size;

	(void)state;
	for (size = 0; size < sizeof(file); size++) {
		int result = parse(&file, size, &image);

		/* The small segment is whole from here on; the large one never is. */
		if (size < CODE_AT + 16)
			assert_int_equal(result, -EINVAL);
		else
			assert_int_equal(result != 0 || image.size == 8, true);
	}
	assert_int_equal(parse(&file, sizeof(file), &image), 0);
}

/* Contract: a damaged file is refused, never taken for a smaller one. */
static void a_file_whose_code_is_cut_short_is_refused(void **state)
{
	struct file file = make_file();
	struct xf_image image;
	size_t size;

	(void)state;
	for (size = CODE_AT + 16; size < sizeof(file); size++)
		assert_int_equal(parse(&file, size, &image), -EINVAL);
}

static void other_files_are_refused(void **state)
{
	struct file file = make_file();
	struct xf_image image;

	(void)state;
	file.header.e_ident[EI_CLASS] = ELFCLASS64;
	assert_int_equal(parse(&file, sizeof(file), &image), -EINVAL);
	file = make_file();
	file.header.e_ident[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(parse(&file, sizeof(file), &image), -EINVAL);
	file = make_file();
	file.header.e_ident[0] = 0x1f; /* still compressed */
	assert_int_equal(parse(&file, sizeof(file), &image), -EINVAL);
	file = make_file();
	file.header.e_phnum = 0;
	assert_int_equal(parse(&file, sizeof(file), &image), -EINVAL);
}

static void every_byte_of_the_headers_may_be_wrong(void **state)
{
	struct file good = make_file();
	struct xf_image image;
	size_t at;
	unsigned int value;

	(void)state;
	for (at = 0; at < CODE_AT; at++) {
		for (value = 0; value < 256; value += at < NOTE_AT ? 1 : 5) {
			struct file file = good;

			((uint8_t *)&file)[at] = (uint8_t)value;
			parse(&file, sizeof(file), &image);
		}
	}
}

static void sizes_that_wrap_are_not_believed(void **state)
{
	static const uint32_t hostile[] = {UINT32_MAX,     UINT32_MAX - 3, UINT32_MAX - CODE_AT,
	                                   UINT32_MAX / 2, FILE_BYTES,     FILE_BYTES + 1};
	struct xf_image image;
	size_t i, j;

	(void)state;
	for (i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		for (j = 0; j < sizeof(hostile) / sizeof(hostile[0]); j++) {
			struct file file = make_file();
			struct note *note =
			        (struct note *)(void *)((uint8_t *)&file + NOTE_AT + 20);

			file.segments[1].p_offset = hostile[i];
			file.segments[1].p_filesz = hostile[j];
			parse(&file, sizeof(file), &image);
			file = make_file();
			file.segments[2].p_offset = hostile[i];
			file.segments[2].p_filesz = hostile[j];
			assert_int_equal(parse(&file, sizeof(file), &image), 0);
			assert_null(image.build_id);
			file = make_file();
			note->name_size = hostile[i];
			note->size = hostile[j];
			assert_int_equal(parse(&file, sizeof(file), &image), 0);
			assert_null(image.build_id);
			file = make_file();
			note->size = hostile[j];
			assert_int_equal(parse(&file, sizeof(file), &image), 0);
			assert_null(image.build_id);
			file = make_file();
			file.header.e_phoff = hostile[i];
			assert_int_equal(parse(&file, sizeof(file), &image), -EINVAL);
		}
	}
}

static void code_is_found_by_its_address_and_only_within(void **state)
{
	const uint64_t start = 0xffff82d040200000ull;
	struct file file = make_file();
	struct xf_image image;
	struct xf_error error;
	struct xf_code code;

	(void)state;
	assert_int_equal(xf_image_parse(&file, sizeof(file), &image, &error), 0);
	assert_int_equal(xf_image_code(&image, start, start + 8, start + 24, &code, &error), 0);
	assert_int_equal(code.address, start + 8);
	assert_ptr_equal(code.bytes, image.bytes + 8);
	assert_int_equal(code.size, 16);
	assert_int_equal(xf_image_code(&image, start, start, start + CODE_BYTES, &code, &error), 0);
	assert_int_equal(xf_image_code(&image, start, start, start + CODE_BYTES + 1, &code, &error),
	                 -EINVAL);
	assert_int_equal(xf_image_code(&image, start, start - 1, start + 8, &code, &error),
	                 -EINVAL);
	assert_int_equal(xf_image_code(&image, start, start + 8, start + 7, &code, &error),
	                 -EINVAL);
	assert_int_equal(xf_image_code(&image, start, start, UINT64_MAX, &code, &error), -EINVAL);
	assert_int_equal(xf_image_code(&image, start, 0, 8, &code, &error), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_largest_segment_and_the_build_id_are_found),
	        cmocka_unit_test(a_file_cut_at_any_byte_is_refused_or_loses_its_notes_only),
	        cmocka_unit_test(a_file_whose_code_is_cut_short_is_refused),
	        cmocka_unit_test(other_files_are_refused),
	        cmocka_unit_test(every_byte_of_the_headers_may_be_wrong),
	        cmocka_unit_test(sizes_that_wrap_are_not_believed),
	        cmocka_unit_test(code_is_found_by_its_address_and_only_within),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
