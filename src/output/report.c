// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/facts.h"
#include "output/text.h"
#include "profile/breakdown.h"
#include "profile/outline.h"
#include "profile/shares.h"
#include "symbol/symbols.h"

/* A view in the making: what is left out is counted. */
struct view {
	FILE *out;
	const struct xf_profile *profile;
	const struct xf_report_options *options;
	uint32_t written;
	uint64_t left_out;
	int count_columns; /* of a number of samples */
};

/* Return: whether a line for @count samples is to be written; counts it either way. */
static bool takes_line(struct view *view, uint64_t count)
{
	if (xf_percent(count, view->profile->samples) < view->options->percent_limit ||
	    (view->options->lines && view->written >= view->options->lines)) {
		view->left_out++;
		return false;
	}
	view->written++;
	return true;
}

/* The same for what is not made of samples. */
static bool takes_row(struct view *view)
{
	if (view->options->lines && view->written >= view->options->lines) {
		view->left_out++;
		return false;
	}
	view->written++;
	return true;
}

static void end_view(struct view *view)
{
	if (view->left_out)
		fprintf(view->out, "(%" PRIu64 " more)\n", view->left_out);
	view->written = 0;
	view->left_out = 0;
}

static void write_count(const struct view *view, uint64_t count)
{
	char text[32];

	fprintf(view->out, " %*s", view->count_columns, xf_text_count(count, text));
}

static void write_count_head(const struct view *view)
{
	fprintf(view->out, " %*s", view->count_columns, "Samples");
}

/* "12.34%", or "-" for nothing at all, in eight columns. */
static void write_percent(struct view *view, uint64_t count)
{
	if (count)
		fprintf(view->out, "%7.2f%%", xf_percent(count, view->profile->samples));
	else
		fputs("       -", view->out);
}

static const char *name_of(const struct view *view, struct xf_frame_id frame)
{
	return xf_calltree_name(view->profile->tree, frame);
}

/* ---- Domains, vCPUs, pCPUs, kinds ------------------------------------------------------------ */

static void write_row(struct view *view, const struct xf_breakdown_row *row,
                      enum xf_breakdown_by by)
{
	if (!takes_line(view, row->samples))
		return;
	write_percent(view, row->samples);
	write_count(view, row->samples);
	if (by == XF_BY_KIND) {
		fprintf(view->out, "  %s\n", xf_frame_kind_name(row->kind));
		return;
	}
	write_percent(view, row->counts.guest);
	write_percent(view, row->counts.xen);
	write_percent(view, row->counts.idle);
	fputs("  ", view->out);
	if (by == XF_BY_PCPU) {
		fprintf(view->out, "pCPU %" PRIu32 "\n", row->number);
		return;
	}
	xf_text_write(view->out, name_of(view, row->domain), "");
	if (row->process.index) {
		fputs(": ", view->out);
		xf_text_write(view->out, name_of(view, row->process), "");
	}
	if (by == XF_BY_VCPU)
		fprintf(view->out, " vCPU %" PRIu32, row->number);
	fputc('\n', view->out);
}

static int write_rows(struct view *view, enum xf_breakdown_by by, const char *title)
{
	static const char *const heads[XF_BREAKDOWNS] = {
	        [XF_BY_DOMAIN] = "   Guest     Xen    Idle  Domain",
	        [XF_BY_VCPU] = "   Guest     Xen    Idle  vCPU",
	        [XF_BY_PCPU] = "   Guest     Xen    Idle  pCPU",
	        [XF_BY_KIND] = "  Kind",
	        [XF_BY_PROCESS] = "   Guest     Xen    Idle  Process",
	};
	struct xf_breakdown_row *rows;
	size_t nr;
	int code = xf_breakdown(view->profile, by, &view->options->sort, &rows, &nr);

	if (code)
		return code;
	fprintf(view->out, "\n%s\n   Share", title);
	write_count_head(view);
	fprintf(view->out, "%s\n", heads[by]);
	for (size_t i = 0; i < nr; i++)
		write_row(view, &rows[i], by);
	end_view(view);
	free(rows);
	return 0;
}

/* ---- What the scheduler did ------------------------------------------------------------------ */

