// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/commands.h"

#include <stddef.h>

const struct xf_command *const xf_commands[] = {
        &xf_command_check,
        &xf_command_record,
        &xf_command_top,
        &xf_command_report,
        &xf_command_annotate,
        &xf_command_flamegraph,
        &xf_command_script,
        &xf_command_folded,
        &xf_command_export,
        &xf_command_diff,
        &xf_command_detach,
        &xf_command_unwind,
        NULL,
};
