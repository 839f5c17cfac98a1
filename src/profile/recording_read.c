// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "profile/grow.h"
#include "profile/kernels.h"
#include "profile/pieces.h"
#include "profile/process_events.h"
#include "profile/unpack.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "recordings are little-endian; records are copied as they lie in memory"
#endif

/* What one recording may unpack to, all chunks together: far above any hypervisor's symbols and
   code, far below what would hurt the reader's machine. */
#define UNPACKED_MAX (256u << 20)
/* Keys of information; the rest is left out, so that replacing keys cannot become quadratic. */
#define INFO_MAX     1024u
#define NANOSECONDS  1000000000ull
#define HEAD_BYTES   16u /* of the file, before its first chunk */

struct pair {
	char *key;
	char *value; /* points into @key's allocation */
};

struct samples {
	const uint8_t *bytes;
	size_t size;
};

struct xf_recording {
	struct xf_recording_state state;
	struct pair *info;
	size_t nr_info;
	struct xf_symbols *symbols;
	struct xf_code *code;
	size_t nr_code;
	struct xf_recording_livepatch *livepatches;
	size_t nr_livepatches;
	struct xf_recording_domain *domains;
	size_t nr_domains;
	struct xf_pcpu_statistics *statistics;
	size_t nr_statistics;
	struct xf_pcpu_skipped *skipped;
	size_t nr_skipped;
	struct xf_kernels kernels;
	struct xf_process_events processes;
	struct xf_user_places user_code;
	struct xf_guest_maps guest_maps;
	struct xf_runstate_spans runstates;
	struct samples *samples;
	size_t nr_samples;
	struct xf_guest_pieces waiting; /* for their sample, while chunks are read */
	uint8_t **unpacked;             /* what code points into */
	size_t nr_unpacked;
	size_t unpacked_bytes;
	uint64_t written_tsc; /* when the file was begun */
	uint64_t start_tsc;   /* when sampling began */
	uint64_t tsc_hz;
};

struct chunk {
	uint32_t type;
	uint32_t flags;
	struct xf_cursor content;
	bool whole;
};

/* ---- Records -----------------------------------------------------------------------------------
 */

static bool is_known(struct xf_record_head head)
{
	return head.type == XF_RECORD_SAMPLE || head.type == XF_RECORD_IDLE ||
	       head.type == XF_RECORD_GUEST_STACK || head.type == XF_RECORD_GUEST_TASK;
}

/* Return: whether decode would take the record, of a known type; looks at no more than its head. */
static bool is_sound(struct xf_record_head head, const uint8_t *bytes)
{
	struct xf_cursor cursor = xf_cursor_over(bytes, head.size);

	if (head.type == XF_RECORD_GUEST_STACK)
		return xf_guest_piece_is_sound(bytes, head.size);
	if (head.type == XF_RECORD_GUEST_TASK)
		return xf_guest_task_is_sound(bytes, head.size);
	if (head.type == XF_RECORD_IDLE)
		return head.size == sizeof(struct xf_idle_record);
	xf_cursor_u32(&cursor);
	return head.size >= XF_SAMPLE_HEAD_BYTES &&
	       head.size <= XF_SAMPLE_HEAD_BYTES + 8 * XF_MAX_WORDS &&
	       (head.size - XF_SAMPLE_HEAD_BYTES) % 8 == 0 && xf_cursor_u16(&cursor) == head.size;
}

/* Keeps what is of a guest until its sample comes. Return: whether it is that; how many have to be
 * left out is added to *@left_out. */
static bool take_of_guest(struct xf_guest_pieces *waiting, struct xf_record_head head,
                          const uint8_t *bytes, uint64_t *left_out)
{
	if (head.type == XF_RECORD_GUEST_STACK)
		*left_out += xf_guest_pieces_add(waiting, bytes, head.size);
	else if (head.type == XF_RECORD_GUEST_TASK)
		*left_out += xf_guest_pieces_add_task(waiting, bytes);
	else
		return false;
	return true;
}

