// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/recording.h"

#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/buffer.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "recordings are little-endian; records are copied as they lie in memory"
#endif

/* A samples chunk is handed to the sink when it has grown to this. */
#define SAMPLES_CHUNK_BYTES (128u << 10)
#define COMPRESSION_LEVEL   3

struct xf_recording_writer {
	struct xf_recording_sink sink;
	struct xf_buffer info;
	struct xf_buffer samples;
	uint64_t written;
	int failed; /* the sink's first error */
};

static int put(struct xf_recording_writer *writer, const void *bytes, size_t size)
{
	if (writer->failed)
		return writer->failed;
	if (!size)
		return 0;
	writer->failed = writer->sink.write(writer->sink.context, bytes, size);
	if (!writer->failed)
		writer->written += size;
	return writer->failed;
}

static int put_chunk(struct xf_recording_writer *writer, enum xf_chunk_type type, uint32_t flags,
                     const void *bytes, size_t size)
{
	struct xf_chunk_head head = {
	        .type = htole32(type), .flags = htole32(flags), .size = htole64(size)};
	int code = put(writer, &head, sizeof(head));

	return code ? code : put(writer, bytes, size);
}

/* Chunks keep the order of the calls: what is buffered goes before any other chunk. */
static int put_chunk_in_order(struct xf_recording_writer *writer, enum xf_chunk_type type,
                              const void *bytes, size_t size)
{
	int code = xf_recording_flush(writer);

	return code ? code : put_chunk(writer, type, 0, bytes, size);
}

int xf_recording_write_bytes(struct xf_recording_writer *writer, enum xf_chunk_type type,
                             const void *bytes, size_t size)
{
	return put_chunk_in_order(writer, type, bytes, size);
}

int xf_recording_write_as_it_is(struct xf_recording_writer *writer,
                                const struct xf_chunk_head *head, const void *bytes)
{
	int code = xf_recording_flush(writer);

	return code ? code : put_chunk(writer, head->type, head->flags, bytes, (size_t)head->size);
}

static int put_compressed(struct xf_recording_writer *writer, enum xf_chunk_type type,
                          const struct xf_buffer *content)
{
	size_t bound = ZSTD_compressBound(content->used);
	void *packed;
	size_t size;
	int code = xf_recording_flush(writer);

	if (code)
		return code;
	packed = malloc(bound);
	if (!packed)
		return -ENOMEM;
	size = ZSTD_compress(packed, bound, content->bytes, content->used, COMPRESSION_LEVEL);
	if (ZSTD_isError(size))
		code = -ENOMEM;
	else
		code = put_chunk(writer, type, XF_CHUNK_ZSTD, packed, size);
	free(packed);
	return code;
}

int xf_recording_writer_new(struct xf_recording_sink sink, struct xf_recording_writer **writer,
                            struct xf_error *error)
{
	uint8_t start[16] = XF_FILE_MAGIC;
	uint32_t version = htole32(XF_FILE_VERSION);
	struct xf_recording_writer *made = calloc(1, sizeof(*made));
	int code;

	if (!made)
		return xf_fail(error, -ENOMEM, "no memory for a recording's writer");
	made->sink = sink;
	memcpy(start + 8, &version, sizeof(version));
	code = put(made, start, sizeof(start));
	if (code) {
		xf_recording_writer_free(made);
		return xf_fail(error, code, "cannot write the recording's first bytes: %s",
		               strerror(-code));
	}
	*writer = made;
	return 0;
}

void xf_recording_writer_free(struct xf_recording_writer *writer)
{
	if (!writer)
		return;
	free(writer->info.bytes);
	free(writer->samples.bytes);
	free(writer);
}

