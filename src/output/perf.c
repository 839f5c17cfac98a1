// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The file's layout is that of Linux's tools/perf/Documentation/perf.data-file-format.txt: a
 * header, one event's attributes, records as the kernel writes them, and "features". Symbols are
 * PERF_RECORD_KSYMBOL records, by which the kernel tells perf of code that it makes at run time;
 * or files are mapped as processes map them, and bring their symbols.
 */
#include "output/perf.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "output/perf_images.h"
#include "output/text.h"

#define MAGIC         "PERFILE2"
#define FEATURE_BYTES 32u /* 256 bits */
#define LONGEST_NAME  60000u
#define FRAMES_MAX    8000u /* of a sample: its size has 16 bits */

/* Features that are here, by their bits, in the order in which they are written. */
enum feature {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_ARCH = 6,
	FEATURE_NRCPUS = 7,
	FEATURE_EVENT_DESC = 12,
};
#define FEATURES 7u

struct section {
	uint64_t offset;
	uint64_t size;
};

struct header {
	char magic[8];
	uint64_t size;
	uint64_t attr_size; /* of an attribute with the section of its ids */
	struct section attrs;
	struct section data;
	struct section event_types;
	uint64_t features[FEATURE_BYTES / 8];
};

struct attribute {
	uint8_t attr[PERF_ATTR_SIZE_VER0];
	struct section ids;
};

/* What has no address in Xen's code gets one here, by its frame's number: Linux has no code there.
 */
#define MADE_UP_START XF_PERF_TOO_DEEP
#define MADE_UP_BYTES 256u

/* Where a frame is said to be. */
struct place {
	uint64_t start;   /* of its symbol */
	uint64_t address; /* within it */
};

struct thread {
	uint32_t process;
	uint32_t number;
};

struct writer {
	FILE *out; /* NULL: only the size is asked for */
	uint64_t size;
	const struct xf_profile *profile;
	const struct xf_perf_images *images; /* NULL: names are in the file */
	struct place *places;                /* of each frame */
	struct thread *threads;              /* of each group */
	int code;
};

static void put(struct writer *writer, const void *bytes, size_t size)
{
	writer->size += size;
	if (writer->out)
		fwrite(bytes, 1, size, writer->out);
}

static void put32(struct writer *writer, uint32_t value)
{
	put(writer, &value, sizeof(value));
}

static void put64(struct writer *writer, uint64_t value)
{
	put(writer, &value, sizeof(value));
}

static void put_head(struct writer *writer, uint32_t type, uint16_t misc, size_t size)
{
	struct perf_event_header head = {.type = type, .misc = misc, .size = (uint16_t)size};

	put(writer, &head, sizeof(head));
}

/* @text as people see it, to be freed by the caller; NULL without memory. */
static char *visible(struct writer *writer, const char *text, size_t *size)
{
	char *shown = NULL;
	FILE *out = open_memstream(&shown, size);

	if (out) {
		xf_text_write(out, text, "");
		fclose(out);
	}
	if (!shown)
		writer->code = -ENOMEM;
	else if (*size > LONGEST_NAME)
		shown[ *size = LONGEST_NAME] = 0;
	return shown;
}

/* With a NUL at least, and as many as make the size one of eights. */
static void put_name(struct writer *writer, const char *name, size_t size)
{
	static const char zeroes[8];

	put(writer, name, size);
	put(writer, zeroes, 8 - size % 8);
}

static size_t name_bytes(size_t size)
{
	return size + 8 - size % 8;
}

/* ---- Symbols --------------------------------------------------------------------------------- */

/* The symbol that gave @frame its name; NULL where none did. */
static const struct xf_symbol *symbol_of(const struct xf_profile *profile, struct xf_frame_id frame)
{
	uint64_t address = xf_calltree_address(profile->tree, frame);
	const struct xf_symbol *symbol =
	        address && profile->symbols ? xf_symbols_find(profile->symbols, address) : NULL;

	if (!symbol || strcmp(symbol->name, xf_calltree_name(profile->tree, frame)) != 0)
		return NULL;
	return symbol;
}

static void find_places(struct writer *writer)
{
	const struct xf_profile *profile = writer->profile;

	for (uint32_t i = 1; i < xf_calltree_nr_frames(profile->tree); i++) {
		const struct xf_symbol *symbol = symbol_of(profile, (struct xf_frame_id){i});
		struct place *place = &writer->places[i];

		if (writer->images) {
			place->address = writer->images->addresses[i];
		} else if (symbol) {
			place->start = symbol->address;
			place->address =
			        xf_calltree_address(profile->tree, (struct xf_frame_id){i});
		} else {
			place->start = MADE_UP_START + (uint64_t)i * MADE_UP_BYTES;
			place->address = place->start;
		}
	}
}