static void write_time(struct view *view, uint64_t time, uint64_t whole)
{
	if (time)
		fprintf(view->out, "%7.2f%%", xf_percent(time, whole));
	else
		fputs("       -", view->out);
}

static void write_times(struct view *view, const struct xf_vcpu_time *row)
{
	uint64_t whole = xf_vcpu_time_whole(row);

	for (size_t i = 0; i < XF_RUNSTATES; i++)
		write_time(view, row->time[i], whole);
	write_time(view, row->unknown, whole);
	fputs("  ", view->out);
	xf_text_write(view->out, row->domain, "");
}

static bool is_idle(const struct xf_vcpu_time *row)
{
	return row->domid == XF_DOMID_IDLE;
}

/* What all idle vCPUs have together, or all others. Return: how many they are. */
static size_t sum_times(const struct xf_vcpu_times *times, bool idle, struct xf_vcpu_time *sum)
{
	size_t nr = 0;

	*sum = (struct xf_vcpu_time){0};
	for (size_t i = 0; i < times->nr; i++) {
		if (is_idle(&times->rows[i]) != idle)
			continue;
		for (size_t s = 0; s < XF_RUNSTATES; s++)
			sum->time[s] += times->rows[i].time[s];
		sum->unknown += times->rows[i].unknown;
		nr++;
	}
	return nr;
}

/* An idle vCPU runs where its pCPU has nothing else to do. */
static void write_idle_time(struct view *view)
{
	struct xf_vcpu_time sum;
	size_t nr = sum_times(&view->profile->vcpu_times, true, &sum);

	if (nr)
		fprintf(view->out, "pCPUs were idle for %s%.2f%% of their time.\n",
		        sum.unknown ? "at least " : "",
		        xf_percent(sum.time[XF_RUNSTATE_RUNNING], xf_vcpu_time_whole(&sum)));
}

/* What is missing of all rows together, and why. */
static void write_unknown_time(struct view *view, const struct xf_vcpu_time *sum)
{
	if (sum->unknown)
		fprintf(view->out,
		        "Unknown is %.2f%% of all: records of Xen's scheduler were lost, or the "
		        "file was cut off.\n",
		        xf_percent(sum->unknown, xf_vcpu_time_whole(sum)));
}

/* Return: whether there are rows to follow. */
static bool begin_times(struct view *view, const char *title, const char *what,
                        struct xf_vcpu_time *sum)
{
	if (!sum_times(&view->profile->vcpu_times, false, sum))
		return false;
	fprintf(view->out, "\n%s\n Running Waiting Blocked Offline Unknown  %s\n", title, what);
	return true;
}

static void write_domains_times(struct view *view)
{
	const struct xf_vcpu_times *times = &view->profile->vcpu_times;
	struct xf_vcpu_time whole, sum;
	size_t nr;

	if (!begin_times(view, "What Xen's scheduler did with the vCPUs", "Domain", &whole))
		return;
	for (size_t first = 0; first < times->nr; first += nr) {
		nr = xf_vcpu_times_domain(times, first, &sum);
		if (is_idle(&sum) || !takes_row(view))
			continue;
		write_times(view, &sum);
		fprintf(view->out, ", %zu vCPU%s\n", nr, nr == 1 ? "" : "s");
	}
	end_view(view);
	write_unknown_time(view, &whole);
	write_idle_time(view);
}

static void write_vcpus_times(struct view *view)
{
	const struct xf_vcpu_times *times = &view->profile->vcpu_times;
	struct xf_vcpu_time whole;

	if (!begin_times(view, "What Xen's scheduler did, by vCPU", "vCPU", &whole))
		return;
	for (size_t i = 0; i < times->nr; i++) {
		if (is_idle(&times->rows[i]) || !takes_row(view))
			continue;
		write_times(view, &times->rows[i]);
		fprintf(view->out, " vCPU %u\n", times->rows[i].vcpu);
	}
	end_view(view);
	write_unknown_time(view, &whole);
}

/* ---- Functions ------------------------------------------------------------------------------- */

