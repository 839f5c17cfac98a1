// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/record_guest_processes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/helper_output.h"
#include "profile/guest_maps.h"

/* What is mapped changes most after a program has begun. */
#define FIRST_PAUSE_MS 100
#define LAST_PAUSE_MS  8000

/* Slots in which a process may be. */
#define PROBES 16u

#define MOST_WAITING ((size_t)64 << 20)

int xf_record_guest_processes_add(struct xf_record_guest_processes *processes,
                                  const struct xf_guest_layouts *layouts)
{
	size_t nr = processes->nr_domains;
	struct xf_guest_layouts *domains =
	        reallocarray(processes->domains, nr + 1, sizeof(*domains));
	uint64_t *roots;

	if (!domains)
		return -ENOMEM;
	processes->domains = domains;
	roots = reallocarray(processes->kernel_roots, nr + 1, sizeof(*roots));
	if (!roots)
		return -ENOMEM;
	processes->kernel_roots = roots;
	domains[nr] = *layouts;
	roots[nr] = 0;
	processes->nr_domains++;
	return 0;
}

/* Return: which page tables the domain's kernel was last seen in, 0 in them: none yet; NULL where
 * its processes are not read. */
static uint64_t *find_kernel_root(const struct xf_record_guest_processes *processes, uint16_t domid)
{
	for (size_t i = 0; i < processes->nr_domains; i++)
		if (processes->domains[i].domid == domid)
			return &processes->kernel_roots[i];
	return NULL;
}

int xf_record_guest_processes_start(struct xf_record_guest_processes *processes, int requests,
                                    int answers)
{
	processes->seen = calloc(XF_GUEST_PROCESSES, sizeof(*processes->seen));
	if (!processes->seen)
		return -ENOMEM;
	processes->requests = requests;
	processes->answers = answers;
	return 0;
}

void xf_record_guest_processes_free(struct xf_record_guest_processes *processes)
{
	free(processes->seen);
	free(processes->domains);
	free(processes->kernel_roots);
	xf_buffer_free(&processes->received);
	*processes = (struct xf_record_guest_processes){0};
}

/* ---- Requests -------------------------------------------------------------------------------- */

static bool is_of(const struct xf_guest_process_seen *seen, const struct xf_guest_process_seen *key)
{
	return seen->pid == key->pid && seen->domid == key->domid && seen->root == key->root;
}

/* Return: what is kept of the process that @key says; where there is no room, in place of the one
 * that was read the longest time ago. */
static struct xf_guest_process_seen *find_seen(struct xf_record_guest_processes *processes,
                                               const struct xf_guest_process_seen *key)
{
	uint64_t hash = (key->root ^ (uint64_t)key->pid << 32 ^ key->domid) * 0x9e3779b97f4a7c15ull;
	struct xf_guest_process_seen *place = NULL;

	for (size_t i = 0; i < PROBES; i++) {
		struct xf_guest_process_seen *seen =
		        &processes->seen[((hash >> 32) + i) % XF_GUEST_PROCESSES];

		if (is_of(seen, key))
			return seen;
		if (!place || (place->pid && (!seen->pid || seen->asked < place->asked)))
			place = seen;
	}
	*place = *key;
	return place;
}

static void ask(struct xf_record_guest_processes *processes, struct xf_guest_process_seen *seen,
                uint64_t kernel_root, int64_t now)
{
	const struct xf_guest_reader_request request = {.process = {.root = seen->root,
	                                                            .kernel_root = kernel_root,
	                                                            .task = seen->task,
	                                                            .pid = seen->pid},
	                                                .domid = seen->domid};

	if (write(processes->requests, &request, sizeof(request)) != sizeof(request)) {
		processes->missed++;
		return;
	}
	seen->asked = now;
	seen->pause = seen->pause ? 2 * seen->pause : FIRST_PAUSE_MS;
	if (seen->pause > LAST_PAUSE_MS)
		seen->pause = LAST_PAUSE_MS;
	seen->ran_since_asked = false;
}

