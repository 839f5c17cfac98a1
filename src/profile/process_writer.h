// SPDX-License-Identifier: GPL-2.0-or-later
/* The control domain's processes, on their way into a recording. Return values:
 * profile/recording.h.
 */
#ifndef XF_PROFILE_PROCESS_WRITER_H
#define XF_PROFILE_PROCESS_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "profile/format.h"
#include "profile/recording.h"

int xf_recording_write_clock(struct xf_recording_writer *writer, const struct xf_clock_pair *pairs,
                             size_t nr);

/* @size bytes of whole records, each a struct xf_process_head and what follows it. */
int xf_recording_write_processes(struct xf_recording_writer *writer, const void *records,
                                 size_t size);

/* The file at @path, as its processes see it, with that build-id, or none. */
int xf_recording_write_process_file(struct xf_recording_writer *writer, uint32_t number,
                                    const char *path, const uint8_t *build_id,
                                    size_t build_id_size);

/* What a process of another domain had mapped as code. */
int xf_recording_write_guest_maps(struct xf_recording_writer *writer,
                                  const struct xf_guest_maps_head *head,
                                  const struct xf_guest_map *maps, size_t nr);

/* What CPU @cpu of the control domain's ran next. */
int xf_recording_write_switches(struct xf_recording_writer *writer, uint32_t cpu,
                                const struct xf_switch *switches, size_t nr);

/* Instructions of @file, or, where that is XF_NO_FILE, in the memory of process @pid, which is 0
 * otherwise. */
int xf_recording_write_user_code(struct xf_recording_writer *writer, uint32_t file, uint32_t pid,
                                 const struct xf_user_place *places, size_t nr);

#endif
