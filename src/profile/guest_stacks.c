// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/guest_stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/guest_code.h"

/* At so many pieces of code, beside the kernel's own, can the words of a stack point. */
#define TABLES_MAX 24u

/* Where Linux has its image, which may be slid within it; its modules come after that, and are
 * slid by another amount, if at all (Documentation/x86/x86_64/mm.rst). */
#define KERNEL_IMAGE     0xffffffff80000000ull
#define KERNEL_IMAGE_END 0xffffffffc0000000ull

struct piece_of_code {
	const struct xf_code *code;
	struct xf_unwind_table *table; /* made when it is first needed; NULL: not yet, or never */
	bool tried;
};

struct xf_guest_kernel {
	const struct xf_recording_kernel *recorded;
	struct xf_symbols *symbols;
	struct xf_unwind_table *orc;  /* NULL: there is none, or none that makes sense */
	struct piece_of_code *pieces; /* by address; none overlaps the one before it */
	size_t nr_pieces;
	/* Linux's x86 switches stacks right before the first of these functions, and tells perf of
	   it in the second one, a little later; of size 0: not known. */
	struct xf_code switch_to;
	struct xf_code telling;
};

struct xf_guest_stacks {
	const struct xf_recording *recording;
	struct xf_guest_kernel *kernels[XF_MAX_KERNELS];
	size_t nr_kernels;
};

/* ---- Kernels --------------------------------------------------------------------------------- */

static int compare_pieces(const void *left, const void *right)
{
	const struct piece_of_code *a = left;
	const struct piece_of_code *b = right;

	if (a->code->address != b->code->address)
		return a->code->address < b->code->address ? -1 : 1;
	/* Of several for one address the last one that was recorded counts. */
	return a->code > b->code ? -1 : a->code < b->code;
}

static int sort_pieces(struct xf_guest_kernel *kernel)
{
	const struct xf_recording_kernel *recorded = kernel->recorded, *base = recorded->base;
	size_t of_base = base ? base->nr_code : 0, nr = recorded->nr_code + of_base, kept = 0;

	if (!nr)
		return 0;
	kernel->pieces = calloc(nr, sizeof(*kernel->pieces));
	if (!kernel->pieces)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		kernel->pieces[i].code =
		        i < of_base ? &base->code[i] : &recorded->code[i - of_base];
	qsort(kernel->pieces, nr, sizeof(*kernel->pieces), compare_pieces);
	for (size_t i = 0; i < nr; i++) {
		const struct xf_code *before = kept ? kernel->pieces[kept - 1].code : NULL;

		if (!before || kernel->pieces[i].code->address - before->address >= before->size)
			kernel->pieces[kept++] = kernel->pieces[i];
	}
	kernel->nr_pieces = kept;
	return 0;
}

static void free_kernel(struct xf_guest_kernel *kernel)
{
	if (!kernel)
		return;
	for (size_t i = 0; i < kernel->nr_pieces; i++)
		xf_unwind_table_free(kernel->pieces[i].table);
	free(kernel->pieces);
	xf_unwind_table_free(kernel->orc);
	xf_symbols_free(kernel->symbols);
	free(kernel);
}

static struct xf_code find_function(const struct xf_symbols *symbols, const char *name)
{
	const struct xf_symbol *found = xf_symbols_by_name(symbols, name);
	struct xf_code function = {0};

	if (found) {
		function.address = found->address;
		function.size =
		        xf_symbols_extent(symbols, xf_symbols_first(symbols, found->address));
	}
	return function;
}

static int make_kernel(const struct xf_recording_kernel *recorded, struct xf_guest_kernel **kernel)
{
	const struct xf_recording_kernel *table =
	        recorded->base && !recorded->orc.entries ? recorded->base : recorded;
	struct xf_guest_kernel *made = calloc(1, sizeof(*made));
	int code = made ? 0 : -ENOMEM;

	if (!code) {
		made->recorded = recorded;
		made->symbols = xf_kernels_symbols(recorded);
		code = made->symbols ? sort_pieces(made) : -ENOMEM;
	}
	if (!code) {
		made->switch_to = find_function(made->symbols, "__switch_to");
		made->telling = find_function(made->symbols, "__perf_event_task_sched_in");
	}
	/* One that makes no sense ends walks, visibly. */
	if (!code && table->orc.entries &&
	    xf_orc_table(&table->orc, &table->orc_code, &made->orc, NULL) == -ENOMEM)
		code = -ENOMEM;
	if (code) {
		free_kernel(made);
		return code;
	}
	*kernel = made;
	return 0;
}

