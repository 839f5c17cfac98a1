// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/debug_files.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xen/user_file.h"

#define FILE_BYTES_MAX (1u << 30)
#define DIGITS_MAX     (2 * (size_t)XF_BUILD_ID_MAX)

/* Where files of all build-ids are, and those of Xen's that have no such name. */
#define BY_BUILD_ID "/usr/lib/debug/.build-id"
static const char *const xen_files[] = {"/usr/lib/debug/boot/xen-syms*", "/boot/xen-syms*",
                                        "/usr/lib/debug/xen-syms*"};

static int recognize_elf(const void *bytes, size_t size, struct xf_error *error)
{
	if (size >= 4 && memcmp(bytes, "\177ELF", 4) == 0)
		return 0;
	return xf_fail(error, -EBADMSG,
	               "not an ELF file; wanted is Xen's debug info, such as a"
	               " xen-syms file");
}

/* The recording's build-id as digits; NULL where it is not known. */
static const char *wanted_build_id(const struct xf_input *recording)
{
	const char *wanted = xf_recording_info(recording->recording, "xen.build-id");

	return wanted && wanted[0] && !wanted[strspn(wanted, "0123456789abcdef")] &&
	                       strlen(wanted) <= DIGITS_MAX && strlen(wanted) > 2
	               ? wanted
	               : NULL;
}

/* ---- A file that is named -------------------------------------------------------------------- */

/* Debug info of another build would tell wrong lines, all of them likely. */
static int check_build(const struct xf_input *recording, const struct xf_debug_file *file)
{
	const char *wanted = xf_recording_info(recording->recording, "xen.build-id");
	const char *found = xf_debug_build_id(file->debug);

	if (!wanted || strcmp(wanted, found) == 0)
		return XF_EXIT_OK;
	return xf_complain(
	        XF_EXIT_INPUT,
	        "%s: of another Xen than the recording: its build-id is %s, wanted is %s",
	        file->input.path, found[0] ? found : "missing", wanted);
}

int xf_debug_file_open(const char *path, const struct xf_input *recording,
                       struct xf_debug_file *file)
{
	struct xf_error error = {0};
	int status;

	*file = (struct xf_debug_file){0};
	status = xf_input_read(path, recognize_elf, FILE_BYTES_MAX, &file->input);
	if (status)
		return status;
	if (xf_debug_open(file->input.bytes, file->input.size, &file->debug, &error))
		return xf_input_complain(&file->input, &error);
	return check_build(recording, file);
}

void xf_debug_file_close(struct xf_debug_file *file)
{
	xf_debug_close(file->debug);
	xf_input_close(&file->input);
	*file = (struct xf_debug_file){0};
}

/* ---- Files that are here --------------------------------------------------------------------- */

static bool has_build_id(const char *path, const char *wanted)
{
	uint8_t bytes[XF_BUILD_ID_MAX];
	char digits[DIGITS_MAX + 1] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t size = fd < 0 ? 0 : xf_user_file_build_id(fd, bytes);

	for (size_t i = 0; i < size; i++)
		snprintf(digits + 2 * i, 3, "%02x", bytes[i]);
	if (fd >= 0)
		close(fd);
	return strcmp(digits, wanted) == 0;
}

/* One with that build-id but without debug info is none. */
static bool try_file(const char *path, const char *wanted, struct xf_debug_file *file)
{
	if (!has_build_id(path, wanted))
		return false;
	if (xf_input_read(path, recognize_elf, FILE_BYTES_MAX, &file->input) ||
	    xf_debug_open(file->input.bytes, file->input.size, &file->debug, NULL)) {
		xf_debug_file_close(file);
		return false;
	}
	return true;
}

static bool try_files(const char *pattern, const char *wanted, struct xf_debug_file *file)
{
	glob_t found = {0};
	bool opened = false;

	if (glob(pattern, 0, NULL, &found) == 0) {
		for (size_t i = 0; !opened && i < found.gl_pathc; i++)
			opened = try_file(found.gl_pathv[i], wanted, file);
	}
	globfree(&found);
	/* The paths go with the list; what was opened has no use for its own. */
	if (opened)
		file->input.path = "Xen's debug info";
	return opened;
}

static bool find_here(const char *wanted, struct xf_debug_file *file)
{
	char path[sizeof(BY_BUILD_ID) + DIGITS_MAX + 16];
	bool found;

	snprintf(path, sizeof(path), BY_BUILD_ID "/%.2s/%s.debug", wanted, wanted + 2);
	found = try_files(path, wanted, file);
	for (size_t i = 0; !found && i < sizeof(xen_files) / sizeof(xen_files[0]); i++)
		found = try_files(xen_files[i], wanted, file);
	return found;
}

/* ---- Servers --------------------------------------------------------------------------------- */

/* What is used of elfutils' libdebuginfod, as its manual page debuginfod_find_debuginfo(3) has it.
 * It is loaded when it is wanted: most hosts have no use for it, and not all have it. */
struct debuginfod {
	void *(*begin)(void);
	int (*find)(void *client, const unsigned char *build_id, int size, char **path);
	void (*end)(void *client);
};

static void *load(struct debuginfod *debuginfod)
{
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return NULL;
	*(void **)&debuginfod->begin = dlsym(library, "debuginfod_begin");
	*(void **)&debuginfod->find = dlsym(library, "debuginfod_find_debuginfo");
	*(void **)&debuginfod->end = dlsym(library, "debuginfod_end");
	if (debuginfod->begin && debuginfod->find && debuginfod->end)
		return library;
	dlclose(library);
	return NULL;
}

/* A size of 0 says that the build-id is in digits. */
static void ask_servers(const char *wanted, struct xf_debug_file *file)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct debuginfod debuginfod;
	void *library = urls && urls[0] ? load(&debuginfod) : NULL;
	void *client = library ? debuginfod.begin() : NULL;
	char *path = NULL;
	int fd = client ? debuginfod.find(client, (const unsigned char *)wanted, 0, &path) : -1;

	if (fd >= 0) {
		try_files(path, wanted, file);
		close(fd);
	}
	free(path);
	if (client)
		debuginfod.end(client);
	if (library)
		dlclose(library);
}

/* ---- Both ------------------------------------------------------------------------------------ */

void xf_debug_file_find(const struct xf_input *recording, bool ask, struct xf_debug_file *file)
{
	const char *wanted = wanted_build_id(recording);

	*file = (struct xf_debug_file){0};
	if (wanted && !find_here(wanted, file) && ask)
		ask_servers(wanted, file);
}

int xf_debug_file_refuse(const struct xf_input *recording)
{
	const char *wanted = wanted_build_id(recording);

	return xf_complain(XF_EXIT_INPUT,
	                   "%s: there is no debug info here of its Xen, whose build-id is %s;"
	                   " install Xen's debug package, set DEBUGINFOD_URLS, or name the file"
	                   " with --debug-file FILE",
	                   recording->path, wanted ? wanted : "not recorded");
}
