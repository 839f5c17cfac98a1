// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every promise is one line, and every line says by what it is judged. Where a promise cannot be
 * judged from dom0 the line says why: a report must not look better than what was looked at.
 */
#include "output/self_test.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "output/text.h"
#include "xenflame/sample.h"

/* Below this many samples in Xen their share says nothing. */
#define ENOUGH_SAMPLES 50u
/* As many complete stacks as the lab's tests ask for. */
#define LEAST_COMPLETE 95u
/* Whatever the books say, a picture that misses more is not one of the host. */
#define MOST_LOST      25u
/* Parts in a million between Xen's TSC rate and what dom0's clock says. */
#define MOST_DRIFT     5000u
#define TOLD_REASONS   3u
#define MAX_FRAME_NAME 60

enum verdict {
	OK,
	BROKEN,
	UNKNOWN,
};

struct report {
	FILE *out;
	unsigned int broken;
};

/* One line: "ok  PROMISE: how". What others chose may be in it. */
static void judge(struct report *report, enum verdict verdict, const char *promise,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));
static void judge(struct report *report, enum verdict verdict, const char *promise,
                  const char *format, ...)
{
	static const char *const words[] = {"ok", "NOT ok", "cannot be told here"};
	char text[1536];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	fprintf(report->out, "%s  %s: ", words[verdict], promise);
	xf_text_write(report->out, text, "");
	fputc('\n', report->out);
	report->broken += verdict == BROKEN;
}

/* A promise that only an error breaks. */
static void judge_error(struct report *report, const char *promise, const char *error,
                        const char *good)
{
	judge(report, error ? BROKEN : OK, promise, "%s", error ? error : good);
}

/* ---- Books ----------------------------------------------------------------------------------- */

struct sums {
	uint64_t produced, taken, delivered, lost_slot, lost_nmi, lost_trace, idle;
	size_t heard;  /* pCPUs with samples or idle ticks */
	size_t closed; /* that closed their books */
	/* The first pCPU whose books are wrong, and -1. */
	long wrong_taken, wrong_delivered;
};

static struct sums sum_up(const struct xf_self_test *test)
{
	struct sums sums = {.wrong_taken = -1, .wrong_delivered = -1};
	size_t i;

	for (i = 0; i < test->nr_books; i++) {
		const struct xf_pcpu_statistics *books = &test->books[i];

		sums.produced += books->produced;
		sums.taken += books->taken;
		sums.delivered += books->delivered;
		sums.lost_slot += books->lost_slot;
		sums.lost_nmi += books->lost_nmi;
		sums.lost_trace += books->lost_trace;
		sums.idle += books->idle;
		sums.heard += books->produced + books->idle > 0;
		sums.closed += (books->flags & XF_STATISTICS_CLOSED) != 0;
		if (sums.wrong_taken < 0 &&
		    books->produced != books->taken + books->lost_slot + books->lost_nmi)
			sums.wrong_taken = (long)i;
		if (sums.wrong_delivered < 0 &&
		    books->taken != books->delivered + books->lost_trace)
			sums.wrong_delivered = (long)i;
	}
	return sums;
}

static void judge_equations(struct report *report, const struct xf_self_test *test,
                            const struct sums *sums)
{
	const struct xf_pcpu_statistics *books;

	if (sums->wrong_taken >= 0) {
		books = &test->books[sums->wrong_taken];
		judge(report, BROKEN, "what was asked for was taken or counted as lost",
		      "pCPU %" PRIu32 ": %" PRIu64 " asked for, %" PRIu64 " taken, %" PRIu64
		      " lost for want of a slot, %" PRIu64 " lost NMIs",
		      books->pcpu, books->produced, books->taken, books->lost_slot,
		      books->lost_nmi);
	} else {
		judge(report, OK, "what was asked for was taken or counted as lost",
		      "%" PRIu64 " = %" PRIu64 " taken + %" PRIu64
		      " lost for want of a slot + %" PRIu64 " lost NMIs",
		      sums->produced, sums->taken, sums->lost_slot, sums->lost_nmi);
	}
	if (sums->wrong_delivered >= 0) {
		books = &test->books[sums->wrong_delivered];
		judge(report, BROKEN, "what was taken was delivered or counted as lost",
		      "pCPU %" PRIu32 ": %" PRIu64 " taken, %" PRIu64 " delivered, %" PRIu64
		      " lost in the trace buffer",
		      books->pcpu, books->taken, books->delivered, books->lost_trace);
	} else {
		judge(report, OK, "what was taken was delivered or counted as lost",
		      "%" PRIu64 " = %" PRIu64 " delivered + %" PRIu64 " lost in the trace buffers",
		      sums->taken, sums->delivered, sums->lost_trace);
	}
}

