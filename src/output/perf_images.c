// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/perf_images.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hex.h"
#include "profile/guest_code.h"

#define PAGE 4096ull

/* Where Debian's xen-syms have Xen's code too: perf finds the same with one of those. */
#define XEN_CODE_OFFSET 0x8000u

/* What has no address gets one behind that of XF_PERF_TOO_DEEP, by its frame's number. */
#define MADE_UP_BYTES 256u

#define UNUSED UINT32_MAX

struct maker {
	const struct xf_recording *recording;
	const struct xf_profile *profile;
	struct xf_perf_images *made;
	uint32_t *of_code;   /* image of a number of guest_code.h's; UNUSED: none yet */
	uint32_t *of_frames; /* image of each frame; UNUSED: none */
	struct xf_symbols *kernel_symbols[XF_MAX_KERNELS];
	size_t room; /* for symbols */
};

/* ---- Images ---------------------------------------------------------------------------------- */

static struct xf_perf_image *add_image(struct maker *maker, const char *name)
{
	struct xf_perf_images *made = maker->made;
	struct xf_perf_image *grown =
	        reallocarray(made->images, made->nr + 1, sizeof(*made->images));
	struct xf_perf_image *image;

	if (!grown)
		return NULL;
	made->images = grown;
	image = &grown[made->nr];
	*image = (struct xf_perf_image){.name = strdup(name)};
	if (!image->name)
		return NULL;
	made->nr++;
	return image;
}

/* perf takes no longer ones, and nobody makes shorter ones. */
static bool is_good(size_t build_id_size)
{
	return build_id_size >= 8 && build_id_size <= XF_PERF_BUILD_ID_BYTES;
}

/* Leaves it at none where @text is no build-id that perf could take. */
static void take_build_id(struct xf_perf_image *image, const char *text)
{
	size_t size = strlen(text) / 2;

	if (strlen(text) % 2 || !is_good(size))
		return;
	for (size_t i = 0; i < size; i++) {
		int high = xf_hex_digit(text[2 * i]);
		int low = xf_hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return;
		image->build_id[i] = (uint8_t)(high << 4 | low);
	}
	image->build_id_size = size;
}

static void take_code(struct xf_perf_image *image, const struct xf_code *code, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		uint64_t skipped = image->start - code[i].address;

		if (skipped >= code[i].size)
			continue;
		image->code = code[i].bytes + skipped;
		image->code_size = code[i].size - skipped;
		if (image->code_size > image->size)
			image->code_size = image->size;
		return;
	}
}

/* Xen's, and its live patches': the first ones, with the profile's numbers. */
static int add_xen(struct maker *maker)
{
	const struct xf_profile *profile = maker->profile;
	size_t nr_code;
	const struct xf_code *code = xf_recording_code(maker->recording, &nr_code);

	for (size_t i = 0; i < profile->nr_images; i++) {
		const struct xf_profile_image *known = &profile->images[i];
		struct xf_perf_image *image = add_image(maker, known->name);

		if (!image)
			return -ENOMEM;
		image->start = image->address = known->start;
		image->size = known->end > known->start ? known->end - known->start : 0;
		image->offset = XEN_CODE_OFFSET;
		take_build_id(image, known->build_id);
		take_code(image, code, nr_code);
	}
	return 0;
}

/* perf takes these for memory without a file, whatever else is told of them. */
static bool is_special(const char *path)
{
	static const char *const special[] = {"[",         "//",    "/anon_hugepage",
	                                      "/dev/zero", "/SYSV", "/memfd:"};

	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
		if (strncmp(path, special[i], strlen(special[i])) == 0)
			return true;
	}
	return !path[0];
}

/* Of several files with one build-id, at whatever paths, there is one image. */
static uint32_t find_build_id(const struct maker *maker, const struct xf_process_file *file)
{
	for (size_t i = maker->profile->nr_images; file->build_id_size && i < maker->made->nr;
	     i++) {
		const struct xf_perf_image *image = &maker->made->images[i];

		if (image->build_id_size == file->build_id_size &&
		    memcmp(image->build_id, file->build_id, file->build_id_size) == 0)
			return (uint32_t)i;
	}
	return UNUSED;
}

