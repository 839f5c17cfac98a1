// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes a made-up recording to standard output: the input of the golden tests, the same bytes
 * each time. The hypervisor in it is made of real machine code, one small function per name, so
 * that the unwinder has something true to work on.
 *
 *	make_recording SCENARIO > FILE
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest_kernel.h"
#include "profile/recording.h"
#include "user_program.h"

#define TEXT          0xffff82d040200000ull
#define STACK_END     0xffff83007fe07fa8ull
#define FUNCTIONS_MAX 128
#define CALLEES_MAX   16
#define CODE_BYTES    128u /* of each function */
#define FRAME_BYTES   32u  /* of each function's stack, return address included */
#define TSC_HZ        2000000000ull
#define START         1000000ull /* of the recorder */
#define SAMPLING      (START + 4 * TSC_HZ)
#define SAMPLING_END  (SAMPLING + 30 * TSC_HZ)

/* ---- A hypervisor ---------------------------------------------------------------------------- */

struct function {
	const char *name;
	const char *callees[CALLEES_MAX];
	size_t nr_callees;
	bool entry; /* runs on the guest's frame, no frame of its own */
};

static struct function functions[FUNCTIONS_MAX];
static size_t nr_functions;

static struct function *function(const char *name)
{
	for (size_t i = 0; i < nr_functions; i++) {
		if (strcmp(functions[i].name, name) == 0)
			return &functions[i];
	}
	if (nr_functions == FUNCTIONS_MAX)
		abort();
	functions[nr_functions].name = name;
	return &functions[nr_functions++];
}

static uint64_t address_of(const struct function *f)
{
	return TEXT + (uint64_t)(f - functions) * CODE_BYTES;
}

static void add_call(struct function *caller, const char *callee)
{
	for (size_t i = 0; i < caller->nr_callees; i++) {
		if (strcmp(caller->callees[i], callee) == 0)
			return;
	}
	if (caller->nr_callees == CALLEES_MAX)
		abort();
	caller->callees[caller->nr_callees++] = callee;
}

/* entry: { call X }* jmp self
   others: push %rbx; sub $16,%rsp; { call X }* nop...; add $16,%rsp; pop %rbx; ret */
static const uint8_t prologue[] = {0x53, 0x48, 0x83, 0xec, 0x10};
static const uint8_t epilogue[] = {0x48, 0x83, 0xc4, 0x10, 0x5b, 0xc3};

static size_t body_offset(const struct function *f)
{
	return f->entry ? 0 : sizeof(prologue);
}

static void emit_function(const struct function *f, uint8_t *code)
{
	size_t at = body_offset(f);

	memset(code, 0xcc, CODE_BYTES);
	memcpy(code, prologue, at);
	for (size_t i = 0; i < f->nr_callees; i++) {
		int32_t relative =
		        (int32_t)(address_of(function(f->callees[i])) - (address_of(f) + at + 5));

		code[at] = 0xe8;
		memcpy(code + at + 1, &relative, 4);
		at += 5;
	}
	memset(code + at, 0x90, 4); /* where samples are taken */
	at += 4;
	if (f->entry) {
		memcpy(code + at, "\xeb\xfe", 2);
		return;
	}
	memcpy(code + at, epilogue, sizeof(epilogue));
}

/* Where a sample in @f itself is taken, and where its call of @callee returns to. */
static uint64_t inside(const struct function *f)
{
	return address_of(f) + body_offset(f) + 5 * f->nr_callees + 1;
}

static uint64_t return_to(const struct function *f, const char *callee)
{
	for (size_t i = 0; i < f->nr_callees; i++) {
		if (strcmp(f->callees[i], callee) == 0)
			return address_of(f) + body_offset(f) + 5 * (i + 1);
	}
	abort();
}

/* ---- What ran on it -------------------------------------------------------------------------- */

struct run {
	unsigned int count;
	uint16_t domid;
	uint16_t vcpu;
	uint16_t pcpu;
	uint16_t flags;
	/* "entry>...>innermost"; "@kernel", "@user": the guest; "@idle"; "@syscall"; a '!' in front
	   takes the words away, so that the stack is incomplete */
	const char *stack;
	const char *guest; /* the guest's own, as guest_kernel.h has it; NULL: not captured */
	const char *user;  /* the process's, as user_program.h has it; NULL: nothing known of it */
	const char *task;  /* what the kernel said of it, as guest_kernel.h has it; NULL: nothing */
};

#define HYPERCALL "lstar_enter>pv_hypercall>"
#define EXITED    "svm_asm_do_resume>svm_vmexit_handler"
#define EXIT      EXITED ">"
#define IDLE_LOOP "idle_loop>"

