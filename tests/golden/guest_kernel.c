// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest_kernel.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user_program.h"

#define TEXT           0xffffffff81000000ull
#define PLACES         0xffffffff82000000ull
#define TASK_END       0xffffc90000004000ull
#define INTERRUPTS_END 0xffffc90000104000ull
#define USER_RIP       0x0000555555401234ull
#define USER_RSP       0x00007ffc12345678ull
#define FUNCTIONS_MAX  64
#define FUNCTION_BYTES 256u
#define FRAME_BYTES    32u /* return address included */
#define REGS_BYTES     168u
#define REGS_RIP       128u
#define REGS_RSP       152u

/* What ORC says of a function: offset, registers and type of its rows (tests/unit/test_unwind_orc.c
 * goes through them), in the layout of 6.4. */
enum kind {
	ORDINARY,
	SAVES_REGISTERS,
	SWITCHES,
	ENDS,
};
static const uint16_t rows[][3] = {
        [ORDINARY] = {FRAME_BYTES, 0, 5 | 2 << 8},
        [SAVES_REGISTERS] = {0, 0, 5 | 3 << 8},
        [SWITCHES] = {FRAME_BYTES, 0, 9 | 2 << 8},
        [ENDS] = {0, 0, 1 << 8},
};

static struct {
	char *name;
	enum kind kind;
} functions[FUNCTIONS_MAX];
static size_t nr_functions;

