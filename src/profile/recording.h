// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A recording, written and read. The bytes are those of profile/format.h. Neither side opens
 * files: a writer is handed a sink, a reader a range of bytes.
 *
 * Writing: every call hands whole chunks to the sink, in order, so that what has reached the disk
 * can be read up to its last byte at any time. Samples and information are buffered; see
 * xf_recording_flush.
 *
 * Reading trusts nothing: lengths are proven, decompression is bounded, unknown chunks are
 * skipped, what is damaged is counted and left out.
 */
#ifndef XF_PROFILE_RECORDING_H
#define XF_PROFILE_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/format.h"
#include "profile/guest_maps.h"
#include "profile/kernels.h"
#include "profile/pieces.h"
#include "profile/process_events.h"
#include "profile/user_code.h"
#include "profile/vcpu_times.h"
#include "symbol/symbols.h"
#include "unwind/unwind.h"
#include "xenflame/sample.h"

/* A domain, from @tsc on. */
struct xf_recording_domain {
	uint16_t domid;
	enum xf_domain_type type;
	uint64_t tsc;
	const char *name; /* never NULL; may be empty */
	const char *uuid; /* never NULL; may be empty */
};

/* A live patch that was loaded during the recording. */
struct xf_recording_livepatch {
	uint64_t address;
	uint64_t size;
	const char *name;
};

/* ---- Writing --------------------------------------------------------------------------------- */

struct xf_recording_sink {
	/* Takes all of @bytes. Return: 0 or a negative errno value. */
	int (*write)(void *context, const void *bytes, size_t size);
	void *context;
};

struct xf_recording_writer;

/*
 * Starts a recording: hands the magic line to @sink, which must outlive the writer.
 * Return: 0 and *@writer, to be freed with xf_recording_writer_free; otherwise the sink's error or
 * -ENOMEM, and @error.
 */
int xf_recording_writer_new(struct xf_recording_sink sink, struct xf_recording_writer **writer,
                            struct xf_error *error);

/* Frees the writer; writes nothing, what is still buffered is gone. */
void xf_recording_writer_free(struct xf_recording_writer *writer);

/*
 * All of the following return 0 or a negative errno value: the sink's, -ENOMEM, or -EINVAL for
 * arguments that no recording can hold. Once the sink has failed every later call returns that
 * error without calling it again, since the file may end in the middle of a chunk.
 */

/* "key=value": @key without '=' and newline; newlines in the value become spaces. Buffered. */
int xf_recording_write_info(struct xf_recording_writer *writer, const char *key, const char *format,
                            ...) __attribute__((format(printf, 3, 4)));

/* All of a finished table, compressed. May be called again with further symbols. */
int xf_recording_write_symbols(struct xf_recording_writer *writer,
                               const struct xf_symbols *symbols);

/* Machine code that lies at @address, compressed. */
int xf_recording_write_code(struct xf_recording_writer *writer, uint64_t address, const void *bytes,
                            size_t size);

int xf_recording_write_livepatch(struct xf_recording_writer *writer,
                                 const struct xf_recording_livepatch *livepatch);

int xf_recording_write_domain(struct xf_recording_writer *writer,
                              const struct xf_recording_domain *domain);

/* A kernel of guests, by any @number but XF_NO_KERNEL, under which more of it follows. */
int xf_recording_write_kernel(struct xf_recording_writer *writer, uint32_t number,
                              const char *name);

/* The same; it has all of the kernel @base, too: an image, beside the modules that a domain has
 * loaded.
 */
int xf_recording_write_kernel_upon(struct xf_recording_writer *writer, uint32_t number,
                                   uint32_t base, const char *name);

/* All of a finished table, compressed; see XF_CHUNK_KERNEL_SYMBOLS. */
int xf_recording_write_kernel_symbols(struct xf_recording_writer *writer, uint32_t number,
                                      const struct xf_symbols *symbols);

/* Machine code of it that its ORC says nothing of: of modules, and what is made at run time. */
int xf_recording_write_kernel_code(struct xf_recording_writer *writer, uint32_t number,
                                   const struct xf_code *code);

