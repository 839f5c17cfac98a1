# SPDX-License-Identifier: GPL-2.0-or-later
#
# The flame graph's and the page's style sheets and scripts are files of their own, taken in by the assembler
# (.incbin in embedded.c): their objects depend on them.

output_embedded := src/output/flamegraph.css src/output/flamegraph.js $(wildcard src/output/page/*)
$(B)/src/output/embedded.o build/test/src/output/embedded.o: $(output_embedded)
