// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which domain runs which kernel, from the command line to the recording: made-up images and
 * domains that begin, end, are started anew and share numbers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <unistd.h>

#include "cmd/record_guest_kernels.h"
#include "unit/made_image.h"

static char path[] = "/tmp/xenflame-guests-XXXXXX";
static char request[64], other_request[64];

static const struct xf_domain dom0 = {.domid = 0, .name = "Domain-0"};
static const struct xf_domain web = {
        .domid = 1, .name = "web", .uuid = "aaaa", .started = "100.00"};
static const struct xf_domain web_anew = {
        .domid = 2, .name = "web", .uuid = "aaaa", .started = "200.00"};
static const struct xf_domain web_again = {
        .domid = 1, .name = "web", .uuid = "aaaa", .started = "300.00"};
static const struct xf_domain mail = {
        .domid = 1, .name = "mail", .uuid = "bbbb", .started = "300.00"};

static const struct xf_agent_config all = {.nr_guests = XF_GUESTS_ALL};

static char told[4096];

static void hear(void *context, bool important, const char *text)
{
	(void)context;
	if (important)
		strncat(told, text, sizeof(told) - strlen(told) - 1);
}

static struct xf_record_guest_kernels *start(void)
{
	struct xf_record_guest_kernels *kernels = calloc(1, sizeof(*kernels));

	told[0] = '\0';
	kernels->tell = hear;
	assert_int_equal(xf_record_guest_kernels_request(kernels, request, NULL), 0);
	return kernels;
}

static void look(struct xf_record_guest_kernels *kernels, const struct xf_domain *domain,
                 uint64_t when)
{
	const struct xf_domain domains[2] = {dom0, domain ? *domain : dom0};

	assert_int_equal(xf_record_guest_kernels_look(kernels, domains, domain ? 2 : 1, &all, when,
	                                              when + 1),
	                 0);
}

struct piece {
	struct xf_guest_stack stack;
	uint64_t words[XF_MAX_GUEST_WORDS];
};

/* Samples of @domid at @tsc whose stacks hold return addresses of the image with @seed. */
static void sample(struct xf_record_guest_kernels *kernels, uint16_t domid, uint64_t tsc,
                   uint64_t seed, uint64_t slide)
{
	struct made_image *image = make_image(seed, true);
	const uint8_t *text = image->bytes + image->sections[SECTION_TEXT].sh_offset;
	struct xf_sample taken = {.domid = domid, .tsc = tsc};
	struct piece piece = {.stack = {.mode = XF_GUEST_KERNEL, .bytes = XF_GUEST_HEAD_BYTES}};
	const struct xf_sample_guest guest = {.stacks = {&piece.stack}, .nr = 1};
	unsigned int nr = 0;

	for (uint64_t at = 0; at + 5 < TABLES_TEXT && nr < 150; at++)
		if (text[at] == 0xe8) {
			piece.words[nr] = XF_WORD(nr, TABLES_BASE + at + 5 + slide);
			nr++;
		}
	piece.stack.bytes += nr * 8;
	xf_record_guest_kernels_take(kernels, &taken, &guest);
	free(image);
}

struct bytes {
	uint8_t *at;
	size_t size;
};

static int keep(void *context, const void *bytes, size_t size)
{
	struct bytes *kept = context;

	kept->at = realloc(kept->at, kept->size + size + 1);
	memcpy(kept->at + kept->size, bytes, size);
	kept->size += size;
	return 0;
}

struct written {
	struct bytes bytes;
	struct xf_recording *recording;
};

/* Somebody looks on: what is written meanwhile. */
struct looked_on {
	struct bytes bytes;
	struct xf_recording_writer *writer;
};

static void begin_to_look_on(struct xf_record_guest_kernels *kernels, struct looked_on *on)
{
	struct xf_recording_sink sink = {.write = keep, .context = &on->bytes};

	*on = (struct looked_on){0};
	assert_int_equal(xf_recording_writer_new(sink, &on->writer, NULL), 0);
	assert_int_equal(xf_record_guest_kernels_begin(kernels, on->writer, 1), 0);
}

