// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/top.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/text.h"
#include "profile/breakdown.h"
#include "profile/processes.h"

#define NANOSECONDS 1000000000ull

/* ---- Facts ----------------------------------------------------------------------------------- */

static const struct xf_profile_counts no_counts;

static const struct xf_profile_counts *counts_of(const struct xf_live_interval *interval)
{
	return interval->profile ? &interval->profile->counts : &no_counts;
}

static uint64_t samples_of(const struct xf_live_interval *interval)
{
	return interval->profile ? interval->profile->samples : 0;
}

/* Samples with a function of the agent's: what sampling has cost. */
static uint64_t agents_samples(const struct xf_profile *profile)
{
	struct xf_calltree_walk walk = {0};
	uint64_t sum = 0;

	while (profile && xf_calltree_next(profile->tree, &walk)) {
		const struct xf_node *node = xf_calltree_node(profile->tree, walk.node);

		if (walk.leaving || xf_calltree_kind(profile->tree, node->frame) != XF_FRAME_AGENT)
			continue;
		sum += node->total;
		walk.leaving = true; /* what stands on it is in its total */
	}
	return sum;
}

static double per_second(uint64_t count, const struct xf_top_moment *moment)
{
	return moment->nanoseconds
	               ? (double)count * (double)NANOSECONDS / (double)moment->nanoseconds
	               : 0;
}

static void tell_title(const struct xf_top_moment *moment, struct xf_top_facts *facts)
{
	const struct xf_live_interval *interval = moment->interval;
	char time[32];

	if (xf_text_time(moment->time, time)[0])
		XF_TEXT_APPEND(facts->title, "%s, ", time);
	XF_TEXT_APPEND(facts->title, "%.200s", interval->host[0] ? interval->host : "unnamed host");
	if (interval->xen_version[0])
		XF_TEXT_APPEND(facts->title, ", Xen %.100s", interval->xen_version);
	XF_TEXT_APPEND(facts->title, ", %zu pCPU%s", interval->nr_pcpus,
	               interval->nr_pcpus == 1 ? "" : "s");
}

static void tell_samples(const struct xf_top_moment *moment, struct xf_top_facts *facts)
{
	const struct xf_live_interval *interval = moment->interval;
	const struct xf_profile_counts *counts = counts_of(interval);
	uint64_t samples = samples_of(interval);
	char text[32];

	XF_TEXT_APPEND(facts->samples, "%s in %.1f s", xf_text_count(samples, text),
	               (double)moment->nanoseconds / (double)NANOSECONDS);
	if (interval->frequency)
		XF_TEXT_APPEND(facts->samples, " at %" PRIu64 " Hz", interval->frequency);
	if (samples)
		XF_TEXT_APPEND(facts->samples, " (guests %.1f%%, Xen %.1f%%, idle %.1f%%)",
		               xf_percent(counts->guest, samples), xf_percent(counts->xen, samples),
		               xf_percent(counts->idle, samples));
}

static void tell_processes(const struct xf_live_interval *interval, struct xf_top_facts *facts)
{
	const struct xf_profile_counts *counts = counts_of(interval);
	uint64_t control = 0, recorded = 0;
	char text[32];

	for (size_t i = 0; interval->profile && i < interval->profile->nr_groups; i++) {
		const struct xf_profile_group *group = &interval->profile->groups[i];

		if (group->domid != XF_DOMID_CONTROL)
			continue;
		control += group->counts.guest + group->counts.xen;
		recorded += group->counts.processes;
	}
	if (control && !recorded)
		XF_TEXT_APPEND(facts->quality, ", without processes");
	if (counts->process_unknown)
		XF_TEXT_APPEND(facts->quality, ", process unknown %s",
		               xf_text_count(counts->process_unknown, text));
}

