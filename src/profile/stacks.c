// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Xen's image and a few live patches; a recording with more than this is not an honest one. */
#define TABLES_MAX 64u

/* The pages of code that Xen makes for each pCPU lie at the end of where it loads live patches,
 * pCPU 0's last (xen/arch/x86/smpboot.c, alloc_stub_page); there are 4095 pCPUs at most. */
#define STUBS_BYTES (4095ull * 4096)

struct xf_stacks {
	const struct xf_recording *recording;
	const struct xf_symbols *symbols;
	const struct xf_recording_livepatch *livepatches;
	size_t nr_livepatches;
	struct xf_unwind_table *tables[TABLES_MAX];
	size_t nr_tables;
	uint64_t text_start; /* Xen's own text */
	uint64_t text_end;
	uint64_t entry_start; /* of it, the part that enters and leaves Xen */
	uint64_t entry_end;
	uint64_t livepatch_start; /* where Xen loads live patches; both 0: not known */
	uint64_t livepatch_end;
};

static void find_text(struct xf_stacks *stacks)
{
	size_t nr;
	const struct xf_code *code = xf_recording_code(stacks->recording, &nr);
	const struct xf_symbol *start = xf_symbols_by_name(stacks->symbols, "_stextentry");
	const struct xf_symbol *end = xf_symbols_by_name(stacks->symbols, "_etextentry");

	stacks->text_start =
	        xf_recording_info_number(stacks->recording, "text.start", nr ? code[0].address : 0);
	stacks->text_end = xf_recording_info_number(
	        stacks->recording, "text.end", nr ? code[0].address + code[0].size : UINT64_MAX);
	stacks->livepatch_start = xf_recording_info_number(stacks->recording, "livepatch.start", 0);
	stacks->livepatch_end = xf_recording_info_number(stacks->recording, "livepatch.end", 0);
	if (start && end) {
		stacks->entry_start = start->address;
		stacks->entry_end = end->address;
	}
}

static int build_tables(struct xf_stacks *stacks, struct xf_error *error)
{
	size_t nr_entries, nr;
	uint64_t *entries = xf_symbols_entries(stacks->symbols, &nr_entries);
	const struct xf_code *code = xf_recording_code(stacks->recording, &nr);
	int result = 0;

	if (!entries)
		return xf_fail(error, -ENOMEM, "no memory for the recording's symbols");
	for (size_t i = 0; !result && i < nr && stacks->nr_tables < TABLES_MAX; i++) {
		struct xf_unwind_table *table = NULL;

		result = xf_unwind_table_build(&code[i], entries, nr_entries, &table, error);
		if (!result)
			stacks->tables[stacks->nr_tables++] = table;
		else if (result != -ENOMEM)
			result = 0; /* its frames end walks, visibly */
	}
	free(entries);
	return result;
}

int xf_stacks_new(const struct xf_recording *recording, struct xf_stacks **stacks,
                  struct xf_error *error)
{
	struct xf_stacks *made = calloc(1, sizeof(*made));
	int code;

	if (!made)
		return xf_fail(error, -ENOMEM, "no memory for the recording's stacks");
	made->recording = recording;
	made->symbols = xf_recording_symbols(recording);
	made->livepatches = xf_recording_livepatches(recording, &made->nr_livepatches);
	find_text(made);
	code = build_tables(made, error);
	if (code) {
		xf_stacks_free(made);
		return code;
	}
	*stacks = made;
	return 0;
}

void xf_stacks_free(struct xf_stacks *stacks)
{
	if (!stacks)
		return;
	for (size_t i = 0; i < stacks->nr_tables; i++)
		xf_unwind_table_free(stacks->tables[i]);
	free(stacks);
}

/* ---- Walking --------------------------------------------------------------------------------- */

/* Where Xen has no range of its entry code: the pieces that run before the switch to Xen's stack
   or after the switch away from it. */
static const char *const entry_names[] = {
        "lstar_enter",        "cstar_enter",
        "sysenter_entry",     "entry_int82",
        "entry_int80",        "int80_direct_trap",
        "restore_all_guest",  "restore_all_xen",
        "iret_exit_to_guest", "compat_restore_all_guest",
};

static bool is_entry(const struct xf_stacks *stacks, uint64_t rip)
{
	const struct xf_symbol *symbol;

	if (rip >= stacks->entry_start && rip < stacks->entry_end)
		return true;
	if (rip < stacks->text_start || rip >= stacks->text_end)
		return rip >> 63; /* a pCPU's own trampoline, which no symbol covers */
	symbol = xf_symbols_find(stacks->symbols, rip);
	for (size_t i = 0; symbol && i < sizeof(entry_names) / sizeof(entry_names[0]); i++) {
		if (strcmp(symbol->name, entry_names[i]) == 0)
			return true;
	}
	return false;
}

