// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/record_guest_kernels.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/record_kernel.h"
#include "xen/guests.h"
#include "xen/libxl_config.h"

#define OPTION "--guest-kernel"

/* Where somebody looks on: so many words are looked at first, each time twice as many until they
 * prove the kernel, or are so many that they are another one's or those of one that is starting. In
 * either case all is begun anew. */
#define FIRST_WORDS 32u
#define MOST_WORDS  1024u
/* Of a kernel that is proven, fewer new words are looked at after so many turns. */
#define NEW_WORDS   16u

/* It is looked so often for the kernel of a domain that was seen when it was still being made. */
#define LOOKS 10u

static void tell(const struct xf_record_guest_kernels *kernels, bool important, const char *format,
                 ...) __attribute__((format(printf, 3, 4)));

static void tell(const struct xf_record_guest_kernels *kernels, bool important, const char *format,
                 ...)
{
	char text[1536];
	va_list arguments;

	if (!kernels->tell)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	kernels->tell(kernels->context, important, text);
}

/* ---- What is asked for ----------------------------------------------------------------------- */

static size_t name_size(const char *request)
{
	return strcspn(request, "=");
}

int xf_record_guest_kernels_request(struct xf_record_guest_kernels *kernels, const char *text,
                                    struct xf_error *error)
{
	size_t size = name_size(text);

	if (size == 0 || text[size] != '=' || text[size + 1] == '\0')
		return xf_fail(error, -EINVAL,
		               OPTION " wants NAME=IMAGE, a domain's name or domid and the file of "
		                      "its kernel, not '%.200s'",
		               text);
	if (kernels->nr_requests == XF_MOST_GUEST_REQUESTS)
		return xf_fail(error, -EINVAL, OPTION " can be given at most %u times",
		               XF_MOST_GUEST_REQUESTS);
	kernels->requests[kernels->nr_requests++] = text;
	return 0;
}

/* Return: the image that is asked for by the name of @domain, or, at the @first look, by its
 * number; NULL: none is. */
static const char *find_request(const struct xf_record_guest_kernels *kernels,
                                const struct xf_domain *domain, bool first)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", domain->domid);
	for (size_t i = 0; i < kernels->nr_requests; i++) {
		const char *request = kernels->requests[i];
		size_t size = name_size(request);

		if (strlen(domain->name) == size && memcmp(request, domain->name, size) == 0)
			return request + size + 1;
		if (first && strlen(number) == size && memcmp(request, number, size) == 0)
			return request + size + 1;
	}
	return NULL;
}

/* ---- Images ---------------------------------------------------------------------------------- */

/* Return: the image at @path, read where @read is set and it has not been; NULL where it has not
 * been, or there are too many. */
static struct xf_guest_kernel_image *find_image(struct xf_record_guest_kernels *kernels,
                                                const char *path, bool read)
{
	struct xf_guest_kernel_image *image;

	for (size_t i = 0; i < kernels->nr_images; i++)
		if (strcmp(kernels->images[i].path, path) == 0)
			return &kernels->images[i];
	if (!read || kernels->nr_images == XF_MOST_GUEST_IMAGES)
		return NULL;
	image = &kernels->images[kernels->nr_images];
	image->path = strdup(path);
	if (!image->path)
		return NULL;
	kernels->nr_images++;
	xf_guest_image_read(path, &image->image, &image->why_not);
	return image;
}

static int check_request(struct xf_record_guest_kernels *kernels, const char *request,
                         const struct xf_domain *domains, size_t nr,
                         const struct xf_agent_config *config, struct xf_error *error)
{
	const struct xf_guest_kernel_image *image;
	size_t size = name_size(request);
	int domid = xf_guests_find_other(OPTION, "kernel is read from", request, size, domains, nr,
	                                 config, error);

	if (domid < 0)
		return domid;
	image = find_image(kernels, request + size + 1, true);
	if (!image)
		return xf_fail(error, -EINVAL, OPTION " takes at most %u different images",
		               XF_MOST_GUEST_IMAGES);
	if (image->why_not.code)
		return xf_fail(error, image->why_not.code == -ENOMEM ? -ENOMEM : -EINVAL,
		               OPTION ": %s", image->why_not.text);
	return 0;
}

