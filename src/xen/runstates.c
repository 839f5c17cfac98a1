// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events: Xen's public trace.h; their content: trace_runstate_change and trace_continue_running in
 * xen/common/sched/core.c, the same bytes in 4.14 to 4.22.
 */
#include "xen/runstates.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

#define EVENT_CHANGE        0x00021001u /* | state before << 8 | state after << 4 */
#define CHANGE_MASK         0x0ffffccfu
#define STATE_BEFORE(event) ((event) >> 8 & 3)
#define STATE_AFTER(event)  ((event) >> 4 & 3)
#define EVENT_CONTINUE      0x00021002u
#define CONTENT_BYTES       4u
#define DOMAINS             0x8000u

/* One record, waiting for those that may still come from before it. */
struct change {
	uint64_t tsc;
	uint64_t order; /* in which they came, where the time is the same */
	uint16_t domid;
	uint16_t vcpu;
	uint8_t before;
	uint8_t after;
};

struct vcpu {
	bool seen;  /* there is anything to say of it */
	bool known; /* @state is what it is in since @since */
	bool told;  /* @state is what somebody else has said since then */
	uint8_t state;
	uint64_t since; /* what is before is in a span, or unknown for ever */
	uint64_t from;  /* of the span that is being made; @since is its end */
	uint64_t ticks[XF_RUNSTATES];
};

struct domain {
	struct vcpu *vcpus; /* by their number */
	size_t nr;
};

/* A turn: of what came before it nothing is missing any more once the next one has been taken. */
struct turn {
	uint64_t tsc;
	bool gap;
};

struct xf_runstates {
	struct domain *domains; /* by domid */
	uint64_t span_ticks;
	uint64_t known_from; /* nothing is known of what is before */
	struct turn last, before_last;
	struct change *changes;
	size_t nr_changes, allocated_changes;
	struct xf_runstate_span *spans;
	size_t nr_spans, allocated_spans;
	struct xf_runstates_books books;
};

struct xf_runstates *xf_runstates_new(uint64_t span_ticks)
{
	struct xf_runstates *states = calloc(1, sizeof(*states));

	if (!states)
		return NULL;
	states->domains = calloc(DOMAINS, sizeof(*states->domains));
	if (!states->domains) {
		free(states);
		return NULL;
	}
	states->span_ticks = span_ticks;
	return states;
}

void xf_runstates_begin(struct xf_runstates *states, uint64_t tsc)
{
	states->known_from = tsc;
	states->last.tsc = states->before_last.tsc = tsc;
}

void xf_runstates_free(struct xf_runstates *states)
{
	if (!states)
		return;
	for (size_t domid = 0; domid < DOMAINS; domid++)
		free(states->domains[domid].vcpus);
	free(states->domains);
	free(states->changes);
	free(states->spans);
	free(states);
}

/* ---- A vCPU ---------------------------------------------------------------------------------- */

/* Return: NULL without memory, or where no domain can have that number. */
static struct vcpu *vcpu_of(struct xf_runstates *states, uint16_t domid, uint16_t vcpu)
{
	struct domain *domain = &states->domains[domid % DOMAINS];

	if (domid >= DOMAINS)
		return NULL;
	if (vcpu >= domain->nr) {
		struct vcpu *grown = reallocarray(domain->vcpus, vcpu + 1u, sizeof(*grown));

		if (!grown) {
			states->books.failed = true;
			return NULL;
		}
		memset(grown + domain->nr, 0, (vcpu + 1u - domain->nr) * sizeof(*grown));
		domain->vcpus = grown;
		domain->nr = vcpu + 1u;
	}
	if (!domain->vcpus[vcpu].seen)
		domain->vcpus[vcpu] = (struct vcpu){
		        .seen = true, .since = states->known_from, .from = states->known_from};
	return &domain->vcpus[vcpu];
}

/* Finishes the span that is being made, and begins the next one where it ends. */
static void finish_span(struct xf_runstates *states, struct vcpu *vcpu, uint16_t domid,
                        uint16_t number)
{
	struct xf_runstate_span span = {
	        .domid = domid, .vcpu = number, .from = vcpu->from, .to = vcpu->since};

	memcpy(span.ticks, vcpu->ticks, sizeof(span.ticks));
	if (vcpu->since > vcpu->from) {
		if (xf_make_room(&states->spans, states->nr_spans, &states->allocated_spans,
		                 sizeof(span)))
			states->spans[states->nr_spans++] = span;
		else
			states->books.failed = true;
	}
	memset(vcpu->ticks, 0, sizeof(vcpu->ticks));
	vcpu->from = vcpu->since;
}

/* It was in @state from where we are to @tsc. What is long stands in a span of its own. */
static void pass(struct xf_runstates *states, struct vcpu *vcpu, uint16_t domid, uint16_t number,
                 uint8_t state, uint64_t tsc)
{
	uint64_t ticks = tsc - vcpu->since;

	if (ticks >= states->span_ticks)
		finish_span(states, vcpu, domid, number);
	vcpu->ticks[state] += ticks;
	vcpu->since = tsc;
	if (tsc - vcpu->from >= states->span_ticks)
		finish_span(states, vcpu, domid, number);
}

/* What it was from where we are to @tsc will never be known. */
static void leave_out(struct xf_runstates *states, struct vcpu *vcpu, uint16_t domid,
                      uint16_t number, uint64_t tsc)
{
	finish_span(states, vcpu, domid, number);
	if (tsc > vcpu->since)
		vcpu->since = vcpu->from = tsc;
}

