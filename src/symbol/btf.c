// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Read here and not by libbpf: Debian 12's 1.1 checks that types lie within their section, but not
 * what they refer to, and crashes (docs/unwinding.md has numbers).
 */
#include "symbol/btf.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "symbol/kallsyms.h"

/* Documentation/bpf/btf.rst of Linux. */
#define MAGIC        0xeb9fu
#define VERSION      1u
#define HEADER_BYTES 24u
#define TYPE_BYTES   12u

enum kind {
	KIND_VOID,
	KIND_INT,
	KIND_PTR,
	KIND_ARRAY,
	KIND_STRUCT,
	KIND_UNION,
	KIND_ENUM,
	KIND_FWD,
	KIND_TYPEDEF,
	KIND_VOLATILE,
	KIND_CONST,
	KIND_RESTRICT,
	KIND_FUNC,
	KIND_FUNC_PROTO,
	KIND_VAR,
	KIND_DATASEC,
	KIND_FLOAT,
	KIND_DECL_TAG,
	KIND_TYPE_TAG,
	KIND_ENUM64,
	NR_KINDS
};

/* What follows a type of each kind: bytes of its own, and for each of its parts. */
static const uint8_t own_bytes[NR_KINDS] = {
        [KIND_INT] = 4, [KIND_ARRAY] = 12, [KIND_VAR] = 4, [KIND_DECL_TAG] = 4};
static const uint8_t part_bytes[NR_KINDS] = {
        [KIND_STRUCT] = 12,    [KIND_UNION] = 12,   [KIND_ENUM] = 8,
        [KIND_FUNC_PROTO] = 8, [KIND_DATASEC] = 12, [KIND_ENUM64] = 12};

/* Far above what any kernel has. */
#define MOST_BYTES   (64u << 20)
#define MOST_NESTED  16u        /* structures without a name in one another */
#define MOST_ALIASES 32u        /* names of a type for one another, const and the like */
#define MOST_WORK    (1u << 20) /* members looked at, in all */

/* Where a kernel's own addresses begin (__START_KERNEL_map), and CPUs' own data end that count from
 * their beginning: these are numbers of 31 bits in its table of symbols. */
#define KERNEL_START 0xffffffff80000000ull
#define OFFSETS_END  0x80000000ull

struct btf {
	struct xf_cursor types;
	struct xf_cursor names;
	uint32_t *places; /* of each type among @types; the first one is number 1 */
	uint32_t nr;      /* numbers go up to this one */
	uint32_t work;
};

struct type {
	enum kind kind;
	bool flag;
	uint32_t nr_parts;
	uint32_t name;
	uint32_t value;        /* its bytes, or the number of another type */
	struct xf_cursor more; /* what follows it */
};

struct member {
	struct type type; /* without its aliases */
	uint64_t bits;    /* from the structure's beginning */
	bool is_bits;     /* a number of so many bits */
};

/* ---- Types ----------------------------------------------------------------------------------- */

/* Return: whether there is a type of a kind that is known. */
static bool take_type(struct xf_cursor *types, struct type *type)
{
	uint32_t information, kind;

	type->name = xf_cursor_u32(types);
	information = xf_cursor_u32(types);
	type->value = xf_cursor_u32(types);
	kind = information >> 24 & 31;
	if (types->failed || kind == KIND_VOID || kind >= NR_KINDS)
		return false;
	type->kind = (enum kind)kind;
	type->flag = information >> 31;
	type->nr_parts = information & 0xffff;
	type->more = xf_cursor_sub(types, own_bytes[kind] + type->nr_parts * part_bytes[kind]);
	return !types->failed;
}

static bool find_places(struct btf *btf)
{
	struct xf_cursor types = btf->types;
	struct type type;

	while (xf_cursor_left(&types)) {
		btf->places[++btf->nr] = (uint32_t)types.position;
		if (!take_type(&types, &type))
			return false;
	}
	return true;
}

/* Return: the part of @from, which lies behind the header, that the next two numbers say. */
static struct xf_cursor take_section(struct xf_cursor *header, struct xf_cursor from)
{
	uint32_t offset = xf_cursor_u32(header);

	xf_cursor_take(&from, offset);
	return xf_cursor_sub(&from, xf_cursor_u32(header));
}