/* Counts what is of guests and goes with no sample. */
static void scan_guest(struct xf_recording *recording, struct xf_record_head head,
                       const uint8_t *bytes)
{
	struct xf_guest_pieces taken;

	if (!take_of_guest(&recording->waiting, head, bytes, &recording->state.stray_stacks) &&
	    head.type == XF_RECORD_SAMPLE)
		recording->state.stray_stacks +=
		        xf_guest_pieces_take(&recording->waiting, bytes, &taken);
}

/* Counts what xf_recording_next will leave out. */
static void scan_records(struct xf_recording *recording, const struct samples *samples, bool whole)
{
	struct xf_cursor cursor = xf_cursor_over(samples->bytes, samples->size);

	while (xf_cursor_left(&cursor)) {
		struct xf_record_head head;
		const uint8_t *bytes;

		head.type = xf_cursor_u16(&cursor);
		head.size = xf_cursor_u16(&cursor);
		bytes = xf_cursor_take(&cursor, head.size);
		if (cursor.failed)
			recording->state.damaged += whole;
		else if (!is_known(head))
			recording->state.unknown_records++;
		else if (!is_sound(head, bytes))
			recording->state.damaged++;
		else
			scan_guest(recording, head, bytes);
	}
}

/* ---- Chunks ---------------------------------------------------------------------------------- */

/* Splits "key=value"; a later pair replaces an earlier one of the same key. */
static int read_pair(struct xf_recording *recording, const char *line, size_t size)
{
	char *copy = strndup(line, size);
	char *equals = copy ? strchr(copy, '=') : NULL;
	struct pair *pair;

	if (!copy)
		return -ENOMEM;
	if (!equals || recording->nr_info >= INFO_MAX) {
		free(copy);
		recording->state.damaged++;
		return 0;
	}
	*equals = 0;
	for (size_t i = 0; i < recording->nr_info; i++) {
		pair = &recording->info[i];
		if (strcmp(pair->key, copy) == 0) {
			free(pair->key);
			*pair = (struct pair){.key = copy, .value = equals + 1};
			return 0;
		}
	}
	pair = XF_GROW(recording->info, recording->nr_info);
	if (!pair) {
		free(copy);
		return -ENOMEM;
	}
	*pair = (struct pair){.key = copy, .value = equals + 1};
	recording->nr_info++;
	return 0;
}

static int read_info(struct xf_recording *recording, struct chunk *chunk)
{
	int code = 0;

	while (!code && xf_cursor_left(&chunk->content)) {
		size_t left = xf_cursor_left(&chunk->content);
		const char *line = (const char *)chunk->content.bytes + chunk->content.position;
		const char *end = memchr(line, '\n', left);

		if (!end) {
			/* Half a line at the end of a file that was cut off is not damage. */
			recording->state.damaged += chunk->whole;
			break;
		}
		xf_cursor_take(&chunk->content, (size_t)(end - line) + 1);
		code = read_pair(recording, line, (size_t)(end - line));
	}
	return code;
}

static int read_symbols(struct xf_recording *recording, struct chunk *chunk)
{
	struct xf_cursor *cursor = &chunk->content;

	while (xf_cursor_left(cursor)) {
		uint64_t address = xf_cursor_u64(cursor);
		uint32_t size = xf_cursor_u32(cursor);
		char type = (char)xf_cursor_u8(cursor);
		const char *name = xf_cursor_string(cursor);

		if (cursor->failed) {
			recording->state.damaged += chunk->whole;
			break;
		}
		if (xf_symbols_add(recording->symbols, address, size, type, name))
			return -ENOMEM;
	}
	return 0;
}

