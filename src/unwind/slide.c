// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/slide.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/decode.h"

#define SLIDES 512u                        /* steps in the window */
#define SLOTS  (2ul * XF_SLIDE_MOST_WORDS) /* a power of two */

/* An error is less likely than 10 to the power of it. */
#define EXPONENT         (-9.0)
/* The chance of a word that means nothing is taken for larger than it was counted: such words are
 * not spread evenly. */
#define CAUTION          2.0
#define LEAST            (1.0 / 64)
/* So many per mille, or one, may be no place in the code: numbers, and code that Linux has
 * replaced. */
#define ASTRAY           10u
/* Of many places more may be: a kernel that patches itself, as it does when it boots, has pointers
 * to what it patches on its stack. The next limit still tells what is another kernel's. */
#define MANY             800u
#define ASTRAY_OF_MANY   30u
/* Nor may so many of neighbours: a kernel that was built anew is as the image up to where a
 * function has changed, and all that is behind it lies elsewhere. */
#define NEIGHBOURS       8u
#define TOGETHER         5u
/* Of fewer words it is no wonder that they do not tell. */
#define FEW              64u
/* Every so manieth place of the code is looked at to count what is behind calls. */
#define STRIDE           61u
/* Of a function so much is decoded, at most, to find where its instructions begin. */
#define MOST_OF_FUNCTION 65536u

_Static_assert(SLIDES *XF_SLIDE_STEP == XF_SLIDE_WINDOW_END - XF_SLIDE_WINDOW, "all slides");

/* ---- Words ----------------------------------------------------------------------------------- */

int xf_slide_words_add(struct xf_slide_words *words, uint64_t word)
{
	size_t slot = (word * 0x9e3779b97f4a7c15ull) >> 40;

	if (word < XF_SLIDE_WINDOW || word >= XF_SLIDE_WINDOW_END)
		return 0;
	if (!words->slots)
		words->slots = calloc(SLOTS, sizeof(*words->slots));
	if (!words->slots)
		return -ENOMEM;
	for (;; slot++) {
		uint64_t *at = &words->slots[slot % SLOTS];

		if (*at == word)
			return 0;
		if (*at)
			continue;
		if (words->nr < XF_SLIDE_MOST_WORDS) {
			*at = word;
			words->nr++;
		}
		return 0;
	}
}

