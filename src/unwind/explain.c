// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/explain.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "unwind/disassemble.h"
#include "unwind/table.h"

static const char *const register_names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp",
                                             "rsi", "rdi", "r8",  "r9",  "r10", "r11",
                                             "r12", "r13", "r14", "r15"};

void xf_coverage_count(const struct xf_unwind_table *table, struct xf_coverage *coverage)
{
	memset(coverage, 0, sizeof(*coverage));
	coverage->bytes = table->size;
	for (uint64_t offset = 0; offset < table->size; offset++) {
		const struct xf_unwind_row *row = xf_table_at(table, offset);

		if (row->kind == XF_ROW_CALL)
			coverage->call++;
		else if (row->kind == XF_ROW_INTERRUPT)
			coverage->interrupt++;
		else
			coverage->undefined[row->reason]++;
	}
}

static void print_share(FILE *out, const char *name, uint64_t part, uint64_t whole)
{
	fprintf(out, "%12" PRIu64 " %8.4f %%  %s\n", part, whole ? 100.0 * part / whole : 0, name);
}

void xf_coverage_print(const struct xf_unwind_table *table, FILE *out)
{
	struct xf_coverage coverage;
	uint64_t code;

	xf_coverage_count(table, &coverage);
	code = coverage.bytes - coverage.undefined[XF_UNWIND_PADDING];
	fprintf(out, "       bytes    share\n");
	print_share(out, "all", coverage.bytes, coverage.bytes);
	print_share(out, "padding", coverage.undefined[XF_UNWIND_PADDING], coverage.bytes);
	fprintf(out, "of the rest:\n");
	print_share(out, "called functions", coverage.call, code);
	print_share(out, "interrupt entry code", coverage.interrupt, code);
	for (unsigned int i = 0; i < 256; i++)
		if (coverage.undefined[i] != 0 && i != XF_UNWIND_PADDING)
			print_share(out, xf_unwind_reason_name((enum xf_unwind_reason)i),
			            coverage.undefined[i], code);
}

static void print_value(FILE *out, const char *name, xf_value value)
{
	static const char *const origins[] = {"?", "base", "aligned", "caller"};

	if (value == XF_VALUE_UNKNOWN)
		return;
	fprintf(out, " %s=%s%+d", name, origins[xf_value_origin(value)], xf_value_offset(value));
}

static void print_op(FILE *out, const struct xf_op *op)
{
	const char *dst = register_names[op->dst % XF_NR_REGS];
	const char *src = op->src < XF_NR_REGS ? register_names[op->src] : "?";

	switch ((enum xf_op_kind)op->kind) {
	case XF_OP_ADJUST:
		fprintf(out, " %s+=%d", dst, op->value);
		break;
	case XF_OP_COPY:
		fprintf(out, " %s=%s%+d", dst, src, op->value);
		break;
	case XF_OP_ALIGN:
		fprintf(out, " %s&=%d", dst, op->value);
		break;
	case XF_OP_STORE:
		fprintf(out, " [%s%+d]=%s", dst, op->value, src);
		break;
	case XF_OP_LOAD:
		fprintf(out, " %s=[%s%+d]", dst, src, op->value);
		break;
	case XF_OP_EXCHANGE:
		fprintf(out, " %s<->%s", dst, src);
		break;
	}
}

static void print_row(FILE *out, const struct xf_unwind_row *row)
{
	static const char *const rbp[] = {"?", "same", "base", "rbp", "rsp"};

	if (row->kind == XF_ROW_UNDEFINED) {
		fprintf(out, "[%s]", xf_unwind_reason_name((enum xf_unwind_reason)row->reason));
		return;
	}
	fprintf(out, "%s base=", row->kind == XF_ROW_CALL ? "call" : "interrupt");
	if (row->base_rule == XF_BASE_WORD)
		fprintf(out, "[%s%+d]%+d", register_names[row->base_register % XF_NR_REGS],
		        row->base_offset, row->base_addend);
	else
		fprintf(out, "%s%+d", register_names[row->base_register % XF_NR_REGS],
		        row->base_offset);
	fprintf(out, " rbp=%s", rbp[row->rbp_rule]);
	if (row->rbp_rule > XF_RBP_SAME)
		fprintf(out, "%+d", row->rbp_offset);
}

