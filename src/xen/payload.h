// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The live patch that carries the agent: the embedded object plus what only this host knows. Pure.
 */
#ifndef XF_XEN_PAYLOAD_H
#define XF_XEN_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "symbol/symbols.h"
#include "unwind/unwind.h"
#include "xenflame/agent.h"

/* The agent as built with this tool (agent/embed.S). */
extern const uint8_t xf_agent_object[];
extern const uint8_t xf_agent_object_end[];

struct xf_payload_input {
	const void *object; /* the agent's relocatable ELF file */
	size_t object_size;
	const struct xf_symbols *symbols; /* of the running Xen */
	const struct xf_agent_config *config;
	const uint8_t *build_id; /* of the running Xen */
	size_t build_id_size;
	uint8_t own_build_id[20]; /* Xen wants them to differ between payloads: random */
};

/*
 * Writes the ELF file for Xen's loader: the agent's sections with the configuration filled in, its
 * per-pCPU memory, Xen's symbols bound to their addresses, and the notes that name Xen's build-id.
 * Return: 0 and *@payload, to be freed by the caller; -EOPNOTSUPP and @error where this Xen lacks a
 * symbol that the agent needs (the message names it), -EINVAL for a bad object, -ENOMEM.
 */
int xf_payload_write(const struct xf_payload_input *input, uint8_t **payload, size_t *size,
                     struct xf_error *error);

/*
 * The agent's machine code as it lies in Xen at @address, for unwinding through it: calls and jumps
 * within it and into Xen are resolved, references to data are not. @take is called for each of its
 * functions with the function's address; a non-zero return ends it and is returned.
 * Return: 0 and @code, whose bytes are to be freed by the caller; as xf_payload_write otherwise.
 */
int xf_payload_text(const void *object, size_t object_size, uint64_t address,
                    const struct xf_symbols *symbols, struct xf_code *code,
                    int (*take)(void *context, uint64_t address, uint64_t size, const char *name),
                    void *context, struct xf_error *error);

#endif
