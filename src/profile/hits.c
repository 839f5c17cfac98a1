// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/hits.h"

#include <errno.h>
#include <stdlib.h>

static const struct xf_code *find_code(const struct xf_recording *recording, uint64_t address)
{
	size_t nr;
	const struct xf_code *code = xf_recording_code(recording, &nr);

	for (size_t i = 0; i < nr; i++) {
		if (address >= code[i].address && address - code[i].address < code[i].size)
			return &code[i];
	}
	return NULL;
}

/* Return: the code of the symbol with number @index, cut where @whole ends. */
static struct xf_code cut_out(const struct xf_symbols *symbols, size_t index,
                              const struct xf_code *whole)
{
	uint64_t address = xf_symbols_at(symbols, index)->address;
	uint64_t offset = address - whole->address;
	uint64_t size = xf_symbols_extent(symbols, index);

	return (struct xf_code){.address = address,
	                        .bytes = whole->bytes + offset,
	                        .size = size < whole->size - offset ? size : whole->size - offset};
}

int xf_functions_find(const struct xf_recording *recording, const char *name,
                      struct xf_function **functions, size_t *nr, struct xf_error *error)
{
	const struct xf_symbols *symbols = xf_recording_symbols(recording);
	struct xf_function *found = NULL;
	bool named = false;

	*nr = 0;
	for (size_t i = 0; i < xf_symbols_count(symbols); i++) {
		const struct xf_symbol *symbol = xf_symbols_at(symbols, i);
		const struct xf_code *code = find_code(recording, symbol->address);
		struct xf_function *grown;

		if (!xf_symbol_goes_by(symbol->name, name))
			continue;
		named = true;
		if (!code)
			continue;
		grown = reallocarray(found, *nr + 1, sizeof(*found));
		if (!grown) {
			free(found);
			return xf_fail(error, -ENOMEM, "no memory for the functions");
		}
		found = grown;
		found[(*nr)++] =
		        (struct xf_function){.symbol = symbol, .code = cut_out(symbols, i, code)};
	}
	*functions = found;
	if (*nr)
		return 0;
	return xf_fail(error, -ENOENT,
	               named ? "the code of \"%.200s\" has not been recorded"
	                     : "no function of Xen's is named \"%.200s\"",
	               name);
}

/* Return: whether @record was taken in Xen, and the filters let it through. */
static bool is_wanted(const struct xf_recording *recording,
                      const struct xf_profile_options *options, const struct xf_record *record)
{
	const struct xf_sample *sample = &record->sample;
	uint16_t domid = sample->flags & XF_SAMPLE_IDLE ? XF_DOMID_IDLE : sample->domid;
	char text[16];

	return record->type == XF_RECORD_SAMPLE && !(sample->flags & XF_SAMPLE_GUEST) &&
	       xf_profile_wants(options, domid, xf_domain_name(recording, domid, sample->tsc, text),
	                        sample->pcpu);
}

int xf_hits_count(const struct xf_recording *recording, const struct xf_profile_options *options,
                  const struct xf_function *function, struct xf_hits *hits)
{
	struct xf_record_iterator iterator = {0};
	struct xf_record record;

	*hits = (struct xf_hits){.of = calloc(function->code.size + 1, sizeof(*hits->of))};
	if (!hits->of)
		return -ENOMEM;
	while (xf_recording_next(recording, &iterator, &record)) {
		uint64_t offset = record.sample.rip - function->code.address;

		if (record.type != XF_RECORD_SAMPLE || offset >= function->code.size ||
		    !is_wanted(recording, options, &record))
			continue;
		hits->of[offset]++;
		hits->total++;
	}
	return 0;
}