static int add_file(struct maker *maker, uint32_t number, uint32_t *index)
{
	const struct xf_process_file *file =
	        xf_process_events_file(xf_recording_processes(maker->recording), number);
	struct xf_perf_image *image;
	char *name = NULL;

	if (!file)
		return 0;
	*index = find_build_id(maker, file);
	if (*index != UNUSED)
		return 0;
	if (asprintf(&name, "%s%s", is_special(file->path) ? "mapped " : "", file->path) < 0)
		return -ENOMEM;
	*index = (uint32_t)maker->made->nr;
	image = add_image(maker, name);
	free(name);
	if (!image)
		return -ENOMEM;
	if (is_good(file->build_id_size)) {
		memcpy(image->build_id, file->build_id, file->build_id_size);
		image->build_id_size = file->build_id_size;
	}
	return 0;
}

/* Return: 0 and *@index; UNUSED where the recording does not know that code. -ENOMEM. */
static int find_guest(struct maker *maker, uint32_t code, uint32_t *index)
{
	const struct xf_kernels *kernels = xf_recording_kernels(maker->recording);
	int error = 0;

	*index = maker->of_code[code];
	if (*index != UNUSED)
		return 0;
	if (code >= XF_GUEST_CODE_FILES) {
		error = add_file(maker, code - XF_GUEST_CODE_FILES, index);
	} else if (code - 1 < kernels->nr) {
		*index = (uint32_t)maker->made->nr;
		if (!add_image(maker, kernels->kernels[code - 1].name))
			return -ENOMEM;
	}
	if (error || *index == UNUSED)
		return error;
	maker->of_code[code] = *index;
	if (!maker->made->images[*index].guest_code)
		maker->made->images[*index].guest_code = code;
	return 0;
}

/* ---- Symbols --------------------------------------------------------------------------------- */

static int add_symbol(struct maker *maker, const struct xf_perf_symbol *symbol)
{
	struct xf_perf_images *made = maker->made;

	if (!xf_make_room(&made->symbols, made->nr_symbols, &maker->room, sizeof(*made->symbols)))
		return -ENOMEM;
	made->symbols[made->nr_symbols++] = *symbol;
	return 0;
}

/* All of Xen's: perf names the targets of calls too. */
static int add_xen_symbols(struct maker *maker, uint32_t index)
{
	const struct xf_perf_image image = maker->made->images[index];
	const struct xf_symbols *symbols = maker->profile->symbols;
	int code = 0;

	for (size_t i = xf_symbols_first(symbols, image.start);
	     !code && i < xf_symbols_count(symbols); i++) {
		const struct xf_symbol *symbol = xf_symbols_at(symbols, i);
		uint64_t left = image.start + image.size - symbol->address;
		uint64_t extent = xf_symbols_extent(symbols, i);

		if (symbol->address - image.start >= image.size)
			break;
		if (symbol->name[0] && xf_symbols_find(symbols, symbol->address) == symbol)
			code = add_symbol(maker, &(struct xf_perf_symbol){
			                                 .start = symbol->address,
			                                 .end = symbol->address +
			                                        (extent < left ? extent : left),
			                                 .name = symbol->name,
			                                 .image = index});
	}
	return code;
}

/* Where the function of a kernel's frame begins; @offset where that is not known. */
static int find_kernel_start(struct maker *maker, size_t kernel, uint64_t offset, uint64_t *start)
{
	struct xf_symbols **symbols = &maker->kernel_symbols[kernel];
	const struct xf_symbol *symbol;

	if (!*symbols)
		*symbols = xf_kernels_symbols(
		        &xf_recording_kernels(maker->recording)->kernels[kernel]);
	if (!*symbols)
		return -ENOMEM;
	symbol = xf_symbols_find(*symbols, XF_GUEST_CODE_KERNEL_HALF | offset);
	*start = symbol && symbol->address >= XF_GUEST_CODE_KERNEL_HALF
	                 ? xf_guest_code_offset(symbol->address)
	                 : offset;
	return 0;
}

