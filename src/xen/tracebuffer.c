// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Layouts: Xen's public trace.h. A buffer starts with two 32-bit offsets, consumer and producer,
 * which run from 0 to twice the size of the data, so that full and empty differ. Xen checks the
 * consumer's as we check the producer's.
 */
#include "xen/tracebuffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xenevtchn.h>
#include <xenforeignmemory.h>

#define PAGE             4096u
#define PAGES_WANTED     64u /* per pCPU: 256 KiB, about 800 samples */
#define PAGES_LEAST      8u
#define CLAIM_TURNS      10u
#define CLAIM_PAUSE_US   100000u
/* With less room than that Xen may have lost records and not have said so yet: one of the longest
 * records, the one that tells of losses, and twice what is left unused at the buffer's end. */
#define FULL_BYTES       128u
/* Xen's event mask after boot: TRC_ALL. */
#define XEN_DEFAULT_MASK 0x0ffff000u

struct indices {
	uint32_t consumer;
	uint32_t producer;
};

struct pcpu_buffer {
	volatile struct indices *indices; /* NULL where the pCPU has no buffer */
	bool disordered;                  /* its offsets made no sense once: not read any more */
	struct xf_stream stream;
};

struct xf_tracebuffers {
	struct xf_xen *xen;
	unsigned int max_pcpu;
	uint32_t old_mask;
	bool old_mask_known; /* nothing is changed, nor put back, before */
	xenforeignmemory_handle *foreign;
	void *info;
	size_t info_pages;
	size_t pages; /* of one buffer */
	struct pcpu_buffer *pcpus;
	struct xf_tracebuffers_load load;
	uint8_t *copy; /* of one buffer's contents, in a row */
};

struct xf_trace_claim {
	xenevtchn_handle *events;
};

/* A reader that is about to end has a moment for it. Return: 0 or a negative errno value. */
static int bind_event(xenevtchn_handle *events)
{
	unsigned int turns;

	for (turns = 0; xenevtchn_bind_virq(events, VIRQ_TBUF) < 0; turns++) {
		if (errno != EEXIST || turns == CLAIM_TURNS)
			return -errno;
		usleep(CLAIM_PAUSE_US);
	}
	return 0;
}

int xf_trace_claim(struct xf_trace_claim **claim, struct xf_error *error)
{
	struct xf_trace_claim *taken = calloc(1, sizeof(*taken));
	int result;

	if (!taken)
		return xf_fail(error, -ENOMEM, "out of memory");
	taken->events = xenevtchn_open(NULL, 0);
	if (!taken->events) {
		result = xf_fail(
		        error, -ENODEV,
		        "cannot open /dev/xen/evtchn: %s: load the kernel module xen-evtchn",
		        strerror(errno));
		free(taken);
		return result;
	}
	result = bind_event(taken->events);
	if (result) {
		if (result == -EEXIST)
			result = xf_fail(
			        error, -EBUSY,
			        "Xen's trace buffers are in use by another program "
			        "(xentrace, or another xenflame): they have one reader at a "
			        "time; stop that one first");
		else
			xf_fail(error, result, "claiming Xen's trace buffers: %s",
			        strerror(-result));
		xf_trace_release(taken);
		return result;
	}
	*claim = taken;
	return 0;
}

void xf_trace_release(struct xf_trace_claim *claim)
{
	if (!claim)
		return;
	xenevtchn_close(claim->events);
	free(claim);
}

/* Maps @nr pages of Xen's, whose frame numbers are in @frames, as *@mapped. */
static int map_pages(struct xf_tracebuffers *buffers, const xen_pfn_t *frames, size_t nr,
                     int protection, void **mapped, struct xf_error *error)
{
	int *errors = calloc(nr, sizeof(*errors));
	int result = 0;

	if (!errors)
		return xf_fail(error, -ENOMEM, "out of memory");
	*mapped = xenforeignmemory_map(buffers->foreign, DOMID_XEN, protection, nr, frames, errors);
	if (!*mapped)
		result = xf_fail(error, -EIO, "mapping Xen's trace buffers: %s", strerror(errno));
	free(errors);
	return result;
}

/* The page list: u16 pages per buffer, u16 offset per pCPU; there, in units of u32, frame numbers.
 */
static int map_info(struct xf_tracebuffers *buffers, const struct xf_xen_trace_info *info,
                    struct xf_error *error)
{
	xen_pfn_t *frames;
	int result;
	size_t i;

	buffers->info_pages = info->info_bytes / PAGE;
	if (!buffers->info_pages)
		return xf_fail(error, -EIO, "Xen's list of trace buffer pages is empty");
	frames = calloc(buffers->info_pages, sizeof(*frames));
	if (!frames)
		return xf_fail(error, -ENOMEM, "out of memory");
	for (i = 0; i < buffers->info_pages; i++)
		frames[i] = info->info_mfn + i;
	result = map_pages(buffers, frames, buffers->info_pages, PROT_READ, &buffers->info, error);
	free(frames);
	if (result)
		return result;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): mapped, or we had returned */
	buffers->pages = *(const uint16_t *)buffers->info;
	if (!buffers->pages)
		return xf_fail(error, -EIO, "Xen's trace buffers have no pages");
	return 0;
}

