// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/embedded.h"

/* Paths are those seen from the top of the tree, where make runs the compiler. */
#define EMBED(name, path)                                                                          \
	__asm__(".pushsection .rodata\n"                                                           \
	        ".global " #name "\n"                                                              \
	        ".type " #name ", @object\n" #name ":\n"                                           \
	        ".incbin \"" path "\"\n"                                                           \
	        ".byte 0\n"                                                                        \
	        ".size " #name ", . - " #name "\n"                                                 \
	        ".popsection\n")

EMBED(xf_embedded_flamegraph_css, "src/output/flamegraph.css");
EMBED(xf_embedded_flamegraph_js, "src/output/flamegraph.js");
