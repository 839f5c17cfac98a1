// SPDX-License-Identifier: GPL-2.0-or-later
#include "samples.h"

#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "profile/recording.h"
#include "unwind/decode.h"

#define STACK_END    0xffff830012347f80ull
#define LEAST_FRAMES 10u
#define MOST_FRAMES  20u
/* In a function that finds its frame through RBP, RSP is so far below it. */
#define RBP_ROOM     64u

/* A direct call from one function to another. */
struct site {
	uint64_t address; /* of the call */
	uint64_t next;    /* where it returns to */
	size_t callee;    /* number of the function that it calls */
};

struct function {
	uint64_t address;
	size_t first_site, nr_sites;
};

/* What is needed to make stacks. */
struct factory {
	const struct bench_image *image;
	const struct xf_unwind_table *table;
	struct function *functions; /* by rising address */
	size_t nr_functions;
	struct site *sites;
	size_t nr_sites, room_sites;
	struct bench_samples *samples;
	uint64_t seed;
};

static uint32_t draw(struct factory *factory, uint32_t below)
{
	factory->seed = factory->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (factory->seed >> 33) % below;
}

static void *grow(void *array, size_t *room, size_t count, size_t element)
{
	if (count < *room)
		return array;
	*room = *room * 2 + 1024;
	array = reallocarray(array, *room, element);
	if (array == NULL)
		bench_fail("out of memory");
	return array;
}

static int by_address(const void *a, const void *b)
{
	const struct function *one = a, *two = b;

	return one->address < two->address ? -1 : one->address > two->address;
}

static void list_functions(struct factory *factory)
{
	size_t count = 0;

	factory->functions = calloc(factory->image->nr_entries + 1, sizeof(struct function));
	if (factory->functions == NULL)
		bench_fail("out of memory");
	for (size_t i = 0; i < factory->image->nr_entries; i++)
		factory->functions[i].address = factory->image->entries[i];
	qsort(factory->functions, factory->image->nr_entries, sizeof(struct function), by_address);
	for (size_t i = 0; i < factory->image->nr_entries; i++)
		if (count == 0 ||
		    factory->functions[i].address != factory->functions[count - 1].address)
			factory->functions[count++] = factory->functions[i];
	factory->nr_functions = count;
}

/* Return: the number of the function that begins at @address; how many there are if none does. */
static size_t find_function(const struct factory *factory, uint64_t address)
{
	const struct function key = {.address = address};
	const struct function *found =
	        bsearch(&key, factory->functions, factory->nr_functions, sizeof(key), by_address);

	return found != NULL ? (size_t)(found - factory->functions) : factory->nr_functions;
}

/* Can a stack be made up for a place with this row? */
static bool is_simple(const struct xf_unwind_row *row)
{
	bool through_rbp = row->base_register == XF_REG_RBP;

	if (row->kind != XF_ROW_CALL || row->base_rule != XF_BASE_REGISTER ||
	    (row->base_register != XF_REG_RSP && !through_rbp))
		return false;
	return row->rbp_rule == XF_RBP_AT_BASE || (row->rbp_rule == XF_RBP_SAME && !through_rbp);
}

static void add_site(struct factory *factory, uint64_t address, const struct xf_decoded *decoded)
{
	struct xf_unwind_row row = xf_unwind_row_find(factory->table, address);
	size_t callee = find_function(factory, address + decoded->target);

	if (!is_simple(&row) || callee == factory->nr_functions)
		return;
	factory->sites =
	        grow(factory->sites, &factory->room_sites, factory->nr_sites, sizeof(struct site));
	factory->sites[factory->nr_sites++] =
	        (struct site){address, address + decoded->length, callee};
}

