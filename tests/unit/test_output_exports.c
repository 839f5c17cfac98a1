// SPDX-License-Identifier: GPL-2.0-or-later
/* Exports of a profile made by hand: names that nobody would choose, counts that no double holds, a
   stack of 5,000 frames. tests/exports/run opens exports in the programs that they are for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "output/callgrind.h"
#include "output/chrome.h"
#include "output/firefox.h"
#include "output/perf.h"
#include "output/pprof.h"
#include "output/speedscope.h"

#define DEEP   5000
#define LARGE  9007199254740993ull /* 2^53 + 1 */
#define SECOND 1000000000ull

static const char *const hostile[] = {
        "<script>alert(1)</script>",
        "]]>",
        "a&b;c\"d'e\\",
        "new\nline",
        "tab\tbell\a\x1b[31m",
        "\xff\xfe\xc0\x80",
        "\xed\xa0\x80",
        "\xe2\x80\xae rtl",
        "--",
        "a;b 12",
        " ",
        "(3) three",
        "\xe5\xbe\xae\xe8\xbb\x9f",
        "%s%n",
        "\x7f\xc2\x85",
        "\\u0000",
};
#define HOSTILE (sizeof(hostile) / sizeof(hostile[0]))

typedef int write_t(FILE *out, const struct xf_profile *profile);

static write_t *const json_formats[] = {xf_speedscope_write, xf_firefox_write, xf_chrome_write};

/* ---- Profiles -------------------------------------------------------------------------------- */

static struct xf_node_id add_frame(struct xf_profile *profile, struct xf_node_id parent,
                                   enum xf_frame_kind kind, const char *name)
{
	struct xf_frame_id frame;
	struct xf_node_id node;

	assert_int_equal(xf_calltree_frame(profile->tree, kind, name, &frame), 0);
	assert_int_equal(xf_calltree_child(profile->tree, parent, frame, &node), 0);
	return node;
}

/* @count more samples on @node. */
static void add_samples(struct xf_profile *profile, struct xf_node_id node, uint64_t count)
{
	xf_calltree_count(profile->tree, node, count);
	profile->samples += count;
}

/* The same, a second after those before. */
static void add_timed(struct xf_profile *profile, struct xf_node_id node, uint32_t count)
{
	struct xf_event event = {
	        .time = (profile->timeline.nr + 1) * SECOND, .count = count, .node = node};

	add_samples(profile, node, count);
	assert_int_equal(xf_timeline_add(&profile->timeline, event), 0);
}

static struct xf_profile *new_profile(void)
{
	struct xf_profile *profile = calloc(1, sizeof(*profile));

	profile->tree = xf_calltree_new();
	profile->groups = calloc(1, sizeof(*profile->groups));
	profile->nr_groups = 1;
	profile->frequency = 99;
	profile->host = hostile[0];
	profile->xen_version = "4.17\x01";
	profile->build_id = "";
	return profile;
}

static struct xf_profile *finish(struct xf_profile *profile)
{
	assert_int_equal(xf_calltree_finish(profile->tree), 0);
	return profile;
}

static struct xf_profile *hostile_profile(void)
{
	struct xf_profile *profile = new_profile();
	struct xf_node_id domain =
	        add_frame(profile, XF_CALLTREE_ROOT, XF_FRAME_DOMAIN, hostile[0]);
	char name[4097];

	profile->groups->domain = xf_calltree_node(profile->tree, domain)->frame;
	for (size_t i = 0; i < HOSTILE; i++)
		add_timed(profile,
		          add_frame(profile, domain,
		                    (enum xf_frame_kind)(1 + i % (XF_FRAME_KINDS - 1)), hostile[i]),
		          i + 1);
	for (int i = 0; i < 4096; i++)
		name[i] = (char)(1 + i % 255);
	name[4096] = 0;
	add_timed(profile, add_frame(profile, domain, XF_FRAME_XEN, name), 100);
	return finish(profile);
}

static struct xf_profile *deep_profile(int depth)
{
	struct xf_profile *profile = new_profile();
	struct xf_node_id node = XF_CALLTREE_ROOT;
	char name[16];

	for (int i = 0; i < depth; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		node = add_frame(profile, node, XF_FRAME_XEN, name);
	}
	add_timed(profile, node, 3);
	return finish(profile);
}

static struct xf_profile *large_profile(void)
{
	struct xf_profile *profile = new_profile();

	add_samples(profile, add_frame(profile, XF_CALLTREE_ROOT, XF_FRAME_XEN, "large"), LARGE);
	return finish(profile);
}

static char *render(write_t *write, const struct xf_profile *profile, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	assert_int_equal(write(out, profile), 0);
	fclose(out);
	return text;
}

