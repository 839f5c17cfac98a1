// SPDX-License-Identifier: GPL-2.0-or-later
/* Outputs of profiles made by hand, with names that nobody would choose. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "output/flamegraph.h"
#include "output/folded.h"
#include "output/report.h"
#include "output/text.h"

static const char *const hostile[] = {
        "<script>alert(1)</script>",
        "]]>",
        "a&b;c\"d'e",
        "new\nline",
        "tab\tbell\a\x1b[31m",
        "\xff\xfe\xc0\x80",
        "\xed\xa0\x80",
        "\xf4\x90\x80\x80",
        "\xe2\x80\xae rtl",
        "--",
        "<!-- -->",
        "a;b 12",
        "\xef\xbf\xbf",
        "\xef\xbb\xbf",
        " ",
        "\xe5\xbe\xae\xe8\xbb\x9f",
        "e\xcc\x81",
        "_ZN3foo3barIiEEvT_",
        "\xc3",
        "%s%n",
        "</title>",
        "&#0;",
        "\x7f\xc2\x85",
};
#define HOSTILE (sizeof(hostile) / sizeof(hostile[0]))

/* A profile of one domain, whose stacks are all of hostile names and a 4 KiB one. */
static struct xf_profile *make_profile(void)
{
	struct xf_profile *profile = calloc(1, sizeof(*profile));
	struct xf_frame_id frame;
	struct xf_node_id domain;
	struct xf_node_id node;
	char *name = malloc(4097);

	profile->tree = xf_calltree_new();
	profile->groups = calloc(1, sizeof(*profile->groups));
	profile->nr_groups = 1;
	xf_calltree_frame(profile->tree, XF_FRAME_DOMAIN, hostile[0], &profile->groups->domain);
	xf_calltree_child(profile->tree, XF_CALLTREE_ROOT, profile->groups->domain, &domain);
	for (size_t i = 0; i < HOSTILE; i++) {
		xf_calltree_frame(profile->tree, (enum xf_frame_kind)(1 + i % (XF_FRAME_KINDS - 1)),
		                  hostile[i], &frame);
		xf_calltree_child(profile->tree, domain, frame, &node);
		xf_calltree_count(profile->tree, node, i + 1);
		profile->samples += i + 1;
	}
	for (int i = 0; i < 4096; i++)
		name[i] = (char)(1 + i % 255);
	name[4096] = 0;
	xf_calltree_frame(profile->tree, XF_FRAME_XEN, name, &frame);
	xf_calltree_child(profile->tree, node, frame, &node);
	xf_calltree_count(profile->tree, node, 100);
	free(name);
	profile->samples += 100;
	profile->lost_known = true;
	profile->groups->counts.xen = profile->counts.xen = profile->samples;
	profile->host = hostile[0];
	profile->xen_version = "4.17\x01";
	profile->build_id = "";
	assert_int_equal(xf_calltree_finish(profile->tree), 0);
	return profile;
}

static char *render(const struct xf_profile *profile, int kind)
{
	struct xf_flamegraph_options graph = XF_FLAMEGRAPH_DEFAULTS;
	struct xf_report_options report = {
	        .views = 0x7f, .header = true, .callers = "%s%n", .function = "%s%n"};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int code = kind == 0   ? xf_flamegraph_write(out, profile, &graph)
	           : kind == 1 ? xf_folded_write(out, profile)
	           : kind == 2 ? xf_report_write(out, profile, &report, NULL)
	                       : xf_report_write_json(out, profile, &XF_PROFILE_DEFAULTS, &report,
	                                              NULL);

	fclose(out);
	assert_int_equal(code, 0);
	assert_int_equal(strlen(text), size); /* no NUL anywhere */
	return text;
}

/* ---- A reader of XML that takes nothing but what is well-formed ------------------------------ */