int xf_recording_write_info(struct xf_recording_writer *writer, const char *key, const char *format,
                            ...)
{
	va_list arguments;
	char *line = NULL;
	char *value = NULL;
	int size;
	int code;

	if (writer->failed)
		return writer->failed;
	if (!key[0] || strpbrk(key, "=\n"))
		return -EINVAL;
	va_start(arguments, format);
	size = vasprintf(&value, format, arguments);
	va_end(arguments);
	if (size < 0)
		return -ENOMEM;
	for (char *c = value; *c; c++) {
		if (*c == '\n')
			*c = ' ';
	}
	size = asprintf(&line, "%s=%s\n", key, value);
	free(value);
	if (size < 0)
		return -ENOMEM;
	code = xf_buffer_add(&writer->info, line, (size_t)size);
	free(line);
	return code;
}

static int add_symbols(struct xf_buffer *content, const struct xf_symbols *symbols)
{
	int code = 0;

	for (size_t i = 0; !code && i < xf_symbols_count(symbols); i++) {
		const struct xf_symbol *symbol = xf_symbols_at(symbols, i);
		uint64_t address = htole64(symbol->address);
		uint32_t size = symbol->size > UINT32_MAX ? UINT32_MAX : (uint32_t)symbol->size;

		size = htole32(size);
		code = xf_buffer_add(content, &address, sizeof(address));
		if (!code)
			code = xf_buffer_add(content, &size, sizeof(size));
		if (!code)
			code = xf_buffer_add(content, &symbol->type, 1);
		if (!code)
			code = xf_buffer_add(content, symbol->name, strlen(symbol->name) + 1);
	}
	return code;
}

int xf_recording_write_symbols(struct xf_recording_writer *writer, const struct xf_symbols *symbols)
{
	struct xf_buffer content = {0};
	int code = add_symbols(&content, symbols);

	if (!code)
		code = put_compressed(writer, XF_CHUNK_SYMBOLS, &content);
	free(content.bytes);
	return code;
}

int xf_recording_write_code(struct xf_recording_writer *writer, uint64_t address, const void *bytes,
                            size_t size)
{
	struct xf_buffer content = {0};
	int code;

	address = htole64(address);
	code = xf_buffer_add(&content, &address, sizeof(address));
	if (!code)
		code = xf_buffer_add(&content, bytes, size);
	if (!code)
		code = put_compressed(writer, XF_CHUNK_CODE, &content);
	free(content.bytes);
	return code;
}

int xf_recording_write_livepatch(struct xf_recording_writer *writer,
                                 const struct xf_recording_livepatch *livepatch)
{
	uint64_t range[2] = {htole64(livepatch->address), htole64(livepatch->size)};
	struct xf_buffer content = {0};
	int code = xf_buffer_add(&content, range, sizeof(range));

	if (!code)
		code = xf_buffer_add(&content, livepatch->name, strlen(livepatch->name) + 1);
	if (!code)
		code = put_chunk_in_order(writer, XF_CHUNK_LIVEPATCH, content.bytes, content.used);
	free(content.bytes);
	return code;
}

int xf_recording_write_domain(struct xf_recording_writer *writer,
                              const struct xf_recording_domain *domain)
{
	uint8_t head[16] = {0};
	uint16_t domid = htole16(domain->domid);
	uint64_t tsc = htole64(domain->tsc);
	struct xf_buffer content = {0};
	int code;

	memcpy(head, &domid, sizeof(domid));
	head[2] = (uint8_t)domain->type;
	memcpy(head + 8, &tsc, sizeof(tsc));
	code = xf_buffer_add(&content, head, sizeof(head));
	if (!code)
		code = xf_buffer_add(&content, domain->name, strlen(domain->name) + 1);
	if (!code)
		code = xf_buffer_add(&content, domain->uuid, strlen(domain->uuid) + 1);
	if (!code)
		code = put_chunk_in_order(writer, XF_CHUNK_DOMAIN, content.bytes, content.used);
	free(content.bytes);
	return code;
}

/* ---- Kernels --------------------------------------------------------------------------------- */

static int add_u32(struct xf_buffer *content, uint32_t value)
{
	value = htole32(value);
	return xf_buffer_add(content, &value, sizeof(value));
}

