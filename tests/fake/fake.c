// SPDX-License-Identifier: GPL-2.0-or-later
/* The event loop, softirqs, tracing, live patching, and the agent's machine. */
#include "fake.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "variables.h"

#define MAX_EVENTS  4096u
#define MAX_NESTING 6u

struct fake_xen fake;
struct fake_pcpu fake_pcpus[FAKE_MAX_PCPUS];
static struct fake_counts no_counts;

/* The marks that the linker script sets around the agent's text. */
__asm__(".pushsection .rodata\n"
        ".globl xf_text_start, xf_text_end\n"
        ".hidden xf_text_start, xf_text_end\n"
        "xf_text_start: .skip 64\n"
        "xf_text_end: .byte 0\n"
        ".popsection\n");

static struct {
	int64_t time;
	void (*function)(void *context);
	void *context;
} events[MAX_EVENTS];
static unsigned int nr_events;

void fake_fail(const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "fake Xen: seed %llu, time %lld ns: ", (unsigned long long)fake.seed,
	        (long long)fake.now);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\n");
	abort();
}

uint64_t fake_random(void)
{
	if (!fake.seed)
		return 0;
	fake.random += 0x9e3779b97f4a7c15ull; /* splitmix64 */
	uint64_t value = fake.random;
	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
	return value ^ (value >> 31);
}

int64_t fake_between(int64_t low, int64_t high)
{
	return low + (int64_t)(fake_random() % (uint64_t)(high - low + 1));
}

/* Machine. */

uint64_t xf_machine_stack_pointer(void)
{
	const struct fake_pcpu *self = fake.self;

	if (!self)
		fake_fail("agent code runs outside of any pCPU");
	if (!self->in_nmi)
		return (uint64_t)self->stack + 0x7c00;
	/* AMD with an HVM vCPU loaded: no IST for the NMI. */
	return (uint64_t)self->stack + (self->life == FAKE_SVM_GUEST ? 0x7a00 : 0x2f40);
}

uint64_t xf_machine_entry_stack_pointer(void)
{
	struct fake_pcpu *self = fake_caller("the agent");

	return (uint64_t)self->stack + FAKE_FRAME - FAKE_SOFTIRQ_DEPTH - fake.deeper;
}

void fake_call_softirqs_deeper(uint32_t bytes)
{
	fake.deeper = bytes;
}

uint64_t xf_machine_tsc(void)
{
	return fake.tsc ? fake.tsc : (uint64_t)fake.now;
}

uint64_t xf_machine_cr3(void)
{
	if (fake.self->in_nmi)
		fake_fail("CR3 is read in an NMI, before a vCPU switch could be known");
	return fake.self->cr3;
}

uint64_t xf_machine_msr(uint32_t number)
{
	if (number == XEN_MSR_GS_BASE || number == XEN_MSR_SHADOW_GS_BASE)
		return fake_guest_gs(number == XEN_MSR_SHADOW_GS_BASE);
	if (number != fake.watchdog_msr)
		fake_fail("MSR %#x is read, which this processor may not have", number);
	return fake.watchdog_counter;
}

void fake_set_watchdog(uint32_t msr, uint64_t counter)
{
	fake.watchdog_msr = msr;
	fake.watchdog_counter = counter;
	fake_variables_set_watchdog(msr);
}

void fake_set_tsc(uint64_t tsc)
{
	fake.tsc = tsc;
}

void fake_set_cr3(unsigned int cpu, uint64_t cr3)
{
	fake_pcpus[cpu].cr3 = cr3;
}

void fake_enter(unsigned int cpu)
{
	if (fake.self)
		fake_fail("two pCPUs at once: a bug of the test");
	fake.self = &fake_pcpus[cpu];
	fake.self->depth++;
}

void fake_leave(void)
{
	fake.self->depth--;
	fake.self = NULL;
}

/* Lives. */

/* What others can see of the pCPU: its current vCPU, and whether its stack ends in the idle call.
 */
