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

#endif
