// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/host_exit.h"
#include "cmd/options.h"
#include "output/text.h"
#include "unwind/explain.h"
#include "unwind/source.h"
#include "xen/host.h"
#include "xen/syms.h"

/* Several times what builds of Xen make, debug information included. */
#define IMAGE_MAX (64u << 20)

struct request {
	const char *recording; /* NULL: an image is asked for */
	const char *image;     /* NULL: the running Xen's, as it is in /boot */
	const char *symbol;    /* to be explained; NULL: none */
	bool coverage;
	enum xf_source from;
};

/* Code and the symbols that go with it. */
struct source {
	struct xf_input input; /* a recording, or an ELF file */
	struct xf_host host;
	struct xf_code image;
	struct xf_symbols *image_symbols;
	bool is_elf; /* @elf is open */
	struct xf_elf elf;
	struct xf_code *pieces;     /* of an ELF file that is not Xen's */
	const struct xf_code *code; /* of one of the above; Xen's own first */
	size_t nr;
	const struct xf_symbols *symbols;
	uint64_t *entries;
	size_t nr_entries;
	bool printed; /* something of it */
};

/* ---- Where from ------------------------------------------------------------------------------ */

static int open_recording(const char *path, struct source *source)
{
	int status = xf_input_open(path, &source->input);

	if (status)
		return status;
	source->code = xf_recording_code(source->input.recording, &source->nr);
	source->symbols = xf_recording_symbols(source->input.recording);
	if (!source->nr)
		return xf_complain(XF_EXIT_INPUT, "%s: Xen's code is not in it",
		                   source->input.path);
	return XF_EXIT_OK;
}

/* Xen's own, with its symbols. Return: whether it is that. */
static bool open_syms(struct source *source)
{
	if (xf_syms_parse(source->input.bytes, source->input.size, &source->image,
	                  &source->image_symbols, NULL))
		return false;
	source->code = &source->image;
	source->nr = 1;
	return true;
}

/* Any other program, library or kernel. */
static int open_pieces(struct source *source)
{
	struct xf_error error = {0};

	source->pieces = calloc(source->elf.nr_pieces, sizeof(*source->pieces));
	if (!source->pieces ||
	    xf_syms_read(source->input.bytes, source->input.size, &source->image_symbols, &error))
		return xf_complain(XF_EXIT_FAILURE, "out of memory");
	for (size_t i = 0; i < source->elf.nr_pieces; i++)
		source->pieces[i] = source->elf.pieces[i].code;
	source->code = source->pieces;
	source->nr = source->elf.nr_pieces;
	return XF_EXIT_OK;
}

static int open_elf(struct source *source)
{
	struct xf_error error = {0};
	int status;

	source->is_elf = true;
	if (xf_elf_open(source->input.bytes, source->input.size, &source->elf, &error))
		return xf_input_complain(&source->input, &error);
	status = open_syms(source) ? XF_EXIT_OK : open_pieces(source);
	source->symbols = source->image_symbols;
	return status;
}

/* @path is an image to boot from, which has no symbols. */
static int open_host(const char *path, struct source *source)
{
	struct xf_error error = {0};
	int result = xf_host_read_code(&source->host, path, &error);

	if (result == -EBADMSG)
		return xf_complain(XF_EXIT_INPUT,
		                   "%s; a xen-syms file, or a recording, brings its own symbols",
		                   error.text);
	if (result && path)
		xf_fail_prefix(&error, "%s has no symbols, and the running Xen's cannot be read",
		               path);
	if (result)
		return xf_complain(xf_host_exit(&error), "%s", error.text);
	source->code = &source->host.code;
	source->nr = 1;
	source->symbols = source->host.symbols;
	return XF_EXIT_OK;
}

static int recognize_image(const void *bytes, size_t size, struct xf_error *error)
{
	static const uint8_t elf[] = {0x7f, 'E', 'L', 'F'};
	static const uint8_t gzip[] = {0x1f, 0x8b};

	if (size >= 4 && (memcmp(bytes, elf, 4) == 0 || memcmp(bytes, gzip, 2) == 0))
		return 0;
	return xf_fail(error, -EBADMSG,
	               "not an image of Xen, neither an ELF file nor a gzipped one; wanted is a"
	               " xen-syms file, or the running Xen's image from /boot");
}

