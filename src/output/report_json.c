// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "output/report.h"
#include "output/text.h"
#include "profile/breakdown.h"
#include "profile/outline.h"
#include "profile/shares.h"
#include "symbol/symbols.h"

/* The greatest integer that every reader of JSON keeps (RFC 8259, section 6). */
#define JSON_INTEGER_MAX ((1ull << 53) - 1)

struct json {
	FILE *out;
	const struct xf_profile *profile;
	const struct xf_report_options *options;
	/* Of the table that is being written. */
	uint64_t written;
	uint64_t left_out;
};

/* ---- Values ---------------------------------------------------------------------------------- */

static void write_count(const struct json *json, const char *key, uint64_t count)
{
	const char *quote = count > JSON_INTEGER_MAX ? "\"" : "";

	fprintf(json->out, "\"%s\":%s%" PRIu64 "%s", key, quote, count, quote);
}

static void write_text(const struct json *json, const char *key, const char *text)
{
	fprintf(json->out, "\"%s\":", key);
	if (text && text[0])
		xf_text_write_json(json->out, text);
	else
		fputs("null", json->out);
}

static void write_bool(const struct json *json, const char *key, bool value)
{
	fprintf(json->out, "\"%s\":%s", key, value ? "true" : "false");
}

static void comma(const struct json *json)
{
	fputc(',', json->out);
}

