// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A profile: a recording's samples as one call tree, with the books beside it. What every output
 * is made from.
 *
 * A stack reads, from the root: the domain, vCPU and pCPU where asked for; of the control domain
 * the process, where those were recorded; the guest's own frames where the sample has its stacks:
 * "[user]" for what called the kernel, and the kernel's functions; then what was running: the
 * innermost one of these, else "[guest kernel]" or "[guest user]",
 * "[idle]", or Xen's functions from the entry to the innermost one. Where outer frames of Xen are
 * missing, "[incomplete: WHY]" stands in their place; where some of a guest's kernel are,
 * "[kernel incomplete: WHY]".
 */
#ifndef XF_PROFILE_PROFILE_H
#define XF_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/calltree.h"
#include "profile/recording.h"
#include "profile/timeline.h"
#include "profile/vcpu_times.h"
#include "symbol/debug.h"

#define XF_DOMID_IDLE 0x7fff
#define XF_ANY_PCPU   UINT32_MAX

/* Whether the samples are to be kept in the order of time, too. */
enum xf_timeline_wish {
	XF_TIMELINE_NONE,
	XF_TIMELINE_NEEDED,
	XF_TIMELINE_IF_KNOWN, /* a text may have no times */
};

struct xf_profile_options {
	bool by_domain;     /* lowest frames: the domain ... */
	bool by_vcpu;       /* ... its vCPU ... */
	bool by_pcpu;       /* ... and the pCPU that it ran on */
	bool processes;     /* above them processes, where they are recorded, by name ... */
	bool by_process;    /* ... and by number: each on its own */
	const char *domain; /* only this domain (name, number or "Idle"); NULL: all */
	uint32_t pcpu;      /* only this pCPU; XF_ANY_PCPU: all */
	enum xf_timeline_wish timeline;
	bool addresses;         /* Xen's frames bear addresses: a function may be several frames */
	bool guest_addresses;   /* guests' frames do, as profile/guest_code.h has them */
	struct xf_debug *debug; /* of Xen's, for lines of the source; NULL: none */
	bool inlines;           /* functions that were inlined are frames, "NAME (inlined)" */
	bool without_guests;    /* leaves out guests' own frames: their tables need not be built */
};
#define XF_PROFILE_DEFAULTS                                                                        \
	((struct xf_profile_options){.by_domain = true, .processes = true, .pcpu = XF_ANY_PCPU})

/* Every sample is in exactly one of the first four; @incomplete is part of @xen or @other. Those
 * with their guest's stacks may be of a guest or of Xen. */
struct xf_profile_counts {
	/* Nothing but numbers of 64 bits: they are added up as such. */
	uint64_t guest;
	uint64_t xen;
	uint64_t idle;
	uint64_t other;        /* of a text that does not say whose code it was */
	uint64_t guest_kernel; /* part of @guest: in a kernel's half of the address space */
	uint64_t incomplete;
	uint64_t unnamed;           /* Xen's, with at least one frame that has no name */
	uint64_t switched_away;     /* the guest's stacks were wanted, but it was switched away */
	uint64_t stacks;            /* with their guest's stacks; of these: */
	uint64_t kernel_incomplete; /* outer frames of the guest's kernel are missing */
	uint64_t user;              /* a process called the kernel, or was running; of it ... */
	uint64_t user_unknown;      /* all is known that it is there, or ... */
	uint64_t user_incomplete;   /* outer frames are missing */
	uint64_t processes;         /* of domains whose processes were recorded; of these: */
	uint64_t process_unknown;   /* it is not known whose */
};

/* The samples of one vCPU on one pCPU. Idle time is in the idle domain's vCPUs. */
struct xf_profile_group {
	struct xf_frame_id domain;
	uint16_t domid; /* of the first one of that name */
	uint32_t vcpu;
	uint32_t pcpu;
	uint32_t found; /* its place in the order in which the groups were met */
	struct xf_profile_counts counts;
};

/* Samples that were asked for and are not there, by cause; see struct xf_pcpu_statistics. */
struct xf_profile_losses {
	uint64_t slot;
	uint64_t nmi;
	uint64_t trace;
};

/* A piece of code that frames with addresses may lie in. */
struct xf_profile_image {
	uint64_t start;
	uint64_t end;
	const char *name;     /* "xen", or the live patch's */
	const char *build_id; /* hexadecimal; "" where it is not recorded */
};

struct xf_profile {
	struct xf_calltree *tree;        /* finished */
	struct xf_profile_group *groups; /* by domain's name (idle last), vCPU, pCPU */
	size_t nr_groups;
	struct xf_timeline timeline; /* finished; empty where it was not asked for */
	/* Xen's first, and the names of addresses; none where addresses were not asked for. */
	struct xf_profile_image *images;
	size_t nr_images;
	const struct xf_symbols *symbols;
	/* Of frames, by their index: where their functions are in the source, "FILE:LINE"; NULL
	 * where that is not known. None where there was no debug info. */
	char **places;
	size_t nr_places;
	struct xf_profile_counts counts;
	uint64_t samples;                /* all, idle ticks included */
	uint64_t lost;                   /* by the recording's own statistics */
	struct xf_profile_losses losses; /* the same, by cause */
	bool lost_known;                 /* false: it has none (yet) */
	uint64_t skipped; /* ticks that no other pCPU was free to send the NMI for: no samples */
	/* Of a text that tells no vCPUs and pCPUs. */
	bool without_cpus;
	uint32_t nr_pcpus;
	uint64_t frequency;              /* Hz and pCPU; 0: not recorded */
	uint64_t start_time;             /* of sampling, ns since 1970, UTC; 0: not recorded */
	uint64_t duration;               /* of sampling, ns */
	struct xf_vcpu_times vcpu_times; /* none where they were not recorded */
	struct xf_recording_state state;
	/* Owned by the recording; "" where not recorded. */
	const char *host;
	const char *xen_version;
	const char *build_id;
};

/*
 * Makes the profile of @recording, which must outlive it.
 * Return: 0 and *@profile, to be freed with xf_profile_free; -ENODATA where no sample is left
 * (@error says why), -ENOMEM.
 */
int xf_profile_build(const struct xf_recording *recording, const struct xf_profile_options *options,
                     struct xf_profile **profile, struct xf_error *error);
void xf_profile_free(struct xf_profile *profile);

/* Return: where the function of @frame is in the source, "FILE:LINE"; NULL where that is not known.
 */
const char *xf_profile_place(const struct xf_profile *profile, struct xf_frame_id frame);

/* Return: the image that @address lies in, NULL where there is none. */
const struct xf_profile_image *xf_profile_image(const struct xf_profile *profile, uint64_t address);

/* The time that @count samples stand for at the profile's frequency, in ns, UINT64_MAX where it is
 * more; 0 where the frequency is not known. */
uint64_t xf_profile_nanoseconds(const struct xf_profile *profile, uint64_t count);

/* Return: whether the filters of @options let through samples of that domain, named @name. */
bool xf_profile_wants(const struct xf_profile_options *options, uint16_t domid, const char *name,
                      uint32_t pcpu);

/*
 * For where the filters of @options let through none of @recording's samples: fills @error with
 * what was asked for and what is there. Return: -ENODATA.
 */
int xf_profile_refuse(const struct xf_recording *recording,
                      const struct xf_profile_options *options, struct xf_error *error);

/* The name that a domain goes by: "Idle", its own at that time, or "d5". @text has room for what
 * has to be made up. */
const char *xf_domain_name(const struct xf_recording *recording, uint16_t domid, uint64_t tsc,
                           char text[16]);

#endif
