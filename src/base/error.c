// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int xf_fail(struct xf_error *error, int code, const char *format, ...)
{
	va_list arguments;

	if (code > 0)
		code = -code;
	if (!error)
		return code;
	error->code = code;
	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return code;
}

int xf_fail_prefix(struct xf_error *error, const char *format, ...)
{
	char rest[sizeof(error->text)];
	va_list arguments;
	size_t used;

	if (!error)
		return -1;
	memcpy(rest, error->text, sizeof(rest));
	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	used = strlen(error->text);
	snprintf(error->text + used, sizeof(error->text) - used, ": %s", rest);
	return error->code;
}

void xf_fail_suffix(struct xf_error *error, const char *format, ...)
{
	va_list arguments;
	size_t used;

	if (!error)
		return;
	used = strlen(error->text);
	va_start(arguments, format);
	vsnprintf(error->text + used, sizeof(error->text) - used, format, arguments);
	va_end(arguments);
}
