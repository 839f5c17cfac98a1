/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * labc: the client of labd. Runs one command in dom0 of the lab host in DIR:
 *
 *     labc [-i] [-t] [-T SECONDS] DIR COMMAND [ARGUMENT...]
 *     labc -q DIR QMP-COMMAND     one command to QEMU's monitor
 *
 * Exit status: the command's; 124 when its time is over; 125 when the host died or cannot be
 * reached, with the end of the console log.
 */
#define _GNU_SOURCE
#include "channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum {
	TIMED_OUT = 124,
	HOST_DIED = 125,
	TAIL_LINES = 60
};

static const char *dir;
static bool use_stdin, use_terminal, raw;
static double limit;
static struct termios saved_termios;
static off_t console_seen;
static volatile sig_atomic_t caught;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void restore_terminal(void)
{
	if (raw)
		tcsetattr(0, TCSANOW, &saved_termios);
	raw = false;
}

static void console_tail(void)
{
	FILE *file = fopen("console.log", "re");
	char *lines[TAIL_LINES] = {NULL};
	size_t size = 0, count = 0;
	char *line = NULL;

	if (!file)
		return;
	fprintf(stderr, "---- the last lines of %s/console.log:\n", dir);
	while (getline(&line, &size, file) >= 0) {
		free(lines[count % TAIL_LINES]);
		line[strcspn(line, "\r\n")] = '\0';
		lines[count++ % TAIL_LINES] = strdup(line);
	}
	for (size_t i = count > TAIL_LINES ? count - TAIL_LINES : 0; i < count; i++)
		fprintf(stderr, "%s\n", lines[i % TAIL_LINES]);
	fprintf(stderr, "----\n");
	fclose(file);
}

__attribute__((noreturn, format(printf, 2, 3))) static void fail(int status, const char *fmt, ...)
{
	va_list args;

	restore_terminal();
	fflush(stdout);
	fputs("lab: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	console_tail();
	exit(status);
}

/* Look at what the console log has gained since the last look. Return: the host has panicked. */
static bool host_panicked(void)
{
	static const char *const signs[] = {"Panic on CPU", "Hardware Dom0 crashed",
	                                    "Domain 0 crashed", "Kernel panic - not syncing"};
	struct stat st;
	bool found = false;
	FILE *file;
	char *line = NULL;
	size_t size = 0;
	ssize_t len;

	if (stat("console.log", &st) || st.st_size <= console_seen)
		return false;
	file = fopen("console.log", "re");
	if (!file)
		return false;
	fseeko(file, console_seen, SEEK_SET);
	while ((len = getline(&line, &size, file)) > 0) {
		if (line[len - 1] != '\n') /* a line still being written is looked at next time */
			break;
		console_seen += len;
		for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
			found |= strstr(line, signs[i]) != NULL;
	}
	free(line);
	fclose(file);
	return found;
}

static int connect_to(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", name);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Take the first port that nobody uses; wait for one if need be. */
static int take_port(void)
{
	double deadline = now() + 30;

	while (now() < deadline) {
		for (int i = 0; i < LAB_PORTS; i++) {
			char name[32];
			int lock, fd;

			snprintf(name, sizeof(name), "ch%d.lock", i);
			lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
			if (lock < 0)
				fail(HOST_DIED, "%s is not the directory of a lab host", dir);
			if (flock(lock, LOCK_EX | LOCK_NB)) {
				close(lock);
				continue;
			}
			snprintf(name, sizeof(name), "ch%d", i);
			fd = connect_to(name);
			if (fd < 0)
				fail(HOST_DIED, "the host in %s is not running", dir);
			return fd; /* the lock lasts as long as the process */
		}
		usleep(50000);
	}
	fail(HOST_DIED, "all %d command channels of %s are busy", LAB_PORTS, dir);
}

static void send_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return; /* the reading side finds out what has happened */
		at += n;
		len -= (size_t)n;
	}
}

static void send_frame(int fd, uint32_t session, enum lab_type type, const void *data, size_t len)
{
	unsigned char buffer[sizeof(struct lab_frame) + LAB_PAYLOAD];
	struct lab_frame frame = {LAB_MAGIC, session, type, (uint32_t)len};

	memcpy(buffer, &frame, sizeof(frame));
	if (len)
		memcpy(buffer + sizeof(frame), data, len);
	send_all(fd, buffer, sizeof(frame) + len);
}

static void send_start(int fd, uint32_t session, char **argv)
{
	unsigned char payload[LAB_PAYLOAD];
	struct lab_start start = {.terminal = use_terminal};
	struct winsize size;
	size_t len = sizeof(start);

	if (use_terminal && ioctl(0, TIOCGWINSZ, &size) == 0) {
		start.rows = size.ws_row;
		start.columns = size.ws_col;
	}
	memcpy(payload, &start, sizeof(start));
	for (; *argv; argv++) {
		size_t n = strlen(*argv) + 1;

		if (n > sizeof(payload) - len) {
			fprintf(stderr,
			        "lab: the command line is too long; put a script instead\n");
			exit(2);
		}
		memcpy(payload + len, *argv, n);
		len += n;
	}
	send_frame(fd, session, LAB_START, payload, len);
}

static void write_out(int fd, const unsigned char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			exit(1);
		data += n;
		len -= (size_t)n;
	}
}

static void on_signal(int signo)
{
	caught = signo;
}

static void forward_stdin(int fd, uint32_t session, bool *open)
{
	unsigned char buffer[LAB_PAYLOAD];
	ssize_t n = read(0, buffer, sizeof(buffer));

	if (n < 0 && errno == EINTR)
		return;
	if (n < 0)
		n = 0;
	send_frame(fd, session, LAB_STDIN, buffer, (size_t)n);
	*open = n > 0;
}