static int read_code(struct xf_recording *recording, struct chunk *chunk)
{
	uint64_t address = xf_cursor_u64(&chunk->content);
	size_t size = xf_cursor_left(&chunk->content);
	struct xf_code *code;

	if (!size || address + size < address) {
		recording->state.damaged += chunk->whole;
		return 0;
	}
	code = XF_GROW(recording->code, recording->nr_code);
	if (!code)
		return -ENOMEM;
	*code = (struct xf_code){
	        .address = address, .bytes = xf_cursor_take(&chunk->content, size), .size = size};
	recording->nr_code++;
	return 0;
}

static int read_livepatch(struct xf_recording *recording, struct chunk *chunk)
{
	struct xf_recording_livepatch read = {.address = xf_cursor_u64(&chunk->content),
	                                      .size = xf_cursor_u64(&chunk->content),
	                                      .name = xf_cursor_string(&chunk->content)};
	struct xf_recording_livepatch *livepatch;

	if (chunk->content.failed || read.address + read.size < read.address) {
		recording->state.damaged += chunk->whole;
		return 0;
	}
	livepatch = XF_GROW(recording->livepatches, recording->nr_livepatches);
	if (!livepatch)
		return -ENOMEM;
	*livepatch = read;
	recording->nr_livepatches++;
	return 0;
}

static int read_domain(struct xf_recording *recording, struct chunk *chunk)
{
	struct xf_cursor *cursor = &chunk->content;
	struct xf_recording_domain read = {0};
	struct xf_recording_domain *domain;
	uint8_t type;

	read.domid = xf_cursor_u16(cursor);
	type = xf_cursor_u8(cursor);
	read.type = type <= XF_DOMAIN_HVM ? type : XF_DOMAIN_UNKNOWN;
	xf_cursor_take(cursor, 5);
	read.tsc = xf_cursor_u64(cursor);
	read.name = xf_cursor_string(cursor);
	read.uuid = xf_cursor_string(cursor);
	if (cursor->failed) {
		recording->state.damaged += chunk->whole;
		return 0;
	}
	domain = XF_GROW(recording->domains, recording->nr_domains);
	if (!domain)
		return -ENOMEM;
	*domain = read;
	recording->nr_domains++;
	return 0;
}

static int read_samples(struct xf_recording *recording, struct chunk *chunk)
{
	size_t size = xf_cursor_left(&chunk->content);
	struct samples *samples;

	if (!size)
		return 0;
	samples = XF_GROW(recording->samples, recording->nr_samples);
	if (!samples)
		return -ENOMEM;
	*samples = (struct samples){.bytes = xf_cursor_take(&chunk->content, size), .size = size};
	recording->nr_samples++;
	scan_records(recording, samples, chunk->whole);
	return 0;
}

/* A table of entries of @entry bytes takes the place of the one before. */
static int read_table(struct xf_recording *recording, struct chunk *chunk, size_t entry,
                      void **table, size_t *nr)
{
	size_t size = xf_cursor_left(&chunk->content);
	void *read;

	if (!chunk->whole)
		return 0; /* the earlier ones still hold */
	if (!size || size % entry) {
		recording->state.damaged++;
		return 0;
	}
	read = malloc(size);
	if (!read)
		return -ENOMEM;
	memcpy(read, xf_cursor_take(&chunk->content, size), size);
	free(*table);
	*table = read;
	*nr = size / entry;
	return 0;
}

static int read_statistics(struct xf_recording *recording, struct chunk *chunk)
{
	return read_table(recording, chunk, sizeof(*recording->statistics),
	                  (void **)&recording->statistics, &recording->nr_statistics);
}

static int read_skipped(struct xf_recording *recording, struct chunk *chunk)
{
	return read_table(recording, chunk, sizeof(*recording->skipped),
	                  (void **)&recording->skipped, &recording->nr_skipped);
}

/* @code is of a reader that keeps what makes sense. */
static int count_damage(struct xf_recording *recording, const struct chunk *chunk, int code)
{
	if (code != -EBADMSG)
		return code;
	recording->state.damaged += chunk->whole;
	return 0;
}