static void go_on(struct xf_record_guest_kernels *kernels, const struct looked_on *on)
{
	assert_int_equal(xf_record_guest_kernels_go_on(kernels, on->writer, 1), 0);
}

/* Return: the slide that what has been written tells for @domid at @tsc; all bits set: none. */
static uint64_t slide_so_far(const struct looked_on *on, uint16_t domid, uint64_t tsc)
{
	const struct xf_recording_kernel *kernel;
	struct xf_recording *recording;
	uint64_t slide;

	assert_int_equal(xf_recording_open(on->bytes.at, on->bytes.size, &recording, NULL), 0);
	assert_int_equal(xf_recording_state(recording).damaged, 0);
	kernel = xf_kernels_of(xf_recording_kernels(recording), domid, tsc, &slide);
	assert_int_equal(xf_recording_kernels(recording)->nr, 1);
	if (kernel)
		assert_true(kernel->nr_symbols > 0);
	xf_recording_free(recording);
	return kernel ? slide : UINT64_MAX;
}

static void stop_looking_on(struct xf_record_guest_kernels *kernels, struct looked_on *on)
{
	xf_recording_writer_free(on->writer);
	free(on->bytes.at);
	xf_record_guest_kernels_free(kernels);
	free(kernels);
}

/* The recording that they write; they are freed. */
static void finish(struct xf_record_guest_kernels *kernels, struct written *written)
{
	struct xf_recording_sink sink = {.write = keep, .context = &written->bytes};
	struct xf_recording_writer *writer;

	written->bytes = (struct bytes){0};
	assert_int_equal(xf_recording_writer_new(sink, &writer, NULL), 0);
	assert_int_equal(xf_record_guest_kernels_prove(kernels), 0);
	assert_int_equal(xf_record_guest_kernels_write(kernels, NULL, writer, 1), 0);
	xf_recording_writer_free(writer);
	assert_int_equal(xf_recording_open(written->bytes.at, written->bytes.size,
	                                   &written->recording, NULL),
	                 0);
	assert_int_equal(xf_recording_state(written->recording).damaged, 0);
	xf_record_guest_kernels_free(kernels);
	free(kernels);
}

static void close_written(struct written *written)
{
	xf_recording_free(written->recording);
	free(written->bytes.at);
}

/* Return: the slide of what @domid ran at @tsc; all bits set where that is not known. */
static uint64_t slide_of(const struct written *written, uint16_t domid, uint64_t tsc)
{
	uint64_t slide;

	return xf_kernels_of(xf_recording_kernels(written->recording), domid, tsc, &slide)
	               ? slide
	               : UINT64_MAX;
}

/* ---- What is asked for ----------------------------------------------------------------------- */

static void expect_refusal(const char *text, const struct xf_agent_config *config, const char *why)
{
	struct xf_record_guest_kernels kernels = {0};
	const struct xf_domain domains[2] = {dom0, web};
	struct xf_error error = {0};
	int code = xf_record_guest_kernels_request(&kernels, text, &error);

	if (!code)
		code = xf_record_guest_kernels_check(&kernels, domains, 2, config, &error);
	assert_int_equal(code, -EINVAL);
	if (!strstr(error.text, why))
		fail_msg("'%s' does not say '%s'", error.text, why);
	xf_record_guest_kernels_free(&kernels);
}

static void what_cannot_be_is_refused_before_the_recording(void **state)
{
	const struct xf_agent_config none = {0};
	char long_name[400] = "1=/";

	(void)state;
	expect_refusal("", &all, "wants NAME=IMAGE");
	expect_refusal("web", &all, "wants NAME=IMAGE");
	expect_refusal("web=", &all, "wants NAME=IMAGE");
	expect_refusal("=/x", &all, "wants NAME=IMAGE");
	expect_refusal("nosuch=/x", &all, "no domain is named or numbered 'nosuch'");
	expect_refusal("Domain-0=/x", &all, "dom0's kernel is read from itself");
	expect_refusal("0=/x", &all, "dom0's kernel is read from itself");
	expect_refusal("web=/x", &none, "add it to --guests");
	expect_refusal("web=/nosuch", &all, "/nosuch");
	expect_refusal("web=/etc/passwd", &all, "/etc/passwd");
	memset(long_name + 3, 'x', sizeof(long_name) - 4);
	expect_refusal(long_name, &all, "xxxx");
}

