// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/live.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "profile/grow.h"
#include "profile/live_processes.h"
#include "profile/parts.h"
#include "profile/recording.h"

/* Of one interval; far above what Xen's trace buffers let through in a minute. */
#define SAMPLES_MAX (64u << 20)
/* Of all information, and of one domain's entry; far above what a recorder writes. */
#define FACTS_MAX   (1u << 20)
#define DOMAIN_MAX  (4u << 10)
/* What a chunk has that tells which kernel a domain runs, and how many of them are kept: a domain's
 * end and its successor's beginning may be in one interval. */
#define OF_BYTES    24u
#define OF_KEPT     4u

struct known_domain {
	uint16_t domid;
	struct xf_buffer chunk;
	struct xf_buffer kernels; /* the last chunks that tell which one it runs */
};

/* What is missing, since the recording began. */
struct missing {
	struct xf_profile_losses losses;
	uint64_t skipped;
};

struct xf_live {
	/* What holds throughout, as chunks: code, symbols, kernels. The tools point into it. */
	struct xf_buffer throughout;
	struct xf_buffer facts; /* chunks of information */
	struct known_domain *domains;
	size_t nr_domains;
	struct xf_live_processes processes;
	struct xf_buffer samples;
	struct xf_buffer statistics; /* the last chunk of them */
	struct missing missing;
	struct missing before; /* the same where the interval began */
	uint64_t books;
	uint64_t bytes;
	uint64_t left_out;
	bool ended;
	/* Made of @throughout when they are first needed. */
	struct xf_buffer base;
	struct xf_recording *recording; /* NULL: not yet */
	struct xf_profile_tools tools;
};

/* ---- Bytes ----------------------------------------------------------------------------------- */

static int add_chunk(struct xf_buffer *buffer, struct xf_chunk_head head, const uint8_t *content)
{
	struct xf_chunk_head written = {.type = htole32(head.type),
	                                .flags = htole32(head.flags),
	                                .size = htole64(head.size)};
	int code = xf_buffer_add(buffer, &written, sizeof(written));

	return code ? code : xf_buffer_add(buffer, content, head.size);
}

static int add_magic(struct xf_buffer *buffer)
{
	uint8_t start[16] = XF_FILE_MAGIC;
	uint32_t version = htole32(XF_FILE_VERSION);

	memcpy(start + 8, &version, sizeof(version));
	return xf_buffer_add(buffer, start, sizeof(start));
}

/* ---- Chunks ---------------------------------------------------------------------------------- */

static void forget_base(struct xf_live *live)
{
	xf_profile_tools_free(&live->tools);
	xf_recording_free(live->recording);
	live->recording = NULL;
	xf_buffer_free(&live->base);
}

static int take_throughout(struct xf_live *live, struct xf_chunk_head head, const uint8_t *content)
{
	forget_base(live);
	return add_chunk(&live->throughout, head, content);
}

static int take_facts(struct xf_live *live, struct xf_chunk_head head, const uint8_t *content)
{
	if (live->facts.used + head.size > FACTS_MAX)
		return 0;
	return add_chunk(&live->facts, head, content);
}

/* Return: what is known of the domain that @content begins with; NULL without memory. */
static struct known_domain *find_domain(struct xf_live *live, const uint8_t *content)
{
	struct known_domain *domain;
	uint16_t domid;

	memcpy(&domid, content, sizeof(domid));
	domid = le16toh(domid);
	for (size_t i = 0; i < live->nr_domains; i++) {
		if (live->domains[i].domid == domid)
			return &live->domains[i];
	}
	domain = XF_GROW(live->domains, live->nr_domains);
	if (!domain)
		return NULL;
	domain->domid = domid;
	live->nr_domains++;
	return domain;
}

static int take_domain(struct xf_live *live, struct xf_chunk_head head, const uint8_t *content)
{
	struct known_domain *domain;

	if (head.size < sizeof(uint16_t) || head.size > DOMAIN_MAX || head.flags)
		return 0;
	domain = find_domain(live, content);
	if (!domain)
		return -ENOMEM;
	domain->chunk.used = 0;
	return add_chunk(&domain->chunk, head, content);
}

/* The kernels themselves hold throughout; who runs them may change. */
static int take_kernel_of(struct xf_live *live, struct xf_chunk_head head, const uint8_t *content)
{
	const size_t bytes = sizeof(head) + OF_BYTES;
	struct known_domain *domain;
	struct xf_buffer *kernels;

	if (head.size != OF_BYTES || head.flags)
		return 0;
	domain = find_domain(live, content);
	if (!domain)
		return -ENOMEM;
	kernels = &domain->kernels;
	if (kernels->used == OF_KEPT * bytes) {
		kernels->used -= bytes;
		memmove(kernels->bytes, kernels->bytes + bytes, kernels->used);
	}
	return add_chunk(kernels, head, content);
}