static int read_kernel(struct xf_recording *recording, struct chunk *chunk)
{
	return count_damage(recording, chunk,
	                    xf_kernels_read(&recording->kernels, chunk->type, chunk->content));
}

static int read_user_code(struct xf_recording *recording, struct chunk *chunk)
{
	return count_damage(recording, chunk,
	                    xf_user_code_read(&recording->user_code, chunk->content));
}

static int read_guest_maps(struct xf_recording *recording, struct chunk *chunk)
{
	return count_damage(recording, chunk,
	                    xf_guest_maps_read(&recording->guest_maps, chunk->content));
}

static int read_runstates(struct xf_recording *recording, struct chunk *chunk)
{
	return count_damage(recording, chunk,
	                    xf_runstate_spans_read(&recording->runstates, chunk->content));
}

static int read_processes(struct xf_recording *recording, struct chunk *chunk)
{
	return count_damage(
	        recording, chunk,
	        xf_process_events_read(&recording->processes, chunk->type, chunk->content));
}

/* Replaces the chunk's compressed content by what it unpacks to. Damage in the middle leaves what
   came before it. */
static int unpack(struct xf_recording *recording, struct chunk *chunk)
{
	uint8_t **slot = XF_GROW(recording->unpacked, recording->nr_unpacked);
	size_t room = UNPACKED_MAX - recording->unpacked_bytes, size = 0, allocated = 0;
	bool whole = false;
	int code;

	if (!slot)
		return -ENOMEM;
	recording->nr_unpacked++;
	code = xf_unpack(&chunk->content, room, slot, &size, &allocated, &whole);
	recording->state.damaged += !whole && chunk->whole;
	recording->unpacked_bytes += allocated;
	chunk->whole = chunk->whole && whole;
	chunk->content = xf_cursor_over(*slot, size);
	return code;
}

static int read_chunk(struct xf_recording *recording, struct chunk *chunk)
{
	static int (*const readers[])(struct xf_recording *, struct chunk *) = {
	        [XF_CHUNK_INFO] = read_info,
	        [XF_CHUNK_SYMBOLS] = read_symbols,
	        [XF_CHUNK_CODE] = read_code,
	        [XF_CHUNK_DOMAIN] = read_domain,
	        [XF_CHUNK_SAMPLES] = read_samples,
	        [XF_CHUNK_STATISTICS] = read_statistics,
	        [XF_CHUNK_LIVEPATCH] = read_livepatch,
	        [XF_CHUNK_SKIPPED] = read_skipped,
	        [XF_CHUNK_KERNEL] = read_kernel,
	        [XF_CHUNK_KERNEL_SYMBOLS] = read_kernel,
	        [XF_CHUNK_KERNEL_CODE] = read_kernel,
	        [XF_CHUNK_KERNEL_ORC] = read_kernel,
	        [XF_CHUNK_KERNEL_OF] = read_kernel,
	        [XF_CHUNK_CLOCK] = read_processes,
	        [XF_CHUNK_PROCESSES] = read_processes,
	        [XF_CHUNK_SWITCHES] = read_processes,
	        [XF_CHUNK_USER_CODE] = read_user_code,
	        [XF_CHUNK_RUNSTATES] = read_runstates,
	        [XF_CHUNK_GUEST_MAPS] = read_guest_maps,
	};
	int code = 0;

	if (chunk->type == XF_CHUNK_END) {
		recording->state.closed = chunk->whole;
		return 0;
	}
	if (chunk->type >= sizeof(readers) / sizeof(readers[0]) || !readers[chunk->type] ||
	    (chunk->flags & ~(uint32_t)XF_CHUNK_ZSTD)) {
		recording->state.unknown_chunks++;
		return 0;
	}
	if (chunk->flags & XF_CHUNK_ZSTD)
		code = unpack(recording, chunk);
	return code ? code : readers[chunk->type](recording, chunk);
}