/* ---- A reader of JSON that takes nothing but what is well-formed ----------------------------- */

static const char *json_value(const char *c);

static const char *json_space(const char *c)
{
	return c + strspn(c, " \n\t\r");
}

static const char *json_string(const char *c)
{
	assert_int_equal(*c, '"');
	for (c++; *c != '"'; c++) {
		const uint8_t *u = (const uint8_t *)c;
		size_t size = *u < 0x80 ? 1 : *u >= 0xf0 ? 4 : *u >= 0xe0 ? 3 : 2;

		assert_true(*u >= 0x20 && *u != 0x7f);
		assert_true(*u < 0x80 || (*u >= 0xc2 && *u <= 0xf4));
		for (size_t i = 1; i < size; i++)
			assert_true(u[i] >> 6 == 2);
		assert_false(u[0] == 0xed && u[1] >= 0xa0); /* surrogates */
		if (*c == '\\')
			assert_non_null(strchr("\"\\", *++c));
		c += size - 1;
	}
	return c + 1;
}

/* An array's or an object's elements, up to @end. */
static const char *json_elements(const char *c, char end)
{
	c = json_space(c + 1);
	if (*c == end)
		return c + 1;
	for (;;) {
		if (end == '}') {
			c = json_space(json_string(json_space(c)));
			assert_int_equal(*c++, ':');
		}
		c = json_space(json_value(json_space(c)));
		if (*c == end)
			return c + 1;
		assert_int_equal(*c++, ',');
	}
}

static const char *json_value(const char *c)
{
	static const char *const words[] = {"true", "false", "null"};
	char *end;

	if (*c == '{' || *c == '[')
		return json_elements(c, *c == '{' ? '}' : ']');
	if (*c == '"')
		return json_string(c);
	for (size_t i = 0; i < 3; i++) {
		if (strncmp(c, words[i], strlen(words[i])) == 0)
			return c + strlen(words[i]);
	}
	assert_true(*c == '-' || (*c >= '0' && *c <= '9'));
	strtod(c, &end);
	assert_true(end > c);
	return end;
}

static void assert_json(const char *text)
{
	assert_int_equal(*json_space(json_value(json_space(text))), 0);
}

/* ---- A reader of pprof's bytes --------------------------------------------------------------- */

static uint8_t *unpack(const char *packed, size_t size, size_t *unpacked_size)
{
	size_t room = 64 << 20;
	uint8_t *bytes = malloc(room);
	z_stream stream = {.next_in = (uint8_t *)packed,
	                   .avail_in = (unsigned int)size,
	                   .next_out = bytes,
	                   .avail_out = (unsigned int)room};

	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	*unpacked_size = room - stream.avail_out;
	inflateEnd(&stream);
	return bytes;
}

static uint64_t number(const uint8_t **bytes)
{
	uint64_t value = 0;
	unsigned int shift = 0;

	do {
		assert_true(shift < 64);
		value |= (uint64_t)(**bytes & 0x7f) << shift;
		shift += 7;
	} while (*(*bytes)++ & 0x80);
	return value;
}

struct pprof {
	uint64_t count; /* of all samples */
	uint64_t nanoseconds;
	size_t samples;
	size_t locations;
	size_t deepest;
	size_t strings;
	bool escape_found; /* a string with a control byte */
};

static void read_sample(const uint8_t *bytes, const uint8_t *end, struct pprof *pprof)
{
	while (bytes < end) {
		uint64_t key = number(&bytes);
		uint64_t size = number(&bytes);
		const uint8_t *next = bytes + size;
		size_t nr = 0;

		assert_int_equal(key & 7, 2);
		if (key >> 3 == 2) {
			pprof->count += number(&bytes);
			pprof->nanoseconds += number(&bytes);
			assert_true(bytes == next);
		}
		for (; key >> 3 == 1 && bytes < next; nr++)
			number(&bytes);
		pprof->deepest = nr > pprof->deepest ? nr : pprof->deepest;
		bytes = next;
	}
}

static struct pprof read_pprof(const struct xf_profile *profile)
{
	size_t size, packed_size;
	char *packed = render(xf_pprof_write, profile, &packed_size);
	uint8_t *all = unpack(packed, packed_size, &size);
	struct pprof pprof = {0};

	for (const uint8_t *bytes = all; bytes < all + size;) {
		uint64_t key = number(&bytes);
		uint64_t value = number(&bytes);

		if ((key & 7) == 0)
			continue;
		assert_int_equal(key & 7, 2);
		assert_true(value <= (uint64_t)(all + size - bytes));
		pprof.samples += key >> 3 == 2;
		pprof.locations += key >> 3 == 4;
		pprof.strings += key >> 3 == 6;
		if (key >> 3 == 2)
			read_sample(bytes, bytes + value, &pprof);
		for (size_t i = 0; key >> 3 == 6 && i < value; i++)
			pprof.escape_found = pprof.escape_found || bytes[i] < 0x20;
		bytes += value;
	}
	free(all);
	free(packed);
	return pprof;
}

