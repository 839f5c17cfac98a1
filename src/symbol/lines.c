// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/lines.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

/* Compilers nest blocks and inlined calls some dozens deep. */
#define DEPTH_MAX 200u
#define NO_SCOPE  UINT32_MAX

/* A function, or a call of one that was inlined. */
struct scope {
	uint32_t parent; /* what it is inlined in; NO_SCOPE: nothing */
	bool inlined;
	bool read;     /* the following are known */
	int call_line; /* where it is called, if inlined */
	const char *name;
	const char *call_file;
};

/* Code of a scope, which may have several pieces. */
struct range {
	uint64_t low;
	uint64_t high;
	uint32_t scope;
	uint32_t depth;
};

/* From here to the next one code is of that scope, and no deeper one. */
struct segment {
	uint64_t low;
	uint32_t scope;
};

/* Lines and scopes together, from its start to the next one's. */
struct step {
	uint32_t source;
	int line;
	uint32_t scope;
};

/* From here on it is that line's. */
struct row {
	uint64_t address;
	uint32_t source; /* its file, among the unit's sources */
	int line;        /* 0: nobody's */
};

/* A file as libdw names it, and as it is shown. */
struct source {
	const char *path;
	const char *shown;
};

struct unit {
	/* What every look-up reads comes first, so that it lies together. */
	bool read;        /* the following are there */
	uint64_t *starts; /* of the steps */
	size_t nr_steps;
	struct step *steps;
	struct scope *scopes;
	struct source *sources;
	Dwarf_Die *dies; /* of the scopes */
	Dwarf_Files *files;
	Dwarf_Die die;
	const char *directory; /* that the compiler was called in */
	size_t directory_size;
	size_t nr_sources;
	size_t allocated_sources;
	size_t nr_scopes;
	size_t allocated_scopes;
	size_t allocated_dies;
	/* While they are read: */
	struct row *rows;
	size_t nr_rows;
	struct range *ranges;
	size_t nr_ranges;
	size_t allocated_ranges;
	struct segment *segments;
	size_t nr_segments;
};

struct piece {
	uint64_t low;
	uint64_t high;
	uint32_t unit;
};

struct xf_units {
	struct unit *units;
	size_t nr;
	size_t allocated;
	struct piece *pieces; /* by address */
	size_t nr_pieces;
	size_t allocated_pieces;
};

/* ---- Units ----------------------------------------------------------------------------------- */

static int compare_pieces(const void *left, const void *right)
{
	const struct piece *a = left;
	const struct piece *b = right;

	return a->low < b->low ? -1 : a->low > b->low;
}

static bool add_unit(struct xf_units *units, Dwarf_Die *die)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t offset = 0;

	if (!xf_make_room(&units->units, units->nr, &units->allocated, sizeof(*units->units)))
		return false;
	units->units[units->nr] = (struct unit){.die = *die};
	while ((offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0) {
		if (low >= high)
			continue;
		if (!xf_make_room(&units->pieces, units->nr_pieces, &units->allocated_pieces,
		                  sizeof(*units->pieces)))
			return false;
		units->pieces[units->nr_pieces++] = (struct piece){low, high, (uint32_t)units->nr};
	}
	units->nr++;
	return true;
}

struct xf_units *xf_units_new(Dwarf *dwarf)
{
	struct xf_units *units = calloc(1, sizeof(*units));
	Dwarf_Off offset = 0, next;
	bool added = units;
	Dwarf_Die die;
	size_t head;

	while (added && dwarf_nextcu(dwarf, offset, &next, &head, NULL, NULL, NULL) == 0) {
		if (dwarf_offdie(dwarf, offset + head, &die))
			added = add_unit(units, &die);
		offset = next;
	}
	if (!added) {
		xf_units_free(units);
		return NULL;
	}
	if (units->nr_pieces)
		qsort(units->pieces, units->nr_pieces, sizeof(*units->pieces), compare_pieces);
	return units;
}

/* What steps are made of. */
static void free_tables(struct unit *unit)
{
	free(unit->rows);
	free(unit->ranges);
	free(unit->segments);
	unit->rows = NULL;
	unit->ranges = NULL;
	unit->segments = NULL;
}

