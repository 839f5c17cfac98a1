// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/gathered.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More distinct files than a host runs code of; other domains' have the numbers from there on. */
#define FILES_MAX XF_GUEST_FILES
#define SLOTS     65536u /* twice as many */

/* ---- Records --------------------------------------------------------------------------------- */

static bool reserve(struct xf_gathered *gathered, size_t size)
{
	size_t wanted = gathered->allocated ? gathered->allocated : 65536;
	uint8_t *grown;

	if (gathered->failed)
		return false;
	while (wanted - gathered->size < size)
		wanted *= 2;
	if (wanted == gathered->allocated)
		return true;
	grown = realloc(gathered->records, wanted);
	gathered->failed = !grown;
	if (!grown)
		return false;
	gathered->records = grown;
	gathered->allocated = wanted;
	return true;
}

static void add(struct xf_gathered *gathered, const struct xf_process_head *head, const void *rest,
                size_t size)
{
	struct xf_process_head whole = *head;

	whole.size = (uint16_t)size;
	if (size > UINT16_MAX || !reserve(gathered, sizeof(whole) + size))
		return;
	memcpy(gathered->records + gathered->size, &whole, sizeof(whole));
	if (size)
		memcpy(gathered->records + gathered->size + sizeof(whole), rest, size);
	gathered->size += sizeof(whole) + size;
}

static struct xf_process_head head_of(enum xf_process_type type, const struct xf_gathered_who *who)
{
	return (struct xf_process_head){
	        .type = (uint16_t)type, .pid = who->pid, .time = who->time, .tid = who->tid};
}

void xf_gather_exists(struct xf_gathered *gathered, const struct xf_gathered_who *who,
                      const char *comm)
{
	const struct xf_process_head head = head_of(XF_PROCESS_EXISTS, who);

	add(gathered, &head, comm, strlen(comm) + 1);
}

void xf_gather_comm(struct xf_gathered *gathered, const struct xf_gathered_who *who, bool exec,
                    const char *comm)
{
	struct xf_process_head head = head_of(XF_PROCESS_COMM, who);

	head.other = exec;
	add(gathered, &head, comm, strlen(comm) + 1);
}

void xf_gather_fork(struct xf_gathered *gathered, const struct xf_gathered_who *who,
                    uint32_t parent_pid, uint32_t parent_tid)
{
	struct xf_process_head head = head_of(XF_PROCESS_FORK, who);

	head.other = parent_pid;
	add(gathered, &head, &parent_tid, sizeof(parent_tid));
}

void xf_gather_exit(struct xf_gathered *gathered, const struct xf_gathered_who *who)
{
	const struct xf_process_head head = head_of(XF_PROCESS_EXIT, who);

	add(gathered, &head, NULL, 0);
}

void xf_gather_map(struct xf_gathered *gathered, const struct xf_gathered_who *who,
                   uint64_t address, uint64_t size, uint64_t offset, uint32_t file)
{
	struct xf_process_head head = head_of(XF_PROCESS_MAP, who);
	const uint64_t map[] = {address, size, offset};

	head.other = file;
	add(gathered, &head, map, sizeof(map));
}

void xf_gather_lost(struct xf_gathered *gathered, uint64_t from, uint64_t until)
{
	const struct xf_process_head head = {.type = XF_PROCESS_LOST, .time = from};

	add(gathered, &head, &until, sizeof(until));
}

