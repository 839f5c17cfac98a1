/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The agent's machine code as built, to be recognised once it lies in Xen: there it is the same but
 * for what its relocations fill in.
 */
#ifndef LAB_ORACLE_AGENT_CODE_H
#define LAB_ORACLE_AGENT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent_code {
	uint8_t *bytes;
	bool *open; /* for each byte: a relocation's, may be anything */
	size_t size;
	uint64_t capture, emit, tick; /* offsets of the entry functions */
};

/* Reads .text, its relocations and symbols of the object at @path. Return: false, having said why
 * on stderr, where that is not the agent. */
bool agent_code_read(struct agent_code *code, const char *path);

#endif
