// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Xen's code is swept instruction by instruction, with a little bookkeeping of what the registers
 * hold. Wherever the code reads the current vCPU, a pCPU's number, a vCPU's domain and so on, it
 * says at which offset: each such place is a vote. Reading the code straight through, without
 * regard for its branches, now and then misjudges a register; dozens of votes make up for it, and a
 * result without a clear majority is no result. A sweep ends early once that majority is there.
 */
#include "xen/discover.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define STACK_MASK (XF_STACK_BYTES - 1)
#define MAX_OFFSET 0x8000u /* of a field in struct vcpu or struct domain */
#define ENOUGH     64u     /* votes for one offset, to end a sweep */

/* What a general register is known to hold. */
enum holding {
	UNKNOWN,
	STACK_POINTER,   /* a copy of RSP */
	STACK_CONSTANT,  /* the immediate 0x7fff */
	STACK_TOP,       /* RSP | 0x7fff: the last byte of this pCPU's stack */
	CURRENT,         /* the current vCPU */
	VCPU_FIELD,      /* the 64-bit field at .offset of the current vCPU */
	HARDWARE_DOMAIN, /* the content of the variable hardware_domain */
	FIRST_ARGUMENT,  /* what RDI held at the function's start */
};

struct value {
	enum holding holding;
	uint32_t offset;
};

/* Votes for offsets from the top of the stack (bytes below it), or within a structure. */
struct votes {
	uint32_t count[MAX_OFFSET];
	uint32_t total;
	uint32_t best; /* the offset with most */
};

enum ballot {
	FRAME,
	PROCESSOR_ID,
	CURRENT_VCPU,
	DOMAIN,
	OPTIONS,
	HVM_CR3,
	NR_BALLOTS
};

struct sweep {
	const struct xf_symbols *symbols;
	uint64_t hardware_domain;
	uint64_t hvm_set_cr3, hvm_set_cr3_end;
	/* Found by an earlier sweep; 0 until then. */
	uint32_t current_from_top;
	uint32_t domain_offset;
	struct value registers[16];
	struct votes *votes; /* NR_BALLOTS */
};

/* One decoded instruction. */
struct instruction {
	uint64_t address;
	ZydisDecodedInstruction decoded;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static int register_number(ZydisRegister name)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);

	if (ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64)
		return -1;
	return ZydisRegisterGetId(whole);
}

static struct value *value_of(struct sweep *sweep, const ZydisDecodedOperand *operand)
{
	int number;

	if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return NULL;
	number = register_number(operand->reg.value);
	return number < 0 ? NULL : &sweep->registers[number];
}

/* What the base register of a plain [base + displacement] operand holds. */
static struct value *base_of(struct sweep *sweep, const ZydisDecodedOperand *operand,
                             int64_t *displacement)
{
	int number;

	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY || operand->mem.index != ZYDIS_REGISTER_NONE)
		return NULL;
	number = register_number(operand->mem.base);
	if (number < 0)
		return NULL;
	*displacement = operand->mem.disp.value;
	return &sweep->registers[number];
}

/* Is @operand the variable at @address, addressed relative to RIP? */
static bool is_variable(const struct instruction *instruction, const ZydisDecodedOperand *operand,
                        uint64_t address)
{
	return operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       operand->mem.base == ZYDIS_REGISTER_RIP && address &&
	       instruction->address + instruction->decoded.length +
	                       (uint64_t)operand->mem.disp.value ==
	               address;
}

static bool is_rsp(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       operand->reg.value == ZYDIS_REGISTER_RSP;
}

static bool is_stack_mask(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operand->imm.value.u == STACK_MASK;
}

static void vote(struct sweep *sweep, enum ballot ballot, int64_t offset)
{
	struct votes *votes = &sweep->votes[ballot];

	if (offset < 0 || offset >= MAX_OFFSET)
		return;
	votes->total++;
	if (++votes->count[offset] > votes->count[votes->best])
		votes->best = offset;
}