static int open_btf(struct btf *btf, const void *bytes, size_t size, struct xf_error *error)
{
	struct xf_cursor header = xf_cursor_over(bytes, size), rest;
	uint16_t magic = xf_cursor_u16(&header);
	uint8_t version = xf_cursor_u8(&header), flags = xf_cursor_u8(&header);
	uint32_t header_size = xf_cursor_u32(&header);

	if (header.failed || magic != MAGIC || header_size < HEADER_BYTES || size > MOST_BYTES)
		return xf_fail(error, -EBADMSG, "what should be its types (BTF) is something else");
	if (version != VERSION || flags)
		return xf_fail(error, -EOPNOTSUPP,
		               "its types (BTF) are of version %u with flags %#x, and only %u "
		               "without any is known",
		               version, flags, VERSION);
	rest = xf_cursor_over(bytes, size);
	xf_cursor_take(&rest, header_size);
	rest = xf_cursor_sub(&rest, xf_cursor_left(&rest));
	btf->types = take_section(&header, rest);
	btf->names = take_section(&header, rest);
	if (header.failed || btf->types.failed || btf->names.failed)
		return xf_fail(error, -EBADMSG, "its types (BTF) are cut off");
	btf->places = calloc(btf->types.size / TYPE_BYTES + 2, sizeof(*btf->places));
	if (!btf->places)
		return xf_fail(error, -ENOMEM, "no memory for its types (BTF)");
	if (!find_places(btf))
		return xf_fail(error, -EOPNOTSUPP,
		               "its types (BTF) are damaged or of a kind that is not known, at "
		               "number %" PRIu32,
		               btf->nr);
	return 0;
}

/* Return: whether there is a type of this number. */
static bool type_at(const struct btf *btf, uint32_t number, struct type *type)
{
	struct xf_cursor types = btf->types;

	if (!number || number > btf->nr)
		return false;
	xf_cursor_seek(&types, btf->places[number]);
	return take_type(&types, type);
}

/* The same, of what the type is in the end. */
static bool type_behind(const struct btf *btf, uint32_t number, struct type *type)
{
	for (unsigned int i = 0; i < MOST_ALIASES; i++) {
		if (!type_at(btf, number, type))
			return false;
		if (type->kind != KIND_TYPEDEF && type->kind != KIND_CONST &&
		    type->kind != KIND_VOLATILE && type->kind != KIND_RESTRICT &&
		    type->kind != KIND_TYPE_TAG)
			return true;
		number = type->value;
	}
	return false;
}

static bool is_name(const struct btf *btf, uint32_t offset, const char *wanted)
{
	struct xf_cursor names = btf->names;
	const char *name;

	xf_cursor_seek(&names, offset);
	/* With its NUL: no more of a name is looked at than is asked for. */
	name = (const char *)xf_cursor_take(&names, strlen(wanted) + 1);
	return name && memcmp(name, wanted, strlen(wanted) + 1) == 0;
}

/* ---- Members --------------------------------------------------------------------------------- */

static bool is_structure(const struct type *type)
{
	return type->kind == KIND_STRUCT || type->kind == KIND_UNION;
}

/* Looks for @name in @structure, which begins at @bits, and in those without a name in it. */
static bool find_member(struct btf *btf, const struct type *structure, const char *name,
                        uint64_t bits, unsigned int depth, struct member *member)
{
	struct xf_cursor parts = structure->more;

	for (uint32_t i = 0; i < structure->nr_parts && btf->work < MOST_WORK; i++, btf->work++) {
		uint32_t name_offset = xf_cursor_u32(&parts), number = xf_cursor_u32(&parts);
		uint32_t offset = xf_cursor_u32(&parts);
		bool is_it = is_name(btf, name_offset, name);

		if ((!is_it && !is_name(btf, name_offset, "")) ||
		    !type_behind(btf, number, &member->type))
			continue;
		member->is_bits = structure->flag && offset >> 24;
		member->bits = bits + (structure->flag ? offset & 0xffffff : offset);
		if (is_it)
			return true;
		if (is_structure(&member->type) && depth < MOST_NESTED) {
			const struct type nested = member->type;

			if (find_member(btf, &nested, name, member->bits, depth + 1, member))
				return true;
		}
	}
	return false;
}

/* Return: whether it is a number that fills so many bytes: old compilers' types are of few bits. */
static bool is_number(const struct type *type, uint32_t bytes)
{
	struct xf_cursor more = type->more;

	return type->kind == KIND_INT && type->value == bytes &&
	       (xf_cursor_u32(&more) & 0xffffff) == bytes * 8;
}

