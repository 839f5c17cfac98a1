// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * src/xen/session.c on a Xen that exists only here: the steps of a start and their undoing, where
 * one fails or somebody interrupts it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "xen/payload.h"
#include "xen/session.h"

/* ---- The Xen --------------------------------------------------------------------------------- */

const uint8_t xf_agent_object[1];
const uint8_t xf_agent_object_end[1];

static char calls[512];          /* as "open enable upload ..." */
static const char *failing[2];   /* these calls fail */
static const char *interrupting; /* during this call somebody presses Ctrl-C */
static volatile sig_atomic_t interrupted;
static enum xf_livepatch_state agent;
static enum xf_livepatch_state left_over; /* of the agent, before a start */
static enum xf_control answer;            /* of the agent, once it has been applied */
static unsigned int nr_buffers;
static uint32_t event_mask; /* as last set */
static struct xf_tracebuffers_load load;

static int call(const char *name, struct xf_error *error)
{
	size_t used = strlen(calls);

	snprintf(calls + used, sizeof(calls) - used, "%s%s", used ? " " : "", name);
	if (interrupting && strcmp(interrupting, name) == 0)
		interrupted = SIGINT;
	for (size_t i = 0; i < 2; i++)
		if (failing[i] && strcmp(failing[i], name) == 0)
			return xf_fail(error, -EBUSY, "%s fails", name);
	return 0;
}

int xf_xen_livepatch_state(struct xf_xen *xen, const char *name, enum xf_livepatch_state *state,
                           struct xf_error *error)
{
	(void)xen;
	(void)name;
	(void)error;
	*state = agent;
	return 0;
}

int xf_xen_livepatch_upload(struct xf_xen *xen, const char *name, const void *payload, size_t size,
                            struct xf_error *error)
{
	int result = call("upload", error);

	(void)xen;
	(void)name;
	(void)payload;
	(void)size;
	if (!result)
		agent = XF_LIVEPATCH_CHECKED;
	return result;
}

int xf_xen_livepatch_act(struct xf_xen *xen, const char *name, enum xf_livepatch_action action,
                         struct xf_error *error)
{
	static const char *const words[] = {[XF_LIVEPATCH_UNLOAD] = "unload",
	                                    [XF_LIVEPATCH_REVERT] = "revert",
	                                    [XF_LIVEPATCH_APPLY] = "apply"};
	static const enum xf_livepatch_state after[] = {
	        [XF_LIVEPATCH_UNLOAD] = XF_LIVEPATCH_ABSENT,
	        [XF_LIVEPATCH_REVERT] = XF_LIVEPATCH_CHECKED,
	        [XF_LIVEPATCH_APPLY] = XF_LIVEPATCH_APPLIED};
	int result = call(words[action], error);

	(void)xen;
	(void)name;
	if (!result)
		agent = after[action];
	return result;
}

int xf_trace_reset(struct xf_xen *xen, struct xf_error *error)
{
	(void)xen;
	return call("reset", error);
}

int xf_tracebuffers_open(struct xf_xen *xen, unsigned int max_pcpu,
                         struct xf_tracebuffers **buffers, struct xf_error *error)
{
	int result = call("open", error);

	(void)xen;
	(void)max_pcpu;
	if (!result)
		*buffers = (struct xf_tracebuffers *)calls;
	return result;
}

void xf_tracebuffers_close(struct xf_tracebuffers *buffers)
{
	assert_non_null(buffers);
	call("close", NULL);
}

int xf_tracebuffers_enable(struct xf_tracebuffers *buffers, uint32_t mask, struct xf_error *error)
{
	(void)buffers;
	assert_int_equal(mask & XF_LEASE_MASK, 1);
	event_mask = mask;
	return call("enable", error);
}

int xf_tracebuffers_renew(struct xf_tracebuffers *buffers, uint32_t mask, struct xf_error *error)
{
	(void)buffers;
	(void)error;
	event_mask = mask;
	return 0;
}

struct xf_tracebuffers_load xf_tracebuffers_load(const struct xf_tracebuffers *buffers)
{
	(void)buffers;
	return load;
}

int xf_tracebuffers_read(struct xf_tracebuffers *buffers, const struct xf_stream_sink *sink,
                         struct xf_error *error)
{
	static const uint32_t hello[6] = {0, XF_FORMAT_VERSION, 0x1000, 0, 0x100, 0};
	static const uint32_t refusal[2] = {0, XF_REFUSAL_STACK};
	int result = call("read", error);

