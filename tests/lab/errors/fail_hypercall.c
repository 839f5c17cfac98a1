// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * To be preloaded into xenflame: chosen hypercalls fail, or bring a signal, and those that change
 * the host are noted.
 *
 * XF_FAIL=RULE,RULE...; a RULE is CALL[<EARLIER*TIMES]=WHAT[@FIRST[-[LAST]]]
 *   CALL: sysctl:COMMAND, tbuf:OP (sysctl 2), livepatch:OP[:ACTION] (sysctl 27), platform:COMMAND;
 *         and of all that begin so: livepatch:3 is any action. tbuf:2:LOW has the mask's low 12
 *         bits, by which the recorder says that it is alive, or with 0 that the agent is to stop
 *   <: only calls that come after so many of EARLIER count; waiting takes as many calls as it takes
 *   WHAT: ENOSYS, ENOMEM ... or a number, and the call is not made and fails so; or SIGINT ...,
 *         and this process gets the signal, then the call is made
 *   @: which of the matching calls, from 1: @2 the second, @2- it and all later ones, @2-4; or all
 * XF_CALLS=FILE gets a line for each tbuf and livepatch call, with its result.
 * XF_FULL=RULE: from the first call that matches on, writes to files fail with ENOSPC.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xencall.h>

#define PLATFORM_OP 7
#define SYSCTL      35
#define TBUF        2
#define EVENT_MASK  2
#define LIVEPATCH   27
#define ACTION      3
#define MAX_RULES   16u

struct rule {
	char call[32];
	char earlier[32];   /* empty: none */
	unsigned int times; /* that @earlier is still to be seen */
	int error;          /* 0: none */
	int signal;         /* 0: none */
	unsigned int first, last;
	unsigned int seen;
};

static const struct {
	const char *name;
	int number;
} errors[] = {{"EPERM", EPERM},   {"ENOENT", ENOENT}, {"EAGAIN", EAGAIN},        {"ENOMEM", ENOMEM},
              {"EACCES", EACCES}, {"EBUSY", EBUSY},   {"EEXIST", EEXIST},        {"EINVAL", EINVAL},
              {"ENOSYS", ENOSYS}, {"EIO", EIO},       {"EOPNOTSUPP", EOPNOTSUPP}},
  signals[] = {{"SIGHUP", SIGHUP},   {"SIGINT", SIGINT},   {"SIGTERM", SIGTERM},
               {"SIGQUIT", SIGQUIT}, {"SIGKILL", SIGKILL}, {"SIGSTOP", SIGSTOP}};

static struct rule rules[MAX_RULES], full_rule;
static size_t nr_rules;
static bool ready, full;
static int calls_fd = -1;

static void wrong(const char *rule)
{
	fprintf(stderr, "fail_hypercall: cannot read the rule '%s'\n", rule);
	_exit(99);
}

static void read_what(const char *what, struct rule *rule)
{
	size_t i;

	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (strcmp(what, errors[i].name) == 0)
			rule->error = errors[i].number;
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (strcmp(what, signals[i].name) == 0)
			rule->signal = signals[i].number;
	if (!rule->error && !rule->signal)
		rule->error = atoi(what);
}

static void read_rule(const char *text, struct rule *rule)
{
	char what[32] = "", range[32] = "";
	int fields = sscanf(text, "%31[^=]=%31[^@]@%31s", rule->call, what, range);
	char *dash = strchr(range, '-'), *earlier = strchr(rule->call, '<');

	if (fields < 2 ||
	    (earlier && sscanf(earlier, "<%31[^*]*%u", rule->earlier, &rule->times) != 2))
		wrong(text);
	if (earlier)
		*earlier = '\0';
	read_what(what, rule);
	rule->first = fields == 3 ? (unsigned int)atoi(range) : 1;
	rule->last = fields < 3 ? ~0u : rule->first;
	if (dash)
		rule->last = dash[1] ? (unsigned int)atoi(dash + 1) : ~0u;
	if (!rule->first || (!rule->error && !rule->signal))
		wrong(text);
}