static int add_u64(struct xf_buffer *content, uint64_t value)
{
	value = htole64(value);
	return xf_buffer_add(content, &value, sizeof(value));
}

/* Chunks of a kernel begin with its number and a word that may be of use to them. */
static int begin_kernel(struct xf_buffer *content, uint32_t number, uint32_t word)
{
	int code = number == XF_NO_KERNEL ? -EINVAL : add_u32(content, number);

	return code ? code : add_u32(content, word);
}

static int write_kernel(struct xf_recording_writer *writer, uint32_t number, uint32_t base_after,
                        const char *name)
{
	struct xf_buffer content = {0};
	int code = begin_kernel(&content, number, base_after);

	if (!code)
		code = xf_buffer_add(&content, name, strlen(name) + 1);
	if (!code)
		code = put_chunk_in_order(writer, XF_CHUNK_KERNEL, content.bytes, content.used);
	free(content.bytes);
	return code;
}

int xf_recording_write_kernel(struct xf_recording_writer *writer, uint32_t number, const char *name)
{
	return write_kernel(writer, number, 0, name);
}

int xf_recording_write_kernel_upon(struct xf_recording_writer *writer, uint32_t number,
                                   uint32_t base, const char *name)
{
	return base == XF_NO_KERNEL ? -EINVAL : write_kernel(writer, number, base + 1, name);
}

int xf_recording_write_kernel_symbols(struct xf_recording_writer *writer, uint32_t number,
                                      const struct xf_symbols *symbols)
{
	struct xf_buffer content = {0};
	int code = begin_kernel(&content, number, 0);

	if (!code)
		code = add_symbols(&content, symbols);
	if (!code)
		code = put_compressed(writer, XF_CHUNK_KERNEL_SYMBOLS, &content);
	free(content.bytes);
	return code;
}

int xf_recording_write_kernel_code(struct xf_recording_writer *writer, uint32_t number,
                                   const struct xf_code *code)
{
	struct xf_buffer content = {0};
	int result = begin_kernel(&content, number, 0);

	if (!result)
		result = add_u64(&content, code->address);
	if (!result)
		result = xf_buffer_add(&content, code->bytes, code->size);
	if (!result)
		result = put_compressed(writer, XF_CHUNK_KERNEL_CODE, &content);
	free(content.bytes);
	return result;
}

int xf_recording_write_kernel_orc(struct xf_recording_writer *writer, uint32_t number,
                                  const struct xf_code *code, const struct xf_orc *orc)
{
	size_t header_size = orc->header ? orc->header_size : 0;
	const uint64_t numbers[] = {code->address, code->size, orc->places_address,
	                            orc->places_size};
	struct xf_buffer content = {0};
	int result = begin_kernel(&content, number, (uint32_t)header_size);

	for (size_t i = 0; !result && i < sizeof(numbers) / sizeof(numbers[0]); i++)
		result = add_u64(&content, numbers[i]);
	if (!result)
		result = xf_buffer_add(&content, orc->header, header_size);
	if (!result)
		result = xf_buffer_add(&content, orc->places, orc->places_size);
	if (!result)
		result = xf_buffer_add(&content, orc->entries, orc->entries_size);
	if (!result)
		result = put_compressed(writer, XF_CHUNK_KERNEL_ORC, &content);
	free(content.bytes);
	return result;
}