static const struct run mixed[] = {
        {412, 0, 0, 0, 0, "@kernel"},
        {203, 0, 0, 0, 0, "@user"},
        {88, 0, 1, 1, 0, "@kernel"},
        {61, 0, 0, 0, 0, HYPERCALL "do_mmu_update>mod_l1_entry>get_page_from_l1e>get_page_type"},
        {34, 0, 0, 0, 0, HYPERCALL "do_mmu_update>mod_l1_entry>put_page_from_l1e"},
        {29, 0, 0, 0, 0, HYPERCALL "do_mmu_update"},
        {57, 0, 1, 1, 0, HYPERCALL "do_mmuext_op>_get_page_type>promote_l4_table"},
        {40, 0, 1, 1, 0, HYPERCALL "do_mmuext_op>flush_area_mask>smp_call_function"},
        {26, 0, 0, 0, 0,
         HYPERCALL "do_event_channel_op>evtchn_send>evtchn_fifo_set_pending>vcpu_kick"},
        {19, 0, 0, 0, 0, HYPERCALL "do_grant_table_op>gnttab_copy>__copy_from_user_ll"},
        {22, 0, 1, 1, 0,
         "handle_exception>do_page_fault>fixup_page_fault>ptwr_do_page_fault>x86_emulate"},
        {9, 0, 0, 0, 0,
         "handle_exception>do_general_protection>pv_emulate_privileged_op>x86_emulate"},
        {13, 0, 0, 0, XF_SAMPLE_FOREIGN_RSP, "@syscall"},
        {640, 1, 0, 1, XF_SAMPLE_GUEST | XF_SAMPLE_AFTER_STGI, "@user"},
        {120, 1, 0, 1, XF_SAMPLE_GUEST | XF_SAMPLE_AFTER_STGI, "@kernel"},
        {44, 1, 0, 1, 0, EXIT "svm_vmexit_do_cpuid>guest_cpuid"},
        {51, 1, 0, 1, 0,
         EXIT "hvm_emulate_one_vmexit>_hvm_emulate_one>x86_emulate>hvmemul_insn_fetch"},
        {37, 1, 1, 0, 0,
         EXIT "hvm_hap_nested_page_fault>p2m_mem_access_check>p2m_get_gfn_type_access"},
        {18, 1, 1, 0, 0, EXIT "handle_pio>hvm_process_io_intercept>stdvga_intercept"},
        {12, 1, 1, 0, 0, EXIT "vlapic_ipi>vlapic_accept_irq>vcpu_kick"},
        {310, 2, 0, 0, 0, "@user"},
        {70, 2, 0, 0, 0, "@kernel"},
        {24, 2, 0, 0, 0, HYPERCALL "do_sched_op>vcpu_block>sched_tick_resume"},
        {7, 2, 0, 0, 0, HYPERCALL "do_set_timer_op>set_timer>spin_lock"},
        {16, 0, 0, 0, 0, "ret_from_intr>do_softirq>schedule>csched2_schedule>runq_candidate"},
        {11, 1, 0, 1, 0, EXIT "do_softirq>timer_softirq_action>csched2_tick>spin_lock"},
        {8, 2, 0, 0, 0, "!ret_from_intr>do_softirq>schedule"},
        {3, 2, 0, 0, XF_SAMPLE_FOREIGN_RSP, "restore_nowhere"},
        {21, 0x7fff, 0, 0, XF_SAMPLE_IDLE, IDLE_LOOP "do_softirq>schedule>csched2_schedule"},
        {17, 0x7fff, 1, 1, XF_SAMPLE_IDLE, IDLE_LOOP "acpi_idle_do_entry>lapic_timer_off"},
        {860, 0, 0, 0, 0, "@idle"},
        {1204, 0, 0, 1, 0, "@idle"},
        {0},
};

/* What mixed might be after a change: a compiler that names a clone otherwise, a function that is
   gone, a new one, one that takes three times as long, and what chance does to the rest. */
