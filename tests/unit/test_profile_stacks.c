// SPDX-License-Identifier: GPL-2.0-or-later
/* How addresses are named, and where samples of each sort go in the tree. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/profile.h"
#include "profile/stacks.h"
#include "unit/taken_bytes.h"

#define TEXT  0xffff82d040200000ull
#define PATCH 0xffff82d040800000ull
#define AGENT (PATCH + 0x1000)

#define PATCHES_END 0xffff82d080000000ull

/* One sample per sort; the code is nothing but "ret", at entry, first and second. */
static void write_samples(struct xf_recording_writer *writer)
{
	struct xf_sample base = {.bytes = XF_SAMPLE_HEAD_BYTES,
	                         .domid = 1,
	                         .rsp = 0xffff83007fe07fa0,
	                         .stack_end = 0xffff83007fe07fa8};
	static const struct {
		uint64_t rip;
		uint64_t guest_rip;
		uint16_t flags;
	} sorts[] = {
	        {TEXT + 0x10, 0, XF_SAMPLE_FOREIGN_RSP},                  /* not entry code */
	        {TEXT, 0, XF_SAMPLE_FOREIGN_RSP},                         /* lstar_enter */
	        {0xffff82d07fffe010, 0, XF_SAMPLE_FOREIGN_RSP},           /* a trampoline */
	        {0x401000, 0, XF_SAMPLE_FOREIGN_RSP},                     /* nonsense */
	        {PATCH + 4, 0, 0},                                        /* in a live patch */
	        {0x401000, 0, XF_SAMPLE_GUEST},                           /* user */
	        {0xffffffff81000000, 0, XF_SAMPLE_GUEST},                 /* kernel */
	        {TEXT, 0x401000, XF_SAMPLE_GUEST | XF_SAMPLE_AFTER_STGI}, /* user */
	};

	for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++) {
		struct xf_sample sample = base;

		sample.rip = sorts[i].rip;
		sample.guest_rip = sorts[i].guest_rip;
		sample.flags = sorts[i].flags;
		assert_int_equal(xf_recording_write_sample(writer, &sample), 0);
	}
}

static struct xf_recording *make_recording(struct bytes *bytes)
{
	struct xf_recording_sink sink = {.write = take, .context = bytes};
	struct xf_recording_livepatch patch = {.address = PATCH, .size = 64, .name = "fix"};
	struct xf_recording_livepatch agent = {.address = AGENT, .size = 64, .name = XF_AGENT_NAME};
	struct xf_symbols *symbols = xf_symbols_new();
	struct xf_recording_writer *writer;
	struct xf_recording *recording;
	uint8_t code[0x40];

	memset(code, 0xc3, sizeof(code));
	assert_int_equal(xf_recording_writer_new(sink, &writer, NULL), 0);
	xf_symbols_add(symbols, TEXT, 0, 'T', "lstar_enter");
	xf_symbols_add(symbols, TEXT + 0x10, 0, 't', "first");
	xf_symbols_add(symbols, TEXT + 0x20, 0, 't', "second");
	xf_symbols_finish(symbols);
	xf_recording_write_symbols(writer, symbols);
	xf_recording_write_code(writer, TEXT, code, sizeof(code));
	xf_recording_write_info(writer, "livepatch.start", "0x%llx", PATCH);
	xf_recording_write_info(writer, "livepatch.end", "0x%llx", PATCHES_END);
	xf_recording_write_livepatch(writer, &patch);
	xf_recording_write_livepatch(writer, &agent);
	write_samples(writer);
	assert_int_equal(xf_recording_write_end(writer), 0);
	xf_recording_writer_free(writer);
	xf_symbols_free(symbols);
	assert_int_equal(xf_recording_open(bytes->at, bytes->size, &recording, NULL), 0);
	return recording;
}

