// SPDX-License-Identifier: GPL-2.0-or-later
/* Instructions as text, in AT&T's syntax. */
#ifndef XF_UNWIND_DISASSEMBLE_H
#define XF_UNWIND_DISASSEMBLE_H

#include <stdbool.h>

#include "unwind/unwind.h"

struct xf_insn_text {
	uint8_t length;  /* bytes; 1 for what is no instruction */
	bool has_target; /* it names an address: of code that it goes to, or of data */
	uint64_t target;
	char text[128]; /* "(bad)" for what is no instruction */
};

/* The instruction at @address, which lies in @code. */
void xf_insn_format(const struct xf_code *code, uint64_t address, struct xf_insn_text *out);

#endif