static int write_functions(struct view *view)
{
	struct xf_share *shares;
	size_t nr;
	int code = xf_breakdown_functions(view->profile, &view->options->sort, &shares, &nr);

	if (code)
		return code;
	fputs("\nFunctions\n    Self   Total", view->out);
	write_count_head(view);
	fputs("  Function\n", view->out);
	for (size_t i = 0; i < nr; i++) {
		const struct xf_share *share = &shares[i];

		if (!takes_line(view, share->total))
			continue;
		write_percent(view, share->self);
		write_percent(view, share->total);
		write_count(view, share->self);
		fputs("  ", view->out);
		xf_text_write(view->out, name_of(view, share->frame), "");
		fputc('\n', view->out);
	}
	end_view(view);
	free(shares);
	return 0;
}

static int write_neighbours(struct view *view, struct xf_frame_id frame, bool callers)
{
	const struct xf_calltree *tree = view->profile->tree;
	struct xf_share *shares;
	size_t nr;
	int code = callers ? xf_shares_callers(tree, frame, &shares, &nr)
	                   : xf_shares_callees(tree, frame, &shares, &nr);

	if (code)
		return code;
	xf_shares_sort(tree, &view->options->sort, shares, nr);
	fprintf(view->out, "\n%s ", callers ? "Callers of" : "Callees of");
	xf_text_write(view->out, name_of(view, frame), "");
	fputs("\n   Share", view->out);
	write_count_head(view);
	fputs("  Function\n", view->out);
	for (size_t i = 0; i < nr; i++) {
		if (!takes_line(view, shares[i].total))
			continue;
		write_percent(view, shares[i].total);
		write_count(view, shares[i].total);
		fputs("  ", view->out);
		xf_text_write(view->out,
		              shares[i].frame.index ? name_of(view, shares[i].frame)
		              : callers             ? "(nobody)"
		                                    : "(itself)",
		              "");
		fputc('\n', view->out);
	}
	end_view(view);
	free(shares);
	return 0;
}

static int write_callers(struct view *view, struct xf_frame_id frame, const struct xf_share *share)
{
	(void)share;
	return write_neighbours(view, frame, true);
}

static int write_callees(struct view *view, struct xf_frame_id frame, const struct xf_share *share)
{
	(void)share;
	return write_neighbours(view, frame, false);
}

/* The function itself, between its callers and its callees. */
static int write_sandwich(struct view *view, struct xf_frame_id frame, const struct xf_share *share)
{
	int code = write_neighbours(view, frame, true);

	if (code)
		return code;
	fputs("\n    Self   Total", view->out);
	write_count_head(view);
	fputs("  Function\n", view->out);
	write_percent(view, share->self);
	write_percent(view, share->total);
	write_count(view, share->self);
	fputs("  ", view->out);
	xf_text_write(view->out, name_of(view, frame), "");
	fputc('\n', view->out);
	return write_neighbours(view, frame, false);
}

/* Calls @write for every frame that goes by @name. */
static int for_function(struct view *view, const char *name,
                        int (*write)(struct view *view, struct xf_frame_id frame,
                                     const struct xf_share *share))
{
	struct xf_share *shares;
	size_t nr;
	int code;

	if (!name)
		return 0;
	code = xf_shares_functions(view->profile->tree, &shares, &nr);
	if (code)
		return code;
	for (size_t i = 0; !code && i < nr; i++) {
		if (xf_symbol_goes_by(name_of(view, shares[i].frame), name))
			code = write(view, shares[i].frame, &shares[i]);
	}
	free(shares);
	return code;
}

/* ---- Trees ----------------------------------------------------------------------------------- */

static int write_tree(struct view *view, const struct xf_calltree *tree, const char *title)
{
	struct xf_outline_options options = {.sort = &view->options->sort,
	                                     .limit = view->options->percent_limit,
	                                     .whole = view->profile->samples};
	struct xf_outline outline;
	int code = xf_outline_make(tree, &options, &outline);
	size_t nr;

	if (code)
		return code;
	nr = view->options->lines && view->options->lines < outline.nr ? view->options->lines
	                                                               : outline.nr;
	fprintf(view->out, "\n%s\n   Total    Self  Function\n", title);
	for (size_t i = 0; i < nr; i++) {
		const struct xf_outline_line *line = &outline.lines[i];
		const struct xf_node *node = xf_calltree_node(tree, line->node);

		write_percent(view, node->total);
		write_percent(view, node->self);
		fprintf(view->out, "  %*s%s", (int)line->indent * 2, "", line->only ? "> " : "");
		xf_text_write(view->out, xf_calltree_name(tree, node->frame), "");
		fputc('\n', view->out);
	}
	view->left_out = outline.left_out + (outline.nr - nr);
	end_view(view);
	free(outline.lines);
	return 0;
}

