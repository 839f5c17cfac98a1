/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * labd: runs commands in dom0 for lab/lab, one process per virtio serial port.
 *
 * It sleeps in epoll_wait and nowhere else, without a time-out while no command runs: an idle
 * host must look idle to the profiler. The port is watched edge-triggered because the kernel
 * reports "hung up" on it as long as no client is connected, which would wake us without end.
 *
 * That a client comes or goes reaches the kernel on another queue than what it writes, and later
 * where the host is busy: "nobody is connected" means something only when it stays so (GONE_MS).
 */
#define _GNU_SOURCE
#include "channel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GONE_MS 5000 /* a client that is not connected for so long has gone */

struct server {
	int port, epoll, signals;
	uint32_t session; /* 0: none */
	uint32_t started; /* the last session that was started here; 0: none */
	int64_t gone_at;  /* since when the session's client is missing, in ms; 0: it is there */
	pid_t child;      /* 0: none, or reaped */
	int exit_status;  /* of the reaped child, -1 before */
	int in, out, err; /* our ends of the command's descriptors, -1 when closed */
	bool in_closing;  /* the client's input has ended: close `in` once `input` is written */
	bool terminal;
	unsigned char received[2 * (LAB_PAYLOAD + sizeof(struct lab_frame))];
	size_t received_len;
	unsigned char input[LAB_PAYLOAD]; /* for the command */
	size_t input_at, input_len;
	unsigned char output[LAB_PAYLOAD + sizeof(struct lab_frame)]; /* for the client */
	size_t output_at, output_len;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Output is one frame at a time: only call it when the last one has gone out. */
static void queue_frame(struct server *s, enum lab_type type, const void *data, size_t len)
{
	struct lab_frame frame = {LAB_MAGIC, s->session, type, (uint32_t)len};

	memcpy(s->output, &frame, sizeof(frame));
	if (len)
		memmove(s->output + sizeof(frame), data, len);
	s->output_at = 0;
	s->output_len = sizeof(frame) + len;
}

static void end_session(struct server *s, int signo)
{
	if (s->child > 0)
		kill(-s->child, signo);
	s->child = 0;
	s->session = 0;
	s->gone_at = 0;
	s->exit_status = -1;
	s->input_at = s->input_len = 0;
	s->output_at = s->output_len = 0;
	if (s->err != s->out)
		close_fd(&s->err);
	if (s->in != s->out)
		close_fd(&s->in);
	close_fd(&s->out);
	s->in = s->err = -1;
}

static void run_child(char **argv, const struct lab_start *start, int in, int out, int err)
{
	sigset_t none;

	setsid();
	if (start->terminal) {
		struct winsize size = {.ws_row = start->rows, .ws_col = start->columns};

		ioctl(in, TIOCSCTTY, 0);
		ioctl(in, TIOCSWINSZ, &size);
	}
	dup2(in, 0);
	dup2(out, 1);
	dup2(err, 2);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	execvp(argv[0], argv);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static void watch(struct server *s, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events | EPOLLET, .data.fd = fd};

	epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event);
}

static int open_files(struct server *s, bool terminal, int ours[3], int theirs[3])
{
	int pipes[3][2];

	s->terminal = terminal;
	if (terminal) {
		int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

		if (master < 0 || grantpt(master) || unlockpt(master))
			return -1;
		ours[0] = ours[1] = ours[2] = master;
		theirs[0] = theirs[1] = theirs[2] =
		        open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
		return theirs[0] < 0 ? -1 : 0;
	}
	for (int i = 0; i < 3; i++)
		if (pipe2(pipes[i], O_CLOEXEC))
			return -1;
	ours[0] = pipes[0][1];
	theirs[0] = pipes[0][0];
	for (int i = 1; i < 3; i++) {
		ours[i] = pipes[i][0];
		theirs[i] = pipes[i][1];
	}
	return 0;
}