/* mov register, [memory]. Return: what the register holds from now on. */
static struct value load(struct sweep *sweep, const struct instruction *instruction,
                         const ZydisDecodedOperand *target, const ZydisDecodedOperand *source)
{
	int64_t displacement;
	const struct value *base = base_of(sweep, source, &displacement);

	if (target->size == 64 && is_variable(instruction, source, sweep->hardware_domain))
		return (struct value){.holding = HARDWARE_DOMAIN};
	if (base && base->holding == STACK_TOP) {
		/* The last byte of the stack is at 0x7fff: fields lie at 0x7fff + displacement. */
		int64_t below = -displacement;

		vote(sweep, target->size == 64 ? CURRENT_VCPU : PROCESSOR_ID, below);
		if (target->size == 64 && below == sweep->current_from_top)
			return (struct value){.holding = CURRENT};
	}
	if (base && base->holding == CURRENT && target->size == 64)
		return (struct value){.holding = VCPU_FIELD, .offset = displacement};
	return (struct value){0};
}

/* Compared with hardware_domain: the other side is a domain, and where it came from is votes. */
static void compare(struct sweep *sweep, const struct instruction *instruction)
{
	const ZydisDecodedOperand *sides = instruction->operands;
	int i;

	for (i = 0; i < 2; i++) {
		const struct value *mine = value_of(sweep, &sides[i]);
		const struct value *other = value_of(sweep, &sides[1 - i]);

		if (mine && mine->holding == VCPU_FIELD &&
		    (is_variable(instruction, &sides[1 - i], sweep->hardware_domain) ||
		     (other && other->holding == HARDWARE_DOMAIN)))
			vote(sweep, DOMAIN, mine->offset);
	}
}

/* test byte [domain + offset], 1: is this an HVM or PVH domain? */
static void test(struct sweep *sweep, const struct instruction *instruction)
{
	const ZydisDecodedOperand *operands = instruction->operands;
	int64_t displacement;
	const struct value *base = base_of(sweep, &operands[0], &displacement);

	if (base && base->holding == VCPU_FIELD && sweep->domain_offset &&
	    base->offset == sweep->domain_offset &&
	    operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operands[1].imm.value.u == 1)
		vote(sweep, OPTIONS, displacement);
}

/* mov [current + offset], first argument; counts in hvm_set_cr3(value, ...) alone. */
static void store(struct sweep *sweep, const struct instruction *instruction)
{
	int64_t displacement;
	const struct value *base = base_of(sweep, &instruction->operands[0], &displacement);
	const struct value *source = value_of(sweep, &instruction->operands[1]);

	if (base && base->holding == CURRENT && source && source->holding == FIRST_ARGUMENT &&
	    instruction->address >= sweep->hvm_set_cr3 &&
	    instruction->address < sweep->hvm_set_cr3_end)
		vote(sweep, HVM_CR3, displacement);
}

static struct value moved(struct sweep *sweep, const struct instruction *instruction)
{
	const ZydisDecodedOperand *target = &instruction->operands[0];
	const ZydisDecodedOperand *source = &instruction->operands[1];

	if (source->type == ZYDIS_OPERAND_TYPE_MEMORY)
		return load(sweep, instruction, target, source);
	if (is_stack_mask(source))
		return (struct value){.holding = STACK_CONSTANT};
	if (is_rsp(source))
		return (struct value){.holding = STACK_POINTER};
	if (value_of(sweep, source) && target->size == 64)
		return *value_of(sweep, source);
	return (struct value){0};
}

static struct value combined(struct sweep *sweep, const struct instruction *instruction)
{
	const ZydisDecodedOperand *source = &instruction->operands[1];
	const struct value *before = value_of(sweep, &instruction->operands[0]);
	bool top = (before->holding == STACK_POINTER && is_stack_mask(source)) ||
	           (before->holding == STACK_CONSTANT && is_rsp(source));

	return (struct value){.holding = top ? STACK_TOP : UNKNOWN};
}

/* What the instruction leaves in its first operand, where that is a register it writes. */
static struct value result_of(struct sweep *sweep, const struct instruction *instruction)
{
	switch (instruction->decoded.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		return moved(sweep, instruction);
	case ZYDIS_MNEMONIC_OR:
		return combined(sweep, instruction);
	default:
		return (struct value){0};
	}
}