/* Its own unwind table, which is for @code, whose bytes are not looked at. */
int xf_recording_write_kernel_orc(struct xf_recording_writer *writer, uint32_t number,
                                  const struct xf_code *code, const struct xf_orc *orc);

/* Who runs it, or since when it is not known what he runs. Without @of->order. */
int xf_recording_write_kernel_of(struct xf_recording_writer *writer,
                                 const struct xf_recording_kernel_of *of);

/* A chunk out of another recording, with its content as it is there. */
int xf_recording_write_as_it_is(struct xf_recording_writer *writer,
                                const struct xf_chunk_head *head, const void *bytes);

/* The content of a chunk of any type whose bytes are ready; profile/process_writer.h. */
int xf_recording_write_bytes(struct xf_recording_writer *writer, enum xf_chunk_type type,
                             const void *bytes, size_t size);

/* @sample->bytes tells how much is there. Buffered. */
int xf_recording_write_sample(struct xf_recording_writer *writer, const struct xf_sample *sample);

/* One of a guest's stacks, before the sample that it belongs to; from the innermost outwards.
 * @stack->bytes tells how much is there. Buffered. */
int xf_recording_write_guest_stack(struct xf_recording_writer *writer,
                                   const struct xf_guest_stack *stack);

/* Which task a guest was running, likewise. */
int xf_recording_write_guest_task(struct xf_recording_writer *writer,
                                  const struct xf_guest_task *task);

/* Buffered. */
int xf_recording_write_idle(struct xf_recording_writer *writer, const struct xf_idle_record *idle);

/* The books of all pCPUs; replaces what was written before. */
int xf_recording_write_statistics(struct xf_recording_writer *writer,
                                  const struct xf_pcpu_statistics *statistics, size_t nr);

/* Likewise of ticks that were skipped; left out where there are none. */
int xf_recording_write_skipped(struct xf_recording_writer *writer,
                               const struct xf_pcpu_skipped *skipped, size_t nr);

/* In which states vCPUs were; adds to what was written before. */
int xf_recording_write_runstates(struct xf_recording_writer *writer,
                                 const struct xf_runstate_span *spans, size_t nr);

/* The recording was closed in good order; the last call before the free. */
int xf_recording_write_end(struct xf_recording_writer *writer);

/* Hands what is buffered to the sink: to be called every second or so. */
int xf_recording_flush(struct xf_recording_writer *writer);

/* Bytes handed to the sink so far. */
uint64_t xf_recording_written(const struct xf_recording_writer *writer);

/* ---- Reading --------------------------------------------------------------------------------- */

struct xf_recording;

/* Looks at a file's first bytes, 16 or more of them where it has as many. Return: 0, or as
 * xf_recording_open would. */
int xf_recording_recognize(const void *bytes, size_t size, struct xf_error *error);

/*
 * Reads @size bytes at @bytes, which must outlive the recording unchanged.
 * Return: 0 and *@recording, to be freed with xf_recording_free. -EBADMSG where the bytes are no
 * recording, -EPROTONOSUPPORT where they are of a version that this tool does not know, -ENOMEM;
 * @error tells, without the file's name.
 */
int xf_recording_open(const void *bytes, size_t size, struct xf_recording **recording,
                      struct xf_error *error);
void xf_recording_free(struct xf_recording *recording);

/* How much of the recording is there. */
struct xf_recording_state {
	bool closed;             /* the writer finished in good order */
	bool truncated;          /* the bytes end in the middle of a chunk */
	uint64_t damaged;        /* chunks and records left out because they make no sense */
	uint64_t unknown_chunks; /* skipped: written by a later version */
	uint64_t unknown_records;
	uint64_t stray_stacks; /* and tasks, of guests, without their sample or more than it can
	                          have */
};
struct xf_recording_state xf_recording_state(const struct xf_recording *recording);

/* Return: the value of @key, owned by the recording; NULL where there is none. */
const char *xf_recording_info(const struct xf_recording *recording, const char *key);