static int write_inverted(struct view *view)
{
	struct xf_calltree *inverted;
	int code = xf_calltree_invert(view->profile->tree, &inverted);

	if (code)
		return code;
	code = write_tree(view, inverted,
	                  "Call tree, from the innermost functions to their callers");
	xf_calltree_free(inverted);
	return code;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void write_fact(FILE *out, const char *label, const char *text)
{
	if (!text[0])
		return;
	fprintf(out, "%-10s ", label);
	xf_text_write(out, text, "");
	fputc('\n', out);
}

static void write_header(FILE *out, const struct xf_profile *profile)
{
	struct xf_facts facts;

	xf_facts_of(profile, &facts);
	write_fact(out, "Host", facts.host);
	write_fact(out, "Recorded", facts.recorded);
	write_fact(out, "Samples", facts.samples);
	write_fact(out, "Quality", facts.quality);
	write_fact(out, "Note", facts.notes);
}

static int write_views(struct view *view)
{
	unsigned int views = view->options->views;
	int code = 0;

	if (views & XF_REPORT_SUMMARY)
		code = write_rows(view, XF_BY_DOMAIN, "Where the CPUs' time went");
	if (!code && views & XF_REPORT_SUMMARY)
		write_domains_times(view);
	if (!code && views & XF_REPORT_FUNCTIONS)
		code = write_functions(view);
	if (!code && views & XF_REPORT_VCPUS)
		code = write_rows(view, XF_BY_VCPU, "By vCPU");
	if (!code && views & XF_REPORT_VCPUS)
		write_vcpus_times(view);
	if (!code && views & XF_REPORT_PCPUS)
		code = write_rows(view, XF_BY_PCPU, "By pCPU");
	if (!code && views & XF_REPORT_PROCESSES)
		code = write_rows(view, XF_BY_PROCESS, "By process");
	if (!code && views & XF_REPORT_KINDS)
		code = write_rows(view, XF_BY_KIND, "By what was running");
	if (!code && views & XF_REPORT_CALLERS_FIRST)
		code = write_tree(view, view->profile->tree,
		                  "Call tree, from the outermost functions inwards");
	if (!code && views & XF_REPORT_CALLEES_FIRST)
		code = write_inverted(view);
	return code;
}

static int check_function(const struct xf_profile *profile, const char *name,
                          struct xf_error *error)
{
	for (size_t f = 1; name && f < xf_calltree_nr_frames(profile->tree); f++) {
		struct xf_frame_id frame = {.index = (uint32_t)f};

		if (xf_symbol_goes_by(xf_calltree_name(profile->tree, frame), name))
			return 0;
	}
	return name ? xf_fail(error, -ENOENT, "no sample is in a function named \"%.200s\"", name)
	            : 0;
}

int xf_report_check(const struct xf_profile *profile, const struct xf_report_options *options,
                    struct xf_error *error)
{
	const char *const names[] = {options->callers, options->callees, options->function};
	int code = 0;

	if (profile->without_cpus && options->views & (XF_REPORT_VCPUS | XF_REPORT_PCPUS))
		return xf_fail(error, -ENODATA, "folded stacks do not tell vCPUs and pCPUs");
	for (size_t i = 0; !code && i < sizeof(names) / sizeof(names[0]); i++)
		code = check_function(profile, names[i], error);
	return code;
}

int xf_report_write(FILE *out, const struct xf_profile *profile,
                    const struct xf_report_options *options, struct xf_error *error)
{
	struct view view = {.out = out,
	                    .profile = profile,
	                    .options = options,
	                    .count_columns = xf_text_count_columns(profile->samples)};
	int code = xf_report_check(profile, options, error);

	if (code)
		return code;
	if (options->header)
		write_header(out, profile);
	code = write_views(&view);
	if (!code)
		code = for_function(&view, options->callers, write_callers);
	if (!code)
		code = for_function(&view, options->callees, write_callees);
	if (!code)
		code = for_function(&view, options->function, write_sandwich);
	return code ? xf_fail(error, code, "no memory for the report") : 0;
}
