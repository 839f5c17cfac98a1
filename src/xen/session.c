// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "xen/payload.h"

#define HELLO_TIMEOUT_MS   5000u
#define CLOSING_TIMEOUT_MS 3000u
#define POLL_MS            20u
#define GIVE_WAY_MS        1000

/* The books of one pCPU as the agent tells them; 32-bit counters may wrap. */
struct books {
	bool closed;
	uint64_t kicks, taken, lost_slot, lost_nmi, idle, skipped;
};

struct xf_session {
	struct xf_host *host;
	struct xf_session_sink sink;
	xf_session_progress_t *progress;
	void *context;
	const volatile sig_atomic_t *interrupted;
	struct xf_tracebuffers *buffers;
	uint8_t *payload;
	size_t payload_size;
	size_t steps; /* taken, of the table below */
	uint32_t lease;
	int64_t way_given; /* until then Xen's scheduler is not asked, ms */
	bool asked;        /* it is being asked ... */
	bool unasked;      /* ... but has not been all the time since the last read */
	bool hello;
	enum xf_refusal refusal;
	uint64_t text_address;
	uint64_t text_size;
	unsigned int nr_pcpus;
	struct books *books;
	int64_t checked; /* when the live patch was last seen applied, ms */
};

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static uint64_t tsc(void)
{
	return __builtin_ia32_rdtsc();
}

/*
 * A 32-bit counter's reading, counted on in 64 bits. Readings of one pCPU come through several
 * trace buffers and may overtake each other: one from before the last is left out.
 */
static void count_on(uint64_t *counter, uint32_t reading)
{
	uint32_t difference = reading - (uint32_t)*counter;

	if (difference < 0x80000000u)
		*counter += difference;
}

static void hear_statistics(struct xf_session *session, const uint32_t *words)
{
	uint32_t pcpu = words[0] & ~XF_STATISTICS_FINAL;
	struct books *books;

	if (pcpu >= session->nr_pcpus)
		return;
	books = &session->books[pcpu];
	if (words[0] & XF_STATISTICS_FINAL)
		books->closed = true;
	count_on(&books->kicks, words[1]);
	count_on(&books->taken, words[2]);
	count_on(&books->lost_slot, words[3]);
	count_on(&books->lost_nmi, words[4]);
	count_on(&books->idle, words[5]);
	count_on(&books->skipped, words[6]);
}

static void hear_control(void *context, enum xf_control kind, const uint32_t *words, size_t nr)
{
	struct xf_session *session = context;
	struct xf_idle_record idle;

	if (kind == XF_CONTROL_HELLO && nr == 6) {
		session->hello = words[1] == XF_FORMAT_VERSION;
		session->text_address = words[2] | (uint64_t)words[3] << 32;
		session->text_size = words[4];
	} else if (kind == XF_CONTROL_REFUSAL && nr == 2) {
		session->refusal = words[1];
	} else if (kind == XF_CONTROL_STATISTICS && nr == 7) {
		hear_statistics(session, words);
	} else if (kind == XF_CONTROL_IDLE && nr == 2 && words[0] < session->nr_pcpus) {
		idle = (struct xf_idle_record){.tsc = tsc(), .pcpu = words[0], .count = words[1]};
		if (session->sink.idle)
			session->sink.idle(session->sink.context, &idle);
	}
}

static void hear_sample(void *context, const struct xf_sample *sample,
                        const struct xf_sample_guest *guest)
{
	struct xf_session *session = context;

	if (session->sink.sample)
		session->sink.sample(session->sink.context, sample, guest);
}

static void hear_foreign(void *context, uint32_t event, uint64_t tsc, const uint8_t *bytes,
                         size_t size)
{
	struct xf_session *session = context;

	if (session->sink.runstates)
		xf_runstates_take(session->sink.runstates, event, tsc, bytes, size);
}

/* Samples come first: where the scheduler's records fill a buffer by half they are done without
 * for a while. */
static uint32_t choose_mask(struct xf_session *session)
{
	session->asked = session->sink.runstates && now_ms() >= session->way_given;
	session->unasked = session->unasked || !session->asked;
	return session->asked ? XF_TRACE_MASK_SCHED : XF_TRACE_MASK;
}

/* A pCPU that came online after Xen allocated its trace buffers has none to report in. */
static bool all_are_traced(const struct xf_session *session)
{
	unsigned int traced = 0;

	for (unsigned int pcpu = 0; pcpu < session->nr_pcpus; pcpu++)
		traced += xf_tracebuffers_has(session->buffers, pcpu);
	return traced >= session->host->machine.online_pcpus;
}

