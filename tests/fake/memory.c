// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks, vCPUs and domains: mapped where Xen maps them, and not mapped where Xen does not. */
#include <sanitizer/asan_interface.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"
#include "variables.h"

#define PAGE      4096u
#define MAX_VCPUS 1024u

static uint8_t *stacks;  /* FAKE_MAX_PCPUS of them, one after another, between unmapped memory */
static uint8_t *objects; /* a page each: vCPUs and domains */
static unsigned int nr_objects;
static struct {
	uint16_t domid;
	uint32_t vcpu_id;
	bool domain;
	uint8_t *page;
} directory[MAX_VCPUS];

struct xf_pcpu xf_pcpus[FAKE_MAX_PCPUS];

static uint8_t *reserve(size_t size)
{
	uint8_t *area = mmap(NULL, size + XF_STACK_BYTES, PROT_NONE,
	                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t address = (uint64_t)area;

	if (area == MAP_FAILED)
		fake_fail("no memory");
	address = (address + XF_STACK_BYTES - 1) & ~(uint64_t)(XF_STACK_BYTES - 1);
	return (uint8_t *)address;
}

static void protect(uint8_t *start, size_t size, int protection)
{
	if (mprotect(start, size, protection) != 0)
		fake_fail("mprotect failed");
}

void fake_memory_set_online(unsigned int cpu, bool online)
{
	uint8_t *stack = fake_pcpus[cpu].stack;
	int protection = online ? PROT_READ | PROT_WRITE : PROT_NONE;

	/* Pages 0 and 5 guard the others. */
	protect(stack + 1 * PAGE, 4 * PAGE, protection);
	protect(stack + 6 * PAGE, 2 * PAGE, protection);
	fake_variables_set_online(cpu, online);
}

void fake_memory_start(unsigned int nr)
{
	unsigned int i;

	if (!stacks) {
		stacks = reserve((FAKE_MAX_PCPUS + 2) * XF_STACK_BYTES) + XF_STACK_BYTES;
		objects = reserve(MAX_VCPUS * PAGE);
	}
	fake_variables_clear();
	if (nr_objects)
		protect(objects, nr_objects * PAGE, PROT_READ | PROT_WRITE);
	nr_objects = 0;
	ASAN_UNPOISON_MEMORY_REGION(xf_pcpus, sizeof(xf_pcpus));
	memset(xf_pcpus, 0, nr * sizeof(xf_pcpus[0]));
	ASAN_POISON_MEMORY_REGION(xf_pcpus + nr, sizeof(xf_pcpus) - nr * sizeof(xf_pcpus[0]));
	for (i = 0; i < FAKE_MAX_PCPUS; i++) {
		fake_pcpus[i].stack = stacks + i * XF_STACK_BYTES;
		if (i >= nr) {
			fake_memory_set_online(i, false);
			continue;
		}
		fake_memory_set_online(i, true);
		memset(fake_pcpus[i].stack + 1 * PAGE, 0, 4 * PAGE);
		memset(fake_pcpus[i].stack + 6 * PAGE, 0, 2 * PAGE);
		fake_memory_write(i, FAKE_PROCESSOR_ID & ~7u, i);
		fake_variables_set_stack(i, fake_pcpus[i].stack);
		fake_variables_set_idle_vcpu(i, fake_vcpu(FAKE_IDLE_DOMID, i));
	}
}

void fake_memory_write(unsigned int cpu, uint32_t offset, uint64_t value)
{
	memcpy(fake_pcpus[cpu].stack + offset, &value, sizeof(value));
}

uint8_t *fake_stack(unsigned int cpu)
{
	return fake_pcpus[cpu].stack;
}

struct xen_cpu_user_regs *fake_frame(unsigned int cpu)
{
	return (struct xen_cpu_user_regs *)(void *)(fake_pcpus[cpu].stack + FAKE_FRAME);
}

static uint8_t *object(uint16_t domid, uint32_t vcpu_id, bool domain)
{
	unsigned int i;

	for (i = 0; i < nr_objects; i++)
		if (directory[i].domid == domid && directory[i].vcpu_id == vcpu_id &&
		    directory[i].domain == domain)
			return directory[i].page;
	if (nr_objects == MAX_VCPUS)
		fake_fail("too many vCPUs for the fake Xen");
	directory[i].domid = domid;
	directory[i].vcpu_id = vcpu_id;
	directory[i].domain = domain;
	directory[i].page = objects + i * PAGE;
	nr_objects++;
	protect(directory[i].page, PAGE, PROT_READ | PROT_WRITE);
	memset(directory[i].page, 0, PAGE);
	if (domain)
		memcpy(directory[i].page, &domid, sizeof(domid));
	else
		memcpy(directory[i].page, &vcpu_id, sizeof(vcpu_id));
	if (!domain)
		directory[i].page[FAKE_VCPU_FLAGS] = 1;
	return directory[i].page;
}

const void *fake_vcpu(uint16_t domid, uint32_t vcpu_id)
{
	uint8_t *domain = object(domid, 0, true);
	uint8_t *vcpu = object(domid, vcpu_id, false);

	memcpy(vcpu + FAKE_VCPU_DOMAIN, &domain, sizeof(domain));
	return vcpu;
}

void fake_destroy_vcpu(const void *vcpu)
{
	protect((uint8_t *)vcpu, PAGE, PROT_NONE);
}

void fake_set_hvm(uint16_t domid, bool hvm, uint64_t cr3)
{
	uint32_t options = 0xfffffff0u | (hvm ? 1 : 0);
	unsigned int i;

	memcpy(object(domid, 0, true) + FAKE_OPTIONS, &options, sizeof(options));
	for (i = 0; i < nr_objects; i++)
		if (directory[i].domid == domid && !directory[i].domain)
			memcpy(directory[i].page + FAKE_HVM_CR3, &cr3, sizeof(cr3));
}

void fake_guest_run_process(const void *vcpu, bool process)
{
	((uint8_t *)vcpu)[FAKE_VCPU_FLAGS] = !process;
}

bool fake_runs_process(const void *vcpu)
{
	return !((const uint8_t *)vcpu)[FAKE_VCPU_FLAGS];
}

bool fake_is_hvm(const void *vcpu)
{
	const uint8_t *domain;
	uint32_t options;

	memcpy(&domain, (const uint8_t *)vcpu + FAKE_VCPU_DOMAIN, sizeof(domain));
	memcpy(&options, domain + FAKE_OPTIONS, sizeof(options));
	return options & 1;
}

void fake_set_current(unsigned int cpu, const void *vcpu)
{
	fake_pcpus[cpu].current = vcpu;
	fake_memory_write(cpu, FAKE_CURRENT_VCPU, (uint64_t)vcpu);
}