void xf_stacks_walk(const struct xf_stacks *stacks, const struct xf_record *record,
                    struct xf_stack *stack)
{
	const struct xf_sample *sample = &record->sample;
	struct xf_walk_input input = {.rip = sample->rip,
	                              .rsp = sample->rsp,
	                              .rbp = sample->rbp,
	                              .stack_end = sample->stack_end,
	                              .words = &record->storage[XF_SAMPLE_HEAD_BYTES / 8],
	                              .nr_words = record->nr_words};
	enum xf_unwind_reason reason = XF_UNWIND_END;

	stack->entering = false;
	stack->incomplete = NULL;
	if (sample->flags & XF_SAMPLE_FOREIGN_RSP) {
		/* The guest chose RSP: there is nothing to walk, and below entry code nothing is
		   missing. */
		stack->frames[0] = (struct xf_frame){.address = sample->rip, .interrupted = true};
		stack->nr = 1;
		stack->entering = is_entry(stacks, sample->rip);
		stack->incomplete = stack->entering ? NULL : "foreign-stack";
		return;
	}
	stack->nr = xf_unwind_walk((const struct xf_unwind_table *const *)stacks->tables,
	                           stacks->nr_tables, &input, stack->frames, XF_STACK_MAX, &reason);
	if (reason != XF_UNWIND_END)
		stack->incomplete = xf_unwind_reason_name(reason);
}

/* ---- Naming ---------------------------------------------------------------------------------- */

static const struct xf_recording_livepatch *find_livepatch(const struct xf_stacks *stacks,
                                                           uint64_t address)
{
	for (size_t i = 0; i < stacks->nr_livepatches; i++) {
		const struct xf_recording_livepatch *livepatch = &stacks->livepatches[i];

		if (address >= livepatch->address && address - livepatch->address < livepatch->size)
			return livepatch;
	}
	return NULL;
}

/* Return: the symbol of @address that lies in the same piece of text, NULL where there is none. */
static const struct xf_symbol *find_symbol(const struct xf_stacks *stacks,
                                           const struct xf_recording_livepatch *livepatch,
                                           uint64_t address)
{
	const struct xf_symbol *symbol = xf_symbols_find(stacks->symbols, address);

	if (!symbol)
		return NULL;
	if (livepatch)
		return symbol->address >= livepatch->address ? symbol : NULL;
	if (address < stacks->text_start || address >= stacks->text_end)
		return NULL;
	return symbol;
}

/* What is known of an address that neither a symbol nor a live patch of the recording covers. */
static void name_stranger(const struct xf_stacks *stacks, uint64_t address, struct xf_place *place)
{
	bool loaded = address >= stacks->livepatch_start && address < stacks->livepatch_end;

	place->kind = loaded ? XF_FRAME_XEN : XF_FRAME_UNKNOWN;
	if (loaded && stacks->livepatch_end - address <= STUBS_BYTES)
		snprintf(place->text, sizeof(place->text), "[run-time stub]");
	else
		snprintf(place->text, sizeof(place->text), "[%s 0x%" PRIx64 "]",
		         loaded ? "live patch" : "unknown", address);
}

void xf_stacks_name(const struct xf_stacks *stacks, struct xf_frame frame, bool entering,
                    struct xf_place *place)
{
	/* A call may be its function's last instruction: its return address belongs to the next. */
	uint64_t address = frame.interrupted ? frame.address : frame.address - 1;
	const struct xf_recording_livepatch *livepatch = find_livepatch(stacks, address);
	const struct xf_symbol *symbol = find_symbol(stacks, livepatch, address);

	place->livepatch = livepatch ? livepatch->name : NULL;
	place->kind = livepatch && strcmp(livepatch->name, XF_AGENT_NAME) == 0 ? XF_FRAME_AGENT
	                                                                       : XF_FRAME_XEN;
	place->offset = 0;
	place->name = place->text;
	if (symbol) {
		place->name = symbol->name;
		place->offset = frame.address - symbol->address;
	} else if (livepatch) {
		place->offset = frame.address - livepatch->address;
		snprintf(place->text, sizeof(place->text), "[%.90s]", livepatch->name);
	} else if (entering) {
		place->name = "[syscall entry]";
	} else {
		name_stranger(stacks, frame.address, place);
	}
}

uint64_t xf_sample_guest_rip(const struct xf_sample *sample)
{
	return sample->flags & XF_SAMPLE_AFTER_STGI ? sample->guest_rip : sample->rip;
}

const char *xf_sample_guest_name(const struct xf_sample *sample)
{
	return xf_sample_guest_rip(sample) >> 63 ? XF_GUEST_KERNEL_NAME : "[guest user]";
}
