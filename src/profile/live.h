// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A recording that is still being written, as it comes: chunk by chunk, and now and then the
 * profile of what has come since the last one. However long that goes on, what is kept does not
 * grow: one interval's samples, the last entries of each domain, of processes what
 * profile/live_processes.h has, and what holds for the whole recording, for which unwind tables and
 * names are made once.
 */
#ifndef XF_PROFILE_LIVE_H
#define XF_PROFILE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/format.h"
#include "profile/profile.h"

struct xf_live;

/* Return: one that nothing has come to yet; NULL without memory. Free with xf_live_free. */
struct xf_live *xf_live_new(void);
void xf_live_free(struct xf_live *live);

/* Of a chunk's content no more than this is asked for: a larger one is no honest one. */
#define XF_LIVE_CHUNK_MAX (256u << 20)

/*
 * The next chunk, whole, of a recording whose first 16 bytes have been recognized
 * (xf_recording_recognize). Return: 0 or -ENOMEM.
 */
int xf_live_take(struct xf_live *live, struct xf_chunk_head head, const uint8_t *content);

/* Takes note of a chunk of samples that nobody wants to see: its content need not be read. */
void xf_live_skip(struct xf_live *live, uint64_t size);

/* What has come so far is history: the next interval begins here. */
void xf_live_forget(struct xf_live *live);

/* How often the recorder has closed its books: samples up to then have come. */
uint64_t xf_live_books(const struct xf_live *live);

/* Whether the interval has samples. */
bool xf_live_has_samples(const struct xf_live *live);

/* Whether the recorder has ended in good order. */
bool xf_live_ended(const struct xf_live *live);

/* An interval and its profile. */
struct xf_live_interval {
	struct xf_profile *profile; /* NULL: no sample has come */
	/* What went wrong in it, by the recorder's books. */
	struct xf_profile_losses losses;
	uint64_t lost;
	uint64_t skipped;
	uint64_t left_out; /* bytes of samples that there was no room for */
	uint64_t bytes;    /* that the recording has grown by */
	/* pCPUs by the books, in their order; those without a sample too. */
	uint32_t *pcpus;
	size_t nr_pcpus;
	uint64_t frequency;
	/* Owned by the interval; "" where not recorded. */
	const char *host;
	const char *xen_version;
	struct xf_recording *recording; /* what all of this lies in */
	uint8_t *bytes_read;
};

/*
 * Ends the interval and makes its profile. Return: 0 and *@interval, to be freed with
 * xf_live_interval_free and before @live; otherwise -ENOMEM, or -EBADMSG where what has come makes
 * no sense, and @error.
 */
int xf_live_look(struct xf_live *live, const struct xf_profile_options *options,
                 struct xf_live_interval *interval, struct xf_error *error);
void xf_live_interval_free(struct xf_live_interval *interval);

#endif
