# SPDX-License-Identifier: GPL-2.0-or-later
#
# Debug info for make_recording's "mixed": do_mmu_update lies 0x100 bytes into its hypervisor, and has
# take_lock inlined at its 101st line, and in that
# get_lock.
	.file 1 "common/mm \033[31m.c"
	.file 2 "include/lock.h"
	.text
.Ltext:
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

	.section .debug_abbrev,"",@progbits
.Labbrevs:
	# A unit: line table, directory, code.
	.uleb128 1, 0x11
	.byte 1
	.uleb128 0x10, 0x17, 0x1b, 0x08, 0x11, 0x01, 0x12, 0x07, 0, 0
	# A function that was inlined: name, file, line, DW_AT_inline.
	.uleb128 2, 0x2e
	.byte 0
	.uleb128 0x03, 0x08, 0x3a, 0x0b, 0x3b, 0x0b, 0x20, 0x0b, 0, 0
	# A function: name, file, line, code.
	.uleb128 3, 0x2e
	.byte 1
	.uleb128 0x03, 0x08, 0x3a, 0x0b, 0x3b, 0x0b, 0x11, 0x01, 0x12, 0x07, 0, 0
	# An inlined call, with others within it: whose, code, file, line.
	.uleb128 4, 0x1d
	.byte 1
	.uleb128 0x31, 0x13, 0x11, 0x01, 0x12, 0x07, 0x58, 0x0b, 0x59, 0x0b, 0, 0
	.byte 0

	.section .debug_info,"",@progbits
.Lunit:
	.long .Lend - .Lversion
.Lversion:
	.value 5
	.byte 1, 8 # a unit of compilation; bytes of an address
	.long .Labbrevs
	.uleb128 1
	.long .Llines
	.asciz "/src"
	.quad .Ltext, 0x100 + 20
.Lget_lock:
	.uleb128 2
	.asciz "get_lock<&>"
	.byte 2, 5, 1
.Ltake_lock:
	.uleb128 2
	.asciz "take_lock"
	.byte 1, 90, 1
	.uleb128 3
	.asciz "do_mmu_update"
	.byte 1, 99
	.quad do_mmu_update, 20
	.uleb128 4
	.long .Ltake_lock - .Lunit
	.quad do_mmu_update + 5, 9
	.byte 1, 101
	.uleb128 4
	.long .Lget_lock - .Lunit
	.quad do_mmu_update + 10, 4
	.byte 1, 91
	.byte 0, 0, 0, 0
.Lend:

	.section .debug_line,"",@progbits
.Llines:
