// SPDX-License-Identifier: GPL-2.0-or-later
#include "rivals.h"

#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "xenflame/sample.h"

#define TID         1
#define MAX_FRAMES  64
#define STACK_WORDS 4096

/* DWARF's numbers of registers. */
enum {
	DWARF_RBP = 6,
	DWARF_RSP = 7,
	DWARF_RIP = 16,
};

struct bench_dwfl {
	Dwfl *dwfl;
	const struct xf_walk_input *input; /* whose stack is the thread's at the moment */
	uint64_t stack[STACK_WORDS];
	uint64_t frames[MAX_FRAMES];
	size_t nr_frames;
};

static pid_t next_thread(Dwfl *dwfl, void *data, void **thread)
{
	(void)dwfl;
	if (*thread != NULL)
		return 0;
	*thread = data;
	return TID;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *data, void **thread)
{
	(void)dwfl;
	*thread = data;
	return tid == TID;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *data)
{
	struct bench_dwfl *bench = data;
	uint64_t distance = address - bench->input->rsp;

	(void)dwfl;
	if (distance / 8 >= STACK_WORDS || address >= bench->input->stack_end)
		return false;
	*word = bench->stack[distance / 8];
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *data)
{
	struct bench_dwfl *bench = data;
	Dwarf_Word registers[DWARF_RIP + 1] = {0};

	registers[DWARF_RBP] = bench->input->rbp;
	registers[DWARF_RSP] = bench->input->rsp;
	registers[DWARF_RIP] = bench->input->rip;
	dwfl_thread_state_register_pc(thread, bench->input->rip);
	return dwfl_thread_state_registers(thread, 0, DWARF_RIP + 1, registers);
}

static int keep_frame(Dwfl_Frame *frame, void *data)
{
	struct bench_dwfl *bench = data;
	Dwarf_Addr address;
	bool activation;

	if (bench->nr_frames == MAX_FRAMES || !dwfl_frame_pc(frame, &address, &activation) ||
	    address == 0)
		return DWARF_CB_ABORT;
	bench->frames[bench->nr_frames++] = address;
	return DWARF_CB_OK;
}

static int find_nothing(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                        const char *file, const char *link, GElf_Word crc, char **found)
{
	(void)module, (void)data, (void)name, (void)base;
	(void)file, (void)link, (void)crc, (void)found;
	return -1;
}

static const Dwfl_Callbacks files = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = find_nothing,
        .section_address = dwfl_offline_section_address,
};

static const Dwfl_Thread_Callbacks threads = {
        .next_thread = next_thread,
        .get_thread = get_thread,
        .memory_read = read_memory,
        .set_initial_registers = set_registers,
};

struct bench_dwfl *bench_dwfl_open(const char *path)
{
	struct bench_dwfl *bench = calloc(1, sizeof(*bench));

	if (bench == NULL)
		bench_fail("out of memory");
	bench->dwfl = dwfl_begin(&files);
	dwfl_report_begin(bench->dwfl);
	if (dwfl_report_elf(bench->dwfl, "xen", path, -1, 0, false) == NULL ||
	    dwfl_report_end(bench->dwfl, NULL, NULL) != 0 ||
	    !dwfl_attach_state(bench->dwfl, NULL, TID, &threads, bench))
		bench_fail("libdwfl, %s: %s", path, dwfl_errmsg(-1));
	return bench;
}

void bench_dwfl_close(struct bench_dwfl *bench)
{
	dwfl_end(bench->dwfl);
	free(bench);
}

/* libdwfl reads all registers of a frame, so it gets the whole stack, and not the words alone. */
static void lay_stack(struct bench_dwfl *bench, const struct xf_walk_input *input)
{
	bench->input = input;
	for (size_t i = 0; i < input->nr_words; i++)
		if (XF_WORD_SLOT(input->words[i]) < STACK_WORDS)
			bench->stack[XF_WORD_SLOT(input->words[i])] =
			        XF_WORD_VALUE(input->words[i]);
}

static void clear_stack(struct bench_dwfl *bench)
{
	for (size_t i = 0; i < bench->input->nr_words; i++)
		if (XF_WORD_SLOT(bench->input->words[i]) < STACK_WORDS)
			bench->stack[XF_WORD_SLOT(bench->input->words[i])] = 0;
}

static void walk(struct bench_dwfl *bench, const struct xf_walk_input *input)
{
	lay_stack(bench, input);
	bench->nr_frames = 0;
	dwfl_getthread_frames(bench->dwfl, TID, keep_frame, bench);
	clear_stack(bench);
}

size_t bench_dwfl_walk(struct bench_dwfl *bench, const struct bench_samples *samples)
{
	size_t count = 0;

	for (size_t i = 0; i < samples->count; i++) {
		walk(bench, &samples->inputs[i]);
		count += bench->nr_frames;
	}
	return count;
}

size_t bench_dwfl_agree(struct bench_dwfl *bench, const struct bench_samples *samples,
                        const struct xf_unwind_table *table)
{
	struct xf_frame frames[MAX_FRAMES];
	enum xf_unwind_reason reason;
	size_t same = 0;

	for (size_t i = 0; i < samples->count; i++) {
		size_t count =
		        xf_unwind_walk(&table, 1, &samples->inputs[i], frames, MAX_FRAMES, &reason);
		bool equal;

		walk(bench, &samples->inputs[i]);
		equal = count == bench->nr_frames;
		for (size_t j = 0; equal && j < count; j++)
			equal = frames[j].address == bench->frames[j];
		same += equal;
	}
	return same;
}