static void tell_quality(const struct xf_live_interval *interval, struct xf_top_facts *facts)
{
	const struct xf_profile_counts *counts = counts_of(interval);
	char text[32];

	XF_TEXT_APPEND(facts->quality, "lost %s, ", xf_text_count(interval->lost, text));
	if (interval->skipped)
		XF_TEXT_APPEND(facts->quality, "skipped %s, ",
		               xf_text_count(interval->skipped, text));
	XF_TEXT_APPEND(facts->quality, "incomplete %s", xf_text_count(counts->incomplete, text));
	if (counts->incomplete)
		XF_TEXT_APPEND(facts->quality, " (%.1f%% of Xen's)",
		               xf_percent(counts->incomplete, counts->xen));
	if (counts->kernel_incomplete)
		XF_TEXT_APPEND(facts->quality, ", guest kernel incomplete %s",
		               xf_text_count(counts->kernel_incomplete, text));
	if (counts->switched_away)
		XF_TEXT_APPEND(facts->quality, ", guest switched away %s",
		               xf_text_count(counts->switched_away, text));
	tell_processes(interval, facts);
	if (interval->left_out)
		XF_TEXT_APPEND(facts->quality, ", too much to show: %" PRIu64 " KiB left out",
		               interval->left_out >> 10);
}

static void tell_cost(const struct xf_top_moment *moment, struct xf_top_facts *facts)
{
	const struct xf_live_interval *interval = moment->interval;
	const struct xf_profile_counts *counts = counts_of(interval);

	XF_TEXT_APPEND(facts->cost, "%.0f samples/s, ",
	               per_second(counts->guest + counts->xen, moment));
	XF_TEXT_APPEND(facts->cost, "agent %.1f%%, ",
	               xf_percent(agents_samples(interval->profile), samples_of(interval)));
	XF_TEXT_APPEND(facts->cost, "%.1f KiB/s, ", per_second(interval->bytes, moment) / 1024);
	XF_TEXT_APPEND(facts->cost, "%.1f%% of a CPU %s",
	               xf_percent(moment->own_cpu, moment->nanoseconds),
	               moment->records ? "in dom0" : "for this view");
}