/* ---- A reader of perf.data's records --------------------------------------------------------- */

struct perf {
	size_t symbols;
	size_t samples;
	uint64_t deepest;
	uint64_t period; /* of all samples */
};

static uint64_t word(const char *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static struct perf read_perf(const struct xf_profile *profile)
{
	size_t size;
	char *file = render(xf_perf_write, profile, &size);
	const char *bytes = file + word(file + 40);
	const char *end = bytes + word(file + 48);
	struct perf perf = {0};

	assert_true(end <= file + size);
	while (bytes < end) {
		uint16_t bytes_here;

		memcpy(&bytes_here, bytes + 6, 2);
		assert_true(bytes_here >= 16 && bytes_here % 8 == 0 && bytes_here <= end - bytes);
		perf.symbols += *bytes == 17;
		if (*bytes == 9) {
			uint64_t nr = word(bytes + 48);

			perf.samples++;
			perf.period += word(bytes + 40);
			perf.deepest = nr - 1 > perf.deepest ? nr - 1 : perf.deepest;
			assert_int_equal(bytes_here, 56 + 8 * nr);
		}
		bytes += bytes_here;
	}
	assert_true(bytes == end);
	free(file);
	return perf;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void hostile_names_are_json(void **state)
{
	struct xf_profile *profile = hostile_profile();

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		size_t size;
		char *text = render(json_formats[i], profile, &size);

		assert_int_equal(strlen(text), size);
		assert_json(text);
		assert_non_null(strstr(text, "\"new\\\\x0aline\""));
		assert_non_null(strstr(text, "\"a&b;c\\\"d'e\\\\\""));
		free(text);
	}
	xf_profile_free(profile);
}

static void hostile_names_are_lines_of_callgrind(void **state)
{
	struct xf_profile *profile = hostile_profile();
	uint64_t sum = 0;
	size_t size;
	char *text = render(xf_callgrind_write, profile, &size);
	char *function = text;
	bool calling = false;

	(void)state;
	assert_int_equal(strlen(text), size);
	/* Every name stands behind a number, so that none is taken for one. */
	while ((function = strstr(function + 1, "fn=")))
		assert_true(function[3] == '(' && strchr("0123456789", function[4]));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (strncmp(line, "0 ", 2) == 0 && !calling)
			sum += strtoull(line + 2, NULL, 10);
		calling = strncmp(line, "calls=", 6) == 0;
		for (char *c = line; *c; c++)
			assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
	}
	assert_true(sum == profile->samples);
	free(text);
	xf_profile_free(profile);
}

static void hostile_names_are_strings_of_pprof(void **state)
{
	struct xf_profile *profile = hostile_profile();
	struct pprof pprof = read_pprof(profile);

	(void)state;
	assert_true(pprof.count == profile->samples);
	assert_int_equal(pprof.samples, HOSTILE + 1);
	assert_false(pprof.escape_found);
	xf_profile_free(profile);
}

static void deep_stacks_are_whole(void **state)
{
	struct xf_profile *profile = deep_profile(DEEP);
	struct pprof pprof = read_pprof(profile);
	size_t size;
	char *text;

	(void)state;
	assert_int_equal(pprof.deepest, DEEP);
	assert_int_equal(pprof.locations, DEEP);
	for (size_t i = 0; i < 3; i++) {
		text = render(json_formats[i], profile, &size);
		assert_json(text);
		assert_non_null(strstr(text, "\"f4999\""));
		free(text);
	}
	text = render(xf_callgrind_write, profile, &size);
	assert_non_null(strstr(text, "f4999\n"));
	free(text);
	xf_profile_free(profile);
}

static void records_of_perf_are_whole(void **state)
{
	struct xf_profile *profile = hostile_profile();
	struct perf perf = read_perf(profile);

	(void)state;
	assert_int_equal(perf.samples, HOSTILE + 1);
	assert_int_equal(perf.symbols, xf_calltree_nr_frames(profile->tree) - 1);
	assert_true(perf.period == profile->samples * 10101010);
	xf_profile_free(profile);
	profile = deep_profile(DEEP);
	assert_int_equal(read_perf(profile).deepest, DEEP);
	xf_profile_free(profile);
}

static void what_perf_cannot_hold_is_said(void **state)
{
	struct xf_profile *profile = deep_profile(9000);
	struct perf perf = read_perf(profile);

	(void)state;
	assert_int_equal(perf.deepest, 8001);
	assert_int_equal(perf.symbols, 9001);
	xf_profile_free(profile);
}