static void write_symbol(struct writer *writer, const char *name, uint64_t start, uint64_t end)
{
	uint64_t bytes = end - start;
	uint16_t what[2] = {PERF_RECORD_KSYMBOL_TYPE_OOL, 0};
	size_t size;
	char *shown = visible(writer, name, &size);

	if (!shown)
		return;
	put_head(writer, PERF_RECORD_KSYMBOL, 0, 24 + name_bytes(size));
	put64(writer, start);
	put32(writer, bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX);
	put(writer, what, sizeof(what));
	put_name(writer, shown, size);
	free(shown);
}

struct covered {
	struct place place;
	uint32_t frame;
};

static int compare_places(const void *left, const void *right)
{
	const struct covered *a = left;
	const struct covered *b = right;

	if (a->place.start != b->place.start)
		return a->place.start < b->place.start ? -1 : 1;
	return a->place.address < b->place.address ? -1 : a->place.address > b->place.address;
}

/* Every symbol that is in a stack once. One that covers no more than what is seen of it cannot
   reach into the next. */
static void write_symbols(struct writer *writer)
{
	const struct xf_calltree *tree = writer->profile->tree;
	size_t nr = xf_calltree_nr_frames(tree);
	struct covered *sorted = calloc(nr, sizeof(*sorted));

	if (!sorted) {
		writer->code = -ENOMEM;
		return;
	}
	for (uint32_t i = 1; i < nr; i++)
		sorted[i - 1] = (struct covered){.place = writer->places[i], .frame = i};
	qsort(sorted, nr - 1, sizeof(*sorted), compare_places);
	for (size_t i = 0; i + 1 < nr; i++) {
		const struct covered *last = &sorted[i];

		if (i + 2 < nr && sorted[i + 1].place.start == last->place.start)
			continue;
		write_symbol(writer, xf_calltree_name(tree, (struct xf_frame_id){last->frame}),
		             last->place.start, last->place.address + 1);
	}
	free(sorted);
}

/* ---- Threads and samples --------------------------------------------------------------------- */

/* The number of a domain's process is told from its own, and a vCPU's from both, where vCPUs have
   numbers of a sane size; perf's text has Linux's thread numbers in their place. */
#define VCPUS_OF_A_DOMAIN 10000u

static void number_threads(struct writer *writer)
{
	const struct xf_profile *profile = writer->profile;
	uint32_t most = 0;

	for (size_t i = 0; i < profile->nr_groups; i++)
		most = profile->groups[i].vcpu > most ? profile->groups[i].vcpu : most;
	for (size_t i = 0; i < profile->nr_groups; i++) {
		const struct xf_profile_group *group = &profile->groups[i];
		struct thread *thread = &writer->threads[i];
		bool again = i && group[-1].domain.index == group->domain.index;

		if (most < VCPUS_OF_A_DOMAIN) {
			thread->process = VCPUS_OF_A_DOMAIN * (1u + group->domid);
			thread->number = thread->process + group->vcpu;
			continue;
		}
		thread->process = again ? thread[-1].process : (uint32_t)i + 1;
		thread->number = again && group[-1].vcpu == group->vcpu ? thread[-1].number
		                                                        : (uint32_t)i + 1;
	}
}

static void write_thread(struct writer *writer, const struct xf_profile_group *group,
                         const struct thread *thread)
{
	size_t size;
	char *shown =
	        visible(writer, xf_calltree_name(writer->profile->tree, group->domain), &size);

	if (!shown)
		return;
	put_head(writer, PERF_RECORD_COMM, 0, 16 + name_bytes(size));
	put32(writer, thread->process);
	put32(writer, thread->number);
	put_name(writer, shown, size);
	free(shown);
}

static void write_threads(struct writer *writer)
{
	const struct xf_profile *profile = writer->profile;

	for (size_t i = 0; i < profile->nr_groups; i++) {
		const struct thread *thread = &writer->threads[i];

		if (!i || thread->number != thread[-1].number)
			write_thread(writer, &profile->groups[i], thread);
	}
}

/* ---- Images ---------------------------------------------------------------------------------- */

/* perf takes no longer path. */
#define LONGEST_PATH 4000u

static char *visible_path(struct writer *writer, const char *path, size_t *size)
{
	char *shown = visible(writer, path, size);

	if (shown && *size > LONGEST_PATH)
		shown[ *size = LONGEST_PATH] = 0;
	return shown;
}

