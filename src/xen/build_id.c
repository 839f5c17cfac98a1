// SPDX-License-Identifier: GPL-2.0-or-later
#include "xen/build_id.h"

#include <elf.h>
#include <string.h>

#define NOTES_MAX   4096u
#define HEADERS_MAX 64u

size_t xf_notes_build_id(const uint8_t *notes, size_t size, uint8_t build_id[XF_BUILD_ID_MAX])
{
	size_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t name, content;

		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
		content = ((size_t)note.n_descsz + 3) & ~(size_t)3;
		if (name > size - at || content > size - at - name)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(notes + at, "GNU", 4) == 0 && note.n_descsz <= XF_BUILD_ID_MAX) {
			memcpy(build_id, notes + at + name, note.n_descsz);
			return note.n_descsz;
		}
		at += name + content;
	}
	return 0;
}

static size_t look_in_notes(xf_file_bytes_t read, void *context, const Elf64_Phdr *header,
                            uint8_t build_id[XF_BUILD_ID_MAX])
{
	uint8_t notes[NOTES_MAX];
	size_t size = header->p_filesz < NOTES_MAX ? header->p_filesz : NOTES_MAX;

	if (header->p_type != PT_NOTE)
		return 0;
	return xf_notes_build_id(notes, read(context, header->p_offset, notes, size), build_id);
}

size_t xf_file_build_id(xf_file_bytes_t read, void *context, uint8_t build_id[XF_BUILD_ID_MAX])
{
	Elf64_Phdr headers[HEADERS_MAX];
	Elf64_Ehdr head;
	size_t found = 0, got;

	if (read(context, 0, &head, sizeof(head)) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_phentsize != sizeof(headers[0]) || head.e_phnum > HEADERS_MAX)
		return 0;
	got = read(context, head.e_phoff, headers, head.e_phnum * sizeof(headers[0]));
	for (size_t i = 0; !found && i < got / sizeof(headers[0]); i++)
		found = look_in_notes(read, context, &headers[i], build_id);
	return found;
}
