// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What subcommands share: options read from the same table that help is printed from, recordings
 * opened, outputs written whole or not at all. Functions here print their own messages.
 */
#ifndef XF_CMD_OPTIONS_H
#define XF_CMD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "cmd/commands.h"
#include "profile/profile.h"
#include "profile/recording.h"

/* ---- Options --------------------------------------------------------------------------------- */

struct xf_option {
	const char *name;     /* long name, without dashes; NULL ends the table */
	char letter;          /* short name; 0: none */
	const char *argument; /* what it takes, as help shows it; NULL: nothing */
	const char *help;     /* one line */
};

enum {
	XF_OPTIONS_END = -1,    /* no more options; arguments start at argv[optind] */
	XF_OPTIONS_WRONG = -2,  /* told on stderr: return XF_EXIT_USAGE */
	XF_OPTIONS_HELPED = -3, /* --help was asked for and printed: return XF_EXIT_OK */
};

/*
 * The next option of @command's table on the command line; -h and --help are understood beside it.
 * Reading stops at the first argument that is no option.
 * Return: its index in the table and *@value (NULL where it takes none), or one of the above.
 */
int xf_options_next(const struct xf_command *command, int argc, char **argv, const char **value);

/* Return: whether @text is a decimal number from @least to @most, in *@number; told otherwise. */
bool xf_option_number(const char *option, const char *text, uint64_t least, uint64_t most,
                      uint64_t *number);

/* Prints "xenflame: TEXT" on stderr. Return: @status. */
int xf_complain(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Complains where arguments are left that nobody takes. Return: XF_EXIT_OK or XF_EXIT_USAGE. */
int xf_options_no_arguments(const struct xf_command *command, int argc, char **argv);

/* @command's help text on @out. */
void xf_command_help(FILE *out, const struct xf_command *command);

/*
 * Applies a value of --by ("domain,vcpu,pcpu" in any combination, or "none"), --domain or --pcpu.
 * Return: whether it made sense; told otherwise.
 */
bool xf_option_by(const char *value, struct xf_profile_options *options);
bool xf_option_pcpu(const char *value, struct xf_profile_options *options);

/* ---- Recordings ------------------------------------------------------------------------------ */

#define XF_DEFAULT_RECORDING "xenflame.data"

struct xf_input {
	const char *path;
	void *bytes;
	size_t size;
	bool mapped;
	struct xf_recording *recording;
};

/* Opens the recording at @path ("-": standard input). Return: XF_EXIT_OK, or XF_EXIT_INPUT and it
 * has been told. Close in either case. */
int xf_input_open(const char *path, struct xf_input *input);
void xf_input_close(struct xf_input *input);

/* Tells why @input gave nothing. Return: XF_EXIT_INPUT, or XF_EXIT_FAILURE without memory. */
int xf_input_complain(const struct xf_input *input, const struct xf_error *error);

/* ---- Outputs --------------------------------------------------------------------------------- */

/* A regular file is written under a temporary name beside it, which takes its place once whole. */
struct xf_output {
	const char *path; /* "-": standard output */
	FILE *stream;
	char *temporary; /* NULL: written in place */
};

/* Return: XF_EXIT_OK, or XF_EXIT_OUTPUT and it has been told. */
int xf_output_open(const char *path, struct xf_output *output);

/* Finishes what is written. Return: XF_EXIT_OK, or XF_EXIT_OUTPUT, told, and nothing left behind.
 */
int xf_output_close(struct xf_output *output);

/* Gives up: leaves what was at the path before. */
void xf_output_abandon(struct xf_output *output);

#endif
