// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/user_hits.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/grow.h"
#include "profile/pieces.h"
#include "profile/tasks.h"

struct hits {
	struct xf_user_hit *hits;
	size_t nr;
	size_t sorted; /* so many of them are in order, each once */
};

static int compare_hits(const void *left, const void *right)
{
	const struct xf_user_hit *a = left;
	const struct xf_user_hit *b = right;

	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->domid < b->domid ? -1 : a->domid > b->domid;
}

static void tidy(struct hits *hits)
{
	size_t kept = 0;

	if (hits->nr)
		qsort(hits->hits, hits->nr, sizeof(*hits->hits), compare_hits);
	for (size_t i = 0; i < hits->nr; i++)
		if (!kept || compare_hits(&hits->hits[kept - 1], &hits->hits[i]) != 0)
			hits->hits[kept++] = hits->hits[i];
	hits->nr = hits->sorted = kept;
}

static int add(struct hits *hits, const struct xf_user_hit *hit)
{
	struct xf_user_hit *added;

	/* Most have been there before: the array stays small. */
	if (hits->nr > 2 * hits->sorted + 65536 && !(hits->nr & (hits->nr - 1)))
		tidy(hits);
	added = XF_GROW(hits->hits, hits->nr);
	if (!added)
		return -ENOMEM;
	*added = *hit;
	hits->nr++;
	return 0;
}

/* Code of @process at @address, where there is any. That of other domains' is known by files alone.
 */
static int add_address(struct hits *hits, const struct xf_processes *processes, uint16_t domid,
                       const struct xf_process *process, uint64_t address)
{
	struct xf_mapping mapping;
	struct xf_user_hit hit = {.domid = domid, .mapped_in = process->pid};

	if (!xf_processes_mapping(processes, process, address, &mapping))
		return 0;
	xf_mapping_place(&mapping, process, address, &hit.file, &hit.pid, &hit.offset);
	if (domid != XF_DOMID_CONTROL && hit.file == XF_NO_FILE)
		return 0;
	hit.map_address = mapping.address;
	hit.map_size = mapping.size;
	return add(hits, &hit);
}

static int add_stack(struct hits *hits, const struct xf_processes *processes, uint16_t domid,
                     const struct xf_process *process, const struct xf_guest_piece *piece)
{
	int code = add_address(hits, processes, domid, process, piece->stack.rip);

	for (unsigned int i = 0; !code && i < piece->nr_words; i++)
		code = add_address(hits, processes, domid, process,
		                   XF_WORD_VALUE(piece->stack.words[i]) - 1);
	return code;
}

/* It is not known here whether the kernel was switching: the stack is that of the process that ran,
 * or of the next one. */
static int add_sample(struct hits *hits, const struct xf_tasks *tasks,
                      const struct xf_record *record)
{
	static const enum xf_switching either[] = {XF_NOT_SWITCHING, XF_SWITCH_UNTOLD};
	struct xf_guest_piece piece;
	int code = 0;

	if (record->type != XF_RECORD_SAMPLE || !record->guest.nr)
		return 0;
	xf_guest_pieces_read(&record->guest, record->guest.nr - 1, &piece);
	if (piece.stack.mode != XF_GUEST_USER)
		return 0;
	for (size_t i = 0; !code && i < sizeof(either) / sizeof(either[0]); i++) {
		struct xf_process process;

		if (xf_tasks_running(tasks, record, either[i], &process))
			code = add_stack(hits, tasks->processes, record->sample.domid, &process,
			                 &piece);
	}
	return code;
}

int xf_user_hits_collect(const struct xf_recording *recording, const struct xf_processes *processes,
                         struct xf_user_hit **hits, size_t *nr)
{
	struct xf_record_iterator iterator = {0};
	struct xf_record record;
	struct hits made = {0};
	struct xf_tasks tasks;
	int code = xf_tasks_make(&tasks, recording, processes);

	while (!code && xf_recording_next(recording, &iterator, &record))
		code = add_sample(&made, &tasks, &record);
	xf_tasks_free(&tasks);
	if (code) {
		free(made.hits);
		return code;
	}
	tidy(&made);
	*hits = made.hits;
	*nr = made.nr;
	return 0;
}