void fake_life_show(unsigned int cpu)
{
	const struct fake_pcpu *pcpu = &fake_pcpus[cpu];
	bool halted = pcpu->life == FAKE_IDLE && !pcpu->depth;
	uint32_t slot = FAKE_FRAME - FAKE_IDLE_SLOT - (cpu % 2 ? 8 : 0);

	if (pcpu->life != FAKE_IDLE && pcpu->life != FAKE_IDLE_WORK)
		return;
	fake_memory_write(cpu, FAKE_FRAME - FAKE_IDLE_SLOT, 0x1111);
	fake_memory_write(cpu, FAKE_FRAME - FAKE_IDLE_SLOT - 8, 0x2222);
	if (halted)
		fake_memory_write(cpu, slot, FAKE_IDLE_RETURN);
}

void fake_set_life(unsigned int cpu, enum fake_life life)
{
	struct fake_pcpu *pcpu = &fake_pcpus[cpu];

	if (!pcpu->online || pcpu->depth)
		fake_fail("a life for a pCPU that has none: a bug of the test");
	pcpu->life = life;
	if (life == FAKE_IDLE || life == FAKE_IDLE_WORK)
		fake_set_current(cpu, fake_vcpu(FAKE_IDLE_DOMID, cpu));
	else if (!pcpu->current || pcpu->current == fake_vcpu(FAKE_IDLE_DOMID, cpu))
		fake_set_current(cpu, fake_vcpu(1, cpu));
	fake_life_show(cpu);
	fake_run_softirqs(cpu);
}

enum fake_life fake_life_of(unsigned int cpu)
{
	return fake_pcpus[cpu].life;
}

void fake_set_online(unsigned int cpu, bool online)
{
	struct fake_pcpu *pcpu = &fake_pcpus[cpu];

	if (pcpu->online == online)
		return;
	if (fake.nesting || pcpu->depth || !cpu)
		fake_fail("this pCPU cannot go off line now: a bug of the test");
	if (online) {
		fake_memory_set_online(cpu, true);
		pcpu->online = true;
		fake_set_life(cpu, FAKE_IDLE);
		return;
	}
	fake_set_life(cpu, FAKE_IDLE);
	pcpu->online = false;
	fake_memory_set_online(cpu, false);
	pcpu->nmi_arrives = FAKE_NEVER;
	pcpu->nmi_ours = pcpu->nmi_foreign = false;
	fake_timers_leave(cpu);
}

/* Softirqs. */

xen_softirq_handler_t *xen_softirq_handlers[16];

void xen_timer_softirq_action(void)
{
	fake_timers_run(fake_number(fake.self));
}

void raise_softirq(unsigned int number)
{
	if (!fake.self || number != FAKE_TIMER_SOFTIRQ)
		fake_fail("softirq %u is raised", number);
	fake.self->softirqs |= 1u << number;
}

void open_softirq(int number, xen_softirq_handler_t *handler)
{
	fake_caller("open_softirq");
	if (number != (int)FAKE_TIMER_SOFTIRQ)
		fake_fail("the handler of softirq %d is changed", number);
	fake_pause(0);
	xen_softirq_handlers[number] = handler;
	fake_pause(0);
}

bool fake_softirq_is_xens(void)
{
	return xen_softirq_handlers[FAKE_TIMER_SOFTIRQ] == xen_timer_softirq_action;
}

static bool may_run_softirqs(const struct fake_pcpu *pcpu)
{
	return pcpu->online && !pcpu->depth && !pcpu->in_nmi && pcpu->life != FAKE_HYPERCALL &&
	       pcpu->life != FAKE_SYSCALL;
}

void fake_run_softirqs(unsigned int cpu)
{
	struct fake_pcpu *pcpu = &fake_pcpus[cpu];
	struct fake_pcpu *before = fake.self;

	if (!may_run_softirqs(pcpu) || !pcpu->softirqs)
		return;
	fake.self = pcpu;
	pcpu->depth++;
	fake_life_show(cpu);
	while (pcpu->softirqs) {
		unsigned int number = (unsigned int)__builtin_ctz(pcpu->softirqs);

		pcpu->softirqs &= ~(1u << number);
		xen_softirq_handlers[number]();
		fake.self = pcpu;
	}
	pcpu->depth--;
	fake_life_show(cpu);
	fake.self = before;
}