void xf_top_facts_of(const struct xf_top_moment *moment, struct xf_top_facts *facts)
{
	memset(facts, 0, sizeof(*facts));
	tell_title(moment, facts);
	tell_samples(moment, facts);
	tell_quality(moment->interval, facts);
	tell_cost(moment, facts);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static const char *percent(uint64_t part, uint64_t whole, char text[16])
{
	if (part)
		snprintf(text, 16, "%7.2f%%", xf_percent(part, whole));
	else
		snprintf(text, 16, "%8s", "-");
	return text;
}

/* What one pCPU did, or all of them. */
struct pcpu {
	uint64_t idle;
	uint64_t xen;
	uint64_t dom0_kernel;
	uint64_t dom0_user;
	uint64_t guests; /* other ones */
	uint64_t samples;
};

static void add_group(struct pcpu *pcpu, const struct xf_profile_group *group)
{
	const struct xf_profile_counts *counts = &group->counts;
	bool dom0 = group->domid == XF_DOMID_CONTROL;

	pcpu->idle += counts->idle;
	pcpu->xen += counts->xen;
	pcpu->dom0_kernel += dom0 ? counts->guest_kernel : 0;
	pcpu->dom0_user += dom0 ? counts->guest - counts->guest_kernel : 0;
	pcpu->guests += dom0 ? 0 : counts->guest;
	pcpu->samples += counts->guest + counts->xen + counts->idle;
}

static struct pcpu sum_pcpu(const struct xf_profile *profile, uint32_t number)
{
	struct pcpu pcpu = {0};

	for (size_t i = 0; profile && i < profile->nr_groups; i++) {
		if (number == XF_ANY_PCPU || profile->groups[i].pcpu == number)
			add_group(&pcpu, &profile->groups[i]);
	}
	return pcpu;
}

static void write_pcpu(struct xf_top_line *line, const struct pcpu *pcpu)
{
	char a[16], b[16], c[16], d[16], e[16], count[32];

	line->kind = XF_FRAME_PCPU;
	line->name = line->text;
	snprintf(line->left, sizeof(line->left), "%s%s%s%s%s%9s  ",
	         percent(pcpu->idle, pcpu->samples, a), percent(pcpu->xen, pcpu->samples, b),
	         percent(pcpu->dom0_kernel, pcpu->samples, c),
	         percent(pcpu->dom0_user, pcpu->samples, d),
	         percent(pcpu->guests, pcpu->samples, e), xf_text_count(pcpu->samples, count));
}

static bool passes(const char *name, const char *filter)
{
	return !filter[0] || strcasestr(name, filter);
}

static int make_pcpus(const struct xf_live_interval *interval, const char *filter,
                      struct xf_top_lines *lines)
{
	lines->lines = calloc(interval->nr_pcpus + 1, sizeof(*lines->lines));
	if (!lines->lines)
		return -ENOMEM;
	for (size_t i = 0; i <= interval->nr_pcpus; i++) {
		uint32_t number = i ? interval->pcpus[i - 1] : XF_ANY_PCPU;
		struct pcpu pcpu = sum_pcpu(interval->profile, number);
		struct xf_top_line *line = &lines->lines[lines->nr];

		write_pcpu(line, &pcpu);
		if (i)
			snprintf(line->text, sizeof(line->text), "pCPU %" PRIu32, number);
		else
			snprintf(line->text, sizeof(line->text), "all");
		lines->of++;
		lines->nr += passes(line->text, filter);
	}
	return 0;
}

/* Of all samples. */
static void write_shares(struct xf_top_line *line, const struct xf_profile *profile,
                         const struct xf_breakdown_row *row)
{
	const struct xf_profile_counts *counts = &row->counts;
	uint64_t whole = profile->samples;
	char a[16], b[16], c[16], d[16], count[32];

	snprintf(line->left, sizeof(line->left), "%s%s%s%s %16s  ", percent(row->samples, whole, a),
	         percent(counts->xen, whole, b), percent(counts->guest_kernel, whole, c),
	         percent(counts->guest - counts->guest_kernel, whole, d),
	         xf_text_count(row->samples, count));
}

static void write_domain(struct xf_top_line *line, const struct xf_profile *profile,
                         const struct xf_breakdown_row *row)
{
	write_shares(line, profile, row);
	line->name = xf_calltree_name(profile->tree, row->domain);
	line->kind = row->kind;
}

static int make_domains(const struct xf_profile *profile, const struct xf_sort *sort,
                        const char *filter, struct xf_top_lines *lines)
{
	struct xf_breakdown_row *rows;
	int code = xf_breakdown(profile, XF_BY_DOMAIN, sort, &rows, &lines->of);

	if (code)
		return code;
	lines->lines = calloc(lines->of + 1, sizeof(*lines->lines));
	for (size_t i = 0; lines->lines && i < lines->of; i++) {
		write_domain(&lines->lines[lines->nr], profile, &rows[i]);
		lines->nr += passes(lines->lines[lines->nr].name, filter);
	}
	free(rows);
	return lines->lines ? 0 : -ENOMEM;
}

static bool is_control(const struct xf_profile *profile, struct xf_frame_id domain)
{
	for (size_t i = 0; i < profile->nr_groups; i++) {
		if (profile->groups[i].domain.index == domain.index)
			return profile->groups[i].domid == XF_DOMID_CONTROL;
	}
	return false;
}

/* Those of other domains than the control domain bear its name. */
static void write_process(struct xf_top_line *line, const struct xf_profile *profile,
                          const struct xf_breakdown_row *row)
{
	write_shares(line, profile, row);
	line->name = xf_calltree_name(profile->tree, row->process);
	line->kind = XF_FRAME_PROCESS;
	if (is_control(profile, row->domain))
		return;
	snprintf(line->text, sizeof(line->text), "%.60s: %.90s",
	         xf_calltree_name(profile->tree, row->domain), line->name);
	line->name = line->text;
}

/* What belongs to no process that is told is left out. */
static int make_processes(const struct xf_profile *profile, const struct xf_sort *sort,
                          const char *filter, struct xf_top_lines *lines)
{
	struct xf_breakdown_row *rows;
	size_t nr;
	int code = xf_breakdown(profile, XF_BY_PROCESS, sort, &rows, &nr);

	if (code)
		return code;
	lines->lines = calloc(nr + 1, sizeof(*lines->lines));
	for (size_t i = 0; lines->lines && i < nr; i++) {
		if (!rows[i].process.index)
			continue;
		write_process(&lines->lines[lines->nr], profile, &rows[i]);
		lines->of++;
		lines->nr += passes(lines->lines[lines->nr].name, filter);
	}
	free(rows);
	return lines->lines ? 0 : -ENOMEM;
}

static void write_function(struct xf_top_line *line, const struct xf_profile *profile,
                           const struct xf_share *share)
{
	char a[16], b[16], count[32];

	line->name = xf_calltree_name(profile->tree, share->frame);
	line->kind = xf_calltree_kind(profile->tree, share->frame);
	snprintf(line->left, sizeof(line->left), "%s%s %8s  ",
	         percent(share->self, profile->samples, a),
	         percent(share->total, profile->samples, b), xf_text_count(share->self, count));
}

static int make_functions(const struct xf_profile *profile, const struct xf_sort *sort,
                          const char *filter, struct xf_top_lines *lines)
{
	struct xf_share *shares;
	size_t nr;
	int code = xf_breakdown_functions(profile, sort, &shares, &nr);

	if (code)
		return code;
	lines->lines = calloc(nr + 1, sizeof(*lines->lines));
	for (size_t i = 0; lines->lines && i < nr; i++) {
		if (xf_calltree_kind(profile->tree, shares[i].frame) == XF_FRAME_IDLE)
			continue;
		write_function(&lines->lines[lines->nr], profile, &shares[i]);
		lines->of++;
		lines->nr += passes(lines->lines[lines->nr].name, filter);
	}
	free(shares);
	return lines->lines ? 0 : -ENOMEM;
}

const char *xf_top_heads(enum xf_top_section section)
{
	static const char *const heads[XF_TOP_SECTIONS] = {
	        [XF_TOP_PCPUS] = "    Idle     Xen dom0krn dom0usr  Guests  Samples  pCPU",
	        [XF_TOP_DOMAINS] = "   Share     Xen  Kernel    User          Samples  Domain",
	        [XF_TOP_PROCESSES] = "   Share     Xen  Kernel    User          Samples  Process",
	        [XF_TOP_FUNCTIONS] = "    Self   Total  Samples  Function",
	};

	return heads[section];
}

int xf_top_lines_of(const struct xf_top_moment *moment, enum xf_top_section section,
                    const struct xf_sort *sort, const char *filter, struct xf_top_lines *lines)
{
	const struct xf_profile *profile = moment->interval->profile;

	*lines = (struct xf_top_lines){0};
	if (section == XF_TOP_PCPUS)
		return make_pcpus(moment->interval, filter, lines);
	if (!profile)
		return 0;
	if (section == XF_TOP_DOMAINS)
		return make_domains(profile, sort, filter, lines);
	if (section == XF_TOP_PROCESSES)
		return make_processes(profile, sort, filter, lines);
	return make_functions(profile, sort, filter, lines);
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void write_fact(FILE *out, const char *label, const char *text)
{
	fprintf(out, "%-10s ", label);
	xf_text_write(out, text, "");
	fputc('\n', out);
}

static int write_section(FILE *out, const struct xf_top_moment *moment, enum xf_top_section section,
                         uint32_t most)
{
	static const struct xf_sort own_order = {0};
	struct xf_top_lines lines;
	int code = xf_top_lines_of(moment, section, &own_order, "", &lines);
	size_t nr;

	if (code)
		return code;
	nr = most && most < lines.nr ? most : lines.nr;
	if (nr)
		fprintf(out, "%s\n", xf_top_heads(section));
	for (size_t i = 0; i < nr; i++) {
		fputs(lines.lines[i].left, out);
		xf_text_write(out, lines.lines[i].name, "");
		fputc('\n', out);
	}
	if (nr < lines.nr)
		fprintf(out, "(%zu more)\n", lines.nr - nr);
	free(lines.lines);
	return 0;
}

int xf_top_write(FILE *out, const struct xf_top_moment *moment, uint32_t most)
{
	struct xf_top_facts facts;
	int code;

	xf_top_facts_of(moment, &facts);
	write_fact(out, "Top", facts.title);
	write_fact(out, "Samples", facts.samples);
	write_fact(out, "Quality", facts.quality);
	write_fact(out, "Own cost", facts.cost);
	code = write_section(out, moment, XF_TOP_PCPUS, 0);
	if (!code)
		code = write_section(out, moment, XF_TOP_DOMAINS, 0);
	if (!code)
		code = write_section(out, moment, XF_TOP_PROCESSES, most);
	if (!code)
		code = write_section(out, moment, XF_TOP_FUNCTIONS, most);
	fputc('\n', out);
	return code;
}
