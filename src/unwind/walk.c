// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The walk over captured words. Nothing captured is trusted: every step goes up the stack and ends
 * inside it, so that a walk ends whatever the words say.
 */
#include "unwind/table.h"
#include "xenflame/sample.h"

/* RSP may stand this far above the stack's end, in code that is still pushing the guest's frame. */
#define ENTRY_ROOM      1024u
/* What the processor pushes for an interrupt: RIP, CS, RFLAGS, RSP, SS. */
#define INTERRUPT_BYTES 40u
#define INTERRUPT_RSP   24u

/* A captured word can have so many different places. */
#define NR_SLOTS 65536u

/*
 * Linux leaves the registers with which user code entered it at the top of its task's stack, what
 * the processor pushes last; or, since 6.9 where FRED is configured, 16 bytes below it
 * (arch/x86/include/asm/thread_info.h, TOP_OF_KERNEL_STACK_PADDING).
 */
#define KERNEL_PADDING 16u
/* Its text and its modules lie in the upper 2 GiB (Documentation/x86/x86_64/mm.rst). */
#define KERNEL_TEXT    0xffffffff80000000ull

/* So far apart can two places of one patched sequence be. */
#define STUFFING_BYTES 128u

struct walk {
	const struct xf_unwind_table *const *tables;
	size_t nr_tables;
	xf_unwind_find_row_t *find; /* of a process: in place of the tables */
	void *context;
	const struct xf_walk_input *input;
	size_t nr_more; /* stacks that come after it: those that a guest's kernel was on before */
	bool kernel;    /* a guest's, not Xen */
	uint64_t room;  /* RSP may stand so far above the stack's end */
	const uint64_t *word; /* the first captured one at or above @rsp */
	uint64_t rip, rsp, rbp;
	bool rbp_known;
	bool interrupted;
	struct xf_frame *frames;
	size_t count, max;
};

/* Return: the row for @address, NULL where no table covers it. */
static const struct xf_unwind_row *row_at(const struct walk *walk, uint64_t address)
{
	const struct xf_unwind_table *const *table = walk->tables;
	const struct xf_unwind_table *const *end = table + walk->nr_tables;

	while (table < end && address - (*table)->address >= (*table)->size)
		table++;
	return table < end ? xf_table_at(*table, address - (*table)->address) : NULL;
}

/* Return: the row for the walk's present address, NULL where no table covers it. */
static const struct xf_unwind_row *row_here(const struct walk *walk)
{
	/* A return address may lie behind a function whose last instruction is the call. */
	uint64_t address = walk->rip - !walk->interrupted;

	return walk->find ? walk->find(walk->context, address) : row_at(walk, address);
}

/*
 * Return: the first captured word at or above the stack's word @address, the end if there is none.
 * It is one of the next few, unpredictably which, so that three are compared at once.
 */
static const uint64_t *seek(const struct walk *walk, uint64_t address)
{
	const uint64_t *word = walk->word, *end = walk->input->words + walk->input->nr_words;
	uint64_t slot = (address - walk->input->rsp) / 8;
	/* What has this slot or a later one is no less, whatever its value. */
	uint64_t least = slot < NR_SLOTS ? XF_WORD(slot, 0) : UINT64_MAX;

	for (; end - word >= 3; word += 3) {
		unsigned int below = (word[0] < least) + (word[1] < least) + (word[2] < least);

		if (below < 3)
			return word + below;
	}
	while (word < end && *word < least)
		word++;
	return word;
}

/* Reads the stack's word at @address, whose place is at @word. Return: false where another word, or
 * none, was captured. */
static bool read_at(const struct walk *walk, const uint64_t *word, uint64_t address,
                    uint64_t *value)
{
	if (word == walk->input->words + walk->input->nr_words ||
	    XF_WORD_SLOT(*word) * 8ull != address - walk->input->rsp)
		return false;
	*value = XF_WORD_VALUE(*word);
	return true;
}

/* Reads the stack's word at @address. Return: false where it was not captured. */
static bool read_word(const struct walk *walk, uint64_t address, uint64_t *value)
{
	if (address < walk->rsp || address >= walk->input->stack_end)
		return false;
	return read_at(walk, seek(walk, address), address, value);
}

/* Moves up to @rsp: words below it are of no more use. */
static void move_to(struct walk *walk, uint64_t rsp)
{
	walk->word = seek(walk, rsp);
	walk->rsp = rsp;
}