/* The event loop. */

int64_t fake_now(void)
{
	return fake.now;
}

int64_t get_s_time(void)
{
	fake_caller("get_s_time");
	fake.now += (int64_t)(fake_random() % 200);
	fake_pause(0);
	return fake.now;
}

void fake_at(int64_t time, void (*function)(void *context), void *context)
{
	if (nr_events == MAX_EVENTS)
		fake_fail("too many events");
	events[nr_events].time = time;
	events[nr_events].function = function;
	events[nr_events++].context = context;
}

enum kind {
	NOTHING,
	TIMER,
	NMI,
	CALL,
};

struct choice {
	enum kind kind;
	int64_t time;
	unsigned int index;
	unsigned int ties;
};

static void offer(struct choice *choice, enum kind kind, int64_t time, unsigned int index)
{
	if (time == FAKE_NEVER)
		return;
	if (time < fake.now)
		time = fake.now;
	if (choice->kind != NOTHING && time > choice->time)
		return;
	choice->ties = choice->kind != NOTHING && time == choice->time ? choice->ties + 1 : 1;
	if (choice->ties > 1 && fake_random() % choice->ties != 0)
		return;
	choice->kind = kind;
	choice->time = time;
	choice->index = index;
}

static struct choice next_event(void)
{
	struct choice choice = {.kind = NOTHING, .time = FAKE_NEVER};
	unsigned int i;

	for (i = 0; i < fake.nr; i++) {
		if (may_run_softirqs(&fake_pcpus[i]))
			offer(&choice, TIMER, fake_timer_next(i), i);
		if (fake_pcpus[i].online && !fake_pcpus[i].in_nmi)
			offer(&choice, NMI, fake_pcpus[i].nmi_arrives, i);
	}
	/* What the test has planned waits until nothing is half done. */
	for (i = 0; i < nr_events && !fake.nesting; i++)
		offer(&choice, CALL, events[i].time, i);
	return choice;
}

static void call(unsigned int index)
{
	void (*function)(void *) = events[index].function;
	void *context = events[index].context;

	events[index] = events[--nr_events];
	function(context);
}

bool fake_step(int64_t limit)
{
	struct choice choice = next_event();

	if (choice.kind == NOTHING || choice.time >= limit)
		return false;
	fake.now = choice.time;
	switch (choice.kind) {
	case TIMER:
		fake_pcpus[choice.index].softirqs |= 1u << FAKE_TIMER_SOFTIRQ;
		fake_run_softirqs(choice.index);
		break;
	case NMI:
		fake_nmi_arrive(choice.index);
		break;
	default:
		call(choice.index);
	}
	return true;
}

void fake_run_until(int64_t time)
{
	while (fake_step(time))
		;
	if (fake.now < time)
		fake.now = time;
}

static bool happens(unsigned int of_65536)
{
	return of_65536 && fake_random() % 65536 < of_65536;
}

static void let_others_run(int64_t duration)
{
	struct fake_pcpu *self = fake.self;

	fake.nesting++;
	fake_run_until(fake.now + duration);
	fake.nesting--;
	fake.self = self;
}

uint64_t fake_pause(uint64_t value)
{
	struct fake_pcpu *self = fake.self;

	if (!self || fake.nesting >= MAX_NESTING)
		return value;
	if (!self->in_nmi && self->depth && self->nmi_arrives != FAKE_NEVER &&
	    happens(fake.pauses.nmi))
		fake_nmi_arrive(fake_number(self));
	if (happens(fake.pauses.others))
		let_others_run(fake_between(0, 20000));
	if (happens(fake.pauses.long_ago))
		let_others_run(fake_between(0, 30 * FAKE_MS));
	return value;
}

void fake_set_pauses(const struct fake_pauses *pauses)
{
	fake.pauses = *pauses;
}

const struct fake_counts *fake_counts(unsigned int cpu)
{
	return cpu < fake.nr ? &fake_pcpus[cpu].counts : &no_counts;
}

/* Tracing: Xen's common/trace.c. */

static bool passes_filter(uint32_t event)
{
	uint32_t mask = fake.event_mask;

	return (mask & event) && ((mask >> 16) & (event >> 16) & 0xfff) &&
	       ((mask >> 12) & (event >> 12) & 0xf);
}