/* ---- Domains --------------------------------------------------------------------------------- */

static void a_kernel_that_is_proven_is_written_with_its_slide(void **state)
{
	struct xf_record_guest_kernels *kernels = start();
	struct written written;

	(void)state;
	look(kernels, &web, 10);
	sample(kernels, 1, 20, 1, 0x6e00000);
	look(kernels, &web, 30);
	finish(kernels, &written);
	assert_true(slide_of(&written, 1, 20) == 0x6e00000);
	assert_true(slide_of(&written, 1, 1000) == 0x6e00000);
	assert_true(slide_of(&written, 2, 20) == UINT64_MAX);
	assert_string_equal(told, "");
	close_written(&written);
}

static void another_kernels_image_gives_no_names(void **state)
{
	struct xf_record_guest_kernels *kernels = start();
	struct written written;

	(void)state;
	look(kernels, &web, 10);
	sample(kernels, 1, 20, 2, 0);
	finish(kernels, &written);
	assert_true(slide_of(&written, 1, 20) == UINT64_MAX);
	assert_non_null(strstr(told, "web's kernel will be without names"));
	assert_non_null(strstr(told, "not what it runs"));
	close_written(&written);
}

static void without_samples_there_is_no_proof(void **state)
{
	struct xf_record_guest_kernels *kernels = start();
	struct written written;

	(void)state;
	look(kernels, &web, 10);
	finish(kernels, &written);
	assert_true(slide_of(&written, 1, 20) == UINT64_MAX);
	assert_non_null(strstr(told, "too few"));
	close_written(&written);
}

static void two_domains_with_one_kernel_have_each_its_slide(void **state)
{
	struct xf_record_guest_kernels *kernels = start();
	const struct xf_domain both[2] = {web, {.domid = 7, .name = "db", .uuid = "cc"}};
	struct written written;

	(void)state;
	snprintf(other_request, sizeof(other_request), "7=%s", path);
	xf_record_guest_kernels_request(kernels, other_request, NULL);
	xf_record_guest_kernels_look(kernels, both, 2, &all, 10, 11);
	sample(kernels, 1, 20, 1, 0x200000);
	sample(kernels, 7, 20, 1, 0x400000);
	finish(kernels, &written);
	assert_true(slide_of(&written, 1, 20) == 0x200000);
	assert_true(slide_of(&written, 7, 20) == 0x400000);
	assert_int_equal(xf_recording_kernels(written.recording)->nr, 1);
	close_written(&written);
}

static void tasks_are_told_of_domains_whose_image_has_their_layout(void **state)
{
	struct xf_record_guest_kernels *kernels = start();
	struct xf_agent_config config = {0};
	struct xf_kernel *kernel;
	struct written written;

	(void)state;
	look(kernels, &web, 10);
	assert_int_equal(xf_record_guest_kernels_add_tasks(kernels, &config, NULL), 0);
	assert_string_equal(told, "");
	assert_int_equal(config.nr_tasks, 1);
	assert_int_equal(config.tasks[0].domid, 1);
	assert_int_equal(config.tasks[0].current, 0x40 + MADE_HOT);
	assert_int_equal(config.tasks[0].pid, MADE_TASK);
	kernel = &kernels->images[0].image.kernel;
	kernel->has_task_layout = false;
	config.nr_tasks = 0;
	assert_int_equal(xf_record_guest_kernels_add_tasks(kernels, &config, NULL), 0);
	assert_int_equal(config.nr_tasks, 0);
	assert_non_null(strstr(told, "processes of web will be without names"));
	kernel->has_task_layout = true;
	kernel->task_layout.slides = true;
	config.nr_tasks = 0;
	assert_int_equal(xf_record_guest_kernels_add_tasks(kernels, &config, NULL), 0);
	assert_int_equal(config.nr_tasks, 0);
	assert_non_null(strstr(told, "since Linux 6.15"));
	finish(kernels, &written);
	close_written(&written);
}