/* A turn of the run states, for a read that began at @before. */
static void turn_runstates(struct xf_session *session, uint64_t before)
{
	struct xf_tracebuffers_load load = xf_tracebuffers_load(session->buffers);

	if (load.crowded)
		session->way_given = now_ms() + GIVE_WAY_MS;
	xf_runstates_turn(session->sink.runstates, before,
	                  load.gaps || session->unasked || !all_are_traced(session));
	session->unasked = !session->asked;
}

static int read_buffers(struct xf_session *session, struct xf_error *error)
{
	struct xf_stream_sink sink = {.context = session,
	                              .sample = hear_sample,
	                              .control = hear_control,
	                              .foreign = hear_foreign};
	uint64_t before = tsc();
	int result = xf_tracebuffers_read(session->buffers, &sink, error);

	if (session->sink.runstates)
		turn_runstates(session, before);
	return result;
}

/* 1, 2 ... in the bits that are free in the mask; never the value that means stop. */
static int renew(struct xf_session *session, struct xf_error *error)
{
	session->lease = session->lease % XF_LEASE_MASK + 1;
	return xf_tracebuffers_renew(session->buffers, choose_mask(session) | session->lease,
	                             error);
}

int xf_session_remove_agent(struct xf_xen *xen, bool *removed, struct xf_error *error)
{
	enum xf_livepatch_state state;
	int result = xf_xen_livepatch_state(xen, XF_AGENT_NAME, &state, error);

	*removed = false;
	if (!result && state == XF_LIVEPATCH_APPLIED)
		result = xf_xen_livepatch_act(xen, XF_AGENT_NAME, XF_LIVEPATCH_REVERT, error);
	if (!result && state != XF_LIVEPATCH_ABSENT) {
		result = xf_xen_livepatch_act(xen, XF_AGENT_NAME, XF_LIVEPATCH_UNLOAD, error);
		*removed = !result;
	}
	return result ? result : xf_trace_reset(xen, error);
}

static int remove_leftover(struct xf_session *session, struct xf_error *error)
{
	bool removed;

	return xf_session_remove_agent(session->host->xen, &removed, error);
}

static int write_payload(struct xf_session *session, struct xf_error *error)
{
	struct xf_host *host = session->host;
	struct xf_payload_input input = {
	        .object = xf_agent_object,
	        .object_size = xf_agent_object_end - xf_agent_object,
	        .symbols = host->symbols,
	        .config = &host->config,
	        .build_id = host->version.build_id.bytes,
	        .build_id_size = host->version.build_id.size,
	};

	if (getrandom(input.own_build_id, sizeof(input.own_build_id), 0) < 0 ||
	    getrandom(&host->config.seed, sizeof(host->config.seed), 0) < 0)
		return xf_fail(error, -errno, "no random numbers: %s", strerror(errno));
	host->config.seed |= 1;
	host->config.version = XF_FORMAT_VERSION;
	host->config.nr_pcpus = session->nr_pcpus;
	host->config.trace_takes_cycles = xf_symbols_by_name(host->symbols, "__trace_var") != NULL;
	return xf_payload_write(&input, &session->payload, &session->payload_size, error);
}

static int open_buffers(struct xf_session *session, struct xf_error *error)
{
	return xf_tracebuffers_open(session->host->xen, session->nr_pcpus - 1, &session->buffers,
	                            error);
}

static int close_buffers(struct xf_session *session, struct xf_error *error)
{
	(void)error;
	xf_tracebuffers_close(session->buffers);
	session->buffers = NULL;
	return 0;
}

static int enable_tracing(struct xf_session *session, struct xf_error *error)
{
	int result;

	session->lease = 1;
	result = xf_tracebuffers_enable(session->buffers, choose_mask(session) | session->lease,
	                                error);
	if (!result && session->sink.runstates)
		xf_runstates_begin(session->sink.runstates, tsc());
	return result;
}

static int upload(struct xf_session *session, struct xf_error *error)
{
	return xf_xen_livepatch_upload(session->host->xen, XF_AGENT_NAME, session->payload,
	                               session->payload_size, error);
}

static int unload(struct xf_session *session, struct xf_error *error)
{
	return xf_xen_livepatch_act(session->host->xen, XF_AGENT_NAME, XF_LIVEPATCH_UNLOAD, error);
}

static int apply(struct xf_session *session, struct xf_error *error)
{
	return xf_xen_livepatch_act(session->host->xen, XF_AGENT_NAME, XF_LIVEPATCH_APPLY, error);
}

/* A `replace` by another live patch may have reverted us already. */
static int revert(struct xf_session *session, struct xf_error *error)
{
	enum xf_livepatch_state state;
	int result = xf_xen_livepatch_state(session->host->xen, XF_AGENT_NAME, &state, error);

	if (result || state != XF_LIVEPATCH_APPLIED)
		return result;
	return xf_xen_livepatch_act(session->host->xen, XF_AGENT_NAME, XF_LIVEPATCH_REVERT, error);
}