int xf_recording_write_kernel_of(struct xf_recording_writer *writer,
                                 const struct xf_recording_kernel_of *of)
{
	struct xf_buffer content = {0};
	int code = add_u32(&content, of->domid);

	if (!code)
		code = add_u32(&content, of->kernel);
	if (!code)
		code = add_u64(&content, of->tsc);
	if (!code)
		code = add_u64(&content, of->slide);
	if (!code)
		code = put_chunk_in_order(writer, XF_CHUNK_KERNEL_OF, content.bytes, content.used);
	free(content.bytes);
	return code;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static int flush_samples(struct xf_recording_writer *writer)
{
	int code;

	if (!writer->samples.used)
		return writer->failed;
	code = put_chunk(writer, XF_CHUNK_SAMPLES, 0, writer->samples.bytes, writer->samples.used);
	if (!code)
		writer->samples.used = 0;
	return code;
}

static int add_record(struct xf_recording_writer *writer, enum xf_record_type type,
                      const void *bytes, size_t size)
{
	struct xf_record_head head = {.type = htole16(type), .size = htole16((uint16_t)size)};
	size_t before = writer->samples.used;
	int code = writer->failed;

	if (!code)
		code = xf_buffer_add(&writer->samples, &head, sizeof(head));
	if (!code)
		code = xf_buffer_add(&writer->samples, bytes, size);
	if (code) {
		writer->samples.used = before; /* no half record */
		return code;
	}
	if (writer->samples.used < SAMPLES_CHUNK_BYTES)
		return 0;
	return xf_recording_flush(writer);
}

int xf_recording_write_sample(struct xf_recording_writer *writer, const struct xf_sample *sample)
{
	if (sample->bytes < XF_SAMPLE_HEAD_BYTES ||
	    sample->bytes > XF_SAMPLE_HEAD_BYTES + 8 * XF_MAX_WORDS ||
	    (sample->bytes - XF_SAMPLE_HEAD_BYTES) % 8)
		return -EINVAL;
	return add_record(writer, XF_RECORD_SAMPLE, sample, sample->bytes);
}

int xf_recording_write_guest_stack(struct xf_recording_writer *writer,
                                   const struct xf_guest_stack *stack)
{
	if (stack->bytes < XF_GUEST_HEAD_BYTES ||
	    !xf_guest_piece_is_sound((const uint8_t *)stack, stack->bytes))
		return -EINVAL;
	return add_record(writer, XF_RECORD_GUEST_STACK, stack, stack->bytes);
}

int xf_recording_write_guest_task(struct xf_recording_writer *writer,
                                  const struct xf_guest_task *task)
{
	if (!xf_guest_task_is_sound((const uint8_t *)task, sizeof(*task)))
		return -EINVAL;
	return add_record(writer, XF_RECORD_GUEST_TASK, task, sizeof(*task));
}

int xf_recording_write_idle(struct xf_recording_writer *writer, const struct xf_idle_record *idle)
{
	return add_record(writer, XF_RECORD_IDLE, idle, sizeof(*idle));
}

int xf_recording_write_statistics(struct xf_recording_writer *writer,
                                  const struct xf_pcpu_statistics *statistics, size_t nr)
{
	return put_chunk_in_order(writer, XF_CHUNK_STATISTICS, statistics,
	                          nr * sizeof(*statistics));
}

int xf_recording_write_skipped(struct xf_recording_writer *writer,
                               const struct xf_pcpu_skipped *skipped, size_t nr)
{
	bool any = false;

	for (size_t i = 0; i < nr; i++)
		any = any || skipped[i].ticks;
	if (!any)
		return writer->failed;
	return put_chunk_in_order(writer, XF_CHUNK_SKIPPED, skipped, nr * sizeof(*skipped));
}

int xf_recording_write_runstates(struct xf_recording_writer *writer,
                                 const struct xf_runstate_span *spans, size_t nr)
{
	if (!nr)
		return writer->failed;
	return put_chunk_in_order(writer, XF_CHUNK_RUNSTATES, spans, nr * sizeof(*spans));
}

int xf_recording_write_end(struct xf_recording_writer *writer)
{
	return put_chunk_in_order(writer, XF_CHUNK_END, NULL, 0);
}

int xf_recording_flush(struct xf_recording_writer *writer)
{
	int code = writer->failed;

	if (!code && writer->info.used) {
		code = put_chunk(writer, XF_CHUNK_INFO, 0, writer->info.bytes, writer->info.used);
		if (!code)
			writer->info.used = 0;
	}
	return code ? code : flush_samples(writer);
}

uint64_t xf_recording_written(const struct xf_recording_writer *writer)
{
	return writer->written;
}