/* Finds the frame's base. Return: XF_UNWIND_END, which here means that it was found, or why not. */
static enum xf_unwind_reason find_base(const struct walk *walk, const struct xf_unwind_row *row,
                                       uint64_t *base)
{
	uint64_t from = walk->rsp;

	if (row->base_register == XF_REG_RBP) {
		if (!walk->rbp_known)
			return XF_UNWIND_FRAME_POINTER_UNKNOWN;
		from = walk->rbp;
	} else if (row->base_register != XF_REG_RSP) {
		return XF_UNWIND_REGISTER_UNKNOWN;
	}
	*base = from + (int64_t)row->base_offset;
	if (row->base_rule == XF_BASE_WORD) {
		if (!read_word(walk, *base, base))
			return XF_UNWIND_WORD_MISSING;
		*base += (int64_t)row->base_addend;
	}
	return *base % 8 != 0 ? XF_UNWIND_MISALIGNED : XF_UNWIND_END;
}

/* The caller's RBP, as far as the captured words tell it. */
static void recover_rbp(struct walk *walk, const struct xf_unwind_row *row, uint64_t base)
{
	uint64_t from = base;

	switch ((enum xf_rbp_rule)row->rbp_rule) {
	case XF_RBP_SAME:
		return;
	case XF_RBP_AT_BASE:
		break;
	case XF_RBP_AT_RSP:
		from = walk->rsp;
		break;
	case XF_RBP_AT_RBP:
		from = walk->rbp;
		if (walk->rbp_known)
			break;
		return;
	default:
		walk->rbp_known = false;
		return;
	}
	walk->rbp_known = read_word(walk, from + (int64_t)row->rbp_offset, &walk->rbp);
}

static bool emit(struct walk *walk)
{
	if (walk->count == walk->max)
		return false;
	walk->frames[walk->count++] = (struct xf_frame){walk->rip, walk->interrupted};
	return true;
}

static enum xf_unwind_reason missing(const struct walk *walk, enum xf_unwind_reason reason)
{
	return walk->input->nr_words == 0 ? XF_UNWIND_STACK_NOT_CAPTURED : reason;
}

/* Steps out of a called function. Return: whether to go on; else *@reason. */
static bool step_call(struct walk *walk, const struct xf_unwind_row *row, uint64_t base,
                      enum xf_unwind_reason *reason)
{
	uint64_t slot = base - 8;
	const uint64_t *word;

	/* Entered by a jump with a fresh stack: there is no caller. */
	if (slot >= walk->input->stack_end && slot - walk->input->stack_end < walk->room) {
		*reason = XF_UNWIND_END;
		return false;
	}
	if (slot < walk->rsp || slot >= walk->input->stack_end) {
		*reason = slot < walk->rsp ? XF_UNWIND_NOT_UPWARDS : XF_UNWIND_OUTSIDE_STACK;
		return false;
	}
	recover_rbp(walk, row, base);
	word = seek(walk, slot);
	if (!read_at(walk, word, slot, &walk->rip)) {
		*reason = missing(walk, XF_UNWIND_RETURN_ADDRESS_MISSING);
		return false;
	}
	walk->interrupted = false;
	walk->rsp = base;
	walk->word = word + 1;
	return true;
}

/* ---- From one of a kernel's stacks to the next ------------------------------------------------
 */

/* Goes on in the next stack, which the caller knows to be there, at its RSP. */
static void enter_next(struct walk *walk)
{
	walk->nr_more--;
	walk->input++;
	walk->word = walk->input->words;
	walk->rsp = walk->input->rsp;
}

/*
 * Linux keeps, in a word of its stacks for interrupts, RSP as it was on the stack that it left; the
 * frame's base counts from that. Return: whether @row finds its frame so, and it lies in the next
 * stack, in *@base.
 */
static bool leads_to_next(const struct walk *walk, const struct xf_unwind_row *row, uint64_t *base)
{
	const struct xf_walk_input *next = walk->input + 1;
	uint64_t at = walk->rsp + (int64_t)row->base_offset, word;

	if (walk->nr_more == 0 || next->rip != 0 || row->base_rule != XF_BASE_WORD ||
	    row->base_register != XF_REG_RSP)
		return false;
	/* It need not have been captured: it leads to the next stack, not into this one. Then it is
	   the topmost word, by which the capture found that stack. */
	if (read_word(walk, at, &word) ? word != next->rsp : at != walk->input->stack_end - 8)
		return false;
	*base = next->rsp + (int64_t)row->base_addend;
	return *base % 8 == 0;
}