/* The root's frame, which stands for nobody, is null. */
static void write_frame(const struct json *json, const struct xf_calltree *tree,
                        struct xf_frame_id frame)
{
	fputs("\"name\":", json->out);
	if (!frame.index) {
		fputs("null,\"kind\":null", json->out);
		return;
	}
	xf_text_write_json(json->out, xf_calltree_name(tree, frame));
	fprintf(json->out, ",\"kind\":\"%s\"", xf_frame_kind_name(xf_calltree_kind(tree, frame)));
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static void begin_table(struct json *json, const char *key)
{
	fprintf(json->out, "\"%s\":{\"rows\":[", key);
	json->written = json->left_out = 0;
}

/* Return: whether a row for @count samples is to be written, with its bracket opened. */
static bool begin_row(struct json *json, uint64_t count)
{
	if (xf_percent(count, json->profile->samples) < json->options->percent_limit ||
	    (json->options->lines && json->written >= json->options->lines)) {
		json->left_out++;
		return false;
	}
	fputs(json->written++ ? ",\n{" : "\n{", json->out);
	return true;
}

static void end_table(const struct json *json)
{
	fputs("],", json->out);
	write_count(json, "left_out", json->left_out);
	fputc('}', json->out);
}

static void write_row(struct json *json, enum xf_breakdown_by by,
                      const struct xf_breakdown_row *row)
{
	if (!begin_row(json, row->samples))
		return;
	if (by == XF_BY_KIND)
		fprintf(json->out, "\"kind\":\"%s\",", xf_frame_kind_name(row->kind));
	if (by == XF_BY_DOMAIN || by == XF_BY_VCPU || by == XF_BY_PROCESS) {
		fputs("\"domain\":", json->out);
		xf_text_write_json(json->out, xf_calltree_name(json->profile->tree, row->domain));
		comma(json);
	}
	if (by == XF_BY_PROCESS) {
		write_text(json, "process",
		           row->process.index ? xf_calltree_name(json->profile->tree, row->process)
		                              : NULL);
		comma(json);
	}
	if (by == XF_BY_VCPU || by == XF_BY_PCPU)
		fprintf(json->out, "\"%s\":%" PRIu32 ",", by == XF_BY_VCPU ? "vcpu" : "pcpu",
		        row->number);
	write_count(json, "samples", row->samples);
	if (by != XF_BY_KIND) {
		comma(json);
		write_count(json, "guest", row->counts.guest);
		comma(json);
		write_count(json, "xen", row->counts.xen);
		comma(json);
		write_count(json, "idle", row->counts.idle);
		comma(json);
		write_count(json, "other", row->counts.other);
	}
	fputc('}', json->out);
}

static int write_rows(struct json *json, enum xf_breakdown_by by, const char *key)
{
	struct xf_breakdown_row *rows;
	size_t nr;
	int code = xf_breakdown(json->profile, by, &json->options->sort, &rows, &nr);

	if (code)
		return code;
	fputs(",\n", json->out);
	begin_table(json, key);
	for (size_t i = 0; i < nr; i++)
		write_row(json, by, &rows[i]);
	end_table(json);
	free(rows);
	return 0;
}

/* ---- What the scheduler did ------------------------------------------------------------------ */

static void write_vcpu_time(const struct json *json, const struct xf_vcpu_time *row)
{
	static const char *const keys[XF_RUNSTATES] = {
	        [XF_RUNSTATE_RUNNING] = "running",
	        [XF_RUNSTATE_WAITING] = "waiting",
	        [XF_RUNSTATE_BLOCKED] = "blocked",
	        [XF_RUNSTATE_OFFLINE] = "offline",
	};

	fputs("\"domain\":", json->out);
	xf_text_write_json(json->out, row->domain);
	fprintf(json->out, ",\"domid\":%u,\"vcpu\":%u", row->domid, row->vcpu);
	for (size_t i = 0; i < XF_RUNSTATES; i++) {
		comma(json);
		write_count(json, keys[i], row->time[i]);
	}
	comma(json);
	write_count(json, "unknown", row->unknown);
}

static void write_vcpu_times(struct json *json)
{
	const struct xf_vcpu_times *times = &json->profile->vcpu_times;

	if (!times->nr)
		return;
	fputs(",\n", json->out);
	begin_table(json, "vcpu_times");
	for (size_t i = 0; i < times->nr; i++) {
		if (json->options->lines && json->written >= json->options->lines) {
			json->left_out++;
			continue;
		}
		fputs(json->written++ ? ",\n{" : "\n{", json->out);
		write_vcpu_time(json, &times->rows[i]);
		fputc('}', json->out);
	}
	end_table(json);
}

/* ---- Functions ------------------------------------------------------------------------------- */

static void write_share(const struct json *json, const struct xf_share *share)
{
	write_frame(json, json->profile->tree, share->frame);
	comma(json);
	write_count(json, "self", share->self);
	comma(json);
	write_count(json, "total", share->total);
}

static int write_functions(struct json *json)
{
	struct xf_share *shares;
	size_t nr;
	int code = xf_breakdown_functions(json->profile, &json->options->sort, &shares, &nr);

	if (code)
		return code;
	fputs(",\n", json->out);
	begin_table(json, "functions");
	for (size_t i = 0; i < nr; i++) {
		if (!begin_row(json, shares[i].total))
			continue;
		write_share(json, &shares[i]);
		fputc('}', json->out);
	}
	end_table(json);
	free(shares);
	return 0;
}

/* ---- Callers and callees --------------------------------------------------------------------- */

static int write_neighbours(struct json *json, struct xf_frame_id frame, bool callers)
{
	const struct xf_calltree *tree = json->profile->tree;
	struct xf_share *shares;
	size_t nr;
	int code = callers ? xf_shares_callers(tree, frame, &shares, &nr)
	                   : xf_shares_callees(tree, frame, &shares, &nr);

	if (code)
		return code;
	xf_shares_sort(tree, &json->options->sort, shares, nr);
	fputs(",\n", json->out);
	begin_table(json, callers ? "callers" : "callees");
	for (size_t i = 0; i < nr; i++) {
		if (!begin_row(json, shares[i].total))
			continue;
		write_frame(json, tree, shares[i].frame);
		comma(json);
		write_count(json, "samples", shares[i].total);
		fputc('}', json->out);
	}
	end_table(json);
	free(shares);
	return 0;
}

static bool wants(const char *name, const char *wanted)
{
	return wanted && xf_symbol_goes_by(name, wanted);
}

/* An entry for each frame that goes by a name that was asked for. */
static int write_sandwiches(struct json *json)
{
	const struct xf_report_options *options = json->options;
	const struct xf_calltree *tree = json->profile->tree;
	const char *separator = "\n{";
	struct xf_share *shares;
	size_t nr;
	int code = xf_shares_functions(tree, &shares, &nr);

	if (code)
		return code;
	fputs(",\n\"neighbours\":[", json->out);
	for (size_t i = 0; !code && i < nr; i++) {
		const char *name = xf_calltree_name(tree, shares[i].frame);
		bool both = wants(name, options->function);
		bool callers = both || wants(name, options->callers);
		bool callees = both || wants(name, options->callees);

		if (!callers && !callees)
			continue;
		fputs(separator, json->out);
		separator = ",\n{";
		write_share(json, &shares[i]);
		if (callers)
			code = write_neighbours(json, shares[i].frame, true);
		if (!code && callees)
			code = write_neighbours(json, shares[i].frame, false);
		fputc('}', json->out);
	}
	fputc(']', json->out);
	free(shares);
	return code;
}

/* ---- Trees ----------------------------------------------------------------------------------- */

static void write_node(const struct json *json, const struct xf_calltree *tree,
                       struct xf_node_id id, const uint32_t *place)
{
	const struct xf_node *node = xf_calltree_node(tree, id);

