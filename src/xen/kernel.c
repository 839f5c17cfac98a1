// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/kernel.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "symbol/kallsyms.h"
#include "xen/kcore.h"
#include "xen/kernel_survey.h"
#include "xen/vmlinuz.h"

#define PAGE 4096ull

/* Far above what any kernel has, and no burden for the host. */
#define MAX_TEXT_BYTES (64u << 20) /* of /proc/kallsyms, or the kernel's types */
#define MAX_CODE_BYTES (64u << 20) /* of modules, all together */

/* ---- Files ----------------------------------------------------------------------------------- */

/* Reads what Linux makes up as it is read, whose size may not be known before. Return: 0 and
 * *@bytes, to be freed by the caller. */
static int read_text(const char *path, char **bytes, size_t *size, struct xf_error *error)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t room = 0, got = 1;

	*size = 0;
	if (!file)
		return xf_fail(error, -errno, "cannot open %s: %s", path, strerror(errno));
	while (got && room < MAX_TEXT_BYTES) {
		char *larger = realloc(text, room = room ? room * 2 : 1 << 20);

		if (!larger)
			break;
		text = larger;
		got = fread(text + *size, 1, room - *size, file);
		*size += got;
	}
	if (!got && !ferror(file)) {
		fclose(file);
		*bytes = text;
		return 0;
	}
	xf_fail(error, -EIO, "cannot read %s: %s", path,
	        ferror(file) ? strerror(errno) : "more than any kernel has, or no memory for it");
	fclose(file);
	free(text);
	return -EIO;
}

/* ---- Code ------------------------------------------------------------------------------------ */

/* Keeps what lies at @address, where it can be read: what is not there ends walks, visibly. */
static int add_code(struct xf_kernel *kernel, const struct xf_kcore *kcore, uint64_t address,
                    uint64_t size)
{
	struct xf_code *grown =
	        reallocarray(kernel->code, kernel->nr_code + 1, sizeof(*kernel->code));
	size_t all = 0;
	void *bytes;
	int code;

	if (!grown)
		return -ENOMEM;
	kernel->code = grown;
	for (size_t i = 0; i < kernel->nr_code; i++)
		all += kernel->code[i].size;
	if (size > MAX_CODE_BYTES - all)
		return 0;
	code = xf_kcore_read(kcore, address, size, &bytes, NULL);
	if (!code)
		kernel->code[kernel->nr_code++] =
		        (struct xf_code){.address = address, .bytes = bytes, .size = size};
	return code == -ENOMEM ? code : 0;
}

static const struct xf_survey_module *find_module(const struct xf_survey *survey, const char *name)
{
	for (size_t i = 0; i < survey->nr_modules; i++) {
		if (strcmp(survey->modules[i].name, name) == 0)
			return &survey->modules[i];
	}
	return NULL;
}

/* One line of /proc/modules: the module's name, size, users and their names, state, address. */
static int read_module(struct xf_kernel *kernel, const struct xf_survey *survey,
                       const struct xf_kcore *kcore, const char *line)
{
	const struct xf_survey_module *module;
	uint64_t address, size, end;
	char name[64];

	if (sscanf(line, "%63s %" SCNu64 " %*s %*s %*s %" SCNx64, name, &size, &address) != 3 ||
	    !address || address + size < address)
		return 0;
	if (xf_symbols_add(kernel->symbols, address + size, 0, 'd', ""))
		return -ENOMEM;
	module = find_module(survey, name);
	if (!module || module->first < address || module->last - address >= size || kcore->fd < 0)
		return 0;
	/* Where its code ends is not told: the last function may reach into one page more. */
	end = (module->last | (PAGE - 1)) + 1 + PAGE;
	if (end > ((address + size - 1) | (PAGE - 1)) + 1)
		end = ((address + size - 1) | (PAGE - 1)) + 1;
	return add_code(kernel, kcore, module->first & ~(PAGE - 1),
	                end - (module->first & ~(PAGE - 1)));
}

static int read_modules(struct xf_kernel *kernel, const struct xf_survey *survey,
                        const struct xf_kcore *kcore, const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	int code = 0;

	if (!file) {
		if (!kernel->notice.code && errno != ENOENT) /* a kernel may have none */
			xf_fail(&kernel->notice, -errno,
			        "cannot open %s: %s; stacks end at modules", path, strerror(errno));
		return 0;
	}
	while (!code && getline(&line, &room, file) > 0)
		code = read_module(kernel, survey, kcore, line);
	free(line);
	fclose(file);
	return code;
}