int xf_record_guest_kernels_check(struct xf_record_guest_kernels *kernels,
                                  const struct xf_domain *domains, size_t nr,
                                  const struct xf_agent_config *config, struct xf_error *error)
{
	int code = 0;

	for (size_t i = 0; !code && i < kernels->nr_requests; i++)
		code = check_request(kernels, kernels->requests[i], domains, nr, config, error);
	return code;
}

/* ---- Domains --------------------------------------------------------------------------------- */

static bool is_or_becomes(const char *before, const char *now)
{
	return !before[0] || strcmp(before, now) == 0;
}

/* While the toolstack makes a domain, what there is to know of it comes by and by. */
static bool is_same(const struct xf_domain *before, const struct xf_domain *now)
{
	return before->domid == now->domid && is_or_becomes(before->uuid, now->uuid) &&
	       is_or_becomes(before->started, now->started);
}

/* Return: the domain as it is now, NULL where it is not there any more. */
static const struct xf_domain *find_again(const struct xf_domain *domain,
                                          const struct xf_domain *domains, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (is_same(domain, &domains[i]))
			return &domains[i];
	return NULL;
}

static bool is_tracked(const struct xf_record_guest_kernels *kernels,
                       const struct xf_domain *domain)
{
	for (size_t i = 0; i < kernels->nr_domains; i++)
		if (!kernels->domains[i].gone && is_same(&kernels->domains[i].domain, domain))
			return true;
	return false;
}

/* Finds the image that the domain is said to run, if it is said already. Once the agent is there
 * nothing is read any more: that could take longer than its lease. */
static void choose_image(struct xf_record_guest_kernels *kernels,
                         struct xf_guest_kernel_domain *tracked, bool first)
{
	const struct xf_domain *domain = &tracked->domain;
	const char *wanted = find_request(kernels, domain, first);
	struct xf_guest_kernel_image *image = NULL;
	char path[PATH_MAX];

	if (!wanted && xf_libxl_kernel(NULL, domain->domid, domain->uuid, path, sizeof(path)))
		wanted = path;
	if (!wanted)
		return;
	tracked->chosen = true;
	image = find_image(kernels, wanted, first);
	if (!image)
		tell(kernels, true, "frames of %s's kernel will be without names: %s", domain->name,
		     first ? "there are too many images" : "it came after the recording began");
	else if (image->why_not.code)
		tell(kernels, true, "frames of %s's kernel will be without names: %s", domain->name,
		     image->why_not.text);
	else
		tracked->image = image;
}

static int track(struct xf_record_guest_kernels *kernels, const struct xf_domain *domain,
                 uint64_t before, uint64_t after)
{
	struct xf_guest_kernel_domain *grown =
	        reallocarray(kernels->domains, kernels->nr_domains + 1, sizeof(*kernels->domains));
	struct xf_guest_kernel_domain *tracked;

	if (!grown)
		return -ENOMEM;
	kernels->domains = grown;
	tracked = &grown[kernels->nr_domains++];
	*tracked = (struct xf_guest_kernel_domain){
	        .domain = *domain, .from = after, .until = before, .looks = LOOKS};
	choose_image(kernels, tracked, !kernels->looked);
	return 0;
}

/* One that was there before. */
static void look_again(struct xf_record_guest_kernels *kernels,
                       struct xf_guest_kernel_domain *tracked, const struct xf_domain *domains,
                       size_t nr, uint64_t before)
{
	const struct xf_domain *now = find_again(&tracked->domain, domains, nr);

	tracked->gone = !now;
	if (!now)
		return;
	tracked->domain = *now;
	tracked->until = before;
	if (!tracked->chosen && tracked->looks) {
		tracked->looks--;
		choose_image(kernels, tracked, false);
	}
}

int xf_record_guest_kernels_look(struct xf_record_guest_kernels *kernels,
                                 const struct xf_domain *domains, size_t nr,
                                 const struct xf_agent_config *config, uint64_t before,
                                 uint64_t after)
{
	int code = 0;

	for (size_t i = 0; i < kernels->nr_domains; i++)
		if (!kernels->domains[i].gone)
			look_again(kernels, &kernels->domains[i], domains, nr, before);
	for (size_t i = 0; !code && i < nr; i++)
		if (domains[i].domid != 0 && xf_guests_are_read(config, domains[i].domid) &&
		    !is_tracked(kernels, &domains[i]))
			code = track(kernels, &domains[i], before, after);
	kernels->looked = true;
	return code;
}

