// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is known before an instruction, and how one operation changes it: a pure function over a
 * small state. Nothing here knows opcodes or control flow.
 *
 * Everything is measured from the frame's base: for a called function the address just above its
 * return address (DWARF's CFA); for code that an interrupt or exception entered, the address of
 * the interrupted RIP, lowest of the five words that the processor pushed.
 */
#ifndef XF_UNWIND_TRANSFER_H
#define XF_UNWIND_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/decode.h"
#include "unwind/unwind.h"

/*
 * A value that a register or word may hold: a distance from one of three origins, or unknown.
 * Packed into 32 bits, since there is a state for every block of code; unknown is 0.
 */
typedef int32_t xf_value;

enum xf_origin {
	XF_ORIGIN_UNKNOWN = 0,
	XF_ORIGIN_FRAME = 1,   /* the frame's base */
	XF_ORIGIN_ALIGNED = 2, /* RSP as it was just after it was aligned downwards */
	XF_ORIGIN_CALLER = 3,  /* RBP as it was when the frame began */
};

#define XF_VALUE_LIMIT (1 << 28)

static inline enum xf_origin xf_value_origin(xf_value value)
{
	return (enum xf_origin)(value & 3);
}

static inline int32_t xf_value_offset(xf_value value)
{
	return value >> 2;
}

static inline xf_value xf_value_make(enum xf_origin origin, int64_t offset)
{
	if (origin == XF_ORIGIN_UNKNOWN || offset >= XF_VALUE_LIMIT || offset <= -XF_VALUE_LIMIT)
		return 0;
	return (xf_value)(offset * 4 + origin);
}

/* Return: @value moved by @by; unknown stays unknown. */
static inline xf_value xf_value_add(xf_value value, int64_t by)
{
	return xf_value_make(xf_value_origin(value), xf_value_offset(value) + by);
}

#define XF_VALUE_UNKNOWN    ((xf_value)0)
#define XF_VALUE_CALLER_RBP ((xf_value)XF_ORIGIN_CALLER)

enum xf_state_kind {
	XF_STATE_NONE = 0,  /* nothing has come here yet */
	XF_STATE_CALL,      /* called: the return address is just below the frame's base */
	XF_STATE_INTERRUPT, /* entered by interrupt or exception: five words at the base */
	XF_STATE_CONFLICT,  /* both: nothing is known */
};

struct xf_state {
	xf_value reg[XF_NR_REGS];
	xf_value rbp_slot;  /* where the caller's RBP is saved; unknown: nowhere that is known */
	xf_value base_slot; /* a word that holds @base_saved, for frames that were realigned */
	xf_value base_saved;
	uint32_t align_site; /* which instruction made XF_ORIGIN_ALIGNED what it is; 0: none */
	uint8_t kind;        /* enum xf_state_kind */
	uint8_t reason;      /* enum xf_unwind_reason: why RSP is unknown */
	/* Entered by a call although it works on an interrupt's frame: the return address lies so
	 * many words below the base, and only until RSP is above it; 0: there is none. */
	uint8_t called_words;
	uint8_t unused; /* 0: states are compared byte by byte */
};

/* The state at the first instruction of a function that was called. */
struct xf_state xf_state_called(void);

/* The state where an interrupt frame's base lies @above bytes above RSP and @rbp is where the
 * interrupted RBP is: XF_VALUE_CALLER_RBP in the register, or a place on the stack. */
struct xf_state xf_state_interrupted(int32_t above, xf_value rbp);

/* The same for code that drops the return address of a call that went there: continue_pv_domain,
 * which Xen calls on a fresh stack. RSP points to that return address. */
struct xf_state xf_state_called_on(const struct xf_state *interrupted);

/* Applies one instruction's effect to @state. @site tells instructions apart; not 0. */
void xf_state_step(struct xf_state *state, uint16_t kills, const struct xf_op *ops,
                   unsigned int nr_ops, uint32_t site);

/* What a call that came back leaves: registers the callee may change are unknown. */
void xf_state_after_call(struct xf_state *state);

/*
 * Merges what another path brings into @state. A register on which they disagree is unknown; no
 * side is picked.
 * Return: whether @state changed. It can do so only a bounded number of times.
 */
bool xf_state_merge(struct xf_state *state, const struct xf_state *other);

/* How a walk finds the frame from this state, undefined with a reason where it cannot. */
struct xf_unwind_row xf_state_row(const struct xf_state *state);

#endif
