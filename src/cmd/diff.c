// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "cmd/graph_options.h"
#include "output/comparison.h"
#include "output/page.h"

struct request {
	struct xf_graph_request common;
	enum xf_measure measure;
	struct xf_comparison_options text;
	enum {
		TEXT,
		SVG,
		HTML
	} form;
};

/* Everything that is made of the two recordings. */
struct sides {
	struct xf_input inputs[2];
	struct xf_profile *profiles[2];
	struct xf_calltree *reversed[2];
	struct xf_difference *difference;
};

/* ---- Options --------------------------------------------------------------------------------- */

static bool take_svg(void *request, const char *value)
{
	(void)value;
	((struct request *)request)->form = SVG;
	return true;
}

static bool take_html(void *request, const char *value)
{
	(void)value;
	((struct request *)request)->form = HTML;
	return true;
}

static bool ends_in(const char *text, const char *end)
{
	size_t size = strlen(text), end_size = strlen(end);

	return size > end_size && strcmp(text + size - end_size, end) == 0;
}

static bool take_output(void *request, const char *value)
{
	if (ends_in(value, ".svg"))
		((struct request *)request)->form = SVG;
	if (ends_in(value, ".html"))
		((struct request *)request)->form = HTML;
	return xf_view_take_output(request, value);
}

static bool take_normalize(void *request, const char *value)
{
	if (strcmp(value, "samples") == 0)
		((struct request *)request)->measure = XF_MEASURE_SAMPLES;
	else if (strcmp(value, "time") == 0)
		((struct request *)request)->measure = XF_MEASURE_TIME;
	else
		return xf_complain(0, "--normalize wants samples or time, not '%s'", value);
	return true;
}

static bool take_absolute(void *request, const char *value)
{
	(void)value;
	((struct request *)request)->measure = XF_MEASURE_ABSOLUTE;
	return true;
}

static bool take_sort(void *request, const char *value)
{
	bool total = strcmp(value, "total") == 0;

	if (!total && strcmp(value, "self") != 0)
		return xf_complain(0, "--sort wants self or total, not '%s'", value);
	((struct request *)request)->text.by_total = total;
	return true;
}

static bool take_all(void *request, const char *value)
{
	(void)value;
	((struct request *)request)->text.all = true;
	return true;
}

static bool take_lines(void *request, const char *value)
{
	uint64_t number;

	if (!xf_option_number("--lines", value, 0, UINT32_MAX, &number))
		return false;
	((struct request *)request)->text.lines = (uint32_t)number;
	return true;
}

static const struct xf_option options[] = {
        {"output", 'o', "FILE", "where to write (default: standard output); also .svg, .html",
         take_output},
        {"svg", 0, NULL, "a flame graph: red where there is more in B, blue where less", take_svg},
        {"html", 0, NULL, "the same as a page", take_html},
        {"normalize", 0, "WAY", "samples: shares of all; time: of a pCPU (default: samples)",
         take_normalize},
        {"absolute", 0, NULL, "numbers of samples as they are", take_absolute},
        {"sort", 0, "WAY", "by the change of self or total (default: self)", take_sort},
        {"all", 'a', NULL, "changes that may be chance, too", take_all},
        {"lines", 'n', "N", "at most so many functions (default: all)", take_lines},
        XF_VIEW_BY,
        XF_VIEW_DOMAIN,
        XF_VIEW_PCPU,
        XF_GRAPH_TITLE,
        XF_GRAPH_WIDTH,
        XF_GRAPH_MIN_WIDTH,
        XF_GRAPH_REVERSE,
        XF_GRAPH_INVERTED,
        {0},
};

/* ---- The two sides --------------------------------------------------------------------------- */

static int open_side(const struct request *request, const char *path, struct sides *sides, int side)
{
	struct xf_error error = {0};
	int status = xf_input_open_any(path, &sides->inputs[side]);

	if (!status && xf_input_profile(&sides->inputs[side], &request->common.view.profile,
	                                &sides->profiles[side], &error))
		status = xf_input_complain(&sides->inputs[side], &error);
	if (!status)
		xf_input_remark(&sides->inputs[side], sides->profiles[side]);
	return status;
}