/* Return: whether the agent tells which task the domain runs. */
static bool add_task(const struct xf_record_guest_kernels *kernels,
                     const struct xf_guest_kernel_domain *tracked, struct xf_agent_config *config)
{
	const struct xf_kernel *kernel = &tracked->image->image.kernel;
	const char *why_not = NULL;

	if (!kernel->has_task_layout)
		why_not = kernel->no_task_layout.text;
	else if (kernel->task_layout.slides)
		why_not = "since Linux 6.15 its own address says where the current task is, and "
		          "that is not known yet";
	else if (!xf_guests_add_task(config, tracked->domain.domid, &kernel->task_layout))
		why_not = "there are too many domains with a known kernel";
	if (why_not)
		tell(kernels, true, "processes of %s will be without names: %s",
		     tracked->domain.name, why_not);
	return !why_not;
}

static int add_memory(const struct xf_record_guest_kernels *kernels,
                      const struct xf_guest_kernel_domain *tracked,
                      struct xf_record_guest_processes *processes)
{
	const struct xf_kernel *kernel = &tracked->image->image.kernel;
	const struct xf_guest_layouts layouts = {.domid = tracked->domain.domid,
	                                         .task = kernel->task_layout,
	                                         .memory = kernel->memory_layout,
	                                         .has_modules = kernel->has_module_layout,
	                                         .modules = kernel->module_layout};

	if (kernel->has_memory_layout)
		return xf_record_guest_processes_add(processes, &layouts);
	tell(kernels, true, "functions of processes of %s will be without names: %s",
	     tracked->domain.name, kernel->no_memory_layout.text);
	return 0;
}

int xf_record_guest_kernels_add_tasks(const struct xf_record_guest_kernels *kernels,
                                      struct xf_agent_config *config,
                                      struct xf_record_guest_processes *processes)
{
	int code = 0;

	for (size_t i = 0; !code && i < kernels->nr_domains; i++) {
		const struct xf_guest_kernel_domain *tracked = &kernels->domains[i];

		if (tracked->image && add_task(kernels, tracked, config) && processes)
			code = add_memory(kernels, tracked, processes);
	}
	return code;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static struct xf_guest_kernel_domain *find_domain(struct xf_record_guest_kernels *kernels,
                                                  const struct xf_sample *sample)
{
	for (size_t i = 0; i < kernels->nr_domains; i++) {
		struct xf_guest_kernel_domain *tracked = &kernels->domains[i];

		if (tracked->domain.domid == sample->domid && !tracked->gone && tracked->image &&
		    sample->tsc >= tracked->from)
			return tracked;
	}
	return NULL;
}

void xf_record_guest_kernels_take(struct xf_record_guest_kernels *kernels,
                                  const struct xf_sample *sample,
                                  const struct xf_sample_guest *guest)
{
	struct xf_guest_kernel_domain *tracked = guest->nr ? find_domain(kernels, sample) : NULL;

	for (size_t i = 0; tracked && i < guest->nr; i++) {
		const struct xf_guest_stack *stack = guest->stacks[i];
		size_t words = (stack->bytes - XF_GUEST_HEAD_BYTES) / 8;

		if (stack->mode != XF_GUEST_KERNEL)
			break;
		xf_slide_words_add(&tracked->evidence.rips, stack->rip);
		for (size_t j = 0; j < words; j++)
			xf_slide_words_add(&tracked->evidence.words,
			                   XF_WORD_VALUE(stack->words[j]));
	}
}

/* ---- The end --------------------------------------------------------------------------------- */

/* Return: from when on it is not known what has gone runs: of one that was seen only once nothing
 * is. */
static uint64_t end_of(const struct xf_guest_kernel_domain *tracked)
{
	return tracked->until > tracked->from ? tracked->until : tracked->from;
}

/* @number: of the image; @kernel: the same, or that of one upon it. */
static int write_domain(struct xf_recording_writer *writer,
                        const struct xf_guest_kernel_domain *tracked, uint32_t number,
                        uint32_t kernel, uint64_t slide)
{
	struct xf_recording_kernel_of of = {.domid = tracked->domain.domid,
	                                    .kernel = kernel,
	                                    .tsc = tracked->from,
	                                    .slide = slide};
	int code = 0;

	if (!tracked->image->written)
		code = xf_record_kernel_write(writer, &tracked->image->image.kernel, number);
	tracked->image->written = true;
	if (!code)
		code = xf_recording_write_kernel_of(writer, &of);
	of.kernel = XF_NO_KERNEL;
	of.tsc = end_of(tracked);
	of.slide = 0;
	return code || !tracked->gone ? code : xf_recording_write_kernel_of(writer, &of);
}

/* What the domain runs is proven, or is left out and told of. */
static int settle(const struct xf_record_guest_kernels *kernels,
                  struct xf_guest_kernel_domain *tracked)
{
	const struct xf_guest_image *image = &tracked->image->image;
	const char *name = tracked->domain.name;
	struct xf_slide_found found;
	struct xf_error error = {0};
	int code = xf_slide_find(&image->slide, &tracked->evidence, &found, &error);

