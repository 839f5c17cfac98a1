// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/explore.h"

#include <errno.h>
#include <stdlib.h>

/* Offsets still to be decoded from. */
struct pending {
	uint32_t *offsets;
	size_t count, room;
};

/* Return: @array with room for @count + @more elements, NULL without memory (@array still valid).
 */
static void *grow(void *array, size_t *room, size_t count, size_t more, size_t element)
{
	size_t wanted;
	void *bigger;

	if (count + more <= *room)
		return array;
	wanted = *room + *room / 2 + more + 1024;
	bigger = reallocarray(array, wanted, element);
	if (bigger != NULL)
		*room = wanted;
	return bigger;
}

static int pend(struct pending *pending, uint32_t offset)
{
	uint32_t *offsets = grow(pending->offsets, &pending->room, pending->count, 1,
	                         sizeof(*pending->offsets));

	if (offsets == NULL)
		return -ENOMEM;
	pending->offsets = offsets;
	pending->offsets[pending->count++] = offset;
	return 0;
}

/* Return: where @decoded, at @offset, leads to directly; XF_NOWHERE: to no place in the code. */
static uint32_t target_offset(const struct xf_graph *graph, uint32_t offset,
                              const struct xf_decoded *decoded)
{
	int64_t target = (int64_t)offset + decoded->target;

	if (!xf_flow_is_direct(decoded->flow) || target < 0 ||
	    (uint64_t)target >= graph->code->size)
		return XF_NOWHERE;
	return target;
}

/* Makes room for one more instruction with all that may belong to it. */
static int make_room(struct xf_graph *graph)
{
	struct xf_insn *insns;
	struct xf_op *ops;
	uint32_t *targets;

	if (graph->nr_insns < graph->room_insns && graph->nr_targets < graph->room_targets &&
	    graph->nr_ops + XF_MAX_OPS <= graph->room_ops)
		return 0;
	insns = grow(graph->insns, &graph->room_insns, graph->nr_insns, 1, sizeof(*insns));
	if (insns == NULL)
		return -ENOMEM;
	graph->insns = insns;
	ops = grow(graph->ops, &graph->room_ops, graph->nr_ops, XF_MAX_OPS, sizeof(*ops));
	if (ops == NULL)
		return -ENOMEM;
	graph->ops = ops;
	targets =
	        grow(graph->targets, &graph->room_targets, graph->nr_targets, 1, sizeof(*targets));
	if (targets == NULL)
		return -ENOMEM;
	graph->targets = targets;
	return 0;
}

static int record(struct xf_graph *graph, uint32_t offset, const struct xf_decoded *decoded)
{
	uint8_t padding = decoded->padding ? XF_MARK_PADDING : 0;

	if (make_room(graph) != 0)
		return -ENOMEM;
	graph->insns[graph->nr_insns++] = (struct xf_insn){
	        .kills = decoded->kills,
	        .length = decoded->length,
	        .nr_ops = decoded->nr_ops,
	        .padding = decoded->padding,
	        .flow = decoded->flow,
	};
	for (unsigned int i = 0; i < decoded->nr_ops; i++)
		graph->ops[graph->nr_ops++] = decoded->ops[i];
	if (xf_flow_is_direct(decoded->flow))
		graph->targets[graph->nr_targets++] = target_offset(graph, offset, decoded);
	graph->marks[offset] |= XF_MARK_FIRST | padding;
	for (unsigned int i = 1; i < decoded->length; i++)
		graph->marks[offset + i] |= XF_MARK_INSIDE | padding;
	return 0;
}

/* Where RSP gets a value from elsewhere, what follows may have to be understood from behind. */
static bool switches_stack(const struct xf_decoded *decoded)
{
	for (unsigned int i = 0; i < decoded->nr_ops; i++) {
		const struct xf_op *op = &decoded->ops[i];

		if (op->kind == XF_OP_COPY && op->dst == XF_REG_RSP && op->src != XF_REG_RSP &&
		    op->src != XF_REG_RBP)
			return true;
		if (op->kind == XF_OP_LOAD && op->dst == XF_REG_RSP)
			return true;
	}
	return false;
}

/* Marks what begins after or because of the instruction at @offset. Return: 1 where control goes on
 * behind it, 0 where not, or -ENOMEM. */
static int follow(struct xf_graph *graph, struct pending *pending, uint32_t offset,
                  const struct xf_decoded *decoded)
{
	uint32_t target = target_offset(graph, offset, decoded);
	uint32_t next = offset + decoded->length;
	bool on = decoded->flow == XF_FLOW_NEXT || decoded->flow == XF_FLOW_BRANCH ||
	          decoded->flow == XF_FLOW_CALL || decoded->flow == XF_FLOW_CALL_INDIRECT;

	if (next >= graph->code->size)
		on = false;
	if (on && (decoded->flow != XF_FLOW_NEXT || switches_stack(decoded)))
		graph->marks[next] |= XF_MARK_LEADER;
	if (target != XF_NOWHERE) {
		uint8_t marks = graph->marks[target];

		graph->marks[target] |= XF_MARK_LEADER;
		/* What is marked but not decoded is pending already. */
		if (!(marks & (XF_MARK_LEADER | XF_MARK_FIRST)) && pend(pending, target) != 0)
			return -ENOMEM;
	}
	return on;
}