static void print_state(FILE *out, const struct xf_state *state)
{
	for (unsigned int i = 0; i < XF_NR_REGS; i++)
		print_value(out, register_names[i], state->reg[i]);
	print_value(out, "saved-rbp-at", state->rbp_slot);
	print_value(out, "saved-base-at", state->base_slot);
}

static void print_text(FILE *out, const struct xf_code *code, uint32_t offset)
{
	struct xf_insn_text text;

	xf_insn_format(code, code->address + offset, &text);
	fprintf(out, "%-44s", text.text);
}

static void explain_block(const struct xf_inference *inference, size_t index, uint64_t from,
                          uint64_t to, FILE *out)
{
	static const char *const grounds[] = {"unreached", "flow",   "trap",
	                                      "behind",    "switch", "apart"};
	const struct xf_graph *graph = &inference->graph;
	const struct xf_block *block = &graph->blocks[index];
	struct xf_state state = *xf_infer_before(inference, index);
	struct xf_place at = xf_place_first(graph, block);

	for (; at.offset < block->end; xf_place_next(&at)) {
		uint64_t address = graph->code->address + at.offset;

		if (address >= from && address < to) {
			struct xf_unwind_row row = xf_state_row(&state);

			if (at.offset == block->first) {
				fprintf(out, "%s block, ground %s%s%s:",
				        block->flags & XF_BLOCK_CALLED ? "called" : "",
				        grounds[inference->ground[index]],
				        block->flags & XF_BLOCK_OVER ? ", call over" : "",
				        block->flags & XF_BLOCK_RETURNS ? ", returns" : "");
				print_state(out, &state);
				fprintf(out, "\n");
			}
			fprintf(out, "%" PRIx64 ":  ", address);
			print_text(out, graph->code, at.offset);
			print_row(out, &row);
			if (at.insn->nr_ops != 0)
				fprintf(out, "  ;");
			for (unsigned int i = 0; i < at.insn->nr_ops; i++)
				print_op(out, &at.ops[i]);
			fprintf(out, "\n");
		}
		xf_infer_step(&at, &state);
	}
}

int xf_unwind_explain(const struct xf_code *code, const uint64_t *entries, size_t nr_entries,
                      uint64_t from, uint64_t to, FILE *out, struct xf_error *error)
{
	struct xf_inference inference;
	int ret;

	if (code->size == 0 || code->size > INT32_MAX)
		return xf_fail(error, -EINVAL, "unwind: %zu bytes of code", code->size);
	ret = xf_infer(&inference, code, entries, nr_entries);
	for (size_t i = 0; ret == 0 && i < inference.graph.nr_blocks; i++) {
		const struct xf_block *block = &inference.graph.blocks[i];

		if (code->address + block->end > from && code->address + block->first < to)
			explain_block(&inference, i, from, to, out);
	}
	xf_infer_free(&inference);
	return ret == 0 ? 0 : xf_fail(error, ret, "unwind: out of memory");
}

void xf_unwind_explain_table(const struct xf_unwind_table *table, const struct xf_code *code,
                             uint64_t from, uint64_t to, FILE *out)
{
	struct xf_decoder decoder;

	xf_decoder_start(&decoder);
	while (from < to && from - code->address < code->size) {
		struct xf_unwind_row row = xf_unwind_row_find(table, from);
		uint32_t offset = from - code->address;
		struct xf_decoded decoded;

		xf_insn_decode(&decoder, code->bytes + offset, code->size - offset, &decoded);
		fprintf(out, "%" PRIx64 ":  ", from);
		print_text(out, code, offset);
		print_row(out, &row);
		fprintf(out, "\n");
		from += decoded.length;
	}
}
