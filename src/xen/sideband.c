// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "xen/perf_records.h"
#include "xen/procfs.h"

#define NANOSECONDS     1000000000ull
#define CLOCK           CLOCK_MONOTONIC_RAW
#define CLOCK_READINGS  9u
#define TASKS_BYTES     (128u << 10) /* of a ring of forks, execs, mappings and the like */
#define SWITCHES_BYTES  (256u << 10)
#define RECORD_MAX      65536u    /* the size of a record has 16 bits */
#define LOOK_NS         10000000u /* so long at a time may a look at all processes take */
#define LOOK_AT_ONCE_NS (10 * NANOSECONDS)

/* Linux has given it this number since 3.8: PROC_PID_INIT_INO. */
#define FIRST_PID_NAMESPACE "pid:[4026531836]"

struct ring {
	int fd;
	struct perf_event_mmap_page *page; /* NULL: none */
	size_t bytes;                      /* of its records, a power of two */
	struct xf_perf_reader reader;
};

struct xf_sideband {
	struct ring *rings;
	size_t nr_rings;
	struct xf_gathered gathered;
	struct xf_procfs procfs;
	uint64_t left_out;   /* from when on what had come was; 0: none was */
	uint64_t doubt_from; /* what processes are is not certain from here on; 0: it is */
	bool once_more;      /* the look at all processes that is under way began before a loss */
	uint8_t record[RECORD_MAX];
};

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK, &time);
	return (uint64_t)time.tv_sec * NANOSECONDS + (uint64_t)time.tv_nsec;
}

/* Neither before what stands in front of it nor after what follows; not RDTSCP, which some
 * processors and hypervisors do not have. */
static uint64_t fenced_tsc(void)
{
	uint64_t tsc;

	__builtin_ia32_lfence();
	tsc = __builtin_ia32_rdtsc();
	__builtin_ia32_lfence();
	return tsc;
}

/* Of several readings the quickest is the least interrupted one. */
void xf_sideband_read_clocks(struct xf_clock_pair *pair)
{
	*pair = (struct xf_clock_pair){.width = UINT64_MAX};
	for (unsigned int i = 0; i < CLOCK_READINGS; i++) {
		uint64_t before = fenced_tsc();
		uint64_t time = now();
		uint64_t after = fenced_tsc();

		if (after >= before && after - before < pair->width)
			*pair = (struct xf_clock_pair){.tsc = before + (after - before) / 2,
			                               .time = time,
			                               .width = after - before};
	}
}

/* ---- Opening --------------------------------------------------------------------------------- */

static struct perf_event_attr attributes_of(const struct ring *ring, bool code, bool build_ids)
{
	bool tasks = !ring->reader.switches;

	return (struct perf_event_attr){
	        .type = PERF_TYPE_SOFTWARE,
	        .config = PERF_COUNT_SW_DUMMY,
	        .size = sizeof(struct perf_event_attr),
	        .sample_type = XF_PERF_SAMPLE_TYPE,
	        .sample_id_all = 1,
	        .use_clockid = 1,
	        .clockid = CLOCK,
	        .comm = tasks,
	        .comm_exec = tasks,
	        .task = tasks,
	        .mmap = tasks && code,
	        .mmap2 = tasks && code,
	        .build_id = tasks && code && build_ids,
	        .context_switch = ring->reader.switches,
	        .watermark = 1,
	        .wakeup_watermark = (uint32_t)(ring->bytes / 2), /* nobody is to be woken */
	};
}

/* Return: 0, or a negative errno value. Kernels before 5.12 tell no build-ids. */
static int open_event(struct ring *ring, bool code)
{
	struct perf_event_attr with = attributes_of(ring, code, true);
	struct perf_event_attr without = attributes_of(ring, code, false);

	ring->fd = (int)syscall(SYS_perf_event_open, &with, -1, (int)ring->reader.cpu, -1,
	                        PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0 && errno == EINVAL)
		ring->fd = (int)syscall(SYS_perf_event_open, &without, -1, (int)ring->reader.cpu,
		                        -1, PERF_FLAG_FD_CLOEXEC);
	return ring->fd < 0 ? -errno : 0;
}

