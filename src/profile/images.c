// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/parts.h"

#include <errno.h>
#include <stdlib.h>

int xf_profile_take_images(struct xf_profile *profile, const struct xf_recording *recording)
{
	size_t nr_code, nr;
	const struct xf_code *code = xf_recording_code(recording, &nr_code);
	const struct xf_recording_livepatch *livepatches = xf_recording_livepatches(recording, &nr);
	const char *build_id = xf_recording_info(recording, "xen.build-id");
	uint64_t start = nr_code ? code[0].address : 0;
	uint64_t end = nr_code ? code[0].address + code[0].size : 0;

	profile->images = calloc(nr + 1, sizeof(*profile->images));
	if (!profile->images)
		return -ENOMEM;
	profile->symbols = xf_recording_symbols(recording);
	profile->nr_images = nr + 1;
	profile->images[0] = (struct xf_profile_image){
	        .start = xf_recording_info_number(recording, "text.start", start),
	        .end = xf_recording_info_number(recording, "text.end", end),
	        .name = "xen",
	        .build_id = build_id ? build_id : ""};
	for (size_t i = 0; i < nr; i++)
		profile->images[i + 1] = (struct xf_profile_image){.start = livepatches[i].address,
		                                                   .end = livepatches[i].address +
		                                                          livepatches[i].size,
		                                                   .name = livepatches[i].name,
		                                                   .build_id = ""};
	return 0;
}

const struct xf_profile_image *xf_profile_image(const struct xf_profile *profile, uint64_t address)
{
	/* Live patches lie outside of Xen's text, but nothing says so of a made-up recording. */
	for (size_t i = profile->nr_images; i > 0; i--) {
		const struct xf_profile_image *image = &profile->images[i - 1];

		if (address >= image->start && address < image->end)
			return image;
	}
	return NULL;
}