static void set_up(void)
{
	const char *fail = getenv("XF_FAIL"), *calls = getenv("XF_CALLS"),
	           *when = getenv("XF_FULL");
	char *copy = strdup(fail ? fail : ""), *rest = copy, *text;

	ready = true;
	while (copy && (text = strsep(&rest, ",")) != NULL && nr_rules < MAX_RULES)
		if (*text)
			read_rule(text, &rules[nr_rules++]);
	free(copy);
	if (when)
		read_rule(when, &full_rule);
	if (calls)
		calls_fd = open(calls, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

static bool names(const char *rule, const char *call)
{
	size_t length = strlen(rule);

	return strncmp(rule, call, length) == 0 && (!call[length] || call[length] == ':');
}

/* Counts the call where the rule names it. Return: whether it is one of those meant. */
static bool matches(struct rule *rule, const char *general, const char *special)
{
	if (rule->times) {
		rule->times -= names(rule->earlier, general) || names(rule->earlier, special);
		return false;
	}
	if (!rule->call[0] || (!names(rule->call, general) && !names(rule->call, special)))
		return false;
	rule->seen++;
	return rule->seen >= rule->first && rule->seen <= rule->last;
}

/* Both names of a call; @special may be empty. */
static void name_call(unsigned int op, const uint32_t *words, char general[32], char special[32])
{
	special[0] = '\0';
	if (op == PLATFORM_OP) {
		snprintf(general, 32, "platform:%u", words[0]);
		return;
	}
	snprintf(general, 32, "sysctl:%u", words[0]);
	if (words[0] == TBUF && words[2] == EVENT_MASK)
		snprintf(special, 32, "tbuf:%u:%u", words[2], words[8] & 0xfff);
	else if (words[0] == TBUF)
		snprintf(special, 32, "tbuf:%u", words[2]);
	else if (words[0] == LIVEPATCH && words[2] == ACTION)
		snprintf(special, 32, "livepatch:%u:%u", words[2], words[8]);
	else if (words[0] == LIVEPATCH)
		snprintf(special, 32, "livepatch:%u", words[2]);
}

/* Return: the error that the call is to fail with, 0 where it is to be made. */
static int before(const char *general, const char *special)
{
	int error = 0;
	size_t i;

	if (matches(&full_rule, general, special))
		full = true;
	for (i = 0; i < nr_rules; i++) {
		if (!matches(&rules[i], general, special))
			continue;
		if (rules[i].signal)
			raise(rules[i].signal);
		else if (!error)
			error = rules[i].error;
	}
	return error;
}

static void note(const char *call, int result, bool made)
{
	char line[96];
	int size;

	if (calls_fd < 0 || !call[0])
		return;
	size = snprintf(line, sizeof(line), "%s %d%s\n", call, result, made ? "" : " (not made)");
	if (write(calls_fd, line, (size_t)size) != size)
		_exit(99);
}

int xencall1(xencall_handle *handle, unsigned int op, uint64_t first)
{
	static int (*next)(xencall_handle *, unsigned int, uint64_t);
	char general[32], special[32];
	int error, result;

	if (!next)
		next = (int (*)(xencall_handle *, unsigned int, uint64_t))dlsym(RTLD_NEXT,
		                                                                "xencall1");
	if (!ready)
		set_up();
	if (op != SYSCTL && op != PLATFORM_OP)
		return next(handle, op, first);
	name_call(op, (const uint32_t *)first, general, special);
	error = before(general, special);
	if (error) {
		note(special, -error, false);
		errno = error;
		return -1;
	}
	result = next(handle, op, first);
	error = errno;
	note(special, result < 0 ? -error : result, true);
	errno = error;
	return result;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
	static ssize_t (*next)(int, const void *, size_t);

	if (!next)
		next = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	if (full && fd > 2 && fd != calls_fd) {
		errno = ENOSPC;
		return -1;
	}
	return next(fd, bytes, size);
}
