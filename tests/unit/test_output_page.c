// SPDX-License-Identifier: GPL-2.0-or-later
/* The page of a profile made by hand: its data read back, and names that try to get out of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "output/columns.h"
#include "output/page.h"

static const char *const hostile[] = {
        "</script><script>alert(1)</script>",
        "<!--<script>",
        "]]>",
        "a&b;c\"d'e\\",
        "\\u003c/script>",
        "new\nline\r\x1b[31m\x7f",
        "\xff\xfe\xc0\x80\xed\xa0\x80",
        "\xe2\x80\xae rtl \xe2\x81\xa6\xe2\x80\x8f",
        "\xe2\x80\xa8\xe2\x80\xa9",
        " ",
        "",
        "__proto__",
        "constructor",
        "%s%n",
        "\xe5\xbe\xae\xe8\xbb\x9f e\xcc\x81\xf0\x9f\x94\xa5",
};
#define HOSTILE (sizeof(hostile) / sizeof(hostile[0]))

/* Each hostile name is called by the one before it, and has as many samples as its number. */
static struct xf_profile *make_profile(void)
{
	static const uint32_t places[] = {0};
	struct xf_profile *profile = calloc(1, sizeof(*profile));
	struct xf_node_id node = XF_CALLTREE_ROOT;
	struct xf_frame_id frame;

	profile->tree = xf_calltree_new();
	profile->groups = calloc(1, sizeof(*profile->groups));
	profile->nr_groups = 1;
	for (uint32_t i = 0; i < HOSTILE; i++) {
		struct xf_event event = {.time = (HOSTILE - i) * 1000000, .count = i};

		xf_calltree_frame(profile->tree, (enum xf_frame_kind)(1 + i % (XF_FRAME_KINDS - 1)),
		                  hostile[i], &frame);
		xf_calltree_child(profile->tree, i % 5 ? node : XF_CALLTREE_ROOT, frame, &node);
		xf_calltree_count(profile->tree, node, i);
		event.node = node;
		xf_timeline_add(&profile->timeline, event);
		profile->samples += i;
	}
	profile->counts.xen = profile->samples;
	profile->groups->domain = frame;
	profile->host = hostile[0];
	profile->xen_version = "4.17\x01";
	profile->build_id = "";
	assert_int_equal(xf_calltree_finish(profile->tree), 0);
	assert_int_equal(xf_timeline_finish(&profile->timeline, places), 0);
	return profile;
}

static char *render(const struct xf_profile *profile, const char *title)
{
	const struct xf_page_options options = {.title = title};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(xf_page_write(out, profile, &options), 0);
	fclose(out);
	assert_int_equal(strlen(text), size); /* no NUL anywhere */
	return text;
}

static size_t count(const char *text, const char *what)
{
	size_t nr = 0;

	for (; (text = strstr(text, what)); text++)
		nr++;
	return nr;
}

/* ---- A reader of columns --------------------------------------------------------------------- */

struct reader {
	uint8_t *bytes;
	size_t size;
	size_t at;
};

static uint32_t sextet(char letter)
{
	static const char alphabet[] =
	        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *found = strchr(alphabet, letter);

	assert_true(letter && found);
	return (uint32_t)(found - alphabet);
}

static struct reader read_base64(const char *text, size_t size)
{
	struct reader reader = {.bytes = malloc(size + 1)};

	assert_int_equal(size % 4, 0);
	for (size_t i = 0; i < size; i += 4) {
		size_t padding = (text[i + 3] == '=') + (text[i + 2] == '=');
		uint32_t all = 0;

		for (size_t j = 0; j < 4; j++)
			all = all << 6 | (j < 4 - padding ? sextet(text[i + j]) : 0);
		for (size_t j = 0; j < 3 - padding; j++)
			reader.bytes[reader.size++] = (uint8_t)(all >> (16 - 8 * j));
	}
	return reader;
}

static uint64_t next_number(struct reader *reader)
{
	uint64_t number = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		assert_true(reader->at < reader->size);
		byte = reader->bytes[reader->at++];
		number |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return number;
}

