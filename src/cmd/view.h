// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What report, flamegraph, script, folded and export share: each reads a recording and writes what
 * it makes of it, whole or not at all.
 */
#ifndef XF_CMD_VIEW_H
#define XF_CMD_VIEW_H

#include <stdbool.h>
#include <stdio.h>

#include "cmd/options.h"
#include "profile/profile.h"

/* Whether places in the source are shown. */
enum xf_lines_wish {
	XF_LINES_NONE,
	XF_LINES_HERE,     /* if debug info is on this machine ... */
	XF_LINES_ANYWHERE, /* ... or if a server has it that $DEBUGINFOD_URLS names */
};

/* What is asked for; the first member of the command's own request. */
struct xf_view {
	const char *input;
	const char *output;
	struct xf_profile_options profile;
	const char *debug_file; /* NULL: none is named */
	enum xf_lines_wish lines;
	bool wants_profile; /* false: made of the samples one by one */
	bool takes_text;    /* folded stacks and perf script's text as well as recordings */
	/* Completes the request once all options are read; NULL: it is complete. Return: whether it
	   makes sense; told otherwise. */
	bool (*settle)(struct xf_view *view);
};

/* Entries of a view's option table. */
#define XF_VIEW_INPUT                                                                              \
	{                                                                                          \
		"input", 'i', "FILE", "the recording (default: " XF_DEFAULT_RECORDING ")",         \
		        xf_view_take_input                                                         \
	}
#define XF_VIEW_OUTPUT(help)                                                                       \
	{                                                                                          \
		"output", 'o', "FILE", help, xf_view_take_output                                   \
	}
#define XF_VIEW_BY                                                                                 \
	{                                                                                          \
		"by", 0, "LIST",                                                                   \
		        "lowest frames: domain,vcpu,pcpu,process or none (default: domain)",       \
		        xf_view_take_by                                                            \
	}
#define XF_VIEW_DOMAIN                                                                             \
	{                                                                                          \
		"domain", 0, "NAME", "only this domain, by name or number", xf_view_take_domain    \
	}
#define XF_VIEW_PCPU                                                                               \
	{                                                                                          \
		"pcpu", 0, "N", "only this physical CPU", xf_view_take_pcpu                        \
	}

#define XF_VIEW_INLINES                                                                            \
	{                                                                                          \
		"inlines", 0, NULL, "inlined functions of Xen's as frames; wants its debug info",  \
		        xf_view_take_inlines                                                       \
	}
#define XF_VIEW_DEBUG_FILE                                                                         \
	{                                                                                          \
		"debug-file", 0, "FILE", "Xen's debug info, such as a xen-syms (default: found)",  \
		        xf_view_take_debug_file                                                    \
	}

bool xf_view_take_input(void *view, const char *value);
bool xf_view_take_output(void *view, const char *value);
bool xf_view_take_by(void *view, const char *value);
bool xf_view_take_domain(void *view, const char *value);
bool xf_view_take_pcpu(void *view, const char *value);
bool xf_view_take_inlines(void *view, const char *value);
bool xf_view_take_debug_file(void *view, const char *value);

/*
 * Writes to @out, and leaves it to the caller to look at ferror(@out). @profile is NULL where @view
 * wants none. Return: XF_EXIT_OK; otherwise the exit status, and it has been told.
 */
typedef int xf_view_write_t(const struct xf_view *view, const struct xf_input *input,
                            const struct xf_profile *profile, FILE *out);

/* What follows the command line: reads and writes. Return: the exit status. */
int xf_view_make(struct xf_view *view, xf_view_write_t *write);

/* For where @output is what is read. Return: the exit status, and it has been told. */
int xf_view_refuse_itself(const char *output);

/* All of a view's run, from its command line to its output. Return: the exit status. */
int xf_view_run(const struct xf_command *command, int argc, char **argv, struct xf_view *view,
                xf_view_write_t *write);

#endif