static void large_counts_are_exact(void **state)
{
	struct xf_profile *profile = large_profile();
	struct pprof pprof = read_pprof(profile);
	size_t size;
	char *text = render(xf_callgrind_write, profile, &size);

	(void)state;
	assert_true(pprof.count == LARGE);
	assert_non_null(strstr(text, "large\n0 9007199254740993\n"));
	free(text);
	/* More time than 64 bits hold is as much as they do. */
	assert_true(pprof.nanoseconds == INT64_MAX);
	text = render(xf_speedscope_write, profile, &size);
	assert_non_null(strstr(text, "\"weights\":[18446744073709551615]"));
	free(text);
	profile->frequency = 0;
	text = render(xf_speedscope_write, profile, &size);
	assert_non_null(strstr(text, "\"weights\":[9007199254740993]"));
	free(text);
	xf_profile_free(profile);
}

static void sums_of_slices_are_exact(void **state)
{
	struct xf_profile *profile = new_profile();
	struct xf_node_id node = add_frame(profile, XF_CALLTREE_ROOT, XF_FRAME_XEN, "f");
	size_t size;
	char *text;

	(void)state;
	profile->frequency = 0; /* no gaps */
	for (int i = 0; i < 3; i++)
		add_timed(profile, node, UINT32_MAX);
	finish(profile);
	text = render(xf_chrome_write, profile, &size);
	assert_non_null(strstr(text, "\"samples\":12884901885}"));
	free(text);
	text = render(xf_firefox_write, profile, &size);
	assert_non_null(strstr(text, "\"weight\":[4294967295,4294967295,4294967295]"));
	free(text);
	xf_profile_free(profile);
}

static void recursion_keeps_inclusive_sums_true(void **state)
{
	struct xf_profile *profile = new_profile();
	struct xf_node_id a = add_frame(profile, XF_CALLTREE_ROOT, XF_FRAME_XEN, "a");
	struct xf_node_id b = add_frame(profile, a, XF_FRAME_XEN, "b");
	struct xf_node_id again = add_frame(profile, b, XF_FRAME_XEN, "a");
	size_t size;
	char *text;

	(void)state;
	add_samples(profile, a, 1);
	add_samples(profile, b, 10);
	add_samples(profile, again, 100);
	finish(profile);
	text = render(xf_callgrind_write, profile, &size);
	assert_non_null(strstr(text, "\nfn=(3) a'2\n0 100\n"));
	assert_non_null(strstr(text, "\ncfn=(3)\ncalls=100 0\n0 100\n"));
	assert_non_null(strstr(text, "\ncfn=(2) b\ncalls=110 0\n0 110\n"));
	free(text);
	xf_profile_free(profile);
}

static void without_times_stacks_remain(void **state)
{
	struct xf_profile *profile = hostile_profile();
	struct pprof pprof;
	size_t size;
	char *text;

	(void)state;
	profile->timeline.nr = 0;
	profile->frequency = 0;
	text = render(xf_speedscope_write, profile, &size);
	assert_json(text);
	assert_non_null(strstr(text, "\"unit\":\"none\",\"startValue\":0,\"endValue\":236,"));
	free(text);
	profile->frequency = 99;
	pprof = read_pprof(profile);
	assert_true(pprof.count == profile->samples);
	xf_profile_free(profile);
}

static void same_profile_same_bytes(void **state)
{
	static write_t *const formats[] = {xf_speedscope_write, xf_firefox_write, xf_chrome_write,
	                                   xf_callgrind_write,  xf_pprof_write,   xf_perf_write};

	(void)state;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct xf_profile *first = hostile_profile();
		struct xf_profile *second = hostile_profile();
		size_t size, other;
		char *a = render(formats[i], first, &size);
		char *b = render(formats[i], second, &other);

		assert_int_equal(size, other);
		assert_memory_equal(a, b, size);
		free(a);
		free(b);
		xf_profile_free(first);
		xf_profile_free(second);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(hostile_names_are_json),
	        cmocka_unit_test(hostile_names_are_lines_of_callgrind),
	        cmocka_unit_test(hostile_names_are_strings_of_pprof),
	        cmocka_unit_test(deep_stacks_are_whole),
	        cmocka_unit_test(records_of_perf_are_whole),
	        cmocka_unit_test(what_perf_cannot_hold_is_said),
	        cmocka_unit_test(large_counts_are_exact),
	        cmocka_unit_test(sums_of_slices_are_exact),
	        cmocka_unit_test(recursion_keeps_inclusive_sums_true),
	        cmocka_unit_test(without_times_stacks_remain),
	        cmocka_unit_test(same_profile_same_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
