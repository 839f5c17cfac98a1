// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/embedded.h"

/* Paths are those seen from the top of the tree, where make runs the compiler. */
#define FILE_OF(path) ".incbin \"" path "\"\n"
#define EMBED(name, files)                                                                         \
	__asm__(".pushsection .rodata\n"                                                           \
	        ".global " #name "\n"                                                              \
	        ".type " #name ", @object\n" #name ":\n" files ".byte 0\n"                         \
	        ".size " #name ", . - " #name "\n"                                                 \
	        ".popsection\n")

EMBED(xf_embedded_flamegraph_css, FILE_OF("src/output/flamegraph.css"));
EMBED(xf_embedded_flamegraph_js, FILE_OF("src/output/flamegraph.js"));
EMBED(xf_embedded_page_html, FILE_OF("src/output/page/page.html"));
EMBED(xf_embedded_page_css, FILE_OF("src/output/page/page.css"));
/* One scope, in this order. */
// clang-format off
EMBED(xf_embedded_page_js,
      FILE_OF("src/output/page/data.js")
      FILE_OF("src/output/page/compare.js")
      FILE_OF("src/output/page/sums.js")
      FILE_OF("src/output/page/layout.js")
      FILE_OF("src/output/page/paint.js")
      FILE_OF("src/output/page/heat.js")
      FILE_OF("src/output/page/page.js")
      FILE_OF("src/output/page/controls.js")
      FILE_OF("src/output/page/touch.js")
      FILE_OF("src/output/page/start.js"));
// clang-format on