static int find_kernel(struct xf_guest_stacks *stacks, const struct xf_recording_kernel *recorded,
                       struct xf_guest_kernel **kernel)
{
	int code;

	for (size_t i = 0; i < stacks->nr_kernels; i++) {
		if (stacks->kernels[i]->recorded == recorded) {
			*kernel = stacks->kernels[i];
			return 0;
		}
	}
	code = make_kernel(recorded, kernel);
	if (!code)
		stacks->kernels[stacks->nr_kernels++] = *kernel;
	return code;
}

struct xf_guest_stacks *xf_guest_stacks_new(const struct xf_recording *recording)
{
	struct xf_guest_stacks *stacks = calloc(1, sizeof(*stacks));

	if (stacks)
		stacks->recording = recording;
	return stacks;
}

void xf_guest_stacks_free(struct xf_guest_stacks *stacks)
{
	if (!stacks)
		return;
	for (size_t i = 0; i < stacks->nr_kernels; i++)
		free_kernel(stacks->kernels[i]);
	free(stacks);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* Return: the piece of code that @address lies in, NULL where none does. */
static struct piece_of_code *find_piece(const struct xf_guest_kernel *kernel, uint64_t address)
{
	size_t low = 0;
	size_t high = kernel->nr_pieces;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (kernel->pieces[middle].code->address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low ||
	    address - kernel->pieces[low - 1].code->address >= kernel->pieces[low - 1].code->size)
		return NULL;
	return &kernel->pieces[low - 1];
}

/* The compiler puts what it thinks unlikely apart, as NAME.cold: it is jumped to, with NAME's
 * frame, and is no function. */
static bool is_function(const struct xf_symbol *symbol)
{
	return symbol->name[0] && strchr("tTwW?", symbol->type) && !strstr(symbol->name, ".cold");
}

/* Return: where functions begin in @code, *@nr of them, to be freed; NULL without memory. */
static uint64_t *list_entries(const struct xf_guest_kernel *kernel, const struct xf_code *code,
                              size_t *nr)
{
	size_t first = xf_symbols_first(kernel->symbols, code->address);
	size_t end = xf_symbols_first(kernel->symbols, code->address + code->size);
	uint64_t *entries = calloc(end - first + 1, sizeof(*entries));

	*nr = 0;
	for (size_t i = first; entries && i < end; i++) {
		const struct xf_symbol *symbol = xf_symbols_at(kernel->symbols, i);

		if (is_function(symbol))
			entries[(*nr)++] = symbol->address;
	}
	return entries;
}

static int make_table(const struct xf_guest_kernel *kernel, struct piece_of_code *piece)
{
	size_t nr;
	uint64_t *entries = list_entries(kernel, piece->code, &nr);
	int code = -ENOMEM;

	if (entries)
		code = xf_unwind_table_build(piece->code, entries, nr, &piece->table, NULL);
	free(entries);
	piece->tried = true;
	return code == -ENOMEM ? code : 0; /* otherwise it ends walks, visibly */
}

/* The tables that one walk may need. */
struct tables {
	const struct xf_unwind_table *at[TABLES_MAX + 1];
	size_t nr;
};

/* Adds the table for what lies at @address, where it is one of the kernel's pieces of code. */
static int add_table(const struct xf_guest_kernel *kernel, struct tables *tables, uint64_t address)
{
	struct piece_of_code *piece = find_piece(kernel, address);
	int code = 0;

	if (!piece)
		return 0;
	if (!piece->tried)
		code = make_table(kernel, piece);
	if (code || !piece->table || tables->nr == TABLES_MAX)
		return code;
	for (size_t i = 0; i < tables->nr; i++) {
		if (tables->at[i] == piece->table)
			return 0;
	}
	tables->at[tables->nr++] = piece->table;
	return 0;
}

/* ---- Walking --------------------------------------------------------------------------------- */

static bool is_in_image(uint64_t address)
{
	return address >= KERNEL_IMAGE && address < KERNEL_IMAGE_END;
}

/* What is captured of a guest has its own addresses; names and tables have the kernel's. */
static uint64_t unslide(uint64_t address, uint64_t slide)
{
	return is_in_image(address) ? address - slide : address;
}

static void unslide_piece(struct xf_guest_piece *piece, uint64_t slide)
{
	struct xf_guest_stack *stack = &piece->stack;

	stack->rip = unslide(stack->rip, slide);
	stack->rsp = unslide(stack->rsp, slide);
	stack->rbp = unslide(stack->rbp, slide);
	stack->end = unslide(stack->end, slide);
	for (unsigned int i = 0; i < piece->nr_words; i++)
		stack->words[i] = XF_WORD(XF_WORD_SLOT(stack->words[i]),
		                          unslide(XF_WORD_VALUE(stack->words[i]), slide));
}

/* A sample's stacks, and what a walk wants to know of them. */
struct captured {
	struct xf_guest_piece pieces[XF_MAX_GUEST_STACKS];
	struct xf_walk_input inputs[XF_MAX_GUEST_STACKS];
	size_t nr;
	size_t nr_kernel; /* of the kernel's, which come first */
};

static void read_pieces(const struct xf_record *record, uint64_t slide, struct captured *captured)
{
	captured->nr = record->guest.nr;
	captured->nr_kernel = 0;
	for (unsigned int i = 0; i < record->guest.nr; i++) {
		struct xf_guest_piece *piece = &captured->pieces[i];

		xf_guest_pieces_read(&record->guest, i, piece);
		if (piece->stack.mode == XF_GUEST_KERNEL && captured->nr_kernel == i) {
			unslide_piece(piece, slide);
			captured->nr_kernel++;
		}
		captured->inputs[i] = (struct xf_walk_input){.rip = piece->stack.rip,
		                                             .rsp = piece->stack.rsp,
		                                             .rbp = piece->stack.rbp,
		                                             .stack_end = piece->stack.end,
		                                             .words = piece->stack.words,
		                                             .nr_words = piece->nr_words};
	}
}

/* Of a word that may be a return address, or that of an instruction that was interrupted. */
static int add_tables(const struct xf_guest_kernel *kernel, struct tables *tables, uint64_t word)
{
	int code = add_table(kernel, tables, word - 1);

	return code ? code : add_table(kernel, tables, word);
}

static int find_tables(const struct xf_guest_kernel *kernel, const struct captured *captured,
                       struct tables *tables)
{
	int code = 0;

	tables->nr = 0;
	for (size_t i = 0; !code && kernel->nr_pieces && i < captured->nr_kernel; i++) {
		const struct xf_walk_input *input = &captured->inputs[i];

		code = add_table(kernel, tables, input->rip);
		for (size_t j = 0; !code && j < input->nr_words; j++)
			code = add_tables(kernel, tables, XF_WORD_VALUE(input->words[j]));
	}
	/* Last: the pieces are what is there now, in place of what the kernel was built with. */
	if (kernel->orc)
		tables->at[tables->nr++] = kernel->orc;
	return code;
}

/* The stack of a process below the kernel's @used stacks, where @known to be there or captured. */
static void find_user(const struct captured *captured, size_t used, bool known,
                      struct xf_guest_trace *trace)
{
	bool is_there = used < captured->nr && captured->pieces[used].stack.mode == XF_GUEST_USER;

	trace->user = known || is_there;
	trace->user_piece = (unsigned int)used;
	if (is_there)
		trace->user_rip = captured->pieces[used].stack.rip;
}

/*
 * Return: whether the stack really ends where Linux says so. Up to 6.3 it says so of the thunks for
 * indirect calls, too, whatever has called them: there it only does not know.
 */
static bool is_end(const struct xf_guest_trace *trace)
{
	struct xf_place place;

	xf_guest_stacks_name(trace, trace->frames[trace->nr - 1], "", &place);
	return !strstr(place.name, "_indirect_") || !strstr(place.name, "thunk");
}

static enum xf_switching find_switching(const struct xf_guest_trace *trace)
{
	const struct xf_guest_kernel *kernel = trace->kernel;

	for (size_t i = 0; i < trace->nr; i++) {
		uint64_t address = trace->frames[i].address - !trace->frames[i].interrupted;

		if (address - kernel->switch_to.address < kernel->switch_to.size)
			return XF_SWITCH_UNTOLD;
		if (address - kernel->telling.address < kernel->telling.size)
			return XF_SWITCH_TOLD;
	}
	return XF_NOT_SWITCHING;
}

static void walk_kernel(const struct captured *captured, const struct tables *tables,
                        struct xf_guest_trace *trace)
{
	enum xf_unwind_reason reason = XF_UNWIND_END;
	size_t used;

	trace->nr =
	        xf_unwind_walk_kernel(tables->at, tables->nr, captured->inputs, captured->nr_kernel,
	                              trace->frames, XF_GUEST_STACK_MAX, &used, &reason);
	trace->switching = find_switching(trace);
	for (size_t i = 0; i < trace->nr; i++)
		if (is_in_image(trace->frames[i].address))
			trace->frames[i].address += trace->slide;
	if (reason == XF_UNWIND_END && !is_end(trace))
		reason = XF_UNWIND_NOT_DESCRIBED;
	/* Where a stack ends, code that enters the kernel has a process below it; a thread of the
	   kernel's own has none. */
	if (reason == XF_UNWIND_USER_MODE || reason == XF_UNWIND_END)
		find_user(captured, used, reason == XF_UNWIND_USER_MODE, trace);
	else
		trace->incomplete = xf_unwind_reason_name(reason);
}

/* The frames of a kernel that is not known, or whose innermost stack has been lost. */
static void take_innermost(const struct captured *captured, struct xf_guest_trace *trace)
{
	uint64_t rip = captured->inputs[0].rip;

	trace->incomplete = rip ? "kernel-not-known" : "innermost-stack-lost";
	if (rip)
		trace->frames[trace->nr++] = (struct xf_frame){.address = rip, .interrupted = true};
}

/* Finds the kernel that was running. Return: 0, or -ENOMEM. */
static int begin_trace(struct xf_guest_stacks *stacks, const struct xf_recording *recording,
                       const struct xf_sample *sample, struct xf_guest_trace *trace)
{
	const struct xf_recording_kernel_of *said =
	        xf_kernels_said_of(xf_recording_kernels(recording), sample->domid, sample->tsc);
	const struct xf_recording_kernel *recorded = NULL;
	struct xf_guest_kernel *kernel = NULL;
	int code = 0;

	if (said)
		recorded = xf_kernels_find(xf_recording_kernels(stacks->recording), said->kernel);
	if (recorded)
		code = find_kernel(stacks, recorded, &kernel);
	trace->nr = 0;
	trace->incomplete = NULL;
	trace->switching = XF_NOT_SWITCHING;
	trace->user = false;
	trace->user_rip = 0;
	trace->user_piece = 0;
	trace->kernel = kernel;
	trace->slide = kernel ? said->slide : 0;
	return code;
}

int xf_guest_stacks_walk_of(struct xf_guest_stacks *stacks, const struct xf_recording *recording,
                            const struct xf_record *record, struct xf_guest_trace *trace)
{
	struct captured captured;
	struct tables tables;
	int code = begin_trace(stacks, recording, &record->sample, trace);

	if (code)
		return code;
	read_pieces(record, trace->slide, &captured);
	if (!captured.nr_kernel) {
		find_user(&captured, 0, true, trace);
	} else if (!trace->kernel || !captured.inputs[0].rip) {
		take_innermost(&captured, trace);
	} else {
		code = find_tables(trace->kernel, &captured, &tables);
		if (!code)
			walk_kernel(&captured, &tables, trace);
	}
	return code;
}

int xf_guest_stacks_walk(struct xf_guest_stacks *stacks, const struct xf_record *record,
                         struct xf_guest_trace *trace)
{
	return xf_guest_stacks_walk_of(stacks, stacks->recording, record, trace);
}

/* ---- Naming ---------------------------------------------------------------------------------- */

void xf_guest_stacks_name(const struct xf_guest_trace *trace, struct xf_frame frame,
                          const char *domain, struct xf_place *place)
{
	uint64_t address = unslide(frame.address, trace->slide);
	const struct xf_symbol *symbol = NULL;

	/* A call may be its function's last instruction: its return address belongs to the next. */
	if (trace->kernel)
		symbol = xf_symbols_find(trace->kernel->symbols,
		                         frame.interrupted ? address : address - 1);
	place->kind = XF_FRAME_KERNEL;
	place->livepatch = NULL;
	place->offset = 0;
	place->name = place->text;
	if (symbol) {
		place->name = symbol->name;
		place->offset = address - symbol->address;
		return;
	}
	snprintf(place->text, sizeof(place->text), "[%.60s kernel]+0x%" PRIx64, domain,
	         frame.address);
}

uint64_t xf_guest_stacks_code(const struct xf_guest_stacks *stacks,
                              const struct xf_guest_trace *trace, struct xf_frame frame)
{
	const struct xf_kernels *kernels = xf_recording_kernels(stacks->recording);
	uint64_t address = unslide(frame.address, trace->slide) - !frame.interrupted;

	if (!trace->kernel || address < XF_GUEST_CODE_KERNEL_HALF)
		return 0;
	return xf_guest_code_address(
	        xf_guest_code_of_kernel((size_t)(trace->kernel->recorded - kernels->kernels)),
	        xf_guest_code_offset(address));
}

bool xf_guest_switched_away(const struct xf_recording *recording, const struct xf_sample *sample)
{
	return (sample->flags & XF_SAMPLE_SWITCHED_AWAY) && !(sample->flags & XF_SAMPLE_IDLE) &&
	       xf_recording_reads_guest(recording, sample->domid);
}