void xf_units_free(struct xf_units *units)
{
	if (!units)
		return;
	for (size_t i = 0; i < units->nr; i++) {
		free_tables(&units->units[i]);
		free(units->units[i].steps);
		free(units->units[i].starts);
		free(units->units[i].scopes);
		free(units->units[i].dies);
		free(units->units[i].sources);
	}
	free(units->units);
	free(units->pieces);
	free(units);
}

static struct unit *find_unit(const struct xf_units *units, uint64_t address)
{
	size_t low = 0, high = units->nr_pieces;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (units->pieces[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= units->pieces[low - 1].high)
		return NULL;
	return &units->units[units->pieces[low - 1].unit];
}

/* ---- Lines ------------------------------------------------------------------------------------
 */

/* Return: @file without the directory that the compiler was called in, and without "./". */
static const char *without_directory(const struct unit *unit, const char *file)
{
	size_t size = unit->directory_size;

	if (file && size && strncmp(file, unit->directory, size) == 0 && file[size] == '/')
		file += size + 1;
	if (file && strncmp(file, "./", 2) == 0)
		file += 2;
	return file;
}

/* The place of @path among the sources; neighbours are mostly of the files seen last. Return: false
 * without memory. */
static bool find_source(struct unit *unit, const char *path, uint32_t *found)
{
	for (size_t i = unit->nr_sources; i-- > 0;) {
		if (unit->sources[i].path == path) {
			*found = (uint32_t)i;
			return true;
		}
	}
	if (!xf_make_room(&unit->sources, unit->nr_sources, &unit->allocated_sources,
	                  sizeof(*unit->sources)))
		return false;
	*found = (uint32_t)unit->nr_sources++;
	unit->sources[*found] = (struct source){path, without_directory(unit, path)};
	return true;
}

static bool read_row(struct unit *unit, Dwarf_Line *line, struct row *row)
{
	const char *path = dwarf_linesrc(line, NULL, NULL);
	const struct row *before = unit->nr_rows ? row - 1 : NULL;
	Dwarf_Addr address = 0;
	bool ends;

	if (dwarf_lineaddr(line, &address) != 0 || dwarf_lineendsequence(line, &ends) != 0 ||
	    ends || !path || dwarf_lineno(line, &row->line) != 0)
		row->line = 0;
	row->address = address;
	if (!row->line)
		return true;
	if (before && before->line && unit->sources[before->source].path == path) {
		row->source = before->source;
		return true;
	}
	return find_source(unit, path, &row->source);
}

/* libdw has them in the order of addresses. */
static void read_rows(struct unit *unit)
{
	Dwarf_Lines *lines;
	size_t nr;

	if (dwarf_getsrclines(&unit->die, &lines, &nr) != 0)
		return;
	unit->rows = calloc(nr + 1, sizeof(*unit->rows));
	while (unit->rows && unit->nr_rows < nr &&
	       read_row(unit, dwarf_onesrcline(lines, unit->nr_rows), &unit->rows[unit->nr_rows]))
		unit->nr_rows++;
}

/* ---- Scopes ---------------------------------------------------------------------------------- */

/* Return: how many ranges @scope got; a negative number without memory. */
static int add_ranges(struct unit *unit, Dwarf_Die *die, uint32_t scope, uint32_t depth)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t offset = 0;
	int nr = 0;

	while ((offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0) {
		if (low >= high)
			continue;
		if (!xf_make_room(&unit->ranges, unit->nr_ranges, &unit->allocated_ranges,
		                  sizeof(*unit->ranges)))
			return -1;
		unit->ranges[unit->nr_ranges++] = (struct range){low, high, scope, depth};
		nr++;
	}
	return nr;
}

static bool add_children(struct unit *unit, Dwarf_Die *die, uint32_t parent, uint32_t depth);

/* A function or an inlined call; those without code of their own are only there to be pointed at.
 */
static bool add_scope(struct unit *unit, Dwarf_Die *die, bool inlined, uint32_t parent,
                      uint32_t depth)
{
	uint32_t scope = (uint32_t)unit->nr_scopes;
	/* Most have none, and to ask for their ranges takes longer. */
	bool has_code = dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges);
	int nr = has_code ? add_ranges(unit, die, scope, depth) : 0;