static int open_image(const char *path, struct source *source)
{
	int status =
	        path ? xf_input_read(path, recognize_image, IMAGE_MAX, &source->input) : XF_EXIT_OK;

	if (status)
		return status;
	if (path && xf_syms_recognize(source->input.bytes, source->input.size))
		return open_elf(source);
	return open_host(path, source);
}

static int open_source(const struct request *request, struct source *source)
{
	int status = request->recording ? open_recording(request->recording, source)
	                                : open_image(request->image, source);

	if (status)
		return status;
	if (source->pieces) {
		source->entries = source->elf.entries;
		source->nr_entries = source->elf.nr_entries;
		source->elf.entries = NULL;
		return XF_EXIT_OK;
	}
	source->entries = xf_symbols_entries(source->symbols, &source->nr_entries);
	return source->entries ? XF_EXIT_OK : xf_complain(XF_EXIT_FAILURE, "out of memory");
}

static void close_source(struct source *source)
{
	free(source->entries);
	free(source->pieces);
	if (source->is_elf)
		xf_elf_close(&source->elf);
	xf_symbols_free(source->image_symbols);
	xf_host_close(&source->host);
	xf_input_close(&source->input);
}

/* ---- What is printed ------------------------------------------------------------------------- */

static void separate(struct source *source)
{
	if (source->printed)
		putchar('\n');
	source->printed = true;
}

/* The table of @code from where it was asked for; told where it is not to be had. */
static int make_table(const struct source *source, enum xf_source from, const struct xf_code *code,
                      struct xf_unwind_table **table, struct xf_source_used *used)
{
	struct xf_source_image image = {
	        .elf = source->is_elf ? &source->elf : NULL,
	        .code = code,
	        .entries = source->entries,
	        .nr_entries = source->nr_entries,
	};
	struct xf_error error = {0};

	if (xf_source_table(from, &image, table, used, &error))
		return xf_complain(error.code == -ENOMEM ? XF_EXIT_FAILURE : XF_EXIT_INPUT,
		                   "--source: %s", error.text);
	if (used->refused.code)
		xf_complain(0, "%s", used->refused.text);
	return XF_EXIT_OK;
}

static const char *owner(const struct source *source, size_t index)
{
	if (source->pieces)
		return "the file";
	return index ? "a live patch" : "Xen";
}

static int print_coverage(const struct request *request, struct source *source)
{
	for (size_t i = 0; i < source->nr; i++) {
		const struct xf_code *code = &source->code[i];
		struct xf_unwind_table *table = NULL;
		struct xf_source_used used;
		int status = make_table(source, request->from, code, &table, &used);

		if (status)
			return status;
		separate(source);
		printf("%s's code, %" PRIx64 " to %" PRIx64 "\nsource: %s\n", owner(source, i),
		       code->address, code->address + code->size, used.name);
		xf_coverage_print(table, stdout);
		xf_unwind_table_free(table);
	}
	return XF_EXIT_OK;
}

/* Return: the piece of code that @address lies in, NULL where it is in none. */
static const struct xf_code *find_code(const struct source *source, uint64_t address)
{
	for (size_t i = 0; i < source->nr; i++) {
		const struct xf_code *code = &source->code[i];

		if (address >= code->address && address - code->address < code->size)
			return code;
	}
	return NULL;
}

/* Where the symbol with number @index ends, in @code that it lies in. */
static uint64_t end_of(const struct source *source, size_t index, const struct xf_code *code)
{
	uint64_t address = xf_symbols_at(source->symbols, index)->address;
	uint64_t extent = xf_symbols_extent(source->symbols, index);
	uint64_t left = code->size - (address - code->address);

	return address + (extent < left ? extent : left);
}

