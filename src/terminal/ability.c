// SPDX-License-Identifier: GPL-2.0-or-later
/* A file of its own: the header of terminfo makes macros of words such as "columns". */
#include "terminal/screen.h"

#include <curses.h>
#include <term.h>

bool xf_terminal_can_draw(int file)
{
	const char *address;
	int result;
	bool can;

	if (setupterm(NULL, file, &result) != OK)
		return false;
	address = tigetstr("cup");
	can = address && address != (const char *)-1; /* as tigetstr(3) has it */
	del_curterm(cur_term);
	return can;
}