	if (node->parent.index)
		fprintf(json->out, "\"parent\":%" PRIu32 ",", place[node->parent.index]);
	else
		fputs("\"parent\":null,", json->out);
	write_frame(json, tree, node->frame);
	comma(json);
	write_count(json, "self", node->self);
	comma(json);
	write_count(json, "total", node->total);
}

/* Nodes in a row, each after its parent: a tree as deep as stacks get would be too deep for many
   readers. */
static int write_tree(struct json *json, const struct xf_calltree *tree, const char *key)
{
	struct xf_outline_options options = {.sort = &json->options->sort,
	                                     .limit = json->options->percent_limit,
	                                     .whole = json->profile->samples};
	struct xf_outline outline;
	uint32_t *place = calloc(xf_calltree_nr_nodes(tree), sizeof(*place));
	int code = place ? xf_outline_make(tree, &options, &outline) : -ENOMEM;

	if (code) {
		free(place);
		return code;
	}
	fputs(",\n", json->out);
	begin_table(json, key);
	for (size_t i = 0; i < outline.nr; i++) {
		struct xf_node_id id = outline.lines[i].node;

		place[id.index] = (uint32_t)i;
		if (!begin_row(json, xf_calltree_node(tree, id)->total))
			continue;
		write_node(json, tree, id, place);
		fputc('}', json->out);
	}
	json->left_out += outline.left_out;
	end_table(json);
	free(outline.lines);
	free(place);
	return 0;
}

static int write_inverted(struct json *json)
{
	struct xf_calltree *inverted;
	int code = xf_calltree_invert(json->profile->tree, &inverted);

	if (code)
		return code;
	code = write_tree(json, inverted, "tree_by_callee");
	xf_calltree_free(inverted);
	return code;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void write_start(const struct json *json)
{
	time_t seconds = (time_t)(json->profile->start_time / 1000000000);
	struct tm broken;
	char text[32] = "";

	if (json->profile->start_time && gmtime_r(&seconds, &broken))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &broken);
	write_text(json, "start", text);
}

static void write_recording(const struct json *json)
{
	const struct xf_profile *profile = json->profile;

	fputs("{\"format\":\"xenflame-report\",\"version\":1,\n\"host\":{", json->out);
	write_text(json, "name", profile->host);
	comma(json);
	write_text(json, "xen_version", profile->xen_version);
	comma(json);
	write_text(json, "xen_build_id", profile->build_id);
	fprintf(json->out, ",\"pcpus\":%" PRIu32 "},\n\"recording\":{", profile->nr_pcpus);
	write_start(json);
	comma(json);
	write_count(json, "nanoseconds", profile->duration);
	comma(json);
	write_count(json, "frequency", profile->frequency);
	comma(json);
	write_bool(json, "closed", profile->state.closed);
	comma(json);
	write_bool(json, "truncated", profile->state.truncated);
	comma(json);
	write_count(json, "damaged_parts", profile->state.damaged);
	comma(json);
	write_count(json, "unknown_parts",
	            profile->state.unknown_chunks + profile->state.unknown_records);
	fputs("},\n", json->out);
}

static void write_samples(const struct json *json)
{
	const struct xf_profile *profile = json->profile;

	fputs("\"samples\":{", json->out);
	write_count(json, "all", profile->samples);
	comma(json);
	write_count(json, "guest", profile->counts.guest);
	comma(json);
	write_count(json, "xen", profile->counts.xen);
	comma(json);
	write_count(json, "idle", profile->counts.idle);
	comma(json);
	write_count(json, "other", profile->counts.other);
	comma(json);
	write_count(json, "incomplete", profile->counts.incomplete);
	comma(json);
	write_count(json, "unnamed", profile->counts.unnamed);
	comma(json);
	if (profile->lost_known)
		write_count(json, "lost", profile->lost);
	else
		fputs("\"lost\":null", json->out);
	comma(json);
	write_count(json, "skipped", profile->skipped);
	fputc('}', json->out);
}

static void write_guest_stacks(const struct json *json)
{
	const struct xf_profile_counts *counts = &json->profile->counts;
	const struct {
		const char *key;
		uint64_t count;
	} members[] = {
	        {"all", counts->stacks},
	        {"kernel_incomplete", counts->kernel_incomplete},
	        {"user_incomplete", counts->user_incomplete},
	        {"user_unknown", counts->user_unknown},
	        {"switched_away", counts->switched_away},
	        {"process_unknown", counts->process_unknown},
	};

	fputs(",\n\"guest_stacks\":{", json->out);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (i)
			comma(json);
		write_count(json, members[i].key, members[i].count);
	}
	fputc('}', json->out);
}

