// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of this directory that are built into the tool, each NUL-terminated. */
#ifndef XF_OUTPUT_EMBEDDED_H
#define XF_OUTPUT_EMBEDDED_H

extern const char xf_embedded_flamegraph_css[];
extern const char xf_embedded_flamegraph_js[];

extern const char xf_embedded_page_html[]; /* the body, up to the data */
extern const char xf_embedded_page_css[];
extern const char xf_embedded_page_js[];

#endif