static int map_pcpu(struct xf_tracebuffers *buffers, unsigned int pcpu, struct xf_error *error)
{
	const uint16_t *offsets = (const uint16_t *)buffers->info + 1;
	const uint32_t *words = buffers->info;
	size_t offset, i;
	xen_pfn_t *frames;
	void *mapped = NULL;
	int result;

	xf_stream_init(&buffers->pcpus[pcpu].stream, pcpu);
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): map_info has mapped it */
	if ((pcpu + 2) * sizeof(uint16_t) > buffers->info_pages * PAGE || !offsets[pcpu])
		return 0;
	offset = offsets[pcpu];
	if ((offset + buffers->pages) * sizeof(uint32_t) > buffers->info_pages * PAGE)
		return xf_fail(error, -EIO, "Xen's list of trace buffer pages makes no sense");
	frames = calloc(buffers->pages, sizeof(*frames));
	if (!frames)
		return xf_fail(error, -ENOMEM, "out of memory");
	for (i = 0; i < buffers->pages; i++)
		frames[i] = words[offset + i];
	result = map_pages(buffers, frames, buffers->pages, PROT_READ | PROT_WRITE, &mapped, error);
	free(frames);
	if (!result)
		buffers->pcpus[pcpu].indices = mapped;
	return result;
}

/* Xen allocates once a boot: ask for less until it has the memory. */
static int allocate(struct xf_xen *xen, struct xf_error *error)
{
	uint32_t pages;
	int result = -ENOBUFS;

	for (pages = PAGES_WANTED; pages >= PAGES_LEAST && result == -ENOBUFS; pages /= 2)
		result = xf_xen_trace_allocate(xen, pages, error);
	if (result == -ENOBUFS)
		return xf_fail(error, -ENOBUFS,
		               "Xen has no memory for trace buffers of %u KiB per pCPU; free some "
		               "(xl info: free_memory), for instance by ballooning a guest down",
		               PAGES_LEAST * PAGE / 1024);
	return result;
}

int xf_trace_reset(struct xf_xen *xen, struct xf_error *error)
{
	struct xf_xen_trace_info info;
	int result = xf_xen_trace_info(xen, &info, error);

	if (result || !XF_TRACE_IS_OURS(info.event_mask))
		return result;
	result = xf_xen_trace_enable(xen, false, error);
	return result ? result : xf_xen_trace_mask(xen, XEN_DEFAULT_MASK, error);
}

static size_t data_bytes(const struct xf_tracebuffers *buffers)
{
	return buffers->pages * PAGE - sizeof(struct indices);
}

static int map_all(struct xf_tracebuffers *buffers, struct xf_error *error)
{
	struct xf_xen_trace_info info;
	unsigned int pcpu;
	int result = xf_xen_trace_info(buffers->xen, &info, error);

	if (!result) {
		buffers->old_mask = info.event_mask;
		buffers->old_mask_known = true;
	}
	if (!result && !info.info_mfn) {
		result = allocate(buffers->xen, error);
		if (!result)
			result = xf_xen_trace_info(buffers->xen, &info, error);
	}
	if (result)
		return result;
	result = xf_xen_trace_enable(buffers->xen, false, error);
	if (!result)
		result = map_info(buffers, &info, error);
	for (pcpu = 0; !result && pcpu <= buffers->max_pcpu; pcpu++) {
		result = map_pcpu(buffers, pcpu, error);
		if (!result && buffers->pcpus[pcpu].indices)
			buffers->pcpus[pcpu].indices->consumer =
			        buffers->pcpus[pcpu].indices->producer;
	}
	return result;
}

int xf_tracebuffers_open(struct xf_xen *xen, unsigned int max_pcpu,
                         struct xf_tracebuffers **buffers, struct xf_error *error)
{
	struct xf_tracebuffers *opened = calloc(1, sizeof(*opened));
	int result;

	if (!opened)
		return xf_fail(error, -ENOMEM, "out of memory");
	opened->xen = xen;
	opened->max_pcpu = max_pcpu;
	opened->pcpus = calloc(max_pcpu + 1, sizeof(*opened->pcpus));
	opened->foreign = xenforeignmemory_open(NULL, 0);
	if (!opened->pcpus)
		result = xf_fail(error, -ENOMEM, "out of memory");
	else if (!opened->foreign)
		result =
		        xf_fail(error, -ENODEV, "opening privcmd for mapping: %s", strerror(errno));
	else
		result = map_all(opened, error);
	if (!result) {
		opened->copy = malloc(data_bytes(opened));
		if (!opened->copy)
			result = xf_fail(error, -ENOMEM, "out of memory");
	}
	if (result) {
		xf_tracebuffers_close(opened);
		return result;
	}
	*buffers = opened;
	return 0;
}

