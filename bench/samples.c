// SPDX-License-Identifier: GPL-2.0-or-later
#include "samples.h"

#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "profile/recording.h"
#include "unwind/infer.h"

#define STACK_END 0xffff830012347f80ull
/* In a function that finds its frame through RBP, RSP is so far below it. */
#define RBP_ROOM  64u

/* A place that a stack can be made up for: a direct call of another function, or an entry. */
struct site {
	uint64_t address;
	uint64_t next;    /* where the call returns to */
	size_t callee;    /* number of the function that it calls */
	int32_t rsp;      /* RSP, counted from the frame's base */
	int32_t rbp;      /* where RBP points to, counted so; 0: nowhere in the frame */
	int32_t rbp_slot; /* where the caller's RBP is saved, counted so; 0: it is still in RBP */
};

struct function {
	uint64_t address;
	size_t first_site, nr_sites;
};

/* What is needed to make stacks. */
struct factory {
	const struct bench_image *image;
	struct function *functions; /* by rising address */
	size_t nr_functions;
	struct site *sites;
	size_t nr_sites, room_sites;
	struct bench_samples *samples;
	unsigned int least, most; /* frames of a stack */
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

/* Return: the offset of @value from the frame's base, 0 where it is none. */
static int32_t in_frame(xf_value value)
{
	return xf_value_origin(value) == XF_ORIGIN_FRAME ? xf_value_offset(value) : 0;
}

/* Adds the call at @address with @state before it, if a stack can be made up for that. */
static void add_site(struct factory *factory, uint64_t address, uint64_t next, size_t callee,
                     const struct xf_state *state)
{
	bool kept = state->reg[XF_REG_RBP] == XF_VALUE_CALLER_RBP;
	struct site site = {
	        .address = address,
	        .next = next,
	        .callee = callee,
	        .rsp = in_frame(state->reg[XF_REG_RSP]),
	        .rbp = in_frame(state->reg[XF_REG_RBP]),
	        .rbp_slot = kept ? 0 : in_frame(state->rbp_slot),
	};

	/* A frame that is found through RBP alone, with memory of any size below it. */
	if (site.rsp == 0 && site.rbp != 0)
		site.rsp = site.rbp - RBP_ROOM;
	if (state->kind != XF_STATE_CALL || callee == factory->nr_functions || site.rsp == 0 ||
	    (!kept && site.rbp_slot == 0))
		return;
	factory->sites =
	        grow(factory->sites, &factory->room_sites, factory->nr_sites, sizeof(struct site));
	factory->sites[factory->nr_sites++] = site;
}

static void add_call(struct factory *factory, const struct xf_inference *inference, size_t index)
{
	const struct xf_graph *graph = &inference->graph;
	const struct xf_block *block = &graph->blocks[index];
	struct xf_state state = *xf_infer_before(inference, index);
	struct xf_place at = xf_place_first(graph, block);
	uint64_t start = graph->code->address;

	if (block->flow != XF_FLOW_CALL || block->jump == XF_NOWHERE)
		return;
	for (; at.offset + at.insn->length < block->end; xf_place_next(&at))
		xf_infer_step(&at, &state);
	add_site(factory, start + at.offset, start + block->end,
	         find_function(factory, start + graph->blocks[block->jump].first), &state);
}

/* Finds the calls, by rising address, and which functions they are in. */
static void list_sites(struct factory *factory)
{
	const struct bench_image *image = factory->image;
	struct xf_inference inference;
	size_t at = 0;

	if (xf_infer(&inference, &image->code, image->entries, image->nr_entries) != 0)
		bench_fail("out of memory");
	for (size_t i = 0; i < inference.graph.nr_blocks; i++)
		add_call(factory, &inference, i);
	xf_infer_free(&inference);
	for (size_t i = 0; i < factory->nr_functions; i++) {
		struct function *function = &factory->functions[i];
		uint64_t end = i + 1 < factory->nr_functions ? function[1].address : UINT64_MAX;

		while (at < factory->nr_sites && factory->sites[at].address < function->address)
			at++;
		function->first_site = at;
		while (at < factory->nr_sites && factory->sites[at].address < end)
			at++;
		function->nr_sites = at - function->first_site;
	}
}

/* A chain of calls, outermost first. Return: how many. */
static size_t draw_chain(struct factory *factory, const struct site **chain)
{
	size_t wanted = factory->least + draw(factory, factory->most - factory->least + 1) - 1;
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

/* Enters the frame of @site. Return: RSP there. */
static uint64_t enter(struct stack *stack, const struct site *site)
{
	if (site->rbp_slot != 0) {
		if (stack->rbp != 0)
			put(stack, stack->base + site->rbp_slot, stack->rbp);
		stack->rbp = site->rbp != 0 ? stack->base + site->rbp : 0;
	}
	return stack->base + site->rsp;
}

/* Makes the call at @site. */
static void call(struct factory *factory, struct stack *stack, const struct site *site)
{
	uint64_t rsp = enter(stack, site);

	/* What else lies in a frame: a pointer to a local variable, or an address that is stale. */
	if (site->rsp <= -40 && site->rbp_slot != site->rsp + 8 && draw(factory, 2) == 0)
		put(stack, rsp + 8,
		    draw(factory, 2) == 0 ? rsp + 16
		                          : factory->sites[draw(factory, factory->nr_sites)].next);
	put(stack, rsp - 8, site->next);
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

/* The outermost function stands where one does that was jumped to with a fresh stack; the innermost
 * is interrupted at a call of its own, or before its first instruction. */
static void make_stack(struct factory *factory)
{
	const struct site *chain[BENCH_MOST_FRAMES];
	struct stack stack = {.base = STACK_END + 8};
	struct site innermost = {.rsp = -8};
	const struct function *function;
	size_t count = draw_chain(factory, chain);

	if (count + 1 < factory->least)
		return;
	for (size_t i = 0; i < count; i++)
		call(factory, &stack, chain[i]);
	function = &factory->functions[chain[count - 1]->callee];
	innermost.address = function->address;
	if (function->nr_sites != 0)
		innermost = factory->sites[function->first_site];
	finish(factory->samples, &stack, innermost.address, enter(&stack, &innermost));
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
                        size_t count, unsigned int least, unsigned int most)
{
	struct factory factory = {
	        .image = image, .samples = samples, .least = least, .most = most, .seed = 1};

	if (most > BENCH_MOST_FRAMES)
		bench_fail("stacks of %u frames are too deep", most);
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