static const struct run after[] = {
        {430, 0, 0, 0, 0, "@kernel"},
        {199, 0, 0, 0, 0, "@user"},
        {81, 0, 1, 1, 0, "@kernel"},
        {66, 0, 0, 0, 0,
         HYPERCALL "do_mmu_update>do_mmu_update.part.0>mod_l1_entry.isra.0>get_page_from_l1e>"
                   "get_page_type"},
        {31, 0, 0, 0, 0, HYPERCALL "do_mmu_update>mod_l1_entry.isra.0>put_page_from_l1e"},
        {120, 0, 1, 1, 0, HYPERCALL "do_mmuext_op>flush_area_mask>smp_call_function"},
        {28, 0, 0, 0, 0,
         HYPERCALL "do_event_channel_op>evtchn_send>evtchn_fifo_set_pending>vcpu_kick"},
        {70, 0, 0, 0, 0, HYPERCALL "do_grant_table_op>gnttab_copy>gnttab_claim>memcpy"},
        {655, 1, 0, 1, XF_SAMPLE_GUEST | XF_SAMPLE_AFTER_STGI, "@user"},
        {113, 1, 0, 1, XF_SAMPLE_GUEST | XF_SAMPLE_AFTER_STGI, "@kernel"},
        {49, 1, 0, 1, 0,
         EXIT "hvm_emulate_one_vmexit>_hvm_emulate_one>x86_emulate>hvmemul_insn_fetch"},
        {40, 1, 1, 0, 0,
         EXIT "hvm_hap_nested_page_fault>p2m_mem_access_check>p2m_get_gfn_type_access"},
        {8, 2, 0, 0, 0, "!ret_from_intr>do_softirq>schedule"},
        {18, 0x7fff, 1, 1, XF_SAMPLE_IDLE, IDLE_LOOP "acpi_idle_do_entry>lapic_timer_off"},
        {900, 0, 0, 0, 0, "@idle"},
        {1180, 0, 0, 1, 0, "@idle"},
        {0},
};

static const struct run one[] = {
        {1, 3, 0, 0, 0, HYPERCALL "do_xen_version"},
        {0},
};

/* One stack from the process through the kernel into Xen; nobody knows build's kernel. */
#define SYSTEM_CALL "u:entry_SYSCALL_64>do_syscall_64>"

static const struct run guests[] = {
        {61, 0, 0, 0, 0, HYPERCALL "do_event_channel_op>evtchn_send>vcpu_kick",
         SYSTEM_CALL "__x64_sys_ioctl>evtchn_ioctl [xen_evtchn]>xen_hypercall_pv"},
        {38, 0, 0, 0, 0, HYPERCALL "do_mmu_update>mod_l1_entry",
         "u:asm_exc_page_fault>exc_page_fault>handle_mm_fault>set_pte>xen_hypercall_pv"},
        {44, 0, 1, 1, 0, HYPERCALL "do_sched_op>vcpu_block",
         "k:secondary_startup_64>cpu_startup_entry>do_idle>xen_safe_halt>xen_hypercall_pv"},
        {120, 0, 0, 0, 0, "@kernel", SYSTEM_CALL "ksys_read>vfs_read>copy_page_to_iter"},
        {17, 0, 0, 0, 0, "@kernel",
         SYSTEM_CALL "ksys_read>vfs_read|asm_exc_xen_hypervisor_callback>xen_pv_evtchn_do_upcall>"
                     "irq_exit_rcu>__do_softirq>net_rx_action"},
        {9, 0, 0, 0, 0, "@kernel", "!" SYSTEM_CALL "ksys_read>vfs_read"},
        {80, 0, 1, 1, 0, "@user", "u:"},
        {25, 0, 1, 1, 0, "@user"},
        {33, 1, 0, 1, XF_SAMPLE_GUEST | XF_SAMPLE_AFTER_STGI, "@kernel",
         SYSTEM_CALL "ksys_read>vfs_read"},
        {12, 2, 0, 0, 0, HYPERCALL "do_sched_op", "k:secondary_startup_64>do_idle"},
        {310, 0, 0, 0, 0, "@idle"},
        {0},
};

/* From the program's first function into Xen, of two processes, and what cannot be known; another
 * domain's, as its kernel names them. */
static const struct run processes[] = {
        {41, 0, 0, 0, 0, HYPERCALL "do_event_channel_op>evtchn_send>vcpu_kick",
         SYSTEM_CALL "__x64_sys_ioctl>evtchn_ioctl [xen_evtchn]>xen_hypercall_pv",
         "100:_start>main>serve>ioctl"},
        {23, 0, 0, 0, 0, "@kernel", SYSTEM_CALL "ksys_read>vfs_read>copy_page_to_iter",
         "100:_start>main>serve>read"},
        {54, 0, 0, 0, 0, "@user", "u:", "200:_start>main>compute"},
        {9, 0, 1, 1, 0, "@user", "u:", "!200:_start>main>compute"},
        {7, 0, 1, 1, 0, HYPERCALL "do_mmu_update>mod_l1_entry",
         "u:asm_exc_page_fault>exc_page_fault>handle_mm_fault>set_pte>xen_hypercall_pv",
         "200:_start>main>compute>operator new(unsigned long)"},
        {18, 0, 1, 1, 0, HYPERCALL "do_sched_op>vcpu_block",
         "k:secondary_startup_64>cpu_startup_entry>do_idle>xen_safe_halt>xen_hypercall_pv", "0:"},
        {12, 0, 0, 0, 0, "@user", "u:"},
        {33, 1, 0, 1, XF_SAMPLE_GUEST | XF_SAMPLE_AFTER_STGI, "@kernel",
         SYSTEM_CALL "ksys_read>vfs_read", "0:_start>main>serve>read", .task = "812:nginx"},
        {14, 1, 0, 1, 0, EXIT "vlapic_ipi>vcpu_kick",
         SYSTEM_CALL "ksys_write>vfs_write>eventfd_write", .task = "97:<&worker/1:2"},
        {5, 1, 0, 1, XF_SAMPLE_GUEST | XF_SAMPLE_AFTER_STGI, "@user", "u:", "0:_start>main>compute",
         .task = "812:nginx"},
        {3, 1, 0, 1, XF_SAMPLE_GUEST | XF_SAMPLE_AFTER_STGI, "@user", "u:"},
        {110, 0, 0, 0, 0, "@idle"},
        {0},
};