static int compare(const struct request *request, struct sides *sides)
{
	const struct xf_profile *const profiles[2] = {sides->profiles[0], sides->profiles[1]};
	const struct xf_calltree *trees[2] = {profiles[0]->tree, profiles[1]->tree};
	struct xf_sides whole;
	bool reverse = request->common.graph.reverse && request->form == SVG;

	if (!xf_comparison_whole(profiles, request->measure, &whole))
		return xf_complain(XF_EXIT_INPUT,
		                   "--normalize time needs the frequency and the duration, and a"
		                   " recording does not tell them; leave it out");
	for (int side = 0; reverse && side < 2; side++) {
		if (xf_calltree_invert(trees[side], &sides->reversed[side]))
			return xf_complain(XF_EXIT_FAILURE, "no memory for the comparison");
		trees[side] = sides->reversed[side];
	}
	if (xf_difference_build(trees[0], trees[1], whole, request->measure == XF_MEASURE_SAMPLES,
	                        &sides->difference))
		return xf_complain(XF_EXIT_FAILURE, "no memory for the comparison");
	return XF_EXIT_OK;
}

static void free_sides(struct sides *sides)
{
	xf_difference_free(sides->difference);
	for (int side = 0; side < 2; side++) {
		xf_calltree_free(sides->reversed[side]);
		xf_profile_free(sides->profiles[side]);
		xf_input_close(&sides->inputs[side]);
	}
}

/* ---- Writing --------------------------------------------------------------------------------- */

static int write_comparison(const struct request *request, const struct sides *sides, FILE *out)
{
	const struct xf_comparison comparison = {
	        .profiles = {sides->profiles[0], sides->profiles[1]},
	        .names = {sides->inputs[0].path, sides->inputs[1].path},
	        .difference = sides->difference,
	        .measure = request->measure};
	const struct xf_page_options page = {.title = request->common.graph.title,
	                                     .icicle = request->common.graph.inverted,
	                                     .callers = request->common.graph.reverse};
	int code;

	if (request->form == SVG)
		code = xf_flamegraph_write_comparison(out, &comparison, &request->common.graph);
	else if (request->form == HTML)
		code = xf_page_write_comparison(out, &comparison, &page);
	else
		code = xf_comparison_write(out, &comparison, &request->text);
	return code ? xf_complain(XF_EXIT_FAILURE, "no memory for the comparison") : XF_EXIT_OK;
}

static int write_output(const struct request *request, const struct sides *sides)
{
	const char *path = request->common.view.output;
	struct xf_output output;
	int status;

	for (int side = 0; side < 2; side++) {
		if (xf_input_is(&sides->inputs[side], path))
			return xf_view_refuse_itself(path);
	}
	status = xf_output_open(path, &output);
	if (status)
		return status;
	status = write_comparison(request, sides, output.stream);
	if (!status)
		return xf_output_close(&output);
	xf_output_abandon(&output);
	return status;
}

static int run(int argc, char **argv)
{
	struct request request = {
	        .common = {.view = {.output = "-", .profile = XF_PROFILE_DEFAULTS},
	                   .graph = XF_FLAMEGRAPH_DEFAULTS}};
	struct sides sides = {0};
	int status;

	if (!xf_options_read(&xf_command_diff, argc, argv, &request, &status))
		return status;
	if (argc - optind != 2)
		return xf_complain(
		        XF_EXIT_USAGE,
		        "diff wants two recordings, A and B, not %d; see xenflame help diff",
		        argc - optind);
	status = open_side(&request, argv[optind], &sides, 0);
	if (!status)
		status = open_side(&request, argv[optind + 1], &sides, 1);
	if (!status)
		status = compare(&request, &sides);
	if (!status)
		status = write_output(&request, &sides);
	free_sides(&sides);
	return status;
}

const struct xf_command xf_command_diff = {
        .name = "diff",
        .synopsis = "[-o FILE] [--svg] [--html] [--normalize WAY] [--absolute] [--all] ... A B",
        .summary = "compares two recordings, function by function or as a flame graph",
        .options = options,
        .takes_arguments = true,
        .mixes_arguments = true,
        .help = (const char *const[]){"A is before, B after. Functions are matched by name, also "
                                      "between builds of Xen. Left out,",
                                      "and neither red nor blue, is what may be chance: changes of "
                                      "less than three standard",
                                      "deviations. What is gone, or new, says so.", NULL},
        .run = run,
};
