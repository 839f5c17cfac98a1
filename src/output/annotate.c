// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/annotate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/facts.h"
#include "output/text.h"
#include "unwind/decode.h"
#include "unwind/disassemble.h"

struct annotation {
	FILE *out;
	const struct xf_symbols *symbols;
	const struct xf_function *function;
	const struct xf_hits *hits;
	const struct xf_annotate_options *options;
	uint64_t size; /* of the function, without the filler behind it */
	/* Instructions that have been left out since the last line, and their samples. */
	uint64_t skipped;
	uint64_t skipped_hits;
	struct xf_call before[2]; /* where the source's lines stand */
};

/* Of the instruction at @offset; samples within it count too: it may have been patched since. */
static uint64_t hits_at(const struct annotation *annotation, uint64_t offset, uint8_t length)
{
	uint64_t sum = 0;

	for (uint64_t i = offset; i < offset + length && i < annotation->function->code.size; i++)
		sum += annotation->hits->of[i];
	return sum;
}

static uint8_t length_at(const struct xf_code *code, uint64_t offset, bool *padding)
{
	struct xf_decoder decoder;
	struct xf_decoded decoded;

	xf_decoder_start(&decoder);
	xf_insn_decode(&decoder, code->bytes + offset, code->size - offset, &decoded);
	*padding = decoded.padding;
	return decoded.length;
}

/* Counts instructions and those that were interrupted, and finds where the filler begins. */
static void measure(struct annotation *annotation, uint64_t *instructions, uint64_t *hit)
{
	const struct xf_code *code = &annotation->function->code;
	uint64_t pending = 0;

	*instructions = *hit = 0;
	for (uint64_t offset = 0; offset < code->size;) {
		bool padding;
		uint8_t length = length_at(code, offset, &padding);
		bool interrupted = hits_at(annotation, offset, length) > 0;

		pending++;
		if (!padding || interrupted) {
			*instructions += pending;
			pending = 0;
			annotation->size = offset + length;
		}
		*hit += interrupted;
		offset += length;
	}
}

static void write_percent(const struct annotation *annotation, uint64_t hits)
{
	char count[32];

	if (hits)
		fprintf(annotation->out, "%7.2f%% %11s", xf_percent(hits, annotation->hits->total),
		        xf_text_count(hits, count));
	else
		fprintf(annotation->out, "%8s %11s", "-", "-");
}

static void end_gap(struct annotation *annotation)
{
	if (!annotation->skipped)
		return;
	write_percent(annotation, annotation->skipped_hits);
	fprintf(annotation->out, "  (%" PRIu64 " instruction%s)\n", annotation->skipped,
	        annotation->skipped == 1 ? "" : "s");
	annotation->skipped = annotation->skipped_hits = 0;
}

#define PLACE_COLUMN 22

/* A line of the source's own text, without what it is indented by. */
static void write_text(const struct annotation *annotation, const struct xf_call *call)
{
	const struct xf_source_text *text = annotation->options->text;
	size_t size;
	const char *line = text ? text->find(text->context, call->file, call->line, &size) : NULL;
	char *copy;

	while (line && size && (*line == ' ' || *line == '\t')) {
		line++;
		size--;
	}
	copy = line && size ? strndup(line, size) : NULL;
	if (!copy)
		return;
	fprintf(annotation->out, "%*s    ", PLACE_COLUMN, "");
	xf_text_write(annotation->out, copy, "");
	fputc('\n', annotation->out);
	free(copy);
}

static bool is_same_call(const struct xf_call *a, const struct xf_call *b)
{
	return a->line == b->line && a->inlined == b->inlined && a->file && b->file &&
	       strcmp(a->file, b->file) == 0;
}

static void write_place(FILE *out, const struct xf_call *call)
{
	xf_text_write(out, call->file, "");
	fprintf(out, ":%d", call->line);
}

/* "FILE:LINE  FUNCTION (inlined at FILE:LINE)", and so on for what that is inlined in. */
static void write_calls(const struct annotation *annotation, const struct xf_call *calls, size_t nr)
{
	FILE *out = annotation->out;

	fprintf(out, "%*s", PLACE_COLUMN, "");
	write_place(out, &calls[0]);
	for (size_t i = 0; i + 1 < nr && calls[i].inlined && calls[i + 1].file; i++) {
		fputs(i ? " in " : "  ", out);
		xf_text_write(out, calls[i].function ? calls[i].function : "?", "");
		fputs(" (inlined at ", out);
		write_place(out, &calls[i + 1]);
		fputc(')', out);
	}
	fputc('\n', out);
}

