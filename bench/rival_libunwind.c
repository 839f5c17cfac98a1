// SPDX-License-Identifier: GPL-2.0-or-later
#include "rivals.h"

#if __has_include(<libunwind.h>)

#define UNW_LOCAL_ONLY
#include <libunwind.h>

static size_t walk_here(unsigned int count)
{
	size_t frames = 0;
	unw_context_t context;
	unw_cursor_t cursor;

	for (unsigned int i = 0; i < count; i++) {
		unw_getcontext(&context);
		unw_init_local(&cursor, &context);
		do {
			frames++;
		} while (unw_step(&cursor) > 0);
	}
	return frames;
}

/* The barrier keeps the compiler from making fewer, larger frames of the calls. */
__attribute__((noinline)) static size_t go_deeper(unsigned int depth, unsigned int count)
{
	size_t frames = depth == 0 ? walk_here(count) : go_deeper(depth - 1, count);

	__asm__ volatile("" : "+r"(frames));
	return frames;
}

size_t bench_libunwind_walk(unsigned int depth, unsigned int count, bool caching)
{
	unw_set_caching_policy(unw_local_addr_space, caching ? UNW_CACHE_GLOBAL : UNW_CACHE_NONE);
	return go_deeper(depth, count);
}

#else

size_t bench_libunwind_walk(unsigned int depth, unsigned int count, bool caching)
{
	(void)depth, (void)count, (void)caching;
	return 0;
}

#endif