	if (code) {
		tell(kernels, true, "frames of %s's kernel will be without names (%s): %s", name,
		     tracked->image->path, error.text);
		return code == -ENOMEM ? code : 0;
	}
	tell(kernels, false,
	     "%s runs %s (%s) at slide %#" PRIx64
	     ": of %zu places in its code %zu are behind calls, "
	     "at the next best slide %zu; the odds are 1 to 10^%.0f",
	     name, image->kernel.name, tracked->image->path, found.slide, found.words, found.behind,
	     found.next_best, -found.exponent);
	if (image->kernel.notice.code)
		tell(kernels, true, "%s: %s", tracked->image->path, image->kernel.notice.text);
	tracked->proven = true;
	tracked->slide = found.slide;
	return 0;
}

int xf_record_guest_kernels_prove(struct xf_record_guest_kernels *kernels)
{
	int code = 0;

	for (size_t i = 0; !code && i < kernels->nr_domains; i++)
		if (kernels->domains[i].image)
			code = settle(kernels, &kernels->domains[i]);
	return code;
}

static uint32_t number_of(const struct xf_record_guest_kernels *kernels,
                          const struct xf_guest_kernel_domain *tracked, uint32_t first)
{
	return first + (uint32_t)(tracked->image - kernels->images);
}

/* Those upon images come behind all of these. */
void xf_record_guest_kernels_ask_modules(struct xf_record_guest_kernels *kernels,
                                         struct xf_record_guest_processes *processes,
                                         uint32_t first)
{
	uint32_t next = first + XF_MOST_GUEST_IMAGES;

	for (size_t i = 0; i < kernels->nr_domains; i++) {
		struct xf_guest_kernel_domain *tracked = &kernels->domains[i];
		struct xf_guest_modules_wanted wanted = {.slide = tracked->slide, .kernel = next};

		if (!tracked->proven || tracked->gone || next >= XF_MAX_KERNELS)
			continue;
		wanted.image = number_of(kernels, tracked, first);
		snprintf(wanted.name, sizeof(wanted.name), "%s", tracked->image->image.kernel.name);
		tracked->with_modules = next++;
		xf_record_guest_processes_ask_modules(processes, tracked->domain.domid, wanted);
	}
}

int xf_record_guest_kernels_write(struct xf_record_guest_kernels *kernels,
                                  const struct xf_record_guest_processes *processes,
                                  struct xf_recording_writer *writer, uint32_t first)
{
	int code = 0;

	for (size_t i = 0; !code && i < kernels->nr_domains; i++) {
		const struct xf_guest_kernel_domain *tracked = &kernels->domains[i];
		uint32_t number = tracked->proven ? number_of(kernels, tracked, first) : 0;
		bool modules = processes && tracked->with_modules &&
		               processes->kernels >> tracked->with_modules & 1;

		if (tracked->proven)
			code = write_domain(writer, tracked, number,
			                    modules ? tracked->with_modules : number,
			                    tracked->slide);
	}
	return code;
}

/* ---- Meanwhile, where somebody looks on ------------------------------------------------------ */

int xf_record_guest_kernels_begin(struct xf_record_guest_kernels *kernels,
                                  struct xf_recording_writer *writer, uint32_t first)
{
	int code = 0;

