// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/call_frames.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "unwind/expression.h"

/* Where a length has this value it is one of 64 bits, which nothing for x86-64 is written with. */
#define LENGTH_OF_64_BITS UINT32_MAX
/* What marks a CIE; in .debug_frame and in .eh_frame. */
#define COMMON_ID         UINT32_MAX
#define COMMON_EH_ID      0u

/* Bytes; ten times those of the largest function of some 3,500 files of Debian's. They are gone
 * through from the first one on for each address that is asked for. */
#define MOST_INSTRUCTIONS (1u << 18)

/* The section while it is read. */
struct reading {
	const struct xf_elf_section *section;
	bool is_eh_frame;
	struct xf_call_frames *frames;
};

/* One entry, after its length. */
struct entry {
	uint64_t offset;  /* of its length, in the section */
	uint64_t address; /* of @body's first byte */
	struct xf_cursor body;
	uint32_t id;
	bool is_common;
};

/* Return: whether there is another entry, in *@entry. */
static bool next_entry(const struct reading *reading, struct xf_cursor *all, struct entry *entry)
{
	uint32_t length;

	entry->offset = all->position;
	length = xf_cursor_u32(all);
	if (length == LENGTH_OF_64_BITS) {
		xf_cursor_take(all, xf_cursor_u64(all));
		length = 0;
	}
	entry->address = reading->section->address + all->position;
	entry->body = xf_cursor_sub(all, length);
	entry->id = xf_cursor_u32(&entry->body);
	entry->is_common = entry->id == (reading->is_eh_frame ? COMMON_EH_ID : COMMON_ID);
	return !all->failed;
}

/* ---- What functions have in common ----------------------------------------------------------- */

/* What the letters of @augmentation say, and the data after them. */
static void read_augmentation(struct xf_common_frame *common, const char *augmentation,
                              struct xf_cursor *body)
{
	struct xf_cursor data;

	common->is_usable = augmentation != NULL && (*augmentation == 0 || *augmentation == 'z');
	if (!common->is_usable || *augmentation == 0)
		return;
	common->has_augmentation_data = true;
	data = xf_cursor_sub(body, xf_cursor_uleb(body));
	for (const char *letter = augmentation + 1; *letter != 0; letter++)
		switch (*letter) {
		case 'R':
			common->form.address_encoding = xf_cursor_u8(&data);
			break;
		case 'L': /* how the table of exceptions is written */
			xf_cursor_u8(&data);
			break;
		case 'P': /* the personality: its length is of interest, not its address */
			xf_frame_read_address(&data, xf_cursor_u8(&data) & 0x0f, 0);
			break;
		case 'S': /* a signal's frame: its rules say all there is to know */
			break;
		default:
			common->is_usable = false;
			return;
		}
	common->is_usable = !data.failed;
}

static void run_common(struct xf_common_frame *common, const struct xf_cursor *instructions)
{
	struct xf_frame_program program = {.instructions = *instructions,
	                                   .form = &common->form,
	                                   .rules = xf_frame_rules_of_abi()};

	common->is_usable &=
	        instructions->size <= MOST_INSTRUCTIONS && xf_frame_program_run_common(&program);
	common->rules = program.rules;
}

static void parse_common(struct xf_common_frame *common, struct xf_cursor *body)
{
	uint8_t version = xf_cursor_u8(body);
	const char *augmentation = xf_cursor_string(body);
	uint64_t return_address;

	if (version == 4 && (xf_cursor_u8(body) != 8 || xf_cursor_u8(body) != 0))
		return;
	common->form.code_factor = xf_cursor_uleb(body);
	common->form.data_factor = xf_cursor_sleb(body);
	return_address = version == 1 ? xf_cursor_u8(body) : xf_cursor_uleb(body);
	read_augmentation(common, augmentation, body);
	if (body->failed || return_address != XF_DWARF_RIP ||
	    (version != 1 && version != 3 && version != 4))
		common->is_usable = false;
	if (common->is_usable) {
		struct xf_cursor instructions = xf_cursor_sub(body, xf_cursor_left(body));

		run_common(common, &instructions);
	}
}

static int add_common(struct reading *reading, struct entry *entry)
{
	struct xf_call_frames *frames = reading->frames;
	struct xf_common_frame common = {.offset = entry->offset};

	if (!xf_make_room(&frames->common, frames->nr_common, &frames->common_room, sizeof(common)))
		return -ENOMEM;
	parse_common(&common, &entry->body);
	frames->common[frames->nr_common++] = common;
	return 0;
}

/* ---- Functions ------------------------------------------------------------------------------- */

