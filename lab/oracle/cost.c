// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the agent costs: a plugin for the lab's emulator that counts the instructions which each
 * call of the agent's entry functions executes, and each NMI that the agent takes.
 *
 *     qemu-system-x86_64 -plugin libcost.so,agent=OBJECT,nmi=ADDRESS,irq=ADDRESS,out=FILE ...
 *
 * nmi= is the address of Xen's NMI entry (its symbol entry_NMI, or nmi), irq= that to which the
 * entries of all interrupts jump (common_interrupt). The agent is loaded when Xen has long been
 * running: it is known by its code, OBJECT being what the tool embeds (build/agent.o). Xen's loader
 * puts .text at the start of a page, so an address has only a few offsets in it to be compared
 * with.
 *
 * Each CPU has a list of what is being executed, innermost last. A block counts for the innermost
 * and for whatever has called it: up to, and with, an NMI or an interrupt, which came between and
 * is no part of what it has interrupted. A function has ended with the return that finds none of
 * its calls open; NMIs and interrupts end with IRETQ. All of this is Xen's: from Xen an interrupt
 * always comes back. A string instruction that repeats is one instruction, as on a processor,
 * though the emulator executes it in a loop.
 *
 * A line of the log: what (capture, emit, tick, nmi, or broken where this account does not add up),
 * the CPU, the instructions of the agent's own code, all instructions, and how often the agent's
 * code has called Xen's. Of NMIs those that called the agent. "agent ADDRESS" says where it was
 * found.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent_code.h"
#include "qemu_plugin.h"

#define EXPORT     __attribute__((visibility("default")))
#define CPUS_MAX   64u
#define NESTED_MAX 8u /* a tick, an interrupt, an NMI, and what each calls */
#define PAGE       4096u
#define ENOUGH     12u /* bytes of a block that must be the agent's, relocations not counted */

/* Xen's text, static data and live patches: "Xen text, static data, bss" in xen/arch/x86's map of
   the address space. */
#define XEN_START 0xffff82d040000000u
#define XEN_END   0xffff82d080000000u

enum what {
	NOTHING,
	CAPTURE,
	EMIT,
	TICK,
	NMI,
	IRQ,
};

static const char *const names[] = {"", "capture", "emit", "tick", "nmi", "irq"};

/* How a block ends. */
enum end {
	ELSE,
	CALL,
	RETURN,
	IRET,
	REPEAT, /* with a string instruction that repeats: its further turns are blocks of their own
	         */
};

/* A block of instructions that are executed from the first to the last: fits into a pointer. */
struct block {
	uint32_t place; /* its address, less XEN_START */
	uint16_t instructions;
	uint8_t begins; /* enum what; of the agent's functions it is not known yet */
	uint8_t end;    /* enum end */
};

/* How the block before has ended. */
struct before {
	bool own_call;  /* it was the agent's, with a call */
	bool repeating; /* with a string instruction */
};

struct running {
	enum what what;
	unsigned int open_calls;
	uint64_t own, all, calls_of_xen;
	struct before interrupted; /* of an interrupt: what it came behind */
};

struct cpu {
	struct running running[NESTED_MAX];
	unsigned int nr;
	struct before before;
};

static struct cpu cpus[CPUS_MAX];
static struct agent_code agent;
static uint64_t agent_start; /* 0: not there yet */
static uint64_t nmi_entry, irq_entry;
static FILE *log_file;

EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

static bool interrupts(enum what what)
{
	return what == NMI || what == IRQ;
}

static void broken(struct cpu *cpu, const char *why)
{
	fprintf(log_file, "broken %td %s\n", cpu - cpus, why);
	cpu->nr = 0;
}

static void begin(struct cpu *cpu, enum what what)
{
	for (unsigned int i = 0; i < cpu->nr; i++) {
		if (cpu->running[i].what == what && what != IRQ) {
			broken(cpu, "two of a kind");
			break;
		}
	}
	if (cpu->nr == NESTED_MAX)
		broken(cpu, "nested too deep");
	cpu->running[cpu->nr++] = (struct running){.what = what, .interrupted = cpu->before};
	if (interrupts(what))
		cpu->before = (struct before){0};
}

