// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The oracle: a plugin for the lab's emulator that sees every call and return that Xen executes and
 * so knows, at each NMI, the true chain of callers. It shares nothing with xenflame: it looks at
 * opcodes, stack slots and nothing else. README.md tells how tests compare the two.
 *
 *     qemu-system-x86_64 -plugin liboracle.so,nmi=ADDRESS,out=FILE ...
 *
 * nmi= is the address of Xen's NMI entry (its symbol entry_NMI, or nmi). For each CPU a list of the
 * slots that calls have pushed and that have not been given back, by falling address: a push at an
 * address, or a return from one, proves that all below it is free. Code that leaves its stack
 * without returning leaves entries behind until the next call higher up; a sample's RSP tells them
 * apart. An exception stack lies below the ordinary stack of its CPU, so that what an NMI calls
 * does no harm.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "qemu_plugin.h"

#define EXPORT   __attribute__((visibility("default")))
#define CPUS_MAX 64u

/* Xen's text, static data and live patches: "Xen text, static data, bss" in xen/arch/x86's map of
   the address space. */
#define XEN_START 0xffff82d040000000u
#define XEN_END   0xffff82d080000000u

struct cpu {
	struct oracle_head head; /* followed in the log by the calls, innermost first */
	struct oracle_call calls[ORACLE_CALLS]; /* outermost first */
	bool begun; /* a call or return, whose access to the stack is to come */
	bool overflowed;
};

static struct cpu cpus[CPUS_MAX];
static uint64_t nmi_entry;
static FILE *log_file;

EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

/* All slots up to @address are free. */
static void give_back(struct cpu *cpu, uint64_t address)
{
	while (cpu->head.nr_calls && cpu->calls[cpu->head.nr_calls - 1].slot <= address)
		cpu->head.nr_calls--;
}

static void on_begin(unsigned int number, void *data)
{
	(void)data;
	cpus[number % CPUS_MAX].begun = true;
}

/*
 * Is this the instruction's own access? QEMU 7.2 confuses reads and writes where one asks for only
 * one of them, and reports what its helpers access afterwards (the stack, when an interrupt is
 * delivered) as the instruction's: so ask for both, and take the first that it can be.
 */
static bool is_own(struct cpu *cpu, qemu_plugin_meminfo_t info, bool store)
{
	if (!cpu->begun || qemu_plugin_mem_is_store(info) != store ||
	    qemu_plugin_mem_size_shift(info) != 3)
		return false;
	cpu->begun = false;
	return true;
}

static void on_call(unsigned int number, qemu_plugin_meminfo_t info, uint64_t slot, void *data)
{
	struct cpu *cpu = &cpus[number % CPUS_MAX];

	if (!is_own(cpu, info, true))
		return;
	give_back(cpu, slot);
	if (cpu->head.nr_calls == ORACLE_CALLS) {
		cpu->overflowed = true;
		return;
	}
	cpu->calls[cpu->head.nr_calls++] =
	        (struct oracle_call){.slot = slot, .returns_to = (uintptr_t)data};
}

static void on_return(unsigned int number, qemu_plugin_meminfo_t info, uint64_t slot, void *data)
{
	struct cpu *cpu = &cpus[number % CPUS_MAX];

	(void)data;
	if (is_own(cpu, info, false))
		give_back(cpu, slot);
}

static void on_nmi(unsigned int number, void *data)
{
	struct cpu *cpu = &cpus[number % CPUS_MAX];
	struct oracle_call calls[ORACLE_CALLS];
	unsigned int nr = cpu->head.nr_calls;

	(void)data;
	cpu->head.magic = ORACLE_MAGIC;
	cpu->head.cpu = (uint16_t)number;
	for (unsigned int i = 0; i < nr; i++)
		calls[i] = cpu->calls[nr - 1 - i];
	flockfile(log_file);
	fwrite(&cpu->head, sizeof(cpu->head), 1, log_file);
	fwrite(calls, sizeof(calls[0]), nr, log_file);
	funlockfile(log_file);
	cpu->head.nmi++;
}

enum kind {
	OTHER,
	CALL,
	RETURN,
};

/*
 * A call to a place some bytes ahead is none: it pushes a word for the sake of the word (a
 * retpoline) or of the processor's return predictor. Nothing is to return to it.
 */
static bool only_pushes(const uint8_t *displacement)
{
	int32_t distance;

	memcpy(&distance, displacement, sizeof(distance));
	return distance >= 0 && distance < 32;
}

/* Near calls and returns of 64-bit code: Intel's and AMD's manuals, opcode map. */
static enum kind kind_of(const uint8_t *bytes, size_t size)
{
	size_t at = 0;

	while (at < size && (bytes[at] == 0x66 || bytes[at] == 0xf2 || bytes[at] == 0xf3 ||
	                     bytes[at] == 0x2e || bytes[at] == 0x3e))
		at++;
	if (at < size && (bytes[at] & 0xf0) == 0x40)
		at++;
	if (at >= size)
		return OTHER;
	if (bytes[at] == 0xe8 && size - at >= 5)
		return only_pushes(bytes + at + 1) ? OTHER : CALL;
	if (bytes[at] == 0xff && at + 1 < size && (bytes[at + 1] >> 3 & 7) == 2)
		return CALL;
	return bytes[at] == 0xc3 || bytes[at] == 0xc2 ? RETURN : OTHER;
}

static void watch(struct qemu_plugin_insn *insn)
{
	uint64_t address = qemu_plugin_insn_vaddr(insn);
	size_t size = qemu_plugin_insn_size(insn);
	enum kind kind = kind_of(qemu_plugin_insn_data(insn), size);

	if (kind != OTHER) {
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_begin, QEMU_PLUGIN_CB_NO_REGS,
		                                       NULL);
		qemu_plugin_register_vcpu_mem_cb(insn, kind == CALL ? on_call : on_return,
		                                 QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
		                                 (void *)(uintptr_t)(address + size));
	}
	if (address == nmi_entry)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_nmi, QEMU_PLUGIN_CB_NO_REGS, NULL);
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
	size_t nr = qemu_plugin_tb_n_insns(block);

	(void)id;
	for (size_t i = 0; i < nr; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);
		uint64_t address = qemu_plugin_insn_vaddr(insn);

		if (address >= XEN_START && address < XEN_END)
			watch(insn);
	}
}

static void on_exit_of_qemu(qemu_plugin_id_t id, void *data)
{
	(void)id;
	(void)data;
	for (unsigned int i = 0; i < CPUS_MAX; i++) {
		if (cpus[i].overflowed)
			fprintf(stderr, "oracle: CPU %u had more than %u calls\n", i, ORACLE_CALLS);
	}
	fclose(log_file);
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++) {
		if (strncmp(argv[i], "nmi=", 4) == 0)
			nmi_entry = strtoull(argv[i] + 4, NULL, 16);
		else if (strncmp(argv[i], "out=", 4) == 0)
			log_file = fopen(argv[i] + 4, "we");
	}
	if (!nmi_entry || !log_file) {
		fprintf(stderr, "oracle: wants nmi=ADDRESS,out=FILE\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
	return 0;
}