static void write_selection(const struct json *json, const struct xf_profile_options *selection)
{
	fputs("\"selection\":{", json->out);
	write_text(json, "domain", selection->domain);
	if (selection->pcpu == XF_ANY_PCPU)
		fputs(",\"pcpu\":null", json->out);
	else
		fprintf(json->out, ",\"pcpu\":%" PRIu32, selection->pcpu);
	fprintf(json->out, ",\"percent_limit\":%.9g,\"lines\":%" PRIu32 "},\n",
	        json->options->percent_limit, json->options->lines);
}

static int write_views(struct json *json)
{
	const struct xf_report_options *options = json->options;
	unsigned int views = options->views;
	int code = 0;

	if (views & XF_REPORT_SUMMARY)
		code = write_rows(json, XF_BY_DOMAIN, "domains");
	if (!code && views & (XF_REPORT_SUMMARY | XF_REPORT_VCPUS))
		write_vcpu_times(json);
	if (!code && views & XF_REPORT_FUNCTIONS)
		code = write_functions(json);
	if (!code && views & XF_REPORT_VCPUS)
		code = write_rows(json, XF_BY_VCPU, "vcpus");
	if (!code && views & XF_REPORT_PCPUS)
		code = write_rows(json, XF_BY_PCPU, "pcpus");
	if (!code && views & XF_REPORT_PROCESSES)
		code = write_rows(json, XF_BY_PROCESS, "processes");
	if (!code && views & XF_REPORT_KINDS)
		code = write_rows(json, XF_BY_KIND, "kinds");
	if (!code && views & XF_REPORT_CALLERS_FIRST)
		code = write_tree(json, json->profile->tree, "tree_by_caller");
	if (!code && views & XF_REPORT_CALLEES_FIRST)
		code = write_inverted(json);
	if (!code && (options->callers || options->callees || options->function))
		code = write_sandwiches(json);
	return code;
}

int xf_report_write_json(FILE *out, const struct xf_profile *profile,
                         const struct xf_profile_options *selection,
                         const struct xf_report_options *options, struct xf_error *error)
{
	struct json json = {.out = out, .profile = profile, .options = options};
	int code = xf_report_check(profile, options, error);

	if (code)
		return code;
	write_recording(&json);
	write_selection(&json, selection);
	write_samples(&json);
	write_guest_stacks(&json);
	code = write_views(&json);
	fputs("}\n", out);
	return code ? xf_fail(error, code, "no memory for the report") : 0;
}
