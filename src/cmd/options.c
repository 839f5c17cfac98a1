// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "output/text.h"

#define OPTIONS_MAX 40
#define LONG_ONLY   256 /* getopt's value of option i without a letter: LONG_ONLY + i */

int xf_complain(int status, const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	fflush(stdout);
	fputs("xenflame: ", stderr);
	/* Names and values in it are as somebody else chose them. */
	xf_text_write(stderr, text ? text : "out of memory", "");
	fputc('\n', stderr);
	free(text);
	return status;
}

static size_t option_count(const struct xf_command *command)
{
	size_t nr = 0;

	while (command->options && command->options[nr].name && nr < OPTIONS_MAX - 2)
		nr++;
	return nr;
}

enum {
	END = -1,
	WRONG = -2, /* told */
	HELPED = -3,
};

/* What getopt_long is to know of a command's options. */
struct grammar {
	struct option table[OPTIONS_MAX]; /* in the order of the command's, and "help" */
	char letters[2 * OPTIONS_MAX + 8];
};

static void describe_options(const struct xf_command *command, struct grammar *grammar)
{
	size_t nr = option_count(command);
	size_t used;

	/* '+': stop at the first argument; ':': a missing argument is told from other mistakes. */
	*grammar = (struct grammar){0};
	snprintf(grammar->letters, sizeof(grammar->letters), "%s:h",
	         command->mixes_arguments ? "" : "+");
	used = strlen(grammar->letters);
	for (size_t i = 0; i < nr; i++) {
		const struct xf_option *option = &command->options[i];

		grammar->table[i] = (struct option){
		        .name = option->name,
		        .has_arg = option->argument ? required_argument : no_argument,
		        .val = option->letter ? option->letter : LONG_ONLY + (int)i};
		if (option->letter)
			grammar->letters[used++] = option->letter;
		if (option->letter && option->argument)
			grammar->letters[used++] = ':';
	}
	grammar->table[nr] = (struct option){.name = "help", .val = 'h'};
}

/* Return: the entry whose value getopt_long gave as @value, NULL where there is none. */
static const struct option *find_option(const struct grammar *grammar, int value)
{
	for (const struct option *option = grammar->table; option->name; option++) {
		if (option->val == value)
			return option;
	}
	return NULL;
}

static size_t count_options(const struct grammar *grammar, const char *prefix, size_t size)
{
	size_t nr = 0;

	for (const struct option *option = grammar->table; option->name; option++)
		nr += strncmp(option->name, prefix, size) == 0;
	return nr;
}

/* @word is a long option that getopt_long finds none for, or more than one. */
static void refuse_long(const struct xf_command *command, const struct grammar *grammar,
                        const char *word)
{
	size_t size = strcspn(word, "=");

	if (count_options(grammar, word + 2, size - 2) > 1)
		xf_complain(0, "%s: option '%.*s' is ambiguous; see xenflame help %s",
		            command->name, (int)size, word, command->name);
	else
		xf_complain(0, "%s: unrecognized option '%.*s'; see xenflame help %s",
		            command->name, (int)size, word, command->name);
}

/* @got is what getopt_long returned, ':' or '?'; it leaves in optopt which option it is about, or
 * 0 where that is a long one that it does not know. */
static int refuse_option(const struct xf_command *command, const struct grammar *grammar, int got,
                         char **argv)
{
	const struct option *option = find_option(grammar, optopt);

	if (!optopt)
		refuse_long(command, grammar, argv[optind - 1]);
	else if (!option)
		xf_complain(0, "%s: unrecognized option '-%c'; see xenflame help %s", command->name,
		            optopt, command->name);
	else
		xf_complain(0, "%s: option '--%s' takes %s argument; see xenflame help %s",
		            command->name, option->name, got == ':' ? "an" : "no", command->name);
	return WRONG;
}

/* Return: the index of the next option and *@value, or one of the above. */
static int next_option(const struct xf_command *command, int argc, char **argv, const char **value)
{
	struct grammar grammar;
	const struct option *option;
	int got;

	describe_options(command, &grammar);
	opterr = 0;
	got = getopt_long(argc, argv, grammar.letters, grammar.table, NULL);
	*value = optarg;
	if (got == -1)
		return END;
	if (got == 'h') {
		xf_command_help(stdout, command);
		return HELPED;
	}
	option = find_option(&grammar, got);
	return option ? (int)(option - grammar.table) : refuse_option(command, &grammar, got, argv);
}

static void refuse_argument(const struct xf_command *command, const char *argument)
{
	bool reads = false;

	for (size_t i = 0; i < option_count(command); i++)
		reads = reads || command->options[i].letter == 'i';
	xf_complain(0, "%s takes no argument '%s'%s; see xenflame help %s", command->name, argument,
	            reads ? " (a recording is named with -i FILE)" : "", command->name);
}

bool xf_options_read(const struct xf_command *command, int argc, char **argv, void *request,
                     int *status)
{
	const char *value;
	int option;

	*status = XF_EXIT_USAGE;
	while ((option = next_option(command, argc, argv, &value)) >= 0) {
		if (!command->options[option].take(request, value))
			return false;
	}
	if (option == HELPED)
		*status = XF_EXIT_OK;
	if (option != END)
		return false;
	if (optind < argc && !command->takes_arguments) {
		refuse_argument(command, argv[optind]);
		return false;
	}
	return true;
}

bool xf_option_number(const char *option, const char *text, uint64_t least, uint64_t most,
                      uint64_t *number)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || value < least || value > most) {
		xf_complain(0, "%s wants a number from %llu to %llu, not '%s'", option,
		            (unsigned long long)least, (unsigned long long)most, text);
		return false;
	}
	*number = value;
	return true;
}

static void print_option(FILE *out, const struct xf_option *option)
{
	char left[64];
	int size;

	if (option->letter)
		size = snprintf(left, sizeof(left), "-%c, --%s", option->letter, option->name);
	else
		size = snprintf(left, sizeof(left), "    --%s", option->name);
	if (option->argument && size > 0 && (size_t)size < sizeof(left))
		snprintf(left + size, sizeof(left) - (size_t)size, " %s", option->argument);
	fprintf(out, "  %-29s %s\n", left, option->help);
}

void xf_command_help(FILE *out, const struct xf_command *command)
{
	size_t nr = option_count(command);

	fprintf(out, "usage: xenflame %s%s%s\n\n%s\n", command->name,
	        command->synopsis && command->synopsis[0] ? " " : "",
	        command->synopsis ? command->synopsis : "", command->summary);
	if (nr)
		fputs("\nOptions\n", out);
	for (size_t i = 0; i < nr; i++)
		print_option(out, &command->options[i]);
	if (nr)
		fprintf(out, "  %-29s %s\n", "-h, --help", "this text");
	if (command->help && command->help[0])
		fputc('\n', out);
	for (size_t i = 0; command->help && command->help[i]; i++)
		fprintf(out, "%s\n", command->help[i]);
}