/* What is made at run time, which no file has: the kernel patches its thunks, too. */
static int read_made(struct xf_kernel *kernel, const struct xf_survey *survey,
                     const struct xf_kcore *kcore)
{
	static const enum xf_survey_place places[] = {XF_SURVEY_THUNKS, XF_SURVEY_ITS_THUNKS};
	int code = 0;

	for (size_t i = 0; !code && i < sizeof(places) / sizeof(places[0]); i++) {
		const struct xf_code thunks = xf_survey_thunks(survey, places[i]);

		if (thunks.size)
			code = add_code(kernel, kcore, thunks.address, thunks.size);
	}
	if (!code && survey->hypercall)
		code = add_code(kernel, kcore, survey->hypercall, PAGE);
	for (size_t i = 0; !code && i < survey->nr_made; i++)
		code = add_code(kernel, kcore, survey->made[i], XF_KALLSYMS_MADE_BYTES);
	return code;
}

/* ---- The unwind table ------------------------------------------------------------------------ */

static int read_range(const struct xf_kcore *kcore, const struct xf_survey_range *range,
                      void **bytes, size_t *size, struct xf_error *error)
{
	*size = range->end - range->start;
	return xf_kcore_read(kcore, range->start, *size, bytes, error);
}

/* The table with which the kernel that runs unwinds itself. */
static int read_own_orc(struct xf_kernel *kernel, const struct xf_survey *survey,
                        const struct xf_kcore *kcore, struct xf_error *error)
{
	const struct xf_survey_range *ranges = survey->ranges;
	struct xf_orc orc = {.places_address = ranges[XF_SURVEY_PLACES].start};
	int code;

	if (!xf_survey_is_range(&ranges[XF_SURVEY_PLACES]) ||
	    !xf_survey_is_range(&ranges[XF_SURVEY_ENTRIES]))
		return xf_fail(error, -ENOENT,
		               "the running kernel names no ORC tables (CONFIG_UNWINDER_ORC and "
		               "CONFIG_KALLSYMS_ALL)");
	code = read_range(kcore, &ranges[XF_SURVEY_PLACES], &kernel->owned[0], &orc.places_size,
	                  error);
	if (!code)
		code = read_range(kcore, &ranges[XF_SURVEY_ENTRIES], &kernel->owned[1],
		                  &orc.entries_size, error);
	if (!code && xf_survey_is_range(&ranges[XF_SURVEY_HEADER]))
		code = read_range(kcore, &ranges[XF_SURVEY_HEADER], &kernel->owned[2],
		                  &orc.header_size, error);
	orc.places = kernel->owned[0];
	orc.entries = kernel->owned[1];
	orc.header = kernel->owned[2];
	if (!code)
		kernel->orc = orc;
	return code;
}

static void free_owned(struct xf_kernel *kernel)
{
	for (size_t i = 0; i < sizeof(kernel->owned) / sizeof(kernel->owned[0]); i++) {
		free(kernel->owned[i]);
		kernel->owned[i] = NULL;
	}
}

/* The same from the image that it was booted from. */
static int read_image_orc(struct xf_kernel *kernel, const struct xf_survey *survey,
                          const struct xf_kernel_paths *paths, struct xf_error *error)
{
	struct xf_vmlinuz image;
	int code = xf_vmlinuz_open(paths->image, paths->notes, &image, error);

	if (code)
		return code;
	free_owned(kernel);
	kernel->orc = image.orc;
	kernel->orc.places_address += survey->image - image.text_address;
	memcpy(kernel->owned, image.owned, sizeof(kernel->owned));
	return 0;
}

/* Leaves @kernel without one where none can be had, and says why. */
static void read_orc(struct xf_kernel *kernel, const struct xf_survey *survey,
                     const struct xf_kernel_paths *paths, const struct xf_kcore *kcore)
{
	struct xf_error error = kernel->notice;
	enum xf_orc_layout layout;
	int code = kcore->fd < 0 ? error.code : read_own_orc(kernel, survey, kcore, &error);

	if (code)
		code = read_image_orc(kernel, survey, paths, &kernel->notice);
	kernel->text = xf_survey_text(survey);
	if (!code && !kernel->text.size)
		code = xf_fail(&kernel->notice, -EBADMSG, "_stext and _etext are not there");
	if (!code)
		code = xf_orc_find_layout(&kernel->orc, &layout, &kernel->notice);
	if (code) {
		kernel->orc = (struct xf_orc){0};
		xf_fail_suffix(&kernel->notice,
		               "%s%s; stacks of this kernel end at their innermost "
		               "frame",
		               error.code ? "; " : "", error.code ? error.text : "");
		return;
	}
}