/* Return: whether @base is where the user's registers lie that the kernel was entered with, and no
 * address of the kernel does. */
static bool is_user_frame(const struct walk *walk, uint64_t base)
{
	uint64_t left = walk->input->stack_end - base, rip;

	if (!walk->kernel || base < walk->rsp ||
	    (left != INTERRUPT_BYTES && left != INTERRUPT_BYTES + KERNEL_PADDING))
		return false;
	return !read_word(walk, base, &rip) || rip < KERNEL_TEXT;
}

/* What was interrupted went on on another stack, whose registers the capture took along. Return:
 * whether it is the next one. */
static bool resumes_in_next(struct walk *walk, bool rip_known, uint64_t rip)
{
	const struct xf_walk_input *next = walk->input + 1;

	if (walk->nr_more == 0 || (next->rip == 0 && !rip_known) ||
	    (next->rip != 0 && rip_known && next->rip != rip))
		return false;
	enter_next(walk);
	walk->rip = rip_known ? rip : next->rip;
	if (next->rip != 0) {
		walk->rbp = next->rbp;
		walk->rbp_known = true;
	}
	walk->interrupted = true;
	return true;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* Steps through an interrupt frame to what was interrupted. Return as step_call. */
static bool step_interrupt(struct walk *walk, const struct xf_unwind_row *row, uint64_t base,
                           enum xf_unwind_reason *reason)
{
	uint64_t end = walk->input->stack_end, rip, rsp;

	*reason = XF_UNWIND_END;
	/* The guest's own registers. */
	if (base >= end && base - end < walk->room)
		return false;
	*reason = XF_UNWIND_USER_MODE;
	if (is_user_frame(walk, base))
		return false;
	*reason = XF_UNWIND_NOT_UPWARDS;
	if (base < walk->rsp)
		return false;
	*reason = XF_UNWIND_OUTSIDE_STACK;
	if (base >= end || end - base < INTERRUPT_BYTES)
		return false;
	recover_rbp(walk, row, base);
	*reason = missing(walk, XF_UNWIND_INTERRUPTED_RIP_MISSING);
	if (!read_word(walk, base, &rip))
		return resumes_in_next(walk, false, 0);
	*reason = missing(walk, XF_UNWIND_INTERRUPTED_RSP_MISSING);
	if (!read_word(walk, base + INTERRUPT_RSP, &rsp))
		return resumes_in_next(walk, true, rip);
	walk->rip = rip;
	*reason = XF_UNWIND_MISALIGNED;
	if (rsp % 8 != 0)
		return false;
	*reason = XF_UNWIND_NOT_UPWARDS;
	if (rsp < base + INTERRUPT_BYTES)
		return false;
	*reason = XF_UNWIND_OUTSIDE_STACK;
	if (rsp >= end && rsp - end >= walk->room)
		return false;
	walk->interrupted = true;
	move_to(walk, rsp);
	return true;
}

/*
 * Entry code is patched at boot, and what the processor may need there, in place of no-operations,
 * is to fill its return stack: calls that go nowhere and leave their return addresses on the stack
 * for a moment. Those words point into the very filler that was interrupted; RSP was above them.
 */
static void skip_stuffing(struct walk *walk)
{
	uint64_t rip = walk->rip, word;

	while (read_word(walk, walk->rsp, &word) &&
	       word - rip + STUFFING_BYTES < 2ull * STUFFING_BYTES) {
		const struct xf_unwind_row *row;

		walk->rip = word;
		row = row_here(walk);
		walk->rip = rip;
		if (row == NULL || !row->filler)
			return;
		move_to(walk, walk->rsp + 8);
	}
}

/* What an address that no table covers is. In Xen no such word would have been captured unless it
 * points into hypervisor text or into this stack. */
static enum xf_unwind_reason foreign(const struct walk *walk)
{
	uint64_t end = walk->input->stack_end;

	if (walk->find)
		return XF_UNWIND_NOT_TEXT;
	if (walk->kernel)
		return walk->rip >= KERNEL_TEXT ? XF_UNWIND_NO_ROW : XF_UNWIND_NOT_TEXT;
	if (walk->count == 0 || (walk->rip >= walk->input->rsp && walk->rip < end + ENTRY_ROOM))
		return XF_UNWIND_NOT_TEXT;
	return XF_UNWIND_LIVEPATCH_TEXT;
}

/* Return: whether RSP stands where no frame can be; *@reason. */
static bool is_at_end(const struct walk *walk, const struct xf_unwind_row *row,
                      enum xf_unwind_reason *reason)
{
	uint64_t end = walk->input->stack_end;

	/* Where Linux, or a program, says that a stack ends, it does, wherever RSP is. */
	if (walk->rsp < end ||
	    ((walk->kernel || walk->find) && row != NULL && row->kind == XF_ROW_UNDEFINED))
		return false;
	*reason = walk->rsp - end < walk->room ? XF_UNWIND_END : XF_UNWIND_OUTSIDE_STACK;
	return true;
}

/* Steps out of the frame that @row describes. Return: whether to go on; else *@reason. */
static bool step_out(struct walk *walk, const struct xf_unwind_row *row,
                     enum xf_unwind_reason *reason)
{
	struct xf_unwind_row crossing;
	uint64_t base;

	if (walk->kernel && leads_to_next(walk, row, &base)) {
		enter_next(walk);
		crossing = *row;
		/* That word was on the stack that is left. */
		if (crossing.rbp_rule == XF_RBP_AT_RSP)
			crossing.rbp_rule = XF_RBP_UNKNOWN;
		row = &crossing;
	} else {
		*reason = find_base(walk, row, &base);
		if (*reason != XF_UNWIND_END)
			return false;
	}
	return row->kind == XF_ROW_CALL ? step_call(walk, row, base, reason)
	                                : step_interrupt(walk, row, base, reason);
}

/* One frame outwards. Return: whether to go on; else *@reason. */
static bool step(struct walk *walk, enum xf_unwind_reason *reason)
{
	const struct xf_unwind_row *row = row_here(walk);

	*reason = row == NULL ? foreign(walk) : XF_UNWIND_END;
	/* A word that cannot be code is no frame; code that no table knows is the last one. */
	if (*reason == XF_UNWIND_NOT_TEXT && walk->count != 0)
		return false;
	if (!emit(walk)) {
		*reason = XF_UNWIND_TOO_DEEP;
		return false;
	}
	if (row != NULL && row->filler && walk->interrupted)
		skip_stuffing(walk);
	if (is_at_end(walk, row, reason) || row == NULL)
		return false;
	*reason = row->reason;
	if (row->kind == XF_ROW_UNDEFINED)
		return false;
	return step_out(walk, row, reason);
}

static struct walk begin(const struct xf_unwind_table *const *tables, size_t nr_tables,
                         const struct xf_walk_input *input, struct xf_frame *frames, size_t max)
{
	return (struct walk){.tables = tables,
	                     .nr_tables = nr_tables,
	                     .input = input,
	                     .room = ENTRY_ROOM,
	                     .word = input->words,
	                     .rip = input->rip,
	                     .rsp = input->rsp,
	                     .rbp = input->rbp,
	                     .rbp_known = true,
	                     .interrupted = true,
	                     .frames = frames,
	                     .max = max};
}

size_t xf_unwind_walk(const struct xf_unwind_table *const *tables, size_t nr_tables,
                      const struct xf_walk_input *input, struct xf_frame *frames, size_t max,
                      enum xf_unwind_reason *reason)
{
	struct walk walk = begin(tables, nr_tables, input, frames, max);

	while (step(&walk, reason))
		;
	return walk.count;
}

size_t xf_unwind_walk_kernel(const struct xf_unwind_table *const *tables, size_t nr_tables,
                             const struct xf_walk_input *stacks, size_t nr_stacks,
                             struct xf_frame *frames, size_t max, size_t *used,
                             enum xf_unwind_reason *reason)
{
	struct walk walk = begin(tables, nr_tables, stacks, frames, max);

	walk.kernel = true;
	walk.room = 0;
	walk.nr_more = nr_stacks - 1;
	while (step(&walk, reason))
		;
	*used = (size_t)(walk.input - stacks) + 1;
	return walk.count;
}

size_t xf_unwind_walk_user(xf_unwind_find_row_t *find, void *context,
                           const struct xf_walk_input *input, struct xf_frame *frames, size_t max,
                           enum xf_unwind_reason *reason)
{
	struct walk walk = begin(NULL, 0, input, frames, max);

	walk.find = find;
	walk.context = context;
	walk.room = 0;
	while (step(&walk, reason))
		;
	return walk.count;
}