/* The content of the script element @id. */
static const char *element(const char *page, const char *id, size_t *size)
{
	char start[32];
	const char *at;

	snprintf(start, sizeof(start), "id=\"%s\">", id);
	at = strstr(page, start);
	assert_non_null(at);
	at += strlen(start);
	*size = (size_t)(strstr(at, "</script>") - at);
	return at;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void names_stay_where_they_are(void **state)
{
	struct xf_profile *profile = make_profile();
	char *page = render(profile, "</title><script>alert(1)</script>");
	size_t size;
	const char *about = element(page, "about", &size);

	(void)state;
	for (size_t i = 0; i < size; i++) {
		assert_null(strchr("<>&'", about[i]));
		assert_true((uint8_t)about[i] >= 0x20 || about[i] == '\n');
	}
	/* Three for the data and the script itself, whatever the names are. */
	assert_int_equal(count(page, "<script"), 4);
	assert_int_equal(count(page, "</script"), 4);
	assert_int_equal(count(page, "<![CDATA["), count(page, "]]>"));
	assert_null(strstr(page, "\xe2\x80\xae"));
	assert_non_null(strstr(about, "\"\\\\xff\\\\xfe\\\\xc0\\\\x80\\\\xed\\\\xa0\\\\x80\""));
	assert_non_null(strstr(about, "\"\\u003c/script\\u003e\\u003cscript"));
	free(page);
	xf_profile_free(profile);
}

static void the_samples_are_those_of_the_tree(void **state)
{
	struct xf_profile *profile = make_profile();
	char *page = render(profile, NULL);
	struct reader nodes, samples;
	uint64_t parents[HOSTILE + 1] = {0}, frames[HOSTILE + 1] = {0};
	uint64_t counts[HOSTILE + 1] = {0}, times = 0;
	size_t size;
	const char *at = element(page, "nodes", &size);

	(void)state;
	nodes = read_base64(at, size);
	for (uint64_t i = 1; i <= HOSTILE; i++) {
		uint64_t from = i - 1;

		for (uint64_t up = next_number(&nodes); up; up--)
			from = parents[from];
		parents[i] = from;
		frames[i] = next_number(&nodes); /* numbered as they were made */
		assert_int_equal(frames[from], (frames[i] - 1) % 5 ? frames[i] - 1 : 0);
	}
	assert_int_equal(nodes.at, nodes.size);
	at = element(page, "samples", &size);
	samples = read_base64(at, size);
	for (size_t i = 0; i < profile->timeline.nr; i++) {
		uint64_t node;

		times += next_number(&samples);
		assert_int_equal(times, (i + 1) * 10);
		assert_int_equal(next_number(&samples), 0);
		node = next_number(&samples);
		counts[frames[node >> 1]] += node & 1 ? next_number(&samples) : 1;
	}
	assert_int_equal(samples.at, samples.size);
	for (uint64_t i = 1; i <= HOSTILE; i++)
		assert_int_equal(counts[i], i - 1);
	free(nodes.bytes);
	free(samples.bytes);
	free(page);
	xf_profile_free(profile);
}

static void numbers_of_any_size_come_back(void **state)
{
	static const uint64_t numbers[] = {0,          1,          127,        128,
	                                   16383,      16384,      UINT32_MAX, 1ull << 53,
	                                   UINT64_MAX, 1ull << 63, 300,        0};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct xf_columns columns = {.out = out};
	struct reader reader;

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		xf_columns_put(&columns, numbers[i]);
	xf_columns_end(&columns);
	fclose(out);
	reader = read_base64(text, size);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		assert_true(next_number(&reader) == numbers[i]);
	assert_int_equal(reader.at, reader.size);
	free(reader.bytes);
	free(text);
}

static void same_profile_same_page(void **state)
{
	struct xf_profile *first = make_profile();
	struct xf_profile *second = make_profile();
	char *a = render(first, NULL);
	char *b = render(second, NULL);

	(void)state;
	assert_string_equal(a, b);
	free(a);
	free(b);
	xf_profile_free(first);
	xf_profile_free(second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(names_stay_where_they_are),
	        cmocka_unit_test(the_samples_are_those_of_the_tree),
	        cmocka_unit_test(numbers_of_any_size_come_back),
	        cmocka_unit_test(same_profile_same_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