static void append(struct fake_pcpu *pcpu, uint32_t event, bool cycles, size_t bytes,
                   const void *data)
{
	uint32_t head = (event & 0x0fffffff) | (uint32_t)(bytes / 4) << 28 | (uint32_t)cycles << 31;
	uint64_t tsc = xf_machine_tsc();

	if (pcpu->trace_bytes + 64 > pcpu->trace_space) {
		pcpu->trace_space = pcpu->trace_space ? 2 * pcpu->trace_space : FAKE_TRACE_BYTES;
		pcpu->trace = realloc(pcpu->trace, pcpu->trace_space);
		if (!pcpu->trace)
			fake_fail("no memory");
	}
	memcpy(pcpu->trace + pcpu->trace_bytes, &head, 4);
	pcpu->trace_bytes += 4;
	if (cycles) {
		memcpy(pcpu->trace + pcpu->trace_bytes, &tsc, 8);
		pcpu->trace_bytes += 8;
	}
	memcpy(pcpu->trace + pcpu->trace_bytes, data, bytes);
	pcpu->trace_bytes += bytes;
}

static void record(const char *function, uint32_t event, bool cycles, unsigned int bytes,
                   const void *data)
{
	struct fake_pcpu *self = fake_caller(function);
	size_t needed = 4 + (cycles ? 8 : 0) + bytes + (self->trace_lost ? 28 : 0);
	uint32_t lost[4] = {self->trace_lost, 0, 0, 0};

	if (bytes % 4 || bytes > 28)
		fake_fail("a trace record of %u bytes", bytes);
	if (!passes_filter(event))
		return;
	fake_pause(0);
	if (fake.trace_limit && self->trace_bytes + needed > fake.trace_limit) {
		self->trace_lost++;
		return;
	}
	if (self->trace_lost)
		append(self, 0x0001f001, true, 16, lost);
	self->trace_lost = 0;
	if (fake_random() % 64 == 63)
		append(self, 0x0001f002, fake_random() % 2, 4 * (fake_random() % 4), lost);
	append(self, event, cycles, bytes, data);
	fake_pause(0);
}

void xen_trace(uint32_t event, unsigned int bytes, const void *data)
{
	if (xf_config.trace_takes_cycles)
		fake_fail("the wrong one of Xen's two trace functions is called");
	record("xen_trace", event & ~XEN_TRACE_CYCLES, event & XEN_TRACE_CYCLES, bytes, data);
}

void xen_trace_cycles(uint32_t event, _Bool cycles, unsigned int bytes, const void *data)
{
	if (!xf_config.trace_takes_cycles)
		fake_fail("the wrong one of Xen's two trace functions is called");
	record("xen_trace_cycles", event, cycles, bytes, data);
}

void fake_set_event_mask(uint32_t mask)
{
	fake.event_mask = mask;
	fake_variables_set_event_mask(mask);
}

void fake_set_trace_limit(size_t bytes)
{
	fake.trace_limit = bytes;
}

const uint8_t *fake_take_trace(unsigned int cpu, size_t *size)
{
	*size = fake_pcpus[cpu].trace_bytes;
	fake_pcpus[cpu].trace_bytes = 0;
	return fake_pcpus[cpu].trace;
}

/* Live patching: Xen's common/livepatch.c and arch/x86/livepatch.c. */

extern void (*const xf_hook_load)(void) __attribute__((visibility("hidden")));
extern void (*const xf_hook_unload)(void) __attribute__((visibility("hidden")));

static int mask_nmi(const struct xen_cpu_user_regs *regs, int cpu)
{
	(void)regs;
	fake_pcpus[cpu].counts.nmis_masked++;
	return 1;
}