static void apply(struct xf_runstates *states, const struct change *change)
{
	struct vcpu *vcpu = vcpu_of(states, change->domid, change->vcpu);
	uint64_t tsc = change->tsc;

	if (!vcpu)
		return;
	/* Two pCPUs' counters may differ a little. */
	if (tsc < vcpu->since)
		tsc = vcpu->since;
	if (vcpu->known && vcpu->state != change->before) {
		states->books.broken++;
		leave_out(states, vcpu, change->domid, change->vcpu, tsc);
	} else {
		pass(states, vcpu, change->domid, change->vcpu, change->before, tsc);
	}
	vcpu->known = true;
	vcpu->state = change->after;
}

/* ---- All of them ----------------------------------------------------------------------------- */

/* Calls @act for each vCPU that there is anything to say of. */
static void for_all(struct xf_runstates *states, uint64_t tsc,
                    void (*act)(struct xf_runstates *states, struct vcpu *vcpu, uint16_t domid,
                                uint16_t number, uint64_t tsc))
{
	for (size_t domid = 0; domid < DOMAINS; domid++) {
		struct domain *domain = &states->domains[domid];

		for (size_t i = 0; i < domain->nr; i++)
			if (domain->vcpus[i].seen)
				act(states, &domain->vcpus[i], (uint16_t)domid, (uint16_t)i, tsc);
	}
}

/* Up to @tsc it stays as it is known to be; what it is from then on is no longer known. */
static void close_vcpu(struct xf_runstates *states, struct vcpu *vcpu, uint16_t domid,
                       uint16_t number, uint64_t tsc)
{
	if (vcpu->known && tsc > vcpu->since)
		pass(states, vcpu, domid, number, vcpu->state, tsc);
	finish_span(states, vcpu, domid, number);
	vcpu->known = vcpu->told = false;
}

/* No record of it has come: it has always been as it was said to be. */
static void believe(struct xf_runstates *states, struct vcpu *vcpu, uint16_t domid, uint16_t number,
                    uint64_t tsc)
{
	vcpu->known = vcpu->known || vcpu->told;
	close_vcpu(states, vcpu, domid, number, tsc);
}

static int compare_changes(const void *left, const void *right)
{
	const struct change *a = left;
	const struct change *b = right;

	if (a->tsc != b->tsc)
		return a->tsc < b->tsc ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Takes the records of before @tsc out of those that wait, in order; unless they are of a gap they
 * count. */
static void settle(struct xf_runstates *states, uint64_t tsc, bool gap)
{
	size_t nr = 0;

	if (states->nr_changes)
		qsort(states->changes, states->nr_changes, sizeof(*states->changes),
		      compare_changes);
	for (; nr < states->nr_changes && states->changes[nr].tsc < tsc; nr++)
		if (!gap)
			apply(states, &states->changes[nr]);
	if (nr)
		memmove(states->changes, states->changes + nr,
		        (states->nr_changes - nr) * sizeof(*states->changes));
	states->nr_changes -= nr;
}

/*
 * What Xen has lost it may say later, but then the buffer was full at the read before: a gap is
 * over when the turn after it has none either.
 */
void xf_runstates_turn(struct xf_runstates *states, uint64_t tsc, bool gap)
{
	bool in_gap = states->last.gap || states->before_last.gap;

	states->books.gaps += gap;
	if (in_gap) {
		for_all(states, states->before_last.tsc, close_vcpu);
		settle(states, states->last.tsc, true);
		for_all(states, states->last.tsc, leave_out);
		states->known_from = states->last.tsc;
	} else {
		settle(states, states->last.tsc, false);
	}
	states->before_last = states->last;
	states->last = (struct turn){.tsc = tsc, .gap = gap};
}

void xf_runstates_end(struct xf_runstates *states)
{
	uint64_t tsc = states->last.tsc;

	xf_runstates_turn(states, tsc, false);
	for_all(states, tsc, believe);
}

void xf_runstates_tell(struct xf_runstates *states, uint16_t domid, uint16_t vcpu,
                       enum xf_runstate state)
{
	struct vcpu *told = vcpu_of(states, domid, vcpu);

	if (!told || told->known)
		return;
	told->told = true;
	told->state = (uint8_t)state;
}

/* ---- Records --------------------------------------------------------------------------------- */

static bool is_change(uint32_t event, struct change *change)
{
	if ((event & CHANGE_MASK) == EVENT_CHANGE) {
		change->before = STATE_BEFORE(event);
		change->after = STATE_AFTER(event);
		return true;
	}
	/* The scheduler was asked and has stayed with who ran. */
	change->before = change->after = XF_RUNSTATE_RUNNING;
	return event == EVENT_CONTINUE;
}

void xf_runstates_take(struct xf_runstates *states, uint32_t event, uint64_t tsc,
                       const uint8_t *bytes, size_t size)
{
	struct change change = {.tsc = tsc, .order = states->books.records};

	if (!is_change(event, &change) || !tsc || size != CONTENT_BYTES)
		return;
	states->books.records++;
	memcpy(&change.vcpu, bytes, sizeof(change.vcpu));
	memcpy(&change.domid, bytes + 2, sizeof(change.domid));
	if (xf_make_room(&states->changes, states->nr_changes, &states->allocated_changes,
	                 sizeof(change)))
		states->changes[states->nr_changes++] = change;
	else
		states->books.failed = true;
}

size_t xf_runstates_spans(const struct xf_runstates *states, const struct xf_runstate_span **spans)
{
	*spans = states->spans;
	return states->nr_spans;
}

void xf_runstates_forget(struct xf_runstates *states)
{
	states->nr_spans = 0;
}

struct xf_runstates_books xf_runstates_books(const struct xf_runstates *states)
{
	return states->books;
}
