// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/facts.h"
#include "output/gzip.h"
#include "output/protobuf.h"
#include "output/text.h"

/* Fields of the messages of pprof's proto/profile.proto. */
enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
};
enum value_type_field {
	VALUE_TYPE = 1,
	VALUE_UNIT = 2,
};
enum sample_field {
	SAMPLE_LOCATIONS = 1,
	SAMPLE_VALUES = 2,
	SAMPLE_LABEL = 3,
};
enum label_field {
	LABEL_KEY = 1,
	LABEL_STRING = 2,
};
enum mapping_field {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_END = 3,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
};
enum location_field {
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
};
enum line_field {
	LINE_FUNCTION = 1,
};
enum function_field {
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
};

struct writer {
	const struct xf_profile *profile;
	struct xf_gzip *gzip;
	struct xf_calltree *strings; /* the names of its frames; number 0 is "" */
	struct xf_message message;   /* that is written next ... */
	struct xf_message inner;     /* ... and one in it */
	int code;
};

/* Hands the message over as a field of the profile, which is nothing but such fields. */
static void flush(struct writer *writer, uint32_t field)
{
	struct xf_message head = {0};

	xf_message_number(&head, field << 3 | 2);
	xf_message_number(&head, writer->message.size);
	xf_gzip_write(writer->gzip, head.bytes, head.size);
	xf_gzip_write(writer->gzip, writer->message.bytes, writer->message.size);
	if (head.failed || writer->message.failed || writer->inner.failed)
		writer->code = -ENOMEM;
	xf_message_free(&head);
	xf_message_clear(&writer->message);
}

static void write_number(struct writer *writer, uint32_t field, uint64_t value)
{
	xf_message_put(&writer->message, field, value);
	xf_gzip_write(writer->gzip, writer->message.bytes, writer->message.size);
	xf_message_clear(&writer->message);
}

/* The number of @text, as people see it, among the strings. */
static uint32_t string(struct writer *writer, const char *text)
{
	struct xf_frame_id id = {0};
	char *visible = NULL;
	size_t size;
	FILE *out = open_memstream(&visible, &size);

	if (!out) {
		writer->code = -ENOMEM;
		return 0;
	}
	xf_text_write(out, text, "");
	fclose(out);
	if (!visible || xf_calltree_frame(writer->strings, XF_FRAME_ROOT, visible, &id))
		writer->code = -ENOMEM;
	free(visible);
	return id.index;
}