static void list_sites(struct factory *factory)
{
	const struct xf_code *code = &factory->image->code;
	struct xf_decoder decoder;

	xf_decoder_start(&decoder);
	for (size_t i = 0; i < factory->nr_functions; i++) {
		struct function *function = &factory->functions[i];
		uint64_t end = i + 1 < factory->nr_functions ? function[1].address
		                                             : code->address + code->size;
		struct xf_decoded decoded;

		function->first_site = factory->nr_sites;
		for (uint64_t at = function->address; at < end; at += decoded.length) {
			size_t offset = at - code->address;

			xf_insn_decode(&decoder, code->bytes + offset, code->size - offset,
			               &decoded);
			if (decoded.flow == XF_FLOW_CALL)
				add_site(factory, at, &decoded);
		}
		function->nr_sites = factory->nr_sites - function->first_site;
	}
}

/* A chain of calls, outermost first. Return: how many. */
static size_t draw_chain(struct factory *factory, const struct site **chain)
{
	size_t wanted = LEAST_FRAMES + draw(factory, MOST_FRAMES - LEAST_FRAMES + 1) - 1;
	size_t function = draw(factory, factory->nr_functions), count = 0;

	while (count < wanted) {
		const struct function *caller = &factory->functions[function];

		if (caller->nr_sites == 0)
			break;
		chain[count] =
		        &factory->sites[caller->first_site + draw(factory, caller->nr_sites)];
		function = chain[count++]->callee;
	}
	return count;
}

/* A stack in the making; it grows downwards. */
struct stack {
	uint64_t base; /* of the innermost frame so far */
	uint64_t rbp;  /* as its caller left it; 0: no address of the stack */
	struct {
		uint64_t address, value;
	} words[XF_MAX_WORDS];
	size_t nr_words;
};

static void put(struct stack *stack, uint64_t address, uint64_t value)
{
	if (stack->nr_words == XF_MAX_WORDS)
		return;
	stack->words[stack->nr_words].address = address;
	stack->words[stack->nr_words++].value = value;
}

/* Enters the frame of a place with @row. Return: RSP there. */
static uint64_t enter(struct stack *stack, const struct xf_unwind_row *row)
{
	bool through_rbp = row->base_register == XF_REG_RBP;
	uint64_t reg = stack->base - row->base_offset;

	if (row->rbp_rule == XF_RBP_AT_BASE) {
		if (stack->rbp != 0)
			put(stack, stack->base + (int64_t)row->rbp_offset, stack->rbp);
		stack->rbp = through_rbp ? reg : 0;
	}
	return through_rbp ? reg - RBP_ROOM : reg;
}

/* Makes a call from a place with @row, to return to @next. */
static void call(struct factory *factory, struct stack *stack, const struct xf_unwind_row *row,
                 uint64_t next)
{
	uint64_t base = stack->base, rsp = enter(stack, row);
	bool is_free = row->rbp_rule == XF_RBP_SAME || base + (int64_t)row->rbp_offset != rsp + 8;

	/* What else lies in a frame: a pointer to a local variable, or an address that is stale. */
	if (base - rsp >= 40 && is_free && draw(factory, 2) == 0)
		put(stack, rsp + 8,
		    draw(factory, 2) == 0 ? rsp + 16
		                          : factory->sites[draw(factory, factory->nr_sites)].next);
	put(stack, rsp - 8, next);
	stack->base = rsp;
}

static int by_place(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, two = *(const uint64_t *)b;

	return one < two ? -1 : one > two;
}

static void finish(struct bench_samples *samples, struct stack *stack, uint64_t rip, uint64_t rsp)
{
	size_t first = samples->nr_words;

	qsort(stack->words, stack->nr_words, sizeof(stack->words[0]), by_place);
	for (size_t i = 0; i < stack->nr_words; i++) {
		samples->words = grow(samples->words, &samples->room_words, samples->nr_words,
		                      sizeof(uint64_t));
		samples->words[samples->nr_words++] =
		        XF_WORD((stack->words[i].address - rsp) / 8, stack->words[i].value);
	}
	samples->inputs[samples->count++] = (struct xf_walk_input){
	        .rip = rip,
	        .rsp = rsp,
	        .rbp = stack->rbp,
	        .stack_end = STACK_END,
	        .nr_words = samples->nr_words - first,
	};
}

