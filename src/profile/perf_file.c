// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/perf_file.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define PIPE_HEADER_BYTES 16u
#define RECORD_HEAD_BYTES 8u
#define SECTION_BYTES     16u
#define EVENTS_MAX        65536u
#define FEATURES_MAX      256u

/* perf's own types of records, and its features. */
enum {
	TYPE_LOST = 2,
	TYPE_LOST_SAMPLES = 13,
	TYPE_ATTRIBUTES = 64,
	TYPE_TRACING_DATA = 66,
	TYPE_BUILD_ID = 67,
	TYPE_AUXTRACE = 71,
	TYPE_FEATURE = 80,
	TYPE_COMPRESSED = 81,
	TYPE_COMPRESSED2 = 83,
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
};

/* What an identity is made of, at the end of records that are no samples. */
#define IDENTITY                                                                                   \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |             \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

/* perf packs to a tenth or so. What grows beyond all reason was made to fill the memory. */
#define GROWTH_MAX 1000u

struct event_id {
	uint64_t id;
	uint32_t event;
};

struct reader {
	struct xf_perf_file *file;
	struct xf_cursor cursor; /* over all of the file */
	struct xf_error *error;
	struct event_id *ids;
	size_t nr_ids;
	size_t allocated_ids;
	size_t allocated_records;
	size_t allocated_build_ids;
	size_t allocated_events;
	uint64_t place; /* of the next record, among all */
	ZSTD_DCtx *zstd;
	size_t packed; /* bytes so far */
	size_t used;   /* bytes of the file's @unpacked */
	size_t allocated;
};