void xf_gather_switch(struct xf_gathered *gathered, uint32_t cpu, const struct xf_switch *one)
{
	struct xf_gathered_cpu *at;

	if (gathered->failed)
		return;
	if (cpu >= gathered->nr_cpus) {
		struct xf_gathered_cpu *grown =
		        reallocarray(gathered->cpus, cpu + 1, sizeof(*grown));

		gathered->failed = !grown;
		if (!grown)
			return;
		memset(grown + gathered->nr_cpus, 0,
		       (cpu + 1 - gathered->nr_cpus) * sizeof(*grown));
		gathered->cpus = grown;
		gathered->nr_cpus = cpu + 1;
	}
	at = &gathered->cpus[cpu];
	if (at->nr == at->allocated) {
		size_t wanted = at->allocated ? at->allocated * 2 : 1024;
		struct xf_switch *grown = reallocarray(at->switches, wanted, sizeof(*grown));

		gathered->failed = !grown;
		if (!grown)
			return;
		at->switches = grown;
		at->allocated = wanted;
	}
	at->switches[at->nr++] = *one;
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* Two texts as one, between which a file's path cannot end. Return: NULL without memory. */
static char *key_of(const char *path, const char *identity)
{
	char *key;

	return asprintf(&key, "%s//%s", path, identity) < 0 ? NULL : key;
}

/* Return: the slot of @key, or the free one where it belongs. */
static uint32_t *find_slot(const struct xf_gathered *gathered, const char *key)
{
	uint64_t hash = 14695981039346656037ull; /* FNV-1a */

	for (const char *c = key; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 1099511628211ull;
	hash ^= hash >> 32;
	for (;; hash++) {
		uint32_t *slot = &gathered->slots[hash % SLOTS];

		if (!*slot || strcmp(gathered->files[*slot - 1], key) == 0)
			return slot;
	}
}

uint32_t xf_gathered_file(const struct xf_gathered *gathered, const char *path,
                          const char *identity)
{
	char *key = gathered->slots ? key_of(path, identity) : NULL;
	uint32_t number = key ? *find_slot(gathered, key) : 0;

	free(key);
	return number ? number - 1 : XF_NO_FILE;
}

static bool make_table(struct xf_gathered *gathered)
{
	if (!gathered->slots)
		gathered->slots = calloc(SLOTS, sizeof(*gathered->slots));
	if (!gathered->files)
		gathered->files = calloc(FILES_MAX, sizeof(*gathered->files));
	return gathered->slots && gathered->files;
}

uint32_t xf_gather_file(struct xf_gathered *gathered, const char *path, const char *identity,
                        const uint8_t *build_id, size_t build_id_size)
{
	const struct xf_process_head head = {.type = XF_PROCESS_FILE, .other = gathered->nr_files};
	size_t size = strlen(path) + 1;
	char *key, *rest;

	if (gathered->nr_files == FILES_MAX || !make_table(gathered))
		return XF_NO_FILE;
	key = key_of(path, identity);
	rest = malloc(size + build_id_size);
	if (!key || !rest) {
		free(key);
		free(rest);
		return XF_NO_FILE;
	}
	memcpy(rest, path, size);
	if (build_id_size)
		memcpy(rest + size, build_id, build_id_size);
	add(gathered, &head, rest, size + build_id_size);
	free(rest);
	gathered->files[gathered->nr_files] = key;
	*find_slot(gathered, key) = gathered->nr_files + 1;
	return gathered->nr_files++;
}

/* ---- The whole ------------------------------------------------------------------------------- */

void xf_gathered_written(struct xf_gathered *gathered)
{
	gathered->size = 0;
	for (size_t i = 0; i < gathered->nr_cpus; i++)
		gathered->cpus[i].nr = 0;
}

void xf_gathered_leave_out(struct xf_gathered *gathered)
{
	gathered->size = 0;
	for (size_t i = 0; i < gathered->nr_cpus; i++) {
		struct xf_gathered_cpu *cpu = &gathered->cpus[i];

		if (!cpu->nr)
			continue;
		cpu->switches[0].pid = XF_PID_UNKNOWN;
		cpu->nr = 1;
	}
}

void xf_gathered_free(struct xf_gathered *gathered)
{
	for (size_t i = 0; i < gathered->nr_cpus; i++)
		free(gathered->cpus[i].switches);
	for (uint32_t i = 0; i < gathered->nr_files; i++)
		free(gathered->files[i]);
	free(gathered->cpus);
	free(gathered->files);
	free(gathered->slots);
	free(gathered->records);
	*gathered = (struct xf_gathered){0};
}
