// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The recorder that `top` starts: a process of its own, so that nothing that the view does, or
 * waits for, keeps it from the agent's lease; it writes into memory that the view reads. It ends,
 * and takes the agent out again, when it is asked to, and when the view is gone, however that came.
 */
#ifndef XF_CMD_TOP_RECORDER_H
#define XF_CMD_TOP_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "cmd/record_guest_kernels.h"

struct xf_top_recorder_request {
	unsigned int frequency;
	const char *guests;
	struct xf_record_guest_kernels kernels; /* what is asked for of them */
	int64_t keep_ms;                        /* so often what has come is to be seen */
};

struct xf_top_recorder {
	pid_t pid;    /* 0: none runs */
	int said;     /* memory with its messages; -1: there is none */
	int status;   /* once it has ended: its exit status ... */
	int signal;   /* ... and what it was killed by; 0: it was not */
	uint64_t cpu; /* that it has used, ns, as last seen */
};

/*
 * Starts it. Return: 0, and in *@memory the memory that it writes a recording to, which becomes the
 * caller's; or a negative errno value and @error. End it with xf_top_recorder_end.
 */
int xf_top_recorder_start(const struct xf_top_recorder_request *request,
                          struct xf_top_recorder *recorder, int *memory, struct xf_error *error);

/* Return: whether it still runs; looks at its CPU time where it does. */
bool xf_top_recorder_runs(struct xf_top_recorder *recorder);

/* Asks it to end, waits until it has, and says on stderr what it had to say. Return: its exit
 * status. */
int xf_top_recorder_end(struct xf_top_recorder *recorder);

#endif