/* Return: room for one more of @size bytes in *@array, which may move; NULL without memory. */
static void *one_more(void *array, size_t nr, size_t *allocated, size_t size)
{
	void **pointer = array;
	void *grown;

	if (nr == *allocated) {
		size_t wanted = nr ? nr * 2 : 64;

		grown = reallocarray(*pointer, wanted, size);
		if (!grown)
			return NULL;
		*pointer = grown;
		*allocated = wanted;
	}
	return (uint8_t *)*pointer + nr * size;
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Reads an event's attributes, of which @bytes there are so many. */
static int take_attributes(struct reader *reader, struct xf_cursor attributes)
{
	struct xf_perf_file *file = reader->file;
	struct xf_perf_event *event =
	        one_more(&file->events, file->nr_events, &reader->allocated_events, sizeof(*event));
	uint64_t flags;
	uint32_t type;

	if (!event)
		return -ENOMEM;
	*event = (struct xf_perf_event){0};
	type = xf_cursor_u32(&attributes);
	xf_cursor_u32(&attributes);
	/* perf's "dummy" is there for the records that are no samples. */
	event->samples =
	        type != PERF_TYPE_SOFTWARE || xf_cursor_u64(&attributes) != PERF_COUNT_SW_DUMMY;
	xf_cursor_seek(&attributes, 16);
	event->frequency = xf_cursor_u64(&attributes);
	event->sample_type = xf_cursor_u64(&attributes);
	event->read_format = xf_cursor_u64(&attributes);
	flags = xf_cursor_u64(&attributes);
	if (attributes.failed || file->nr_events == EVENTS_MAX)
		return xf_fail(reader->error, -EBADMSG, "its list of events is damaged");
	/* The flags "freq" and "sample_id_all". */
	if (!(flags >> 10 & 1))
		event->frequency = 0;
	event->id_all = flags >> 18 & 1;
	file->nr_events++;
	return 0;
}

/* @ids are those of the last event. */
static int take_ids(struct reader *reader, struct xf_cursor ids)
{
	while (xf_cursor_left(&ids) >= sizeof(uint64_t)) {
		struct event_id *id =
		        one_more(&reader->ids, reader->nr_ids, &reader->allocated_ids, sizeof(*id));

		if (!id)
			return -ENOMEM;
		*id = (struct event_id){xf_cursor_u64(&ids),
		                        (uint32_t)(reader->file->nr_events - 1)};
		reader->nr_ids++;
	}
	return 0;
}

static int compare_ids(const void *left, const void *right)
{
	const struct event_id *a = left;
	const struct event_id *b = right;

	return a->id < b->id ? -1 : a->id > b->id;
}

/* Events without a way to tell them apart must all have the same in their records. */
static int check_events(struct reader *reader)
{
	struct xf_perf_file *file = reader->file;

	if (!file->nr_events)
		return xf_fail(reader->error, -EBADMSG, "it lists no event");
	for (size_t i = 1; i < file->nr_events; i++) {
		const struct xf_perf_event *event = &file->events[i];

		if (event->sample_type & file->events[0].sample_type & PERF_SAMPLE_IDENTIFIER)
			continue;
		if (event->sample_type != file->events[0].sample_type ||
		    event->read_format != file->events[0].read_format ||
		    event->id_all != file->events[0].id_all)
			return xf_fail(reader->error, -ENOTSUP,
			               "its samples do not say which event they are of; 'perf"
			               " script' may know: give its text to xenflame");
	}
	if (reader->nr_ids)
		qsort(reader->ids, reader->nr_ids, sizeof(*reader->ids), compare_ids);
	return 0;
}

static const struct xf_perf_event *find_event(const struct reader *reader, uint64_t id)
{
	struct event_id wanted = {.id = id};
	const struct event_id *found =
	        reader->nr_ids
	                ? bsearch(&wanted, reader->ids, reader->nr_ids, sizeof(wanted), compare_ids)
	                : NULL;

	return &reader->file->events[found ? found->event : 0];
}

/* ---- Records --------------------------------------------------------------------------------- */

static uint64_t word_at(const uint8_t *bytes)
{
	struct xf_cursor cursor = xf_cursor_over(bytes, sizeof(uint64_t));

	return xf_cursor_u64(&cursor);
}

/* Which event a record is of: that stands at a sample's start and at the others' end. */
static const struct xf_perf_event *event_of(const struct reader *reader,
                                            const struct xf_perf_record *record)
{
	const struct xf_perf_event *first = &reader->file->events[0];
	bool sample = record->type == XF_PERF_SAMPLE;

	if (!(first->sample_type & PERF_SAMPLE_IDENTIFIER) || record->size < sizeof(uint64_t) ||
	    (!sample && !first->id_all))
		return first;
	return find_event(reader,
	                  word_at(record->bytes + (sample ? 0 : record->size - sizeof(uint64_t))));
}

/* So many of the bits @which of @event's are set, each a word in a record. */
static size_t words_of(const struct xf_perf_event *event, uint64_t which)
{
	return 8 * (size_t)__builtin_popcountll(event->sample_type & which);
}

/* When it happened; 0 where that is not known. */
static uint64_t time_of(const struct xf_perf_record *record)
{
	const struct xf_perf_event *event = record->event;
	size_t before = words_of(event, PERF_SAMPLE_TID);
	size_t all = words_of(event, IDENTITY);
	uint64_t time;

	if (!(event->sample_type & PERF_SAMPLE_TIME))
		return 0;
	if (record->type == XF_PERF_SAMPLE)
		before += words_of(event, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP);
	else if (event->id_all && record->size >= all)
		before += record->size - all;
	else
		return 0;
	if (before + sizeof(time) > record->size)
		return 0;
	time = word_at(record->bytes + before);
	return time == UINT64_MAX ? 0 : time;
}

static int keep_record(struct reader *reader, struct xf_perf_record record)
{
	struct xf_perf_file *file = reader->file;
	struct xf_perf_record *kept = one_more(&file->records, file->nr_records,
	                                       &reader->allocated_records, sizeof(*kept));

	if (!kept)
		return -ENOMEM;
	record.place = reader->place++;
	*kept = record;
	file->nr_records++;
	return 0;
}

/* Each of a file's build-ids is a record: its head, a process, 20 bytes, their number, a path. */
static int take_build_id(struct reader *reader, struct xf_cursor content, uint16_t misc)
{
	struct xf_perf_file *file = reader->file;
	struct xf_perf_build_id *build_id;
	const uint8_t *bytes;
	const char *path;

	xf_cursor_take(&content, 4);
	bytes = xf_cursor_take(&content, 24);
	path = xf_cursor_string(&content);
	if (content.failed) {
		file->damaged++;
		return 0;
	}
	build_id = one_more(&file->build_ids, file->nr_build_ids, &reader->allocated_build_ids,
	                    sizeof(*build_id));
	if (!build_id)
		return -ENOMEM;
	*build_id = (struct xf_perf_build_id){path, bytes, 20};
	/* PERF_RECORD_MISC_BUILD_ID_SIZE */
	if (misc >> 15 && bytes[20] <= 20)
		build_id->size = bytes[20];
	file->nr_build_ids++;
	return 0;
}

static void take_host(struct reader *reader, struct xf_cursor content)
{
	xf_cursor_u32(&content);
	reader->file->host = xf_cursor_string(&content);
}

static void count_lost(struct reader *reader, uint32_t type, struct xf_cursor content)
{
	uint64_t lost;

	if (type == TYPE_LOST)
		xf_cursor_u64(&content); /* the event's number */
	lost = xf_cursor_u64(&content);
	if (__builtin_add_overflow(reader->file->lost, lost, &reader->file->lost))
		reader->file->lost = UINT64_MAX;
}

/* Room for what one call of zstd's makes. Return: 0, -EBADMSG or -ENOMEM. */
static int make_room(struct reader *reader)
{
	size_t wanted = ZSTD_DStreamOutSize();
	uint8_t *grown;

	if (reader->used / GROWTH_MAX > reader->packed)
		return xf_fail(reader->error, -EBADMSG,
		               "its packed records are a thousand times as large unpacked: no"
		               " recording is like that");
	if (reader->allocated - reader->used >= wanted)
		return 0;
	wanted += reader->allocated * 2;
	grown = realloc(reader->file->unpacked, wanted);
	if (!grown)
		return -ENOMEM;
	reader->file->unpacked = grown;
	reader->allocated = wanted;
	return 0;
}

/* The packed records are one stream, cut up as it came. */
static int unpack(struct reader *reader, const uint8_t *bytes, size_t size)
{
	ZSTD_inBuffer in = {.src = bytes, .size = size};
	bool full = true;
	int code = 0;

	if (!reader->zstd)
		reader->zstd = ZSTD_createDCtx();
	if (!reader->zstd)
		return -ENOMEM;
	reader->packed += size;
	while (!code && (in.pos < in.size || full)) {
		ZSTD_outBuffer out = {0};
		size_t got;

		code = make_room(reader);
		if (code)
			break;
		out.dst = reader->file->unpacked + reader->used;
		out.size = reader->allocated - reader->used;
		got = ZSTD_decompressStream(reader->zstd, &out, &in);
		if (ZSTD_isError(got))
			code = xf_fail(reader->error, -EBADMSG,
			               "its packed records cannot be unpacked: %s",
			               ZSTD_getErrorName(got));
		reader->used += out.pos;
		full = out.pos == out.size;
	}
	return code;
}

static int take_packed(struct reader *reader, const struct xf_perf_record *record)
{
	struct xf_cursor content = xf_cursor_over(record->bytes, record->size);
	uint64_t size = record->size;

	if (record->type == TYPE_COMPRESSED2)
		size = xf_cursor_u64(&content);
	if (size > xf_cursor_left(&content)) {
		reader->file->damaged++;
		return 0;
	}
	return unpack(reader, record->bytes + content.position, (size_t)size);
}

/* Behind some records stand bytes that are none: so many. */
static uint64_t bytes_behind(const struct xf_perf_record *record)
{
	struct xf_cursor content = xf_cursor_over(record->bytes, record->size);

	if (record->type == TYPE_AUXTRACE)
		return xf_cursor_u64(&content);
	if (record->type == TYPE_TRACING_DATA)
		return ((uint64_t)xf_cursor_u32(&content) + 7) & ~7ull;
	return 0;
}

/* What is only in the stream of a pipe. */
static int take_described(struct reader *reader, const struct xf_perf_record *record)
{
	struct xf_cursor content = xf_cursor_over(record->bytes, record->size);
	int code = 0;

	if (record->type == TYPE_BUILD_ID)
		return take_build_id(reader, content, record->misc);
	if (record->type == TYPE_ATTRIBUTES) {
		struct xf_cursor copy = content;
		uint32_t size;

		xf_cursor_u32(&copy);
		size = xf_cursor_u32(&copy);
		code = take_attributes(reader, content);
		xf_cursor_take(&content, size ? size : PERF_ATTR_SIZE_VER0);
		return code ? code : take_ids(reader, content);
	}
	if (record->type == TYPE_FEATURE && xf_cursor_u64(&content) == FEATURE_HOSTNAME)
		take_host(reader, content);
	return 0;
}

static int take_record(struct reader *reader, const struct xf_perf_record *record)
{
	struct xf_cursor content = xf_cursor_over(record->bytes, record->size);

	switch (record->type) {
	case XF_PERF_MMAP:
	case XF_PERF_MMAP2:
	case XF_PERF_COMM:
	case XF_PERF_FORK:
	case XF_PERF_SAMPLE:
	case XF_PERF_KSYMBOL:
		return keep_record(reader, *record);
	case TYPE_LOST:
	case TYPE_LOST_SAMPLES:
		count_lost(reader, record->type, content);
		return 0;
	case TYPE_COMPRESSED:
	case TYPE_COMPRESSED2:
		return take_packed(reader, record);
	default:
		return take_described(reader, record);
	}
}

/* Return: whether there is another record, in *@record. */
static bool next_record(struct reader *reader, struct xf_cursor *records,
                        struct xf_perf_record *record)
{
	uint32_t size;

	if (!xf_cursor_left(records))
		return false;
	*record = (struct xf_perf_record){.type = xf_cursor_u32(records)};
	record->misc = xf_cursor_u16(records);
	size = xf_cursor_u16(records);
	if (size >= RECORD_HEAD_BYTES)
		record->bytes = xf_cursor_take(records, size - RECORD_HEAD_BYTES);
	if (!record->bytes || records->failed) {
		reader->file->cut = true;
		return false;
	}
	record->size = (uint16_t)(size - RECORD_HEAD_BYTES);
	return true;
}

static int take_records(struct reader *reader, struct xf_cursor records)
{
	struct xf_perf_record record;
	int code = 0;

	while (!code && next_record(reader, &records, &record)) {
		uint64_t behind = bytes_behind(&record);

		code = take_record(reader, &record);
		if (behind > xf_cursor_left(&records)) {
			reader->file->cut = true;
			break;
		}
		xf_cursor_take(&records, (size_t)behind);
	}
	return code;
}

/* What has been unpacked is whole, and does not move any more. */
static int take_unpacked(struct reader *reader)
{
	struct xf_cursor records = xf_cursor_over(reader->file->unpacked, reader->used);
	struct xf_perf_record record;
	int code = 0;

	while (!code && next_record(reader, &records, &record)) {
		/* What perf itself tells is not packed. */
		bool of_the_kernel = record.type < TYPE_ATTRIBUTES;

		code = of_the_kernel ? take_record(reader, &record) : 0;
		reader->file->damaged += !of_the_kernel;
	}
	return code;
}

static int compare_records(const void *left, const void *right)
{
	const struct xf_perf_record *a = left;
	const struct xf_perf_record *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->place < b->place ? -1 : a->place > b->place;
}

static int sort_records(struct reader *reader)
{
	struct xf_perf_file *file = reader->file;
	int code = check_events(reader);

	for (size_t i = 0; !code && i < file->nr_records; i++) {
		file->records[i].event = event_of(reader, &file->records[i]);
		file->records[i].time = time_of(&file->records[i]);
	}
	if (!code && file->nr_records)
		qsort(file->records, file->nr_records, sizeof(*file->records), compare_records);
	return code;
}

/* ---- The file -------------------------------------------------------------------------------- */

struct section {
	uint64_t offset;
	uint64_t size;
};

static struct section read_section(struct xf_cursor *cursor)
{
	struct section section;

	section.offset = xf_cursor_u64(cursor);
	section.size = xf_cursor_u64(cursor);
	return section;
}

/* What of @section is there. */
static struct xf_cursor open_section(struct reader *reader, struct section section)
{
	size_t all = reader->cursor.size;

	if (section.offset > all)
		section.offset = all;
	if (section.size > all - section.offset) {
		reader->file->cut = true;
		section.size = all - section.offset;
	}
	return xf_cursor_over(reader->cursor.bytes + section.offset, (size_t)section.size);
}

static int read_events(struct reader *reader, struct section section, uint64_t entry)
{
	struct xf_cursor list = open_section(reader, section);
	int code = 0;

	if (entry < PERF_ATTR_SIZE_VER0 + SECTION_BYTES || entry > UINT16_MAX)
		return xf_fail(reader->error, -EBADMSG,
		               "its header is damaged: an event's attributes have %" PRIu64
		               " bytes",
		               entry);
	while (!code && xf_cursor_left(&list) >= entry) {
		struct xf_cursor event = xf_cursor_sub(&list, (size_t)entry - SECTION_BYTES);

		code = take_attributes(reader, event);
		if (!code)
			code = take_ids(reader, open_section(reader, read_section(&list)));
	}
	return code;
}

static int read_build_ids(struct reader *reader, struct xf_cursor list)
{
	struct xf_perf_record record;
	int code = 0;

	while (!code && next_record(reader, &list, &record))
		code = take_build_id(reader, xf_cursor_over(record.bytes, record.size),
		                     record.misc);
	return code;
}

/* Behind the data stands a section for each bit of @features that is set. */
static int read_features(struct reader *reader, struct section data, const uint64_t features[4])
{
	struct section all = {data.offset + data.size, UINT64_MAX};
	struct xf_cursor list;
	int code = 0;

	if (all.offset < data.offset || all.offset > reader->cursor.size)
		return 0;
	all.size = reader->cursor.size - all.offset;
	list = open_section(reader, all);
	for (unsigned int i = 0; !code && i < FEATURES_MAX; i++) {
		struct xf_cursor feature;

		if (!(features[i / 64] >> i % 64 & 1))
			continue;
		feature = open_section(reader, read_section(&list));
		if (list.failed)
			break;
		if (i == FEATURE_BUILD_ID)
			code = read_build_ids(reader, feature);
		else if (i == FEATURE_HOSTNAME)
			take_host(reader, feature);
	}
	reader->file->cut = reader->file->cut || list.failed;
	return code;
}

static int read_seekable(struct reader *reader)
{
	struct xf_cursor *cursor = &reader->cursor;
	struct section events, data;
	uint64_t features[4];
	uint64_t entry = xf_cursor_u64(cursor);
	int code;

	events = read_section(cursor);
	data = read_section(cursor);
	read_section(cursor); /* types of events, which are no longer written */
	for (size_t i = 0; i < 4; i++)
		features[i] = xf_cursor_u64(cursor);
	if (cursor->failed)
		return xf_fail(reader->error, -EBADMSG, "it ends within its header");
	if (!data.size) {
		reader->file->unfinished = true;
		data.size = data.offset < cursor->size ? cursor->size - data.offset : 0;
	}
	code = read_events(reader, events, entry);
	if (!code)
		code = take_records(reader, open_section(reader, data));
	return code || reader->file->unfinished ? code : read_features(reader, data, features);
}

int xf_perf_file_open(const void *bytes, size_t size, struct xf_perf_file *file,
                      struct xf_error *error)
{
	struct reader reader = {
	        .file = file, .cursor = xf_cursor_over(bytes, size), .error = error};
	uint64_t header;
	int code;

	*file = (struct xf_perf_file){0};
	xf_cursor_take(&reader.cursor, strlen(XF_PERF_MAGIC));
	header = xf_cursor_u64(&reader.cursor);
	if (header == PIPE_HEADER_BYTES)
		code = take_records(&reader, xf_cursor_over(reader.cursor.bytes + PIPE_HEADER_BYTES,
		                                            size - PIPE_HEADER_BYTES));
	else
		code = read_seekable(&reader);
	if (!code)
		code = take_unpacked(&reader);
	if (!code)
		code = sort_records(&reader);
	ZSTD_freeDCtx(reader.zstd);
	free(reader.ids);
	return code;
}

void xf_perf_file_close(struct xf_perf_file *file)
{
	free(file->events);
	free(file->records);
	free(file->build_ids);
	free(file->unpacked);
	*file = (struct xf_perf_file){0};
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* Skips counters' values. */
static void skip_values(const struct xf_perf_event *event, struct xf_cursor *cursor)
{
	uint64_t format = event->read_format;
	uint64_t nr = format & PERF_FORMAT_GROUP ? xf_cursor_u64(cursor) : 1;
	/* A value, its id, and how many were lost (bit 4). */
	size_t words = 1 + (size_t)__builtin_popcountll(format & (PERF_FORMAT_ID | 1u << 4));

	xf_cursor_take(cursor,
	               8 * (size_t)__builtin_popcountll(format & (PERF_FORMAT_TOTAL_TIME_ENABLED |
	                                                          PERF_FORMAT_TOTAL_TIME_RUNNING)));
	if (nr > xf_cursor_left(cursor))
		cursor->failed = true;
	else
		xf_cursor_take(cursor, (size_t)nr * words * 8);
}

static void read_chain(struct xf_cursor *cursor, struct xf_perf_sample *sample)
{
	uint64_t nr = xf_cursor_u64(cursor);

	if (nr > xf_cursor_left(cursor) / 8) {
		cursor->failed = true;
		return;
	}
	sample->has_chain = nr > 0;
	sample->chain = xf_cursor_sub(cursor, (size_t)nr * 8);
}

bool xf_perf_read_sample(const struct xf_perf_record *record, struct xf_perf_sample *sample)
{
	const struct xf_perf_event *event = record->event;
	struct xf_cursor cursor = xf_cursor_over(record->bytes, record->size);
	uint64_t type = event->sample_type;

	*sample = (struct xf_perf_sample){.user_stack = type & PERF_SAMPLE_STACK_USER};
	xf_cursor_take(&cursor, words_of(event, PERF_SAMPLE_IDENTIFIER));
	if (type & PERF_SAMPLE_IP)
		sample->address = xf_cursor_u64(&cursor);
	if (type & PERF_SAMPLE_TID) {
		sample->pid = xf_cursor_u32(&cursor);
		sample->tid = xf_cursor_u32(&cursor);
	}
	xf_cursor_take(&cursor, words_of(event, PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
	                                                PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID));
	if (type & PERF_SAMPLE_CPU)
		sample->cpu = (uint32_t)xf_cursor_u64(&cursor);
	xf_cursor_take(&cursor, words_of(event, PERF_SAMPLE_PERIOD));
	if (type & PERF_SAMPLE_READ)
		skip_values(event, &cursor);
	if (type & PERF_SAMPLE_CALLCHAIN)
		read_chain(&cursor, sample);
	return !cursor.failed;
}
