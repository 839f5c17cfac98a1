// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbers of features: xen/include/public/arch-x86/cpufeatureset.h, the same in 4.17 to 4.22. Lines
 * of the log: what Xen prints at boot, on the same level as its version, so that whoever has the
 * one has the other.
 */
#include "xen/hardware.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEATURE(word, bit) (word), (bit)
#define FEATURE_HYPERVISOR FEATURE(1, 31)
#define FEATURE_CET_SS     FEATURE(6, 7)
#define FEATURE_ITSC       FEATURE(7, 8)

#define SYSCTL_READCONSOLE 1
#define SYSCTL_GET_PMSTAT  10
#define PMSTAT_GET_MAX_CX  0x21

#define LOG_BYTES     ((size_t)64 * 1024)
#define CPUINFO_BYTES ((size_t)16 * 1024)

/* The value behind "KEY<tab>: " at a line's beginning, the first one; empty where there is none. */
static void read_value(const char *text, const char *key, char *value, size_t size)
{
	const char *line = text;
	size_t length = strlen(key);

	value[0] = '\0';
	while (line) {
		const char *colon = line + length;

		if (strncmp(line, key, length) == 0 && (*colon == '\t' || *colon == ':')) {
			colon += strspn(colon, "\t");
			if (strncmp(colon, ": ", 2) == 0) {
				colon += 2;
				snprintf(value, size, "%.*s", (int)strcspn(colon, "\n"), colon);
				return;
			}
		}
		line = strchr(line, '\n');
		if (line)
			line++;
	}
}

void xf_hardware_read_cpuinfo(const char *text, struct xf_hardware *hardware)
{
	read_value(text, "vendor_id", hardware->vendor, sizeof(hardware->vendor));
	read_value(text, "model name", hardware->model_name, sizeof(hardware->model_name));
	read_value(text, "cpu family", hardware->family, sizeof(hardware->family));
	read_value(text, "model", hardware->model, sizeof(hardware->model));
	read_value(text, "stepping", hardware->stepping, sizeof(hardware->stepping));
	read_value(text, "microcode", hardware->microcode, sizeof(hardware->microcode));
}

static bool has_feature(const struct xf_xen_host *host, unsigned int word, unsigned int bit)
{
	return host->features[word] >> bit & 1;
}

void xf_hardware_read_host(const struct xf_xen_host *host, struct xf_hardware *hardware)
{
	hardware->nested = has_feature(host, FEATURE_HYPERVISOR);
	hardware->has_shadow_stacks = has_feature(host, FEATURE_CET_SS);
	hardware->invariant_tsc = has_feature(host, FEATURE_ITSC);
	hardware->online_pcpus = host->online_pcpus;
	hardware->possible_pcpus = host->max_pcpu + 1;
	hardware->threads_per_core = host->threads_per_core;
	hardware->cores_per_socket = host->cores_per_socket;
	hardware->nodes = host->nodes;
	hardware->tsc_hz = host->tsc_hz;
}

/*
 * The text behind @words in a line of Xen's own, "(XEN) " with perhaps a time in brackets before
 * it. Guests' lines begin with their number. Return: NULL where there is no such line.
 */
static const char *find_line(const char *text, const char *words)
{
	const char *line = text;

	while (line) {
		const char *at = line;

		if (strncmp(at, "(XEN) ", 6) == 0) {
			const char *end;

			at += 6;
			end = *at == '[' ? strstr(at, "] ") : NULL;
			if (end)
				at = end + 2;
			if (strncmp(at, words, strlen(words)) == 0)
				return at + strlen(words);
		}
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return NULL;
}

static enum xf_answer answer_of(const char *text, const char *words, bool whole)
{
	if (find_line(text, words))
		return XF_YES;
	return whole ? XF_NO : XF_UNKNOWN;
}

void xf_hardware_read_log(const char *text, struct xf_hardware *hardware)
{
	bool whole = find_line(text, "Xen version ") != NULL;
	const char *settings = find_line(text, "  Xen settings: ");

	hardware->log_is_whole = whole;
	hardware->shadow_stacks = answer_of(text, "Enabling Supervisor Shadow Stacks",
	                                    whole || !hardware->has_shadow_stacks);
	hardware->branch_tracking = answer_of(text, "Enabling Indirect Branch Tracking", whole);
	hardware->fred = answer_of(text, "Using FRED event delivery", whole);
	if (settings)
		snprintf(hardware->speculation, sizeof(hardware->speculation), "%.*s",
		         (int)strcspn(settings, "\r\n"), settings);
}

/* Return: what the file holds, at most @size bytes, as a string to be freed; NULL without memory,
 * "" where it can't be read. */
static char *read_text(const char *path, size_t size)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, size + 1);
	size_t got = 0;

	if (file && text)
		got = fread(text, 1, size, file);
	if (text)
		text[got] = '\0';
	if (file)
		fclose(file);
	return text;
}

