// SPDX-License-Identifier: GPL-2.0-or-later
/* Guests' memory, and Xen's routines that read it, with their rules. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define MAX_RANGES 8u

struct range {
	uint64_t address;
	size_t size;
	const void *bytes;
	bool user; /* a process may read it */
};

static struct {
	struct range ranges[MAX_RANGES];
	unsigned int nr;
	uint64_t copied, toggles;
	uint64_t gs, shadow_gs;
} guest;

void fake_guest_forget(void)
{
	memset(&guest, 0, sizeof(guest));
}

void fake_guest_map(uint64_t address, const void *bytes, size_t size, bool user)
{
	if (guest.nr == MAX_RANGES)
		fake_fail("more than %u ranges of a guest's memory", MAX_RANGES);
	guest.ranges[guest.nr++] = (struct range){address, size, bytes, user};
}

void fake_guest_set_gs(uint64_t base, uint64_t shadow)
{
	guest.gs = base;
	guest.shadow_gs = shadow;
}

uint64_t fake_guest_copied(void)
{
	return guest.copied;
}

/* Return: what the guest has at @from, where it has @bytes bytes in a row; NULL where not. */
static const void *find(uint64_t from, unsigned int bytes, bool as_user)
{
	for (unsigned int i = 0; i < guest.nr; i++) {
		const struct range *range = &guest.ranges[i];
		uint64_t offset = from - range->address;

		if (offset < range->size && range->size - offset >= bytes &&
		    (range->user || !as_user))
			return (const uint8_t *)range->bytes + offset;
	}
	return NULL;
}

/* Neither routine may be called where somebody may hold a lock: the word below the guest's frame
 * shows that Xen is about to leave. */
static struct fake_pcpu *reader(const char *function, bool hvm)
{
	struct fake_pcpu *self = fake_caller(function);
	uint64_t word;

	memcpy(&word, self->stack + FAKE_FRAME - 8, sizeof(word));
	if (word != FAKE_SOFTIRQ_RETURN || fake.deeper)
		fake_fail("%s called in the middle of something of Xen's", function);
	if (fake_is_hvm(self->current) != hvm)
		fake_fail("%s called for a guest of the other kind", function);
	return self;
}

static bool copy(void *to, uint64_t from, unsigned int bytes, bool as_user)
{
	const void *found = find(from, bytes, as_user);

	if (!found)
		return false;
	memcpy(to, found, bytes);
	guest.copied += bytes;
	return true;
}

unsigned int xen_copy_from_guest_pv(void *to, uint64_t from, unsigned int bytes)
{
	struct fake_pcpu *self = reader("copy_from_guest_pv", false);

	if (from + bytes > 0xffff800000000000ull && from < XEN_HYPERVISOR_END)
		fake_fail("a PV guest is made to read Xen's memory at 0x%llx",
		          (unsigned long long)from);
	return copy(to, from, bytes, fake_runs_process(self->current)) ? 0 : bytes;
}

int xen_copy_from_guest_hvm(void *to, uint64_t from, unsigned int bytes, uint32_t access,
                            uint64_t fault[2])
{
	reader("hvm_copy_from_guest_linear", true);
	if (copy(to, from, bytes, access & XEN_ACCESS_USER))
		return 0;
	fault[0] = from;
	fault[1] = access;
	return 1;
}

uint64_t fake_guest_gs(bool shadow)
{
	reader("rdmsr of a GS base", false);
	return shadow ? guest.shadow_gs : guest.gs;
}

uint64_t fake_guest_toggles(void)
{
	return guest.toggles;
}

void xen_toggle_guest_pt(const void *vcpu)
{
	if (reader("toggle_guest_pt", false)->current != vcpu)
		fake_fail("toggle_guest_pt called for a vCPU that is not current");
	if (!fake_runs_process(vcpu) && guest.toggles % 2 == 0)
		fake_fail("toggle_guest_pt called in a kernel, which need not have other page "
		          "tables");
	guest.toggles++;
	fake_guest_run_process(vcpu, !fake_runs_process(vcpu));
}

static void check_vcpu(const char *function, const void *vcpu)
{
	if (reader(function, true)->current != vcpu)
		fake_fail("%s called for a vCPU that is not current", function);
}

void xen_hvm_get_segment_register(const void *vcpu, unsigned int segment,
                                  struct xen_segment_register *value)
{
	check_vcpu("hvm_get_segment_register", vcpu);
	if (segment != XEN_SEGMENT_GS)
		fake_fail("hvm_get_segment_register called for segment %u", segment);
	*value = (struct xen_segment_register){.base = guest.gs};
}

uint64_t xen_hvm_get_reg(const void *vcpu, unsigned int msr)
{
	check_vcpu("hvm_get_reg", vcpu);
	if (msr != XEN_MSR_SHADOW_GS_BASE)
		fake_fail("hvm_get_reg called for %#x, for which it crashes the domain", msr);
	return guest.shadow_gs;
}
