// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernels of other domains than dom0: which image each is said to run, by the command line or
 * by the configuration that it was started from, and whether its samples bear that out. Who runs
 * which goes into the recording only when it is known where the kernel lies: names that are not
 * proven are shown to nobody. That is at the end, by all samples; or where somebody looks on, as
 * soon as they are enough, and then again and again, by those that came since.
 */
#ifndef XF_CMD_RECORD_GUEST_KERNELS_H
#define XF_CMD_RECORD_GUEST_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/record_guest_processes.h"
#include "profile/recording.h"
#include "unwind/slide.h"
#include "xen/domains.h"
#include "xen/guest_image.h"
#include "xen/stream.h"
#include "xenflame/agent.h"

#define XF_MOST_GUEST_IMAGES   8u
#define XF_MOST_GUEST_REQUESTS 64u

struct xf_guest_kernel_image {
	char *path;
	struct xf_guest_image image;
	struct xf_error why_not; /* code 0: it could be read */
	bool written;
};

/* A domain that is thought to run an image. */
struct xf_guest_kernel_domain {
	struct xf_domain domain;
	struct xf_guest_kernel_image *image;
	uint64_t from;  /* TSC value from which on it is known to be this domain */
	uint64_t until; /* the last one at which it was */
	bool gone;
	bool chosen;        /* it has been said what it runs, whether that can be read or not */
	unsigned int looks; /* for that, which are left */
	struct xf_slide_evidence evidence;
	/* Where somebody looks on: */
	size_t enough;      /* so many words are to be there before they are looked at again */
	size_t looked_at;   /* so many have been */
	unsigned int turns; /* with others than those */
	bool told;          /* that it has no names */
	/* Likewise, and at the end: */
	bool proven;
	uint64_t slide;
	uint32_t with_modules; /* the number of the kernel that has them; 0: they are not asked for
	                        */
};

/* Starts zeroed, freed with xf_record_guest_kernels_free. */
struct xf_record_guest_kernels {
	const char *requests[XF_MOST_GUEST_REQUESTS]; /* "NAME=IMAGE", borrowed */
	size_t nr_requests;
	struct xf_guest_kernel_image images[XF_MOST_GUEST_IMAGES];
	size_t nr_images;
	struct xf_guest_kernel_domain *domains;
	size_t nr_domains;
	bool looked;
	/* Told what was found, and what was not. */
	void (*tell)(void *context, bool important, const char *text);
	void *context;
};

/* Takes in "NAME=IMAGE". Return: 0; -EINVAL and @error where it is not that, or one too many. */
int xf_record_guest_kernels_request(struct xf_record_guest_kernels *kernels, const char *text,
                                    struct xf_error *error);

/*
 * Before the recording: reads the images that are asked for, of @nr @domains whose stacks are read
 * as
 * @config has it. Return: 0; -EINVAL and @error where there is no such domain, its stacks are not
 * read, or the image is none; -ENOMEM.
 */
int xf_record_guest_kernels_check(struct xf_record_guest_kernels *kernels,
                                  const struct xf_domain *domains, size_t nr,
                                  const struct xf_agent_config *config, struct xf_error *error);

/*
 * The host's domains as they were at some moment between the TSC values @before and @after. A
 * domain that is not among them any more, or was made anew, has its kernel no longer than it was
 * last seen. Return: 0 or -ENOMEM.
 */
int xf_record_guest_kernels_look(struct xf_record_guest_kernels *kernels,
                                 const struct xf_domain *domains, size_t nr,
                                 const struct xf_agent_config *config, uint64_t before,
                                 uint64_t after);

/* After the first look: has the agent tell which tasks the domains run, and @processes, unless it
 * is NULL, what these have mapped, as far as their images say where that stands. Return: 0 or
 * -ENOMEM. */
int xf_record_guest_kernels_add_tasks(const struct xf_record_guest_kernels *kernels,
                                      struct xf_agent_config *config,
                                      struct xf_record_guest_processes *processes);

/* A sample's stacks. Without memory less is known of it in the end. */
void xf_record_guest_kernels_take(struct xf_record_guest_kernels *kernels,
                                  const struct xf_sample *sample,
                                  const struct xf_sample_guest *guest);

/* At the end: finds out which domains run what they are said to, and tells. Return: 0 or -ENOMEM.
 */
int xf_record_guest_kernels_prove(struct xf_record_guest_kernels *kernels);

/* Then: has @processes ask for their modules. Kernels have numbers from @first on. */
void xf_record_guest_kernels_ask_modules(struct xf_record_guest_kernels *kernels,
                                         struct xf_record_guest_processes *processes,
                                         uint32_t first);

/* And then: writes the kernels that have been proven, and whose they are: with their modules, where
 * @processes has them; it may be NULL. Return: as xf_recording_write_kernel. */
int xf_record_guest_kernels_write(struct xf_record_guest_kernels *kernels,
                                  const struct xf_record_guest_processes *processes,
                                  struct xf_recording_writer *writer, uint32_t first);

/* Where somebody looks on, before the recording begins: writes the kernels that domains are said to
 * run. Return: as xf_recording_write_kernel. */
int xf_record_guest_kernels_begin(struct xf_record_guest_kernels *kernels,
                                  struct xf_recording_writer *writer, uint32_t first);

/* And now and then: writes whose they are, as far as that is proven and has not been written, and
 * where it is so no longer. Domains that are gone are forgotten. Return: likewise. */
int xf_record_guest_kernels_go_on(struct xf_record_guest_kernels *kernels,
                                  struct xf_recording_writer *writer, uint32_t first);

void xf_record_guest_kernels_free(struct xf_record_guest_kernels *kernels);

#endif