	(void)buffers;
	if (!result && answer == XF_CONTROL_HELLO)
		sink->control(sink->context, answer, hello, 6);
	else if (!result)
		sink->control(sink->context, answer, refusal, 2);
	return result;
}

bool xf_tracebuffers_has(const struct xf_tracebuffers *buffers, unsigned int pcpu)
{
	(void)buffers;
	return pcpu < nr_buffers;
}

const struct xf_stream *xf_tracebuffers_stream(const struct xf_tracebuffers *buffers,
                                               unsigned int pcpu)
{
	(void)buffers;
	(void)pcpu;
	return NULL;
}

int xf_payload_write(const struct xf_payload_input *input, uint8_t **payload, size_t *size,
                     struct xf_error *error)
{
	(void)input;
	*payload = NULL;
	*size = 0;
	return call("write", error);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static struct xf_host host = {.machine.max_pcpu = 1, .machine.online_pcpus = 2};
static struct xf_session *session;
static struct xf_session_sink sink;
static struct xf_error error;

static int start(void)
{
	calls[0] = '\0';
	error = (struct xf_error){0};
	session = NULL;
	interrupted = 0;
	agent = left_over;
	return xf_session_start(&host, 99, &sink, NULL, NULL, &interrupted, &session, &error);
}

static int set_up(void **state)
{
	(void)state;
	host.symbols = xf_symbols_new();
	xf_symbols_finish(host.symbols);
	failing[0] = failing[1] = interrupting = NULL;
	answer = XF_CONTROL_HELLO;
	left_over = XF_LIVEPATCH_ABSENT;
	load = (struct xf_tracebuffers_load){0};
	nr_buffers = 2;
	sink = (struct xf_session_sink){0};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	xf_symbols_free(host.symbols);
	xf_runstates_free(sink.runstates);
	return 0;
}

static void a_start_and_its_end_are_mirrored(void **state)
{
	(void)state;
	assert_int_equal(start(), 0);
	assert_string_equal(calls, "reset write open enable upload apply read");
	assert_int_equal(xf_session_end(session, &error), 0);
	assert_string_equal(calls, "reset write open enable upload apply read revert unload close");
}

/* What is called up to each step, and afterwards where it was the last. */
static const struct {
	const char *name;
	const char *calls;
	const char *undone;
} steps[] = {
        {"reset", "reset", ""},
        {"write", "reset write", ""},
        {"open", "reset write open", " close"},
        {"enable", "reset write open enable", " close"},
        {"upload", "reset write open enable upload", " unload close"},
        {"apply", "reset write open enable upload apply", " revert unload close"},
        {"read", "reset write open enable upload apply read", " revert unload close"},
};
#define NR_STEPS (sizeof(steps) / sizeof(steps[0]))

static void want_calls(size_t last, const char *undone)
{
	char wanted[512];

	snprintf(wanted, sizeof(wanted), "%s%s", steps[last].calls, undone);
	assert_string_equal(calls, wanted);
	assert_int_equal(agent, XF_LIVEPATCH_ABSENT);
	assert_null(session);
}

static void a_step_that_fails_undoes_those_before(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR_STEPS; i++) {
		failing[0] = steps[i].name;
		assert_int_equal(start(), -EBUSY);
		assert_non_null(strstr(error.text, steps[i].name));
		/* An apply that failed has nothing to revert, but may have been half-way. */
		want_calls(i, strcmp(steps[i].name, "apply") == 0 ? " unload close"
		              : i                                 ? steps[i - 1].undone
		                                                  : "");
	}
}

/* The last of these comes together with the agent's first word. */
static void an_interruption_at_any_step_undoes_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR_STEPS; i++) {
		interrupting = steps[i].name;
		assert_int_equal(start(), -EINTR);
		assert_string_equal(error.text, "interrupted");
		want_calls(i, steps[i].undone);
	}
}

static void a_refusal_is_told_with_its_reason(void **state)
{
	(void)state;
	answer = XF_CONTROL_REFUSAL;
	assert_int_equal(start(), -EOPNOTSUPP);
	assert_non_null(strstr(error.text, "stacks are not laid out"));
	want_calls(NR_STEPS - 1, steps[NR_STEPS - 1].undone);
}

static void what_stays_after_a_failed_start_is_told_with_the_reason(void **state)
{
	(void)state;
	answer = XF_CONTROL_REFUSAL;
	failing[0] = "revert";
	failing[1] = "unload";
	assert_int_equal(start(), -EOPNOTSUPP);
	assert_int_equal(error.code, -EOPNOTSUPP);
	assert_non_null(strstr(error.text, "stacks are not laid out"));
	assert_non_null(strstr(error.text, "revert fails"));
	assert_non_null(strstr(error.text, "xenflame detach"));
	assert_int_equal(agent, XF_LIVEPATCH_APPLIED);
}