/* Its name, and when it was started, stand in xenstore later than its number. */
static void a_domain_that_is_being_made_gets_its_kernel(void **state)
{
	struct xf_record_guest_kernels *kernels = start();
	struct xf_domain making = {.domid = 1};
	struct written written;

	(void)state;
	look(kernels, &web_anew, 10); /* by it the image is known */
	look(kernels, &making, 30);
	strcpy(making.uuid, web.uuid);
	look(kernels, &making, 40);
	look(kernels, &web, 50);
	sample(kernels, 1, 60, 1, 0x6e00000);
	look(kernels, &web, 70);
	assert_int_equal(kernels->nr_domains, 2);
	finish(kernels, &written);
	assert_true(slide_of(&written, 1, 60) == 0x6e00000);
	assert_null(strstr(told, "began"));
	close_written(&written);
}

static void a_rebooted_guest_has_a_slide_of_its_own(void **state)
{
	struct xf_record_guest_kernels *kernels = start();
	struct written written;

	(void)state;
	look(kernels, &web, 10);
	sample(kernels, 1, 20, 1, 0x200000);
	look(kernels, &web, 30);
	look(kernels, &web_anew, 50);
	sample(kernels, 2, 60, 1, 0x400000);
	finish(kernels, &written);
	assert_true(slide_of(&written, 1, 25) == 0x200000);
	assert_true(slide_of(&written, 1, 40) == UINT64_MAX);
	assert_true(slide_of(&written, 2, 60) == 0x400000);
	assert_true(slide_of(&written, 2, 40) == UINT64_MAX);
	close_written(&written);
}

/* Not even by a domain of the same name and UUID, which has started at another time. */
static void a_domid_that_is_used_again_does_not_inherit(void **state)
{
	const struct xf_domain *const later[] = {&web_again, &mail};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct xf_record_guest_kernels *kernels = start();
		struct written written;

		look(kernels, &web, 10);
		sample(kernels, 1, 20, 1, 0x200000);
		look(kernels, &web, 30);
		look(kernels, later[i], 50);
		sample(kernels, 1, 60, 2, 0);
		finish(kernels, &written);
		assert_true(slide_of(&written, 1, 29) == 0x200000);
		assert_true(slide_of(&written, 1, 31) == UINT64_MAX);
		assert_true(slide_of(&written, 1, 60) == UINT64_MAX);
		close_written(&written);
	}
}

/* Of a domain that was there at one look only it is not known how long it was. */
static void a_domain_that_was_seen_once_has_no_names(void **state)
{
	struct xf_record_guest_kernels *kernels = start();
	struct written written;

	(void)state;
	look(kernels, &web, 10);
	sample(kernels, 1, 20, 1, 0x200000);
	look(kernels, NULL, 30);
	finish(kernels, &written);
	assert_true(slide_of(&written, 1, 20) == UINT64_MAX);
	assert_true(slide_of(&written, 1, 1000) == UINT64_MAX);
	close_written(&written);
}

/* Its first samples come before it has been seen: they are nobody's. */
static void samples_from_before_a_domain_was_seen_are_not_its(void **state)
{
	struct xf_record_guest_kernels *kernels = start();
	struct written written;

	(void)state;
	look(kernels, NULL, 10);
	look(kernels, &web, 30);
	sample(kernels, 1, 20, 2, 0);
	sample(kernels, 1, 40, 1, 0);
	finish(kernels, &written);
	assert_true(slide_of(&written, 1, 20) == UINT64_MAX);
	assert_true(slide_of(&written, 1, 40) == UINT64_MAX); /* its image came too late */
	close_written(&written);
	kernels = start();
	look(kernels, &web_anew, 10);
	look(kernels, &web, 30);
	sample(kernels, 1, 20, 2, 0);
	sample(kernels, 1, 40, 1, 0);
	finish(kernels, &written);
	assert_true(slide_of(&written, 1, 20) == UINT64_MAX);
	assert_true(slide_of(&written, 1, 40) == 0);
	close_written(&written);
}