static const char *refusal_text(enum xf_refusal refusal)
{
	switch (refusal) {
	case XF_REFUSAL_IDLE_VCPU:
		return "Xen's idle vCPUs are not laid out as its code says";
	case XF_REFUSAL_STACK:
		return "the pCPUs' stacks are not laid out as Xen's code says";
	case XF_REFUSAL_SOFTIRQ:
		return "Xen has not registered the softirq that the agent shares";
	case XF_REFUSAL_NMI_TAKEN:
		return "something else (such as xenoprof) has Xen's NMI callback";
	case XF_REFUSAL_ONE_PCPU:
		return "only one pCPU is online";
	case XF_REFUSAL_WATCHDOG:
		return "Xen's NMI watchdog runs on a processor whose counter the agent does not "
		       "know";
	case XF_REFUSAL_NO_LEASE:
		return "another program has changed Xen's trace settings meanwhile";
	default:
		return "for a reason that this version does not know";
	}
}

static int await_hello(struct xf_session *session, struct xf_error *error)
{
	int64_t deadline = now_ms() + HELLO_TIMEOUT_MS;
	int result = 0;

	while (!result && !session->hello && !session->refusal && now_ms() < deadline) {
		if (*session->interrupted)
			return xf_fail(error, -EINTR, "interrupted");
		usleep(POLL_MS * 1000);
		result = renew(session, error);
		if (!result)
			result = read_buffers(session, error);
	}
	if (result)
		return result;
	if (session->refusal)
		return xf_fail(error, -EOPNOTSUPP, "the agent refuses to start: %s",
		               refusal_text(session->refusal));
	if (!session->hello)
		return xf_fail(error, -ETIMEDOUT,
		               "the agent has been applied but does not answer; `xl dmesg` may say "
		               "why");
	return 0;
}

static const struct step {
	const char *name;
	int (*take)(struct xf_session *session, struct xf_error *error);
	int (*undo)(struct xf_session *session, struct xf_error *error);
} steps[] = {
        {"looking for an agent left behind", remove_leftover, NULL},
        {"writing the agent's live patch", write_payload, NULL},
        {"mapping the trace buffers", open_buffers, close_buffers},
        {"switching tracing on", enable_tracing, NULL},
        {"uploading the agent", upload, unload},
        {"applying the agent", apply, revert},
        {"waiting for the agent", await_hello, NULL},
};
#define NR_STEPS (sizeof(steps) / sizeof(steps[0]))

static void tell(const struct xf_session *session, const char *what)
{
	if (session->progress)
		session->progress(session->context, what);
}

int xf_session_end(struct xf_session *session, struct xf_error *error)
{
	int result = 0;

	if (!session)
		return 0;
	while (session->steps > 0) {
		const struct step *step = &steps[--session->steps];
		struct xf_error failure = {0};

		if (!step->undo)
			continue;
		tell(session, step->undo == revert   ? "reverting the agent"
		              : step->undo == unload ? "unloading the agent"
		                                     : "switching tracing off");
		if (step->undo(session, &failure) != 0 && !result) {
			result = failure.code;
			xf_fail(error, result,
			        "%s. The agent is quiet but still there; `xenflame detach` removes "
			        "it once that is out of the way",
			        failure.text);
		}
	}
	free(session->payload);
	free(session->books);
	free(session);
	return result;
}

static int take_steps(struct xf_session *session, struct xf_error *error)
{
	while (session->steps < NR_STEPS && !*session->interrupted) {
		const struct step *step = &steps[session->steps];
		int result;

		tell(session, step->name);
		result = step->take(session, error);
		/* An action that failed half-way is undone like one that did not. */
		if (!result || step->take == apply)
			session->steps++;
		if (result)
			return result;
	}
	/* Also where the agent's first word came first: nothing has been recorded yet. */
	return *session->interrupted ? xf_fail(error, -EINTR, "interrupted") : 0;
}

int xf_session_start(struct xf_host *host, unsigned int frequency,
                     const struct xf_session_sink *sink, xf_session_progress_t *progress,
                     void *context, const volatile sig_atomic_t *interrupted,
                     struct xf_session **session, struct xf_error *error)
{
	struct xf_session *started = calloc(1, sizeof(*started));
	struct xf_error left = {0};
	int result;

	if (!started)
		return xf_fail(error, -ENOMEM, "out of memory");
	started->host = host;
	started->sink = *sink;
	started->progress = progress;
	started->context = context;
	started->interrupted = interrupted;
	started->nr_pcpus = host->machine.max_pcpu + 1;
	started->books = calloc(started->nr_pcpus, sizeof(*started->books));
	host->config.frequency = frequency;
	result = started->books ? take_steps(started, error)
	                        : xf_fail(error, -ENOMEM, "out of memory");
	if (result) {
		if (xf_session_end(started, &left) != 0)
			xf_fail_suffix(error, ". On the way back: %s", left.text);
		return result;
	}
	started->checked = now_ms();
	*session = started;
	return 0;
}

