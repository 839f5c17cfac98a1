# SPDX-License-Identifier: GPL-2.0-or-later
#
# Debug info for make_recording's "mixed": do_mmu_update lies 0x100 bytes into its hypervisor. Only the
# line table counts.
	.file 1 "common/mm \033[31m.c"
	.file 2 "include/lock.h"
	.text
	.skip 0x100
	.globl do_mmu_update
	.type do_mmu_update, @function
do_mmu_update:
	.loc 1 100
	.rept 5
	nop
	.endr
	.loc 1 101
	.rept 5
	nop
	.endr
	.loc 2 7
	.rept 4
	nop
	.endr
	.loc 1 103
	.rept 6
	nop
	.endr
	.size do_mmu_update, . - do_mmu_update