	for (size_t i = 0; !code && i < kernels->nr_images; i++) {
		struct xf_guest_kernel_image *image = &kernels->images[i];

		if (image->why_not.code)
			continue;
		code = xf_record_kernel_write(writer, &image->image.kernel, first + (uint32_t)i);
		image->written = true;
	}
	return code;
}

static void begin_anew(struct xf_guest_kernel_domain *tracked)
{
	xf_slide_words_free(&tracked->evidence.words);
	xf_slide_words_free(&tracked->evidence.rips);
	tracked->enough = FIRST_WORDS;
	tracked->looked_at = 0;
	tracked->turns = 0;
}

static int write_end(struct xf_recording_writer *writer,
                     const struct xf_guest_kernel_domain *tracked)
{
	const struct xf_recording_kernel_of of = {
	        .domid = tracked->domain.domid, .kernel = XF_NO_KERNEL, .tsc = end_of(tracked)};

	return tracked->proven ? xf_recording_write_kernel_of(writer, &of) : 0;
}

/* It does not run the image, or not any more, or not yet. */
static int take_refutation(const struct xf_record_guest_kernels *kernels,
                           struct xf_recording_writer *writer,
                           struct xf_guest_kernel_domain *tracked, const char *why)
{
	int code = write_end(writer, tracked);

	if (tracked->proven || !tracked->told)
		tell(kernels, true, "frames of %s's kernel are without names for now (%s): %s",
		     tracked->domain.name, tracked->image->path, why);
	tracked->told = true;
	tracked->proven = false;
	tracked->from = end_of(tracked);
	begin_anew(tracked);
	return code;
}

static int take_proof(const struct xf_record_guest_kernels *kernels,
                      struct xf_recording_writer *writer, struct xf_guest_kernel_domain *tracked,
                      uint32_t first, uint64_t slide)
{
	uint32_t number = first + (uint32_t)(tracked->image - kernels->images);
	int code = 0;

	if (tracked->proven && tracked->slide != slide)
		return take_refutation(kernels, writer, tracked, "it lies elsewhere by now");
	if (!tracked->proven)
		code = write_domain(writer, tracked, number, number, slide);
	tracked->proven = true;
	tracked->slide = slide;
	return code;
}

/* Return: whether there are so many words of @tracked that they are to be looked at. */
static bool are_enough(struct xf_guest_kernel_domain *tracked)
{
	size_t nr = tracked->evidence.words.nr;

	if (!tracked->image || nr == tracked->looked_at)
		return false;
	tracked->turns++;
	return nr >= (tracked->enough ? tracked->enough : FIRST_WORDS) ||
	       (tracked->proven && tracked->turns >= NEW_WORDS);
}

/* Looks at the words of @tracked where there are enough. */
static int prove(const struct xf_record_guest_kernels *kernels, struct xf_recording_writer *writer,
                 struct xf_guest_kernel_domain *tracked, uint32_t first)
{
	size_t nr = tracked->evidence.words.nr;
	struct xf_slide_found found;
	struct xf_error error = {0};
	int code;

	if (!are_enough(tracked))
		return 0;
	tracked->enough = 2 * nr;
	tracked->looked_at = nr;
	tracked->turns = 0;
	code = xf_slide_find(&tracked->image->image.slide, &tracked->evidence, &found, &error);
	if (code == -EBADMSG && (tracked->proven || nr >= MOST_WORDS))
		return take_refutation(kernels, writer, tracked, error.text);
	if (code)
		return code == -ENOMEM ? code : 0;
	code = take_proof(kernels, writer, tracked, first, found.slide);
	/* Of old words too many would speak for what it no longer runs. */
	begin_anew(tracked);
	tracked->enough = 2 * nr < MOST_WORDS ? 2 * nr : MOST_WORDS;
	return code;
}

int xf_record_guest_kernels_go_on(struct xf_record_guest_kernels *kernels,
                                  struct xf_recording_writer *writer, uint32_t first)
{
	size_t kept = 0;
	int code = 0;

	for (size_t i = 0; i < kernels->nr_domains; i++) {
		struct xf_guest_kernel_domain *tracked = &kernels->domains[i];

		if (!code)
			code = tracked->gone ? write_end(writer, tracked)
			                     : prove(kernels, writer, tracked, first);
		if (tracked->gone)
			begin_anew(tracked);
		else
			kernels->domains[kept++] = *tracked;
	}
	kernels->nr_domains = kept;
	return code;
}

void xf_record_guest_kernels_free(struct xf_record_guest_kernels *kernels)
{
	for (size_t i = 0; i < kernels->nr_images; i++) {
		free(kernels->images[i].path);
		xf_guest_image_free(&kernels->images[i].image);
	}
	for (size_t i = 0; i < kernels->nr_domains; i++)
		begin_anew(&kernels->domains[i]);
	free(kernels->domains);
	*kernels = (struct xf_record_guest_kernels){0};
}