/* The names that examples of the manual name. */
static const struct run examples[] = {
        {120, 0, 0, 0, 0, HYPERCALL "do_event_channel_op>_spin_lock"},
        {110, 0, 0, 0, 0, HYPERCALL "do_mmu_update>_spin_lock_irq"},
        {31, 1, 0, 1, 0, EXIT "svm_vmexit_do_cpuid"},
        {27, 1, 0, 1, 0, EXITED},
        {12, 1, 1, 1, 0, "ret_from_intr>do_softirq>schedule"},
        {140, 1, 0, 1, XF_SAMPLE_GUEST | XF_SAMPLE_AFTER_STGI, "@user"},
        {60, 2, 0, 0, 0, "@kernel"},
        {110, 0, 0, 0, 0, "@idle"},
        {0},
};

/* xf_ functions lie in the agent's live patch. */
static const struct run agent[] = {
        {6, 1, 0, 0, 0, EXIT "do_softirq>timer_softirq_action>xf_pace_tick>send_IPI_mask"},
        {4, 1, 0, 0, 0, EXIT "do_softirq>xf_emit_softirq>trace_var"},
        {2, 1, 0, 0, 0, EXIT "do_softirq>timer_softirq_action>xf_pace_tick"},
        {88, 1, 0, 0, XF_SAMPLE_GUEST | XF_SAMPLE_AFTER_STGI, "@user"},
        {0},
};

static const struct run scheduled[] = {
        {5, 0, 0, 0, 0, "@kernel"},
        {9, 1, 0, 1, 0, "@user"},
        {3, 2, 0, 1, 0, HYPERCALL "do_mmu_update>mod_l1_entry"},
        {13, 0, 0, 0, 0, "@idle"},
        {0},
};

static const struct run only_idle[] = {
        {99, 0, 0, 0, 0, "@idle"},
        {0},
};

static const struct run nothing[] = {{0}};

/* Names that nobody would choose, except to see what happens. */
static const struct run hostile[] = {
        {5, 1, 0, 0, 0, "entry;semi>a<b&c\"d'e>]]>x"},
        {4, 1, 0, 0, 0, "entry;semi>new\nline\ttab\x1b[31mred"},
        {3, 1, 0, 0, 0, "entry;semi>bad\xff\xc0\xaf\xed\xa0\x80utf8"},
        {3, 2, 0, 0, 0, "entry;semi>\xe2\x80\xaertl\xe2\x80\x8b\xef\xbf\xbe"},
        {2, 2, 0, 0, 0,
         "entry;semi></script><!--\xe5\xbe\xae\xe8\xbb\x9f e\xcc\x81\xf0\x9f\x94\xa5"},
        {2, 0, 0, 0, 0, "entry;semi>_ZN3foo3barIiEEvT_"},
        {1, 3, 0, 0, 0, "entry;semi> spaces  and 12 34"},
        {0},
};

/* Names of all widths: of two columns a character, of none, longer than any screen. */
#define TEN(text) text text text text text text text text text text
static const struct run wide[] = {
        {9, 1, 0, 0, 0, "entry>" TEN("\xe5\xbe\xae\xe8\xbb\x9f") TEN("\xe5\xbe\xae\xe8\xbb\x9f")},
        {8, 1, 0, 0, 0,
         "entry>odd" TEN("\xe5\xbe\xae\xe8\xbb\x9f") TEN("\xe5\xbe\xae\xe8\xbb\x9f")},
        {7, 1, 0, 0, 0, "entry>zalgo" TEN("\xcc\x81") TEN("\xcc\x81") "!"},
        {6, 1, 0, 0, 0,
         "entry>" TEN("e\xcc\x81") TEN("e\xcc\x81") TEN("e\xcc\x81") TEN("e\xcc\x81") "end"},
        {5, 1, 0, 0, 0, "entry>" TEN("long_name_") TEN("long_name_") TEN("long_name_")},
        {4, 1, 0, 0, 0, "entry>" TEN("\xff\xfe") TEN("\x01\x7f")},
        {3, 1, 0, 0, 0, "entry>\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \xd9\x85\xd8\xb1\xd8\xad"},
        {2, 1, 0, 0, 0, "entry>\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x94\xa7 \xef\xbd\xb1"},
        {0},
};

