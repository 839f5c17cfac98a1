// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of Linux's perf events (man page perf_event_open(2)), of an event that is asked for
 * with XF_PERF_SAMPLE_TYPE and sample_id_all. Pure.
 */
#ifndef XF_XEN_PERF_RECORDS_H
#define XF_XEN_PERF_RECORDS_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#include "xen/gathered.h"

#define XF_PERF_SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

/* One ring of records, as far as it has been read. */
struct xf_perf_reader {
	uint32_t cpu;
	uint64_t opened;    /* when its event was; as all times, ns of the clock asked for */
	uint64_t last;      /* time of its last record; 0: none has come */
	uint64_t lost_from; /* records have been lost after this; 0: none have */
	uint64_t lost;      /* so many in all */
	bool switches;      /* its event tells of context switches, and nothing else */
};

/* Takes in one record of @size bytes. */
void xf_perf_take_record(struct xf_perf_reader *reader, const void *record, size_t size,
                         struct xf_gathered *gathered);

#endif