static int open_ring(struct xf_sideband *sideband, uint32_t cpu, bool switches)
{
	struct ring *ring = &sideband->rings[sideband->nr_rings];
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *mapped;
	int code;

	*ring = (struct ring){.bytes = switches ? SWITCHES_BYTES : TASKS_BYTES,
	                      .reader = {.cpu = cpu, .switches = switches}};
	code = open_event(ring, !sideband->procfs.names);
	if (code)
		return code;
	ring->reader.opened = now();
	sideband->nr_rings++;
	mapped = mmap(NULL, page + ring->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (mapped == MAP_FAILED)
		return -errno;
	ring->page = mapped;
	return 0;
}

/* What to do about a refusal. */
static const char *advice_for(int code)
{
	switch (code) {
	case -ENOSYS:
		return "this kernel was built without CONFIG_PERF_EVENTS";
	case -EACCES:
		return "set kernel.perf_event_paranoid to 0 or below, or record as root";
	case -EPERM:
		return "neither kernel lockdown in its confidentiality mode nor a security policy "
		       "may forbid it";
	case -EINVAL:
	case -E2BIG:
		return "Linux 4.3 or later is needed in this domain";
	case -EMFILE:
		return "two files per CPU are needed: raise the limit of open files (ulimit -n)";
	default:
		return "recording goes on without them";
	}
}

static int refuse(int code, struct xf_error *error)
{
	return xf_fail(error, code,
	               "processes are not recorded: perf_event_open on all CPUs: %s; %s",
	               strerror(-code), advice_for(code));
}

/* A CPU that has gone in the meantime is none to watch. */
static int open_rings(struct xf_sideband *sideband, long nr_cpus)
{
	int code = 0;

	sideband->rings = calloc(2 * (size_t)nr_cpus, sizeof(*sideband->rings));
	if (!sideband->rings)
		return -ENOMEM;
	for (long cpu = 0; !code && cpu < nr_cpus; cpu++) {
		code = open_ring(sideband, (uint32_t)cpu, false);
		if (!code)
			code = open_ring(sideband, (uint32_t)cpu, true);
		if (code == -ENODEV || code == -ENXIO)
			code = 0;
	}
	return code || sideband->nr_rings ? code : -ENODEV;
}

/* Numbers of processes in a container are not those of the domain. */
static bool sees_all_processes(void)
{
	char name[64];
	ssize_t size = readlink("/proc/self/ns/pid", name, sizeof(name) - 1);

	name[size < 0 ? 0 : size] = '\0';
	return size < 0 || strcmp(name, FIRST_PID_NAMESPACE) == 0;
}

int xf_sideband_open(enum xf_sideband_wish wish, struct xf_sideband **sideband,
                     struct xf_error *error)
{
	long nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct xf_sideband *made;
	int code;

	if (!sees_all_processes())
		return xf_fail(
		        error, -EPERM,
		        "processes are not recorded: this is a container with numbers of its "
		        "own for processes; record from outside it");
	made = calloc(1, sizeof(*made));
	if (!made)
		return xf_fail(error, -ENOMEM, "processes are not recorded: out of memory");
	made->procfs.now = now;
	made->procfs.names = wish == XF_SIDEBAND_NAMES;
	code = open_rings(made, nr_cpus);
	if (code) {
		xf_sideband_close(made);
		return refuse(code, error);
	}
	code = xf_procfs_begin(&made->procfs);
	if (code) {
		xf_sideband_close(made);
		return xf_fail(error, code, "processes are not recorded: cannot read /proc: %s",
		               strerror(-code));
	}
	xf_procfs_go_on(&made->procfs, now() + LOOK_AT_ONCE_NS, &made->gathered);
	*sideband = made;
	return 0;
}

void xf_sideband_close(struct xf_sideband *sideband)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (!sideband)
		return;
	for (size_t i = 0; i < sideband->nr_rings; i++) {
		if (sideband->rings[i].page)
			munmap(sideband->rings[i].page, page + sideband->rings[i].bytes);
		close(sideband->rings[i].fd);
	}
	xf_procfs_close(&sideband->procfs);
	xf_gathered_free(&sideband->gathered);
	free(sideband->rings);
	free(sideband);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Return: @size bytes from @position on, put together in @copy where they reach around the ring's
   end. */
static const void *bytes_at(const struct ring *ring, uint64_t position, size_t size, uint8_t *copy)
{
	const uint8_t *records = (const uint8_t *)ring->page + ring->page->data_offset;
	size_t start = position & (ring->bytes - 1);
	size_t first = ring->bytes - start;

	if (size <= first)
		return records + start;
	memcpy(copy, records + start, first);
	memcpy(copy + first, records, size - first);
	return copy;
}

static void read_ring(struct xf_sideband *sideband, struct ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;

	while (head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;

		memcpy(&header, bytes_at(ring, tail, sizeof(header), sideband->record),
		       sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail)
			break;
		xf_perf_take_record(&ring->reader,
		                    bytes_at(ring, tail, header.size, sideband->record),
		                    header.size, &sideband->gathered);
		tail += header.size;
	}
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

/* Return: from when on events have been lost since this was last asked; 0 where none have. */
static uint64_t take_loss(struct xf_sideband *sideband)
{
	uint64_t from = sideband->left_out;

	sideband->left_out = 0;
	for (size_t i = 0; i < sideband->nr_rings; i++) {
		struct xf_perf_reader *reader = &sideband->rings[i].reader;

		if (reader->lost_from && (!from || reader->lost_from < from))
			from = reader->lost_from;
		reader->lost_from = 0;
	}
	return from;
}

/*
 * After a loss all processes are looked at anew. Until a look that began after the last loss has
 * ended, what they are is not certain, which the recording is told as time goes on: it may end at
 * any moment.
 */
static void look_again(struct xf_sideband *sideband)
{
	uint64_t lost_from = take_loss(sideband);
	bool seen;

	if (lost_from) {
		sideband->once_more = sideband->procfs.processes != NULL;
		if (!sideband->once_more)
			xf_procfs_begin(&sideband->procfs);
		if (!sideband->doubt_from || lost_from < sideband->doubt_from)
			sideband->doubt_from = lost_from;
	}
	seen = xf_procfs_go_on(&sideband->procfs, now() + LOOK_NS, &sideband->gathered);
	if (!sideband->doubt_from)
		return;
	xf_gather_lost(&sideband->gathered, sideband->doubt_from, now());
	sideband->doubt_from = seen && !sideband->once_more ? 0 : now();
	if (seen && sideband->once_more)
		xf_procfs_begin(&sideband->procfs);
	sideband->once_more = sideband->once_more && !seen;
}

void xf_sideband_poll(struct xf_sideband *sideband)
{
	for (size_t i = 0; i < sideband->nr_rings; i++)
		if (sideband->rings[i].page)
			read_ring(sideband, &sideband->rings[i]);
	look_again(sideband);
}

void xf_sideband_go_on(struct xf_sideband *sideband, uint64_t from)
{
	xf_gather_lost(&sideband->gathered, from, now());
	sideband->left_out = from;
}

struct xf_gathered *xf_sideband_gathered(struct xf_sideband *sideband)
{
	return &sideband->gathered;
}

uint64_t xf_sideband_lost(const struct xf_sideband *sideband)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < sideband->nr_rings; i++)
		lost += sideband->rings[i].reader.lost;
	return lost;
}