/* Return: the oldest of Xen's log as a string to be freed, "" where Xen gives none; NULL without
 * memory. */
static char *read_log(struct xf_xen *xen)
{
	struct {
		uint8_t clear, incremental, pad[2];
		uint32_t index;
		uint64_t buffer;
		uint32_t size;
	} request = {.size = LOG_BYTES};
	char *buffer = xf_xen_buffer(xen, LOG_BYTES);
	char *text = calloc(1, LOG_BYTES + 1);

	if (buffer && text) {
		request.buffer = (uint64_t)buffer;
		if (xf_xen_sysctl(xen, SYSCTL_READCONSOLE, &request, sizeof(request)) < 0 ||
		    request.size > LOG_BYTES)
			request.size = 0;
		memcpy(text, buffer, request.size);
		text[request.size] = '\0';
	} else {
		free(text);
		text = NULL;
	}
	xf_xen_buffer_free(xen, buffer);
	return text;
}

static void read_idle_states(struct xf_xen *xen, struct xf_hardware *hardware)
{
	struct {
		uint32_t type, pcpu, nr;
	} request = {.type = PMSTAT_GET_MAX_CX};

	hardware->idle_states_known =
	        xf_xen_sysctl(xen, SYSCTL_GET_PMSTAT, &request, sizeof(request)) >= 0;
	if (hardware->idle_states_known)
		hardware->idle_states = request.nr;
}

int xf_hardware_probe(struct xf_xen *xen, const struct xf_xen_host *host,
                      struct xf_hardware *hardware, struct xf_error *error)
{
	char *cpuinfo = read_text("/proc/cpuinfo", CPUINFO_BYTES);
	char *log = read_log(xen);
	int result = 0;

	if (cpuinfo && log) {
		xf_hardware_read_cpuinfo(cpuinfo, hardware);
		xf_hardware_read_host(host, hardware);
		xf_hardware_read_log(log, hardware);
		read_idle_states(xen, hardware);
	} else {
		result = xf_fail(error, -ENOMEM, "out of memory");
	}
	free(cpuinfo);
	free(log);
	return result;
}

/* The words of Xen's command line that keep it from using CET. */
static bool forbids_cet(const char *commandline)
{
	static const char *const words[] = {"cet=no", "cet=0", "cet=off", "cet=false"};
	const char *word = commandline;

	while ((word = strstr(word, "cet=")) != NULL) {
		size_t length = strcspn(word, " ");
		bool starts = word == commandline || word[-1] == ' ';

		for (size_t i = 0; starts && i < sizeof(words) / sizeof(words[0]); i++)
			if (strlen(words[i]) == length && strncmp(word, words[i], length) == 0)
				return true;
		word += length;
	}
	return false;
}

bool xf_hardware_dies_of_live_patches(const struct xf_hardware *hardware,
                                      const struct xf_xen_version *version)
{
	const char *extra = version->extra;
	bool zero = extra[0] != '.' || (extra[1] == '0' && (extra[2] < '0' || extra[2] > '9'));

	if (version->major != 4 || version->minor != 17 || !zero)
		return false;
	if (hardware->shadow_stacks == XF_UNKNOWN && forbids_cet(version->commandline))
		return false;
	return hardware->shadow_stacks != XF_NO || hardware->branch_tracking == XF_YES;
}

/* ---- What is told ---------------------------------------------------------------------------- */

static const char *or_unknown(const char *text)
{
	return text[0] ? text : "not known";
}

static void tell_processor(const struct xf_hardware *hardware, char *detail)
{
	if (!hardware->vendor[0]) {
		snprintf(detail, XF_HARDWARE_DETAIL, "not known: /proc/cpuinfo does not tell");
		return;
	}
	snprintf(detail, XF_HARDWARE_DETAIL,
	         "%s, family %s, model %s, stepping %s, microcode %s, \"%s\"", hardware->vendor,
	         or_unknown(hardware->family), or_unknown(hardware->model),
	         or_unknown(hardware->stepping), or_unknown(hardware->microcode),
	         hardware->model_name);
}

