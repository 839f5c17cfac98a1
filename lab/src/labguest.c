/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * labguest: process 1 of the lab's guests. It starts and stops workloads as dom0 asks.
 *
 * dom0 writes the wanted workloads, "NAME" or "NAME:ARGUMENT:...", to the guest's xenstore key
 * data/lab-want, and reads from data/lab-have what runs: the same words in the same order, "!"
 * before one that is unknown or has ended by itself. Waiting is a blocking read of a watch: no
 * timers, no polling. data/lab-text says where this guest's kernel lies.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xen/io/xs_wire.h>

enum {
	MAX_LOADS = 16,
	NAME_LEN = 128,
	MAX_ARGUMENTS = 8
};

struct load {
	char name[NAME_LEN]; /* with its arguments */
	pid_t pid;           /* 0: failed */
};

static struct load loads[MAX_LOADS];
static size_t load_count;
static int store;
static bool changed; /* a message that arrived while we waited for an answer was a watch's */

static void die(const char *what)
{
	perror(what);
	reboot(RB_POWER_OFF);
	_exit(1);
}

static void send_message(enum xsd_sockmsg_type type, const char *first, const char *second,
                         bool second_nul)
{
	char buffer[sizeof(struct xsd_sockmsg) + XENSTORE_PAYLOAD_MAX];
	struct xsd_sockmsg *message = (struct xsd_sockmsg *)buffer;
	size_t a = strlen(first) + 1, b = second ? strlen(second) + second_nul : 0;

	*message = (struct xsd_sockmsg){.type = type, .len = (uint32_t)(a + b)};
	memcpy(buffer + sizeof(*message), first, a);
	if (b)
		memcpy(buffer + sizeof(*message) + a, second, b);
	if (write(store, buffer, sizeof(*message) + a + b) < 0)
		die("xenstore write");
}

/* Return: false when a signal came before anything was read. */
static bool read_all(void *to, size_t len)
{
	size_t have = 0;

	while (have < len) {
		ssize_t n = read(store, (char *)to + have, len - have);

		if (n < 0 && errno == EINTR && have == 0)
			return false;
		if (n <= 0 && errno != EINTR)
			die("xenstore read");
		if (n > 0)
			have += (size_t)n;
	}
	return true;
}

/* Return: the message's type, or -1 for an interruption. */
static int receive(char *payload, size_t size)
{
	struct xsd_sockmsg message;

	if (!read_all(&message, sizeof(message)))
		return -1;
	if (message.len >= size)
		die("xenstore message");
	while (message.len && !read_all(payload, message.len))
		;
	payload[message.len] = '\0';
	if (message.type == XS_WATCH_EVENT)
		changed = true;
	return (int)message.type;
}

static int answer(char *payload, size_t size)
{
	int type;

	do
		type = receive(payload, size);
	while (type == -1 || type == XS_WATCH_EVENT);
	return type;
}

/* In the child: become the workload at @path, whose name and arguments are in @name. */
static void become(const char *path, char *name)
{
	char *arguments[MAX_ARGUMENTS + 2] = {0};

	for (size_t i = 0; i <= MAX_ARGUMENTS && name; i++)
		arguments[i] = strsep(&name, ":");
	execv(path, arguments);
	_exit(127);
}

static pid_t start(char *name)
{
	char path[64];
	pid_t pid;

	snprintf(path, sizeof(path), "/lab/workloads/%.*s", (int)strcspn(name, ":"), name);
	if (strchr(name, '/') || access(path, X_OK))
		return 0;
	pid = fork();
	if (pid == 0) {
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		setsid();
		become(path, name);
	}
	return pid > 0 ? pid : 0;
}

static void apply(char *wanted)
{
	struct load next[MAX_LOADS];
	size_t count = 0;

	for (char *name = strtok(wanted, " "); name && count < MAX_LOADS;
	     name = strtok(NULL, " ")) {
		struct load *old = NULL;

		for (size_t i = 0; i < load_count; i++)
			if (!strcmp(loads[i].name, name) && loads[i].pid)
				old = &loads[i];
		snprintf(next[count].name, NAME_LEN, "%s", name);
		next[count].pid = old ? old->pid : start(name);
		if (old)
			old->pid = 0; /* it is next's now */
		count++;
	}
	for (size_t i = 0; i < load_count; i++)
		if (loads[i].pid)
			kill(-loads[i].pid, SIGKILL);
	memcpy(loads, next, sizeof(loads));
	load_count = count;
}

static void report(void)
{
	char have[MAX_LOADS * (NAME_LEN + 2) + 1] = "", payload[4096];

	for (size_t i = 0; i < load_count; i++) {
		strcat(have, i ? " " : "");
		strcat(have, loads[i].pid ? "" : "!");
		strcat(have, loads[i].name);
	}
	send_message(XS_WRITE, "data/lab-have", have, false);
	answer(payload, sizeof(payload));
}

/* data/lab-text: the address of the kernel's first instruction, as the kernel itself has it. */
static void tell_text(void)
{
	FILE *symbols = fopen("/proc/kallsyms", "r");
	char address[32], type, name[512], payload[4096];

	while (symbols && fscanf(symbols, "%31s %c %511s%*[^\n]", address, &type, name) == 3)
		if (!strcmp(name, "_text")) {
			send_message(XS_WRITE, "data/lab-text", address, false);
			answer(payload, sizeof(payload));
			break;
		}
	if (symbols)
		fclose(symbols);
}

/* Return: a workload has ended by itself. */
static bool reap(void)
{
	bool ended = false;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (size_t i = 0; i < load_count; i++)
			if (loads[i].pid == pid) {
				loads[i].pid = 0;
				ended = true;
			}
	return ended;
}

static void on_child(int signo)
{
	(void)signo;
}

int main(void)
{
	char payload[4096];
	struct sigaction action = {.sa_handler = on_child}; /* no SA_RESTART: it ends the read */

	sigaction(SIGCHLD, &action, NULL);
	store = open("/dev/xen/xenbus", O_RDWR | O_CLOEXEC);
	if (store < 0)
		die("/dev/xen/xenbus");
	setpriority(PRIO_PROCESS, 0, -10); /* stay answering beside any workload */
	send_message(XS_WATCH, "data/lab-want", "want", true);
	answer(payload, sizeof(payload));
	tell_text();
	report();
	for (;;) {
		if (!changed)
			receive(payload, sizeof(payload));
		if (changed) {
			changed = false;
			send_message(XS_READ, "data/lab-want", NULL, false);
			if (answer(payload, sizeof(payload)) == XS_READ)
				apply(payload);
			report();
		}
		if (reap())
			report();
	}
}
