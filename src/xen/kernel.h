// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel that runs here, in dom0, as far as walking and naming its stacks needs it: symbols,
 * its own unwind table (ORC), and the code that this table says nothing of: modules, and what is
 * made at run time.
 */
#ifndef XF_XEN_KERNEL_H
#define XF_XEN_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "symbol/btf.h"
#include "symbol/symbols.h"
#include "unwind/orc.h"
#include "unwind/unwind.h"

/* Where it is read; NULL: where Linux has it. */
struct xf_kernel_paths {
	const char *kallsyms; /* /proc/kallsyms */
	const char *modules;  /* /proc/modules */
	const char *kcore;    /* /proc/kcore */
	const char *image;    /* /boot/vmlinuz-RELEASE: where kcore does not give the table */
	const char *notes;    /* /sys/kernel/notes: whether it is that image that runs */
	const char *btf;      /* /sys/kernel/btf/vmlinux */
};

struct xf_kernel {
	char name[160]; /* "Linux 6.1.0-44-amd64" */
	struct xf_symbols *symbols;
	struct xf_orc orc;    /* entries NULL: there is none, and @notice says why */
	struct xf_code text;  /* that it is for, without its bytes */
	struct xf_code *code; /* each with its own bytes */
	size_t nr_code;
	/* What could not be read, and what that does to stacks; code 0: all could. */
	struct xf_error notice;
	/* Where it keeps what it is running; not known: @no_task_layout tells why. */
	bool has_task_layout;
	struct xf_task_layout task_layout;
	struct xf_error no_task_layout;
	/* Likewise what its processes have mapped; of dom0's kernel that is not asked. */
	bool has_memory_layout;
	struct xf_memory_layout memory_layout;
	struct xf_error no_memory_layout;
	/* And its modules; likewise. */
	bool has_module_layout;
	struct xf_module_layout module_layout;
	void *owned[3]; /* what @orc borrows from */
};

/*
 * Reads the running kernel. Return: 0, and @kernel, to be freed with xf_kernel_free: without its
 * table or the code of modules where only these could not be read. A negative errno value and
 * @error where there are no symbols.
 */
int xf_kernel_read(const struct xf_kernel_paths *paths, struct xf_kernel *kernel,
                   struct xf_error *error);
void xf_kernel_free(struct xf_kernel *kernel);

/* Says in a line what was read; @kernel->notice has what was not. */
void xf_kernel_tell(const struct xf_kernel *kernel, char detail[256]);

#endif
