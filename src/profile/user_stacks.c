// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/user_stacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "profile/guest_code.h"

struct context {
	const struct xf_user_stacks *stacks;
	const struct xf_process *process;
};

/* Return: what is known of the code at @address, NULL where nothing is. */
static const struct xf_user_place *find_place(const struct xf_user_stacks *stacks,
                                              const struct xf_process *process,
                                              const struct xf_mapping *mapping, uint64_t address)
{
	uint32_t file, pid;
	uint64_t offset;

	xf_mapping_place(mapping, process, address, &file, &pid, &offset);
	return xf_user_code_find(stacks->places, file, pid, offset);
}

/* An xf_unwind_find_row_t: words that point to no mapped code are no return addresses. */
static const struct xf_unwind_row *find_row(void *context, uint64_t address)
{
	static const struct xf_unwind_row unknown = {.kind = XF_ROW_UNDEFINED,
	                                             .reason = XF_UNWIND_NO_ROW};
	const struct context *at = context;
	const struct xf_user_place *place;
	struct xf_mapping mapping;

	if (!xf_processes_mapping(at->stacks->processes, at->process, address, &mapping))
		return NULL;
	place = find_place(at->stacks, at->process, &mapping, address);
	return place ? &place->row : &unknown;
}

static void walk(const struct xf_user_stacks *stacks, const struct xf_guest_piece *piece,
                 struct xf_user_trace *trace)
{
	const struct xf_walk_input input = {.rip = piece->stack.rip,
	                                    .rsp = piece->stack.rsp,
	                                    .rbp = piece->stack.rbp,
	                                    .stack_end = piece->stack.end,
	                                    .words = piece->stack.words,
	                                    .nr_words = piece->nr_words};
	struct context context = {.stacks = stacks, .process = &trace->process};
	enum xf_unwind_reason reason = XF_UNWIND_END;

	if (!find_row(&context, input.rip))
		return;
	trace->nr = xf_unwind_walk_user(find_row, &context, &input, trace->frames,
	                                XF_USER_STACK_MAX, &reason);
	if (reason != XF_UNWIND_END)
		trace->incomplete = xf_unwind_reason_name(reason);
}

void xf_user_stacks_walk(const struct xf_user_stacks *stacks, const struct xf_record *record,
                         const struct xf_guest_trace *kernel, const struct xf_process *process,
                         struct xf_user_trace *trace)
{
	struct xf_guest_piece piece;

	trace->nr = 0;
	trace->incomplete = NULL;
	if (!kernel->user_rip || !process)
		return;
	trace->process = *process;
	xf_guest_pieces_read(&record->guest, kernel->user_piece, &piece);
	walk(stacks, &piece, trace);
}

/* "[libc.so.6]+0x1234" */
static void make_name(const struct xf_mapping *mapping, uint64_t address, char text[96])
{
	const char *path = xf_mapping_is_file(mapping) ? mapping->file->path : "anonymous memory";
	const char *slash = strrchr(path, '/');
	const char *name = slash && slash[1] ? slash + 1 : path;
	const char *deleted = strstr(name, " (deleted)");
	int size = (int)(deleted && !strcmp(deleted, " (deleted)") ? (size_t)(deleted - name)
	                                                           : strlen(name));

	/* "[vdso]" brings its own. */
	if (name[0] == '[' && size > 2 && name[size - 1] == ']') {
		name++;
		size -= 2;
	}
	snprintf(text, 96, "[%.*s]+0x%" PRIx64, size < 60 ? size : 60, name,
	         xf_mapping_is_file(mapping) ? address - mapping->address + mapping->offset
	                                     : address);
}

const char *xf_user_stacks_name(const struct xf_user_stacks *stacks,
                                const struct xf_user_trace *trace, struct xf_frame frame,
                                struct xf_place *place)
{
	/* A call may be its function's last instruction: its return address belongs to the next. */
	uint64_t address = frame.interrupted ? frame.address : frame.address - 1;
	const struct xf_user_place *known;
	struct xf_mapping mapping = {0};

	*place = (struct xf_place){.kind = XF_FRAME_USER, .name = place->text};
	if (!xf_processes_mapping(stacks->processes, &trace->process, address, &mapping)) {
		snprintf(place->text, sizeof(place->text), "[user]+0x%" PRIx64, address);
		return NULL;
	}
	known = find_place(stacks, &trace->process, &mapping, address);
	if (known && known->name[0]) {
		place->name = known->name;
		place->offset = known->offset - known->start + !frame.interrupted;
	} else {
		make_name(&mapping, address, place->text);
	}
	return xf_mapping_is_file(&mapping) ? mapping.file->path : NULL;
}

uint64_t xf_user_stacks_code(const struct xf_user_stacks *stacks, const struct xf_user_trace *trace,
                             struct xf_frame frame)
{
	uint64_t address = frame.interrupted ? frame.address : frame.address - 1;
	struct xf_mapping mapping;
	uint32_t file, pid;
	uint64_t offset;

	if (!xf_processes_mapping(stacks->processes, &trace->process, address, &mapping) ||
	    !xf_mapping_is_file(&mapping))
		return 0;
	xf_mapping_place(&mapping, &trace->process, address, &file, &pid, &offset);
	return xf_guest_code_address(xf_guest_code_of_file(file), offset);
}