/* The inference tells more than its rows; of other sources there are only these. */
static int explain_range(const struct request *request, const struct source *source,
                         const struct xf_code *code, uint64_t from, uint64_t to)
{
	struct xf_unwind_table *table;
	struct xf_source_used used;
	struct xf_error error = {0};
	int status = make_table(source, request->from, code, &table, &used);

	if (status)
		return status;
	printf("source: %s\n", used.name);
	if (used.source != XF_SOURCE_CODE)
		xf_unwind_explain_table(table, code, from, to, stdout);
	else if (xf_unwind_explain(code, source->entries, source->nr_entries, from, to, stdout,
	                           &error))
		status = xf_complain(XF_EXIT_FAILURE, "%s", error.text);
	xf_unwind_table_free(table);
	return status;
}

static int explain_function(const struct request *request, struct source *source, size_t index,
                            const struct xf_code *code)
{
	const struct xf_symbol *symbol = xf_symbols_at(source->symbols, index);
	uint64_t end = end_of(source, index, code);

	separate(source);
	xf_text_write(stdout, symbol->name, "");
	printf(", %" PRIx64 " to %" PRIx64 "\n", symbol->address, end);
	return explain_range(request, source, code, symbol->address, end);
}

/* Static functions of several files may go by one name. */
static int explain_functions(const struct request *request, struct source *source)
{
	bool found = false;
	int status = XF_EXIT_OK;

	for (size_t i = 0; !status && i < xf_symbols_count(source->symbols); i++) {
		const struct xf_symbol *symbol = xf_symbols_at(source->symbols, i);
		const struct xf_code *code = find_code(source, symbol->address);

		if (!code || !xf_symbol_goes_by(symbol->name, request->symbol))
			continue;
		found = true;
		status = explain_function(request, source, i, code);
	}
	if (!found)
		return xf_complain(XF_EXIT_FAILURE, "no function is named \"%s\"", request->symbol);
	return status;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int print_source(const struct request *request, struct source *source)
{
	int status = XF_EXIT_OK;

	if (request->coverage || !request->symbol)
		status = print_coverage(request, source);
	if (!status && request->symbol)
		status = explain_functions(request, source);
	return status;
}

static bool take_recording(void *request, const char *value)
{
	((struct request *)request)->recording = value;
	return true;
}

static bool take_image(void *request, const char *value)
{
	((struct request *)request)->image = value;
	return true;
}

static bool take_coverage(void *request, const char *value)
{
	(void)value;
	((struct request *)request)->coverage = true;
	return true;
}

static bool take_symbol(void *request, const char *value)
{
	((struct request *)request)->symbol = value;
	return true;
}

static bool take_source(void *request, const char *value)
{
	if (xf_source_by_name(value, &((struct request *)request)->from))
		return true;
	xf_complain(XF_EXIT_USAGE,
	            "--source: \"%s\" is not one of auto, code, cfi, orc, frame-pointers", value);
	return false;
}

static const struct xf_option options[] = {
        {"input", 'i', "FILE", "Xen's code and symbols as a recording holds them", take_recording},
        {"image", 0, "FILE", "a xen-syms or other ELF file, or the running Xen's image",
         take_image},
        {"source", 0, "SOURCE", "auto (default), code, cfi, orc or frame-pointers", take_source},
        {"coverage", 0, NULL, "bytes by what is known of the stack, or why nothing is",
         take_coverage},
        {"explain", 0, "SYMBOL", "each instruction of this function, with what is known",
         take_symbol},
        {0},
};

static int run(int argc, char **argv)
{
	struct request request = {0};
	struct source source = {0};
	int status;

	if (!xf_options_read(&xf_command_unwind, argc, argv, &request, &status))
		return status;
	if (request.recording && request.image)
		return xf_complain(XF_EXIT_USAGE, "-i and --image: one of them is enough");
	status = open_source(&request, &source);
	if (!status)
		status = print_source(&request, &source);
	close_source(&source);
	return status;
}

const struct xf_command xf_command_unwind = {
        .name = "unwind",
        .synopsis = "[-i FILE | --image FILE] [--source SOURCE] [--coverage] [--explain SYMBOL]",
        .summary = "tells what has been inferred from Xen's code to unwind its stacks",
        .options = options,
        .help =
                (const char *const[]){
                        "For who doubts a stack, or an [incomplete: WHY]. Without --coverage and "
                        "--explain: the",
                        "coverage. Without -i and --image it takes the running Xen's code, as root "
                        "in dom0.",
                        NULL},
        .run = run,
};
