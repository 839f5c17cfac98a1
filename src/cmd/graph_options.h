// SPDX-License-Identifier: GPL-2.0-or-later
/* Options of flame graphs that flamegraph and diff share. */
#ifndef XF_CMD_GRAPH_OPTIONS_H
#define XF_CMD_GRAPH_OPTIONS_H

#include "cmd/view.h"
#include "output/flamegraph.h"

/* The first member of the command's own request. */
struct xf_graph_request {
	struct xf_view view;
	struct xf_flamegraph_options graph;
};

/* Entries of an option table; in the help of a command that does not always draw an SVG. */
#define XF_GRAPH_TITLE                                                                             \
	{                                                                                          \
		"title", 0, "TEXT", "of the picture, instead of its own", xf_graph_take_title      \
	}
#define XF_GRAPH_WIDTH                                                                             \
	{                                                                                          \
		"width", 0, "PIXELS", "SVG: width where no script runs (default: 1200)",           \
		        xf_graph_take_width                                                        \
	}
#define XF_GRAPH_MIN_WIDTH                                                                         \
	{                                                                                          \
		"min-width", 0, "PIXELS", "SVG: leave out narrower frames (default: 0.1)",         \
		        xf_graph_take_min_width                                                    \
	}
#define XF_GRAPH_REVERSE                                                                           \
	{                                                                                          \
		"reverse", 0, NULL, "innermost functions first, then their callers",               \
		        xf_graph_take_reverse                                                      \
	}
#define XF_GRAPH_INVERTED                                                                          \
	{                                                                                          \
		"inverted", 0, NULL, "icicle: callers on top, callees below",                      \
		        xf_graph_take_inverted                                                     \
	}

bool xf_graph_take_title(void *request, const char *value);
bool xf_graph_take_width(void *request, const char *value);
bool xf_graph_take_min_width(void *request, const char *value);
bool xf_graph_take_reverse(void *request, const char *value);
bool xf_graph_take_inverted(void *request, const char *value);

#endif