static int take_processes(struct xf_live *live, struct xf_chunk_head head, const uint8_t *content)
{
	if (head.flags)
		return 0;
	return xf_live_processes_take(&live->processes, (enum xf_chunk_type)head.type,
	                              xf_cursor_over(content, head.size));
}

static int take_samples(struct xf_live *live, struct xf_chunk_head head, const uint8_t *content)
{
	if (live->samples.used + head.size > SAMPLES_MAX) {
		live->left_out += head.size;
		return 0;
	}
	return add_chunk(&live->samples, head, content);
}

static int take_statistics(struct xf_live *live, struct xf_chunk_head head, const uint8_t *content)
{
	struct xf_profile_losses *losses = &live->missing.losses;
	struct xf_pcpu_statistics one;

	if (head.flags || head.size % sizeof(one))
		return 0;
	*losses = (struct xf_profile_losses){0};
	for (size_t at = 0; at < head.size; at += sizeof(one)) {
		memcpy(&one, content + at, sizeof(one));
		losses->slot += one.lost_slot;
		losses->nmi += one.lost_nmi;
		losses->trace += one.lost_trace;
	}
	live->books++;
	live->statistics.used = 0;
	return add_chunk(&live->statistics, head, content);
}

static void take_skipped(struct xf_live *live, struct xf_chunk_head head, const uint8_t *content)
{
	struct xf_pcpu_skipped one;

	if (head.flags || head.size % sizeof(one))
		return;
	live->missing.skipped = 0;
	for (size_t at = 0; at < head.size; at += sizeof(one)) {
		memcpy(&one, content + at, sizeof(one));
		live->missing.skipped += one.ticks;
	}
}

int xf_live_take(struct xf_live *live, struct xf_chunk_head head, const uint8_t *content)
{
	live->bytes += sizeof(head) + head.size;
	switch (head.type) {
	case XF_CHUNK_SYMBOLS:
	case XF_CHUNK_CODE:
	case XF_CHUNK_LIVEPATCH:
	case XF_CHUNK_KERNEL:
	case XF_CHUNK_KERNEL_SYMBOLS:
	case XF_CHUNK_KERNEL_CODE:
	case XF_CHUNK_KERNEL_ORC:
		return take_throughout(live, head, content);
	case XF_CHUNK_KERNEL_OF:
		return take_kernel_of(live, head, content);
	case XF_CHUNK_CLOCK:
	case XF_CHUNK_PROCESSES:
	case XF_CHUNK_SWITCHES:
		return take_processes(live, head, content);
	case XF_CHUNK_INFO:
		return take_facts(live, head, content);
	case XF_CHUNK_DOMAIN:
		return take_domain(live, head, content);
	case XF_CHUNK_SAMPLES:
		return take_samples(live, head, content);
	case XF_CHUNK_STATISTICS:
		return take_statistics(live, head, content);
	case XF_CHUNK_SKIPPED:
		take_skipped(live, head, content);
		return 0;
	case XF_CHUNK_END:
		live->ended = true;
		return 0;
	default:
		return 0;
	}
}

void xf_live_skip(struct xf_live *live, uint64_t size)
{
	live->bytes += sizeof(struct xf_chunk_head) + size;
}

/* ---- Intervals ------------------------------------------------------------------------------- */

void xf_live_forget(struct xf_live *live)
{
	live->before = live->missing;
	xf_live_processes_turn(&live->processes);
	live->samples.used = 0;
	live->bytes = live->left_out = 0;
}