/* A number means the domain that had it when the recording began. */
static void a_number_does_not_stand_for_a_later_domain(void **state)
{
	struct xf_record_guest_kernels *kernels = calloc(1, sizeof(*kernels));
	struct written written;

	(void)state;
	snprintf(other_request, sizeof(other_request), "1=%s", path);
	xf_record_guest_kernels_request(kernels, other_request, NULL);
	look(kernels, &web, 10);
	look(kernels, &mail, 30);
	sample(kernels, 1, 40, 1, 0);
	finish(kernels, &written);
	assert_true(slide_of(&written, 1, 40) == UINT64_MAX);
	close_written(&written);
}

static int make_files(void **state)
{
	struct made_image *one = make_image(1, true);

	(void)state;
	close(mkstemp(path));
	write_image(path, one->bytes, one->size);
	snprintf(request, sizeof(request), "web=%s", path);
	free(one);
	return 0;
}

static int remove_files(void **state)
{
	(void)state;
	return unlink(path);
}

/* ---- Where somebody looks on ----------------------------------------------------------------- */

static void who_looks_on_is_told_as_soon_as_it_is_proven(void **state)
{
	struct xf_record_guest_kernels *kernels = start();
	struct looked_on on;

	(void)state;
	look(kernels, &web, 10);
	begin_to_look_on(kernels, &on);
	go_on(kernels, &on);
	assert_true(slide_so_far(&on, 1, 20) == UINT64_MAX);
	sample(kernels, 1, 20, 1, 0x6e00000);
	go_on(kernels, &on);
	assert_true(slide_so_far(&on, 1, 20) == 0x6e00000);
	assert_true(slide_so_far(&on, 1, 1000) == 0x6e00000);
	assert_string_equal(told, "");
	stop_looking_on(kernels, &on);
}

static void who_looks_on_is_not_shown_another_kernels_names(void **state)
{
	struct xf_record_guest_kernels *kernels = start();
	struct looked_on on;

	(void)state;
	look(kernels, &web, 10);
	begin_to_look_on(kernels, &on);
	for (uint64_t seed = 2; seed < 40; seed++) {
		sample(kernels, 1, 20, seed, 0);
		go_on(kernels, &on);
		assert_true(slide_so_far(&on, 1, 20) == UINT64_MAX);
	}
	assert_non_null(strstr(told, "frames of web's kernel are without names for now ("));
	assert_non_null(strstr(told, "not what it runs"));
	stop_looking_on(kernels, &on);
}

/* It has started another kernel by itself, which the toolstack does not see. */
static void a_kernel_that_is_another_one_by_now_loses_its_names(void **state)
{
	struct xf_record_guest_kernels *kernels = start();
	struct looked_on on;

	(void)state;
	look(kernels, &web, 10);
	begin_to_look_on(kernels, &on);
	sample(kernels, 1, 20, 1, 0x200000);
	go_on(kernels, &on);
	look(kernels, &web, 30);
	for (uint64_t seed = 2; seed < 40; seed++) {
		sample(kernels, 1, 40, seed, 0);
		go_on(kernels, &on);
	}
	assert_true(slide_so_far(&on, 1, 20) == 0x200000);
	assert_true(slide_so_far(&on, 1, 40) == UINT64_MAX);
	assert_non_null(strstr(told, "without names for now"));
	stop_looking_on(kernels, &on);
}