/* Votes that need no register to change: lea into RSP, compares, tests, stores. */
static void observe(struct sweep *sweep, const struct instruction *instruction)
{
	const ZydisDecodedOperand *operands = instruction->operands;
	int64_t displacement;
	const struct value *base;

	switch (instruction->decoded.mnemonic) {
	case ZYDIS_MNEMONIC_LEA:
		base = base_of(sweep, &operands[1], &displacement);
		if (base && base->holding == STACK_TOP && is_rsp(&operands[0]))
			vote(sweep, FRAME, -displacement);
		break;
	case ZYDIS_MNEMONIC_CMP:
		compare(sweep, instruction);
		break;
	case ZYDIS_MNEMONIC_TEST:
		test(sweep, instruction);
		break;
	case ZYDIS_MNEMONIC_MOV:
		store(sweep, instruction);
		break;
	default:
		break;
	}
}

static void forget_all(struct sweep *sweep)
{
	memset(sweep->registers, 0, sizeof(sweep->registers));
}

static void start_function(struct sweep *sweep)
{
	forget_all(sweep);
	sweep->registers[7].holding = FIRST_ARGUMENT; /* RDI */
}

/* A call leaves RBX, RBP and R12 to R15 alone (System V ABI). */
static void forget_caller_saved(struct sweep *sweep)
{
	static const uint8_t saved[] = {0, 1, 2, 6, 7, 8, 9, 10, 11};
	size_t i;

	for (i = 0; i < sizeof(saved); i++)
		sweep->registers[saved[i]].holding = UNKNOWN;
}