static size_t xml_character(const uint8_t *c)
{
	size_t size = c[0] < 0x80 ? 1 : c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : 2;

	assert_true(c[0] >= 0x20 || c[0] == '\n' || c[0] == '\t');
	assert_true(c[0] < 0x80 || (c[0] >= 0xc2 && c[0] <= 0xf4));
	for (size_t i = 1; i < size; i++)
		assert_true(c[i] >> 6 == 2);
	assert_false(c[0] == 0xed && c[1] >= 0xa0);                 /* surrogates */
	assert_false(c[0] == 0xef && c[1] == 0xbf && c[2] >= 0xbe); /* no characters */
	return size;
}

static const char *xml_entity(const char *c)
{
	static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};

	for (size_t i = 0; i < 5; i++) {
		if (strncmp(c, known[i], strlen(known[i])) == 0)
			return c + strlen(known[i]);
	}
	fail_msg("stray '&' at %.20s", c);
	return c + 1;
}

static const char *xml_tag(const char *c, char open[][32], int *depth)
{
	bool closing = c[1] == '/';
	const char *name = c + 1 + closing;
	size_t size = strcspn(name, " />");
	const char *end = name + size;

	assert_true(isalpha((unsigned char)name[0]) && size < 31);
	while (*end && *end != '>') {
		if (*end == '"') {
			for (end++; *end != '"'; end++) {
				assert_false(*end == '<' || !*end);
				if (*end == '&')
					end = xml_entity(end) - 1;
			}
		}
		end++;
	}
	assert_true(*end == '>');
	if (closing) {
		assert_true(*depth > 0);
		assert_int_equal(strlen(open[*depth - 1]), size);
		assert_memory_equal(open[--*depth], name, size);
	} else if (end[-1] != '/') {
		assert_true(*depth < 30);
		snprintf(open[(*depth)++], 32, "%.*s", (int)size, name);
	}
	return end + 1;
}

static void assert_well_formed(const char *xml)
{
	const char *c = strstr(xml, "?>");
	char open[32][32];
	int depth = 0;

	assert_int_equal(strncmp(xml, "<?xml ", 6), 0);
	for (const uint8_t *u = (const uint8_t *)xml; *u;)
		u += xml_character(u);
	for (c += 2; *c;) {
		if (strncmp(c, "<![CDATA[", 9) == 0) {
			c = strstr(c, "]]>");
			assert_non_null(c);
			c += 3;
		} else if (*c == '<') {
			c = xml_tag(c, open, &depth);
		} else if (*c == '&') {
			c = xml_entity(c);
		} else {
			assert_int_not_equal(strncmp(c, "]]>", 3), 0);
			assert_true(depth || isspace((unsigned char)*c));
			c++;
		}
	}
	assert_int_equal(depth, 0);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void the_flame_graph_is_xml(void **state)
{
	struct xf_profile *profile = make_profile();
	char *svg = render(profile, 0);

	(void)state;
	assert_well_formed(svg);
	assert_null(strstr(svg, "<script>alert"));
	assert_non_null(strstr(svg, "&lt;script&gt;alert(1)&lt;/script&gt;"));
	free(svg);
	xf_profile_free(profile);
}

static void folded_lines_add_up(void **state)
{
	struct xf_profile *profile = make_profile();
	char *folded = render(profile, 1);
	uint64_t sum = 0;
	size_t lines = 0;

	(void)state;
	for (char *line = strtok(folded, "\n"); line; line = strtok(NULL, "\n")) {
		char *count = strrchr(line, ' ');
		int separators = 0;

		assert_non_null(count);
		sum += strtoull(count + 1, NULL, 10);
		for (char *c = line; *c; c++) {
			separators += *c == ';';
			assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
		}
		assert_true(separators == 1 || separators == 2);
		lines++;
	}
	assert_int_equal(lines, HOSTILE + 1);
	assert_true(sum == profile->samples);
	free(folded);
	xf_profile_free(profile);
}

static void reports_hold_no_control_bytes(void **state)
{
	struct xf_profile *profile = make_profile();
	char *report = render(profile, 2);

	(void)state;
	for (char *c = report; *c; c++)
		assert_true((unsigned char)*c >= 0x20 || *c == '\n');
	assert_non_null(strstr(report, "Callers of %s%n"));
	free(report);
	xf_profile_free(profile);
}

/* Moves past a JSON string and asserts that nothing in it needs an escape that it lacks. */
static const char *json_string(const char *c)
{
	for (c++; *c != '"'; c++) {
		assert_true((unsigned char)*c >= 0x20);
		if (*c == '\\') {
			c++;
			assert_true(*c == '"' || *c == '\\');
		}
	}
	return c + 1;
}

static void reports_in_json_are_json(void **state)
{
	struct xf_profile *profile = make_profile();
	char *report;
	int depth = 0;

	(void)state;
	profile->samples = profile->counts.xen = UINT64_MAX;
	profile->lost = 1ull << 53;
	profile->skipped = (1ull << 53) - 1;
	report = render(profile, 3);
	for (const char *c = report; *c;) {
		if (*c == '"') {
			c = json_string(c);
			continue;
		}
		depth += *c == '{' || *c == '[';
		depth -= *c == '}' || *c == ']';
		assert_true(depth > 0 || c[1] == 0 || c[1] == '\n');
		c++;
	}
	assert_int_equal(depth, 0);
	assert_non_null(strstr(report, "\"all\":\"18446744073709551615\""));
	assert_non_null(strstr(report, "\"lost\":\"9007199254740992\""));
	assert_non_null(strstr(report, "\"skipped\":9007199254740991"));
	assert_non_null(strstr(report, "\"a&b;c\\\"d'e\""));
	free(report);
	xf_profile_free(profile);
}

static void same_profile_same_bytes(void **state)
{
	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		struct xf_profile *first = make_profile();
		struct xf_profile *second = make_profile();
		char *a = render(first, kind);
		char *b = render(second, kind);

		assert_string_equal(a, b);
		free(a);
		free(b);
		xf_profile_free(first);
		xf_profile_free(second);
	}
}

