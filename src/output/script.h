// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Text in the form of `perf script`, one event per sample in the order of the recording, which
 * stackcollapse-perf.pl and its relatives read:
 *
 *	DOMAIN DOMID/VCPU [PCPU] SECONDS.MICROS: 1 cpu-clock:
 *	<tab>ADDRESS SYMBOL+0xOFFSET (IMAGE)
 *	...
 *	<empty line>
 *
 * The domain stands for the process, its vCPU for the thread (blanks in names become '_'). Time
 * counts from when sampling began. An idle record of N ticks becomes N events of one frame
 * "[idle]", all at the time of the record, since some readers do not look at an event's period.
 */
#ifndef XF_OUTPUT_SCRIPT_H
#define XF_OUTPUT_SCRIPT_H

#include <stdio.h>

#include "base/error.h"
#include "profile/profile.h"

/* Of @options the filters are used. Return: 0; -ENODATA where no sample is left; -ENOMEM. */
int xf_script_write(FILE *out, const struct xf_recording *recording,
                    const struct xf_profile_options *options, struct xf_error *error);

#endif
