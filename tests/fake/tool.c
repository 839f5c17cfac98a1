// SPDX-License-Identifier: GPL-2.0-or-later
#include "tool.h"

#include <stdio.h>
#include <string.h>

#define RENEWAL (400 * FAKE_MS)

struct tool tool;

static void hear_sample(void *context, const struct xf_sample *sample,
                        const struct xf_sample_guest *guest)
{
	uint64_t gap = sample->tsc - tool.heard[sample->pcpu].tsc;

	(void)context, (void)guest;
	if (tool.heard[sample->pcpu].samples++) {
		if (gap < tool.heard[sample->pcpu].shortest)
			tool.heard[sample->pcpu].shortest = gap;
		if (gap > tool.heard[sample->pcpu].longest)
			tool.heard[sample->pcpu].longest = gap;
	}
	tool.heard[sample->pcpu].tsc = sample->tsc;
}

static void hear_control(void *context, enum xf_control kind, const uint32_t *words, size_t count)
{
	uint32_t pcpu = words[0] & ~XF_STATISTICS_FINAL;

	(void)context;
	assert_true(pcpu < tool.nr);
	switch (kind) {
	case XF_CONTROL_HELLO:
		assert_int_equal(count, 6);
		assert_int_equal(words[1], XF_FORMAT_VERSION);
		tool.hellos++;
		break;
	case XF_CONTROL_IDLE:
		tool.heard[pcpu].idle += words[1];
		break;
	case XF_CONTROL_STATISTICS:
		assert_int_equal(count, 7);
		if (!(words[0] & XF_STATISTICS_FINAL))
			break;
		tool.heard[pcpu].finals++;
		memcpy(tool.heard[pcpu].final, words, sizeof(tool.heard[pcpu].final));
		break;
	case XF_CONTROL_REFUSAL:
		tool.refusals++;
		tool.refusal = words[1];
		break;
	}
}

void tool_hear(void)
{
	struct xf_stream_sink sink = {.sample = hear_sample, .control = hear_control};
	unsigned int cpu;

	for (cpu = 0; cpu < tool.nr; cpu++) {
		size_t size;
		const uint8_t *bytes = fake_take_trace(cpu, &size);

		xf_stream_feed(&tool.heard[cpu].stream, bytes, size, &sink);
		assert_true(tool.lossy || !tool.heard[cpu].stream.broken);
		assert_int_equal(tool.heard[cpu].stream.damaged_bytes, 0);
	}
}

static void renew(void *context)
{
	if (!tool.renewing)
		return;
	tool_hear();
	tool.lease = tool.lease % XF_LEASE_MASK + 1;
	tool.renewed = fake_now();
	fake_set_event_mask(tool.mask | tool.lease);
	fake_at(fake_now() + RENEWAL, renew, context);
}

void tool_start(unsigned int pcpus, uint64_t seed, unsigned int frequency)
{
	unsigned int cpu;

	tool.nr = pcpus;
	memset(tool.heard, 0, sizeof(tool.heard));
	tool.hellos = tool.refusals = tool.refusal = 0;
	fake_start(pcpus, seed);
	fake_configure(frequency);
	for (cpu = 0; cpu < tool.nr; cpu++) {
		xf_stream_init(&tool.heard[cpu].stream, cpu);
		tool.heard[cpu].shortest = UINT64_MAX;
	}
	tool.mask = XF_TRACE_MASK;
	tool.lease = 0;
	tool.renewing = true;
	tool.lossy = false;
	renew(NULL);
}

void tool_run_for(int64_t duration)
{
	fake_run_until(fake_now() + duration);
	tool_hear();
}

void tool_set_lives(enum fake_life life)
{
	unsigned int cpu;

	for (cpu = 0; cpu < tool.nr; cpu++)
		fake_set_life(cpu, life);
}

void tool_request_stop(void)
{
	tool.renewing = false;
	fake_set_event_mask(tool.mask | XF_LEASE_STOP);
}

bool tool_sees_xen_as_before(void)
{
	return fake_nmi_slot() == NULL && fake_softirq_is_xens() && fake_timers_pending() == 0;
}

void tool_print_books(uint64_t seed)
{
	unsigned int cpu;

	for (cpu = 0; cpu < tool.nr; cpu++)
		print_error("seed %llu pCPU %u: state %u closed %u kicked %u; kicks %u taken %u "
		            "lost slot %u lost NMI %u idle %u skipped %u; heard: samples %llu, "
		            "finals %llu (kicks %u taken %u lost %u %u)\n",
		            (unsigned long long)seed, cpu, xf_agent.state, xf_pcpus[cpu].closed,
		            xf_pcpus[cpu].kicked, xf_pcpus[cpu].kicks, xf_pcpus[cpu].taken,
		            xf_pcpus[cpu].lost_slot, xf_pcpus[cpu].lost_nmi, xf_pcpus[cpu].idle,
		            xf_pcpus[cpu].skipped, (unsigned long long)tool.heard[cpu].samples,
		            (unsigned long long)tool.heard[cpu].finals, tool.heard[cpu].final[1],
		            tool.heard[cpu].final[2], tool.heard[cpu].final[3],
		            tool.heard[cpu].final[4]);
}

void tool_want_balanced_books(uint64_t seed)
{
	unsigned int cpu;

	for (cpu = 0; cpu < tool.nr; cpu++) {
		const uint32_t *final = tool.heard[cpu].final;

		WANT(tool.heard[cpu].finals == 1, seed);
		WANT(final[1] == final[2] + final[3] + final[4], seed);
		WANT(tool.heard[cpu].samples == final[2], seed);
		WANT(tool.heard[cpu].idle == final[5], seed);
		/* Nothing after the closing. */
		WANT(xf_pcpus[cpu].kicks == final[1] && xf_pcpus[cpu].taken == final[2], seed);
	}
}