static void step(struct sweep *sweep, const struct instruction *instruction)
{
	struct value result = {0};
	struct value *target = NULL;
	size_t i;

	observe(sweep, instruction);
	if (instruction->decoded.operand_count_visible) {
		target = value_of(sweep, &instruction->operands[0]);
		if (target)
			result = result_of(sweep, instruction);
	}
	for (i = 0; i < instruction->decoded.operand_count; i++) {
		struct value *written = value_of(sweep, &instruction->operands[i]);

		if (written && (instruction->operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			written->holding = UNKNOWN;
	}
	if (target && (instruction->operands[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		*target = result;
	switch (instruction->decoded.meta.category) {
	case ZYDIS_CATEGORY_CALL:
		forget_caller_saved(sweep);
		break;
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_RET:
		forget_all(sweep);
		break;
	default:
		break;
	}
}

/*
 * Decodes the instruction at @offset of @code. Return: false where there is none; then the next
 * byte may be tried.
 */
static bool decode(const ZydisDecoder *decoder, const struct xf_code *code, size_t offset,
                   struct instruction *instruction)
{
	instruction->address = code->address + offset;
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder, code->bytes + offset,
	                                           code->size - offset, &instruction->decoded,
	                                           instruction->operands));
}

/* The offset with most votes. Return: 0 where none has as many as all others together. */
static uint32_t winner(const struct votes *votes)
{
	uint32_t most = votes->count[votes->best];

	return most && most * 2 >= votes->total ? votes->best : 0;
}

/* A set of ballots, as bits. */
#define BALLOT(name) (1u << (name))

/* Return: whether all of @ballots have a winner that will hardly lose any more. */
static bool is_decided(const struct sweep *sweep, uint32_t ballots)
{
	enum ballot ballot;

	for (ballot = 0; ballot < NR_BALLOTS; ballot++) {
		const struct votes *votes = &sweep->votes[ballot];

		if ((ballots & BALLOT(ballot)) &&
		    (votes->count[votes->best] < ENOUGH || !winner(votes)))
			return false;
	}
	return true;
}

/* Sweeps @code until @ballots are decided. */
static void sweep_code(struct sweep *sweep, const struct xf_code *code, uint32_t ballots)
{
	ZydisDecoder decoder;
	struct instruction instruction;
	size_t next_symbol = 0;
	size_t offset = 0;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	memset(sweep->votes, 0, NR_BALLOTS * sizeof(*sweep->votes));
	forget_all(sweep);
	while (offset < code->size) {
		const struct xf_symbol *symbol = xf_symbols_at(sweep->symbols, next_symbol);

		while (symbol && symbol->address < code->address + offset)
			symbol = xf_symbols_at(sweep->symbols, ++next_symbol);
		if (symbol && symbol->address == code->address + offset) {
			if (is_decided(sweep, ballots))
				return;
			start_function(sweep);
		}
		if (!decode(&decoder, code, offset, &instruction)) {
			forget_all(sweep);
			offset++;
			continue;
		}
		step(sweep, &instruction);
		offset += instruction.decoded.length;
	}
}

/* Fields of cpu_info are voted for by their distance from the stack's last byte. */
static uint32_t stack_offset(uint32_t below_top)
{
	return STACK_MASK - below_top;
}

static uint64_t address_of(const struct xf_symbols *symbols, const char *name)
{
	const struct xf_symbol *symbol = xf_symbols_by_name(symbols, name);

	return symbol ? symbol->address : 0;
}

/* The first address after @address at which another symbol starts. */
static uint64_t end_of(const struct xf_symbols *symbols, uint64_t address)
{
	size_t low = 0, high = xf_symbols_count(symbols);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (xf_symbols_at(symbols, middle)->address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < xf_symbols_count(symbols) ? xf_symbols_at(symbols, low)->address : address;
}

int xf_discover_text(const struct xf_symbols *symbols, struct xf_text_range *range,
                     struct xf_error *error)
{
	static const char *const names[] = {"_stext", "_etext", "_end"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!xf_symbols_by_name(symbols, names[i]))
			return xf_fail(error, -EOPNOTSUPP,
			               "Xen's symbols lack %s: where its code lies is not known",
			               names[i]);
	range->start = address_of(symbols, "_stext");
	range->end = address_of(symbols, "_etext");
	range->image_end = address_of(symbols, "_end");
	range->image_start = address_of(symbols, "_start");
	if (!range->image_start)
		range->image_start = range->start;
	return 0;
}

/* hvm_set_cr3 stores its argument where the current vCPU keeps its guest's CR3. */
static uint32_t find_hvm_cr3(struct sweep *sweep, const struct xf_code *code)
{
	struct xf_code function = {.address = sweep->hvm_set_cr3,
	                           .size = sweep->hvm_set_cr3_end - sweep->hvm_set_cr3};

	if (function.address < code->address || sweep->hvm_set_cr3_end > code->address + code->size)
		return 0;
	function.bytes = code->bytes + (function.address - code->address);
	sweep_code(sweep, &function, BALLOT(HVM_CR3));
	return winner(&sweep->votes[HVM_CR3]);
}

/*
 * Where the current vCPU is shows soon; with it one whole sweep finds what few places tell, and
 * with a vCPU's domain the rest shows soon as well.
 */
static int find_offsets(struct sweep *sweep, const struct xf_code *code,
                        struct xf_agent_config *config, struct xf_error *error)
{
	uint32_t frame, processor_id;

	sweep_code(sweep, code, BALLOT(CURRENT_VCPU));
	sweep->current_from_top = winner(&sweep->votes[CURRENT_VCPU]);
	sweep_code(sweep, code, BALLOT(FRAME) | BALLOT(PROCESSOR_ID) | BALLOT(DOMAIN));
	frame = winner(&sweep->votes[FRAME]);
	processor_id = winner(&sweep->votes[PROCESSOR_ID]);
	if (!frame || !processor_id || !sweep->current_from_top)
		return xf_fail(error, -EOPNOTSUPP,
		               "cannot find in Xen's code where a pCPU's stack holds %s",
		               !frame          ? "the guest's registers"
		               : !processor_id ? "the pCPU's number"
		                               : "the current vCPU");
	sweep->domain_offset = winner(&sweep->votes[DOMAIN]);
	if (!sweep->domain_offset)
		return xf_fail(error, -EOPNOTSUPP,
		               "cannot find in Xen's code where a vCPU points to its domain");
	sweep_code(sweep, code, BALLOT(OPTIONS));
	config->frame_offset = stack_offset(frame);
	config->processor_id_offset = stack_offset(processor_id);
	config->current_vcpu_offset = stack_offset(sweep->current_from_top);
	config->vcpu_domain_offset = sweep->domain_offset;
	config->domain_options_offset = winner(&sweep->votes[OPTIONS]);
	config->vcpu_hvm_cr3_offset = find_hvm_cr3(sweep, code);
	return 0;
}

/* cpu_info holds the frame, then the number, then the vCPU; all of it in the last page. */
static int check_offsets(const struct xf_agent_config *config, struct xf_error *error)
{
	if (config->frame_offset % 8 == 0 && config->current_vcpu_offset % 8 == 0 &&
	    config->processor_id_offset % 4 == 0 && config->frame_offset >= XF_STACK_BYTES - 4096 &&
	    config->processor_id_offset >= config->frame_offset + 168 &&
	    config->current_vcpu_offset == config->processor_id_offset + 8 &&
	    config->vcpu_domain_offset % 8 == 0)
		return 0;
	return xf_fail(error, -EOPNOTSUPP,
	               "what Xen's code says of a pCPU's stack makes no sense: frame 0x%x, pCPU "
	               "number 0x%x, current vCPU 0x%x, domain 0x%x",
	               config->frame_offset, config->processor_id_offset,
	               config->current_vcpu_offset, config->vcpu_domain_offset);
}

/*
 * The address after STGI in the function that runs a guest on AMD: the first one after VMRUN.
 * Return: 0 where this Xen cannot run guests on AMD; -EOPNOTSUPP where it can but has none.
 */
static int find_stgi(const struct xf_code *code, const struct xf_symbols *symbols,
                     struct xf_agent_config *config, struct xf_error *error)
{
	uint64_t start = address_of(symbols, "svm_asm_do_resume");
	struct instruction instruction;
	ZydisDecoder decoder;
	bool ran = false;
	size_t offset;

	config->after_stgi = 0;
	if (!start)
		return 0;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (offset = start - code->address;
	     offset < code->size && offset < start + 4096 - code->address;
	     offset += instruction.decoded.length) {
		if (!decode(&decoder, code, offset, &instruction))
			break;
		if (instruction.decoded.mnemonic == ZYDIS_MNEMONIC_VMRUN)
			ran = true;
		if (ran && instruction.decoded.mnemonic == ZYDIS_MNEMONIC_STGI) {
			config->after_stgi = instruction.address + instruction.decoded.length;
			return 0;
		}
	}
	return xf_fail(error, -EOPNOTSUPP,
	               "cannot find STGI in svm_asm_do_resume: guests' time would look like Xen's");
}

/* How far the instruction moves RSP down, as prologues do. */
static int64_t pushed(const struct instruction *instruction)
{
	const ZydisDecodedOperand *operands = instruction->operands;

	if (instruction->decoded.mnemonic == ZYDIS_MNEMONIC_PUSH)
		return 8;
	if (instruction->decoded.mnemonic == ZYDIS_MNEMONIC_SUB && is_rsp(&operands[0]) &&
	    operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return operands[1].imm.value.s;
	return 0;
}

/*
 * Where an idle pCPU's stack shows that it halts: the return address of idle_loop's call through
 * the variable pm_idle. Not needed, so not finding it is no error.
 */
static void find_idle_call(const struct xf_code *code, const struct xf_symbols *symbols,
                           struct xf_agent_config *config)
{
	uint64_t start = address_of(symbols, "arch/x86/domain.c#idle_loop");
	uint64_t pm_idle = address_of(symbols, "pm_idle");
	struct instruction instruction;
	ZydisDecoder decoder;
	bool loaded = false;
	int64_t depth = 0;
	uint64_t end;
	size_t offset;

	config->idle_return = 0;
	config->idle_slot = 0;
	if (!start)
		start = address_of(symbols, "idle_loop");
	end = end_of(symbols, start);
	if (!start || !pm_idle || start < code->address || end > code->address + code->size)
		return;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (offset = start - code->address; offset < end - code->address;
	     offset += instruction.decoded.length) {
		if (!decode(&decoder, code, offset, &instruction))
			return;
		depth += pushed(&instruction);
		if (instruction.decoded.mnemonic == ZYDIS_MNEMONIC_MOV &&
		    is_variable(&instruction, &instruction.operands[1], pm_idle))
			loaded = true;
		if (loaded && instruction.decoded.meta.category == ZYDIS_CATEGORY_CALL) {
			config->idle_return = instruction.address + instruction.decoded.length;
			config->idle_slot = depth + 8;
			return;
		}
	}
}

/*
 * Where calls of do_softirq return to. They are found by their bytes: that the four bytes after any
 * 0xe8 lead to that function by chance is next to impossible, and would do no harm.
 */
static void find_softirq_calls(const struct xf_code *code, const struct xf_symbols *symbols,
                               struct xf_agent_config *config)
{
	uint64_t target = address_of(symbols, "do_softirq");
	size_t nr = 0, offset;

	memset(config->softirq_returns, 0, sizeof(config->softirq_returns));
	for (offset = 0; target && offset + 5 <= code->size && nr < XF_MAX_SOFTIRQ_RETURNS;
	     offset++) {
		int32_t distance;

		if (code->bytes[offset] != 0xe8)
			continue;
		memcpy(&distance, code->bytes + offset + 1, sizeof(distance));
		if (code->address + offset + 5 + (uint64_t)(int64_t)distance == target)
			config->softirq_returns[nr++] = code->address + offset + 5;
	}
}

/* Return: where do_softirq does its work: itself, or what it ends with a jump to. 0: not known. */
static uint64_t find_softirq_worker(const ZydisDecoder *decoder, const struct xf_code *code,
                                    const struct xf_symbols *symbols)
{
	uint64_t start = address_of(symbols, "do_softirq");
	uint64_t end = end_of(symbols, start);
	struct instruction instruction;
	uint64_t target;
	size_t offset;

	if (start < code->address || end > code->address + code->size)
		return 0;
	for (offset = start - code->address; offset < end - code->address;
	     offset += instruction.decoded.length) {
		if (!decode(decoder, code, offset, &instruction))
			return 0;
		if (instruction.decoded.meta.category == ZYDIS_CATEGORY_CALL)
			return start;
		if (instruction.decoded.mnemonic == ZYDIS_MNEMONIC_JMP &&
		    ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&instruction.decoded,
		                                          &instruction.operands[0],
		                                          instruction.address, &target)))
			return target >= start && target < end ? start : target;
	}
	return 0;
}

/*
 * How deep below its caller's RSP a softirq's handler begins, called by do_softirq: two return
 * addresses, and what the function between them has pushed by its first call.
 */
static void find_softirq_depth(const struct xf_code *code, const struct xf_symbols *symbols,
                               struct xf_agent_config *config)
{
	struct instruction instruction;
	ZydisDecoder decoder;
	int64_t depth = 16;
	uint64_t start, end;
	size_t offset;

	config->softirq_depth = 0;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	start = find_softirq_worker(&decoder, code, symbols);
	end = end_of(symbols, start);
	if (start < code->address || end > code->address + code->size)
		return;
	for (offset = start - code->address; offset < end - code->address;
	     offset += instruction.decoded.length) {
		if (!decode(&decoder, code, offset, &instruction))
			return;
		depth += pushed(&instruction);
		if (instruction.decoded.meta.category == ZYDIS_CATEGORY_CALL) {
			config->softirq_depth = (uint32_t)depth;
			return;
		}
	}
}

static bool is_one(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operand->imm.value.u == 1;
}

/* Return: the offset of what the function @name inverts bit 0 of before its first call, loaded to a
 * register and stored again; 0: none is seen. */
static uint32_t find_inverted(const struct xf_code *code, const struct xf_symbols *symbols,
                              const char *name)
{
	uint64_t start = address_of(symbols, name), end = end_of(symbols, start);
	struct sweep sweep = {0};
	const struct value *inverted = NULL;
	struct instruction at;
	ZydisDecoder decoder;
	size_t offset;

	if (start < code->address || end > code->address + code->size)
		return 0;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (offset = start - code->address; offset < end - code->address;
	     offset += at.decoded.length) {
		struct value *first, *second;
		int64_t displacement = 0;

		if (!decode(&decoder, code, offset, &at) ||
		    at.decoded.meta.category == ZYDIS_CATEGORY_CALL)
			return 0;
		first = value_of(&sweep, &at.operands[0]);
		second = value_of(&sweep, &at.operands[1]);
		if (at.decoded.mnemonic == ZYDIS_MNEMONIC_XOR && is_one(&at.operands[1]))
			inverted = first;
		else if (at.decoded.mnemonic != ZYDIS_MNEMONIC_MOV)
			continue;
		else if (first && base_of(&sweep, &at.operands[1], &displacement))
			first->offset = (uint32_t)displacement;
		else if (second && second == inverted &&
		         base_of(&sweep, &at.operands[0], &displacement) &&
		         displacement == second->offset)
			return second->offset;
	}
	return 0;
}

/* Both functions change a PV guest's vCPU between its kernel and a process: bit 0 of its flags. */
static void find_vcpu_flags(const struct xf_code *code, const struct xf_symbols *symbols,
                            struct xf_agent_config *config)
{
	uint32_t offset = find_inverted(code, symbols, "toggle_guest_pt");

	config->vcpu_flags_offset =
	        offset < MAX_OFFSET && offset == find_inverted(code, symbols, "toggle_guest_mode")
	                ? offset
	                : 0;
}

/* Xen's hvm_get_reg knows the shadow GS base since that has no accessor of its own any more
 * (4.17); before that, it crashes the domain (hvm/svm/svm.c, hvm/vmx/vmx.c). */
static bool finds_hvm_gs(const struct xf_symbols *symbols)
{
	for (size_t i = 0; i < xf_symbols_count(symbols); i++)
		if (strstr(xf_symbols_at(symbols, i)->name, "_get_shadow_gs_base"))
			return false;
	return address_of(symbols, "hvm_get_segment_register") &&
	       address_of(symbols, "hvm_get_reg");
}

/* Without knowing which domains are HVM the agent must read none. */
static void find_guest_readers(const struct xf_symbols *symbols, struct xf_agent_config *config)
{
	config->guest_readers = 0;
	if (!config->domain_options_offset)
		return;
	if (address_of(symbols, "copy_from_guest_pv"))
		config->guest_readers |= XF_READS_PV;
	if (address_of(symbols, "hvm_copy_from_guest_linear"))
		config->guest_readers |= XF_READS_HVM;
	if (config->vcpu_flags_offset)
		config->guest_readers |= XF_READS_PV_KERNEL;
	if (finds_hvm_gs(symbols))
		config->guest_readers |= XF_READS_HVM_GS;
}

int xf_discover_layout(const struct xf_code *code, const struct xf_symbols *symbols,
                       struct xf_agent_config *config, struct xf_error *error)
{
	struct sweep sweep = {.symbols = symbols,
	                      .hardware_domain = address_of(symbols, "hardware_domain"),
	                      .hvm_set_cr3 = address_of(symbols, "hvm_set_cr3")};
	struct xf_text_range range = {0};
	int result = xf_discover_text(symbols, &range, error);

	if (result)
		return result;
	sweep.hvm_set_cr3_end = end_of(symbols, sweep.hvm_set_cr3);
	sweep.votes = calloc(NR_BALLOTS, sizeof(*sweep.votes));
	if (!sweep.votes)
		return xf_fail(error, -ENOMEM, "out of memory");
	result = find_offsets(&sweep, code, config, error);
	free(sweep.votes);
	if (!result)
		result = check_offsets(config, error);
	if (!result)
		result = find_stgi(code, symbols, config, error);
	if (result)
		return result;
	find_idle_call(code, symbols, config);
	find_softirq_calls(code, symbols, config);
	find_softirq_depth(code, symbols, config);
	find_vcpu_flags(code, symbols, config);
	find_guest_readers(symbols, config);
	config->text_start = range.start;
	config->text_end = range.end;
	/* Xen's own gigabyte: live patches are loaded between its end and the end of that. */
	config->livepatch_start = (range.image_end + 4095) & ~4095ull;
	config->livepatch_end = (range.start & ~0x3fffffffull) + 0x40000000ull;
	return 0;
}