static int read_chunks(struct xf_recording *recording, struct xf_cursor *cursor)
{
	int code = 0;

	while (!code && xf_cursor_left(cursor)) {
		struct chunk chunk = {.type = xf_cursor_u32(cursor),
		                      .flags = xf_cursor_u32(cursor)};
		uint64_t size = xf_cursor_u64(cursor);

		if (cursor->failed) {
			recording->state.truncated = true;
			break;
		}
		chunk.whole = size <= xf_cursor_left(cursor);
		if (!chunk.whole) {
			recording->state.truncated = true;
			size = xf_cursor_left(cursor);
		}
		chunk.content = xf_cursor_sub(cursor, (size_t)size);
		code = read_chunk(recording, &chunk);
	}
	return code;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static int check_magic(struct xf_cursor *cursor, struct xf_error *error)
{
	size_t size = cursor->size < 8 ? cursor->size : 8;
	const uint8_t *magic = xf_cursor_take(cursor, size);
	uint32_t version = xf_cursor_u32(cursor);

	xf_cursor_u32(cursor);
	if (memcmp(magic, XF_FILE_MAGIC, size) != 0)
		return xf_fail(error, -EBADMSG, "this is not a recording made by xenflame record");
	if (cursor->failed)
		return xf_fail(error, -EBADMSG,
		               "the recording was cut off within its first 16 bytes");
	if (version != XF_FILE_VERSION)
		return xf_fail(error, -EPROTONOSUPPORT,
		               "the recording has format version %" PRIu32
		               ", this xenflame reads version %u: use the release that recorded it",
		               version, XF_FILE_VERSION);
	return 0;
}

int xf_recording_recognize(const void *bytes, size_t size, struct xf_error *error)
{
	struct xf_cursor cursor = xf_cursor_over(bytes, size);

	if (!size)
		return xf_fail(error, -EBADMSG, "the file is empty: nothing was recorded");
	return check_magic(&cursor, error);
}

static int compare_domains(const void *left, const void *right)
{
	const struct xf_recording_domain *a = left;
	const struct xf_recording_domain *b = right;

	if (a->domid != b->domid)
		return a->domid < b->domid ? -1 : 1;
	if (a->tsc != b->tsc)
		return a->tsc < b->tsc ? -1 : 1;
	/* Of two entries for one moment the later one in the file holds; names lie in the order of
	   the file. */
	return a->name < b->name ? -1 : a->name > b->name;
}

int xf_recording_open(const void *bytes, size_t size, struct xf_recording **recording,
                      struct xf_error *error)
{
	struct xf_cursor cursor = xf_cursor_over(bytes, size);
	struct xf_recording *made;
	int code = xf_recording_recognize(bytes, size, error);

	if (code)
		return code;
	xf_cursor_take(&cursor, HEAD_BYTES);
	made = calloc(1, sizeof(*made));
	if (!made)
		return xf_fail(error, -ENOMEM, "no memory to read the recording");
	made->symbols = xf_symbols_new();
	code = made->symbols ? read_chunks(made, &cursor) : -ENOMEM;
	if (code) {
		xf_recording_free(made);
		return xf_fail(error, code, "no memory to read the recording");
	}
	xf_symbols_finish(made->symbols);
	xf_kernels_finish(&made->kernels);
	xf_process_events_finish(&made->processes);
	xf_user_code_finish(&made->user_code);
	xf_guest_maps_finish(&made->guest_maps);
	made->state.damaged += xf_runstate_spans_finish(&made->runstates);
	if (made->nr_domains)
		qsort(made->domains, made->nr_domains, sizeof(*made->domains), compare_domains);
	made->written_tsc = xf_recording_info_number(made, "start.tsc", 0);
	made->start_tsc = xf_recording_info_number(made, "sampling.start.tsc", made->written_tsc);
	made->tsc_hz = xf_recording_info_number(made, "tsc.hz", NANOSECONDS);
	if (!made->tsc_hz)
		made->tsc_hz = NANOSECONDS;
	*recording = made;
	return 0;
}

void xf_recording_free(struct xf_recording *recording)
{
	if (!recording)
		return;
	for (size_t i = 0; i < recording->nr_info; i++)
		free(recording->info[i].key);
	for (size_t i = 0; i < recording->nr_unpacked; i++)
		free(recording->unpacked[i]);
	free(recording->info);
	free(recording->unpacked);
	free(recording->code);
	free(recording->livepatches);
	free(recording->domains);
	free(recording->statistics);
	free(recording->skipped);
	xf_kernels_free(&recording->kernels);
	xf_process_events_free(&recording->processes);
	xf_user_code_free(&recording->user_code);
	xf_guest_maps_free(&recording->guest_maps);
	xf_runstate_spans_free(&recording->runstates);
	free(recording->samples);
	xf_symbols_free(recording->symbols);
	free(recording);
}

/* ---- Looking things up ----------------------------------------------------------------------- */

struct xf_recording_state xf_recording_state(const struct xf_recording *recording)
{
	return recording->state;
}

const char *xf_recording_info(const struct xf_recording *recording, const char *key)
{
	for (size_t i = 0; i < recording->nr_info; i++) {
		if (strcmp(recording->info[i].key, key) == 0)
			return recording->info[i].value;
	}
	return NULL;
}

uint64_t xf_recording_info_number(const struct xf_recording *recording, const char *key,
                                  uint64_t otherwise)
{
	const char *value = xf_recording_info(recording, key);
	int base = value && value[0] == '0' && (value[1] == 'x' || value[1] == 'X') ? 16 : 10;
	unsigned long long number;
	char *end;

	if (!value || value[0] < '0' || value[0] > '9')
		return otherwise;
	errno = 0;
	number = strtoull(value, &end, base);
	return errno || *end ? otherwise : number;
}

const struct xf_symbols *xf_recording_symbols(const struct xf_recording *recording)
{
	return recording->symbols;
}

const struct xf_code *xf_recording_code(const struct xf_recording *recording, size_t *nr)
{
	*nr = recording->nr_code;
	return recording->code;
}

const struct xf_recording_livepatch *xf_recording_livepatches(const struct xf_recording *recording,
                                                              size_t *nr)
{
	*nr = recording->nr_livepatches;
	return recording->livepatches;
}

const struct xf_recording_domain *xf_recording_domain(const struct xf_recording *recording,
                                                      uint16_t domid, uint64_t tsc)
{
	size_t low = 0;
	size_t high = recording->nr_domains;

	/* @low becomes the number of entries at or before (domid, tsc). */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct xf_recording_domain *domain = &recording->domains[middle];

		if (domain->domid < domid || (domain->domid == domid && domain->tsc <= tsc))
			low = middle + 1;
		else
			high = middle;
	}
	if (low && recording->domains[low - 1].domid == domid)
		return &recording->domains[low - 1];
	if (low < recording->nr_domains && recording->domains[low].domid == domid)
		return &recording->domains[low];
	return NULL;
}

