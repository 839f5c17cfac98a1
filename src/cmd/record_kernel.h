// SPDX-License-Identifier: GPL-2.0-or-later
/* What `record` writes of a kernel. */
#ifndef XF_CMD_RECORD_KERNEL_H
#define XF_CMD_RECORD_KERNEL_H

#include "profile/recording.h"
#include "xen/kernel.h"

/* Writes @kernel by its @number among those of the recording. Return: as xf_recording_write_kernel.
 */
int xf_record_kernel_write(struct xf_recording_writer *writer, const struct xf_kernel *kernel,
                           uint32_t number);

#endif
