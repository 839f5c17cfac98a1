// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/unwind.h"

const char *xf_unwind_reason_name(enum xf_unwind_reason reason)
{
	switch (reason) {
#define XF_UNWIND_REASON(id, name, number, sentence)                                               \
	case XF_UNWIND_##id:                                                                       \
		return name;
#include "unwind/reasons.def"
#undef XF_UNWIND_REASON
	}
	return "unknown-reason";
}

const char *xf_unwind_reason_sentence(enum xf_unwind_reason reason)
{
	switch (reason) {
#define XF_UNWIND_REASON(id, name, number, sentence)                                               \
	case XF_UNWIND_##id:                                                                       \
		return sentence;
#include "unwind/reasons.def"
#undef XF_UNWIND_REASON
	}
	return "a reason that this version does not know";
}