/* The outermost function stands where one does that was jumped to with a fresh stack. */
static void make_stack(struct factory *factory)
{
	const struct site *chain[MOST_FRAMES];
	struct stack stack = {.base = STACK_END + 8};
	struct xf_unwind_row row;
	size_t count = draw_chain(factory, chain);
	uint64_t rip;

	if (count + 1 < LEAST_FRAMES)
		return;
	for (size_t i = 0; i < count; i++) {
		row = xf_unwind_row_find(factory->table, chain[i]->address);
		call(factory, &stack, &row, chain[i]->next);
	}
	/* Interrupted at a call of its own, or before its first instruction. */
	rip = factory->functions[chain[count - 1]->callee].address;
	if (factory->functions[chain[count - 1]->callee].nr_sites != 0)
		rip = factory->sites[factory->functions[chain[count - 1]->callee].first_site]
		              .address;
	row = xf_unwind_row_find(factory->table, rip);
	if (is_simple(&row))
		finish(factory->samples, &stack, rip, enter(&stack, &row));
}

/* The words are where they stay only once all are there. */
static void point_to_words(struct bench_samples *samples)
{
	const uint64_t *words = samples->words;

	for (size_t i = 0; i < samples->count; i++) {
		samples->inputs[i].words = words;
		words += samples->inputs[i].nr_words;
	}
}

void bench_samples_make(struct bench_samples *samples, const struct bench_image *image,
                        const struct xf_unwind_table *table, size_t count)
{
	struct factory factory = {.image = image, .table = table, .samples = samples, .seed = 1};

	memset(samples, 0, sizeof(*samples));
	samples->inputs = calloc(count, sizeof(*samples->inputs));
	if (samples->inputs == NULL)
		bench_fail("out of memory");
	list_functions(&factory);
	list_sites(&factory);
	if (factory.nr_sites == 0)
		bench_fail("the code has no calls to make stacks of");
	while (samples->count < count)
		make_stack(&factory);
	point_to_words(samples);
	free(factory.functions);
	free(factory.sites);
}

static void keep_record(struct bench_samples *samples, size_t *room, const struct xf_record *record)
{
	const uint64_t *words = &record->storage[XF_SAMPLE_HEAD_BYTES / 8];

	samples->inputs = grow(samples->inputs, room, samples->count, sizeof(*samples->inputs));
	samples->inputs[samples->count++] = (struct xf_walk_input){
	        .rip = record->sample.rip,
	        .rsp = record->sample.rsp,
	        .rbp = record->sample.rbp,
	        .stack_end = record->sample.stack_end,
	        .nr_words = record->nr_words,
	};
	for (size_t i = 0; i < record->nr_words; i++) {
		samples->words = grow(samples->words, &samples->room_words, samples->nr_words,
		                      sizeof(uint64_t));
		samples->words[samples->nr_words++] = words[i];
	}
}

void bench_samples_read(struct bench_samples *samples, struct bench_image *image, const char *path)
{
	struct xf_record_iterator iterator = {0};
	struct xf_recording *recording;
	struct xf_record record;
	struct xf_error error;
	size_t room = 0, nr_code;

	memset(samples, 0, sizeof(*samples));
	bench_image_read(image, path);
	if (xf_recording_open(image->file, image->file_size, &recording, &error) != 0)
		bench_fail("%s: %s", path, error.text);
	while (xf_recording_next(recording, &iterator, &record))
		if (record.type == XF_RECORD_SAMPLE && record.nr_words != 0)
			keep_record(samples, &room, &record);
	if (xf_recording_code(recording, &nr_code) == NULL || nr_code == 0 || samples->count == 0)
		bench_fail("%s: no samples in Xen, or not its code", path);
	image->code = xf_recording_code(recording, &nr_code)[0];
	image->entries = xf_symbols_entries(xf_recording_symbols(recording), &image->nr_entries);
	point_to_words(samples);
	/* The code lies in the recording, which stays open for that. */
}

void bench_samples_free(struct bench_samples *samples)
{
	free(samples->inputs);
	free(samples->words);
	memset(samples, 0, sizeof(*samples));
}