static void judge_file(struct report *report, const struct xf_self_test *test,
                       const struct sums *sums)
{
	static const char promise[] = "the file holds what was delivered and the idle ticks";
	const struct xf_profile *profile = test->profile;

	if (!profile) {
		judge(report, BROKEN, promise, "it cannot be read: %s",
		      test->profile_error ? test->profile_error : "for no reason that is known");
		return;
	}
	judge(report,
	      profile->samples == sums->delivered + sums->idle && sums->idle == test->idle ? OK
	                                                                                   : BROKEN,
	      promise,
	      "%" PRIu64 " in the file, %" PRIu64 " delivered, %" PRIu64
	      " idle ticks counted by the agent, %" PRIu64 " heard of",
	      profile->samples, sums->delivered, sums->idle, test->idle);
}

static void judge_losses(struct report *report, const struct sums *sums)
{
	uint64_t lost = sums->lost_slot + sums->lost_nmi + sums->lost_trace;

	judge(report, lost * 100 <= sums->produced * MOST_LOST ? OK : BROKEN, "most samples arrive",
	      "%" PRIu64 " of %" PRIu64 " are lost (%.1f %%; up to %u %% are let pass)", lost,
	      sums->produced, xf_percent(lost, sums->produced), MOST_LOST);
}

static void judge_books(struct report *report, const struct xf_self_test *test)
{
	struct sums sums = sum_up(test);

	judge(report, test->stop_error || sums.closed < test->online_pcpus ? BROKEN : OK,
	      "asked to stop, every pCPU closed its books", "%zu of %u online%s%s", sums.closed,
	      test->online_pcpus, test->stop_error ? "; " : "",
	      test->stop_error ? test->stop_error : "");
	judge(report, test->after ? BROKEN : OK, "after that nothing more came",
	      "%" PRIu64 " samples and idle ticks", test->after);
	judge_equations(report, test, &sums);
	judge_file(report, test, &sums);
	judge(report, sums.heard < test->online_pcpus ? BROKEN : OK,
	      "every online pCPU was sampled or found idle", "%zu of %u", sums.heard,
	      test->online_pcpus);
	judge_losses(report, &sums);
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

/* Samples with a frame of this kind in their stack, or with this very frame. */
static uint64_t samples_with(const struct xf_calltree *tree, enum xf_frame_kind kind,
                             const struct xf_frame_id *frame)
{
	struct xf_calltree_walk walk = {0};
	uint64_t samples = 0;

	while (xf_calltree_next(tree, &walk)) {
		const struct xf_node *node = xf_calltree_node(tree, walk.node);

		if (walk.leaving || xf_calltree_kind(tree, node->frame) != kind ||
		    (frame && frame->index != node->frame.index))
			continue;
		samples += node->total;
		walk.leaving = true;
	}
	return samples;
}

/* Appends ", 12 of WHY" for the most frequent reasons to @text. */
static void tell_reasons(const struct xf_calltree *tree, char *text, size_t size)
{
	uint64_t before = UINT64_MAX;
	unsigned int told;

	for (told = 0; told < TOLD_REASONS; told++) {
		const char *most = NULL;
		uint64_t samples = 0;
		size_t used = strlen(text);

		for (uint32_t i = 0; i < xf_calltree_nr_frames(tree); i++) {
			struct xf_frame_id frame = {i};
			uint64_t these;

			/* Those of guests' kernels are named otherwise. */
			if (xf_calltree_kind(tree, frame) != XF_FRAME_INCOMPLETE ||
			    strncmp(xf_calltree_name(tree, frame), "[incomplete", 11) != 0)
				continue;
			these = samples_with(tree, XF_FRAME_INCOMPLETE, &frame);
			if (these > samples && these < before) {
				samples = these;
				most = xf_calltree_name(tree, frame);
			}
		}
		if (!most)
			return;
		snprintf(text + used, size - used, "; %" PRIu64 " %.*s", samples, MAX_FRAME_NAME,
		         most);
		before = samples;
	}
}

static void judge_stacks(struct report *report, const struct xf_self_test *test)
{
	static const char promise[] = "stacks in Xen are complete";
	const struct xf_profile_counts *counts;
	char reasons[256] = "";
	uint64_t whole;

	if (!test->profile) {
		judge(report, UNKNOWN, promise, "the file cannot be read");
		return;
	}
	counts = &test->profile->counts;
	whole = counts->xen - counts->incomplete;
	if (counts->xen < ENOUGH_SAMPLES) {
		judge(report, UNKNOWN, promise,
		      "only %" PRIu64 " samples were taken in Xen, %" PRIu64
		      " of them are complete; record longer, or under load",
		      counts->xen, whole);
		return;
	}
	tell_reasons(test->profile->tree, reasons, sizeof(reasons));
	judge(report, whole * 100 >= counts->xen * LEAST_COMPLETE ? OK : BROKEN, promise,
	      "%" PRIu64 " of %" PRIu64 " (%.1f %%; %u %% are asked for)%s", whole, counts->xen,
	      xf_percent(whole, counts->xen), LEAST_COMPLETE, reasons);
}

/* ---- The host afterwards --------------------------------------------------------------------- */

static void judge_patches(struct report *report, const char *promise,
                          const struct xf_self_test_state *before,
                          const struct xf_self_test_state *after, const char *error)
{
	bool same = strcmp(before->patches, after->patches) == 0;

	if (!before->known || !after->known) {
		judge(report, error ? BROKEN : UNKNOWN, promise, "%s",
		      error ? error : "Xen did not answer");
		return;
	}
	judge(report, same && !error ? OK : BROKEN, promise, "%s%s%s%s%s",
	      after->patches[0] ? after->patches : "none", same ? "" : ", before: ",
	      same                 ? ""
	      : before->patches[0] ? before->patches
	                           : "none",
	      error ? "; " : "", error ? error : "");
}

static void judge_mask(struct report *report, const char *promise,
                       const struct xf_self_test_state *before,
                       const struct xf_self_test_state *after)
{
	if (!before->known || !after->known) {
		judge(report, UNKNOWN, promise, "Xen did not answer");
		return;
	}
	/* One that a killed recorder left is not to come back. */
	/* A killed recorder leaves it there. */
	if (XF_TRACE_IS_OURS(before->mask))
		judge(report, XF_TRACE_IS_OURS(after->mask) ? BROKEN : OK, promise,
		      "0x%08" PRIx32 ", before: 0x%08" PRIx32 ", left by a killed recorder",
		      after->mask, before->mask);
	else
		judge(report, after->mask == before->mask ? OK : BROKEN, promise,
		      "0x%08" PRIx32 ", before: 0x%08" PRIx32, after->mask, before->mask);
}

static void judge_host(struct report *report, const struct xf_self_test *test)
{
	judge_patches(report, "the live patches are as before", &test->before, &test->between,
	              test->end_error);
	judge_mask(report, "Xen's trace event mask is as before", &test->before, &test->between);
	judge(report, UNKNOWN, "tracing is off", "Xen answers no question about it");
	if (test->second_error) {
		judge(report, BROKEN, "the NMI callback and the softirq were given back",
		      "a second agent did not start: %s", test->second_error);
		return;
	}
	judge(report, OK, "the NMI callback and the softirq were given back",
	      "a second agent found both free");
	judge(report, test->second_went_quiet ? OK : BROKEN,
	      "left without a sign of life, an agent closes its books by itself",
	      test->second_went_quiet ? "after %" PRIu64 " ms"
	                              : "not all pCPUs had after %" PRIu64 " ms",
	      test->lease_ms);
	judge_patches(report, "after that, too, the live patches are as before", &test->before,
	              &test->last, test->second_end_error);
	judge_mask(report, "and Xen's trace event mask", &test->before, &test->last);
}

/* ---- The clock ------------------------------------------------------------------------------- */

static void judge_clock(struct report *report, const struct xf_self_test *test)
{
	uint64_t a = test->measured_hz, b = test->tsc_hz;
	uint64_t apart = a > b ? a - b : b - a;

	judge(report, test->ahead || test->early ? BROKEN : OK,
	      "the TSCs of the pCPUs agree with dom0's",
	      "%" PRIu64 " samples from the future, %s from before the beginning", test->ahead,
	      test->early ? "some" : "none");
	if (!a || !b) {
		judge(report, UNKNOWN, "the TSC runs at the rate that Xen says",
		      "it was not measured");
		return;
	}
	judge(report, apart * 1000000 <= b * MOST_DRIFT ? OK : BROKEN,
	      "the TSC runs at the rate that Xen says",
	      "%.3f MHz by dom0's clock in %" PRIu64 " ms, %.3f MHz by Xen", (double)a / 1e6,
	      test->monotonic_ms, (double)b / 1e6);
}

/* ---- Figures --------------------------------------------------------------------------------- */

static void write_costs(FILE *out, const struct xf_self_test *test)
{
	const struct xf_profile *profile = test->profile;
	double seconds = (double)test->duration_ms / 1000;
	struct sums sums = sum_up(test);
	uint64_t own;

	if (profile) {
		own = samples_with(profile->tree, XF_FRAME_AGENT, NULL);
		fprintf(out,
		        "  samples in the agent, or in what it calls: %" PRIu64 " of %" PRIu64
		        " (%.2f %%), idle ones included; its NMI is not in them, since none comes "
		        "in an NMI\n",
		        own, profile->samples, xf_percent(own, profile->samples));
	}
	if (test->duration_ms && test->online_pcpus)
		fprintf(out,
		        "  samples, idle and skipped ticks a second and pCPU: %.1f, of %u asked "
		        "for; skipped: %" PRIu64 "\n",
		        (double)(sums.produced + sums.idle + test->skipped) / seconds /
		                test->online_pcpus,
		        test->frequency, test->skipped);
	if (test->duration_ms)
		fprintf(out,
		        "  the recorder took %.1f %% of one of dom0's CPUs and wrote %.0f bytes a "
		        "second\n",
		        (double)test->cpu_ms * 100 / (double)test->duration_ms,
		        (double)test->bytes / seconds);
}

static void write_figures(FILE *out, const struct xf_self_test *test)
{
	fputs("\nFigures\n", out);
	fprintf(out,
	        "  starting took %" PRIu64 " ms, closing the books %" PRIu64
	        " ms, unloading %" PRIu64 " ms\n",
	        test->start_ms, test->stop_ms, test->end_ms);
	if (test->profile)
		fprintf(out,
		        "  samples: %" PRIu64 " guest, %" PRIu64 " Xen, %" PRIu64
		        " idle, in %.1f s at %u Hz\n",
		        test->profile->counts.guest, test->profile->counts.xen,
		        test->profile->counts.idle, (double)test->duration_ms / 1000,
		        test->frequency);
	write_costs(out, test);
}

static void write_head(FILE *out, const struct xf_self_test *test)
{
	size_t i;

	fputs("xenflame self-test\n"
	      "No name of a host or a domain, and no address, is in this report; Xen's command "
	      "line is.\n\n",
	      out);
	for (i = 0; i < test->nr_head; i++) {
		fprintf(out, "  %-18s  ", test->head[i].name);
		xf_text_write(out, test->head[i].text, "");
		fputc('\n', out);
	}
	fputc('\n', out);
}

unsigned int xf_self_test_write(FILE *out, const struct xf_self_test *test)
{
	struct report report = {.out = out};

	write_head(out, test);
	judge_error(&report, "the agent starts", test->start_error, "it has answered");
	if (!test->start_error) {
		judge_error(&report, "the recording goes on until its end", test->early_end,
		            "it did");
		judge_books(&report, test);
		judge_stacks(&report, test);
		judge_clock(&report, test);
		judge_host(&report, test);
		judge(&report, UNKNOWN, "what an NMI of the agent's costs",
		      "no NMI comes in an NMI, so none has been sampled");
		write_figures(out, test);
	}
	if (report.broken)
		fprintf(out, "\n%u of these promises %s NOT kept on this host.\n", report.broken,
		        report.broken == 1 ? "is" : "are");
	else
		fputs("\nAll that can be told here is ok.\n", out);
	return report.broken;
}