	if (nr <= 0)
		return nr == 0;
	if (!xf_make_room(&unit->scopes, unit->nr_scopes, &unit->allocated_scopes,
	                  sizeof(*unit->scopes)) ||
	    !xf_make_room(&unit->dies, unit->nr_scopes, &unit->allocated_dies, sizeof(*unit->dies)))
		return false;
	unit->dies[unit->nr_scopes] = *die;
	unit->scopes[unit->nr_scopes++] = (struct scope){.parent = parent, .inlined = inlined};
	return add_children(unit, die, scope, depth + 1);
}

static bool add_children(struct unit *unit, Dwarf_Die *die, uint32_t parent, uint32_t depth)
{
	Dwarf_Die child;
	const char *before;
	bool added = true;

	if (depth > DEPTH_MAX || dwarf_child(die, &child) != 0)
		return true;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_subprogram:
			added = add_scope(unit, &child, false, NO_SCOPE, depth);
			break;
		case DW_TAG_inlined_subroutine:
			added = add_scope(unit, &child, true, parent, depth);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_namespace:
		case DW_TAG_module:
			added = add_children(unit, &child, parent, depth + 1);
			break;
		default:
			break;
		}
		before = child.addr;
		/* What is damaged may lead back. */
	} while (added && dwarf_siblingof(&child, &child) == 0 && (char *)child.addr > before);
	return added;
}

/* Outer ones come before those within them. */
static int compare_ranges(const void *left, const void *right)
{
	const struct range *a = left;
	const struct range *b = right;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	if (a->high != b->high)
		return a->high > b->high ? -1 : 1;
	return a->depth < b->depth ? -1 : a->depth > b->depth;
}

static void add_segment(struct unit *unit, uint64_t low, uint32_t scope)
{
	if (unit->nr_segments && unit->segments[unit->nr_segments - 1].low == low)
		unit->nr_segments--;
	unit->segments[unit->nr_segments++] = (struct segment){low, scope};
}

/* Closes what ends at @address or before. */
static void close_ranges(struct unit *unit, const struct range *open, size_t *nr, uint64_t address)
{
	while (*nr && open[*nr - 1].high <= address) {
		uint64_t end = open[--*nr].high;

		add_segment(unit, end, *nr ? open[*nr - 1].scope : NO_SCOPE);
	}
}

/* Makes one list of what lies within each other. */
static bool flatten(struct unit *unit)
{
	struct range *open = calloc(unit->nr_ranges + 1, sizeof(*open));
	size_t nr = 0;

	unit->segments = calloc(2 * unit->nr_ranges + 1, sizeof(*unit->segments));
	if (open && unit->segments && unit->nr_ranges) {
		qsort(unit->ranges, unit->nr_ranges, sizeof(*unit->ranges), compare_ranges);
		for (size_t i = 0; i < unit->nr_ranges; i++) {
			struct range range = unit->ranges[i];

			close_ranges(unit, open, &nr, range.low);
			if (nr && range.high > open[nr - 1].high)
				range.high = open[nr - 1].high;
			add_segment(unit, range.low, range.scope);
			open[nr++] = range;
		}
		close_ranges(unit, open, &nr, UINT64_MAX);
	}
	free(open);
	return open && unit->segments;
}

static bool is_same_step(const struct step *a, const struct step *b)
{
	return a->source == b->source && a->line == b->line && a->scope == b->scope;
}

