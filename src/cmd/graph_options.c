// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/graph_options.h"

#include <stdlib.h>

bool xf_graph_take_title(void *request, const char *value)
{
	((struct xf_graph_request *)request)->graph.title = value;
	return true;
}

bool xf_graph_take_width(void *request, const char *value)
{
	uint64_t number;

	if (!xf_option_number("--width", value, 300, 20000, &number))
		return false;
	((struct xf_graph_request *)request)->graph.width = (uint32_t)number;
	return true;
}

bool xf_graph_take_min_width(void *request, const char *value)
{
	char *end;
	double width = strtod(value, &end);

	if (end == value || *end || !(width >= 0 && width <= 1000)) {
		xf_complain(0, "--min-width wants a number of pixels from 0 to 1000, not '%s'",
		            value);
		return false;
	}
	((struct xf_graph_request *)request)->graph.min_width = width;
	return true;
}

bool xf_graph_take_reverse(void *request, const char *value)
{
	(void)value;
	((struct xf_graph_request *)request)->graph.reverse = true;
	return true;
}

bool xf_graph_take_inverted(void *request, const char *value)
{
	(void)value;
	((struct xf_graph_request *)request)->graph.inverted = true;
	return true;
}
