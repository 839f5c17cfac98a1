/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pagetables: fork, exec and exit without end, each child with some hundred pages of its own.
 * In a PV domain every new page table is pinned and filled by hypercalls, and taken apart again.
 */
#include "common.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum {
	PAGES = 256,
	PAGE = 4096
};

int main(int argc, char **argv)
{
	char *memory;

	if (argc > 1) /* the exec'd child */
		return 0;
	memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	              0);
	if (memory == MAP_FAILED)
		must(-1, "mmap");
	for (;;) {
		pid_t child;

		memset(memory, 1, PAGES * PAGE);
		child = (pid_t)must(fork(), "fork");
		if (child == 0) {
			for (int i = 0; i < PAGES; i += 4)
				memory[i * PAGE] = 2; /* copy on write */
			mprotect(memory, PAGES * PAGE, PROT_READ);
			execl("/proc/self/exe", argv[0], "child", (char *)NULL);
			_exit(127);
		}
		must(waitpid(child, NULL, 0), "waitpid");
		madvise(memory, PAGES * PAGE, MADV_DONTNEED);
	}
}
