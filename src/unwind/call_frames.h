// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The entries of a section with call frame information: which addresses each describes, and which
 * bytes hold its rules. .debug_frame as in DWARF 5, 6.4.1; .eh_frame as in Linux Standard Base 5.0,
 * 10.6. Pure. The bytes are a stranger's: time and memory are in proportion to them, whatever they
 * say.
 */
#ifndef XF_UNWIND_CALL_FRAMES_H
#define XF_UNWIND_CALL_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "unwind/elf.h"
#include "unwind/frame_rules.h"

/* What many functions have in common (a CIE). */
struct xf_common_frame {
	uint64_t offset; /* in the section */
	struct xf_frame_form form;
	bool has_augmentation_data; /* its functions' entries have some */
	bool is_usable;             /* its rules make sense, and are those of x86-64 */
	struct xf_frame_rules rules;
};

/* One function, or a part of one (an FDE). */
struct xf_function_frame {
	uint64_t start, end; /* addresses; it holds until the next one begins at most */
	size_t common;       /* index */
	struct xf_cursor instructions;
	uint64_t instructions_address;
};

struct xf_call_frames {
	struct xf_common_frame *common; /* by rising offset */
	size_t nr_common, common_room;
	struct xf_function_frame *functions; /* by rising start, without overlaps */
	size_t nr_functions, functions_room;
};

/*
 * Reads @section, which outlives the result, and is .eh_frame if @is_eh_frame, else .debug_frame.
 * Entries that make no sense are left out. Return: 0, or -ENOMEM; xf_call_frames_free is due in
 * both cases.
 */
int xf_call_frames_read(const struct xf_elf_section *section, bool is_eh_frame,
                        struct xf_call_frames *frames);
void xf_call_frames_free(struct xf_call_frames *frames);

/* Return: the function that @address lies in, or NULL. */
const struct xf_function_frame *xf_call_frames_find(const struct xf_call_frames *frames,
                                                    uint64_t address);

/* Begins going through the rules of @function, see xf_frame_program_step. */
struct xf_frame_program xf_call_frames_program(const struct xf_call_frames *frames,
                                               const struct xf_function_frame *function);

#endif
