// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xen/payload.h"

#define DETAIL        256
#define MEMORY_NEEDED (16u << 20) /* trace buffers, the agent, and some to spare */

static int probe_access(struct xf_host *host, char *detail, struct xf_error *error)
{
	int result = xf_xen_open(&host->xen, error);

	if (!result)
		snprintf(detail, DETAIL, "root, and privcmd opens");
	return result;
}

static int probe_version(struct xf_host *host, char *detail, struct xf_error *error)
{
	char version[48];
	int result = xf_xen_version(host->xen, &host->version, error);

	if (result)
		return result;
	xf_host_version_text(host, version);
	snprintf(detail, DETAIL, "Xen %s", version);
	return 0;
}

static int probe_control(struct xf_host *host, char *detail, struct xf_error *error)
{
	int result = xf_xen_host(host->xen, &host->machine, error);

	if (!result)
		snprintf(detail, DETAIL, "this is the control domain; TSC at %" PRIu64 " MHz",
		         host->machine.tsc_hz / 1000000);
	return result;
}

static int probe_pcpus(struct xf_host *host, char *detail, struct xf_error *error)
{
	if (host->machine.online_pcpus < 2)
		return xf_fail(
		        error, -EOPNOTSUPP,
		        "only one pCPU is online: samples of a pCPU are taken by an NMI from "
		        "another one, so xenflame needs two");
	snprintf(detail, DETAIL, "%u pCPUs online", host->machine.online_pcpus);
	return 0;
}

static int probe_hardware(struct xf_host *host, char *detail, struct xf_error *error)
{
	const struct xf_hardware *hardware = &host->hardware;
	int result = xf_hardware_probe(host->xen, &host->machine, &host->hardware, error);

	host->hardware_known = !result;
	if (result)
		return result;
	if (xf_hardware_dies_of_live_patches(hardware, &host->version))
		return xf_fail(error, -EOPNOTSUPP,
		               "Xen 4.17.0 dies of any live patch where CET is in use, which %s "
		               "here; Xen 4.17.1 does not, nor does this one when it is booted "
		               "with cet=no",
		               hardware->shadow_stacks == XF_YES ? "it is" : "cannot be told");
	snprintf(detail, DETAIL, "%s", hardware->vendor[0] ? hardware->vendor : "vendor not known");
	return 0;
}

/* The words of Xen's command line that switch its NMI watchdog on. */
static bool asks_for_watchdog(const char *commandline)
{
	const char *word = commandline;

	while ((word = strstr(word, "watchdog")) != NULL) {
		const char *value = word + strlen("watchdog");
		bool starts = word == commandline || word[-1] == ' ';

		if (starts && (*value == '\0' || *value == ' '))
			return true;
		if (starts && *value == '=' && strncmp(value, "=0", 2) != 0 &&
		    strncmp(value, "=no", 3) != 0 && strncmp(value, "=off", 4) != 0 &&
		    strncmp(value, "=false", 6) != 0)
			return true;
		word = value;
	}
	return false;
}

static int probe_watchdog(struct xf_host *host, char *detail, struct xf_error *error)
{
	(void)error;
	snprintf(detail, DETAIL, "%s",
	         asks_for_watchdog(host->version.commandline)
	                 ? "asked for on Xen's command line; the agent leaves it its NMIs"
	                 : "off");
	return 0;
}

static int probe_livepatch(struct xf_host *host, char *detail, struct xf_error *error)
{
	struct xf_livepatch *list = NULL;
	size_t nr = 0, i, others = 0;
	enum xf_livepatch_state own = XF_LIVEPATCH_ABSENT;
	int result = xf_xen_livepatch_probe(host->xen, error);

	if (!result)
		result = xf_xen_livepatch_list(host->xen, &list, &nr, error);
	if (result)
		return result;
	for (i = 0; i < nr; i++) {
		if (strcmp(list[i].name, XF_AGENT_NAME) == 0)
			own = list[i].state;
		else if (list[i].state == XF_LIVEPATCH_APPLIED)
			others++;
	}
	free(list);
	snprintf(detail, DETAIL, "compiled in; %zu live patch%s applied%s", others,
	         others == 1 ? "" : "es",
	         own == XF_LIVEPATCH_ABSENT ? ""
	                                    : "; an agent was left behind: record replaces it, "
	                                      "detach removes it");
	return 0;
}

static int probe_trace(struct xf_host *host, char *detail, struct xf_error *error)
{
	struct xf_xen_trace_info info;
	int result = xf_xen_trace_info(host->xen, &info, error);

	if (!result)
		snprintf(detail, DETAIL, "compiled in; %s",
		         info.info_mfn ? "allocated since boot" : "not allocated yet");
	return result;
}

static int probe_claim(struct xf_host *host, char *detail, struct xf_error *error)
{
	int result = xf_trace_claim(&host->claim, error);

	if (!result)
		snprintf(detail, DETAIL, "nobody else reads them");
	return result;
}

static int probe_memory(struct xf_host *host, char *detail, struct xf_error *error)
{
	if (host->machine.free_bytes < MEMORY_NEEDED)
		return xf_fail(error, -ENOBUFS,
		               "Xen has %" PRIu64
		               " KiB of free memory, xenflame wants %u MiB to be "
		               "safe; free some, for instance by ballooning a guest or dom0 down "
		               "(xl mem-set)",
		               host->machine.free_bytes / 1024, MEMORY_NEEDED >> 20);
	snprintf(detail, DETAIL, "%" PRIu64 " MiB free in Xen", host->machine.free_bytes >> 20);
	return 0;
}