static bool is_text(const struct btf *btf, const struct type *type)
{
	struct xf_cursor array = type->more;
	uint32_t number = xf_cursor_u32(&array);
	struct type element;

	xf_cursor_u32(&array); /* the type of its index */
	return type->kind == KIND_ARRAY && xf_cursor_u32(&array) >= XF_TASK_NAME_BYTES &&
	       type_behind(btf, number, &element) && is_number(&element, 1);
}

enum what {
	POINTER,
	NUMBER,
	LONG_NUMBER,
	TEXT,
	STRUCTURE,
	ARRAY
};

static bool is_what(const struct btf *btf, const struct type *type, enum what what)
{
	switch (what) {
	case POINTER:
		return type->kind == KIND_PTR;
	case NUMBER:
		return is_number(type, 4);
	case LONG_NUMBER:
		return is_number(type, 8);
	case TEXT:
		return is_text(btf, type);
	case STRUCTURE:
		return type->kind == KIND_STRUCT;
	case ARRAY:
		return type->kind == KIND_ARRAY;
	}
	return false;
}

struct wanted {
	const char *name;
	enum what what;
	uint16_t bytes; /* that are read of it */
};

/* Return: 0 and where in @structure, which is named @of, @wanted begins. */
static int offset_of(struct btf *btf, const struct type *structure, const char *of,
                     const struct wanted *wanted, uint16_t *offset, struct xf_error *error)
{
	struct member member;

	if (!find_member(btf, structure, wanted->name, 0, 0, &member))
		return xf_fail(error, -ENOENT, "its types (BTF) have no %s in struct %s",
		               wanted->name, of);
	if (member.is_bits || member.bits % 8 || !is_what(btf, &member.type, wanted->what) ||
	    member.bits / 8 + wanted->bytes > structure->value ||
	    member.bits / 8 + wanted->bytes > UINT16_MAX)
		return xf_fail(error, -EOPNOTSUPP,
		               "%s in struct %s is not what it has been in any Linux that is known "
		               "(by its types, BTF)",
		               wanted->name, of);
	*offset = (uint16_t)(member.bits / 8);
	return 0;
}

/* ---- Structures ------------------------------------------------------------------------------ */

#define MOST_WANTED 7u

/* A structure, and where each member that is wanted of it begins. */
struct structure {
	const char *name;
	struct wanted wanted[MOST_WANTED]; /* up to the first without a name */
	uint16_t at[MOST_WANTED];
	bool found;
};

/* Several structures may go by one name, if they agree. */
static int take_structure(struct btf *btf, const struct type *type, struct structure *structure,
                          struct xf_error *error)
{
	uint16_t at[MOST_WANTED] = {0};

	for (size_t i = 0; i < MOST_WANTED && structure->wanted[i].name; i++) {
		int code =
		        offset_of(btf, type, structure->name, &structure->wanted[i], &at[i], error);

		if (code)
			return code;
	}
	if (structure->found && memcmp(structure->at, at, sizeof(at)) != 0)
		return xf_fail(error, -EBADMSG, "its types (BTF) have two different struct %s",
		               structure->name);
	memcpy(structure->at, at, sizeof(at));
	structure->found = true;
	return 0;
}

/* Finds all of @structures. */
static int find_structures(struct btf *btf, struct structure *structures, size_t nr,
                           struct xf_error *error)
{
	struct type type;

	for (uint32_t number = 1; number <= btf->nr; number++) {
		if (!type_at(btf, number, &type) || type.kind != KIND_STRUCT)
			continue;
		for (size_t i = 0; i < nr; i++) {
			int code = is_name(btf, type.name, structures[i].name)
			                   ? take_structure(btf, &type, &structures[i], error)
			                   : 0;

			if (code)
				return code;
		}
	}
	for (size_t i = 0; i < nr; i++)
		if (!structures[i].found)
			return xf_fail(error, -ENOENT, "its types (BTF) have no struct %s",
			               structures[i].name);
	return 0;
}

static int find_in_task(struct btf *btf, struct xf_task_layout *layout, struct xf_error *error)
{
	struct structure task = {.name = "task_struct",
	                         .wanted = {{"stack", POINTER, 8},
	                                    {"pid", NUMBER, 4},
	                                    {"tgid", NUMBER, 4},
	                                    {"comm", TEXT, XF_TASK_NAME_BYTES}}};
	int code = find_structures(btf, &task, 1, error);

	if (code)
		return code;
	if (task.at[2] != task.at[1] + 4)
		return xf_fail(error, -EOPNOTSUPP,
		               "tgid is not directly behind pid in struct task_struct, as in every "
		               "Linux that is known (by its types, BTF)");
	layout->stack = task.at[0];
	layout->pid = task.at[1];
	layout->comm = task.at[3];
	return 0;
}

