// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/options.h"

static void print_help(FILE *out)
{
	fputs("usage: xenflame COMMAND [OPTIONS]\n"
	      "\n"
	      "Shows where the time of a Xen host's CPUs goes, guests and hypervisor.\n"
	      "\n"
	      "Commands\n",
	      out);
	for (size_t i = 0; xf_commands[i]; i++)
		fprintf(out, "  %-12s %s\n", xf_commands[i]->name, xf_commands[i]->summary);
	fputs("\n"
	      "'xenflame help COMMAND' tells more. To begin with, as root in dom0:\n"
	      "  xenflame record -t 30 && xenflame flamegraph -o host.svg\n",
	      out);
}

static const struct xf_command *find_command(const char *name)
{
	for (size_t i = 0; xf_commands[i]; i++) {
		if (strcmp(xf_commands[i]->name, name) == 0)
			return xf_commands[i];
	}
	return NULL;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Insertions, deletions and replacements that make @a into @b; both are short. */
static size_t distance(const char *a, const char *b)
{
	size_t row[32];
	size_t width = strlen(b);

	if (width >= 31 || strlen(a) >= 31)
		return 31;
	for (size_t j = 0; j <= width; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= width; j++) {
			size_t next = least(least(row[j], row[j - 1]) + 1,
			                    corner + (a[i - 1] != b[j - 1]));

			corner = row[j];
			row[j] = next;
		}
	}
	return row[width];
}

static int refuse_command(const char *name)
{
	const struct xf_command *nearest = NULL;
	/* Beyond three slips, or where no letter is left, it is another word. */
	size_t best = least(4, strlen(name));

	for (size_t i = 0; xf_commands[i]; i++) {
		size_t slips = distance(name, xf_commands[i]->name);

		if (slips < best) {
			best = slips;
			nearest = xf_commands[i];
		}
	}
	if (nearest)
		return xf_complain(XF_EXIT_USAGE,
		                   "'%s' is not a command; did you mean '%s'? (see xenflame"
		                   " --help)",
		                   name, nearest->name);
	return xf_complain(XF_EXIT_USAGE, "'%s' is not a command; see xenflame --help", name);
}

/* Return: @status, or XF_EXIT_OUTPUT where all was well but what was printed did not get out. */
static int flush_stdout(int status)
{
	if ((fflush(stdout) || ferror(stdout)) && status == XF_EXIT_OK)
		return xf_complain(XF_EXIT_OUTPUT, "cannot write to standard output");
	return status;
}

static int run_help(int argc, char **argv)
{
	const struct xf_command *command;

	if (argc > 2)
		return xf_complain(XF_EXIT_USAGE, "help takes one command, not '%s' beside it",
		                   argv[2]);
	if (argc < 2 || strcmp(argv[1], "help") == 0) {
		print_help(stdout);
		return XF_EXIT_OK;
	}
	command = find_command(argv[1]);
	if (!command)
		return refuse_command(argv[1]);
	xf_command_help(stdout, command);
	return XF_EXIT_OK;
}

int main(int argc, char **argv)
{
	const struct xf_command *command;

	if (argc < 2) {
		print_help(stderr);
		return XF_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("xenflame %s\n", XF_VERSION);
		return flush_stdout(XF_EXIT_OK);
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_help(stdout);
		return flush_stdout(XF_EXIT_OK);
	}
	if (strcmp(argv[1], "help") == 0)
		return flush_stdout(run_help(argc - 1, argv + 1));
	command = find_command(argv[1]);
	if (!command)
		return refuse_command(argv[1]);
	return flush_stdout(command->run(argc - 1, argv + 1));
}