void xf_tracebuffers_close(struct xf_tracebuffers *buffers)
{
	unsigned int pcpu;

	if (!buffers)
		return;
	if (buffers->old_mask_known) {
		xf_xen_trace_enable(buffers->xen, false, NULL);
		xf_xen_trace_mask(buffers->xen, buffers->old_mask, NULL);
	}
	for (pcpu = 0; buffers->pcpus && pcpu <= buffers->max_pcpu; pcpu++)
		if (buffers->pcpus[pcpu].indices)
			xenforeignmemory_unmap(buffers->foreign,
			                       (void *)buffers->pcpus[pcpu].indices,
			                       buffers->pages);
	if (buffers->info)
		xenforeignmemory_unmap(buffers->foreign, buffers->info, buffers->info_pages);
	if (buffers->foreign)
		xenforeignmemory_close(buffers->foreign);
	free(buffers->pcpus);
	free(buffers->copy);
	free(buffers);
}

size_t xf_tracebuffers_size(const struct xf_tracebuffers *buffers)
{
	return data_bytes(buffers);
}

int xf_tracebuffers_renew(struct xf_tracebuffers *buffers, uint32_t mask, struct xf_error *error)
{
	return xf_xen_trace_mask(buffers->xen, mask, error);
}

int xf_tracebuffers_enable(struct xf_tracebuffers *buffers, uint32_t mask, struct xf_error *error)
{
	int result = xf_tracebuffers_renew(buffers, mask, error);

	if (!result)
		result = xf_xen_trace_all_pcpus(buffers->xen, buffers->max_pcpu, error);
	if (!result)
		result = xf_xen_trace_enable(buffers->xen, true, error);
	return result;
}

/* Copies what is unread into one row. Return: its size; -1 where the indices make no sense. */
static long copy_unread(struct xf_tracebuffers *buffers, volatile struct indices *indices,
                        uint32_t *producer)
{
	size_t size = data_bytes(buffers);
	const uint8_t *data = (const uint8_t *)(uintptr_t)(indices + 1);
	uint32_t consumer = indices->consumer;
	size_t unread, start, first;

	/* Xen writes the records, then a barrier, then the index that we read here. */
	*producer = __atomic_load_n(&((struct indices *)(uintptr_t)indices)->producer,
	                            __ATOMIC_ACQUIRE);
	if (*producer >= 2 * size || consumer >= 2 * size)
		return -1;
	unread = *producer >= consumer ? *producer - consumer : *producer + 2 * size - consumer;
	if (unread > size)
		return -1;
	start = consumer % size;
	first = unread < size - start ? unread : size - start;
	memcpy(buffers->copy, data + start, first);
	memcpy(buffers->copy + first, data, unread - first);
	return (long)unread;
}

/* Takes what was copied of a buffer to pieces, and notes how it stands there. */
static void feed(struct xf_tracebuffers *buffers, struct xf_stream *stream, size_t unread,
                 const struct xf_stream_sink *sink)
{
	uint64_t before = stream->lost_records + stream->damaged_bytes;

	xf_stream_feed(stream, buffers->copy, unread, sink);
	if (unread + FULL_BYTES > data_bytes(buffers) ||
	    stream->lost_records + stream->damaged_bytes != before)
		buffers->load.gaps = true;
	if (unread > data_bytes(buffers) / 2)
		buffers->load.crowded = true;
}

int xf_tracebuffers_read(struct xf_tracebuffers *buffers, const struct xf_stream_sink *sink,
                         struct xf_error *error)
{
	unsigned int pcpu;

	buffers->load = (struct xf_tracebuffers_load){0};
	for (pcpu = 0; pcpu <= buffers->max_pcpu; pcpu++) {
		volatile struct indices *indices = buffers->pcpus[pcpu].indices;
		uint32_t producer;
		long unread;

		if (!indices || buffers->pcpus[pcpu].disordered)
			continue;
		unread = copy_unread(buffers, indices, &producer);
		if (unread < 0) {
			buffers->pcpus[pcpu].disordered = true;
			return xf_fail(error, -EIO,
			               "the trace buffer of pCPU %u is in disorder (offsets beyond "
			               "its size)",
			               pcpu);
		}
		/* The copy is complete before Xen may write over what was copied. */
		__atomic_store_n(&((struct indices *)(uintptr_t)indices)->consumer, producer,
		                 __ATOMIC_RELEASE);
		feed(buffers, &buffers->pcpus[pcpu].stream, (size_t)unread, sink);
	}
	return 0;
}

struct xf_tracebuffers_load xf_tracebuffers_load(const struct xf_tracebuffers *buffers)
{
	return buffers->load;
}

bool xf_tracebuffers_has(const struct xf_tracebuffers *buffers, unsigned int pcpu)
{
	return pcpu <= buffers->max_pcpu && buffers->pcpus[pcpu].indices;
}

const struct xf_stream *xf_tracebuffers_stream(const struct xf_tracebuffers *buffers,
                                               unsigned int pcpu)
{
	return pcpu <= buffers->max_pcpu ? &buffers->pcpus[pcpu].stream : NULL;
}