/* Once a second: are we still applied? */
static int check_applied(struct xf_session *session, struct xf_error *error)
{
	enum xf_livepatch_state state;
	int result;

	if (now_ms() - session->checked < 1000)
		return 0;
	session->checked = now_ms();
	result = xf_xen_livepatch_state(session->host->xen, XF_AGENT_NAME, &state, error);
	if (!result && state != XF_LIVEPATCH_APPLIED)
		result =
		        xf_fail(error, -ECANCELED,
		                "the agent has been taken out by somebody else: another live patch "
		                "replaced it, or it was reverted by hand");
	return result;
}

/* Return: the next pCPU from @pcpu on whose books are open; the number of pCPUs where there is
 * none. */
static unsigned int next_open(const struct xf_session *session, unsigned int pcpu)
{
	/* A pCPU that came online after Xen allocated its trace buffers has none to report in. */
	while (pcpu < session->nr_pcpus &&
	       (session->books[pcpu].closed || !xf_tracebuffers_has(session->buffers, pcpu)))
		pcpu++;
	return pcpu;
}

bool xf_session_is_quiet(const struct xf_session *session)
{
	return next_open(session, 0) == session->nr_pcpus;
}

static int fail_open(const struct xf_session *session, struct xf_error *error)
{
	char list[64] = "";
	size_t length = 0;
	unsigned int pcpu;

	for (pcpu = next_open(session, 0); pcpu < session->nr_pcpus && length + 16 < sizeof(list);
	     pcpu = next_open(session, pcpu + 1))
		length += (size_t)snprintf(list + length, sizeof(list) - length, " %u", pcpu);
	return xf_fail(
	        error, -ETIMEDOUT,
	        "these pCPUs did not close their books within %u s, their counts are as last "
	        "heard:%s%s. One that was taken offline and back has no trace buffer until "
	        "the next boot",
	        CLOSING_TIMEOUT_MS / 1000, list, pcpu < session->nr_pcpus ? " ..." : "");
}

int xf_session_poll(struct xf_session *session, struct xf_error *error)
{
	int result = renew(session, error);

	if (!result)
		result = read_buffers(session, error);
	if (!result)
		result = check_applied(session, error);
	if (!result && xf_session_is_quiet(session))
		result = xf_fail(error, -ECANCELED,
		                 "the agent stopped by itself: this program was held up for longer "
		                 "than its lease, or another one changed Xen's trace settings");
	return result;
}

int xf_session_stop(struct xf_session *session, struct xf_error *error)
{
	int64_t deadline = now_ms() + CLOSING_TIMEOUT_MS;
	int result = xf_tracebuffers_renew(session->buffers, choose_mask(session) | XF_LEASE_STOP,
	                                   error);

	tell(session, "stopping the agent");
	while (!result && !xf_session_is_quiet(session) && now_ms() < deadline) {
		usleep(POLL_MS * 1000);
		result = read_buffers(session, error);
	}
	if (!result && !xf_session_is_quiet(session))
		result = fail_open(session, error);
	return result;
}

int xf_session_listen(struct xf_session *session, struct xf_error *error)
{
	return read_buffers(session, error);
}

int xf_session_statistics(const struct xf_session *session, unsigned int pcpu,
                          struct xf_pcpu_statistics *statistics)
{
	const struct xf_stream *stream = xf_tracebuffers_stream(session->buffers, pcpu);
	const struct books *books;

	memset(statistics, 0, sizeof(*statistics));
	if (pcpu >= session->nr_pcpus || !stream)
		return -ENOENT;
	books = &session->books[pcpu];
	statistics->pcpu = pcpu;
	statistics->flags = books->closed ? XF_STATISTICS_CLOSED : 0;
	statistics->produced = books->kicks;
	statistics->taken = books->taken;
	statistics->lost_slot = books->lost_slot;
	statistics->lost_nmi = books->lost_nmi;
	statistics->delivered = stream->delivered;
	/* Between two reports more has been delivered than the books tell of. */
	if (books->taken > stream->delivered && books->closed)
		statistics->lost_trace = books->taken - stream->delivered;
	statistics->idle = books->idle;
	return 0;
}

uint64_t xf_session_skipped(const struct xf_session *session, unsigned int pcpu)
{
	return pcpu < session->nr_pcpus ? session->books[pcpu].skipped : 0;
}

void xf_session_agent_text(const struct xf_session *session, uint64_t *address, uint64_t *size)
{
	*address = session->text_address;
	*size = session->text_size;
}
