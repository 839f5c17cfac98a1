// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/record_schedule.h"

#include <errno.h>

#include "profile/profile.h"
#include "xen/vcpus.h"

#define SPANS_PER_SECOND 10u

int xf_record_schedule_start(struct xf_record_schedule *schedule, const struct xf_host *host)
{
	schedule->states = xf_runstates_new(host->machine.tsc_hz / SPANS_PER_SECOND);
	return schedule->states ? 0 : -ENOMEM;
}

void xf_record_schedule_saw(struct xf_record_schedule *schedule, const struct xf_sample *sample)
{
	uint16_t vcpu = (uint16_t)sample->vcpu;

	if (schedule->states)
		xf_runstates_tell(schedule->states, sample->domid, vcpu, XF_RUNSTATE_RUNNING);
	/* The pCPU's idle vCPU, which bears its number, has something to make way for. */
	if (schedule->states && sample->domid != XF_DOMID_IDLE)
		xf_runstates_tell(schedule->states, XF_DOMID_IDLE, sample->pcpu,
		                  XF_RUNSTATE_WAITING);
}

void xf_record_schedule_saw_idle(struct xf_record_schedule *schedule,
                                 const struct xf_idle_record *idle)
{
	if (schedule->states && idle->count)
		xf_runstates_tell(schedule->states, XF_DOMID_IDLE, (uint16_t)idle->pcpu,
		                  XF_RUNSTATE_RUNNING);
}

static void ask_domain(struct xf_record_schedule *schedule, struct xf_vcpus *vcpus, uint16_t domid)
{
	enum xf_runstate state;
	int result = 0;

	for (uint16_t vcpu = 0; !result || result == -EAGAIN; vcpu++) {
		result = xf_vcpus_state(vcpus, domid, vcpu, &state);
		/* One that has been offline all the time is not worth a line. */
		if (!result && state != XF_RUNSTATE_OFFLINE)
			xf_runstates_tell(schedule->states, domid, vcpu, state);
	}
}

void xf_record_schedule_ask(struct xf_record_schedule *schedule, struct xf_xen *xen,
                            const struct xf_domain *domains, size_t nr)
{
	struct xf_vcpus vcpus = {.xen = xen};

	for (size_t i = 0; schedule->states && i < nr; i++)
		ask_domain(schedule, &vcpus, domains[i].domid);
}

void xf_record_schedule_finish(struct xf_record_schedule *schedule)
{
	if (schedule->states)
		xf_runstates_end(schedule->states);
}

int xf_record_schedule_write(struct xf_record_schedule *schedule,
                             struct xf_recording_writer *writer)
{
	const struct xf_runstate_span *spans;
	size_t nr;
	int code;

	if (!schedule->states)
		return 0;
	if (xf_runstates_books(schedule->states).failed)
		return -ENOMEM;
	nr = xf_runstates_spans(schedule->states, &spans);
	code = xf_recording_write_runstates(writer, spans, nr);
	xf_runstates_forget(schedule->states);
	return code;
}

void xf_record_schedule_end(struct xf_record_schedule *schedule)
{
	xf_runstates_free(schedule->states);
	schedule->states = NULL;
}