static uint64_t address_of(const char *name, size_t size, enum kind kind)
{
	for (size_t i = 0; i < nr_functions; i++) {
		if (strlen(functions[i].name) == size && memcmp(functions[i].name, name, size) == 0)
			return TEXT + i * FUNCTION_BYTES;
	}
	if (nr_functions == FUNCTIONS_MAX)
		abort();
	functions[nr_functions].name = strndup(name, size);
	functions[nr_functions].kind = kind;
	return TEXT + nr_functions++ * FUNCTION_BYTES;
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

/* One stack in the making; it grows downwards, and so do its words. */
struct making {
	uint64_t rsp, end;
	uint64_t addresses[64], values[64];
	size_t nr;
};

static void put(struct making *making, uint64_t address, uint64_t value)
{
	making->addresses[making->nr] = address;
	making->values[making->nr++] = value;
}

/* What the kernel was doing, and on which stacks. */
struct state {
	struct making stacks[2]; /* a task's, and that for interrupts */
	size_t nr;
	uint64_t function; /* the innermost one; 0: none yet */
};

static void call(struct state *state, uint64_t function)
{
	struct making *making = &state->stacks[state->nr - 1];

	put(making, making->rsp - 8, state->function + 0x20);
	making->rsp -= FRAME_BYTES;
	state->function = function;
}

/* @function saves the registers of what it interrupts. */
static void interrupt(struct state *state, uint64_t function)
{
	struct making *making = &state->stacks[state->nr - 1];

	put(making, making->rsp - REGS_BYTES + REGS_RSP, making->rsp);
	put(making, making->rsp - REGS_BYTES + REGS_RIP, state->function + 0x10);
	making->rsp -= REGS_BYTES;
	state->function = function;
}

/* The innermost function goes on with the stack for interrupts. */
static void switch_stacks(struct state *state)
{
	struct making *left = &state->stacks[0];
	struct making *entered = &state->stacks[1];

	*entered = (struct making){.rsp = INTERRUPTS_END - 8, .end = INTERRUPTS_END};
	put(entered, INTERRUPTS_END - 8, left->rsp);
	state->nr = 2;
}

static void begin(struct state *state, bool thread, uint64_t function)
{
	*state = (struct state){.nr = 1, .function = function};
	state->stacks[0] =
	        (struct making){.end = TASK_END, .rsp = TASK_END - (thread ? 16 : REGS_BYTES)};
}

/* Goes through a stack as guest_kernel.h has it, without '!'. */
static void run(const char *stack, struct state *state)
{
	bool thread = stack[0] == 'k';
	size_t since = 3; /* functions since the last interrupt */
	char before = ':';

	*state = (struct state){0};
	for (const char *name = stack + 2; *name;) {
		size_t size = strcspn(name, ">|");
		enum kind kind = ORDINARY;
		uint64_t function;

		since = before == '|' ? 0 : since + 1;
		if (before == ':')
			kind = thread ? ENDS : SAVES_REGISTERS;
		else if (since < 2)
			kind = since ? SWITCHES : SAVES_REGISTERS;
		function = address_of(name, size, kind);
		if (before == ':')
			begin(state, thread, function);
		else if (before == '|')
			interrupt(state, function);
		else
			call(state, function);
		if (kind == SWITCHES)
			switch_stacks(state);
		before = name[size];
		name += size + (before != 0);
	}
}

static const char *without_mark(const char *stack)
{
	return stack + (stack[0] == '!');
}

void guest_kernel_learn(const char *stack)
{
	struct state state;

	run(without_mark(stack), &state);
}

uint64_t guest_kernel_rip(const char *stack)
{
	struct state state;

	run(without_mark(stack), &state);
	return state.function ? state.function + 0x10 : USER_RIP;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static int write_kernel_stack(struct xf_recording_writer *writer, const struct making *making,
                              struct xf_guest_piece *piece, bool words)
{
	struct xf_guest_stack *stack = &piece->stack;

	stack->mode = XF_GUEST_KERNEL;
	stack->rsp = making->rsp;
	stack->end = making->end;
	piece->nr_words = 0;
	for (size_t i = making->nr; words && i > 0; i--)
		stack->words[piece->nr_words++] = XF_WORD(
		        (making->addresses[i - 1] - making->rsp) / 8, making->values[i - 1]);
	stack->bytes = (uint16_t)(XF_GUEST_HEAD_BYTES + 8 * piece->nr_words);
	return xf_recording_write_guest_stack(writer, stack);
}

static int write_user_stack(struct xf_recording_writer *writer, const char *user, uint32_t sequence,
                            uint16_t pcpu)
{
	union user_stack written = {.stack = {.sequence = sequence,
	                                      .pcpu = pcpu,
	                                      .mode = XF_GUEST_USER,
	                                      .bytes = XF_GUEST_HEAD_BYTES,
	                                      .rip = USER_RIP,
	                                      .rsp = USER_RSP,
	                                      .end = USER_RSP}};

	if (user)
		user_program_fill(user, &written);
	return xf_recording_write_guest_stack(writer, &written.stack);
}

int guest_kernel_write_stacks(struct xf_recording_writer *writer, const char *stack,
                              const char *user, uint32_t sequence, uint16_t pcpu)
{
	struct xf_guest_piece piece = {.stack = {.sequence = sequence, .pcpu = pcpu}};
	struct state state;
	int code = 0;

	run(without_mark(stack), &state);
	piece.stack.rip = guest_kernel_rip(stack);
	for (size_t i = state.nr; !code && i > 0; i--) {
		code = write_kernel_stack(writer, &state.stacks[i - 1], &piece, stack[0] != '!');
		piece.stack.rip = 0;
	}
	if (code || without_mark(stack)[0] == 'k')
		return code;
	return write_user_stack(writer, user, sequence, pcpu);
}

int guest_kernel_write_task(struct xf_recording_writer *writer, const char *task, uint32_t sequence,
                            uint16_t pcpu)
{
	struct xf_guest_task written = {.sequence = sequence,
	                                .bytes = sizeof(written),
	                                .mode = XF_GUEST_TASK,
	                                .pcpu = pcpu,
	                                .task = TASK_END + 0x1000,
	                                .stack = TASK_END - 0x4000};
	char *name;

	written.pid = written.tgid = (uint32_t)strtoul(task, &name, 10);
	snprintf(written.comm, sizeof(written.comm), "%s", name + 1);
	return xf_recording_write_guest_task(writer, &written);
}

static int write_symbols(struct xf_recording_writer *writer)
{
	struct xf_symbols *symbols = xf_symbols_new();
	int code;

	for (size_t i = 0; i < nr_functions; i++)
		xf_symbols_add(symbols, TEXT + i * FUNCTION_BYTES, 0, 't', functions[i].name);
	xf_symbols_add(symbols, TEXT + nr_functions * FUNCTION_BYTES, 0, 'd', "");
	xf_symbols_finish(symbols);
	code = xf_recording_write_kernel_symbols(writer, 1, symbols);
	xf_symbols_free(symbols);
	return code;
}

static int write_orc(struct xf_recording_writer *writer)
{
	const struct xf_code code = {.address = TEXT, .size = nr_functions * FUNCTION_BYTES};
	int32_t places[FUNCTIONS_MAX];
	uint16_t entries[FUNCTIONS_MAX][3];
	const struct xf_orc orc = {.places = places,
	                           .places_size = nr_functions * sizeof(places[0]),
	                           .places_address = PLACES,
	                           .entries = entries,
	                           .entries_size = nr_functions * sizeof(entries[0])};

	for (size_t i = 0; i < nr_functions; i++) {
		places[i] = (int32_t)(TEXT + i * FUNCTION_BYTES - (PLACES + 4 * i));
		memcpy(entries[i], rows[functions[i].kind], sizeof(entries[i]));
	}
	return xf_recording_write_kernel_orc(writer, 1, &code, &orc);
}

int guest_kernel_write(struct xf_recording_writer *writer)
{
	int code = xf_recording_write_kernel(writer, 1, "Linux 6.4");

	if (!code)
		code = write_symbols(writer);
	return code ? code : write_orc(writer);
}
