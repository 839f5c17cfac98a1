/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Somebody else's live patch, which does nothing: only a load hook. XEN_BUILD_ID: the running Xen's,
 * as bytes with commas between them; 20 of them.
 */
	.macro build_id_note section:req, bytes:vararg
	.section \section, "a", @note
	.balign 4
	.long 4, 20, 3 /* NT_GNU_BUILD_ID */
	.asciz "GNU"
	.byte \bytes
	.endm

	build_id_note .note.gnu.build-id, 0xee,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19
	build_id_note .livepatch.depends, XEN_BUILD_ID
	build_id_note .livepatch.xen_depends, XEN_BUILD_ID

	.text
	.type other_patch_load, @function
other_patch_load:
	endbr64
	ret
	.size other_patch_load, . - other_patch_load

	.section .livepatch.hooks.load, "a" /* not writable: Xen applies it more than once */
	.balign 8
	.quad other_patch_load

	.section .note.GNU-stack, "", @progbits
