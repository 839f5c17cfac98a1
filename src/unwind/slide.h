// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where a kernel has been slid to (KASLR), from what samples had on their stacks, and whether it is
 * the kernel of this image at all. Pure.
 *
 * A return address stands behind a call. Linux on x86-64 slides its image by a multiple of 2 MiB
 * within 1 GiB, so that there are 512 slides; for each of them the words that point into its code
 * are held against the image. At the right slide nearly all of them stand behind calls; at others,
 * and in another kernel's image, as many as chance has it. docs/unwinding.md has the figures.
 */
#ifndef XF_UNWIND_SLIDE_H
#define XF_UNWIND_SLIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "unwind/unwind.h"

/* Documentation/arch/x86/x86_64/mm.rst: where the image lies, slid or not, the end exclusive. */
#define XF_SLIDE_WINDOW     0xffffffff80000000ull
#define XF_SLIDE_WINDOW_END 0xffffffffc0000000ull
#define XF_SLIDE_STEP       0x200000ull /* CONFIG_PHYSICAL_ALIGN */

/* No more distinct words are kept: the first ones. */
#define XF_SLIDE_MOST_WORDS 16384u

/* Distinct words in the window; starts zeroed, freed with xf_slide_words_free. */
struct xf_slide_words {
	uint64_t *slots; /* a hash table; 0: free */
	size_t nr;
};

/* What samples of a guest's kernel had. */
struct xf_slide_evidence {
	struct xf_slide_words words; /* of stacks */
	struct xf_slide_words rips;  /* where it was interrupted */
};

/* Takes @word in where it is in the window. Return: 0 or -ENOMEM. */
int xf_slide_words_add(struct xf_slide_words *words, uint64_t word);
void xf_slide_words_free(struct xf_slide_words *words);

struct xf_slide_image {
	struct xf_code text;     /* the kernel's own code, as it is linked */
	const uint64_t *entries; /* where functions begin, in order */
	size_t nr_entries;
	/* The thunks for indirect calls: Linux puts an indirect call in the place of one of them.
	   Both 0: there are none. */
	uint64_t thunks_start;
	uint64_t thunks_end;
};

/* What was found, also where it was not decisive. */
struct xf_slide_found {
	uint64_t slide;
	size_t words;  /* distinct ones that point into the code at that slide, of which ... */
	size_t behind; /* ... so many stand behind a call */
	size_t rips;   /* distinct instruction pointers in the code at that slide */
	size_t astray; /* of both together so many are not even where an instruction begins */
	unsigned int together; /* of eight neighbours of them in the code that many are, at most */
	size_t next_best; /* words behind calls at the slide that has the second most of them */
	double chance;    /* that a word stands behind a call where it means nothing */
	double exponent;  /* 10 to the power of it: how likely it is chance at all 512 slides */
};

/*
 * Return: 0 and @found where there is one slide, and all that speaks for it is so; -ENODATA where
 * there are too few words to tell; -EBADMSG where they are not this image's, at no slide; @found in
 * these cases, and @error; -ENOMEM.
 */
int xf_slide_find(const struct xf_slide_image *image, const struct xf_slide_evidence *evidence,
                  struct xf_slide_found *found, struct xf_error *error);

/* Return: whether the byte at @offset of the image's code stands behind a call, as it is in the
 * image or as Linux patches it. */
bool xf_slide_is_behind_call(const struct xf_slide_image *image, uint64_t offset);

#endif