static void write_mapping(struct writer *writer, const struct xf_perf_image *image,
                          uint32_t process)
{
	size_t size;
	char *shown = visible_path(writer, image->name, &size);

	if (!shown)
		return;
	put_head(writer, PERF_RECORD_MMAP, PERF_RECORD_MISC_USER, 40 + name_bytes(size));
	put32(writer, process);
	put32(writer, process);
	put64(writer, image->start);
	put64(writer, image->size);
	put64(writer, image->offset);
	put_name(writer, shown, size);
	free(shown);
}

/* Everything in every process: a domain's kernel lies where no other's does. */
static void write_mappings(struct writer *writer)
{
	const struct xf_perf_images *images = writer->images;

	for (size_t i = 0; i < writer->profile->nr_groups; i++) {
		uint32_t process = writer->threads[i].process;

		if (i && process == writer->threads[i - 1].process)
			continue;
		for (size_t k = 0; k < images->nr; k++)
			if (images->images[k].size)
				write_mapping(writer, &images->images[k], process);
	}
}

/* As perf's struct build_id_record has it since Linux 5.12: 20 bytes and how many count. */
#define BUILD_ID_HAS_SIZE (1u << 15)

static void write_build_ids(struct writer *writer)
{
	for (size_t i = 0; writer->images && i < writer->images->nr; i++) {
		const struct xf_perf_image *image = &writer->images->images[i];
		uint8_t id[24] = {0};
		size_t size;
		char *shown;

		if (!image->size)
			continue;
		shown = visible_path(writer, image->name, &size);
		if (!shown)
			return;
		memcpy(id, image->build_id, image->build_id_size);
		id[20] = (uint8_t)image->build_id_size;
		put_head(writer, 0, PERF_RECORD_MISC_USER | BUILD_ID_HAS_SIZE,
		         36 + name_bytes(size));
		put32(writer, UINT32_MAX); /* of the host */
		put(writer, id, sizeof(id));
		put_name(writer, shown, size);
		free(shown);
	}
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* Frames from the innermost. Where a stack does not fit, its last frame says so. */
static void write_sample(struct writer *writer, const struct xf_event *event)
{
	const struct xf_profile *profile = writer->profile;
	const struct xf_profile_group *group = &profile->groups[event->group];
	const struct xf_node *node = xf_calltree_node(profile->tree, event->node);
	bool whole = node->depth <= FRAMES_MAX;
	size_t nr = whole ? node->depth : FRAMES_MAX;
	uint64_t period = xf_profile_nanoseconds(profile, event->count);

	/* Symbols by themselves can only be the kernel's, different images only a process's. */
	put_head(writer, PERF_RECORD_SAMPLE,
	         writer->images ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL,
	         56 + 8 * (nr + 1 + !whole));
	put64(writer, writer->places[node->frame.index].address);
	put32(writer, writer->threads[event->group].process);
	put32(writer, writer->threads[event->group].number);
	put64(writer, event->time + 1); /* perf takes 0 for none */
	put32(writer, group->pcpu);
	put32(writer, 0);
	put64(writer, period ? period : event->count);
	put64(writer, nr + 1 + !whole);
	put64(writer, (uint64_t)(writer->images ? PERF_CONTEXT_USER : PERF_CONTEXT_KERNEL));
	for (size_t i = 0; i < nr; i++) {
		put64(writer, writer->places[node->frame.index].address);
		node = xf_calltree_node(profile->tree, node->parent);
	}
	if (!whole)
		put64(writer, MADE_UP_START);
}

static void write_records(struct writer *writer)
{
	const struct xf_timeline *timeline = &writer->profile->timeline;

	if (writer->images)
		write_mappings(writer);
	else
		write_symbols(writer);
	if (!writer->images && xf_calltree_height(writer->profile->tree) > FRAMES_MAX)
		write_symbol(writer, XF_PERF_TOO_DEEP_NAME, MADE_UP_START, MADE_UP_START + 1);
	write_threads(writer);
	for (size_t i = 0; i < timeline->nr; i++)
		write_sample(writer, &timeline->events[i]);
}

/* ---- Around them ----------------------------------------------------------------------------- */

static void fill_attribute(const struct xf_profile *profile, struct attribute *attribute)
{
	struct perf_event_attr attr = {
	        .type = PERF_TYPE_SOFTWARE,
	        .config = PERF_COUNT_SW_CPU_CLOCK,
	        .size = PERF_ATTR_SIZE_VER0,
	        .sample_freq = profile->frequency,
	        .freq = 1,
	        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
	                       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
	        .comm = 1,
	        /* Otherwise perf would look for Linux's own symbols, and warn. */
	        .exclude_kernel = 1,
	};

	*attribute = (struct attribute){0};
	memcpy(attribute->attr, &attr, sizeof(attribute->attr));
}

/* A feature that is a string: its size, padding included, and its bytes. */
static void put_string(struct writer *writer, const char *text)
{
	size_t size;
	char *shown = visible(writer, text, &size);

	if (!shown)
		return;
	put32(writer, (uint32_t)name_bytes(size));
	put_name(writer, shown, size);
	free(shown);
}

/* One event, without ids. Its name, for perf would make one of the attributes. */
static void write_event_desc(struct writer *writer)
{
	struct attribute attribute;

	fill_attribute(writer->profile, &attribute);
	put32(writer, 1);
	put32(writer, sizeof(attribute.attr));
	put(writer, attribute.attr, sizeof(attribute.attr));
	put32(writer, 0);
	put_string(writer, "cpu-clock");
}

static void write_feature(struct writer *writer, enum feature feature)
{
	char release[128];

	switch (feature) {
	case FEATURE_BUILD_ID:
		write_build_ids(writer);
		break;
	case FEATURE_HOSTNAME:
		put_string(writer, writer->profile->host);
		break;
	case FEATURE_OSRELEASE:
		snprintf(release, sizeof(release), "Xen %.100s", writer->profile->xen_version);
		put_string(writer, release);
		break;
	case FEATURE_VERSION:
		put_string(writer, "xenflame " XF_VERSION);
		break;
	case FEATURE_ARCH:
		put_string(writer, "x86_64");
		break;
	case FEATURE_NRCPUS:
		put32(writer, writer->profile->nr_pcpus); /* online, and available */
		put32(writer, writer->profile->nr_pcpus);
		break;
	case FEATURE_EVENT_DESC:
		write_event_desc(writer);
		break;
	}
}

/* Behind the data: a section for each feature, then the features. */
static void write_features(struct writer *writer)
{
	static const enum feature features[FEATURES] = {
	        FEATURE_BUILD_ID, FEATURE_HOSTNAME, FEATURE_OSRELEASE, FEATURE_VERSION,
	        FEATURE_ARCH,     FEATURE_NRCPUS,   FEATURE_EVENT_DESC};
	size_t first = writer->images ? 0 : 1;
	uint64_t offset = writer->size + (FEATURES - first) * sizeof(struct section);

	for (size_t i = first; i < FEATURES; i++) {
		struct writer counter = {.profile = writer->profile, .images = writer->images};
		struct section section = {.offset = offset};

		write_feature(&counter, features[i]);
		section.size = counter.size;
		offset += counter.size;
		put(writer, &section, sizeof(section));
	}
	for (size_t i = first; i < FEATURES; i++)
		write_feature(writer, features[i]);
}

static void write_head(struct writer *writer, uint64_t data_bytes)
{
	struct header header = {.magic = MAGIC,
	                        .size = sizeof(header),
	                        .attr_size = sizeof(struct attribute),
	                        .attrs = {sizeof(header), sizeof(struct attribute)},
	                        .data = {sizeof(header) + sizeof(struct attribute), data_bytes},
	                        .features = {1u << FEATURE_HOSTNAME | 1u << FEATURE_OSRELEASE |
	                                     1u << FEATURE_VERSION | 1u << FEATURE_ARCH |
	                                     1u << FEATURE_NRCPUS | 1u << FEATURE_EVENT_DESC}};
	struct attribute attribute;

	if (writer->images)
		header.features[0] |= 1u << FEATURE_BUILD_ID;
	fill_attribute(writer->profile, &attribute);
	put(writer, &header, sizeof(header));
	put(writer, &attribute, sizeof(attribute));
}

int xf_perf_write(FILE *out, const struct xf_profile *profile)
{
	return xf_perf_write_images(out, profile, NULL);
}

int xf_perf_write_images(FILE *out, const struct xf_profile *profile,
                         const struct xf_perf_images *images)
{
	struct writer writer = {.profile = profile, .images = images};
	uint64_t data_bytes;

	writer.places = calloc(xf_calltree_nr_frames(profile->tree), sizeof(*writer.places));
	writer.threads = calloc(profile->nr_groups + 1, sizeof(*writer.threads));
	if (!writer.places || !writer.threads) {
		free(writer.places);
		free(writer.threads);
		return -ENOMEM;
	}
	find_places(&writer);
	number_threads(&writer);
	write_records(&writer);
	data_bytes = writer.size;
	writer.size = 0;
	writer.out = out;
	if (!writer.code) {
		write_head(&writer, data_bytes);
		write_records(&writer);
		write_features(&writer);
	}
	free(writer.places);
	free(writer.threads);
	return writer.code;
}