/* ---- What processes have mapped -------------------------------------------------------------- */

enum {
	TASK,
	MEMORY,
	MAPPING,
	FILE_,
	PATH,
	DIRECTORY,
	NAME,
	MOUNT_SEEN,
	MOUNT,
	NR_IN_BOTH
};

static const struct structure in_both[NR_IN_BOTH] = {
        [TASK] = {.name = "task_struct", .wanted = {{"mm", POINTER, 8}}},
        [MEMORY] = {.name = "mm_struct", .wanted = {{"pgd", POINTER, 8}}},
        [MAPPING] = {.name = "vm_area_struct",
                     .wanted = {{"vm_mm", POINTER, 8},
                                {"vm_start", LONG_NUMBER, 8},
                                {"vm_end", LONG_NUMBER, 8},
                                {"vm_flags", LONG_NUMBER, 8},
                                {"vm_pgoff", LONG_NUMBER, 8},
                                {"vm_file", POINTER, 8}}},
        [FILE_] = {.name = "file", .wanted = {{"f_path", STRUCTURE, 16}}},
        [PATH] = {.name = "path", .wanted = {{"dentry", POINTER, 8}, {"mnt", POINTER, 8}}},
        [DIRECTORY] = {.name = "dentry",
                       .wanted = {{"d_parent", POINTER, 8}, {"d_name", STRUCTURE, 16}}},
        [NAME] = {.name = "qstr", .wanted = {{"name", POINTER, 8}, {"len", NUMBER, 4}}},
        [MOUNT_SEEN] = {.name = "vfsmount", .wanted = {{"mnt_root", POINTER, 8}}},
        [MOUNT] = {.name = "mount",
                   .wanted = {{"mnt", STRUCTURE, 8},
                              {"mnt_parent", POINTER, 8},
                              {"mnt_mountpoint", POINTER, 8}}},
};

enum {
	TREE_OF,
	TREE,
	LEAF,
	INNER,
	NR_IN_TREE
};

static const struct structure in_tree[NR_IN_TREE] = {
        [TREE_OF] = {.name = "mm_struct", .wanted = {{"mm_mt", STRUCTURE, 8}}},
        [TREE] = {.name = "maple_tree", .wanted = {{"ma_root", POINTER, 8}}},
        [LEAF] = {.name = "maple_range_64", .wanted = {{"pivot", ARRAY, 8}, {"slot", ARRAY, 8}}},
        [INNER] = {.name = "maple_arange_64", .wanted = {{"pivot", ARRAY, 8}, {"slot", ARRAY, 8}}},
};

static const struct structure in_list[] = {
        {.name = "mm_struct", .wanted = {{"mmap", POINTER, 8}}},
        {.name = "vm_area_struct", .wanted = {{"vm_next", POINTER, 8}}},
};

static int find_in_both(struct btf *btf, struct xf_memory_layout *layout, struct xf_error *error)
{
	struct structure found[NR_IN_BOTH];
	const uint16_t *mapping = found[MAPPING].at;
	int code;

	memcpy(found, in_both, sizeof(found));
	code = find_structures(btf, found, NR_IN_BOTH, error);
	if (code)
		return code;
	layout->task_mm = found[TASK].at[0];
	layout->mm.pgd = found[MEMORY].at[0];
	layout->mapping.mm = mapping[0];
	layout->mapping.start = mapping[1];
	layout->mapping.end = mapping[2];
	layout->mapping.flags = mapping[3];
	layout->mapping.page_offset = mapping[4];
	layout->mapping.file = mapping[5];
	layout->file.directory = found[FILE_].at[0] + found[PATH].at[0];
	layout->file.mount = found[FILE_].at[0] + found[PATH].at[1];
	layout->directory.parent = found[DIRECTORY].at[0];
	layout->directory.name = found[DIRECTORY].at[1] + found[NAME].at[0];
	layout->directory.name_size = found[DIRECTORY].at[1] + found[NAME].at[1];
	layout->mount_top = found[MOUNT_SEEN].at[0];
	layout->mount.own = found[MOUNT].at[0];
	layout->mount.parent = found[MOUNT].at[1];
	layout->mount.place = found[MOUNT].at[2];
	return 0;
}