static void addresses_are_named(void **state)
{
	static const struct {
		struct xf_frame frame;
		bool entering;
		const char *name;
		uint64_t offset;
		enum xf_frame_kind kind;
	} cases[] = {
	        {{TEXT + 0x20, true}, false, "second", 0, XF_FRAME_XEN},
	        {{TEXT + 0x20, false},
	         false,
	         "first",
	         0x10,
	         XF_FRAME_XEN}, /* the call was the end */
	        {{TEXT + 0x21, false}, false, "second", 1, XF_FRAME_XEN},
	        {{TEXT + 0x3f, true}, false, "second", 0x1f, XF_FRAME_XEN},
	        {{TEXT + 0x40, true}, false, "[unknown 0xffff82d040200040]", 0, XF_FRAME_UNKNOWN},
	        {{TEXT - 1, true}, false, "[unknown 0xffff82d0401fffff]", 0, XF_FRAME_UNKNOWN},
	        {{TEXT + 0x40, true}, true, "[syscall entry]", 0, XF_FRAME_XEN},
	        {{PATCH, true}, false, "[fix]", 0, XF_FRAME_XEN},
	        {{PATCH + 64, false}, false, "[fix]", 64, XF_FRAME_XEN},
	        {{PATCH + 64, true}, false, "[live patch 0xffff82d040800040]", 0, XF_FRAME_XEN},
	        {{PATCH - 1, true}, false, "[unknown 0xffff82d0407fffff]", 0, XF_FRAME_UNKNOWN},
	        {{PATCHES_END - 0x1fc0, true}, false, "[run-time stub]", 0, XF_FRAME_XEN},
	        {{PATCHES_END - 0x1fc0, true}, true, "[syscall entry]", 0, XF_FRAME_XEN},
	        {{PATCHES_END, true}, false, "[unknown 0xffff82d080000000]", 0, XF_FRAME_UNKNOWN},
	        {{AGENT + 8, true}, false, "[xenflame-agent]", 8, XF_FRAME_AGENT},
	        {{0, false}, false, "[unknown 0x0]", 0, XF_FRAME_UNKNOWN},
	};
	struct bytes bytes = {0};
	struct xf_recording *recording = make_recording(&bytes);
	struct xf_stacks *stacks;

	(void)state;
	assert_int_equal(xf_stacks_new(recording, &stacks, NULL), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct xf_place place;

		xf_stacks_name(stacks, cases[i].frame, cases[i].entering, &place);
		assert_string_equal(place.name, cases[i].name);
		assert_int_equal(place.offset, cases[i].offset);
		assert_int_equal(place.kind, cases[i].kind);
	}
	xf_stacks_free(stacks);
	xf_recording_free(recording);
	free(bytes.at);
}

static uint64_t total_of(const struct xf_profile *profile, const char *name)
{
	uint64_t total = 0;

	for (size_t i = 1; i < xf_calltree_nr_nodes(profile->tree); i++) {
		const struct xf_node *node =
		        xf_calltree_node(profile->tree, (struct xf_node_id){(uint32_t)i});

		if (strcmp(xf_calltree_name(profile->tree, node->frame), name) == 0)
			total += node->total;
	}
	return total;
}

static void samples_go_where_they_belong(void **state)
{
	struct xf_profile_options options = XF_PROFILE_DEFAULTS;
	struct bytes bytes = {0};
	struct xf_recording *recording = make_recording(&bytes);
	struct xf_profile *profile;
	struct xf_error error;

	(void)state;
	assert_int_equal(xf_profile_build(recording, &options, &profile, NULL), 0);
	assert_int_equal(profile->samples, 8);
	assert_int_equal(profile->counts.guest, 3);
	assert_int_equal(profile->counts.xen, 5);
	assert_int_equal(profile->counts.incomplete, 3);
	assert_int_equal(profile->counts.unnamed, 1);
	assert_int_equal(total_of(profile, "d1"), 8);
	assert_int_equal(total_of(profile, "[guest user]"), 2);
	assert_int_equal(total_of(profile, "[guest kernel]"), 1);
	assert_int_equal(total_of(profile, "[incomplete: foreign-stack]"), 2);
	assert_int_equal(total_of(profile, "lstar_enter"), 1);
	assert_int_equal(total_of(profile, "[syscall entry]"), 1);
	assert_int_equal(total_of(profile, "[fix]"), 1);
	assert_false(profile->lost_known);
	xf_profile_free(profile);
	options.domain = "1";
	assert_int_equal(xf_profile_build(recording, &options, &profile, NULL), 0);
	xf_profile_free(profile);
	options.domain = "2";
	assert_int_equal(xf_profile_build(recording, &options, &profile, &error), -ENODATA);
	assert_non_null(strstr(error.text, "no sample is of a domain '2'; those there are of "));
	xf_recording_free(recording);
	free(bytes.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(addresses_are_named),
	        cmocka_unit_test(samples_go_where_they_belong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