/* Return: the value of @key as a number (decimal, or hexadecimal after 0x); @otherwise where there
 * is none or it is no number. */
uint64_t xf_recording_info_number(const struct xf_recording *recording, const char *key,
                                  uint64_t otherwise);

/* The hypervisor's symbols, finished; never NULL, may be empty. */
const struct xf_symbols *xf_recording_symbols(const struct xf_recording *recording);

/* Machine code in the order of the file: Xen's own first. */
const struct xf_code *xf_recording_code(const struct xf_recording *recording, size_t *nr);

const struct xf_recording_livepatch *xf_recording_livepatches(const struct xf_recording *recording,
                                                              size_t *nr);

/*
 * Return: what is known of @domid at @tsc: the last entry not later than that, or else the first
 * one; NULL where the recording does not mention the domain.
 */
const struct xf_recording_domain *xf_recording_domain(const struct xf_recording *recording,
                                                      uint16_t domid, uint64_t tsc);

/* All entries, by domid and then by time. */
const struct xf_recording_domain *xf_recording_domains(const struct xf_recording *recording,
                                                       size_t *nr);

/* The last books written that are whole, one entry per pCPU. */
const struct xf_pcpu_statistics *xf_recording_statistics(const struct xf_recording *recording,
                                                         size_t *nr);

/* Likewise; none where no tick was skipped. */
const struct xf_pcpu_skipped *xf_recording_skipped(const struct xf_recording *recording,
                                                   size_t *nr);

/* Were the stacks of that domain to be read? */
bool xf_recording_reads_guest(const struct xf_recording *recording, uint16_t domid);

/* Was the agent to tell which task that domain's kernel was running? */
bool xf_recording_reads_tasks(const struct xf_recording *recording, uint16_t domid);

/* The kernels that domains ran; never NULL. */
const struct xf_kernels *xf_recording_kernels(const struct xf_recording *recording);

/* The control domain's processes; never NULL. */
const struct xf_process_events *xf_recording_processes(const struct xf_recording *recording);

/* What is known of their code; never NULL. */
const struct xf_user_places *xf_recording_user_code(const struct xf_recording *recording);

/* Return: what processes of other domains had mapped. */
const struct xf_guest_maps *xf_recording_guest_maps(const struct xf_recording *recording);

/* In which states vCPUs were; never NULL. */
const struct xf_runstate_spans *xf_recording_runstates(const struct xf_recording *recording);

/* Ticks of the TSC in a second; never 0. */
uint64_t xf_recording_tsc_hz(const struct xf_recording *recording);

/* One record, aligned and proven: @sample->bytes and the words agree. */
struct xf_record {
	enum xf_record_type type;
	union {
		struct xf_sample sample;    /* XF_RECORD_SAMPLE */
		struct xf_idle_record idle; /* XF_RECORD_IDLE */
		uint64_t storage[(XF_SAMPLE_HEAD_BYTES / 8) + XF_MAX_WORDS];
	};
	unsigned int nr_words;
	const uint8_t *raw; /* the same bytes in the recording, unaligned, to compare by */
	struct xf_guest_pieces guest; /* what is recorded of the guest at a sample */
};

/* Where an iteration stands; start with a zeroed one. */
struct xf_record_iterator {
	size_t chunk;
	size_t position;
	struct xf_guest_pieces waiting; /* for their sample */
};

/* Return: true and the next record in the order of the file; false at the end. */
bool xf_recording_next(const struct xf_recording *recording, struct xf_record_iterator *iterator,
                       struct xf_record *record);

/* When sampling began, in nanoseconds since 1970, UTC; 0 where that is not recorded. */
uint64_t xf_recording_start_time(const struct xf_recording *recording);

/* Nanoseconds from when sampling began to @tsc, 0 for what is earlier. Without a known TSC
 * frequency a tick counts as a nanosecond. */
uint64_t xf_recording_time(const struct xf_recording *recording, uint64_t tsc);

#endif
