// SPDX-License-Identifier: GPL-2.0-or-later
/* The subcommands: one file and one line in commands.c's table each. */
#ifndef XF_CMD_COMMANDS_H
#define XF_CMD_COMMANDS_H

#include <stdbool.h>

/* Exit statuses, the same for every subcommand; docs and man pages list them. */
enum xf_exit {
	XF_EXIT_OK = 0,
	XF_EXIT_FAILURE = 1,  /* tried and failed; the message says what */
	XF_EXIT_USAGE = 2,    /* the command line makes no sense */
	XF_EXIT_NOT_ROOT = 3, /* needs root */
	XF_EXIT_NOT_XEN = 4,  /* not a Xen dom0, or no access to it (privcmd) */
	XF_EXIT_UNSUPPORTED =
	        5,          /* this Xen cannot be profiled: live patching, build-id, symbols ... */
	XF_EXIT_BUSY = 6,   /* trace buffers or the patch loader are in use by another */
	XF_EXIT_OUTPUT = 7, /* the output could not be written */
	XF_EXIT_INPUT = 8,  /* the recording, or the image, could not be read */
	XF_EXIT_INCOMPLETE =
	        9, /* the recording was cut short by the host; what there is, is whole */
	XF_EXIT_NOT_KEPT = 10, /* the self-test found a promise that is not kept on this host */
};

struct xf_option;

struct xf_command {
	const char *name;
	const char *synopsis;              /* options and arguments, without the name */
	const char *summary;               /* one line, lower case, no full stop */
	const char *const *help;           /* further lines, NULL-terminated */
	const struct xf_option *options;   /* options.h; listed before @help; NULL: none */
	bool takes_arguments;              /* from the first one that is no option ... */
	bool mixes_arguments;              /* ... behind which there may be options, too */
	int (*run)(int argc, char **argv); /* argv[0] is the subcommand; returns enum xf_exit */
};

extern const struct xf_command xf_command_check;
extern const struct xf_command xf_command_record;
extern const struct xf_command xf_command_top;
extern const struct xf_command xf_command_report;
extern const struct xf_command xf_command_annotate;
extern const struct xf_command xf_command_flamegraph;
extern const struct xf_command xf_command_script;
extern const struct xf_command xf_command_folded;
extern const struct xf_command xf_command_export;
extern const struct xf_command xf_command_diff;
extern const struct xf_command xf_command_detach;
extern const struct xf_command xf_command_unwind;

/* NULL-terminated, in the order of the help text. */
extern const struct xf_command *const xf_commands[];

#endif
