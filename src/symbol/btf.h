// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where Linux keeps what it is running, on x86-64: from the types that a kernel carries of itself
 * (BTF, Documentation/bpf/btf.rst of Linux; CONFIG_DEBUG_INFO_BTF, since 5.2) and the addresses of
 * two of its symbols. Images come from guests, too, so nothing in them is trusted: no byte outside
 * is read, and the work is bounded. Pure.
 *
 * Each CPU's own data lie behind its GS base, and with them the pointer to the task:
 *
 *   up to 6.1     current_task                     their addresses count from the beginning of a
 *   6.2 to 6.14   pcpu_hot, member current_task    CPU's data, wherever the kernel is
 *   since 6.15    current_task                     its address in the image counts from GS
 */
#ifndef XF_SYMBOL_BTF_H
#define XF_SYMBOL_BTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Bytes of a task's name, its NUL included (TASK_COMM_LEN). */
#define XF_TASK_NAME_BYTES 16u

struct xf_task_layout {
	/* What to add, modulo 2^64, to a CPU's kernel GS base for where the pointer to the task
	 * that it runs lies, in a kernel at the addresses that its symbols had here. */
	uint64_t current;
	/* Where the kernel is elsewhere, its slide has to be added to @current: without knowing the
	 * slide, @current is of no use. False: @current holds at any slide. */
	bool slides;
	/* Within struct task_struct: */
	uint16_t stack; /* a pointer to the lowest address of its kernel stack */
	uint16_t pid;   /* the thread's number, 4 bytes; the process's (tgid) directly behind it */
	uint16_t comm;  /* its name, XF_TASK_NAME_BYTES */
};

/*
 * Reads the @size bytes of BTF at @btf (a .BTF section, or /sys/kernel/btf/vmlinux), and the
 * @symbols_size bytes of @symbols, the same kernel's as /proc/kallsyms has them
 * (symbol/kallsyms.h).
 * Return: 0 and @layout; and else @error, and @layout is as it was: -EBADMSG where it is no BTF, or
 * contradicts itself; -EOPNOTSUPP where the kernel keeps something in a way that is not known here;
 * -ENOENT where a type, member or symbol is missing; -EACCES where the symbols' addresses are
 * hidden; -ENOMEM.
 */
int xf_btf_task_layout(const void *btf, size_t size, const char *symbols, size_t symbols_size,
                       struct xf_task_layout *layout, struct xf_error *error);

/*
 * Where Linux keeps what a process has mapped: offsets of members, in the order in which one
 * follows the other. All are those of pointers, but where it is said.
 */
struct xf_memory_layout {
	uint16_t task_mm; /* in struct task_struct */
	struct {
		uint16_t pgd;      /* the root of its page tables, by its address in the kernel */
		uint16_t mappings; /* the root of a tree of them, else the first one of a list */
	} mm;
	bool is_tree; /* since Linux 6.1 */
	struct {
		uint16_t mm, next;                       /* @next: in a list */
		uint16_t start, end, flags, page_offset; /* numbers of 8 bytes */
		uint16_t file;
	} mapping; /* struct vm_area_struct */
	/* The nodes of a tree, of 256 bytes: numbers, which are the last address of each slot but
	   the last, and the slots. */
	struct {
		uint16_t pivots, slots;
	} leaf, inner; /* struct maple_range_64, struct maple_arange_64 */
	struct {
		uint16_t directory, mount; /* of its path: struct dentry, struct vfsmount */
	} file;
	struct {
		uint16_t parent, name;
		uint16_t name_size; /* a number of 4 bytes */
	} directory;                /* struct dentry */
	uint16_t mount_top;         /* in struct vfsmount: the struct dentry that is its root */
	struct {
		uint16_t own, parent; /* @own: the struct vfsmount in it, no pointer */
		uint16_t place;       /* the struct dentry of the parent's that it lies upon */
	} mount;
};

/* Reads the @size bytes of BTF at @btf. Return: as xf_btf_task_layout. */
int xf_btf_memory_layout(const void *btf, size_t size, struct xf_memory_layout *layout,
                         struct xf_error *error);

/* Where Linux keeps its modules: offsets of members, but for the list. */
struct xf_module_layout {
	uint64_t list; /* the address that its symbols have here for the list of all */
	struct {
		uint16_t list;      /* a pointer to that of the next one */
		uint16_t name;      /* 56 bytes: MODULE_NAME_LEN */
		uint16_t text;      /* a pointer to its code, */
		uint16_t text_size; /* and its bytes, a number of 4 */
		uint16_t symbols;   /* a pointer to a struct mod_kallsyms */
	} module;
	/* Within that: pointers to ELF's symbols, and to their names; and a number of 4 bytes. */
	uint16_t symbols, nr_symbols, names;
};

/* Reads the @size bytes of BTF at @btf, and the same kernel's symbols. Return: as
 * xf_btf_task_layout.
 */
int xf_btf_module_layout(const void *btf, size_t size, const char *symbols, size_t symbols_size,
                         struct xf_module_layout *layout, struct xf_error *error);

#endif