void xf_slide_words_free(struct xf_slide_words *words)
{
	free(words->slots);
	*words = (struct xf_slide_words){0};
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Return: the target of a direct call that begins at @offset; 0 where there is none. */
static uint64_t direct_call(const struct xf_slide_image *image, uint64_t offset)
{
	const struct xf_code *text = &image->text;
	const uint8_t *bytes = text->bytes + offset;
	int32_t distance;
	uint64_t target;

	if (offset + 5 > text->size || bytes[0] != 0xe8)
		return 0;
	memcpy(&distance, bytes + 1, sizeof(distance));
	target = text->address + offset + 5 + (uint64_t)(int64_t)distance;
	return target - text->address < text->size ? target : 0;
}

static bool is_thunk(const struct xf_slide_image *image, uint64_t target)
{
	return target && target >= image->thunks_start && target < image->thunks_end;
}

/* Return: the length of an indirect call at @bytes, of which there are @left; 0: there is none. */
static unsigned int indirect_call(const uint8_t *bytes, uint64_t left)
{
	unsigned int length = 2, prefix = left && (bytes[0] & 0xf0) == 0x40;
	uint8_t modrm, mode;

	bytes += prefix;
	left -= prefix;
	if (left < 2 || bytes[0] != 0xff || ((bytes[1] >> 3) & 7) != 2)
		return 0;
	modrm = bytes[1];
	mode = modrm >> 6;
	if (mode != 3 && (modrm & 7) == 4) {
		length++; /* index and scale */
		if (left < 3)
			return 0;
	}
	if (mode == 1)
		length += 1;
	else if (mode == 2 ||
	         (mode == 0 && ((modrm & 7) == 5 || ((modrm & 7) == 4 && (bytes[2] & 7) == 5))))
		length += 4;
	return prefix + length;
}

/* Linux puts a direct call, or what it would call, in place of one through memory (paravirt). */
static bool is_made_direct(const uint8_t *bytes, uint64_t left)
{
	return left >= 7 && bytes[0] == 0xff &&
	       (bytes[1] == 0x15 || (bytes[1] == 0x14 && bytes[2] == 0x25));
}

bool xf_slide_is_behind_call(const struct xf_slide_image *image, uint64_t offset)
{
	const struct xf_code *text = &image->text;

	if (offset > text->size)
		return false;
	if (offset >= 5 && (direct_call(image, offset - 5) ||
	                    is_made_direct(text->bytes + offset - 5, text->size - offset + 5)))
		return true;
	/* In place of a thunk's call: call *%reg. */
	for (unsigned int length = 2; length <= 3 && length <= offset; length++)
		if (is_thunk(image, direct_call(image, offset - length)))
			return true;
	for (unsigned int length = 2; length <= 8 && length <= offset; length++)
		if (indirect_call(text->bytes + offset - length, length) == length)
			return true;
	return false;
}

static double count_chance(const struct xf_slide_image *image)
{
	size_t behind = 0, all = 0;
	double chance;

	for (uint64_t offset = 1; offset < image->text.size; offset += STRIDE, all++)
		behind += xf_slide_is_behind_call(image, offset);
	chance = all ? CAUTION * (double)behind / (double)all : 1;
	return chance < LEAST ? LEAST : chance;
}

/* ---- Instructions ---------------------------------------------------------------------------- */

/* Return: the function that @address is in; 0 where it is before all. */
static uint64_t find_entry(const struct xf_slide_image *image, uint64_t address)
{
	size_t low = 0, high = image->nr_entries;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (image->entries[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? image->entries[low - 1] : 0;
}

/* Return: whether an instruction begins at @address, counted from where its function does, or may
 * begin there because Linux has put others in place of a call. */
static bool is_instruction(const struct xf_slide_image *image, const struct xf_decoder *decoder,
                           uint64_t address)
{
	const struct xf_code *text = &image->text;
	uint64_t at = find_entry(image, address);

	if (at < text->address || address - at > MOST_OF_FUNCTION)
		return false;
	while (at < address) {
		uint64_t offset = at - text->address;
		struct xf_decoded decoded;

		xf_insn_decode(decoder, text->bytes + offset, text->size - offset, &decoded);
		at += decoded.length;
		if (at > address)
			return is_made_direct(text->bytes + offset, text->size - offset) ||
			       is_thunk(image, direct_call(image, offset));
	}
	return true;
}

/* ---- Slides ---------------------------------------------------------------------------------- */

static uint64_t end_of(const struct xf_slide_image *image)
{
	return image->text.address + image->text.size;
}

/* Counts for each slide at which @word points into the code whether it stands behind a call. */
static void count_word(const struct xf_slide_image *image, uint64_t word, uint32_t behind[SLIDES])
{
	uint64_t first = 0;

	if (word >= end_of(image))
		first = (word - end_of(image)) / XF_SLIDE_STEP + 1;
	for (uint64_t i = first; i < SLIDES; i++) {
		uint64_t address = word - i * XF_SLIDE_STEP;

		if (address < image->text.address)
			return;
		behind[i] += xf_slide_is_behind_call(image, address - image->text.address);
	}
}

/* Appends those of @words that are in the code, as the image has them. Return: how many. */
static size_t list_places(const struct xf_slide_image *image, const struct xf_slide_words *words,
                          uint64_t slide, uint64_t *places)
{
	size_t nr = 0;

	for (size_t i = 0; words->slots && i < SLOTS; i++) {
		uint64_t address = words->slots[i] - slide;

		if (words->slots[i] && address >= image->text.address && address < end_of(image))
			places[nr++] = address;
	}
	return nr;
}

static int compare_places(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/* Counts those of @nr places in order that are where no instruction begins. */
static void count_astray(const struct xf_slide_image *image, const uint64_t *places, size_t nr,
                         struct xf_slide_found *found)
{
	struct xf_decoder decoder;
	unsigned int run = 0; /* a bit for each of the last NEIGHBOURS: astray */

	xf_decoder_start(&decoder);
	for (size_t i = 0; i < nr; i++) {
		bool astray;
		unsigned int together;

		if (i && places[i] == places[i - 1])
			continue;
		astray = !xf_slide_is_behind_call(image, places[i] - image->text.address) &&
		         !is_instruction(image, &decoder, places[i]);
		found->astray += astray;
		run = (run << 1 | astray) & ((1u << NEIGHBOURS) - 1);
		together = (unsigned int)__builtin_popcount(run);
		if (together > found->together)
			found->together = together;
	}
}

/* Looks at each place in the code. Return: 0 or -ENOMEM. */
static int look_closer(const struct xf_slide_image *image, const struct xf_slide_evidence *evidence,
                       struct xf_slide_found *found)
{
	uint64_t *places = calloc(evidence->words.nr + evidence->rips.nr + 1, sizeof(*places));

	if (!places)
		return -ENOMEM;
	found->words = list_places(image, &evidence->words, found->slide, places);
	found->rips = list_places(image, &evidence->rips, found->slide, places + found->words);
	qsort(places, found->words + found->rips, sizeof(*places), compare_places);
	count_astray(image, places, found->words + found->rips, found);
	free(places);
	return 0;
}

/* Chernoff's bound for so many of so many by chance, at any of the slides. */
static double exponent_of(const struct xf_slide_found *found)
{
	double share, p = found->chance, distance;

	if (!found->behind || !found->words)
		return 0;
	share = (double)found->behind / (double)found->words;
	if (share <= p)
		return 0;
	distance = share * log(share / p);
	if (share < 1)
		distance += (1 - share) * log((1 - share) / (1 - p));
	return (log((double)SLIDES) - (double)found->words * distance) / log(10);
}

static bool is_too_astray(const struct xf_slide_found *found)
{
	size_t places = found->words + found->rips;
	size_t limit = places < MANY ? ASTRAY : ASTRAY_OF_MANY;

	return (found->astray > 1 && found->astray * 1000 > places * limit) ||
	       found->together >= TOGETHER;
}

static int judge(const struct xf_slide_found *found, struct xf_error *error)
{
	if (found->exponent > EXPONENT && found->words < FEW)
		return xf_fail(
		        error, -ENODATA,
		        "its samples are too few to tell where it lies: of %zu places in its "
		        "code %zu are behind calls, which is not decisive; a longer "
		        "recording under load helps",
		        found->words, found->behind);
	if (found->exponent > EXPONENT || found->next_best * 2 > found->behind ||
	    is_too_astray(found))
		return xf_fail(error, -EBADMSG,
		               "the image is not what it runs: of %zu places in its code %zu are "
		               "behind calls of the image's, and %zu of %zu in the midst of an "
		               "instruction",
		               found->words, found->behind, found->astray,
		               found->words + found->rips);
	return 0;
}

/* Finds the slides at which the most and the second most words are behind calls. */
static void find_best(const struct xf_slide_image *image, const struct xf_slide_words *words,
                      struct xf_slide_found *found)
{
	uint32_t behind[SLIDES] = {0};

	for (size_t i = 0; words->slots && i < SLOTS; i++)
		if (words->slots[i])
			count_word(image, words->slots[i], behind);
	for (size_t i = 0; i < SLIDES; i++) {
		if (behind[i] > found->behind) {
			found->next_best = found->behind;
			found->behind = behind[i];
			found->slide = i * XF_SLIDE_STEP;
		} else if (behind[i] > found->next_best) {
			found->next_best = behind[i];
		}
	}
}

int xf_slide_find(const struct xf_slide_image *image, const struct xf_slide_evidence *evidence,
                  struct xf_slide_found *found, struct xf_error *error)
{
	*found = (struct xf_slide_found){.chance = 1};
	if (image->text.address < XF_SLIDE_WINDOW || end_of(image) > XF_SLIDE_WINDOW_END ||
	    end_of(image) <= image->text.address)
		return xf_fail(error, -EBADMSG,
		               "the image's code does not lie where a kernel's does on x86-64");
	find_best(image, &evidence->words, found);
	found->chance = count_chance(image);
	if (look_closer(image, evidence, found))
		return xf_fail(error, -ENOMEM, "no memory to look for it");
	found->exponent = exponent_of(found);
	return judge(found, error);
}