/* Lays rows and segments over each other; rows may differ in no more than their columns. */
static void make_steps(struct unit *unit)
{
	size_t nr_rows = unit->rows ? unit->nr_rows : 0;
	size_t row = 0, segment = 0;
	struct step step = {.scope = NO_SCOPE};

	unit->steps = calloc(nr_rows + unit->nr_segments + 1, sizeof(*unit->steps));
	unit->starts = calloc(nr_rows + unit->nr_segments + 1, sizeof(*unit->starts));
	while (unit->steps && unit->starts && (row < nr_rows || segment < unit->nr_segments)) {
		uint64_t next_row = row < nr_rows ? unit->rows[row].address : UINT64_MAX;
		uint64_t next_segment =
		        segment < unit->nr_segments ? unit->segments[segment].low : UINT64_MAX;

		uint64_t start = next_row < next_segment ? next_row : next_segment;

		for (; row < nr_rows && unit->rows[row].address <= start; row++) {
			step.line = unit->rows[row].line;
			step.source = unit->rows[row].source;
		}
		for (; segment < unit->nr_segments && unit->segments[segment].low <= start;
		     segment++)
			step.scope = unit->segments[segment].scope;
		if (unit->nr_steps && is_same_step(&unit->steps[unit->nr_steps - 1], &step))
			continue;
		unit->starts[unit->nr_steps] = start;
		unit->steps[unit->nr_steps++] = step;
	}
}

static void read_unit(struct unit *unit)
{
	Dwarf_Attribute attribute;

	unit->read = true;
	unit->directory = dwarf_formstring(dwarf_attr(&unit->die, DW_AT_comp_dir, &attribute));
	unit->directory_size = unit->directory ? strlen(unit->directory) : 0;
	read_rows(unit);
	if (dwarf_getsrcfiles(&unit->die, &unit->files, NULL) != 0)
		unit->files = NULL;
	if (!add_children(unit, &unit->die, NO_SCOPE, 0) || !flatten(unit))
		unit->nr_segments = 0;
	make_steps(unit);
	free_tables(unit);
}

static const struct step *find_step(const struct unit *unit, uint64_t address)
{
	size_t low = 0, high = unit->nr_steps;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (unit->starts[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &unit->steps[low - 1] : NULL;
}

/* ---- Places ---------------------------------------------------------------------------------- */

static int read_number(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;

	if (dwarf_formudata(dwarf_attr(die, name, &attribute), &number) != 0 || number > INT32_MAX)
		return 0;
	return (int)number;
}

static void read_scope(const struct unit *unit, struct scope *scope)
{
	Dwarf_Die *die = &unit->dies[scope - unit->scopes];

	scope->read = true;
	scope->name = dwarf_diename(die);
	if (!scope->inlined || !unit->files)
		return;
	scope->call_line = read_number(die, DW_AT_call_line);
	scope->call_file = without_directory(
	        unit,
	        dwarf_filesrc(unit->files, (size_t)read_number(die, DW_AT_call_file), NULL, NULL));
}

/* Fills in @calls from the innermost scope, whose call has its place already. */
static size_t follow(struct unit *unit, uint32_t at, struct xf_call call, struct xf_call *calls,
                     size_t max)
{
	size_t nr = 0;

	while (at != NO_SCOPE && nr < max) {
		struct scope *scope = &unit->scopes[at];

		if (!scope->read)
			read_scope(unit, scope);
		call.function = scope->name;
		call.inlined = scope->inlined;
		calls[nr++] = call;
		call = (struct xf_call){.file = scope->call_file, .line = scope->call_line};
		at = scope->parent;
	}
	return nr;
}

size_t xf_units_calls(struct xf_units *units, uint64_t address, struct xf_call *calls, size_t max)
{
	struct unit *unit = find_unit(units, address);
	const struct step *step;
	struct xf_call call = {0};

	if (!unit || !max)
		return 0;
	if (!unit->read)
		read_unit(unit);
	step = find_step(unit, address);
	if (!step)
		return 0;
	call.line = step->line;
	if (step->line)
		call.file = unit->sources[step->source].shown;
	if (step->scope != NO_SCOPE)
		return follow(unit, step->scope, call, calls, max);
	calls[0] = call;
	return step->line != 0;
}

bool xf_units_definition(const struct xf_units *units, uint64_t address, size_t nth,
                         const char **file, int *line)
{
	const struct unit *unit = find_unit(units, address);
	const struct step *step = unit && unit->read ? find_step(unit, address) : NULL;
	uint32_t at = step ? step->scope : NO_SCOPE;

	while (at != NO_SCOPE && nth--)
		at = unit->scopes[at].parent;
	if (at == NO_SCOPE || dwarf_decl_line(&unit->dies[at], line) != 0)
		return false;
	*file = without_directory(unit, dwarf_decl_file(&unit->dies[at]));
	return *file && *line;
}
