// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/record_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cmd/helper_output.h"
#include "cmd/record_kernel.h"
#include "xen/payload.h"

int xf_record_file_failed(const struct xf_record_file *file, int code, struct xf_error *error)
{
	return xf_fail(error, code, "writing %s: %s%s", file->target.path, strerror(-code),
	               file->target.readable ? "; what was written until then can be read" : "");
}

int xf_record_file_open(const char *path, struct xf_record_file *file, struct xf_error *error)
{
	int result;

	*file = (struct xf_record_file){0};
	result = xf_record_target_open(path, &file->target, error);
	if (result)
		return result;
	result = xf_recording_writer_new(xf_sink_to(&file->target.fd), &file->writer, error);
	return result ? xf_record_file_failed(file, result, error) : 0;
}

void xf_record_file_close(struct xf_record_file *file)
{
	xf_recording_writer_free(file->writer);
	free(file->domains);
	xf_record_target_close(&file->target);
	file->writer = NULL;
	file->domains = NULL;
}

static int write_info(struct xf_record_file *file, const struct xf_host *host,
                      unsigned int frequency)
{
	struct xf_recording_writer *writer = file->writer;
	struct timespec now;
	struct utsname system;
	char version[48], build_id[129];
	int result = 0;

	xf_host_version_text(host, version);
	xf_host_build_id_text(host, build_id);
	clock_gettime(CLOCK_REALTIME, &now);
	if (uname(&system) == 0)
		result = xf_recording_write_info(writer, "host", "%s", system.nodename);
	/* The writer keeps its first failure and returns it from every later call. */
	xf_recording_write_info(writer, "xen.version", "%s", version);
	xf_recording_write_info(writer, "xen.build-id", "%s", build_id);
	xf_recording_write_info(writer, "xen.commandline", "%s", host->version.commandline);
	xf_recording_write_info(writer, "xen.image", "%s", host->image.path);
	xf_recording_write_info(writer, "xenflame.version", "%s", XF_VERSION);
	xf_recording_write_info(writer, "pcpus", "%u", host->machine.online_pcpus);
	xf_recording_write_info(writer, "frequency", "%u", frequency);
	xf_recording_write_info(writer, "tsc.hz", "%" PRIu64, host->machine.tsc_hz);
	xf_recording_write_info(writer, "start.tsc", "%" PRIu64, (uint64_t)__builtin_ia32_rdtsc());
	xf_recording_write_info(writer, "start.time", "%" PRIu64,
	                        (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
	xf_recording_write_info(writer, "text.start", "0x%" PRIx64, host->text.start);
	xf_recording_write_info(writer, "text.end", "0x%" PRIx64, host->text.end);
	xf_recording_write_info(writer, "livepatch.start", "0x%" PRIx64,
	                        host->config.livepatch_start);
	xf_recording_write_info(writer, "livepatch.end", "0x%" PRIx64, host->config.livepatch_end);
	return result ? result : xf_recording_flush(writer);
}

int xf_record_file_write_host(struct xf_record_file *file, const struct xf_host *host,
                              unsigned int frequency, struct xf_error *error)
{
	int result = write_info(file, host, frequency);

	if (!result)
		result = xf_recording_write_symbols(file->writer, host->symbols);
	if (!result)
		result = xf_recording_write_code(file->writer, host->code.address, host->code.bytes,
		                                 host->code.size);
	if (!result)
		result = xf_recording_flush(file->writer);
	if (result)
		return xf_record_file_failed(file, result, error);
	return xf_record_file_write_domains(file, error);
}

/* The value of @key are the @nr @domids, at most XF_MAX_GUESTS; without any there is no such key.
 */
static int write_domids(struct xf_record_file *file, const char *key, const uint16_t *domids,
                        uint32_t nr, struct xf_error *error)
{
	char text[8 * XF_MAX_GUESTS] = "";
	size_t used = 0;
	int result;

	if (!nr)
		return 0;
	for (uint32_t i = 0; i < nr && i < XF_MAX_GUESTS; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u", i ? "," : "",
		                         domids[i]);
	result = xf_recording_write_info(file->writer, key, "%s", text);
	return result ? xf_record_file_failed(file, result, error) : 0;
}

int xf_record_file_write_guests(struct xf_record_file *file, const struct xf_agent_config *config,
                                struct xf_error *error)
{
	int result;

	if (config->nr_guests != XF_GUESTS_ALL)
		return write_domids(file, "guests", config->guest_domids, config->nr_guests, error);
	result = xf_recording_write_info(file->writer, "guests", "all");
	return result ? xf_record_file_failed(file, result, error) : 0;
}

int xf_record_file_write_tasks(struct xf_record_file *file, const struct xf_agent_config *config,
                               struct xf_error *error)
{
	uint16_t domids[XF_MAX_GUESTS];

	for (uint32_t i = 0; i < config->nr_tasks && i < XF_MAX_GUESTS; i++)
		domids[i] = config->tasks[i].domid;
	return write_domids(file, "tasks", domids, config->nr_tasks, error);
}

int xf_record_file_write_kernel(struct xf_record_file *file, const struct xf_kernel *kernel,
                                struct xf_error *error)
{
	const struct xf_recording_kernel_of of = {.domid = 0, .kernel = XF_DOM0_KERNEL};
	int result = xf_record_kernel_write(file->writer, kernel, XF_DOM0_KERNEL);

	if (!result)
		result = xf_recording_write_kernel_of(file->writer, &of);
	return result ? xf_record_file_failed(file, result, error) : 0;
}

static int add_symbol(void *context, uint64_t address, uint64_t size, const char *name)
{
	return xf_symbols_add(context, address, size, 't', name);
}

int xf_record_file_write_agent(struct xf_record_file *file, const struct xf_host *host,
                               const struct xf_session *session, uint64_t start_tsc,
                               struct xf_error *error)
{
	struct xf_recording_livepatch livepatch = {.name = XF_AGENT_NAME};
	struct xf_symbols *symbols = xf_symbols_new();
	struct xf_code code;
	int result;

	if (!symbols)
		return xf_fail(error, -ENOMEM, "out of memory");
	xf_session_agent_text(session, &livepatch.address, &livepatch.size);
	result = xf_payload_text(xf_agent_object, xf_agent_object_end - xf_agent_object,
	                         livepatch.address, host->symbols, &code, add_symbol, symbols,
	                         error);
	if (!result) {
		xf_symbols_finish(symbols);
		/* The writer keeps its first failure. */
		xf_recording_write_info(file->writer, "sampling.start.tsc", "%" PRIu64, start_tsc);
		result = xf_recording_write_livepatch(file->writer, &livepatch);
		if (!result)
			result = xf_recording_write_symbols(file->writer, symbols);
		if (!result)
			result = xf_recording_write_code(file->writer, code.address, code.bytes,
			                                 code.size);
		free((void *)code.bytes);
		if (result)
			xf_record_file_failed(file, result, error);
	}
	xf_symbols_free(symbols);
	return result;
}

static bool is_known(const struct xf_record_file *file, const struct xf_domain *domain)
{
	size_t i;

	for (i = 0; i < file->nr_domains; i++) {
		const struct xf_domain *known = &file->domains[i];

		if (known->domid == domain->domid && known->type == domain->type &&
		    strcmp(known->name, domain->name) == 0 &&
		    strcmp(known->uuid, domain->uuid) == 0)
			return true;
	}
	return false;
}

int xf_record_file_write_domains(struct xf_record_file *file, struct xf_error *error)
{
	struct xf_domain *domains;
	size_t nr, i;
	int result = xf_domains_list(&domains, &nr, error);

	if (result)
		return result;
	for (i = 0; i < nr && !result; i++) {
		struct xf_recording_domain entry = {.domid = domains[i].domid,
		                                    .type = domains[i].type,
		                                    .tsc = __builtin_ia32_rdtsc(),
		                                    .name = domains[i].name,
		                                    .uuid = domains[i].uuid};

		if (!is_known(file, &domains[i]))
			result = xf_recording_write_domain(file->writer, &entry);
	}
	free(file->domains);
	file->domains = domains;
	file->nr_domains = nr;
	return result ? xf_record_file_failed(file, result, error) : 0;
}

void xf_record_file_note_end(struct xf_record_file *file, uint64_t end_tsc)
{
	xf_recording_write_info(file->writer, "sampling.end.tsc", "%" PRIu64, end_tsc);
}

static int write_tables(struct xf_record_file *file, const struct xf_session *session, size_t nr)
{
	struct xf_pcpu_statistics *books = calloc(nr + 1, sizeof(*books));
	struct xf_pcpu_skipped *skipped = calloc(nr + 1, sizeof(*skipped));
	int result = books && skipped ? 0 : -ENOMEM;

	for (size_t i = 0; !result && i < nr; i++) {
		xf_session_statistics(session, i, &books[i]);
		skipped[i].pcpu = i;
		skipped[i].ticks = xf_session_skipped(session, i);
	}
	if (!result)
		result = xf_recording_write_statistics(file->writer, books, nr);
	if (!result)
		result = xf_recording_write_skipped(file->writer, skipped, nr);
	free(books);
	free(skipped);
	return result;
}

int xf_record_file_write_books(struct xf_record_file *file, const struct xf_session *session,
                               struct xf_error *error)
{
	struct xf_pcpu_statistics one;
	size_t nr = 0;
	int result;

	while (xf_session_statistics(session, nr, &one) == 0)
		nr++;
	result = write_tables(file, session, nr);
	if (!result)
		result = xf_recording_flush(file->writer);
	return result ? xf_record_file_failed(file, result, error) : 0;
}

int xf_record_file_write_end(struct xf_record_file *file, struct xf_error *error)
{
	int result = xf_recording_write_info(file->writer, "end.tsc", "%" PRIu64,
	                                     (uint64_t)__builtin_ia32_rdtsc());

	if (!result)
		result = xf_recording_write_end(file->writer);
	return result ? xf_record_file_failed(file, result, error) : 0;
}
