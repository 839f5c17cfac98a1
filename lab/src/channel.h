/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command channel between the host's lab/lab and dom0: frames over a virtio serial port.
 *
 * A port carries one session at a time. The host's client opens with LAB_START under a session
 * number of its own choosing; both sides drop what is not of the present session, and look for
 * the next magic number byte by byte, so that what a killed client left in the pipe does no harm.
 */
#ifndef LAB_CHANNEL_H
#define LAB_CHANNEL_H

#include <stdint.h>

#define LAB_MAGIC   0x42414c58u /* "XLAB" */
#define LAB_PORTS   8           /* concurrent sessions */
#define LAB_PAYLOAD 16384       /* bytes in a frame, at most */

enum lab_type {
	LAB_START = 1, /* host: struct lab_start, then the arguments, each with its NUL */
	LAB_STDIN,     /* host: input of the command; empty: end of it */
	LAB_SIGNAL,    /* host: uint32_t, for the command's process group */
	LAB_STARTED,   /* dom0: the command runs */
	LAB_STDOUT,    /* dom0 */
	LAB_STDERR,    /* dom0 */
	LAB_EXIT,      /* dom0: uint32_t, as a shell's $? */
};

struct lab_frame {
	uint32_t magic;
	uint32_t session;
	uint32_t type;
	uint32_t length; /* of the payload that follows */
};

struct lab_start {
	uint32_t terminal; /* 1: run it on a pseudo-terminal */
	uint16_t rows, columns;
};

#endif