/* The format's numbers have a sign. */
static uint64_t signed_most(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : value;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static void write_type(struct writer *writer, uint32_t field, const char *type, const char *unit)
{
	xf_message_put(&writer->message, VALUE_TYPE, string(writer, type));
	xf_message_put(&writer->message, VALUE_UNIT, string(writer, unit));
	flush(writer, field);
}

static void put_label(struct writer *writer, const char *key, uint32_t value)
{
	xf_message_clear(&writer->inner);
	xf_message_put(&writer->inner, LABEL_KEY, string(writer, key));
	xf_message_put(&writer->inner, LABEL_STRING, value);
	xf_message_put_message(&writer->message, SAMPLE_LABEL, &writer->inner);
}

/* As words: pprof does not match plain numbers with labels that are strings, and takes numbers that
   are 0 for none. */
static void put_labels(struct writer *writer, const struct xf_profile_group *group)
{
	char text[32];

	put_label(writer, "domain",
	          string(writer, xf_calltree_name(writer->profile->tree, group->domain)));
	snprintf(text, sizeof(text), "vCPU %" PRIu32, group->vcpu);
	put_label(writer, "vcpu", string(writer, text));
	snprintf(text, sizeof(text), "pCPU %" PRIu32, group->pcpu);
	put_label(writer, "pcpu", string(writer, text));
}

/* @group: whose samples they are, NULL where nobody knows. Locations go from the innermost. */
static void write_sample(struct writer *writer, struct xf_node_id node, uint64_t count,
                         const struct xf_profile_group *group)
{
	const struct xf_profile *profile = writer->profile;

	xf_message_clear(&writer->inner);
	while (node.index) {
		const struct xf_node *frame = xf_calltree_node(profile->tree, node);

		xf_message_number(&writer->inner, frame->frame.index);
		node = frame->parent;
	}
	xf_message_put_message(&writer->message, SAMPLE_LOCATIONS, &writer->inner);
	xf_message_clear(&writer->inner);
	xf_message_number(&writer->inner, signed_most(count));
	if (profile->frequency)
		xf_message_number(&writer->inner,
		                  signed_most(xf_profile_nanoseconds(profile, count)));
	xf_message_put_message(&writer->message, SAMPLE_VALUES, &writer->inner);
	if (group)
		put_labels(writer, group);
	flush(writer, PROFILE_SAMPLE);
}

static int compare_places(const void *left, const void *right)
{
	const struct xf_event *a = left;
	const struct xf_event *b = right;

	if (a->node.index != b->node.index)
		return a->node.index < b->node.index ? -1 : 1;
	return a->group < b->group ? -1 : a->group > b->group;
}

/* Those of one stack and owner become one. */
static void write_timed(struct writer *writer)
{
	const struct xf_profile *profile = writer->profile;
	size_t nr = profile->timeline.nr;
	struct xf_event *sorted = calloc(nr + 1, sizeof(*sorted));

	if (!sorted) {
		writer->code = -ENOMEM;
		return;
	}
	memcpy(sorted, profile->timeline.events, nr * sizeof(*sorted));
	qsort(sorted, nr, sizeof(*sorted), compare_places);
	for (size_t i = 0; i < nr; i++) {
		uint64_t count = sorted[i].count;

		for (; i + 1 < nr && !compare_places(&sorted[i], &sorted[i + 1]); i++)
			count += sorted[i + 1].count;
		write_sample(writer, sorted[i].node, count, &profile->groups[sorted[i].group]);
	}
	free(sorted);
}

static void write_samples(struct writer *writer)
{
	const struct xf_calltree *tree = writer->profile->tree;

	if (writer->profile->timeline.nr) {
		write_timed(writer);
		return;
	}
	for (uint32_t i = 1; i < xf_calltree_nr_nodes(tree); i++) {
		uint64_t self = xf_calltree_node(tree, (struct xf_node_id){i})->self;

		if (self)
			write_sample(writer, (struct xf_node_id){i}, self, NULL);
	}
}

/* ---- Code ------------------------------------------------------------------------------------ */

static void write_mappings(struct writer *writer)
{
	for (size_t i = 0; i < writer->profile->nr_images; i++) {
		const struct xf_profile_image *image = &writer->profile->images[i];

		xf_message_put(&writer->message, MAPPING_ID, i + 1);
		xf_message_put(&writer->message, MAPPING_START, image->start);
		xf_message_put(&writer->message, MAPPING_END, image->end);
		xf_message_put(&writer->message, MAPPING_FILE, string(writer, image->name));
		xf_message_put(&writer->message, MAPPING_BUILD_ID, string(writer, image->build_id));
		/* There is nothing to look up. */
		xf_message_put(&writer->message, MAPPING_HAS_FUNCTIONS, 1);
		flush(writer, PROFILE_MAPPING);
	}
}

/* A location is a frame. Frames of one name are one function: its number is that of its name, plus
   one since that of "" is 0. */
static void write_location(struct writer *writer, struct xf_frame_id frame)
{
	const struct xf_profile *profile = writer->profile;
	uint64_t address = xf_calltree_address(profile->tree, frame);
	const struct xf_profile_image *image = xf_profile_image(profile, address);
	uint32_t name = string(writer, xf_calltree_name(profile->tree, frame));

	xf_message_put(&writer->message, LOCATION_ID, frame.index);
	if (image)
		xf_message_put(&writer->message, LOCATION_MAPPING,
		               (uint64_t)(image - profile->images) + 1);
	xf_message_put(&writer->message, LOCATION_ADDRESS, address);
	xf_message_clear(&writer->inner);
	xf_message_put(&writer->inner, LINE_FUNCTION, name + 1ull);
	xf_message_put_message(&writer->message, LOCATION_LINE, &writer->inner);
	flush(writer, PROFILE_LOCATION);
}

/* Without a system name: pprof takes a name that is the system's for a C++ one, and shortens what
   looks like template arguments. */
static void write_function(struct writer *writer, uint32_t name)
{
	xf_message_put(&writer->message, FUNCTION_ID, name + 1ull);
	xf_message_put(&writer->message, FUNCTION_NAME, name);
	flush(writer, PROFILE_FUNCTION);
}

static void write_code(struct writer *writer)
{
	const struct xf_calltree *tree = writer->profile->tree;
	size_t nr = xf_calltree_nr_frames(tree);
	bool *written;

	write_mappings(writer);
	for (uint32_t i = 1; i < nr; i++)
		write_location(writer, (struct xf_frame_id){i});
	/* Every name is among the strings by now. */
	written = calloc(xf_calltree_nr_frames(writer->strings), sizeof(*written));
	if (!written) {
		writer->code = -ENOMEM;
		return;
	}
	for (uint32_t i = 1; i < nr; i++) {
		uint32_t name = string(writer, xf_calltree_name(tree, (struct xf_frame_id){i}));

		if (!written[name])
			write_function(writer, name);
		written[name] = true;
	}
	free(written);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void write_comments(struct writer *writer)
{
	struct xf_facts facts;

	xf_facts_of(writer->profile, &facts);
	write_number(writer, PROFILE_COMMENT, string(writer, facts.host));
	write_number(writer, PROFILE_COMMENT, string(writer, facts.recorded));
	write_number(writer, PROFILE_COMMENT, string(writer, facts.samples));
	write_number(writer, PROFILE_COMMENT, string(writer, facts.quality));
}

static void write_strings(struct writer *writer)
{
	for (uint32_t i = 0; i < xf_calltree_nr_frames(writer->strings); i++) {
		const char *text = xf_calltree_name(writer->strings, (struct xf_frame_id){i});
		struct xf_message field = {0};

		xf_message_put_bytes(&field, PROFILE_STRING, text, strlen(text));
		xf_gzip_write(writer->gzip, field.bytes, field.size);
		if (field.failed)
			writer->code = -ENOMEM;
		xf_message_free(&field);
	}
}

static void write_profile(struct writer *writer)
{
	const struct xf_profile *profile = writer->profile;

	write_type(writer, PROFILE_SAMPLE_TYPE, "samples", "count");
	if (profile->frequency)
		write_type(writer, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
	write_samples(writer);
	write_code(writer);
	write_number(writer, PROFILE_TIME, signed_most(profile->start_time));
	write_number(writer, PROFILE_DURATION, signed_most(profile->duration));
	if (profile->frequency) {
		write_type(writer, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
		write_number(writer, PROFILE_PERIOD, xf_profile_nanoseconds(profile, 1));
	}
	write_comments(writer);
	write_strings(writer);
}

int xf_pprof_write(FILE *out, const struct xf_profile *profile)
{
	struct writer writer = {
	        .profile = profile, .gzip = xf_gzip_new(out), .strings = xf_calltree_new()};

	if (!writer.gzip || !writer.strings)
		writer.code = -ENOMEM;
	else
		write_profile(&writer);
	if (writer.gzip)
		xf_gzip_end(writer.gzip);
	xf_message_free(&writer.message);
	xf_message_free(&writer.inner);
	xf_calltree_free(writer.strings);
	return writer.code;
}