struct domain {
	uint16_t domid;
	enum xf_domain_type type;
	const char *name;
};

static const struct domain usual_domains[] = {{0, XF_DOMAIN_PV, "Domain-0"},
                                              {1, XF_DOMAIN_PVH, "web-1"},
                                              {2, XF_DOMAIN_PV, "build"},
                                              {0}};
static const struct domain examples_domains[] = {
        {0, XF_DOMAIN_PV, "Domain-0"}, {1, XF_DOMAIN_PVH, "web1"}, {2, XF_DOMAIN_PV, "web-1"}, {0}};
static const struct domain hostile_domains[] = {{1, XF_DOMAIN_PVH, "<g onload=\"alert(1)\">"},
                                                {2, XF_DOMAIN_PV, "a b;c\n\xff"},
                                                {3, XF_DOMAIN_PV, "x"},
                                                {0}};

struct scenario {
	const char *name;
	const struct run *runs;
	const struct domain *domains;
	const char *host;
	bool cut;          /* ends without an END chunk, in the middle of a record */
	bool bare;         /* nothing but samples: no info, symbols or code */
	unsigned int many; /* so many samples of hardly two stacks alike, instead of runs */
	bool old; /* does not tell from when to when there was sampling, or of skipped ticks */
};

static const struct scenario scenarios[] = {
        {"mixed", mixed, usual_domains, "labhost", false, false},
        {"after", after, usual_domains, "labhost", false, false},
        {"cut", mixed, usual_domains, "labhost", true, false},
        {"bare", mixed, usual_domains, "", false, true},
        {"one", one, usual_domains, "labhost", false, false},
        {"agent", agent, usual_domains, "labhost", false, false},
        {"guests", guests, usual_domains, "labhost", false, false},
        {"processes", processes, usual_domains, "labhost", false, false},
        {"examples", examples, examples_domains, "labhost", false, false},
        {"scheduled", scheduled, usual_domains, "labhost", false, false},
        {"only-idle", only_idle, usual_domains, "labhost", .old = true},
        {"many", nothing, usual_domains, "labhost", .many = 100000},
        {"million", nothing, usual_domains, "labhost", .many = 1000000},
        {"nothing", nothing, usual_domains, "labhost", false, false},
        {"wide", wide, usual_domains, "labhost", false, false},
        {"hostile", hostile, hostile_domains, "h<&\">\x07st", false, false},
};

/* ---- A million stacks ------------------------------------------------------------------------ */

#define MANY_FUNCTIONS 96u
#define MANY_PCPUS     4u

static uint32_t draw(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33) % below;
}

/* Everybody calls the next sixteen, as far as there are so many: a function that called itself,
   however indirectly, each time it is called, would never return. */
static void learn_many(void)
{
	function("lstar_enter")->entry = true;
	for (unsigned int i = 1; i < MANY_FUNCTIONS; i++) {
		char *name;

		if (asprintf(&name, "function_%02u", i) < 0)
			abort();
		function(name);
	}
	for (unsigned int i = 0; i < MANY_FUNCTIONS; i++) {
		for (unsigned int k = 1; k <= CALLEES_MAX && i + k < MANY_FUNCTIONS; k++)
			add_call(&functions[i], functions[i + k].name);
	}
}

/* A walk from the entry; callees that are listed first are called more often, so that there are
   wide frames as well as narrow ones. */
static void walk_somewhere(uint64_t *state, struct xf_sample *sample, unsigned int *nr_words)
{
	unsigned int most = 5 + draw(state, 20), calls = 0;
	const struct function *at = &functions[0];
	uint64_t returns[25];

	while (calls < most && at->nr_callees) {
		uint32_t first = draw(state, (uint32_t)at->nr_callees);
		uint32_t other = draw(state, (uint32_t)at->nr_callees);
		const char *callee = at->callees[first < other ? first : other];

		returns[calls++] = return_to(at, callee);
		at = function(callee);
	}
	for (unsigned int i = 0; i < calls; i++)
		sample->words[i] = XF_WORD(i * (FRAME_BYTES / 8) + 3, returns[calls - 1 - i]);
	sample->rsp = STACK_END - FRAME_BYTES * calls;
	sample->rip = inside(at);
	*nr_words = calls;
}