static char *visible(const char *text, size_t columns)
{
	char *out = NULL;
	size_t size;
	FILE *stream = open_memstream(&out, &size);

	xf_text_write_xml(stream, text, columns);
	fclose(stream);
	return out;
}

static void assert_visible(const char *text, size_t columns, const char *expected)
{
	char *out = visible(text, columns);

	assert_string_equal(out, expected);
	free(out);
}

static void text_is_shown_and_cut(void **state)
{
	char count[32];

	(void)state;
	assert_visible("a<b>\"'&", SIZE_MAX, "a&lt;b&gt;&quot;&#39;&amp;");
	assert_visible("\x01\xff\xe2\x80\xae", SIZE_MAX, "\\x01\\xff\\u202e");
	assert_visible("\xed\xa0\x80", SIZE_MAX, "\\xed\\xa0\\x80");
	assert_visible("abcdef", 6, "abcdef");
	assert_visible("abcdef", 5, "abcd\xe2\x80\xa6");
	assert_visible("abcdef", 1, "\xe2\x80\xa6");
	assert_visible("abcdef", 0, "");
	assert_visible("\xe5\xbe\xae\xe8\xbb\x9f", 3,
	               "\xe5\xbe\xae\xe2\x80\xa6"); /* 2 + 2 columns */
	assert_visible("\x01"
	               "b",
	               3, "\xe2\x80\xa6"); /* an escape is not cut in two */
	assert_int_equal(xf_text_columns("e\xcc\x81\xe5\xbe\xae\x01"), 7);
	assert_string_equal(xf_text_count(0, count), "0");
	assert_string_equal(xf_text_count(999, count), "999");
	assert_string_equal(xf_text_count(1000, count), "1,000");
	assert_string_equal(xf_text_count(UINT64_MAX, count), "18,446,744,073,709,551,615");
	assert_string_equal(xf_text_time(1796011987000000000, count), "2026-11-30 04:13:07 UTC");
	assert_string_equal(xf_text_time(0, count), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_flame_graph_is_xml),
	        cmocka_unit_test(folded_lines_add_up),
	        cmocka_unit_test(reports_hold_no_control_bytes),
	        cmocka_unit_test(reports_in_json_are_json),
	        cmocka_unit_test(same_profile_same_bytes),
	        cmocka_unit_test(text_is_shown_and_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