/* ---- The whole ------------------------------------------------------------------------------- */

static int read_memory(struct xf_kernel *kernel, const struct xf_survey *survey,
                       const struct xf_kernel_paths *paths)
{
	struct xf_kcore kcore;
	int code;

	if (xf_kcore_open(paths->kcore, &kcore, &kernel->notice))
		xf_kcore_close(&kcore);
	read_orc(kernel, survey, paths, &kcore);
	code = read_modules(kernel, survey, &kcore, paths->modules);
	if (!code && kcore.fd >= 0)
		code = read_made(kernel, survey, &kcore);
	if (kcore.fd < 0 && kernel->orc.entries)
		xf_fail_suffix(&kernel->notice, "; stacks end at modules");
	xf_kcore_close(&kcore);
	return code;
}

/* Leaves @kernel without one where none can be had, and says why. */
static void read_task_layout(struct xf_kernel *kernel, const char *symbols, size_t symbols_size,
                             const char *path)
{
	struct xf_error *error = &kernel->no_task_layout;
	char *types = NULL;
	size_t size;
	int code = read_text(path, &types, &size, error);

	if (code == -ENOENT)
		xf_fail_suffix(error, " (CONFIG_DEBUG_INFO_BTF, since Linux 5.4)");
	if (code)
		return;
	kernel->has_task_layout = !xf_btf_task_layout(types, size, symbols, symbols_size,
	                                              &kernel->task_layout, error);
	free(types);
}

static int read_all(struct xf_kernel *kernel, const struct xf_kernel_paths *paths,
                    struct xf_error *error)
{
	struct xf_survey survey = {0};
	char *text = NULL;
	size_t size;
	int code = read_text(paths->kallsyms, &text, &size, error);

	if (code)
		return code;
	code = xf_kallsyms_parse(text, size, &kernel->symbols, error);
	if (code)
		xf_fail_prefix(error, "%s", paths->kallsyms);
	else if (xf_survey_symbols(&survey, text, size) || read_memory(kernel, &survey, paths))
		code = xf_fail(error, -ENOMEM, "no memory for the running kernel's code");
	else
		read_task_layout(kernel, text, size, paths->btf);
	xf_survey_free(&survey);
	free(text);
	return code;
}

int xf_kernel_read(const struct xf_kernel_paths *paths, struct xf_kernel *kernel,
                   struct xf_error *error)
{
	struct utsname system = {0};
	char image[128];
	struct xf_kernel_paths used = {.kallsyms =
	                                       paths->kallsyms ? paths->kallsyms : "/proc/kallsyms",
	                               .modules = paths->modules ? paths->modules : "/proc/modules",
	                               .kcore = paths->kcore ? paths->kcore : "/proc/kcore",
	                               .notes = paths->notes ? paths->notes : "/sys/kernel/notes",
	                               .image = paths->image ? paths->image : image,
	                               .btf = paths->btf ? paths->btf : "/sys/kernel/btf/vmlinux"};
	int code;

	*kernel = (struct xf_kernel){0};
	uname(&system);
	snprintf(image, sizeof(image), "/boot/vmlinuz-%s", system.release);
	snprintf(kernel->name, sizeof(kernel->name), "%s %s", system.sysname, system.release);
	code = read_all(kernel, &used, error);
	if (code) {
		xf_kernel_free(kernel);
		return code;
	}
	xf_symbols_finish(kernel->symbols);
	return 0;
}

void xf_kernel_free(struct xf_kernel *kernel)
{
	for (size_t i = 0; i < kernel->nr_code; i++)
		free((void *)kernel->code[i].bytes);
	free_owned(kernel);
	free(kernel->code);
	xf_symbols_free(kernel->symbols);
	*kernel = (struct xf_kernel){0};
}

void xf_kernel_tell(const struct xf_kernel *kernel, char detail[256])
{
	enum xf_orc_layout layout;
	size_t bytes = 0;

	for (size_t i = 0; i < kernel->nr_code; i++)
		bytes += kernel->code[i].size;
	snprintf(detail, 256, "%s: %zu symbols of code, ", kernel->name,
	         xf_symbols_count(kernel->symbols));
	if (kernel->orc.entries && !xf_orc_find_layout(&kernel->orc, &layout, NULL))
		snprintf(detail + strlen(detail), 256 - strlen(detail),
		         "ORC of %zu entries (layout %s), ", kernel->orc.entries_size / 6,
		         xf_orc_layout_name(layout));
	snprintf(detail + strlen(detail), 256 - strlen(detail),
	         "%zu pieces of modules' code (%zu KiB)", kernel->nr_code, bytes / 1024);
}
