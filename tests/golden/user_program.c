// SPDX-License-Identifier: GPL-2.0-or-later
#include "user_program.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/process_writer.h"

#define PROGRAM        0x555555554000ull /* where its file is mapped, from offset 0 on */
#define PROGRAM_BYTES  0x10000u
#define STACK          0x7ffc12345678ull
#define FUNCTIONS_MAX  64u
#define FUNCTION_BYTES 256u
#define FRAME_BYTES    32u   /* return address included */
#define CALLS          0x20u /* where a function calls another one; it returns five bytes later */
#define AT             0x10u /* where a function is by itself */
#define FILE_NUMBER    1u
#define PROCESSES_MAX  8u
#define LOOK           1000u /* ns between the two readings of the clocks */

static char *functions[FUNCTIONS_MAX];
static size_t nr_functions;
static uint32_t processes[PROCESSES_MAX];
static size_t nr_processes;

static uint64_t offset_of(const char *name, size_t size)
{
	for (size_t i = 0; i < nr_functions; i++) {
		if (strlen(functions[i]) == size && memcmp(functions[i], name, size) == 0)
			return i * FUNCTION_BYTES;
	}
	if (nr_functions == FUNCTIONS_MAX)
		abort();
	functions[nr_functions] = strndup(name, size);
	return nr_functions++ * FUNCTION_BYTES;
}

/* Return: the process of @run, 0: none; *@names is its stack. */
static uint32_t process_of(const char *run, const char **names)
{
	char *end;
	uint32_t pid = (uint32_t)strtoul(run + (run[0] == '!'), &end, 10);

	*names = end + 1;
	return pid;
}

void user_program_learn(const char *run)
{
	const char *name;
	uint32_t pid = process_of(run, &name);

	while (*name) {
		size_t size = strcspn(name, ">");

		offset_of(name, size);
		name += size + (name[size] == '>');
	}
	for (size_t i = 0; i < nr_processes; i++) {
		if (processes[i] == pid)
			return;
	}
	if (!pid)
		return;
	if (nr_processes == PROCESSES_MAX)
		abort();
	processes[nr_processes++] = pid;
}

void user_program_fill(const char *run, union user_stack *user)
{
	uint64_t returns[64], *words = user->storage + XF_GUEST_HEAD_BYTES / 8;
	struct xf_guest_stack *stack = &user->stack;
	size_t nr = 0, taken = 0;
	const char *name;

	process_of(run, &name);
	for (;;) {
		size_t size = strcspn(name, ">");
		uint64_t address = PROGRAM + offset_of(name, size);

		stack->rip = address + AT;
		if (!name[size])
			break;
		returns[nr++] = address + CALLS + 5;
		name += size + 1;
	}
	stack->rsp = STACK - nr * FRAME_BYTES;
	stack->end = STACK;
	for (size_t i = 0; run[0] != '!' && i < nr; i++)
		words[taken++] = XF_WORD((i + 1) * (FRAME_BYTES / 8) - 1, returns[nr - 1 - i]);
	stack->bytes = (uint16_t)(XF_GUEST_HEAD_BYTES + 8 * taken);
}

uint64_t user_program_rip(const char *run)
{
	union user_stack user = {0};

	user_program_fill(run, &user);
	return user.stack.rip;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void put(FILE *records, enum xf_process_type type, uint32_t pid, uint32_t other,
                const void *rest, size_t size)
{
	const struct xf_process_head head = {.type = (uint16_t)type,
	                                     .size = (uint16_t)size,
	                                     .pid = pid,
	                                     .time = LOOK,
	                                     .tid = pid,
	                                     .other = other};

	fwrite(&head, sizeof(head), 1, records);
	fwrite(rest, size, 1, records);
}

static int write_processes(struct xf_recording_writer *writer)
{
	static const char path[] = "/usr/sbin/made up";
	const uint64_t map[] = {PROGRAM, PROGRAM_BYTES, 0};
	char *bytes;
	size_t size;
	FILE *records = open_memstream(&bytes, &size);
	int code;

	put(records, XF_PROCESS_FILE, 0, FILE_NUMBER, path, sizeof(path));
	for (size_t i = 0; i < nr_processes; i++) {
		char name[16];
		int length = snprintf(name, sizeof(name), i ? "made-%zu" : "<&;made>", i);

		put(records, XF_PROCESS_EXISTS, processes[i], 0, name, (size_t)length + 1);
		put(records, XF_PROCESS_MAP, processes[i], FILE_NUMBER, map, sizeof(map));
	}
	fclose(records);
	code = xf_recording_write_processes(writer, bytes, size);
	free(bytes);
	return code;
}

/* Of each function where it calls, and where it is by itself; nobody calls the first one. */
static int write_code(struct xf_recording_writer *writer)
{
	struct xf_user_place places[2 * FUNCTIONS_MAX];

	for (size_t i = 0; i < nr_functions; i++)
		for (size_t k = 0; k < 2; k++)
			places[2 * i + k] = (struct xf_user_place){
			        .offset = i * FUNCTION_BYTES + (k ? CALLS + 4 : AT),
			        .start = i * FUNCTION_BYTES,
			        .name = functions[i],
			        .row = {.kind = i ? XF_ROW_CALL : XF_ROW_UNDEFINED,
			                .reason = i ? 0 : XF_UNWIND_END,
			                .base_register = 4,
			                .rbp_rule = XF_RBP_SAME,
			                .base_offset = FRAME_BYTES}};
	return xf_recording_write_user_code(writer, FILE_NUMBER, 0, places, 2 * nr_functions);
}

int user_program_write(struct xf_recording_writer *writer, uint64_t start, uint64_t hz)
{
	const struct xf_clock_pair pairs[] = {{start, LOOK, 1},
	                                      {start + 100 * hz, LOOK + 100000000000, 1}};
	int code = xf_recording_write_clock(writer, pairs, 2);

	if (!code)
		code = write_processes(writer);
	return code ? code : write_code(writer);
}

int user_program_switch(struct xf_recording_writer *writer, uint16_t vcpu, uint64_t tsc,
                        uint64_t hz, const char *run)
{
	const char *names;
	uint32_t pid = run ? process_of(run, &names) : XF_PID_UNKNOWN;
	const struct xf_switch to = {
	        .time = LOOK + tsc / (hz / 1000000000), .pid = pid, .tid = pid};

	return xf_recording_write_switches(writer, vcpu, &to, 1);
}

int user_program_write_guest(struct xf_recording_writer *writer, uint16_t domid, uint32_t pid,
                             uint64_t tsc)
{
	const struct xf_guest_maps_head head = {.domid = domid, .pid = pid, .tsc = tsc};
	const struct xf_guest_map map = {
	        .address = PROGRAM, .size = PROGRAM_BYTES, .file = FILE_NUMBER};

	return xf_recording_write_guest_maps(writer, &head, &map, 1);
}
