// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/record_processes.h"

#include <errno.h>

#include "profile/process_writer.h"

void xf_record_processes_start(struct xf_record_processes *processes)
{
	xf_sideband_open(processes->wish, &processes->sideband, &processes->why_not);
}

static void read_clocks(struct xf_record_processes *processes)
{
	if (processes->nr_clocks < XF_RECORD_CLOCKS)
		xf_sideband_read_clocks(&processes->clocks[processes->nr_clocks++]);
}

void xf_record_processes_poll(struct xf_record_processes *processes)
{
	if (!processes->sideband)
		return;
	read_clocks(processes);
	processes->polled = processes->clocks[processes->nr_clocks - 1].time;
	xf_sideband_poll(processes->sideband);
	processes->lost = xf_sideband_lost(processes->sideband);
}

int xf_record_processes_write(struct xf_record_processes *processes,
                              struct xf_recording_writer *writer)
{
	struct xf_gathered *gathered;
	int code;

	if (!processes->sideband)
		return 0;
	if (processes->left_out)
		xf_sideband_go_on(processes->sideband, processes->written);
	processes->left_out = false;
	gathered = xf_sideband_gathered(processes->sideband);
	if (gathered->failed)
		return -ENOMEM;
	read_clocks(processes);
	processes->written = processes->polled;
	code = xf_recording_write_clock(writer, processes->clocks, processes->nr_clocks);
	processes->nr_clocks = 0;
	if (!code)
		code = xf_recording_write_processes(writer, gathered->records, gathered->size);
	for (size_t i = 0; !code && i < gathered->nr_cpus; i++)
		code = xf_recording_write_switches(writer, (uint32_t)i, gathered->cpus[i].switches,
		                                   gathered->cpus[i].nr);
	xf_gathered_written(gathered);
	return code;
}

void xf_record_processes_leave_out(struct xf_record_processes *processes)
{
	if (!processes->sideband)
		return;
	processes->left_out = true;
	processes->nr_clocks = 0;
	xf_gathered_leave_out(xf_sideband_gathered(processes->sideband));
}

void xf_record_processes_end(struct xf_record_processes *processes)
{
	xf_sideband_close(processes->sideband);
	processes->sideband = NULL;
}
