// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/kernel_survey.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE      4096u
#define NR_THUNKS 16u /* registers */

/* Symbols of one module follow each other. */
static void survey_module(struct xf_survey *survey, const struct xf_kallsyms_line *line)
{
	struct xf_survey_module *module =
	        survey->nr_modules ? &survey->modules[survey->nr_modules - 1] : NULL;

	if (line->module_size >= sizeof(module->name))
		return;
	if (!module || strlen(module->name) != line->module_size ||
	    memcmp(module->name, line->module, line->module_size) != 0) {
		if (survey->nr_modules == XF_MOST_MODULES)
			return;
		module = &survey->modules[survey->nr_modules++];
		memcpy(module->name, line->module, line->module_size);
		module->first = module->last = line->address;
	}
	if (line->address < module->first)
		module->first = line->address;
	if (line->address > module->last)
		module->last = line->address;
}

static void survey_made(struct xf_survey *survey, uint64_t address)
{
	uint64_t before = survey->nr_made ? survey->made[survey->nr_made - 1] : 0;

	/* Neighbours share a piece. */
	if (survey->nr_made < XF_MOST_MADE &&
	    (!survey->nr_made || address - before >= XF_KALLSYMS_MADE_BYTES))
		survey->made[survey->nr_made++] = address;
}

static void survey_line(struct xf_survey *survey, const struct xf_kallsyms_line *line)
{
	if (xf_kallsyms_is_made(line)) {
		if (xf_kallsyms_is_code(line))
			survey_made(survey, line->address);
		return;
	}
	if (line->module) {
		if (xf_kallsyms_is_code(line))
			survey_module(survey, line);
		return;
	}
	for (size_t i = 0; i < XF_NR_SURVEY_RANGES; i++) {
		struct xf_survey_range *range = &survey->ranges[i];

		if (xf_kallsyms_is(line, range->start_name))
			range->start = line->address;
		else if (xf_kallsyms_is(line, range->end_name))
			range->end = line->address;
	}
	if (xf_kallsyms_is(line, "_text"))
		survey->image = line->address;
	else if (xf_kallsyms_is(line, "hypercall_page"))
		survey->hypercall = line->address;
	else if (xf_kallsyms_is(line, "linux_banner"))
		survey->banner = line->address;
}

int xf_survey_symbols(struct xf_survey *survey, const char *text, size_t size)
{
	const char *end = text + size;
	struct xf_kallsyms_line line;

	*survey = (struct xf_survey){
	        .ranges = {[XF_SURVEY_TEXT] = {"_stext", "_etext"},
	                   [XF_SURVEY_BOOT] = {"_sinittext", "_einittext"},
	                   [XF_SURVEY_THUNKS] = {"__x86_indirect_thunk_rax",
	                                         "__x86_indirect_thunk_r15"},
	                   [XF_SURVEY_ITS_THUNKS] = {"__x86_indirect_its_thunk_rax",
	                                             "__x86_indirect_its_thunk_r15"},
	                   [XF_SURVEY_PLACES] = {"__start_orc_unwind_ip", "__stop_orc_unwind_ip"},
	                   [XF_SURVEY_ENTRIES] = {"__start_orc_unwind", "__stop_orc_unwind"},
	                   [XF_SURVEY_HEADER] = {"__start_orc_header", "__stop_orc_header"}}};
	survey->modules = calloc(XF_MOST_MODULES, sizeof(*survey->modules));
	if (!survey->modules)
		return -ENOMEM;
	while (xf_kallsyms_next(&text, end, &line))
		survey_line(survey, &line);
	return 0;
}

bool xf_survey_is_range(const struct xf_survey_range *range)
{
	return range->start && range->end > range->start &&
	       range->end - range->start <= XF_MOST_KERNEL_BYTES;
}

void xf_survey_free(struct xf_survey *survey)
{
	free(survey->modules);
	*survey = (struct xf_survey){0};
}

/* One for each register, as long as each other. */
struct xf_code xf_survey_thunks(const struct xf_survey *survey, enum xf_survey_place place)
{
	const struct xf_survey_range *thunks = &survey->ranges[place];
	uint64_t size = thunks->end - thunks->start;

	if (!xf_survey_is_range(thunks) || size > PAGE)
		return (struct xf_code){0};
	return (struct xf_code){.address = thunks->start, .size = size + size / (NR_THUNKS - 1)};
}

struct xf_code xf_survey_text(const struct xf_survey *survey)
{
	const struct xf_survey_range *text = &survey->ranges[XF_SURVEY_TEXT];
	const struct xf_survey_range *boot = &survey->ranges[XF_SURVEY_BOOT];
	struct xf_code code = {.address = text->start, .size = text->end - text->start};

	if (!xf_survey_is_range(text))
		return (struct xf_code){0};
	if (boot->end > text->end && boot->end - text->start <= XF_MOST_KERNEL_BYTES)
		code.size = boot->end - text->start;
	return code;
}