static int write_many(struct xf_recording_writer *writer, unsigned int nr)
{
	uint64_t storage[XF_SAMPLE_HEAD_BYTES / 8 + XF_MAX_WORDS] = {0};
	struct xf_sample *sample = (struct xf_sample *)storage;
	uint64_t state = 1;
	int code = 0;

	sample->stack_end = STACK_END;
	for (unsigned int i = 0; !code && i < nr; i++) {
		unsigned int nr_words;

		walk_somewhere(&state, sample, &nr_words);
		sample->bytes = (uint16_t)(XF_SAMPLE_HEAD_BYTES + 8 * nr_words);
		sample->sequence = i;
		sample->tsc = SAMPLING + (SAMPLING_END - SAMPLING) / nr * i;
		sample->domid = (uint16_t)draw(&state, 3);
		sample->vcpu = (uint16_t)draw(&state, 2);
		sample->pcpu = (uint16_t)draw(&state, MANY_PCPUS);
		code = xf_recording_write_sample(writer, sample);
	}
	return code;
}

/* ---- Writing it ------------------------------------------------------------------------------ */

/* The functions of @stack, outermost first, in @chain. Names may hold '>' only as "]]>" and "->"
   do not: the separator is a '>' before a letter, '_', a blank or a byte above ASCII. */
static size_t split(const char *stack, char *copy, size_t size, const char *chain[32])
{
	size_t nr = 0;

	snprintf(copy, size, "%s", stack);
	chain[nr++] = copy;
	for (char *c = copy; *c; c++) {
		if (*c != '>' || (c > copy && c[-1] == ']') || strncmp(c + 1, "<!--", 4) == 0)
			continue;
		*c = 0;
		chain[nr++] = c + 1;
	}
	return nr;
}

static bool is_xen(const struct run *run)
{
	return run->stack[0] != '@';
}

static void learn_functions(const struct run *runs)
{
	for (const struct run *run = runs; run->count; run++) {
		const char *chain[32];
		char copy[512];
		size_t nr;

		if (run->guest)
			guest_kernel_learn(run->guest);
		if (run->user)
			user_program_learn(run->user);
		if (!is_xen(run))
			continue;
		nr = split(run->stack + (run->stack[0] == '!'), copy, sizeof(copy), chain);
		for (size_t i = 0; i < nr; i++) {
			/* Looked up first: the table keeps the pointer. */
			struct function *f = function(strdup(chain[i]));

			f->entry = f->entry || i == 0;
			if (i + 1 < nr)
				add_call(f, strdup(chain[i + 1]));
		}
	}
}

static void fill_stack(const struct run *run, struct xf_sample *sample, unsigned int *nr_words)
{
	const char *chain[32];
	char copy[512];
	size_t nr = split(run->stack + (run->stack[0] == '!'), copy, sizeof(copy), chain);
	const struct function *innermost = function(chain[nr - 1]);

	sample->rip = inside(innermost);
	if (run->flags & XF_SAMPLE_FOREIGN_RSP)
		return;
	sample->rsp = STACK_END - FRAME_BYTES * (nr - 1);
	if (run->stack[0] == '!')
		return;
	for (size_t i = nr - 1; i > 0; i--) {
		unsigned int slot = (unsigned int)(nr - 1 - i) * (FRAME_BYTES / 8) + 3;

		sample->words[(*nr_words)++] =
		        XF_WORD(slot, return_to(function(chain[i - 1]), chain[i]));
	}
}

static int write_run(struct xf_recording_writer *writer, const struct run *run, uint64_t tsc)
{
	uint64_t storage[XF_SAMPLE_HEAD_BYTES / 8 + XF_MAX_WORDS] = {0};
	struct xf_sample *sample = (struct xf_sample *)storage;
	unsigned int nr_words = 0;
	bool kernel = strcmp(run->stack, "@kernel") == 0;

	if (strcmp(run->stack, "@idle") == 0) {
		struct xf_idle_record idle = {.tsc = tsc, .pcpu = run->pcpu, .count = run->count};

		return xf_recording_write_idle(writer, &idle);
	}
	sample->flags = run->flags;
	sample->pcpu = run->pcpu;
	sample->domid = run->domid;
	sample->vcpu = run->vcpu;
	sample->stack_end = STACK_END;
	sample->guest_rip = kernel ? 0xffffffff81abc123 : 0x401234;
	if (run->guest)
		sample->guest_rip = guest_kernel_rip(run->guest);
	if (run->user && strcmp(run->stack, "@user") == 0)
		sample->guest_rip = user_program_rip(run->user);
	if (strcmp(run->stack, "@syscall") == 0) {
		sample->rip = 0xffff82d07fffe010;
		sample->rsp = 0x7ffc12345678;
	} else if (is_xen(run)) {
		fill_stack(run, sample, &nr_words);
	} else {
		sample->flags |= XF_SAMPLE_GUEST;
		sample->rip = run->flags & XF_SAMPLE_AFTER_STGI ? TEXT + 1 : sample->guest_rip;
	}
	sample->bytes = (uint16_t)(XF_SAMPLE_HEAD_BYTES + 8 * nr_words);
	for (unsigned int i = 0; i < run->count; i++) {
		int code;

		sample->sequence = i;
		sample->tsc = tsc + i * (TSC_HZ / 99);
		code = run->task ? guest_kernel_write_task(writer, run->task, i, run->pcpu) : 0;
		if (!code && run->guest)
			code = guest_kernel_write_stacks(writer, run->guest, run->user, i,
			                                 run->pcpu);
		if (!code)
			code = xf_recording_write_sample(writer, sample);
		if (code)
			return code;
	}
	return 0;
}