static int run(char **argv)
{
	static unsigned char received[4 * LAB_PAYLOAD];
	size_t have = 0;
	bool started = false, input = use_stdin || use_terminal;
	double begin = now(), next_start = begin + 2, next_look = 0, killed = 0;
	uint32_t session = 0;
	int fd = take_port();

	if (getrandom(&session, sizeof(session), 0) != sizeof(session) || session == 0)
		session = (uint32_t)getpid();
	send_start(fd, session, argv);
	if (!input)
		send_frame(fd, session, LAB_STDIN, NULL, 0);
	for (;;) {
		struct pollfd fds[2] = {{.fd = fd, .events = POLLIN},
		                        {.fd = started && input ? 0 : -1, .events = POLLIN}};
		size_t at = 0;
		ssize_t n;

		poll(fds, 2, 100);
		if (caught) {
			uint32_t signo = (uint32_t)caught;

			caught = 0;
			send_frame(fd, session, LAB_SIGNAL, &signo, sizeof(signo));
		}
		if (now() > next_look) {
			next_look = now() + 0.1;
			if (host_panicked()) {
				usleep(500000); /* for the rest of the message */
				fail(HOST_DIED, "the host panicked while it ran: %s", argv[0]);
			}
		}
		if (!started && now() > next_start) {
			/* A killed predecessor may have left half a frame: fill it, and try again.
			 */
			static const unsigned char filler[LAB_PAYLOAD];

			send_all(fd, filler, sizeof(filler));
			send_start(fd, session, argv);
			if (!input)
				send_frame(fd, session, LAB_STDIN, NULL, 0);
			next_start = now() + 5;
		}
		if (limit > 0 && now() - begin > limit) {
			uint32_t signo = killed > 0 ? SIGKILL : SIGTERM;

			if (killed == 0 || now() - killed > 2) {
				send_frame(fd, session, LAB_SIGNAL, &signo, sizeof(signo));
				if (killed > 0)
					fail(TIMED_OUT, "still running after %.0f s, killed: %s",
					     limit, argv[0]);
				killed = now();
			}
		}
		if (fds[1].revents)
			forward_stdin(fd, session, &input);
		if (!fds[0].revents)
			continue;
		n = recv(fd, received + have, sizeof(received) - have, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			fail(HOST_DIED, "the host died while it ran: %s", argv[0]);
		have += (size_t)n;
		while (have - at >= sizeof(struct lab_frame)) {
			struct lab_frame frame;
			const unsigned char *data = received + at + sizeof(frame);
			uint32_t status;

			memcpy(&frame, received + at, sizeof(frame));
			if (frame.magic != LAB_MAGIC || frame.session != session ||
			    frame.length > LAB_PAYLOAD) {
				at++;
				continue;
			}
			if (have - at < sizeof(frame) + frame.length)
				break;
			at += sizeof(frame) + frame.length;
			switch (frame.type) {
			case LAB_STARTED:
				started = true;
				break;
			case LAB_STDOUT:
				write_out(1, data, frame.length);
				break;
			case LAB_STDERR:
				write_out(2, data, frame.length);
				break;
			case LAB_EXIT:
				memcpy(&status, data, sizeof(status));
				if (killed > 0)
					fail(TIMED_OUT, "still running after %.0f s, ended: %s",
					     limit, argv[0]);
				return (int)status;
			default:
				break;
			}
		}
		have -= at;
		memmove(received, received + at, have);
	}
}

static int monitor(const char *command)
{
	char buffer[4096], request[1024];
	int fd = connect_to("qmp");
	FILE *stream = fd < 0 ? NULL : fdopen(fd, "r+");

	if (!stream)
		fail(HOST_DIED, "the host in %s is not running", dir);
	snprintf(request, sizeof(request), "{\"execute\":\"qmp_capabilities\"}\n%s%s%s\n",
	         command[0] == '{' ? "" : "{\"execute\":\"", command,
	         command[0] == '{' ? "" : "\"}");
	send_all(fd, request, strlen(request));
	for (int answers = 0; answers < 2 && fgets(buffer, sizeof(buffer), stream);) {
		if (strncmp(buffer, "{\"return\"", 9) && strncmp(buffer, "{\"error\"", 8))
			continue;
		if (++answers == 2) {
			fputs(buffer, stdout);
			return strncmp(buffer, "{\"error\"", 8) ? 0 : 1;
		}
	}
	return HOST_DIED;
}

int main(int argc, char **argv)
{
	bool qmp = false;
	struct stat st;
	int opt;

	while ((opt = getopt(argc, argv, "+itqT:")) != -1) {
		switch (opt) {
		case 'i':
			use_stdin = true;
			break;
		case 't':
			use_terminal = true;
			break;
		case 'q':
			qmp = true;
			break;
		case 'T':
			limit = strtod(optarg, NULL);
			break;
		default:
			return 2;
		}
	}
	if (argc - optind < 2) {
		fprintf(stderr, "usage: labc [-i] [-t] [-T SECONDS] DIR COMMAND...\n");
		return 2;
	}
	dir = argv[optind];
	if (chdir(dir)) { /* socket names are short inside it, whatever its path */
		fprintf(stderr, "lab: %s: %s\n", dir, strerror(errno));
		return HOST_DIED;
	}
	if (qmp)
		return monitor(argv[optind + 1]);
	if (stat("console.log", &st) == 0)
		console_seen = st.st_size;

	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (use_terminal && isatty(0) && tcgetattr(0, &saved_termios) == 0) {
		struct termios mode = saved_termios;

		cfmakeraw(&mode);
		tcsetattr(0, TCSANOW, &mode);
		raw = true;
		atexit(restore_terminal);
	}
	return run(argv + optind + 1);
}
