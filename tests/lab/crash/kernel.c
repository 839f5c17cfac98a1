// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The crash kernel of the lab: what Xen jumps to when it crashes and kexec has given it something
 * to run. It says on the serial port that it runs, and what Xen has noted of each pCPU, and resets
 * the machine. It is entered in 64-bit mode, with page tables for nothing but itself.
 */
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>

#include "crash.h"

#define SERIAL_PORT     0x3f8u
#define SERIAL_STATUS   (SERIAL_PORT + 5)
#define SERIAL_CAN_SEND 0x20u
#define RESET_PORT      0xcf9u
#define RESET_NOW       6u
#define PAGE_IS_LARGE   0x83u /* 2 MiB, present, writable */
#define PAGE_IS_TABLE   3u
#define GIB_MAPPED      4u
/* Of struct elf_prstatus (linux/elfcore.h): the registers, of which RIP is the 17th. */
#define PRSTATUS_RIP    (112u + 16 * 8)

static uint64_t top_table[512] __attribute__((aligned(4096)));
static uint64_t gib_table[512] __attribute__((aligned(4096)));
static uint64_t mib_tables[GIB_MAPPED][512] __attribute__((aligned(4096)));
static char stack[4096] __attribute__((aligned(16), used));

static void out(uint16_t port, uint8_t byte)
{
	__asm__ volatile("outb %0, %1" : : "a"(byte), "d"(port));
}

static uint8_t in(uint16_t port)
{
	uint8_t byte;

	__asm__ volatile("inb %1, %0" : "=a"(byte) : "d"(port));
	return byte;
}

static void say(const char *text)
{
	for (; *text; text++) {
		while (!(in(SERIAL_STATUS)&SERIAL_CAN_SEND))
			;
		out(SERIAL_PORT, (uint8_t)*text);
	}
}

static void say_number(uint64_t number)
{
	char digits[17];

	for (unsigned int i = 0; i < 16; i++)
		digits[i] = "0123456789abcdef"[number >> (60 - 4 * i) & 15];
	digits[16] = '\0';
	say(digits);
}

/* Xen has mapped this image alone; its notes are anywhere. */
static void map_everything(void)
{
	top_table[0] = (uint64_t)(uintptr_t)gib_table | PAGE_IS_TABLE;
	for (uint64_t gib = 0; gib < GIB_MAPPED; gib++) {
		gib_table[gib] = (uint64_t)(uintptr_t)mib_tables[gib] | PAGE_IS_TABLE;
		for (uint64_t i = 0; i < 512; i++)
			mib_tables[gib][i] = gib << 30 | i << 21 | PAGE_IS_LARGE;
	}
	__asm__ volatile("mov %0, %%cr3" : : "r"(top_table) : "memory");
}

static bool is_core(const Elf64_Nhdr *note)
{
	const char *name = (const char *)(note + 1);

	return note->n_namesz == 5 && name[0] == 'C' && name[1] == 'O' && name[2] == 'R' &&
	       name[3] == 'E' && note->n_type == NT_PRSTATUS;
}

static void say_note(uint64_t pcpu, uint64_t address, uint64_t size)
{
	const Elf64_Nhdr *note = (const Elf64_Nhdr *)(uintptr_t)address;
	const size_t at = sizeof(*note) + 8; /* the name, with its padding */

	say("crash kernel: pCPU ");
	say_number(pcpu);
	if (size < at + PRSTATUS_RIP + 8 || !is_core(note)) {
		say(" has no note\r\n");
		return;
	}
	say(" was at ");
	say_number(*(const uint64_t *)(uintptr_t)(address + at + PRSTATUS_RIP));
	say("\r\n");
}

__attribute__((used, noreturn)) static void run(void)
{
	const struct crash_table *table = (const struct crash_table *)(uintptr_t)CRASH_TABLE;

	map_everything();
	say("\r\ncrash kernel: runs\r\n");
	for (uint64_t i = 0; i < table->nr && i < CRASH_MAX_PCPUS; i++)
		say_note(i, table->notes[i].start, table->notes[i].size);
	say("crash kernel: ends\r\n");
	out(RESET_PORT, RESET_NOW);
	for (;;)
		__asm__ volatile("hlt");
}

__asm__(".globl _start\n"
        "_start:\n"
        "	cli\n"
        "	lea stack+4096(%rip), %rsp\n"
        "	call run\n");
