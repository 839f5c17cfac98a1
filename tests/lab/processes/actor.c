// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program whose processes can be told apart by where they are: copies of it are named actor00 to
 * actor15, and each runs a function of its own, which makes hypercalls by system calls of its own.
 *
 *   actorNN run MS                  acts for so long and ends
 *   actorNN threads MS              the same in four threads, with other names than the process
 *   actorNN exec MS TIMES           acts, and becomes the next actor, which does the same; so many
 * times actorNN thread-exec MS TIMES    the same, and a second thread does it spawner MS SECONDS
 * [PID]        processes that each become an actor for MS, one after the other, of that number if
 * one is given; says how many there were
 *
 * The copies are in the directory of the program that is started, which is named by its full path.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <xen/xen.h>

#include <xen/sys/privcmd.h>
#include <xen/version.h>

enum {
	ROLES = 16,
	THREADS = 4,
	CALLS = 20 /* between looks at the clock */
};

struct part {
	int role;
	int device;
	uint64_t until;
};

static uint64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

/* Where the instruction is says who has called. */
static inline __attribute__((always_inline)) long call_kernel(long number, long a, long b, long c)
{
	long result;

	__asm__ volatile("syscall"
	                 : "=a"(result)
	                 : "a"(number), "D"(a), "S"(b), "d"(c)
	                 : "rcx", "r11", "memory");
	return result;
}

/* noipa: functions that do the same are not to become one. */
#define ROLE(number)                                                                               \
	static __attribute__((noipa)) void acts_as_##number(const struct part *part)               \
	{                                                                                          \
		privcmd_hypercall_t call = {.op = __HYPERVISOR_xen_version,                        \
		                            .arg = {XENVER_version}};                              \
                                                                                                   \
		do                                                                                 \
			for (int i = 0; i < CALLS; i++)                                            \
				call_kernel(SYS_ioctl, part->device,                               \
				            (long)IOCTL_PRIVCMD_HYPERCALL, (long)&call);           \
		while (now_ms() < part->until);                                                    \
	}

ROLE(00)
ROLE(01)
ROLE(02)
ROLE(03)
ROLE(04)
ROLE(05)
ROLE(06)
ROLE(07)
ROLE(08)
ROLE(09)
ROLE(10)
ROLE(11)
ROLE(12)
ROLE(13)
ROLE(14)
ROLE(15)

static void (*const roles[ROLES])(const struct part *part) = {
        acts_as_00, acts_as_01, acts_as_02, acts_as_03, acts_as_04, acts_as_05,
        acts_as_06, acts_as_07, acts_as_08, acts_as_09, acts_as_10, acts_as_11,
        acts_as_12, acts_as_13, acts_as_14, acts_as_15};

static void *act(void *context)
{
	const struct part *part = context;

	roles[part->role](part);
	return NULL;
}

static void *act_as_other(void *context)
{
	prctl(PR_SET_NAME, "thread");
	return act(context);
}

/* The directory of @program with the name of @role's copy. */
static void name_copy(const char *program, int role, char path[256])
{
	const char *slash = strrchr(program, '/');

	snprintf(path, 256, "%.*s/actor%02d", (int)(slash - program), program, role);
}

/* Not execv of the C library: the instruction's place says who becomes another. */
static __attribute__((noipa)) void becomes_another(const char *path, char **arguments)
{
	call_kernel(SYS_execve, (long)path, (long)arguments, (long)environ);
	_exit(127);
}

static void *become_next(void *context)
{
	char **arguments = context;
	int role = atoi(strrchr(arguments[0], '/') + 6);
	int left = atoi(arguments[3]);
	char path[256], times[16];

	name_copy(arguments[0], (role + 1) % ROLES, path);
	snprintf(times, sizeof(times), "%d", left - 1);
	arguments[0] = path;
	arguments[3] = times;
	if (left > 0)
		becomes_another(path, arguments);
	_exit(0);
}

static void *become_next_later(void *context)
{
	usleep((unsigned int)atoi(((char **)context)[2]) * 500);
	return become_next(context);
}

static void act_in_threads(struct part *part)
{
	pthread_t threads[THREADS - 1];

	for (int i = 0; i < THREADS - 1; i++)
		pthread_create(&threads[i], NULL, act_as_other, part);
	act(part);
	for (int i = 0; i < THREADS - 1; i++)
		pthread_join(threads[i], NULL);
}

static void start_chain(char **arguments, struct part *part)
{
	pthread_t thread;

	if (strcmp(arguments[1], "thread-exec") != 0) {
		act(part);
		become_next(arguments);
	}
	/* The one of the two that is not the first ends the other, and becomes the first. */
	pthread_create(&thread, NULL, become_next_later, arguments);
	act(part);
	pause();
}

static __attribute__((noipa)) pid_t spawn(const char *program, const char *ms, int role)
{
	char path[256], mode[] = "run", time[16];
	char *arguments[] = {path, mode, time, NULL};
	pid_t child = (pid_t)call_kernel(SYS_fork, 0, 0, 0);

	if (child == 0) {
		name_copy(program, role, path);
		snprintf(time, sizeof(time), "%s", ms);
		becomes_another(path, arguments);
	}
	waitpid(child, NULL, 0);
	return child;
}

/* The next process gets the number, where nobody has it. */
static void ask_for_number(int last_pid, int number)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", number - 1);
	if (pwrite(last_pid, text, strlen(text), 0) < 0)
		perror("ns_last_pid");
}

static void spawn_all(char **arguments)
{
	uint64_t begin = now_ms(), until = begin + strtoull(arguments[2], NULL, 10) * 1000;
	int last_pid = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
	int wanted = arguments[3] ? atoi(arguments[3]) : 0;
	unsigned int spawned = 0, again = 0;

	for (; now_ms() < until; spawned++) {
		if (wanted)
			ask_for_number(last_pid, wanted);
		again += spawn(arguments[0], arguments[1], (int)(spawned % ROLES)) == wanted;
	}
	printf("%u processes, %u of one number, one each %" PRIu64 " us\n", spawned, again,
	       (now_ms() - begin) * 1000 / (spawned ? spawned : 1));
}

int main(int argc, char **argv)
{
	struct part part = {.device = open("/dev/xen/privcmd", O_RDWR | O_CLOEXEC)};
	const char *name = strrchr(argv[0], '/') + 1;

	if (argc < 3 || part.device < 0)
		return 2;
	if (strcmp(name, "spawner") == 0) {
		spawn_all(argv);
		return 0;
	}
	part.role = atoi(name + 5) % ROLES;
	part.until = now_ms() + strtoull(argv[2], NULL, 10);
	if (strcmp(argv[1], "threads") == 0)
		act_in_threads(&part);
	else if (argc == 4)
		start_chain(argv, &part);
	else
		act(&part);
	return 0;
}