const struct xf_recording_domain *xf_recording_domains(const struct xf_recording *recording,
                                                       size_t *nr)
{
	*nr = recording->nr_domains;
	return recording->domains;
}

const struct xf_pcpu_statistics *xf_recording_statistics(const struct xf_recording *recording,
                                                         size_t *nr)
{
	*nr = recording->nr_statistics;
	return recording->statistics;
}

const struct xf_pcpu_skipped *xf_recording_skipped(const struct xf_recording *recording, size_t *nr)
{
	*nr = recording->nr_skipped;
	return recording->skipped;
}

const struct xf_kernels *xf_recording_kernels(const struct xf_recording *recording)
{
	return &recording->kernels;
}

const struct xf_process_events *xf_recording_processes(const struct xf_recording *recording)
{
	return &recording->processes;
}

const struct xf_guest_maps *xf_recording_guest_maps(const struct xf_recording *recording)
{
	return &recording->guest_maps;
}

const struct xf_user_places *xf_recording_user_code(const struct xf_recording *recording)
{
	return &recording->user_code;
}

const struct xf_runstate_spans *xf_recording_runstates(const struct xf_recording *recording)
{
	return &recording->runstates;
}

uint64_t xf_recording_tsc_hz(const struct xf_recording *recording)
{
	return recording->tsc_hz;
}

