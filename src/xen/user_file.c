// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/user_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "symbol/symbols.h"
#include "unwind/cfi.h"
#include "unwind/elf.h"

#define FILE_MAX   ((off_t)1 << 30)
#define PATH_BYTES 4200u

/* A file in memory. */
struct image {
	const void *bytes;
	size_t size;
	void *mapped; /* where they are to be unmapped; else NULL */
	struct xf_elf elf;
	bool opened; /* @elf is to be closed */
};

struct xf_user_file {
	struct image image;
	struct xf_cfi *cfi; /* NULL: it has none */
	struct xf_symbols *symbols;
};

/* ---- Build-ids ------------------------------------------------------------------------------- */

static size_t read_file(void *context, uint64_t offset, void *to, size_t size)
{
	const int *fd = context;
	ssize_t got = pread(*fd, to, size, (off_t)offset);

	return got < 0 ? 0 : (size_t)got;
}

size_t xf_user_file_build_id(int fd, uint8_t build_id[XF_BUILD_ID_MAX])
{
	return xf_file_build_id(read_file, &fd, build_id);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static bool has_build_id(int fd, const struct xf_user_file_wanted *wanted)
{
	uint8_t build_id[XF_BUILD_ID_MAX];
	size_t size = xf_user_file_build_id(fd, build_id);

	return size && size == wanted->build_id_size &&
	       memcmp(build_id, wanted->build_id, size) == 0;
}

/* Opens what @place, which was opened with O_PATH and is closed, stands for, if it is a file with
 * content: to open a device may do something, and the path is somebody else's choice. Return: -1
 * where it is not. */
static int open_content(int place)
{
	struct stat status;
	char path[64];
	int fd = -1;

	if (place < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	if (fstat(place, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	close(place);
	return fd;
}

/* A file of that path may be another one by now: its build-id tells. Return: -1 where it is not to
 * be had. */
static int open_if_wanted(int place, const struct xf_user_file_wanted *wanted)
{
	int fd = open_content(place);

	if (fd >= 0 && !has_build_id(fd, wanted)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int open_path(const char *path, const struct xf_user_file_wanted *wanted)
{
	return wanted->build_id_size ? open_if_wanted(open(path, O_PATH | O_CLOEXEC), wanted) : -1;
}

/* Without a build-id: the file that the process has there now has the same path at least. */
static int open_mapped(const char *path, const struct xf_user_file_wanted *wanted)
{
	char target[PATH_BYTES];
	ssize_t size;

	if (wanted->build_id_size)
		return open_path(path, wanted);
	size = readlink(path, target, sizeof(target) - 1);
	target[size < 0 ? 0 : size] = '\0';
	return strcmp(target, wanted->path) == 0 ? open_content(open(path, O_PATH | O_CLOEXEC))
	                                         : -1;
}

/* While the process is there the kernel leads to the very file that it has mapped, wherever and
 * whether that still has a name. Its number may be another's by now. */
static int open_own(const struct xf_user_file_wanted *wanted)
{
	char path[PATH_BYTES];
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root%s", wanted->pid, wanted->path);
	fd = open_path(path, wanted);
	if (fd < 0)
		fd = open_path(wanted->path, wanted);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64,
	         wanted->pid, wanted->map_address, wanted->map_address + wanted->map_size);
	return open_mapped(path, wanted);
}

/* Return: whether @path has a step that is "..". */
static bool leads_up(const char *path)
{
	for (const char *step = path; step; step = strchr(step, '/')) {
		step += strspn(step, "/");
		if (strncmp(step, "..", 2) == 0 && (step[2] == '/' || !step[2]))
			return true;
	}
	return false;
}

/* Links in it lead to what they mean to the guest. Linux before 5.6 can't do that: there they must
 * not matter. Return: opened with O_PATH; -1. */
static int open_in_root(const char *root, const char *path)
{
	const struct open_how how = {.flags = O_PATH | O_CLOEXEC,
	                             .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	int directory = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), place;
	char whole[PATH_BYTES];

	if (directory < 0)
		return -1;
	place = (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
	if (place < 0 && errno == ENOSYS && !leads_up(path) &&
	    (size_t)snprintf(whole, sizeof(whole), "%s%s", root, path) < sizeof(whole))
		place = open(whole, O_PATH | O_CLOEXEC);
	close(directory);
	return place;
}

/* Return: whether @place is where files are the kernel's own: to read some of them does something,
 * and no program lies there. */
static bool is_kernels(int place)
{
	static const char *const directories[] = {"/proc/", "/sys/", "/dev/"};
	char link[64], path[PATH_BYTES];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	size = readlink(link, path, sizeof(path) - 1);
	if (size < 0)
		return true;
	path[size] = '\0';
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
		if (strncmp(path, directories[i], strlen(directories[i])) == 0)
			return true;
	return false;
}

/* Dom0's own file of the path that a guest has chosen. */
static int open_same_path(const struct xf_user_file_wanted *wanted)
{
	int place = open_in_root("/", wanted->path);

	if (place >= 0 && is_kernels(place)) {
		close(place);
		return -1;
	}
	return open_if_wanted(place, wanted);
}

/* Of another domain's process: out of that domain's files, or dom0's own, which may be the same. */
static int open_guests(const struct xf_user_file_wanted *wanted)
{
	int fd = -1;

	if (!wanted->build_id_size || wanted->path[0] != '/' || leads_up(wanted->path))
		return -1;
	if (wanted->root)
		fd = open_if_wanted(open_in_root(wanted->root, wanted->path), wanted);
	return fd < 0 ? open_same_path(wanted) : fd;
}

/* Who cuts the file off meanwhile ends us by a signal: this is not for the recorder's own process.
 */
static bool map_file(int fd, struct image *image)
{
	struct stat status;
	void *mapped;

	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0 ||
	    status.st_size > FILE_MAX)
		return false;
	mapped = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (mapped == MAP_FAILED)
		return false;
	image->mapped = mapped;
	image->bytes = mapped;
	image->size = (size_t)status.st_size;
	return true;
}

/* The kernel maps the same one into each process, ours too. */
static bool find_vdso(struct image *image)
{
	const Elf64_Ehdr *head = (const void *)getauxval(AT_SYSINFO_EHDR); // NOLINT

	if (!head)
		return false;
	image->bytes = head;
	image->size = head->e_shoff + (size_t)head->e_shnum * head->e_shentsize;
	return true;
}

static bool open_image(const struct xf_user_file_wanted *wanted, struct image *image)
{
	bool have;
	int fd;

	*image = (struct image){0};
	if (!wanted->in_guest && strcmp(wanted->path, "[vdso]") == 0) {
		have = find_vdso(image);
	} else {
		fd = wanted->in_guest ? open_guests(wanted) : open_own(wanted);
		have = fd >= 0 && map_file(fd, image);
		if (fd >= 0)
			close(fd);
	}
	image->opened = have;
	return have && xf_elf_open(image->bytes, image->size, &image->elf, NULL) == 0;
}

static void close_image(struct image *image)
{
	if (image->opened)
		xf_elf_close(&image->elf);
	if (image->mapped)
		munmap(image->mapped, image->size);
}

/* ---- Names ----------------------------------------------------------------------------------- */

static bool is_function(const GElf_Sym *symbol)
{
	unsigned int type = GELF_ST_TYPE(symbol->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF &&
	       symbol->st_value;
}

/* Any number of symbols may have the same bytes as their names, and any number of tables as their
 * symbols: together they are no more than the file. *@left: bytes of names. */
static void add_symbols(Elf *elf, Elf_Scn *section, size_t strings, struct xf_symbols *symbols,
                        size_t *left)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *name = elf_strptr(elf, strings, symbol.st_name);
		bool global = GELF_ST_BIND(symbol.st_info) != STB_LOCAL;
		size_t size = name ? strnlen(name, *left) : 0;

		if (size == *left)
			return;
		*left -= size;
		if (is_function(&symbol) && size)
			xf_symbols_add(symbols, symbol.st_value, symbol.st_size, global ? 'T' : 't',
			               name);
	}
}

/* All that the file names. What has no size ends with its section at the latest. */
static void read_symbols(const struct image *image, struct xf_symbols *symbols)
{
	size_t names = image->size, strings;
	uint64_t left = image->size;
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(image->elf.elf, section))) {
		if (xf_elf_take_symbols(image->elf.elf, section, &left, &strings))
			add_symbols(image->elf.elf, section, strings, symbols, &names);
		if (gelf_getshdr(section, &header) && header.sh_flags & SHF_EXECINSTR)
			xf_symbols_add(symbols, header.sh_addr + header.sh_size, 0, '?', "");
	}
}

/* What only those for debuggers do: where Debian and others put what they strip of a file with that
 * build-id. */
static void read_debug_symbols(const struct xf_user_file_wanted *wanted, struct xf_symbols *symbols)
{
	char path[PATH_BYTES] = "/usr/lib/debug/.build-id/";
	size_t used = strlen(path);
	struct image image = {0};
	int fd;

	for (size_t i = 0; i < wanted->build_id_size; i++)
		used += (size_t)snprintf(path + used, sizeof(path) - used, "%02x%s",
		                         wanted->build_id[i], i ? "" : "/");
	snprintf(path + used, sizeof(path) - used, ".debug");
	fd = open_path(path, wanted);
	image.opened = fd >= 0 && map_file(fd, &image);
	/* Such a file has no code, and is refused for that; its symbols are there all the same. */
	if (image.opened)
		xf_elf_open(image.bytes, image.size, &image.elf, NULL);
	if (image.elf.elf)
		read_symbols(&image, symbols);
	close_image(&image);
	if (fd >= 0)
		close(fd);
}

/* ---- The whole ------------------------------------------------------------------------------- */

struct xf_user_file *xf_user_file_open(const struct xf_user_file_wanted *wanted)
{
	struct xf_user_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->symbols = xf_symbols_new();
	if (!file->symbols || !open_image(wanted, &file->image)) {
		xf_user_file_close(file);
		return NULL;
	}
	read_symbols(&file->image, file->symbols);
	read_debug_symbols(wanted, file->symbols);
	xf_symbols_finish(file->symbols);
	if (xf_cfi_open(&file->image.elf, XF_CFI_EH_FRAME, &file->cfi) != 0)
		file->cfi = NULL;
	return file;
}

void xf_user_file_close(struct xf_user_file *file)
{
	if (!file)
		return;
	xf_cfi_close(file->cfi);
	xf_symbols_free(file->symbols);
	close_image(&file->image);
	free(file);
}

/* Return: whether @offset in the file is loaded, and at which address of the file's own, which is
 * *@distance more. */
static bool find_segment(const struct xf_user_file *file, uint64_t offset, uint64_t *distance)
{
	GElf_Phdr header;
	size_t nr = 0;

	if (elf_getphdrnum(file->image.elf.elf, &nr) != 0)
		return false;
	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(file->image.elf.elf, (int)i, &header) ||
		    header.p_type != PT_LOAD || offset < header.p_offset ||
		    offset - header.p_offset >= header.p_filesz)
			continue;
		*distance = header.p_vaddr - header.p_offset;
		return true;
	}
	return false;
}

void xf_user_file_find(const struct xf_user_file *file, uint64_t offset,
                       struct xf_user_file_place *place)
{
	const struct xf_symbol *symbol;
	uint64_t distance;

	*place = (struct xf_user_file_place){
	        .name = "", .row = {.kind = XF_ROW_UNDEFINED, .reason = XF_UNWIND_NO_ROW}};
	if (!find_segment(file, offset, &distance))
		return;
	symbol = xf_symbols_find(file->symbols, offset + distance);
	if (symbol) {
		place->name = symbol->name;
		place->start = symbol->address - distance;
	}
	if (file->cfi)
		place->row = xf_cfi_row(file->cfi, offset + distance);
}