static bool find_tree(struct btf *btf, struct xf_memory_layout *layout)
{
	struct structure found[NR_IN_TREE];

	memcpy(found, in_tree, sizeof(found));
	if (find_structures(btf, found, NR_IN_TREE, NULL))
		return false;
	layout->is_tree = true;
	layout->mm.mappings = found[TREE_OF].at[0] + found[TREE].at[0];
	layout->leaf.pivots = found[LEAF].at[0];
	layout->leaf.slots = found[LEAF].at[1];
	layout->inner.pivots = found[INNER].at[0];
	layout->inner.slots = found[INNER].at[1];
	return true;
}

static int find_list(struct btf *btf, struct xf_memory_layout *layout, struct xf_error *error)
{
	struct structure found[2];
	int code;

	memcpy(found, in_list, sizeof(found));
	code = find_structures(btf, found, 2, error);
	layout->mm.mappings = found[0].at[0];
	layout->mapping.next = found[1].at[0];
	return code;
}

int xf_btf_memory_layout(const void *btf, size_t size, struct xf_memory_layout *layout,
                         struct xf_error *error)
{
	struct xf_memory_layout found = {0};
	struct btf types = {0};
	int code = open_btf(&types, btf, size, error);

	if (!code)
		code = find_in_both(&types, &found, error);
	if (!code && !find_tree(&types, &found))
		code = find_list(&types, &found, error);
	if (!code)
		*layout = found;
	free(types.places);
	return code;
}

/* ---- Symbols --------------------------------------------------------------------------------- */

struct address {
	const char *name;
	bool known;
	uint64_t value;
};

enum {
	CURRENT_TASK,
	PCPU_HOT,
	PER_CPU_OFFSET,
	NR_ADDRESSES
};

static void find_addresses(const char *text, size_t size, struct address *addresses)
{
	const char *end = text + size;
	struct xf_kallsyms_line line;

	while (xf_kallsyms_next(&text, end, &line)) {
		/* Drivers may have such of their own, which are local. */
		if (!isupper((unsigned char)line.type) || xf_kallsyms_is_code(&line))
			continue;
		for (size_t i = 0; i < NR_ADDRESSES; i++) {
			if (!xf_kallsyms_is(&line, addresses[i].name))
				continue;
			addresses[i].known = true;
			addresses[i].value = line.address;
		}
	}
}

/* Return: 0 where @address is found by way of GS. Built for a single CPU, Linux before 6.15 has it
 * at its own address, as all data. */
static int check_address(const struct address *addresses, const struct address *address,
                         struct xf_error *error)
{
	if (!address->value)
		return xf_fail(error, -EACCES,
		               "the addresses of its symbols are hidden (%s is shown as 0): they "
		               "have to be read as root with kernel.kptr_restrict at 0 or 1 "
		               "(sysctl -w kernel.kptr_restrict=1)",
		               address->name);
	if (address->value < OFFSETS_END)
		return 0;
	if (address->value < KERNEL_START)
		return xf_fail(error, -EBADMSG, "%s is at %#" PRIx64 ", where no Linux has it",
		               address->name, address->value);
	if (!addresses[PER_CPU_OFFSET].known)
		return xf_fail(error, -EOPNOTSUPP,
		               "it is built for a single CPU (no CONFIG_SMP), and where such a "
		               "kernel keeps its task is not known");
	return 0;
}

static int find_current(struct btf *btf, const char *symbols, size_t size,
                        struct xf_task_layout *layout, struct xf_error *error)
{
	struct structure hot = {.name = "pcpu_hot", .wanted = {{"current_task", POINTER, 8}}};
	struct address addresses[NR_ADDRESSES] = {
	        [CURRENT_TASK] = {.name = "current_task"},
	        [PCPU_HOT] = {.name = "pcpu_hot"},
	        [PER_CPU_OFFSET] = {.name = "__per_cpu_offset"},
	};
	const struct address *address = &addresses[CURRENT_TASK];
	int code;

	find_addresses(symbols, size, addresses);
	if (addresses[PCPU_HOT].known)
		address = &addresses[PCPU_HOT];
	if (!address->known)
		return xf_fail(error, -ENOENT,
		               "its symbols have neither current_task nor pcpu_hot "
		               "(CONFIG_KALLSYMS_ALL)");
	code = check_address(addresses, address, error);
	if (!code && address == &addresses[PCPU_HOT])
		code = find_structures(btf, &hot, 1, error);
	layout->current = address->value + hot.at[0];
	layout->slides = address->value >= KERNEL_START;
	return code;
}

