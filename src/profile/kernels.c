// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/kernels.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/grow.h"

struct xf_recording_kernel *xf_kernels_find(const struct xf_kernels *kernels, uint32_t number)
{
	for (size_t i = 0; i < kernels->nr; i++) {
		if (kernels->kernels[i].number == number)
			return &kernels->kernels[i];
	}
	return NULL;
}

/* Reads a kernel's number. Return: 0 and the kernel with that number, made if need be; -EBADMSG
 * where there cannot be one; -ENOMEM. */
static int take_kernel(struct xf_kernels *kernels, struct xf_cursor *content,
                       struct xf_recording_kernel **kernel)
{
	uint32_t number = xf_cursor_u32(content);

	if (content->failed || number == XF_NO_KERNEL)
		return -EBADMSG;
	*kernel = xf_kernels_find(kernels, number);
	if (*kernel)
		return 0;
	if (kernels->nr == XF_MAX_KERNELS)
		return -EBADMSG;
	*kernel = XF_GROW(kernels->kernels, kernels->nr);
	if (!*kernel)
		return -ENOMEM;
	(*kernel)->number = number;
	(*kernel)->name = "";
	kernels->nr++;
	return 0;
}

static int read_kernel(struct xf_kernels *kernels, struct xf_cursor *content)
{
	struct xf_recording_kernel *kernel;
	int code = take_kernel(kernels, content, &kernel);
	uint32_t base_after;
	const char *name;

	if (code)
		return code;
	base_after = xf_cursor_u32(content);
	name = xf_cursor_string(content);
	if (!name)
		return -EBADMSG;
	kernel->base_after = base_after;
	kernel->name = name;
	return 0;
}

struct xf_symbol xf_kernels_symbol(struct xf_cursor *cursor)
{
	struct xf_symbol symbol = {.address = xf_cursor_u64(cursor)};

	symbol.size = xf_cursor_u32(cursor);
	symbol.type = (char)xf_cursor_u8(cursor);
	symbol.name = xf_cursor_string(cursor);
	return symbol;
}

static int read_symbols(struct xf_kernels *kernels, struct xf_cursor *content)
{
	struct xf_recording_kernel *kernel;
	struct xf_kernel_symbols *symbols;
	int code = take_kernel(kernels, content, &kernel);
	size_t start;

	if (code)
		return code;
	xf_cursor_u32(content);
	if (content->failed)
		return -EBADMSG;
	symbols = XF_GROW(kernel->symbols, kernel->nr_symbols);
	if (!symbols)
		return -ENOMEM;
	kernel->nr_symbols++;
	start = content->position;
	symbols->bytes = content->bytes + start;
	while (xf_cursor_left(content)) {
		xf_kernels_symbol(content);
		if (content->failed)
			return -EBADMSG;
		symbols->size = content->position - start;
	}
	return 0;
}

static int read_code(struct xf_kernels *kernels, struct xf_cursor *content)
{
	struct xf_recording_kernel *kernel;
	struct xf_code *code;
	int result = take_kernel(kernels, content, &kernel);
	uint64_t address;
	size_t size;

	if (result)
		return result;
	xf_cursor_u32(content);
	address = xf_cursor_u64(content);
	size = xf_cursor_left(content);
	if (!size || size > XF_MAX_KERNEL_BYTES || address + size < address ||
	    kernel->nr_code == XF_MAX_KERNEL_CODE)
		return -EBADMSG;
	code = XF_GROW(kernel->code, kernel->nr_code);
	if (!code)
		return -ENOMEM;
	*code = (struct xf_code){
	        .address = address, .bytes = xf_cursor_take(content, size), .size = size};
	kernel->nr_code++;
	return 0;
}

/* A kernel has one; a later one takes its place. */
static int read_orc(struct xf_kernels *kernels, struct xf_cursor *content)
{
	struct xf_recording_kernel *kernel;
	int code = take_kernel(kernels, content, &kernel);
	struct xf_code orc_code = {0};
	struct xf_orc orc = {0};
	uint64_t places_size;

	if (code)
		return code;
	orc.header_size = xf_cursor_u32(content);
	orc_code.address = xf_cursor_u64(content);
	orc_code.size = xf_cursor_u64(content);
	orc.places_address = xf_cursor_u64(content);
	places_size = xf_cursor_u64(content);
	if (places_size > xf_cursor_left(content))
		return -EBADMSG;
	orc.places_size = places_size;
	orc.header = xf_cursor_take(content, orc.header_size);
	orc.places = xf_cursor_take(content, orc.places_size);
	orc.entries_size = xf_cursor_left(content);
	orc.entries = xf_cursor_take(content, orc.entries_size);
	if (content->failed || !orc.entries_size || !orc_code.size ||
	    orc_code.size > XF_MAX_KERNEL_BYTES ||
	    orc_code.address + orc_code.size < orc_code.address)
		return -EBADMSG;
	if (!orc.header_size)
		orc.header = NULL;
	kernel->orc = orc;
	kernel->orc_code = orc_code;
	return 0;
}

