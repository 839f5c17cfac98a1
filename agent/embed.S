/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent's object file as bytes of the tool: src/xen/payload.h declares these two symbols. */
	.section .rodata
	.global xf_agent_object, xf_agent_object_end
	.balign 16
xf_agent_object:
	.incbin XF_AGENT_OBJECT
xf_agent_object_end:
	.section .note.GNU-stack, "", @progbits
