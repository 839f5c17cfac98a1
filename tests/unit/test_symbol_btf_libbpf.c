// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where stock kernels keep their current task, and what processes have mapped, compared with what
 * libbpf makes of their types. CPUs' own variables are among these, too, with where each is in its
 * section: so their addresses are compared with something else than symbols.
 *
 * XENFLAME_KERNEL and XENFLAME_KERNEL_6_12 name unpacked kernels (tests/run unpacks Debian's); the
 * kernel that runs here tells its types, if it has any. Skipped, loudly, where there is none, and
 * where libbpf's headers were not there when this was built.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#if __has_include(<bpf/btf.h>)
#include <bpf/btf.h>
#include <stdlib.h>
#include <string.h>

#include "read_file.h"
#include "symbol/btf.h"
#include "symbol/kallsyms_image.h"
#include "unwind/elf.h"

/* Return: whether @name is in the structure @id, and where from @bits on, in *@found. */
static bool find_member(const struct btf *btf, uint32_t id, const char *name, uint32_t bits,
                        uint32_t *found)
{
	const struct btf_type *type = btf__type_by_id(btf, id);

	for (uint16_t i = 0; i < btf_vlen(type); i++) {
		const struct btf_member *member = &btf_members(type)[i];
		const char *own = btf__name_by_offset(btf, member->name_off);
		int nested = btf__resolve_type(btf, member->type);

		*found = bits + btf_member_bit_offset(type, i);
		if (strcmp(own, name) == 0)
			return true;
		if (!*own && nested > 0 &&
		    btf_is_composite(btf__type_by_id(btf, (uint32_t)nested)) &&
		    find_member(btf, (uint32_t)nested, name, *found, found))
			return true;
	}
	return false;
}

/* Return: the offset in bytes of a member, which must be there. */
static uint32_t offset_of(const struct btf *btf, const char *structure, const char *name)
{
	int id = btf__find_by_name_kind(btf, structure, BTF_KIND_STRUCT);
	uint32_t bits;

	assert_true(id > 0);
	assert_true(find_member(btf, (uint32_t)id, name, 0, &bits));
	return bits / 8;
}

/* Return: whether there is a variable @name of CPUs' own, and where in their section. */
static bool find_variable(const struct btf *btf, const char *name, uint32_t *offset)
{
	int id = btf__find_by_name_kind(btf, ".data..percpu", BTF_KIND_DATASEC);
	const struct btf_type *section;

	assert_true(id > 0);
	section = btf__type_by_id(btf, (uint32_t)id);
	for (uint16_t i = 0; i < btf_vlen(section); i++) {
		const struct btf_var_secinfo *variable = &btf_var_secinfos(section)[i];
		const struct btf_type *type = btf__type_by_id(btf, variable->type);

		*offset = variable->offset;
		if (strcmp(btf__name_by_offset(btf, type->name_off), name) == 0)
			return true;
	}
	return false;
}

/* Return: where the pointer to the task is, from the beginning of CPUs' own data on. */
static uint64_t find_current(const struct btf *btf)
{
	uint32_t offset;

	if (find_variable(btf, "pcpu_hot", &offset))
		return offset + offset_of(btf, "pcpu_hot", "current_task");
	assert_true(find_variable(btf, "current_task", &offset));
	return offset;
}

static void compare_task(const struct btf *btf, const struct xf_task_layout *layout)
{
	assert_int_equal(layout->stack, offset_of(btf, "task_struct", "stack"));
	assert_int_equal(layout->pid, offset_of(btf, "task_struct", "pid"));
	assert_int_equal(layout->pid + 4, offset_of(btf, "task_struct", "tgid"));
	assert_int_equal(layout->comm, offset_of(btf, "task_struct", "comm"));
}

static void compare_tree(const struct btf *btf, const struct xf_memory_layout *layout)
{
	assert_int_equal(layout->mm.mappings, offset_of(btf, "mm_struct", "mm_mt") +
	                                              offset_of(btf, "maple_tree", "ma_root"));
	assert_int_equal(layout->leaf.pivots, offset_of(btf, "maple_range_64", "pivot"));
	assert_int_equal(layout->leaf.slots, offset_of(btf, "maple_range_64", "slot"));
	assert_int_equal(layout->inner.pivots, offset_of(btf, "maple_arange_64", "pivot"));
	assert_int_equal(layout->inner.slots, offset_of(btf, "maple_arange_64", "slot"));
}

static void compare_paths(const struct btf *btf, const struct xf_memory_layout *layout)
{
	uint32_t path = offset_of(btf, "file", "f_path"), name = offset_of(btf, "dentry", "d_name");

	assert_int_equal(layout->file.directory, path + offset_of(btf, "path", "dentry"));
	assert_int_equal(layout->file.mount, path + offset_of(btf, "path", "mnt"));
	assert_int_equal(layout->directory.parent, offset_of(btf, "dentry", "d_parent"));
	assert_int_equal(layout->directory.name, name + offset_of(btf, "qstr", "name"));
	assert_int_equal(layout->directory.name_size, name + offset_of(btf, "qstr", "len"));
	assert_int_equal(layout->mount_top, offset_of(btf, "vfsmount", "mnt_root"));
	assert_int_equal(layout->mount.own, offset_of(btf, "mount", "mnt"));
	assert_int_equal(layout->mount.parent, offset_of(btf, "mount", "mnt_parent"));
	assert_int_equal(layout->mount.place, offset_of(btf, "mount", "mnt_mountpoint"));
}

/* What processes have mapped. */
static void compare_memory(const struct btf *btf, const void *bytes, size_t size)
{
	struct xf_memory_layout layout;
	struct xf_error error = {0};

	if (xf_btf_memory_layout(bytes, size, &layout, &error))
		fail_msg("%s", error.text);
	assert_int_equal(layout.task_mm, offset_of(btf, "task_struct", "mm"));
	assert_int_equal(layout.mm.pgd, offset_of(btf, "mm_struct", "pgd"));
	assert_int_equal(layout.mapping.mm, offset_of(btf, "vm_area_struct", "vm_mm"));
	assert_int_equal(layout.mapping.start, offset_of(btf, "vm_area_struct", "vm_start"));
	assert_int_equal(layout.mapping.end, offset_of(btf, "vm_area_struct", "vm_end"));
	assert_int_equal(layout.mapping.flags, offset_of(btf, "vm_area_struct", "vm_flags"));
	assert_int_equal(layout.mapping.page_offset, offset_of(btf, "vm_area_struct", "vm_pgoff"));
	assert_int_equal(layout.mapping.file, offset_of(btf, "vm_area_struct", "vm_file"));
	compare_paths(btf, &layout);
	if (layout.is_tree) {
		compare_tree(btf, &layout);
		return;
	}
	assert_int_equal(layout.mm.mappings, offset_of(btf, "mm_struct", "mmap"));
	assert_int_equal(layout.mapping.next, offset_of(btf, "vm_area_struct", "vm_next"));
}

/* Its modules; @symbols are those of its image. */
static void compare_modules(const struct btf *btf, const void *bytes, size_t size,
                            const char *symbols, size_t symbols_size)
{
	bool pieces = btf__find_by_name_kind(btf, "module_memory", BTF_KIND_STRUCT) > 0;
	uint32_t text = offset_of(btf, "module", pieces ? "mem" : "core_layout");
	const char *of_text = pieces ? "module_memory" : "module_layout";
	struct xf_module_layout layout;
	struct xf_error error = {0};

	if (xf_btf_module_layout(bytes, size, symbols, symbols_size, &layout, &error))
		fail_msg("%s", error.text);
	assert_int_equal(layout.module.list, offset_of(btf, "module", "list"));
	assert_int_equal(layout.module.name, offset_of(btf, "module", "name"));
	assert_int_equal(layout.module.symbols, offset_of(btf, "module", "kallsyms"));
	assert_int_equal(layout.module.text, text + offset_of(btf, of_text, "base"));
	assert_int_equal(layout.module.text_size,
	                 text + offset_of(btf, of_text, pieces ? "size" : "text_size"));
	assert_int_equal(layout.symbols, offset_of(btf, "mod_kallsyms", "symtab"));
	assert_int_equal(layout.nr_symbols, offset_of(btf, "mod_kallsyms", "num_symtab"));
	assert_int_equal(layout.names, offset_of(btf, "mod_kallsyms", "strtab"));
	print_message("modules %#llx\n", (unsigned long long)layout.list);
}

static void compare_image(const struct xf_elf *elf)
{
	struct xf_elf_section types, rodata, text, variables;
	struct xf_task_layout layout;
	struct xf_error error = {0};
	struct btf *btf;
	char *symbols;
	size_t size;

	assert_true(xf_elf_section(elf, ".BTF", &types));
	assert_true(xf_elf_section(elf, ".rodata", &rodata));
	assert_true(xf_elf_section(elf, ".text", &text));
	assert_true(xf_elf_section(elf, ".data..percpu", &variables));
	assert_int_equal(xf_kallsyms_of_image(rodata.bytes, rodata.size, rodata.address,
	                                      text.address, &symbols, &size, &error),
	                 0);
	if (xf_btf_task_layout(types.bytes, types.size, symbols, size, &layout, &error))
		fail_msg("%s", error.text);
	btf = btf__new(types.bytes, (uint32_t)types.size);
	assert_non_null(btf);
	compare_task(btf, &layout);
	compare_memory(btf, types.bytes, types.size);
	compare_modules(btf, types.bytes, types.size, symbols, size);
	assert_true(layout.current == variables.address + find_current(btf));
	assert_int_equal(layout.slides, variables.address != 0);
	print_message("current %#llx, stack %u, pid %u, comm %u\n",
	              (unsigned long long)layout.current, layout.stack, layout.pid, layout.comm);
	btf__free(btf);
	free(symbols);
}

static void compare_kernel(const char *variable)
{
	const char *path = getenv(variable);
	struct xf_error error = {0};
	struct xf_elf elf;
	size_t size;
	void *bytes;

	if (!path) {
		print_message("SKIPPED: %s names no unpacked kernel\n", variable);
		skip();
	}
	bytes = read_file(path, &size);
	assert_non_null(bytes);
	assert_int_equal(xf_elf_open(bytes, size, &elf, &error), 0);
	compare_image(&elf);
	xf_elf_close(&elf);
	free(bytes);
}

static void a_kernel_before_6_2_is_read_as_libbpf_does(void **state)
{
	(void)state;
	compare_kernel("XENFLAME_KERNEL");
}

static void a_kernel_since_6_2_is_read_as_libbpf_does(void **state)
{
	(void)state;
	compare_kernel("XENFLAME_KERNEL_6_12");
}

/* Its symbols may be hidden, or not be all. */
static void the_kernel_that_runs_here_has_its_task_as_libbpf_says(void **state)
{
	static const char path[] = "/sys/kernel/btf/vmlinux";
	static const char symbols[] = "0000000000001000 A current_task\n";
	struct xf_task_layout layout;
	struct xf_error error = {0};
	struct btf *btf;
	size_t size;
	void *bytes = read_file(path, &size);

	(void)state;
	if (!bytes) {
		print_message("SKIPPED: there is no %s\n", path);
		skip();
	}
	if (xf_btf_task_layout(bytes, size, symbols, sizeof(symbols) - 1, &layout, &error))
		fail_msg("%s", error.text);
	btf = btf__new(bytes, (uint32_t)size);
	assert_non_null(btf);
	compare_task(btf, &layout);
	compare_memory(btf, bytes, size);
	btf__free(btf);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_kernel_before_6_2_is_read_as_libbpf_does),
	        cmocka_unit_test(a_kernel_since_6_2_is_read_as_libbpf_does),
	        cmocka_unit_test(the_kernel_that_runs_here_has_its_task_as_libbpf_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
static void kernels_are_read_as_libbpf_does(void **state)
{
	(void)state;
	print_message("SKIPPED: libbpf's headers were not there (libbpf-dev; lab/install check)\n");
	skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_are_read_as_libbpf_does)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
