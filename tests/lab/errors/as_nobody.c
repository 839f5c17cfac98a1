// SPDX-License-Identifier: GPL-2.0-or-later
/* as_nobody COMMAND...: runs it as a user without rights. */
#include <grp.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2 || setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0) {
		perror("as_nobody");
		return 99;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 99;
}