int xf_btf_task_layout(const void *btf, size_t size, const char *symbols, size_t symbols_size,
                       struct xf_task_layout *layout, struct xf_error *error)
{
	struct xf_task_layout found = {0};
	struct btf types = {0};
	int code = open_btf(&types, btf, size, error);

	if (!code)
		code = find_in_task(&types, &found, error);
	if (!code)
		code = find_current(&types, symbols, symbols_size, &found, error);
	if (!code)
		*layout = found;
	free(types.places);
	return code;
}

/* ---- Modules --------------------------------------------------------------------------------- */

enum {
	MODULE,
	MODULE_SYMBOLS,
	MODULE_LIST,
	NR_IN_MODULES
};

static const struct structure in_modules[NR_IN_MODULES] = {
        [MODULE] = {.name = "module",
                    .wanted = {{"list", STRUCTURE, 16},
                               {"name", ARRAY, 56},
                               {"kallsyms", POINTER, 8}}},
        [MODULE_SYMBOLS] = {.name = "mod_kallsyms",
                            .wanted = {{"symtab", POINTER, 8},
                                       {"num_symtab", NUMBER, 4},
                                       {"strtab", POINTER, 8}}},
        [MODULE_LIST] = {.name = "list_head", .wanted = {{"next", POINTER, 8}}},
};

/* The first of a module's pieces of memory is its code's. */
static const struct structure in_memory[] = {
        {.name = "module", .wanted = {{"mem", ARRAY, 8}}},
        {.name = "module_memory", .wanted = {{"base", POINTER, 8}, {"size", NUMBER, 4}}},
};

/* Up to 6.3 the code is the first part of one piece. */
static const struct structure in_core[] = {
        {.name = "module", .wanted = {{"core_layout", STRUCTURE, 8}}},
        {.name = "module_layout", .wanted = {{"base", POINTER, 8}, {"text_size", NUMBER, 4}}},
};

static int find_module_text(struct btf *btf, struct xf_module_layout *layout,
                            struct xf_error *error)
{
	struct structure found[2];
	int code;

	memcpy(found, in_memory, sizeof(found));
	code = find_structures(btf, found, 2, NULL);
	if (code) {
		memcpy(found, in_core, sizeof(found));
		code = find_structures(btf, found, 2, error);
	}
	layout->module.text = found[0].at[0] + found[1].at[0];
	layout->module.text_size = found[0].at[0] + found[1].at[1];
	return code;
}

/* Drivers may have a list of that name of their own, which is local. */
static int find_module_list(const char *text, size_t size, struct xf_module_layout *layout,
                            struct xf_error *error)
{
	const char *end = text + size;
	struct xf_kallsyms_line line;
	unsigned int nr = 0;
	bool global = false;

	while (xf_kallsyms_next(&text, end, &line)) {
		if (!xf_kallsyms_is(&line, "modules") || xf_kallsyms_is_code(&line) ||
		    (global && line.type != 'D'))
			continue;
		nr = line.type == 'D' ? 1 : nr + 1;
		global = line.type == 'D';
		layout->list = line.address;
	}
	if (nr == 1 && layout->list >= KERNEL_START)
		return 0;
	return xf_fail(error, -ENOENT,
	               "its symbols do not say where the list of its modules is "
	               "(CONFIG_KALLSYMS_ALL, CONFIG_MODULES)");
}

int xf_btf_module_layout(const void *btf, size_t size, const char *symbols, size_t symbols_size,
                         struct xf_module_layout *layout, struct xf_error *error)
{
	struct structure found[NR_IN_MODULES];
	struct xf_module_layout made = {0};
	struct btf types = {0};
	int code = open_btf(&types, btf, size, error);

	memcpy(found, in_modules, sizeof(found));
	if (!code)
		code = find_structures(&types, found, NR_IN_MODULES, error);
	if (!code)
		code = find_module_text(&types, &made, error);
	if (!code)
		code = find_module_list(symbols, symbols_size, &made, error);
	free(types.places);
	if (code)
		return code;
	made.module.list = found[MODULE].at[0] + found[MODULE_LIST].at[0];
	made.module.name = found[MODULE].at[1];
	made.module.symbols = found[MODULE].at[2];
	made.symbols = found[MODULE_SYMBOLS].at[0];
	made.nr_symbols = found[MODULE_SYMBOLS].at[1];
	made.names = found[MODULE_SYMBOLS].at[2];
	*layout = made;
	return 0;
}