/* By its name, whichever version it is of. */
static void an_agent_that_was_left_behind_goes_first(void **state)
{
	(void)state;
	left_over = XF_LIVEPATCH_APPLIED;
	assert_int_equal(start(), 0);
	assert_string_equal(calls, "revert unload reset write open enable upload apply read");
	xf_session_end(session, &error);
	left_over = XF_LIVEPATCH_CHECKED;
	assert_int_equal(start(), 0);
	assert_string_equal(calls, "unload reset write open enable upload apply read");
	xf_session_end(session, &error);
}

static void one_that_cannot_be_removed_ends_the_start_and_stays_as_it_is(void **state)
{
	(void)state;
	left_over = XF_LIVEPATCH_APPLIED;
	failing[0] = "revert";
	assert_int_equal(start(), -EBUSY);
	assert_string_equal(calls, "revert");
	assert_int_equal(agent, XF_LIVEPATCH_APPLIED);
	failing[0] = "unload";
	assert_int_equal(start(), -EBUSY);
	assert_string_equal(calls, "revert unload");
	assert_int_equal(agent, XF_LIVEPATCH_CHECKED);
	assert_null(session);
}

static void want_mask(uint32_t mask)
{
	assert_int_equal(event_mask & ~XF_LEASE_MASK, mask);
}

static void xens_scheduler_is_asked_only_where_that_is_wanted(void **state)
{
	(void)state;
	assert_int_equal(start(), 0);
	want_mask(XF_TRACE_MASK);
	assert_int_equal(xf_session_poll(session, &error), 0);
	want_mask(XF_TRACE_MASK);
	xf_session_end(session, &error);
	sink.runstates = xf_runstates_new(1);
	assert_int_equal(start(), 0);
	want_mask(XF_TRACE_MASK_SCHED);
	assert_int_equal(xf_session_poll(session, &error), 0);
	want_mask(XF_TRACE_MASK_SCHED);
	assert_int_equal(xf_runstates_books(sink.runstates).gaps, 0);
	xf_session_end(session, &error);
}

static void where_a_buffer_fills_the_scheduler_makes_way_for_samples(void **state)
{
	(void)state;
	sink.runstates = xf_runstates_new(1);
	assert_int_equal(start(), 0);
	load.crowded = true;
	assert_int_equal(xf_session_poll(session, &error), 0);
	assert_int_equal(xf_runstates_books(sink.runstates).gaps, 0);
	load.crowded = false;
	assert_int_equal(xf_session_poll(session, &error), 0);
	want_mask(XF_TRACE_MASK);
	assert_int_equal(xf_runstates_books(sink.runstates).gaps, 1);
	/* Nor does a read without a new mask know more. */
	assert_int_equal(xf_session_listen(session, &error), 0);
	assert_int_equal(xf_runstates_books(sink.runstates).gaps, 2);
	xf_session_end(session, &error);
}

static void lost_records_and_pcpus_without_a_buffer_are_gaps(void **state)
{
	(void)state;
	sink.runstates = xf_runstates_new(1);
	assert_int_equal(start(), 0);
	load.gaps = true;
	assert_int_equal(xf_session_poll(session, &error), 0);
	assert_int_equal(xf_runstates_books(sink.runstates).gaps, 1);
	load.gaps = false;
	assert_int_equal(xf_session_poll(session, &error), 0);
	assert_int_equal(xf_runstates_books(sink.runstates).gaps, 1);
	nr_buffers = 1;
	assert_int_equal(xf_session_poll(session, &error), 0);
	assert_int_equal(xf_runstates_books(sink.runstates).gaps, 2);
	xf_session_end(session, &error);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	        TEST(a_start_and_its_end_are_mirrored),
	        TEST(a_step_that_fails_undoes_those_before),
	        TEST(an_interruption_at_any_step_undoes_all),
	        TEST(a_refusal_is_told_with_its_reason),
	        TEST(what_stays_after_a_failed_start_is_told_with_the_reason),
	        TEST(an_agent_that_was_left_behind_goes_first),
	        TEST(one_that_cannot_be_removed_ends_the_start_and_stays_as_it_is),
	        TEST(xens_scheduler_is_asked_only_where_that_is_wanted),
	        TEST(where_a_buffer_fills_the_scheduler_makes_way_for_samples),
	        TEST(lost_records_and_pcpus_without_a_buffer_are_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