static void end(struct cpu *cpu)
{
	const struct running *running = &cpu->running[--cpu->nr];

	if (interrupts(running->what))
		cpu->before = running->interrupted;
	if (running->what == IRQ || (running->what == NMI && !running->own))
		return;
	fprintf(log_file, "%s %td %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", names[running->what],
	        cpu - cpus, running->own, running->all, running->calls_of_xen);
}

static void on_return(struct cpu *cpu)
{
	while (cpu->nr && !interrupts(cpu->running[cpu->nr - 1].what) &&
	       !cpu->running[cpu->nr - 1].open_calls)
		end(cpu);
	for (unsigned int i = cpu->nr; i-- > 0 && !interrupts(cpu->running[i].what);)
		cpu->running[i].open_calls--;
}

static void on_iret(struct cpu *cpu)
{
	if (!interrupts(cpu->running[cpu->nr - 1].what))
		broken(cpu, "IRETQ in a function");
	else
		end(cpu);
}

static void count(struct cpu *cpu, const struct block *block, bool own)
{
	for (unsigned int i = cpu->nr; i-- > 0;) {
		struct running *running = &cpu->running[i];

		running->all += block->instructions;
		running->own += own ? block->instructions : 0;
		running->calls_of_xen += cpu->before.own_call && !own;
		running->open_calls += block->end == CALL;
		if (interrupts(running->what))
			break;
	}
}

static enum what what_begins(const struct cpu *cpu, const struct block *block, bool own,
                             uint64_t offset)
{
	if (block->begins == IRQ && !cpu->nr)
		return NOTHING;
	if (!own)
		return block->begins;
	return offset == agent.capture ? CAPTURE
	       : offset == agent.emit  ? EMIT
	       : offset == agent.tick  ? TICK
	                               : NOTHING;
}

static void on_block(unsigned int number, void *data)
{
	struct cpu *cpu = &cpus[number % CPUS_MAX];
	uint64_t offset;
	struct block block;
	enum what begins;
	bool own;

	memcpy(&block, &data, sizeof(block));
	offset = XEN_START + block.place - __atomic_load_n(&agent_start, __ATOMIC_RELAXED);
	own = offset < agent.size;
	begins = what_begins(cpu, &block, own, offset);
	if (!cpu->nr && begins == NOTHING)
		return;
	if (cpu->before.repeating && block.end == REPEAT && block.instructions == 1)
		return;
	if (begins != NOTHING)
		begin(cpu, begins);
	count(cpu, &block, own);
	cpu->before.own_call = own && block.end == CALL;
	cpu->before.repeating = block.end == REPEAT;
	if (block.end == RETURN)
		on_return(cpu);
	else if (block.end == IRET)
		on_iret(cpu);
}

/* Calls, returns and string instructions of 64-bit code: Intel's and AMD's manuals, opcode map. */
static enum end end_of(const uint8_t *bytes, size_t size)
{
	bool repeats = false;
	size_t at = 0;

	for (; at < size && (bytes[at] == 0x66 || bytes[at] == 0xf2 || bytes[at] == 0xf3 ||
	                     bytes[at] == 0x2e || bytes[at] == 0x3e);
	     at++)
		repeats |= bytes[at] == 0xf2 || bytes[at] == 0xf3;
	if (at < size && (bytes[at] & 0xf0) == 0x40)
		at++;
	if (at >= size)
		return ELSE;
	if (bytes[at] == 0xe8 ||
	    (bytes[at] == 0xff && at + 1 < size && (bytes[at + 1] >> 3 & 7) == 2))
		return CALL;
	if (bytes[at] == 0xc3 || bytes[at] == 0xc2)
		return RETURN;
	if (bytes[at] == 0xcf)
		return IRET;
	/* INS, OUTS; MOVS, CMPS; STOS, LODS, SCAS */
	if (repeats &&
	    ((bytes[at] >= 0x6c && bytes[at] <= 0x6f) || (bytes[at] >= 0xa4 && bytes[at] <= 0xa7) ||
	     (bytes[at] >= 0xaa && bytes[at] <= 0xaf)))
		return REPEAT;
	return ELSE;
}

