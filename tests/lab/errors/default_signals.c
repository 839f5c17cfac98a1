// SPDX-License-Identifier: GPL-2.0-or-later
/* default_signals COMMAND...: runs it with the signals of a terminal's foreground, which a shell
   without job control takes from what it starts in the background. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2)
		return 99;
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 99;
}