static void tell_machine(const struct xf_hardware *hardware, char *detail)
{
	snprintf(detail, XF_HARDWARE_DETAIL,
	         "%u of %u possible pCPUs online, %u threads a core, %u cores a socket, %u NUMA "
	         "node%s%s",
	         hardware->online_pcpus, hardware->possible_pcpus, hardware->threads_per_core,
	         hardware->cores_per_socket, hardware->nodes, hardware->nodes == 1 ? "" : "s",
	         hardware->nested ? "; Xen itself runs under a hypervisor or an emulator" : "");
}

static void tell_guest_nmis(const struct xf_hardware *hardware, char *detail)
{
	const char *how = "not known for this vendor";

	if (strcmp(hardware->vendor, "AuthenticAMD") == 0 ||
	    strcmp(hardware->vendor, "HygonGenuine") == 0)
		how = "AMD's way: an NMI ends the run of an HVM or PVH guest, and is taken at STGI";
	else if (strcmp(hardware->vendor, "GenuineIntel") == 0)
		how = "Intel's way: an NMI is a VM exit, whose handler calls Xen's NMI handler; "
		      "xenflame has not been run on Intel yet";
	snprintf(detail, XF_HARDWARE_DETAIL, "%s", how);
}

static const char *word_of(enum xf_answer answer)
{
	return answer == XF_YES ? "on" : answer == XF_NO ? "off" : "not known";
}

static void tell_cet(const struct xf_hardware *hardware, char *detail)
{
	bool known =
	        hardware->shadow_stacks != XF_UNKNOWN && hardware->branch_tracking != XF_UNKNOWN;

	snprintf(detail, XF_HARDWARE_DETAIL, "shadow stacks %s%s, indirect branch tracking %s%s",
	         word_of(hardware->shadow_stacks),
	         hardware->has_shadow_stacks ? "" : " (the processor has none)",
	         word_of(hardware->branch_tracking),
	         known ? "" : "; Xen's log does not go back to its boot, which would tell");
}

static void tell_events(const struct xf_hardware *hardware, char *detail)
{
	snprintf(detail, XF_HARDWARE_DETAIL, "%s",
	         hardware->fred == XF_YES  ? "FRED; xenflame has not been run with it yet"
	         : hardware->fred == XF_NO ? "IDT"
	                                   : "not known: Xen's log does not go back to its boot");
}

static void tell_speculation(const struct xf_hardware *hardware, char *detail)
{
	snprintf(detail, XF_HARDWARE_DETAIL, "%s",
	         hardware->speculation[0] ? hardware->speculation
	                                  : "not known: Xen's log does not go back to its boot");
}

static void tell_idle_states(const struct xf_hardware *hardware, char *detail)
{
	if (!hardware->idle_states_known)
		snprintf(detail, XF_HARDWARE_DETAIL, "not known: Xen does not tell");
	else if (hardware->idle_states < 2)
		snprintf(detail, XF_HARDWARE_DETAIL, "none known to Xen: idle pCPUs halt");
	else if (hardware->idle_states == 2)
		snprintf(detail, XF_HARDWARE_DETAIL, "C1 alone");
	else
		snprintf(detail, XF_HARDWARE_DETAIL, "C1 and %u deeper", hardware->idle_states - 2);
}

static void tell_tsc(const struct xf_hardware *hardware, char *detail)
{
	snprintf(detail, XF_HARDWARE_DETAIL, "%" PRIu64 ".%03" PRIu64 " MHz, %s",
	         hardware->tsc_hz / 1000000, hardware->tsc_hz / 1000 % 1000,
	         hardware->invariant_tsc
	                 ? "invariant"
	                 : "not said to be invariant: times of different pCPUs may not agree");
}

const struct xf_hardware_fact xf_hardware_facts[] = {
        {"processor", tell_processor},
        {"machine", tell_machine},
        {"NMIs in guests", tell_guest_nmis},
        {"CET", tell_cet},
        {"event delivery", tell_events},
        {"speculation", tell_speculation},
        {"idle states", tell_idle_states},
        {"TSC", tell_tsc},
        {NULL, NULL},
};