static void start_command(struct server *s, uint32_t session, const unsigned char *data, size_t len)
{
	struct lab_start start;
	char *argv[256];
	int argc = 0, ours[3], theirs[3];

	end_session(s, SIGKILL);
	if (len <= sizeof(start) || data[len - 1] != '\0')
		return;
	memcpy(&start, data, sizeof(start));
	for (size_t at = sizeof(start); at < len && argc < 255; at += strlen(argv[argc - 1]) + 1)
		argv[argc++] = (char *)data + at;
	argv[argc] = NULL;
	if (open_files(s, start.terminal != 0, ours, theirs))
		return;

	pid_t child = fork();

	if (child == 0)
		run_child(argv, &start, theirs[0], theirs[1], theirs[2]);
	for (int i = 0; i < 3; i++)
		if (i == 0 || theirs[i] != theirs[0])
			close(theirs[i]);
	s->session = s->started = session;
	s->child = child;
	s->in = ours[0];
	s->out = ours[1];
	s->err = ours[2];
	s->in_closing = false;
	for (int i = 0; i < 3; i++) {
		fcntl(ours[i], F_SETFL, O_NONBLOCK);
		if (i == 0 || ours[i] != ours[0])
			watch(s, ours[i], EPOLLIN | EPOLLOUT);
	}
	queue_frame(s, LAB_STARTED, NULL, 0);
}

/* How many bytes to skip to where a frame may begin, at least one. */
static size_t to_next_magic(const struct server *s)
{
	const uint32_t magic = LAB_MAGIC;
	const unsigned char *next =
	        memchr(s->received + 1, *(const unsigned char *)&magic, s->received_len - 1);

	return next ? (size_t)(next - s->received) : s->received_len;
}

/* Handle one frame. Return: bytes consumed; 0 when it must wait, for input or for more of it. */
static size_t take_frame(struct server *s)
{
	struct lab_frame frame;
	const unsigned char *data = s->received + sizeof(frame);
	uint32_t signo;

	if (s->received_len < sizeof(frame))
		return 0;
	memcpy(&frame, s->received, sizeof(frame));
	if (frame.magic != LAB_MAGIC || frame.length > LAB_PAYLOAD || frame.session == 0)
		return to_next_magic(s);
	if (s->received_len < sizeof(frame) + frame.length)
		return 0;
	if (frame.type == LAB_START) {
		/* The client repeats itself where we are slow to answer: once is enough. */
		if (frame.session != s->started)
			start_command(s, frame.session, data, frame.length);
	} else if (frame.session == s->session) {
		switch (frame.type) {
		case LAB_STDIN:
			if (s->input_len)
				return 0;
			if (frame.length == 0)
				s->in_closing = true;
			memcpy(s->input, data, frame.length);
			s->input_at = 0;
			s->input_len = frame.length;
			break;
		case LAB_SIGNAL:
			if (frame.length == sizeof(signo) && s->child > 0) {
				memcpy(&signo, data, sizeof(signo));
				kill(-s->child, (int)signo);
			}
			break;
		default:
			break;
		}
	}
	return sizeof(frame) + frame.length;
}

/* Return: whether anything moved. */
static bool feed_command(struct server *s)
{
	if (s->in < 0) {
		s->input_len = 0;
		return false;
	}
	if (s->input_len == 0) {
		if (!s->in_closing)
			return false;
		s->in_closing = false;
		if (s->terminal)
			return write(s->in, "\004", 1) == 1;
		close_fd(&s->in);
		return true;
	}
	ssize_t n = write(s->in, s->input + s->input_at, s->input_len - s->input_at);

	if (n < 0) {
		if (errno == EAGAIN)
			return false;
		s->input_len = 0; /* the command reads no more */
		if (!s->terminal)
			close_fd(&s->in);
		return true;
	}
	s->input_at += (size_t)n;
	if (s->input_at == s->input_len)
		s->input_len = 0;
	return true;
}