static int write_hypervisor(struct xf_recording_writer *writer)
{
	struct xf_symbols *symbols = xf_symbols_new();
	uint8_t *code = calloc(nr_functions + 1, CODE_BYTES);
	int result = 0;

	for (size_t i = 0; i < nr_functions; i++) {
		const struct function *f = &functions[i];

		emit_function(f, code + i * CODE_BYTES);
		xf_symbols_add(symbols, address_of(f), 0, f->entry ? 'T' : 't', f->name);
	}
	xf_symbols_finish(symbols);
	result = xf_recording_write_symbols(writer, symbols);
	if (!result)
		result = xf_recording_write_code(writer, TEXT, code, nr_functions * CODE_BYTES);
	xf_symbols_free(symbols);
	free(code);
	return result;
}

static void write_livepatch(struct xf_recording_writer *writer)
{
	for (size_t i = 0; i < nr_functions; i++) {
		struct xf_recording_livepatch livepatch = {.address = address_of(&functions[i]),
		                                           .size = CODE_BYTES,
		                                           .name = XF_AGENT_NAME};

		if (strncmp(functions[i].name, "xf_", 3) == 0)
			xf_recording_write_livepatch(writer, &livepatch);
	}
}

/* Of all domains but the last one it is known that they run it. */
static void write_kernels(struct xf_recording_writer *writer)
{
	guest_kernel_write(writer);
	for (uint16_t domid = 0; domid < 2; domid++) {
		struct xf_recording_kernel_of of = {
		        .domid = domid, .kernel = 1, .tsc = SAMPLING - TSC_HZ};

		xf_recording_write_kernel_of(writer, &of);
	}
}

static void write_info(struct xf_recording_writer *writer, const struct scenario *scenario)
{
	xf_recording_write_info(writer, "host", "%s", scenario->host);
	xf_recording_write_info(writer, "xen.version", "4.17.7");
	xf_recording_write_info(writer, "xen.build-id", "0123456789abcdef");
	xf_recording_write_info(writer, "pcpus", "2");
	xf_recording_write_info(writer, "frequency", "99");
	xf_recording_write_info(writer, "tsc.hz", "%llu", TSC_HZ);
	xf_recording_write_info(writer, "start.tsc", "%llu", START);
	xf_recording_write_info(writer, "end.tsc", "%llu", SAMPLING_END + TSC_HZ);
	if (!scenario->old) {
		xf_recording_write_info(writer, "sampling.start.tsc", "%llu", SAMPLING);
		xf_recording_write_info(writer, "sampling.end.tsc", "%llu", SAMPLING_END);
	}
	xf_recording_write_info(writer, "start.time", "1796011987000000000");
	xf_recording_write_info(writer, "text.start", "0x%llx", TEXT);
	xf_recording_write_info(writer, "text.end", "0x%llx", TEXT + nr_functions * CODE_BYTES);
}

/* Over all of the recording: a domain of two vCPUs, two that share a pCPU, of which of one a third
 * is not known, and what the pCPUs' idle vCPUs say of it. */
static void write_runstates(struct xf_recording_writer *writer)
{
	const struct xf_runstate_span spans[] = {
	        {0, 0, 0, START, SAMPLING + TSC_HZ, {0, TSC_HZ, 4 * TSC_HZ}},
	        {0,
	         0,
	         0,
	         SAMPLING + TSC_HZ,
	         SAMPLING_END,
	         {20 * TSC_HZ, TSC_HZ / 2, 17 * TSC_HZ / 2}},
	        {0, 1, 0, SAMPLING, SAMPLING_END + TSC_HZ, {0, 0, 31 * TSC_HZ}},
	        {1, 0, 0, SAMPLING, SAMPLING + 20 * TSC_HZ, {15 * TSC_HZ, 4 * TSC_HZ, TSC_HZ, 0}},
	        {2,
	         0,
	         0,
	         SAMPLING,
	         SAMPLING_END,
	         {5 * TSC_HZ, 15 * TSC_HZ, 4 * TSC_HZ, 6 * TSC_HZ}},
	        {0x7fff, 0, 0, SAMPLING, SAMPLING_END, {9 * TSC_HZ, 21 * TSC_HZ}},
	        {0x7fff, 1, 0, SAMPLING, SAMPLING_END, {0, 30 * TSC_HZ}},
	};

	xf_recording_write_runstates(writer, spans, sizeof(spans) / sizeof(spans[0]));
}

