// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/record_kernel.h"

int xf_record_kernel_write(struct xf_recording_writer *writer, const struct xf_kernel *kernel,
                           uint32_t number)
{
	int code = xf_recording_write_kernel(writer, number, kernel->name);

	if (!code)
		code = xf_recording_write_kernel_symbols(writer, number, kernel->symbols);
	if (!code && kernel->orc.entries)
		code = xf_recording_write_kernel_orc(writer, number, &kernel->text, &kernel->orc);
	for (size_t i = 0; !code && i < kernel->nr_code; i++)
		code = xf_recording_write_kernel_code(writer, number, &kernel->code[i]);
	return code;
}
