// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hypercalls that the tool makes, through libxencall: a thin wrapper for each, policy
 * elsewhere. Layouts are declared in hypercall.c with where they come from; interface versions are
 * asked for by trying, not listed by Xen's version.
 *
 * Every function returns 0 or a negative errno value and then fills the error:
 *   -EPERM not root; -ENODEV no Xen or no access to it; -EOPNOTSUPP this Xen was built without
 *   what is asked for; -ENOBUFS Xen has no memory for it, -ENOMEM this process has none; others as
 *   Xen returns them.
 */
#ifndef XF_XEN_HYPERCALL_H
#define XF_XEN_HYPERCALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct xf_xen;

/* Opens the way into Xen. *@xen is to be closed with xf_xen_close, which takes NULL. */
int xf_xen_open(struct xf_xen **xen, struct xf_error *error);
void xf_xen_close(struct xf_xen *xen);

struct xf_xen_build_id {
	uint8_t bytes[64];
	size_t size; /* 20 as a rule; 0 where Xen was linked without one */
};

struct xf_xen_version {
	unsigned int major;
	unsigned int minor;
	char extra[16];         /* such as ".7" */
	char commandline[1024]; /* Xen's own */
	char changeset[64];     /* as its build says; may be empty */
	struct xf_xen_build_id build_id;
};

/* Who is running: version, command line, build-id. */
int xf_xen_version(struct xf_xen *xen, struct xf_xen_version *version, struct xf_error *error);

struct xf_xen_host {
	unsigned int online_pcpus;
	unsigned int max_pcpu; /* the highest possible pCPU number */
	uint64_t tsc_hz;
	uint64_t free_bytes; /* of Xen's heap and the domain heap */
	unsigned int threads_per_core;
	unsigned int cores_per_socket;
	unsigned int nodes;
	/* What Xen has found on its first CPU, in the words of
	 * xen/include/public/arch-x86/cpufeatureset.h. */
	uint32_t features[8];
};

int xf_xen_host(struct xf_xen *xen, struct xf_xen_host *host, struct xf_error *error);

/*
 * For a sysctl that is declared where it is used: @body is what stands behind the interface
 * version, at most 128 bytes, and holds Xen's answer afterwards. Buffers that it points to are in
 * memory that Xen can reach. Return: Xen's own; -ENOMEM or another negative errno value.
 */
int xf_xen_sysctl(struct xf_xen *xen, uint32_t command, void *body, size_t size);
/*
 * For another call: @argument is in memory that Xen can reach, and begins with a command and an
 * interface version. *@known is the one that this Xen speaks; 0: the first call finds out, from
 * @first to @last. Return: likewise.
 */
int xf_xen_call_in_version(struct xf_xen *xen, unsigned int op, void *argument, uint32_t *known,
                           uint32_t first, uint32_t last);
/* Return: the buffer; NULL without memory. To be freed with xf_xen_buffer_free, which takes NULL.
 */
void *xf_xen_buffer(struct xf_xen *xen, size_t size);
void xf_xen_buffer_free(struct xf_xen *xen, void *buffer);

/*
 * Calls @take for every symbol of the running Xen in Xen's order; @name is only valid during the
 * call, and empty for an end mark. A non-zero return of @take ends it and is returned.
 */
int xf_xen_symbols(struct xf_xen *xen,
                   int (*take)(void *context, uint64_t address, char type, const char *name),
                   void *context, struct xf_error *error);

/* Trace buffers: sysctl tbuf_op. */
struct xf_xen_trace_info {
	uint64_t info_mfn;   /* 0 where no buffers have been allocated since boot */
	uint32_t info_bytes; /* of the page list there */
	uint32_t event_mask;
};

int xf_xen_trace_info(struct xf_xen *xen, struct xf_xen_trace_info *info, struct xf_error *error);
int xf_xen_trace_allocate(struct xf_xen *xen, uint32_t pages_per_pcpu, struct xf_error *error);
int xf_xen_trace_mask(struct xf_xen *xen, uint32_t event_mask, struct xf_error *error);
int xf_xen_trace_all_pcpus(struct xf_xen *xen, unsigned int max_pcpu, struct xf_error *error);
int xf_xen_trace_enable(struct xf_xen *xen, bool enable, struct xf_error *error);

/* Live patches: sysctl livepatch_op. Names have at most 127 bytes. */
enum xf_livepatch_action {
	XF_LIVEPATCH_UNLOAD = 1,
	XF_LIVEPATCH_REVERT = 2,
	XF_LIVEPATCH_APPLY = 3,
};

enum xf_livepatch_state {
	XF_LIVEPATCH_ABSENT = 0,
	XF_LIVEPATCH_CHECKED = 1,
	XF_LIVEPATCH_APPLIED = 2,
};

struct xf_livepatch {
	char name[128];
	enum xf_livepatch_state state;
};

/* Whether this Xen can do live patching at all; -EOPNOTSUPP where not. */
int xf_xen_livepatch_probe(struct xf_xen *xen, struct xf_error *error);
/* *@state is XF_LIVEPATCH_ABSENT and the return 0 where no payload has that name. */
int xf_xen_livepatch_state(struct xf_xen *xen, const char *name, enum xf_livepatch_state *state,
                           struct xf_error *error);
/* The payloads in the order of their upload; *@list is to be freed by the caller. */
int xf_xen_livepatch_list(struct xf_xen *xen, struct xf_livepatch **list, size_t *nr,
                          struct xf_error *error);
int xf_xen_livepatch_upload(struct xf_xen *xen, const char *name, const void *payload, size_t size,
                            struct xf_error *error);
/*
 * Asks for the action and waits for its end. APPLY does so whatever the payload on top is
 * ("--nodeps"); Xen still compares its own build-id.
 */
int xf_xen_livepatch_act(struct xf_xen *xen, const char *name, enum xf_livepatch_action action,
                         struct xf_error *error);

#endif
