// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A recording from the look at the host to the closed file, in parts: what `record` and its
 * self-test share. Nothing here prints, but each step where it is asked for.
 */
#ifndef XF_CMD_RECORDER_H
#define XF_CMD_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/commands.h"
#include "cmd/record_file.h"
#include "cmd/record_guest_kernels.h"
#include "cmd/record_guest_processes.h"
#include "cmd/record_guest_roots.h"
#include "cmd/record_processes.h"
#include "cmd/record_schedule.h"

#define XF_RECORDER_FREQUENCY     99u
#define XF_RECORDER_MAX_FREQUENCY 10000u
#define XF_RECORDER_GUESTS        "0" /* dom0's */

/* Between two looks at the trace buffers. */
#define XF_RECORDER_POLL_MS 50u

struct xf_recorder {
	unsigned int frequency;
	unsigned int user_bytes; /* so much of a process's stack is read */
	const char *guests;      /* whose stacks are read too, as xf_guests_choose takes it */
	bool verbose;            /* tell each step */
	bool deaf;               /* what comes is counted, but not written */
	bool with_schedule;      /* what Xen's scheduler does is recorded */
	bool live;               /* somebody looks on, and nothing is written at the end */
	int64_t keep_ms;         /* so often the file is brought up to date; 0: once a second */
	struct xf_host host;
	struct xf_record_file file;
	struct xf_session *session;
	struct xf_record_processes processes;
	struct xf_record_schedule schedule;
	struct xf_record_guest_kernels kernels;           /* of other domains than dom0 */
	struct xf_record_guest_processes guest_processes; /* likewise */
	struct xf_guest_roots guest_roots;                /* likewise; set by the caller */
	struct xf_guest_reader guest_reader;
	struct xf_error
	        no_guest_reader; /* why there is none; code 0: there is, or none is needed */
	const char *unnamed;     /* why functions of processes may be; NULL: they are not */
	int write_error;         /* of the file; 0 or a negative errno value */
	uint64_t samples;
	uint64_t idle;
	uint64_t first_tsc; /* of what has come; 0: nothing yet */
	uint64_t last_tsc;
	uint64_t ahead; /* samples whose time, by their pCPU's TSC, had not come yet by ours */
	int64_t kept;   /* when the file was last brought up to date, ms */
};

/* Milliseconds of a clock that only goes forward. */
int64_t xf_recorder_now_ms(void);

/* From here on SIGINT, SIGTERM, SIGHUP and SIGQUIT ask for the end, where they were not ignored. */
void xf_recorder_catch_signals(void);
bool xf_recorder_interrupted(void);

/*
 * A busy dom0 must not keep us from the agent's lease and from its samples: while the agent is
 * there we need little, but in time. Without the right to it we do as well as we can.
 */
void xf_recorder_be_urgent(bool urgent);

/* Told of each requirement that is met. */
typedef void xf_recorder_found_t(void *context, const char *name, const char *detail);

/* Asks all requirements; @found may be NULL. Return: 0, or why this host can't be recorded. */
int xf_recorder_examine(struct xf_recorder *recorder, xf_recorder_found_t *found, void *context,
                        struct xf_error *error);

/* Makes the file at @path and writes its first part. Nothing has been loaded into Xen by then. */
int xf_recorder_open(struct xf_recorder *recorder, const char *path, struct xf_error *error);

/*
 * Looks for the domains that are asked for among those that there are now, and writes what naming
 * their stacks needs. Return: 0; -EINVAL where there is no such domain; or the file's error.
 */
int xf_recorder_prepare_guests(struct xf_recorder *recorder, struct xf_error *error);

/* Starts the agent; what it samples from now on goes into the file. */
int xf_recorder_start(struct xf_recorder *recorder, struct xf_error *error);

/* Gives the file its name, and puts into it what is known once the agent runs. */
int xf_recorder_settle(struct xf_recorder *recorder, struct xf_error *error);

/* One turn: waits a little, hands on what has come, once a second brings the file up to date.
 * Return: 0, or why the recording ends here. */
int xf_recorder_turn(struct xf_recorder *recorder, struct xf_error *error);

/*
 * Stops the agent and hands on the rest; @result is why the recording has ended, 0: as asked for.
 * Return: 0; otherwise why not all pCPUs have closed their books, which leaves the recording whole.
 */
int xf_recorder_stop(struct xf_recorder *recorder, int result, struct xf_error *error);

/* Writes what is known from the session, unless writing has failed before. */
int xf_recorder_finish(struct xf_recorder *recorder, struct xf_error *error);

/* Writes the last part of the file, which may take seconds: the session need not be there any more.
 * Likewise. */
int xf_recorder_complete(struct xf_recorder *recorder, struct xf_error *error);

/* Return: the exit status for a failure to write the file. */
enum xf_exit xf_recorder_output_exit(const struct xf_error *error);

/* Closes what is open but the session. */
void xf_recorder_close(struct xf_recorder *recorder);

#endif