static bool find_common(const struct xf_call_frames *frames, uint64_t offset, size_t *index)
{
	size_t low = 0, high = frames->nr_common;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (frames->common[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	*index = low;
	return low < frames->nr_common && frames->common[low].offset == offset &&
	       frames->common[low].is_usable;
}

/* Return: the address of the byte that @body has come to. */
static uint64_t address_of(const struct entry *entry)
{
	return entry->address + entry->body.position;
}

/* Return: whether @entry makes sense, in *@function. */
static bool parse_function(const struct reading *reading, struct entry *entry,
                           struct xf_function_frame *function)
{
	struct xf_cursor *body = &entry->body;
	/* In .eh_frame the distance back from where it is written. */
	uint64_t offset = reading->is_eh_frame
	                          ? entry->address - reading->section->address - entry->id
	                          : entry->id;
	const struct xf_common_frame *common;
	uint8_t encoding;

	if (!find_common(reading->frames, offset, &function->common))
		return false;
	common = &reading->frames->common[function->common];
	encoding = common->form.address_encoding;
	function->start = xf_frame_read_address(body, encoding, address_of(entry));
	function->end = function->start + xf_frame_read_address(body, encoding & 0x0f, 0);
	if (common->has_augmentation_data)
		xf_cursor_take(body, xf_cursor_uleb(body));
	function->instructions_address = address_of(entry);
	function->instructions = xf_cursor_sub(body, xf_cursor_left(body));
	return !body->failed && function->end > function->start &&
	       function->instructions.size <= MOST_INSTRUCTIONS;
}

static int add_function(struct reading *reading, struct entry *entry)
{
	struct xf_call_frames *frames = reading->frames;
	struct xf_function_frame function;

	if (!parse_function(reading, entry, &function))
		return 0;
	if (!xf_make_room(&frames->functions, frames->nr_functions, &frames->functions_room,
	                  sizeof(function)))
		return -ENOMEM;
	frames->functions[frames->nr_functions++] = function;
	return 0;
}

/* Of two that begin at one address, the one that stands first in the section. */
static int order(const void *a, const void *b)
{
	const struct xf_function_frame *one = a, *other = b;

	if (one->start != other->start)
		return one->start < other->start ? -1 : 1;
	return one->instructions.bytes < other->instructions.bytes ? -1 : 1;
}

static void sort_functions(struct xf_call_frames *frames)
{
	size_t nr = 0;

	if (frames->nr_functions == 0)
		return;
	qsort(frames->functions, frames->nr_functions, sizeof(*frames->functions), order);
	for (size_t i = 1; i < frames->nr_functions; i++) {
		struct xf_function_frame *last = &frames->functions[nr];
		const struct xf_function_frame *next = &frames->functions[i];

		if (next->start == last->start)
			continue;
		if (last->end > next->start)
			last->end = next->start;
		frames->functions[++nr] = *next;
	}
	frames->nr_functions = nr + 1;
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* The CIEs or the FDEs: of these each wants its CIE, which may follow. */
static int read_entries(struct reading *reading, bool common)
{
	struct xf_cursor all = xf_cursor_over(reading->section->bytes, reading->section->size);
	struct entry entry;
	int result = 0;

	while (!result && xf_cursor_left(&all) != 0 && next_entry(reading, &all, &entry))
		if (!entry.body.failed && entry.is_common == common)
			result = common ? add_common(reading, &entry)
			                : add_function(reading, &entry);
	return result;
}

int xf_call_frames_read(const struct xf_elf_section *section, bool is_eh_frame,
                        struct xf_call_frames *frames)
{
	struct reading reading = {section, is_eh_frame, frames};
	int result;

	*frames = (struct xf_call_frames){0};
	result = read_entries(&reading, true);
	if (!result)
		result = read_entries(&reading, false);
	if (!result)
		sort_functions(frames);
	return result;
}

void xf_call_frames_free(struct xf_call_frames *frames)
{
	free(frames->common);
	free(frames->functions);
	*frames = (struct xf_call_frames){0};
}

const struct xf_function_frame *xf_call_frames_find(const struct xf_call_frames *frames,
                                                    uint64_t address)
{
	size_t low = 0, high = frames->nr_functions;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (frames->functions[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < frames->nr_functions && frames->functions[low].start <= address
	               ? &frames->functions[low]
	               : NULL;
}

struct xf_frame_program xf_call_frames_program(const struct xf_call_frames *frames,
                                               const struct xf_function_frame *function)
{
	const struct xf_common_frame *common = &frames->common[function->common];

	return (struct xf_frame_program){
	        .instructions = function->instructions,
	        .instructions_address = function->instructions_address,
	        .form = &common->form,
	        .initial = &common->rules,
	        .next = function->start,
	        .end = function->end,
	        .rules = common->rules,
	};
}