/* Does the instruction jump, by a distance, to where all interrupts go? */
static bool enters_irq(const struct qemu_plugin_insn *insn)
{
	const uint8_t *bytes = qemu_plugin_insn_data(insn);
	size_t size = qemu_plugin_insn_size(insn);
	uint64_t next = qemu_plugin_insn_vaddr(insn) + size;
	int32_t distance;

	if (size == 2 && bytes[0] == 0xeb)
		return next + (uint64_t)(int8_t)bytes[1] == irq_entry;
	if (size != 5 || bytes[0] != 0xe9)
		return false;
	memcpy(&distance, bytes + 1, sizeof(distance));
	return next + (uint64_t)distance == irq_entry;
}

/* Are the block's bytes those of the agent from @offset on? */
static bool is_agents(const struct qemu_plugin_tb *tb, size_t offset)
{
	size_t nr = qemu_plugin_tb_n_insns(tb), equal = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		const uint8_t *bytes = qemu_plugin_insn_data(insn);
		size_t size = qemu_plugin_insn_size(insn);

		for (size_t j = 0; j < size; j++, offset++) {
			if (offset >= agent.size)
				return false;
			if (agent.open[offset])
				continue;
			if (agent.bytes[offset] != bytes[j])
				return false;
			equal++;
		}
	}
	return equal >= ENOUGH;
}

static void look_for_agent(const struct qemu_plugin_tb *tb, uint64_t address)
{
	uint64_t known = __atomic_load_n(&agent_start, __ATOMIC_RELAXED);

	for (size_t offset = address % PAGE; offset < agent.size; offset += PAGE) {
		if (address - offset == known || !is_agents(tb, offset))
			continue;
		__atomic_store_n(&agent_start, address - offset, __ATOMIC_RELAXED);
		fprintf(log_file, "agent %" PRIx64 "\n", address - offset);
		return;
	}
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t nr = qemu_plugin_tb_n_insns(tb);
	const struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, nr - 1);
	uint64_t address = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0));
	struct block block = {.instructions = (uint16_t)nr};
	void *data;

	(void)id;
	if (address < XEN_START || address >= XEN_END)
		return;
	look_for_agent(tb, address);
	block.place = (uint32_t)(address - XEN_START);
	block.begins = address == nmi_entry ? NMI : enters_irq(last) ? IRQ : NOTHING;
	block.end = end_of(qemu_plugin_insn_data(last), qemu_plugin_insn_size(last));
	_Static_assert(sizeof(block) == sizeof(data), "a block goes by value");
	memcpy(&data, &block, sizeof(data));
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, data);
}

static void on_exit_of_qemu(qemu_plugin_id_t id, void *data)
{
	(void)id;
	(void)data;
	fclose(log_file);
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	const char *object = "";

	(void)info;
	for (int i = 0; i < argc; i++) {
		if (strncmp(argv[i], "nmi=", 4) == 0)
			nmi_entry = strtoull(argv[i] + 4, NULL, 16);
		else if (strncmp(argv[i], "irq=", 4) == 0)
			irq_entry = strtoull(argv[i] + 4, NULL, 16);
		else if (strncmp(argv[i], "agent=", 6) == 0)
			object = argv[i] + 6;
		else if (strncmp(argv[i], "out=", 4) == 0)
			log_file = fopen(argv[i] + 4, "we");
	}
	if (!nmi_entry || !irq_entry || !log_file) {
		fprintf(stderr, "cost: wants agent=OBJECT,nmi=ADDRESS,irq=ADDRESS,out=FILE\n");
		return -1;
	}
	if (!agent_code_read(&agent, object))
		return -1;
	/* By lines: it is read while the host is running. */
	setvbuf(log_file, NULL, _IOLBF, 0);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
	return 0;
}