/* What it ran when it started has looked like another one's. */
static void a_kernel_that_is_proven_later_has_names_from_then_on(void **state)
{
	struct xf_record_guest_kernels *kernels = start();
	struct looked_on on;

	(void)state;
	look(kernels, &web, 10);
	begin_to_look_on(kernels, &on);
	for (uint64_t seed = 2; seed < 40 && !told[0]; seed++) {
		sample(kernels, 1, 20, seed, 0);
		go_on(kernels, &on);
	}
	assert_non_null(strstr(told, "without names for now"));
	look(kernels, &web, 30);
	sample(kernels, 1, 40, 1, 0x200000);
	go_on(kernels, &on);
	assert_true(slide_so_far(&on, 1, 40) == 0x200000);
	stop_looking_on(kernels, &on);
}

/* A few words may be the same in both: more of them are looked at soon. */
static void what_was_proven_is_looked_at_again_soon(void **state)
{
	struct xf_record_guest_kernels *kernels = start();
	struct looked_on on;

	(void)state;
	look(kernels, &web, 10);
	begin_to_look_on(kernels, &on);
	sample(kernels, 1, 20, 1, 0x200000);
	go_on(kernels, &on);
	look(kernels, &web, 30);
	sample(kernels, 1, 40, 2, 0);
	for (unsigned int turn = 0; turn < 16; turn++)
		go_on(kernels, &on);
	assert_true(slide_so_far(&on, 1, 40) == UINT64_MAX);
	stop_looking_on(kernels, &on);
}

static void domains_that_are_gone_are_forgotten(void **state)
{
	struct xf_record_guest_kernels *kernels = start();
	struct looked_on on;

	(void)state;
	look(kernels, &web, 10);
	begin_to_look_on(kernels, &on);
	sample(kernels, 1, 20, 1, 0x200000);
	look(kernels, &web, 30);
	go_on(kernels, &on);
	for (uint64_t turn = 1; turn < 20; turn++) {
		const struct xf_domain *domain = turn % 2 ? &web_anew : &web;

		look(kernels, domain, 100 * turn);
		sample(kernels, domain->domid, 100 * turn + 50, 1, 0x400000 * turn);
		look(kernels, domain, 100 * turn + 90);
		go_on(kernels, &on);
		assert_int_equal(kernels->nr_domains, 1);
	}
	assert_true(slide_so_far(&on, 1, 20) == 0x200000);
	assert_true(slide_so_far(&on, 1, 160) == UINT64_MAX);
	assert_true(slide_so_far(&on, 2, 150) == 0x400000);
	assert_true(slide_so_far(&on, 1, 250) == 0x800000);
	stop_looking_on(kernels, &on);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(what_cannot_be_is_refused_before_the_recording),
	        cmocka_unit_test(a_kernel_that_is_proven_is_written_with_its_slide),
	        cmocka_unit_test(another_kernels_image_gives_no_names),
	        cmocka_unit_test(without_samples_there_is_no_proof),
	        cmocka_unit_test(two_domains_with_one_kernel_have_each_its_slide),
	        cmocka_unit_test(tasks_are_told_of_domains_whose_image_has_their_layout),
	        cmocka_unit_test(a_domain_that_is_being_made_gets_its_kernel),
	        cmocka_unit_test(a_rebooted_guest_has_a_slide_of_its_own),
	        cmocka_unit_test(a_domid_that_is_used_again_does_not_inherit),
	        cmocka_unit_test(a_domain_that_was_seen_once_has_no_names),
	        cmocka_unit_test(samples_from_before_a_domain_was_seen_are_not_its),
	        cmocka_unit_test(a_number_does_not_stand_for_a_later_domain),
	        cmocka_unit_test(who_looks_on_is_told_as_soon_as_it_is_proven),
	        cmocka_unit_test(who_looks_on_is_not_shown_another_kernels_names),
	        cmocka_unit_test(a_kernel_that_is_another_one_by_now_loses_its_names),
	        cmocka_unit_test(a_kernel_that_is_proven_later_has_names_from_then_on),
	        cmocka_unit_test(what_was_proven_is_looked_at_again_soon),
	        cmocka_unit_test(domains_that_are_gone_are_forgotten),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