/* Nanoseconds from one TSC value to another, 0 where that is the earlier one. */
static uint64_t time_between(const struct xf_recording *recording, uint64_t from, uint64_t to)
{
	uint64_t ticks = to > from ? to - from : 0;

	/* Whole seconds first: the product stays within 64 bits for any TSC below 18 GHz. */
	return ticks / recording->tsc_hz * NANOSECONDS +
	       (uint64_t)((unsigned __int128)(ticks % recording->tsc_hz) * NANOSECONDS /
	                  recording->tsc_hz);
}

uint64_t xf_recording_start_time(const struct xf_recording *recording)
{
	uint64_t written = xf_recording_info_number(recording, "start.time", 0);

	return written ? written + time_between(recording, recording->written_tsc,
	                                        recording->start_tsc)
	               : 0;
}

uint64_t xf_recording_time(const struct xf_recording *recording, uint64_t tsc)
{
	return time_between(recording, recording->start_tsc, tsc);
}

/* Copies a sound record, of a sample or of idle ticks, to where it is aligned. */
static void decode(struct xf_record_iterator *iterator, struct xf_record *record,
                   struct xf_record_head head, const uint8_t *bytes)
{
	record->type = head.type;
	record->raw = bytes;
	record->nr_words = 0;
	record->guest.nr = 0;
	record->guest.task = NULL;
	memcpy(record->storage, bytes, head.size);
	if (head.type != XF_RECORD_SAMPLE)
		return;
	record->nr_words = (head.size - XF_SAMPLE_HEAD_BYTES) / 8;
	if (iterator->waiting.nr || iterator->waiting.task)
		xf_guest_pieces_take(&iterator->waiting, bytes, &record->guest);
}

bool xf_recording_next(const struct xf_recording *recording, struct xf_record_iterator *iterator,
                       struct xf_record *record)
{
	uint64_t left_out = 0; /* counted when the recording was opened */

	while (iterator->chunk < recording->nr_samples) {
		const struct samples *samples = &recording->samples[iterator->chunk];
		struct xf_cursor cursor = xf_cursor_over(samples->bytes, samples->size);
		struct xf_record_head head;
		const uint8_t *bytes;

		xf_cursor_seek(&cursor, iterator->position);
		head.type = xf_cursor_u16(&cursor);
		head.size = xf_cursor_u16(&cursor);
		bytes = xf_cursor_take(&cursor, head.size);
		if (cursor.failed) {
			iterator->chunk++;
			iterator->position = 0;
			continue;
		}
		iterator->position = cursor.position;
		if (!is_known(head) || !is_sound(head, bytes))
			continue;
		if (take_of_guest(&iterator->waiting, head, bytes, &left_out))
			continue;
		decode(iterator, record, head, bytes);
		return true;
	}
	return false;
}

/* Return: whether the value of @key has @domid, or all of them. */
static bool has_domid(const struct xf_recording *recording, const char *key, uint16_t domid)
{
	const char *next = xf_recording_info(recording, key);
	char *end;

	if (!next)
		return false;
	if (strcmp(next, "all") == 0)
		return true;
	for (;; next = end + 1) {
		unsigned long number = strtoul(next, &end, 10);

		if (end != next && number == domid)
			return true;
		if (*end != ',')
			return false;
	}
}

bool xf_recording_reads_guest(const struct xf_recording *recording, uint16_t domid)
{
	return has_domid(recording, "guests", domid);
}

bool xf_recording_reads_tasks(const struct xf_recording *recording, uint16_t domid)
{
	return has_domid(recording, "tasks", domid);
}