static int probe_build_id(struct xf_host *host, char *detail, struct xf_error *error)
{
	char text[129];

	if (!host->version.build_id.size)
		return xf_fail(
		        error, -EOPNOTSUPP,
		        "the running Xen has no build-id: neither live patches nor the image "
		        "in /boot can be matched with it");
	xf_host_build_id_text(host, text);
	snprintf(detail, DETAIL, "%s", text);
	return 0;
}

static int take_symbol(void *context, uint64_t address, char type, const char *name)
{
	return xf_symbols_add(context, address, 0, type, name);
}

static int probe_symbols(struct xf_host *host, char *detail, struct xf_error *error)
{
	int result;

	host->symbols = xf_symbols_new();
	if (!host->symbols)
		return xf_fail(error, -ENOMEM, "out of memory");
	result = xf_xen_symbols(host->xen, take_symbol, host->symbols, error);
	if (result)
		return result;
	xf_symbols_finish(host->symbols);
	result = xf_discover_text(host->symbols, &host->text, error);
	if (!result)
		snprintf(detail, DETAIL, "%zu, from the running Xen",
		         xf_symbols_count(host->symbols));
	return result;
}

static int read_image(struct xf_host *host, const char *path, struct xf_error *error)
{
	const struct xf_xen_build_id *build_id = &host->version.build_id;
	int result = path ? xf_boot_image_open(path, build_id, &host->image, error)
	                  : xf_boot_image_find("/boot", build_id, &host->image, error);

	if (result)
		return result;
	return xf_image_code(&host->image.image, host->text.image_start, host->text.start,
	                     host->text.end, &host->code, error);
}

static int probe_image(struct xf_host *host, char *detail, struct xf_error *error)
{
	int result = read_image(host, NULL, error);

	if (!result)
		snprintf(detail, DETAIL, "%.200s has the running Xen's build-id", host->image.path);
	return result;
}

static int probe_layout(struct xf_host *host, char *detail, struct xf_error *error)
{
	const struct xf_agent_config *config = &host->config;
	int result = xf_discover_layout(&host->code, host->symbols, &host->config, error);

	if (!result)
		snprintf(detail, DETAIL, "frame at 0x%x, current vCPU at 0x%x, domain at 0x%x%s%s",
		         config->frame_offset, config->current_vcpu_offset,
		         config->vcpu_domain_offset, config->after_stgi ? ", STGI" : "",
		         config->idle_return ? ", idle call" : "");
	return result;
}

static int probe_payload(struct xf_host *host, char *detail, struct xf_error *error)
{
	struct xf_agent_config config = host->config;
	struct xf_payload_input input = {
	        .object = xf_agent_object,
	        .object_size = xf_agent_object_end - xf_agent_object,
	        .symbols = host->symbols,
	        .config = &config,
	        .build_id = host->version.build_id.bytes,
	        .build_id_size = host->version.build_id.size,
	};
	uint8_t *payload = NULL;
	size_t size = 0;
	int result;

	config.nr_pcpus = host->machine.max_pcpu + 1;
	result = xf_payload_write(&input, &payload, &size, error);
	free(payload);
	if (!result)
		snprintf(detail, DETAIL, "all of Xen's symbols that it needs are there (%zu bytes)",
		         size);
	return result;
}

const struct xf_requirement xf_requirements[] = {
        {"access to Xen", probe_access},
        {"version", probe_version},
        {"control domain", probe_control},
        {"hardware", probe_hardware},
        {"pCPUs", probe_pcpus},
        {"NMI watchdog", probe_watchdog},
        {"live patching", probe_livepatch},
        {"trace buffers", probe_trace},
        {"trace buffers free", probe_claim},
        {"memory", probe_memory},
        {"build-id", probe_build_id},
        {"symbols", probe_symbols},
        {"Xen's image", probe_image},
        {"layout", probe_layout},
        {"agent", probe_payload},
        {NULL, NULL},
};

int xf_host_read_code(struct xf_host *host, const char *image, struct xf_error *error)
{
	char detail[DETAIL];
	int result = probe_access(host, detail, error);

	if (!result)
		result = probe_version(host, detail, error);
	if (!result)
		result = probe_build_id(host, detail, error);
	if (!result)
		result = probe_symbols(host, detail, error);
	return result ? result : read_image(host, image, error);
}

void xf_host_close(struct xf_host *host)
{
	xf_boot_image_free(&host->image);
	xf_symbols_free(host->symbols);
	xf_trace_release(host->claim);
	xf_xen_close(host->xen);
	memset(host, 0, sizeof(*host));
}

void xf_host_version_text(const struct xf_host *host, char text[48])
{
	snprintf(text, 48, "%u.%u%s", host->version.major, host->version.minor,
	         host->version.extra);
}

void xf_host_build_id_text(const struct xf_host *host, char text[129])
{
	size_t i;

	text[0] = '\0';
	for (i = 0; i < host->version.build_id.size && i < 64; i++)
		snprintf(text + 2 * i, 3, "%02x", host->version.build_id.bytes[i]);
}