void xf_record_guest_processes_saw(struct xf_record_guest_processes *processes,
                                   const struct xf_sample *sample,
                                   const struct xf_sample_guest *guest, int64_t now)
{
	struct xf_guest_process_seen key = {.domid = sample->domid}, *seen;
	uint64_t *kernel_root;

	if (!processes->seen || !guest->task || !guest->nr)
		return;
	kernel_root = find_kernel_root(processes, sample->domid);
	if (!kernel_root)
		return;
	key.root = xf_guest_maps_root(sample);
	key.pid = guest->task->tgid;
	if (guest->stacks[0]->mode == XF_GUEST_KERNEL)
		*kernel_root = key.root;
	if (!key.pid || !key.root || guest->stacks[guest->nr - 1]->mode != XF_GUEST_USER)
		return;
	seen = find_seen(processes, &key);
	seen->task = guest->task->task;
	seen->ran_since_asked = true;
	if (*kernel_root && now - seen->asked >= seen->pause)
		ask(processes, seen, *kernel_root, now);
}

void xf_record_guest_processes_ask_last(struct xf_record_guest_processes *processes)
{
	for (size_t i = 0; processes->seen && i < XF_GUEST_PROCESSES; i++) {
		struct xf_guest_process_seen *seen = &processes->seen[i];
		const uint64_t *kernel_root =
		        seen->ran_since_asked ? find_kernel_root(processes, seen->domid) : NULL;

		if (kernel_root && *kernel_root)
			ask(processes, seen, *kernel_root, 0);
	}
}

void xf_record_guest_processes_ask_modules(struct xf_record_guest_processes *processes,
                                           uint16_t domid, struct xf_guest_modules_wanted wanted)
{
	const uint64_t *kernel_root = find_kernel_root(processes, domid);
	struct xf_guest_reader_request request = {
	        .domid = domid, .of_modules = true, .modules = wanted};

	if (!processes->seen || !kernel_root || !*kernel_root)
		return;
	request.modules.root = *kernel_root;
	if (write(processes->requests, &request, sizeof(request)) != sizeof(request))
		processes->missed++;
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* What there is no memory for ends it: the rest could not be told apart. */
bool xf_record_guest_processes_poll(struct xf_record_guest_processes *processes)
{
	uint8_t bytes[16384];
	ssize_t got = 1;

	if (!processes->seen || processes->broken)
		return false;
	while (processes->received.used < MOST_WAITING && (got > 0 || errno == EINTR)) {
		got = read(processes->answers, bytes, sizeof(bytes));
		if (got > 0 && xf_buffer_add(&processes->received, bytes, (size_t)got))
			processes->broken = true;
		if (!got || processes->broken)
			return false;
	}
	return true;
}

static bool is_taken(const struct xf_chunk_head *head)
{
	return head->type == XF_CHUNK_PROCESSES || head->type == XF_CHUNK_GUEST_MAPS ||
	       head->type == XF_CHUNK_KERNEL || head->type == XF_CHUNK_KERNEL_SYMBOLS ||
	       head->type == XF_CHUNK_KERNEL_CODE;
}

/* Notes which kernel it is that a chunk of that type tells of. */
static void note_kernel(struct xf_record_guest_processes *processes,
                        const struct xf_chunk_head *head, const uint8_t *content)
{
	uint32_t number = 0;

	if (head->type == XF_CHUNK_KERNEL && head->size >= sizeof(number))
		memcpy(&number, content, sizeof(number));
	if (number && number < XF_MAX_KERNELS)
		processes->kernels |= 1ull << number;
}

int xf_record_guest_processes_write(struct xf_record_guest_processes *processes,
                                    struct xf_recording_writer *writer)
{
	struct xf_buffer *received = &processes->received;
	size_t at = processes->begun ? 0 : XF_FIRST_CHUNK, size = 1;
	int code = 0;

	if (received->used < at)
		return 0;
	while (!code && size) {
		struct xf_chunk_head head;

		size = xf_whole_chunk(received->bytes + at, received->used - at, &head);
		if (size)
			note_kernel(processes, &head, received->bytes + at + sizeof(head));
		if (size && is_taken(&head))
			code = xf_recording_write_as_it_is(writer, &head,
			                                   received->bytes + at + sizeof(head));
		at += size;
	}
	processes->begun = true;
	received->used -= at;
	if (at)
		memmove(received->bytes, received->bytes + at, received->used);
	return code;
}
