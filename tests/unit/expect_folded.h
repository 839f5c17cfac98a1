// SPDX-License-Identifier: GPL-2.0-or-later
/* A recording as folded stacks, for tests that include cmocka's header before. */
#ifndef XF_TEST_UNIT_EXPECT_FOLDED_H
#define XF_TEST_UNIT_EXPECT_FOLDED_H

#include <stdio.h>
#include <stdlib.h>

#include "output/folded.h"
#include "profile/profile.h"

static inline void expect_folded(const struct xf_recording *recording, const char *expected)
{
	const struct xf_profile_options options = XF_PROFILE_DEFAULTS;
	struct xf_profile *profile;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(xf_profile_build(recording, &options, &profile, NULL), 0);
	assert_int_equal(xf_folded_write(out, profile), 0);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
	xf_profile_free(profile);
}

#endif
