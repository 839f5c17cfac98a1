// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A recording's life on the host: the trace buffers, the agent, its lease, its books; and the way
 * back, which leaves Xen as it was found.
 */
#ifndef XF_XEN_SESSION_H
#define XF_XEN_SESSION_H

#include <signal.h>
#include <stdbool.h>

#include "profile/format.h"
#include "xen/host.h"
#include "xen/runstates.h"
#include "xen/stream.h"

struct xf_session;

/* What a session hands on; pointers are valid during the call only. */
struct xf_session_sink {
	void *context;
	void (*sample)(void *context, const struct xf_sample *sample,
	               const struct xf_sample_guest *guest);
	void (*idle)(void *context, const struct xf_idle_record *idle);
	/* Takes what Xen's scheduler says of its vCPUs; NULL: it is not asked. */
	struct xf_runstates *runstates;
};

/* Told of each step; @what is a few words such as "applying the agent". May be NULL. */
typedef void xf_session_progress_t(void *context, const char *what);

/* Removes an agent, of any version, that an earlier run left behind. @removed tells whether there
 * was one. Return: 0; -EBUSY and @error where another live patch lies on top of it. */
int xf_session_remove_agent(struct xf_xen *xen, bool *removed, struct xf_error *error);

/*
 * Takes all steps to a running agent on @host, all of whose requirements have been met and which
 * must outlive the session. On failure the steps taken are undone in reverse; @error then also says
 * what could not be. Where @interrupted is set before the last step has ended, that is -EINTR.
 */
int xf_session_start(struct xf_host *host, unsigned int frequency,
                     const struct xf_session_sink *sink, xf_session_progress_t *progress,
                     void *context, const volatile sig_atomic_t *interrupted,
                     struct xf_session **session, struct xf_error *error);

/*
 * Hands on what has come and renews the agent's lease; to be called at least twice a second, better
 * ten times. Return: 0; -ECANCELED and @error where the agent has gone (reverted by another, or
 * its lease expired); other negative errno values where the buffers can't be read.
 */
int xf_session_poll(struct xf_session *session, struct xf_error *error);

/*
 * Asks the agent to stop and to close its books, and hands on the rest. Return: 0; -ETIMEDOUT where
 * some pCPU did not close its books in time (a pCPU that is stuck): what was heard last counts.
 */
int xf_session_stop(struct xf_session *session, struct xf_error *error);

/*
 * Hands on what has come, and gives the agent no sign of life. Return: 0; a negative errno value
 * where the buffers can't be read.
 */
int xf_session_listen(struct xf_session *session, struct xf_error *error);

/* Whether all pCPUs have closed their books: the agent takes no sample any more. */
bool xf_session_is_quiet(const struct xf_session *session);

/*
 * Undoes all steps and frees the session; @session may be NULL. Return: 0; otherwise @error says
 * what is still on the host and what to do about it.
 */
int xf_session_end(struct xf_session *session, struct xf_error *error);

/* The books of @pcpu as last heard; -ENOENT beyond the highest pCPU. */
int xf_session_statistics(const struct xf_session *session, unsigned int pcpu,
                          struct xf_pcpu_statistics *statistics);

/* Ticks of @pcpu that were due while no other pCPU was free to send the NMI. */
uint64_t xf_session_skipped(const struct xf_session *session, unsigned int pcpu);

/* Where the agent's code lies in Xen; 0 until it has said hello. */
void xf_session_agent_text(const struct xf_session *session, uint64_t *address, uint64_t *size);

#endif