/* Return: how much more a counter shows; of one that goes backwards nothing is known. */
static uint64_t more(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void count_missing(const struct xf_live *live, struct xf_live_interval *interval)
{
	const struct xf_profile_losses *now = &live->missing.losses;
	const struct xf_profile_losses *before = &live->before.losses;

	interval->losses = (struct xf_profile_losses){.slot = more(now->slot, before->slot),
	                                              .nmi = more(now->nmi, before->nmi),
	                                              .trace = more(now->trace, before->trace)};
	interval->lost = interval->losses.slot + interval->losses.nmi + interval->losses.trace;
	interval->skipped = more(live->missing.skipped, live->before.skipped);
	interval->bytes = live->bytes;
	interval->left_out = live->left_out;
}

/* What all intervals share. Return: 0 or a negative errno value and @error. */
static int make_base(struct xf_live *live, struct xf_error *error)
{
	int code = 0;

	if (live->recording)
		return 0;
	if (add_magic(&live->base) ||
	    xf_buffer_add(&live->base, live->facts.bytes, live->facts.used) ||
	    xf_buffer_add(&live->base, live->throughout.bytes, live->throughout.used))
		code = xf_fail(error, -ENOMEM, "no memory for the recording");
	if (!code)
		code = xf_recording_open(live->base.bytes, live->base.used, &live->recording,
		                         error);
	if (!code)
		code = xf_profile_tools_make(live->recording, &live->tools, error);
	if (code)
		forget_base(live);
	return code;
}

static int write_domain(const struct known_domain *domain, struct xf_buffer *out)
{
	int code = xf_buffer_add(out, domain->chunk.bytes, domain->chunk.used);

	return code ? code : xf_buffer_add(out, domain->kernels.bytes, domain->kernels.used);
}

/* The interval as a recording of its own, without what is in the base. */
static int write_interval(const struct xf_live *live, struct xf_buffer *out)
{
	int code = add_magic(out);

	if (!code)
		code = xf_buffer_add(out, live->facts.bytes, live->facts.used);
	for (size_t i = 0; !code && i < live->nr_domains; i++)
		code = write_domain(&live->domains[i], out);
	if (!code)
		code = xf_live_processes_write(&live->processes, out);
	if (!code)
		code = xf_buffer_add(out, live->samples.bytes, live->samples.used);
	if (!code)
		code = xf_buffer_add(out, live->statistics.bytes, live->statistics.used);
	return code;
}

static const char *text_of(const struct xf_recording *recording, const char *key)
{
	const char *value = xf_recording_info(recording, key);

	return value ? value : "";
}

static int take_books(struct xf_live_interval *interval)
{
	const struct xf_pcpu_statistics *books =
	        xf_recording_statistics(interval->recording, &interval->nr_pcpus);

	interval->frequency = xf_recording_info_number(interval->recording, "frequency", 0);
	interval->host = text_of(interval->recording, "host");
	interval->xen_version = text_of(interval->recording, "xen.version");
	interval->pcpus = calloc(interval->nr_pcpus + 1, sizeof(*interval->pcpus));
	if (!interval->pcpus)
		return -ENOMEM;
	for (size_t i = 0; i < interval->nr_pcpus; i++)
		interval->pcpus[i] = books[i].pcpu;
	return 0;
}

/* Return: 0, also where there is no sample; otherwise a negative errno value and @error. */
static int build(const struct xf_live *live, const struct xf_profile_options *options,
                 struct xf_live_interval *interval, struct xf_error *error)
{
	struct xf_buffer bytes = {0};
	int code = write_interval(live, &bytes);

	interval->bytes_read = bytes.bytes;
	if (!code)
		code = xf_recording_open(bytes.bytes, bytes.used, &interval->recording, error);
	if (!code)
		code = take_books(interval);
	if (code)
		return xf_fail(error, code, "no memory for the recording");
	code = xf_profile_build_with(&live->tools, interval->recording, options, &interval->profile,
	                             error);
	return code == -ENODATA ? 0 : code;
}

int xf_live_look(struct xf_live *live, const struct xf_profile_options *options,
                 struct xf_live_interval *interval, struct xf_error *error)
{
	int code = make_base(live, error);

	*interval = (struct xf_live_interval){0};
	if (!code)
		code = build(live, options, interval, error);
	if (code) {
		xf_live_interval_free(interval);
		return code;
	}
	count_missing(live, interval);
	xf_live_forget(live);
	return 0;
}

void xf_live_interval_free(struct xf_live_interval *interval)
{
	xf_profile_free(interval->profile);
	xf_recording_free(interval->recording);
	free(interval->pcpus);
	free(interval->bytes_read);
	*interval = (struct xf_live_interval){0};
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

uint64_t xf_live_books(const struct xf_live *live)
{
	return live->books;
}

bool xf_live_has_samples(const struct xf_live *live)
{
	return live->samples.used > 0;
}

bool xf_live_ended(const struct xf_live *live)
{
	return live->ended;
}

static void free_domain(struct known_domain *domain)
{
	xf_buffer_free(&domain->chunk);
	xf_buffer_free(&domain->kernels);
}

struct xf_live *xf_live_new(void)
{
	return calloc(1, sizeof(struct xf_live));
}

void xf_live_free(struct xf_live *live)
{
	if (!live)
		return;
	forget_base(live);
	for (size_t i = 0; i < live->nr_domains; i++)
		free_domain(&live->domains[i]);
	free(live->domains);
	xf_live_processes_free(&live->processes);
	xf_buffer_free(&live->throughout);
	xf_buffer_free(&live->facts);
	xf_buffer_free(&live->samples);
	xf_buffer_free(&live->statistics);
	free(live);
}