static int read_of(struct xf_kernels *kernels, struct xf_cursor *content)
{
	struct xf_recording_kernel_of read = {.domid = xf_cursor_u16(content)};
	struct xf_recording_kernel_of *of;

	xf_cursor_u16(content);
	read.kernel = xf_cursor_u32(content);
	read.tsc = xf_cursor_u64(content);
	read.slide = xf_cursor_u64(content);
	if (content->failed)
		return -EBADMSG;
	of = XF_GROW(kernels->of, kernels->nr_of);
	if (!of)
		return -ENOMEM;
	read.order = kernels->nr_of;
	*of = read;
	kernels->nr_of++;
	return 0;
}

int xf_kernels_read(struct xf_kernels *kernels, enum xf_chunk_type type, struct xf_cursor content)
{
	switch (type) {
	case XF_CHUNK_KERNEL:
		return read_kernel(kernels, &content);
	case XF_CHUNK_KERNEL_SYMBOLS:
		return read_symbols(kernels, &content);
	case XF_CHUNK_KERNEL_CODE:
		return read_code(kernels, &content);
	case XF_CHUNK_KERNEL_ORC:
		return read_orc(kernels, &content);
	case XF_CHUNK_KERNEL_OF:
		return read_of(kernels, &content);
	default:
		return -EBADMSG;
	}
}

static int compare_of(const void *left, const void *right)
{
	const struct xf_recording_kernel_of *a = left;
	const struct xf_recording_kernel_of *b = right;

	if (a->domid != b->domid)
		return a->domid < b->domid ? -1 : 1;
	if (a->tsc != b->tsc)
		return a->tsc < b->tsc ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

void xf_kernels_finish(struct xf_kernels *kernels)
{
	if (kernels->nr_of)
		qsort(kernels->of, kernels->nr_of, sizeof(*kernels->of), compare_of);
	for (size_t i = 0; i < kernels->nr; i++) {
		struct xf_recording_kernel *kernel = &kernels->kernels[i];

		if (kernel->base_after && kernel->base_after - 1 != kernel->number)
			kernel->base = xf_kernels_find(kernels, kernel->base_after - 1);
	}
}

void xf_kernels_free(struct xf_kernels *kernels)
{
	for (size_t i = 0; i < kernels->nr; i++) {
		free(kernels->kernels[i].symbols);
		free(kernels->kernels[i].code);
	}
	free(kernels->kernels);
	free(kernels->of);
	*kernels = (struct xf_kernels){0};
}

const struct xf_recording_kernel_of *xf_kernels_said_of(const struct xf_kernels *kernels,
                                                        uint16_t domid, uint64_t tsc)
{
	const struct xf_recording_kernel_of wanted = {
	        .domid = domid, .tsc = tsc, .order = SIZE_MAX};
	size_t low = 0;
	size_t high = kernels->nr_of;

	/* @low becomes the number of entries at or before (domid, tsc). */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_of(&kernels->of[middle], &wanted) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low && kernels->of[low - 1].domid == domid ? &kernels->of[low - 1] : NULL;
}

const struct xf_recording_kernel *xf_kernels_of(const struct xf_kernels *kernels, uint16_t domid,
                                                uint64_t tsc, uint64_t *slide)
{
	const struct xf_recording_kernel_of *said = xf_kernels_said_of(kernels, domid, tsc);

	if (!said)
		return NULL;
	*slide = said->slide;
	return xf_kernels_find(kernels, said->kernel);
}

static int add_symbols(struct xf_symbols *symbols, const struct xf_recording_kernel *kernel)
{
	for (size_t i = 0; i < kernel->nr_symbols; i++) {
		struct xf_cursor cursor =
		        xf_cursor_over(kernel->symbols[i].bytes, kernel->symbols[i].size);

		while (xf_cursor_left(&cursor)) {
			struct xf_symbol symbol = xf_kernels_symbol(&cursor);
			int code = xf_symbols_add(symbols, symbol.address, symbol.size, symbol.type,
			                          symbol.name);

			if (code)
				return code;
		}
	}
	return 0;
}

struct xf_symbols *xf_kernels_symbols(const struct xf_recording_kernel *kernel)
{
	struct xf_symbols *symbols = xf_symbols_new();

	if (!symbols)
		return NULL;
	if ((kernel->base && add_symbols(symbols, kernel->base)) || add_symbols(symbols, kernel)) {
		xf_symbols_free(symbols);
		return NULL;
	}
	xf_symbols_finish(symbols);
	return symbols;
}