static int start_run(struct xf_graph *graph, uint32_t offset)
{
	struct xf_run *runs =
	        grow(graph->runs, &graph->room_runs, graph->nr_runs, 1, sizeof(*runs));

	if (runs == NULL)
		return -ENOMEM;
	graph->runs = runs;
	graph->runs[graph->nr_runs++] = (struct xf_run){offset, graph->nr_insns};
	return 0;
}

/* Decodes from @offset on, up to what does not go on or is decoded already. */
static int decode_run(struct xf_graph *graph, const struct xf_decoder *decoder,
                      struct pending *pending, uint32_t offset)
{
	const struct xf_code *code = graph->code;
	struct xf_decoded decoded;
	int on = 1;

	if (start_run(graph, offset) != 0)
		return -ENOMEM;
	while (on > 0 && !(graph->marks[offset] & XF_MARK_FIRST)) {
		xf_insn_decode(decoder, code->bytes + offset, code->size - offset, &decoded);
		if (decoded.flow == XF_FLOW_BAD)
			graph->marks[offset] |= XF_MARK_BAD;
		if (record(graph, offset, &decoded) != 0)
			return -ENOMEM;
		on = follow(graph, pending, offset, &decoded);
		offset += decoded.length;
	}
	if (on > 0)
		graph->marks[offset] |= XF_MARK_LEADER;
	return on < 0 ? on : 0;
}

static int decode_pending(struct xf_graph *graph, const struct xf_decoder *decoder,
                          struct pending *pending)
{
	int ret = 0;

	while (ret == 0 && pending->count != 0) {
		uint32_t offset = pending->offsets[--pending->count];

		graph->marks[offset] |= XF_MARK_LEADER;
		if (!(graph->marks[offset] & XF_MARK_FIRST))
			ret = decode_run(graph, decoder, pending, offset);
	}
	return ret;
}

/* Zeros up to the next multiple of 16, or to the end, as linkers fill. */
static bool zero_fill(const struct xf_code *code, uint32_t offset)
{
	do {
		if (code->bytes[offset] != 0)
			return false;
	} while (++offset < code->size && offset % 16 != 0);
	return true;
}

/* Return: the length of a filler at @offset, 0 where there is code. */
static uint32_t filler(const struct xf_graph *graph, const struct xf_decoder *decoder,
                       uint32_t offset)
{
	struct xf_decoded decoded;

	if (graph->code->bytes[offset] == 0 && zero_fill(graph->code, offset))
		return 1;
	xf_insn_decode(decoder, graph->code->bytes + offset, graph->code->size - offset, &decoded);
	return decoded.padding ? decoded.length : 0;
}

/* Does filler end right before @offset? */
static bool behind_filler(const struct xf_graph *graph, uint32_t offset)
{
	return offset == 0 || (graph->marks[offset - 1] & XF_MARK_PADDING);
}

/* Finds code that nothing leads to: what is neither decoded nor filler. */
static int adopt_orphans(struct xf_graph *graph, const struct xf_decoder *decoder,
                         struct pending *pending)
{
	uint32_t offset = 0;
	int ret = 0;

	while (ret == 0 && offset < graph->code->size) {
		uint32_t length;

		if (graph->marks[offset] & (XF_MARK_FIRST | XF_MARK_INSIDE)) {
			offset++;
			continue;
		}
		length = filler(graph, decoder, offset);
		if (length != 0) {
			for (; length != 0 && offset < graph->code->size; length--)
				graph->marks[offset++] |= XF_MARK_PADDING;
			continue;
		}
		graph->marks[offset] |= XF_MARK_ORPHAN;
		if (behind_filler(graph, offset) &&
		    (graph->code->address + offset) % XF_FUNCTION_ALIGNMENT == 0)
			graph->marks[offset] |= XF_MARK_ALIGNED;
		ret = pend(pending, offset);
		if (ret == 0)
			ret = decode_pending(graph, decoder, pending);
	}
	return ret;
}

static void mark_entries(struct xf_graph *graph, const uint64_t *entries, size_t nr_entries)
{
	for (size_t i = 0; i < nr_entries; i++) {
		uint64_t offset = entries[i] - graph->code->address;

		if (offset < graph->code->size)
			graph->marks[offset] |= XF_MARK_ENTRY | XF_MARK_LEADER;
	}
}

/* Decodes from the entries, by rising offset, so that what lies together is found together. */
static int decode_entries(struct xf_graph *graph, const struct xf_decoder *decoder,
                          struct pending *pending)
{
	int ret = 0;

	for (uint32_t offset = 0; ret == 0 && offset < graph->code->size; offset++) {
		if ((graph->marks[offset] & (XF_MARK_ENTRY | XF_MARK_FIRST)) != XF_MARK_ENTRY)
			continue;
		ret = pend(pending, offset);
		if (ret == 0)
			ret = decode_pending(graph, decoder, pending);
	}
	return ret;
}

int xf_graph_explore(struct xf_graph *graph, const uint64_t *entries, size_t nr_entries)
{
	struct pending pending = {0};
	struct xf_decoder decoder;
	int ret;

	xf_decoder_start(&decoder);
	mark_entries(graph, entries, nr_entries);
	ret = decode_entries(graph, &decoder, &pending);
	if (ret == 0)
		ret = adopt_orphans(graph, &decoder, &pending);
	free(pending.offsets);
	return ret;
}
