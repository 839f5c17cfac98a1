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
#include <sys/types.h>

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
	/* Puts @value (NULL where it takes none) into the command's @request. Return: whether it
	 * makes sense; told otherwise. */
	bool (*take)(void *request, const char *value);
};

/*
 * Reads the command line into @request: all options of @command's table, and -h and --help beside
 * it. Where the command takes arguments they begin at argv[optind].
 * Return: whether the command is to go on; if not *@status is what it returns.
 */
bool xf_options_read(const struct xf_command *command, int argc, char **argv, void *request,
                     int *status);

/* Return: whether @text is a decimal number from @least to @most, in *@number; told otherwise. */
bool xf_option_number(const char *option, const char *text, uint64_t least, uint64_t most,
                      uint64_t *number);

/* Prints "xenflame: TEXT" on stderr, in one line whatever names are in it. Return: @status. */
int xf_complain(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* @command's help text on @out. */
void xf_command_help(FILE *out, const struct xf_command *command);

/* ---- Recordings ------------------------------------------------------------------------------ */

#define XF_DEFAULT_RECORDING "xenflame.data"

struct xf_input {
	const char *path;
	void *bytes;
	size_t size;
	bool regular; /* a file of its own: the one with these numbers */
	dev_t device;
	ino_t inode;
	struct xf_recording *recording; /* NULL: text or perf.data */
};

/* Opens the recording at @path ("-": standard input). Return: XF_EXIT_OK; otherwise XF_EXIT_INPUT,
 * or XF_EXIT_FAILURE without memory, and it has been told. Close in either case. */
int xf_input_open(const char *path, struct xf_input *input);

/* The same of a recording, of text that a profile can be made of (text_input.h), or of perf.data
 * (perf_input.h). */
int xf_input_open_any(const char *path, struct xf_input *input);

/* The profile of any of them. Return: as xf_profile_build. */
int xf_input_profile(const struct xf_input *input, const struct xf_profile_options *options,
                     struct xf_profile **profile, struct xf_error *error);

/* Tells what is to be known of a profile of @input before one looks at it. */
void xf_input_remark(const struct xf_input *input, const struct xf_profile *profile);

/* Return: 0 where the first bytes of a file, XF_INPUT_HEAD or all of them, are of what is wanted;
 * otherwise a negative errno value and @error. */
typedef int xf_input_recognize_t(const void *bytes, size_t size, struct xf_error *error);
#define XF_INPUT_HEAD 64u

/* The same for the bytes of any file of at most @most bytes: there is no recording then. What is
 * not recognized is not read on: it may have no end. */
int xf_input_read(const char *path, xf_input_recognize_t *recognize, size_t most,
                  struct xf_input *input);
void xf_input_close(struct xf_input *input);

/* Whether writing to @path ("-": standard output) would overwrite @input. */
bool xf_input_is(const struct xf_input *input, const char *path);

/* Tells why @input gave nothing. Return: XF_EXIT_INPUT, or XF_EXIT_FAILURE without memory. */
int xf_input_complain(const struct xf_input *input, const struct xf_error *error);

/* ---- Outputs --------------------------------------------------------------------------------- */

/* A regular file is written under a temporary name beside it, which takes its place once whole. A
 * link keeps its place: what it leads to is written. */
struct xf_output {
	const char *path; /* "-": standard output */
	FILE *stream;
	char *temporary; /* NULL: written in place */
	char *target;    /* what the temporary file takes the place of */
};

/* Return: XF_EXIT_OK, or XF_EXIT_OUTPUT and it has been told. */
int xf_output_open(const char *path, struct xf_output *output);

/* Finishes what is written. Return: XF_EXIT_OK, or XF_EXIT_OUTPUT, told, and nothing left behind.
 */
int xf_output_close(struct xf_output *output);

/* Gives up: leaves what was at the path before. */
void xf_output_abandon(struct xf_output *output);

#endif