static void find_user_start(const struct maker *maker, uint32_t number, uint64_t offset,
                            uint64_t *start)
{
	const struct xf_user_place *place =
	        xf_user_code_find(xf_recording_user_code(maker->recording), number, 0, offset);

	*start = place && place->name[0] && place->start <= offset ? place->start : offset;
}

/* A function covers no more than what is seen of it: more is not known of all. */
static int add_guest_frame(struct maker *maker, uint32_t frame, uint64_t address)
{
	const struct xf_calltree *tree = maker->profile->tree;
	uint32_t code = xf_guest_code_at(address);
	uint64_t offset = xf_guest_code_offset(address);
	uint64_t start = offset;
	uint32_t index;
	uint64_t base;
	int error = find_guest(maker, code, &index);

	if (error || index == UNUSED)
		return error;
	if (code < XF_GUEST_CODE_FILES)
		error = find_kernel_start(maker, code - 1, offset, &start);
	else
		find_user_start(maker, code - XF_GUEST_CODE_FILES, offset, &start);
	base = (uint64_t)maker->made->images[index].guest_code << XF_GUEST_CODE_BITS;
	maker->made->addresses[frame] = base | offset;
	maker->of_frames[frame] = index;
	if (error)
		return error;
	return add_symbol(maker,
	                  &(struct xf_perf_symbol){
	                          .start = base | start,
	                          .end = (base | offset) + 1,
	                          .name = xf_calltree_name(tree, (struct xf_frame_id){frame}),
	                          .image = index});
}

static int add_xen_frame(struct maker *maker, uint32_t frame, uint64_t address)
{
	const struct xf_profile *profile = maker->profile;
	const struct xf_profile_image *image = xf_profile_image(profile, address);

	if (!image)
		return 0;
	maker->made->addresses[frame] = address;
	maker->of_frames[frame] = (uint32_t)(image - profile->images);
	if (xf_symbols_find(profile->symbols, address))
		return 0;
	return add_symbol(
	        maker, &(struct xf_perf_symbol){
	                       .start = address,
	                       .end = address + 1,
	                       .name = xf_calltree_name(profile->tree, (struct xf_frame_id){frame}),
	                       .image = maker->of_frames[frame]});
}

static int add_frames(struct maker *maker)
{
	const struct xf_calltree *tree = maker->profile->tree;
	int code = 0;

	for (uint32_t i = 1; !code && i < xf_calltree_nr_frames(tree); i++) {
		enum xf_frame_kind kind = xf_calltree_kind(tree, (struct xf_frame_id){i});
		uint64_t address = xf_calltree_address(tree, (struct xf_frame_id){i});

		maker->of_frames[i] = UNUSED;
		if (!address)
			continue;
		if (kind == XF_FRAME_KERNEL || kind == XF_FRAME_USER)
			code = add_guest_frame(maker, i, address);
		else
			code = add_xen_frame(maker, i, address);
	}
	return code;
}

/* ---- Order ----------------------------------------------------------------------------------- */