/* The line of the source, where it is another than before. */
static void write_source(struct annotation *annotation, uint64_t address)
{
	struct xf_debug *debug = annotation->options->debug;
	struct xf_call calls[XF_CALLS_MAX] = {{0}};
	size_t nr = debug ? xf_debug_calls(debug, address, calls, XF_CALLS_MAX) : 0;

	if (!nr || !calls[0].file)
		return;
	if (is_same_call(&calls[0], &annotation->before[0]) &&
	    (!calls[0].inlined || is_same_call(&calls[1], &annotation->before[1])))
		return;
	annotation->before[0] = calls[0];
	annotation->before[1] = calls[1];
	write_calls(annotation, calls, nr);
	write_text(annotation, &calls[0]);
}

static void write_target(const struct annotation *annotation, uint64_t target)
{
	const struct xf_symbol *symbol = xf_symbols_find(annotation->symbols, target);

	if (!symbol)
		return;
	fputs("  <", annotation->out);
	xf_text_write(annotation->out, symbol->name, "");
	if (target > symbol->address)
		fprintf(annotation->out, "+0x%" PRIx64, target - symbol->address);
	fputs(">", annotation->out);
}

static void write_instruction(struct annotation *annotation, uint64_t offset, uint64_t hits,
                              const struct xf_insn_text *text)
{
	uint64_t address = annotation->function->code.address + offset;
	char place[24];

	write_source(annotation, address);
	write_percent(annotation, hits);
	snprintf(place, sizeof(place), "+0x%" PRIx64, offset);
	fprintf(annotation->out, "  %016" PRIx64 " %8s  %s", address, place, text->text);
	if (text->has_target)
		write_target(annotation, text->target);
	fputc('\n', annotation->out);
}

static void write_instructions(struct annotation *annotation)
{
	const struct xf_code *code = &annotation->function->code;

	for (uint64_t offset = 0; offset < annotation->size;) {
		struct xf_insn_text text;
		uint64_t hits;

		xf_insn_format(code, code->address + offset, &text);
		hits = hits_at(annotation, offset, text.length);
		if (xf_percent(hits, annotation->hits->total) <
		    annotation->options->percent_limit) {
			annotation->skipped++;
			annotation->skipped_hits += hits;
		} else {
			end_gap(annotation);
			write_instruction(annotation, offset, hits, &text);
		}
		offset += text.length;
	}
	end_gap(annotation);
}

static void write_function(struct annotation *annotation, const struct xf_profile *profile)
{
	const struct xf_function *function = annotation->function;
	FILE *out = annotation->out;
	uint64_t instructions, hit;
	char count[32];

	measure(annotation, &instructions, &hit);
	fputs("\nFunction   ", out);
	xf_text_write(out, function->symbol->name, "");
	fprintf(out, ", %" PRIu64 " instructions in %" PRIu64 " bytes\n", instructions,
	        annotation->size);
	fprintf(out, "Samples    %s, %.2f%% of all; at %" PRIu64 " instruction%s\n",
	        xf_text_count(annotation->hits->total, count),
	        xf_percent(annotation->hits->total, profile->samples), hit, hit == 1 ? "" : "s");
	fputs("An address is that of the instruction that the NMI interrupted: it was the next\n"
	      "to run, and what took the time often stands before it.\n\n"
	      " Percent     Samples           Address   Offset  Instruction\n",
	      out);
	write_instructions(annotation);
	write_percent(annotation, annotation->hits->total);
	fputs("  total\n", out);
}

static int write_functions(FILE *out, const struct xf_recording *recording,
                           const struct xf_profile *profile,
                           const struct xf_profile_options *selection,
                           const struct xf_annotate_options *options,
                           const struct xf_function *functions, size_t nr, uint64_t *samples)
{
	struct xf_facts facts;

	for (size_t i = 0; i < nr; i++) {
		struct xf_hits hits;
		int code = xf_hits_count(recording, selection, &functions[i], &hits);

		if (code)
			return code;
		if (hits.total && !*samples) {
			xf_facts_of(profile, &facts);
			fputs("Host       ", out);
			xf_text_write(out, facts.host, "");
			fprintf(out, "\nRecorded   %s\n", facts.recorded);
		}
		*samples += hits.total;
		if (hits.total)
			write_function(
			        &(struct annotation){.out = out,
			                             .symbols = xf_recording_symbols(recording),
			                             .function = &functions[i],
			                             .hits = &hits,
			                             .options = options},
			        profile);
		free(hits.of);
	}
	return 0;
}

int xf_annotate_write(FILE *out, const struct xf_recording *recording,
                      const struct xf_profile *profile, const struct xf_profile_options *selection,
                      const char *name, const struct xf_annotate_options *options,
                      struct xf_error *error)
{
	struct xf_function *functions;
	uint64_t samples = 0;
	size_t nr;
	int code = xf_functions_find(recording, name, &functions, &nr, error);

	if (code)
		return code;
	code = write_functions(out, recording, profile, selection, options, functions, nr,
	                       &samples);
	free(functions);
	if (code)
		return xf_fail(error, code, "no memory for the function");
	if (!samples)
		return xf_fail(error, -ENOENT,
		               "no sample was taken in \"%.200s\" itself; what it called, 'report"
		               " --function' tells",
		               name);
	return 0;
}