/* Of domains with names of all kinds, and some that make no sense. */
static void write_hostile_runstates(struct xf_recording_writer *writer)
{
	const struct xf_runstate_span spans[] = {
	        {1, 65535, 0, 0, UINT64_MAX, {UINT64_MAX}},
	        {2, 0, 0, SAMPLING, SAMPLING_END, {0, 1, 2, 3}},
	        {2, 0, 0, SAMPLING, SAMPLING_END, {1}},
	        {3, 0, 0, SAMPLING, SAMPLING, {0}},
	        {65535, 0, 0, 0, UINT64_MAX, {1, 1, 1, 1}},
	};

	xf_recording_write_runstates(writer, spans, sizeof(spans) / sizeof(spans[0]));
}

static void write_books(struct xf_recording_writer *writer, const struct scenario *scenario)
{
	const struct xf_pcpu_skipped skipped[2] = {{.pcpu = 0, .ticks = 1200},
	                                           {.pcpu = 1, .ticks = 34}};
	struct xf_pcpu_statistics books[2] = {{.pcpu = 0, .flags = XF_STATISTICS_CLOSED},
	                                      {.pcpu = 1, .flags = XF_STATISTICS_CLOSED}};

	for (const struct run *run = scenario->runs; run->count; run++) {
		struct xf_pcpu_statistics *book = &books[run->pcpu];

		if (strcmp(run->stack, "@idle") == 0) {
			book->idle += run->count;
			continue;
		}
		book->delivered += run->count;
	}
	books[1].lost_slot = 2;
	books[1].lost_trace = 1;
	for (size_t i = 0; i < 2; i++) {
		books[i].taken = books[i].delivered + books[i].lost_trace;
		books[i].produced = books[i].taken + books[i].lost_slot;
	}
	xf_recording_write_statistics(writer, books, 2);
	if (!scenario->old)
		xf_recording_write_skipped(writer, skipped, 2);
}

struct output {
	char *bytes;
	size_t size;
	FILE *stream;
};

static int write_bytes(void *context, const void *bytes, size_t size)
{
	struct output *output = context;

	return fwrite(bytes, 1, size, output->stream) == size ? 0 : -EIO;
}

static int write_scenario(struct xf_recording_writer *writer, const struct scenario *scenario)
{
	uint64_t tsc = SAMPLING;

	learn_functions(scenario->runs);
	if (scenario->many)
		learn_many();
	if (!scenario->bare) {
		write_info(writer, scenario);
		write_hypervisor(writer);
		write_livepatch(writer);
	}
	for (const struct domain *domain = scenario->domains; domain->name; domain++) {
		struct xf_recording_domain written = {.domid = domain->domid,
		                                      .type = domain->type,
		                                      .name = domain->name,
		                                      .uuid = ""};

		xf_recording_write_domain(writer, &written);
	}
	if (scenario->runs == guests || scenario->runs == processes)
		write_kernels(writer);
	if (scenario->runs == processes) {
		xf_recording_write_info(writer, "tasks", "1");
		user_program_write(writer, START, TSC_HZ);
		user_program_write_guest(writer, 1, 812, SAMPLING);
	}
	for (const struct run *run = scenario->runs; run->count; run++) {
		if (scenario->runs == processes && run->guest && !run->domid)
			user_program_switch(writer, run->vcpu, tsc - START, TSC_HZ, run->user);
		if (write_run(writer, run, tsc))
			return -1;
		tsc += TSC_HZ / 2;
	}
	if (scenario->many && write_many(writer, scenario->many))
		return -1;
	if (scenario->runs == scheduled)
		write_runstates(writer);
	if (scenario->runs == hostile)
		write_hostile_runstates(writer);
	if (!scenario->bare)
		write_books(writer, scenario);
	return scenario->cut ? xf_recording_flush(writer) : xf_recording_write_end(writer);
}

int main(int argc, char **argv)
{
	struct output output = {0};
	struct xf_recording_sink sink = {.write = write_bytes, .context = &output};
	struct xf_recording_writer *writer;

	for (size_t i = 0; argc == 2 && i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		if (strcmp(scenarios[i].name, argv[1]) != 0)
			continue;
		output.stream = open_memstream(&output.bytes, &output.size);
		if (!output.stream || xf_recording_writer_new(sink, &writer, NULL) ||
		    write_scenario(writer, &scenarios[i]))
			return 1;
		xf_recording_writer_free(writer);
		fclose(output.stream);
		if (scenarios[i].cut)
			output.size -= output.size / 3;
		if (fwrite(output.bytes, 1, output.size, stdout) != output.size || fflush(stdout))
			return 1;
		return 0;
	}
	fprintf(stderr, "usage: make_recording SCENARIO\n");
	return 2;
}