static bool read_output(struct server *s, int *fd, enum lab_type type)
{
	if (*fd < 0 || s->output_len)
		return false;
	ssize_t n = read(*fd, s->output + sizeof(struct lab_frame), LAB_PAYLOAD);

	if (n > 0) {
		queue_frame(s, type, s->output + sizeof(struct lab_frame), (size_t)n);
		return true;
	}
	if (n == 0 && !s->terminal)
		close_fd(fd);
	return false;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* The kernel says that nobody is connected. When it has said so for long, end the command; its exit
 * status waits for a client that was only thought to be gone. */
static void client_is_missing(struct server *s)
{
	static const int signals[] = {SIGHUP, SIGTERM, SIGCONT};

	if (s->child <= 0) {
		s->gone_at = 0;
		return;
	}
	if (s->gone_at == 0)
		s->gone_at = now_ms();
	if (now_ms() - s->gone_at < GONE_MS)
		return;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		kill(-s->child, signals[i]);
	s->gone_at = 0;
}

static bool read_port(struct server *s)
{
	size_t room = sizeof(s->received) - s->received_len;
	ssize_t n = room ? read(s->port, s->received + s->received_len, room) : -1;
	size_t used = 0, step;

	if (n == 0)
		client_is_missing(s);
	else
		s->gone_at = 0;
	if (n > 0)
		s->received_len += (size_t)n;
	while ((step = take_frame(s)) > 0) {
		s->received_len -= step;
		memmove(s->received, s->received + step, s->received_len);
		used += step;
		if (s->output_len) /* STARTED must go out before anything else */
			break;
	}
	return n > 0 || used;
}

static bool write_port(struct server *s)
{
	if (!s->output_len)
		return false;
	ssize_t n = write(s->port, s->output + s->output_at, s->output_len - s->output_at);

	if (n <= 0)
		return false;
	s->output_at += (size_t)n;
	if (s->output_at == s->output_len)
		s->output_len = 0;
	return true;
}

static void reap(struct server *s)
{
	struct signalfd_siginfo info;
	pid_t pid;
	int status;

	while (read(s->signals, &info, sizeof(info)) > 0)
		;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == s->child)
			s->exit_status =
			        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The command has ended and all it wrote has been read. Descendants may still hold its output
 * open: they do not count, or no command could leave something running behind. */
static bool finish(struct server *s)
{
	uint32_t status = (uint32_t)s->exit_status;

	if (!s->session || s->exit_status < 0 || s->output_len)
		return false;
	queue_frame(s, LAB_EXIT, &status, sizeof(status));
	s->child = 0;
	s->session = 0;
	s->exit_status = -1;
	s->input_len = 0;
	if (s->err != s->out)
		close_fd(&s->err);
	if (s->in != s->out)
		close_fd(&s->in);
	close_fd(&s->out);
	s->in = s->err = -1;
	return true;
}

static void serve(const char *device)
{
	static struct server s;
	sigset_t chld;
	struct epoll_event event;

	s.port = open(device, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	s.epoll = epoll_create1(EPOLL_CLOEXEC);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	s.signals = signalfd(-1, &chld, SFD_NONBLOCK | SFD_CLOEXEC);
	if (s.port < 0 || s.epoll < 0 || s.signals < 0) {
		perror(device);
		exit(1);
	}
	signal(SIGPIPE, SIG_IGN);
	s.in = s.out = s.err = s.exit_status = -1;
	watch(&s, s.port, EPOLLIN | EPOLLOUT);
	watch(&s, s.signals, EPOLLIN);
	for (;;) {
		bool moved;

		do {
			moved = write_port(&s);
			reap(&s);
			moved |= read_port(&s);
			moved |= feed_command(&s);
			moved |= read_output(&s, &s.out, LAB_STDOUT);
			if (!s.terminal)
				moved |= read_output(&s, &s.err, LAB_STDERR);
			if (!moved)
				moved = finish(&s);
		} while (moved);
		epoll_wait(s.epoll, &event, 1, s.gone_at ? GONE_MS / 10 : -1);
	}
}

int main(void)
{
	const char *class = "/sys/class/virtio-ports";
	const char *path = "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/lab/bin";
	DIR *dir = opendir(class);
	struct dirent *entry;
	int servers = 0;

	setenv("PATH", path, 1);
	setenv("HOME", "/root", 1);
	if (chdir("/root"))
		perror("/root");

	while (dir && (entry = readdir(dir))) {
		char file_name[512], name[64] = "";
		FILE *file;

		snprintf(file_name, sizeof(file_name), "%s/%s/name", class, entry->d_name);
		file = fopen(file_name, "re");
		if (!file)
			continue;
		if (!fgets(name, sizeof(name), file))
			name[0] = '\0';
		fclose(file);
		if (strncmp(name, "xenflame.lab.", 13))
			continue;
		snprintf(file_name, sizeof(file_name), "/dev/%s", entry->d_name);
		if (fork() == 0)
			serve(file_name);
		servers++;
	}
	if (!servers) {
		fprintf(stderr, "labd: no port of ours\n");
		return 1;
	}
	while (wait(NULL) > 0)
		;
	return 1;
}