/* All pCPUs are held, and NMIs swallowed, while one of them runs the hook. */
static void rendezvous(void (*hook)(void))
{
	struct fake_pauses none = {0}, pauses = fake.pauses;
	unsigned int cpu;

	if (fake.nesting || fake.self)
		fake_fail("a live patch action in the middle of something: a bug of the test");
	fake_set_pauses(&none);
	xen_saved_nmi_callback = fake_take_nmi_slot(mask_nmi);
	for (cpu = 0; cpu < fake.nr; cpu++) {
		fake_pcpus[cpu].depth++;
		if (fake_pcpus[cpu].nmi_arrives != FAKE_NEVER)
			fake_nmi_arrive(cpu);
	}
	fake.self = &fake_pcpus[0];
	hook();
	fake.self = NULL;
	for (cpu = 0; cpu < fake.nr; cpu++)
		fake_pcpus[cpu].depth--;
	fake_take_nmi_slot(xen_saved_nmi_callback);
	fake.now += FAKE_MS;
	fake_set_pauses(&pauses);
}

void fake_load(void)
{
	rendezvous(xf_hook_load);
}

void fake_unload(void)
{
	rendezvous(xf_hook_unload);
	fake.unloaded = true;
	if (xen_softirq_handlers[FAKE_TIMER_SOFTIRQ] == xf_timer_softirq)
		fake_fail("the softirq's handler is the agent's after it was unloaded");
	if (xen_nmi_callback == xf_capture_nmi)
		fake_fail("the NMI slot points to the agent after it was unloaded");
}

void fake_configure(unsigned int frequency)
{
	xf_config = (struct xf_agent_config){
	        .version = XF_FORMAT_VERSION,
	        .nr_pcpus = fake.nr,
	        .frequency = frequency,
	        .trace_takes_cycles = fake.seed & 1,
	        .seed = fake.seed * 0x9e3779b97f4a7c15ull | 1,
	        .frame_offset = FAKE_FRAME,
	        .processor_id_offset = FAKE_PROCESSOR_ID,
	        .current_vcpu_offset = FAKE_CURRENT_VCPU,
	        .vcpu_domain_offset = FAKE_VCPU_DOMAIN,
	        .text_start = FAKE_TEXT,
	        .text_end = FAKE_TEXT_END,
	        .livepatch_start = FAKE_LIVEPATCH,
	        .livepatch_end = FAKE_LIVEPATCH_END,
	        .after_stgi = FAKE_STGI,
	        .idle_return = FAKE_IDLE_RETURN,
	        .idle_slot = FAKE_IDLE_SLOT,
	        .vcpu_hvm_cr3_offset = FAKE_HVM_CR3,
	        .domain_options_offset = FAKE_OPTIONS,
	        .vcpu_flags_offset = FAKE_VCPU_FLAGS,
	        .guest_readers = XF_READS_PV | XF_READS_HVM | XF_READS_HVM_GS | XF_READS_PV_KERNEL,
	        .softirq_depth = FAKE_SOFTIRQ_DEPTH,
	        .softirq_returns = {FAKE_TEXT + 1, FAKE_SOFTIRQ_RETURN},
	};
}

void fake_start(unsigned int nr, uint64_t seed)
{
	unsigned int cpu;

	for (cpu = 0; cpu < FAKE_MAX_PCPUS; cpu++)
		free(fake_pcpus[cpu].trace);
	memset(&fake, 0, sizeof(fake));
	memset(fake_pcpus, 0, sizeof(fake_pcpus));
	memset(&xf_agent, 0, sizeof(xf_agent));
	memset(xf_masks, 0, sizeof(xf_masks));
	memset(xen_softirq_handlers, 0, sizeof(xen_softirq_handlers));
	xen_softirq_handlers[FAKE_TIMER_SOFTIRQ] = xen_timer_softirq_action;
	xen_nmi_callback = NULL;
	xen_saved_nmi_callback = NULL;
	nr_events = 0;
	fake.seed = fake.random = seed;
	fake.nr = nr;
	fake.now = 100 * FAKE_SECOND;
	fake_timers_start();
	fake_guest_forget();
	fake_memory_start(nr);
	for (cpu = 0; cpu < nr; cpu++) {
		fake_pcpus[cpu].online = true;
		fake_pcpus[cpu].nmi_arrives = FAKE_NEVER;
		fake_set_life(cpu, FAKE_IDLE);
	}
	fake_set_event_mask(XF_TRACE_MASK | 1);
	fake_configure(99);
}