static int compare_symbols(const void *left, const void *right)
{
	const struct xf_perf_symbol *a = left;
	const struct xf_perf_symbol *b = right;

	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Each address once, and none that reaches into the next. */
static void tidy_symbols(struct xf_perf_images *made)
{
	size_t kept = 0;

	if (made->nr_symbols)
		qsort(made->symbols, made->nr_symbols, sizeof(*made->symbols), compare_symbols);
	for (size_t i = 0; i < made->nr_symbols; i++) {
		struct xf_perf_symbol *symbol = &made->symbols[i];
		struct xf_perf_symbol *last = kept ? &made->symbols[kept - 1] : NULL;

		if (last && last->image == symbol->image && last->start == symbol->start) {
			last->end = symbol->end > last->end ? symbol->end : last->end;
			continue;
		}
		if (last && last->image == symbol->image && last->end > symbol->start)
			last->end = symbol->start;
		made->symbols[kept++] = *symbol;
	}
	made->nr_symbols = kept;
}

static void hand_out_symbols(struct xf_perf_images *made)
{
	for (size_t i = 0; i < made->nr_symbols; i++) {
		struct xf_perf_image *image = &made->images[made->symbols[i].image];

		if (!image->nr_symbols++)
			image->symbols = &made->symbols[i];
	}
}

/* Whole pages around what is seen of it. */
static void place_guest(struct xf_perf_image *image)
{
	uint64_t end;

	if (!image->nr_symbols)
		return;
	image->start = image->symbols[0].start & ~(PAGE - 1);
	end = image->symbols[image->nr_symbols - 1].end;
	image->size = ((end + PAGE - 1) & ~(PAGE - 1)) - image->start;
	image->address = image->offset = xf_guest_code_offset(image->start);
	if (image->guest_code < XF_GUEST_CODE_FILES) {
		image->address |= XF_GUEST_CODE_KERNEL_HALF;
		image->offset = PAGE;
	}
}

/* Return: whether perf will show the frame's own name for its address. */
static bool is_named(const struct maker *maker, uint32_t frame)
{
	const struct xf_perf_image *image;
	uint64_t address = maker->made->addresses[frame];
	size_t low = 0, high;

	if (maker->of_frames[frame] == UNUSED)
		return false;
	image = &maker->made->images[maker->of_frames[frame]];
	for (high = image->nr_symbols; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (image->symbols[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < image->symbols[low - 1].end &&
	       strcmp(image->symbols[low - 1].name,
	              xf_calltree_name(maker->profile->tree, (struct xf_frame_id){frame})) == 0;
}

/* What is in no code that is known lies in an image of its own, the last one. */
static int add_made_up(struct maker *maker)
{
	struct xf_perf_images *made = maker->made;
	const struct xf_calltree *tree = maker->profile->tree;
	uint32_t nr = (uint32_t)xf_calltree_nr_frames(tree);
	uint32_t index = (uint32_t)made->nr;
	struct xf_perf_image *image = add_image(maker, "xenflame");
	int code = image ? 0 : -ENOMEM;

	if (code)
		return code;
	image->start = image->address = XF_PERF_TOO_DEEP;
	image->offset = PAGE;
	image->size = (uint64_t)nr * MADE_UP_BYTES;
	for (uint32_t i = 1; i < nr; i++) {
		if (!is_named(maker, i))
			made->addresses[i] = 0;
	}
	/* From here on the symbols may move. */
	for (uint32_t i = 0; !code && i < nr; i++) {
		struct xf_perf_symbol symbol = {
		        .start = XF_PERF_TOO_DEEP + (uint64_t)i * MADE_UP_BYTES,
		        .name = i ? xf_calltree_name(tree, (struct xf_frame_id){i})
		                  : XF_PERF_TOO_DEEP_NAME,
		        .image = index};

		if (made->addresses[i])
			continue;
		symbol.end = symbol.start + MADE_UP_BYTES;
		made->addresses[i] = symbol.start;
		code = add_symbol(maker, &symbol);
	}
	return code;
}

/* ---- Names and build-ids ----------------------------------------------------------------------
 */

static uint64_t hash(uint64_t seed, const void *bytes, size_t size)
{
	const uint8_t *byte = bytes;

	for (size_t i = 0; i < size; i++)
		seed = (seed ^ byte[i]) * 0x100000001b3ull;
	return seed;
}

/* Begins with a word, so that people see what it is. The same for the same object. */
static void make_up_build_id(struct xf_perf_image *image)
{
	uint64_t sum = hash(0xcbf29ce484222325ull, image->name, strlen(image->name));
	uint32_t again;

	if (image->code_size)
		sum = hash(sum, image->code, image->code_size);
	for (size_t i = 0; i < image->nr_symbols; i++) {
		sum = hash(sum, &image->symbols[i].start, sizeof(image->symbols[i].start));
		sum = hash(sum, &image->symbols[i].end, sizeof(image->symbols[i].end));
		sum = hash(sum, image->symbols[i].name, strlen(image->symbols[i].name) + 1);
	}
	again = (uint32_t)(hash(sum, &sum, sizeof(sum)) >> 32);
	memcpy(image->build_id, "xenflame", 8);
	memcpy(image->build_id + 8, &sum, 8);
	memcpy(image->build_id + 16, &again, 4);
	image->build_id_size = XF_PERF_BUILD_ID_BYTES;
}

const char *xf_perf_build_id_text(const struct xf_perf_image *image,
                                  char text[2 * XF_PERF_BUILD_ID_BYTES + 1])
{
	text[0] = 0;
	for (size_t i = 0; i < image->build_id_size; i++)
		snprintf(text + 2 * i, 3, "%02x", image->build_id[i]);
	return text;
}

static int compare_names(const void *left, const void *right)
{
	return strcmp((*(struct xf_perf_image *const *)left)->name,
	              (*(struct xf_perf_image *const *)right)->name);
}

/* perf tells files apart by their names: of two with one name, the second one's build-id tells. */
static int tell_apart(struct xf_perf_images *made)
{
	struct xf_perf_image **sorted = calloc(made->nr + 1, sizeof(struct xf_perf_image *));
	int code = sorted ? 0 : -ENOMEM;

	for (size_t i = 0; sorted && i < made->nr; i++)
		sorted[i] = &made->images[i];
	if (sorted)
		qsort(sorted, made->nr, sizeof(struct xf_perf_image *), compare_names);
	for (size_t i = 1; !code && i < made->nr; i++) {
		char text[2 * XF_PERF_BUILD_ID_BYTES + 1];
		char *name;

		if (strcmp(sorted[i]->name, sorted[i - 1]->name) != 0)
			continue;
		if (asprintf(&name, "%s (%s)", sorted[i - 1]->name,
		             xf_perf_build_id_text(sorted[i - 1], text)) < 0) {
			code = -ENOMEM;
			break;
		}
		free(sorted[i - 1]->name);
		sorted[i - 1]->name = name;
	}
	free(sorted);
	return code;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static int collect(struct maker *maker)
{
	int code = add_xen(maker);

	for (uint32_t i = 0; !code && i < maker->profile->nr_images; i++)
		code = add_xen_symbols(maker, i);
	if (!code)
		code = add_frames(maker);
	if (code)
		return code;
	tidy_symbols(maker->made);
	hand_out_symbols(maker->made);
	code = add_made_up(maker);
	for (size_t i = 0; i < maker->made->nr; i++)
		maker->made->images[i].nr_symbols = 0;
	hand_out_symbols(maker->made);
	return code;
}

static int make(struct maker *maker)
{
	struct xf_perf_images *made = maker->made;
	int code = collect(maker);

	for (size_t i = 0; !code && i < made->nr; i++) {
		if (made->images[i].guest_code)
			place_guest(&made->images[i]);
		if (!made->images[i].build_id_size)
			make_up_build_id(&made->images[i]);
	}
	return code ? code : tell_apart(made);
}

int xf_perf_images_make(const struct xf_recording *recording, const struct xf_profile *profile,
                        struct xf_perf_images *images)
{
	size_t nr = xf_calltree_nr_frames(profile->tree);
	struct maker maker = {.recording = recording,
	                      .profile = profile,
	                      .made = images,
	                      .of_code = malloc(XF_GUEST_CODE_FILES_END * sizeof(*maker.of_code)),
	                      .of_frames = calloc(nr, sizeof(*maker.of_frames))};
	int code = -ENOMEM;

	*images = (struct xf_perf_images){.addresses = calloc(nr, sizeof(*images->addresses))};
	if (maker.of_code && maker.of_frames && images->addresses) {
		memset(maker.of_code, 0xff, XF_GUEST_CODE_FILES_END * sizeof(*maker.of_code));
		code = make(&maker);
	}
	for (size_t i = 0; i < XF_MAX_KERNELS; i++)
		xf_symbols_free(maker.kernel_symbols[i]);
	free(maker.of_code);
	free(maker.of_frames);
	return code;
}

void xf_perf_images_free(struct xf_perf_images *images)
{
	for (size_t i = 0; i < images->nr; i++)
		free(images->images[i].name);
	free(images->images);
	free(images->addresses);
	free(images->symbols);
	*images = (struct xf_perf_images){0};
}
