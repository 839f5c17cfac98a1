// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Layouts and numbers: Xen's public headers (xen.h, version.h, platform.h, sysctl.h) of 4.17 to
 * 4.22, in which these have not changed but for the interface version.
 */
#include "xen/hypercall.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xencall.h>

#define HYPERCALL_PLATFORM_OP 7
#define HYPERCALL_XEN_VERSION 17
#define HYPERCALL_SYSCTL      35

#define XENVER_VERSION      0
#define XENVER_EXTRAVERSION 1
#define XENVER_CHANGESET    4
#define XENVER_COMMANDLINE  9
#define XENVER_BUILD_ID     10

#define PLATFORM_GET_SYMBOL    63
#define PLATFORM_VERSION_FIRST 0x03000000u
#define PLATFORM_VERSION_LAST  0x03000003u

#define SYSCTL_TBUF_OP       2
#define SYSCTL_PHYSINFO      3
#define SYSCTL_LIVEPATCH_OP  27
/*
 * 0x15 in 4.17 to 4.20, 0x16 in 4.21 and 4.22; Xen refuses all but its own with -EACCES. Older ones
 * are not asked for: their physinfo is another one, and 4.14 and 4.15 die of any live patch where
 * CET is active.
 */
#define SYSCTL_VERSION_FIRST 0x15u
#define SYSCTL_VERSION_LAST  0x1fu

enum {
	TBUF_GET_INFO,
	TBUF_SET_CPU_MASK,
	TBUF_SET_EVENT_MASK,
	TBUF_SET_SIZE,
	TBUF_ENABLE,
	TBUF_DISABLE
};

struct tbuf_op {
	uint32_t command;
	uint32_t pad0;
	uint64_t cpu_bitmap;
	uint32_t cpu_bits;
	uint32_t pad1;
	uint32_t event_mask;
	uint32_t pad2;
	uint64_t buffer_mfn;
	uint32_t size;
};

struct physinfo {
	uint32_t threads_per_core;
	uint32_t cores_per_socket;
	uint32_t nr_cpus;
	uint32_t max_cpu_id;
	uint32_t nr_nodes;
	uint32_t max_node_id;
	uint32_t cpu_khz;
	uint32_t capabilities;
	uint32_t arch_capabilities;
	uint32_t pad;
	uint64_t total_pages;
	uint64_t free_pages;
	uint64_t scrub_pages;
	uint64_t outstanding_pages;
	uint64_t max_mfn;
	uint32_t features[8];
};

struct livepatch_name {
	uint64_t name;
	uint16_t size; /* with the NUL */
	uint16_t pad[3];
};

enum {
	LIVEPATCH_UPLOAD,
	LIVEPATCH_GET,
	LIVEPATCH_LIST,
	LIVEPATCH_ACTION
};
#define LIVEPATCH_NAME_BYTES     ((size_t)128)
#define LIVEPATCH_APPLY_NODEPS   1u
#define LIVEPATCH_METADATA_BYTES ((size_t)4096)
#define LIVEPATCH_ATTEMPTS       5u
#define LIVEPATCH_RENDEZVOUS_NS  30000000u

struct livepatch_status {
	uint32_t state;
	int32_t rc;
};

struct livepatch_op {
	uint32_t command;
	uint32_t pad;
	union {
		struct {
			struct livepatch_name name;
			uint64_t size;
			uint64_t payload;
		} upload;
		struct {
			struct livepatch_name name;
			struct livepatch_status status;
		} get;
		struct {
			uint32_t version;
			uint32_t index;
			uint32_t nr;
			uint32_t pad;
			uint32_t name_bytes;
			uint32_t metadata_bytes;
			uint64_t status;
			uint64_t name;
			uint64_t length;
			uint64_t metadata;
			uint64_t metadata_length;
		} list;
		struct {
			struct livepatch_name name;
			uint32_t action;
			uint32_t timeout;
			uint32_t flags;
			uint32_t pad;
		} action;
	};
};

struct sysctl {
	uint32_t command;
	uint32_t interface_version;
	union {
		struct tbuf_op tbuf;
		struct physinfo physinfo;
		struct livepatch_op livepatch;
		uint8_t space[128];
	};
};

struct platform_op {
	uint32_t command;
	uint32_t interface_version;
	struct {
		uint32_t name_size;
		uint32_t number;
		uint64_t name;
		uint64_t address;
		char type;
	} symbol;
	uint8_t space[128];
};

struct xf_xen {
	xencall_handle *call;
	uint32_t sysctl_version;   /* 0 until it is known */
	uint32_t platform_version; /* 0 until it is known */
};

int xf_xen_open(struct xf_xen **xen, struct xf_error *error)
{
	struct stat status;
	struct xf_xen *opened;

	if (geteuid() != 0)
		return xf_fail(
		        error, -EPERM,
		        "needs root: only root may talk to the hypervisor; run it with sudo");
	if (stat("/proc/xen", &status) != 0 && stat("/sys/hypervisor/type", &status) != 0)
		return xf_fail(
		        error, -ENODEV,
		        "not running under Xen (no /proc/xen and no /sys/hypervisor): run this "
		        "in dom0 of the host to be profiled");
	if (stat("/dev/xen/privcmd", &status) != 0 && stat("/proc/xen/privcmd", &status) != 0)
		return xf_fail(
		        error, -ENODEV,
		        "no /dev/xen/privcmd: load the kernel module xen-privcmd, or run this "
		        "in dom0");
	opened = calloc(1, sizeof(*opened));
	if (!opened)
		return xf_fail(error, -ENOMEM, "out of memory");
	opened->call = xencall_open(NULL, 0);
	if (!opened->call) {
		free(opened);
		return xf_fail(error, -ENODEV, "cannot open Xen's privcmd device: %s",
		               strerror(errno));
	}
	*xen = opened;
	return 0;
}

void xf_xen_close(struct xf_xen *xen)
{
	if (!xen)
		return;
	xencall_close(xen->call);
	free(xen);
}

/* Xen's own want of memory is told apart from this process's, which is -ENOMEM. */
static int code_of_xen(int code)
{
	return code == -ENOMEM ? -ENOBUFS : code;
}

/* Runs one hypercall with two arguments, the second a copy in memory that Xen can reach. */
static int call_with_buffer(struct xf_xen *xen, unsigned int op, uint64_t first, void *data,
                            size_t size)
{
	void *buffer = xencall_alloc_buffer(xen->call, size);
	int result;

	if (!buffer)
		return -ENOMEM;
	memcpy(buffer, data, size);
	result = xencall2(xen->call, op, first, (uint64_t)buffer);
	if (result < 0)
		result = code_of_xen(-errno);
	memcpy(data, buffer, size);
	xencall_free_buffer(xen->call, buffer);
	return result;
}

int xf_xen_call_in_version(struct xf_xen *xen, unsigned int op, void *argument, uint32_t *known,
                           uint32_t first, uint32_t last)
{
	uint32_t version = *known ? *known : first;
	int result;

	do {
		memcpy((char *)argument + sizeof(uint32_t), &version, sizeof(version));
		result = xencall1(xen->call, op, (uint64_t)argument);
		if (result < 0)
			result = code_of_xen(-errno);
	} while (result == -EACCES && !*known && version++ < last);
	if (result != -EACCES)
		*known = version;
	return result;
}

static int sysctl_raw(struct xf_xen *xen, struct sysctl *sysctl)
{
	void *buffer = xencall_alloc_buffer(xen->call, sizeof(*sysctl));
	int result;

	if (!buffer)
		return -ENOMEM;
	memcpy(buffer, sysctl, sizeof(*sysctl));
	result = xf_xen_call_in_version(xen, HYPERCALL_SYSCTL, buffer, &xen->sysctl_version,
	                                SYSCTL_VERSION_FIRST, SYSCTL_VERSION_LAST);
	memcpy(sysctl, buffer, sizeof(*sysctl));
	xencall_free_buffer(xen->call, buffer);
	return result;
}

static int explain_sysctl(int code, const char *what, struct xf_error *error)
{
	switch (code) {
	case -EPERM:
		return xf_fail(error, -ENODEV,
		               "%s: Xen refuses (EPERM): this is not the control domain, or a "
		               "security policy (XSM) forbids it",
		               what);
	case -EACCES:
		return xf_fail(error, -EOPNOTSUPP,
		               "%s: this Xen's sysctl interface version is not known (tried 0x%x "
		               "to 0x%x): "
		               "it is older than 4.17, or newer than this xenflame",
		               what, SYSCTL_VERSION_FIRST, SYSCTL_VERSION_LAST);
	case -ENOSYS:
	case -EOPNOTSUPP:
		return xf_fail(error, -EOPNOTSUPP, "%s: this Xen was built without it", what);
	case -ENOBUFS:
		return xf_fail(error, code, "%s: Xen has no memory for it", what);
	default:
		return xf_fail(error, code, "%s: %s", what, strerror(-code));
	}
}

int xf_xen_version(struct xf_xen *xen, struct xf_xen_version *version, struct xf_error *error)
{
	struct {
		uint32_t size;
		uint8_t bytes[64];
	} build_id = {.size = sizeof(build_id.bytes)};
	int result;

	memset(version, 0, sizeof(*version));
	result = xencall2(xen->call, HYPERCALL_XEN_VERSION, XENVER_VERSION, 0);
	if (result < 0)
		return xf_fail(error, -ENODEV, "asking for Xen's version: %s", strerror(errno));
	version->major = (unsigned int)result >> 16;
	version->minor = result & 0xffff;
	call_with_buffer(xen, HYPERCALL_XEN_VERSION, XENVER_EXTRAVERSION, version->extra,
	                 sizeof(version->extra));
	version->extra[sizeof(version->extra) - 1] = '\0';
	call_with_buffer(xen, HYPERCALL_XEN_VERSION, XENVER_COMMANDLINE, version->commandline,
	                 sizeof(version->commandline));
	version->commandline[sizeof(version->commandline) - 1] = '\0';
	call_with_buffer(xen, HYPERCALL_XEN_VERSION, XENVER_CHANGESET, version->changeset,
	                 sizeof(version->changeset));
	version->changeset[sizeof(version->changeset) - 1] = '\0';
	result = call_with_buffer(xen, HYPERCALL_XEN_VERSION, XENVER_BUILD_ID, &build_id,
	                          sizeof(build_id));
	if (result == -EPERM)
		return xf_fail(error, -EOPNOTSUPP,
		               "Xen hides its build-id from this domain (security policy): without "
		               "it the image in /boot cannot be proven to be the running one");
	if (result <= 0 || result > (int)sizeof(build_id.bytes))
		return 0;
	version->build_id.size = result;
	memcpy(version->build_id.bytes, build_id.bytes, result);
	return 0;
}

int xf_xen_host(struct xf_xen *xen, struct xf_xen_host *host, struct xf_error *error)
{
	struct sysctl sysctl = {.command = SYSCTL_PHYSINFO};
	int result = sysctl_raw(xen, &sysctl);

	if (result < 0)
		return explain_sysctl(result, "asking for the host's CPUs", error);
	host->online_pcpus = sysctl.physinfo.nr_cpus;
	host->max_pcpu = sysctl.physinfo.max_cpu_id;
	host->tsc_hz = (uint64_t)sysctl.physinfo.cpu_khz * 1000;
	host->free_bytes = sysctl.physinfo.free_pages * 4096;
	host->threads_per_core = sysctl.physinfo.threads_per_core;
	host->cores_per_socket = sysctl.physinfo.cores_per_socket;
	host->nodes = sysctl.physinfo.nr_nodes;
	memcpy(host->features, sysctl.physinfo.features, sizeof(host->features));
	return 0;
}

int xf_xen_sysctl(struct xf_xen *xen, uint32_t command, void *body, size_t size)
{
	struct sysctl sysctl = {.command = command};
	int result;

	if (size > sizeof(sysctl.space))
		return -EINVAL;
	memcpy(sysctl.space, body, size);
	result = sysctl_raw(xen, &sysctl);
	memcpy(body, sysctl.space, size);
	return result;
}

void *xf_xen_buffer(struct xf_xen *xen, size_t size)
{
	return xencall_alloc_buffer(xen->call, size);
}

void xf_xen_buffer_free(struct xf_xen *xen, void *buffer)
{
	xencall_free_buffer(xen->call, buffer);
}

static int platform_raw(struct xf_xen *xen, struct platform_op *op)
{
	return xf_xen_call_in_version(xen, HYPERCALL_PLATFORM_OP, op, &xen->platform_version,
	                              PLATFORM_VERSION_FIRST, PLATFORM_VERSION_LAST);
}

static int explain_symbols(int code, struct xf_error *error)
{
	if (code == -EPERM || code == -EACCES)
		return xf_fail(
		        error, -EOPNOTSUPP,
		        "Xen does not give its symbols to this domain: %s (a security policy, "
		        "or not the control domain)",
		        strerror(-code));
	return xf_fail(error, -EOPNOTSUPP, "reading Xen's symbols: %s", strerror(-code));
}

int xf_xen_symbols(struct xf_xen *xen,
                   int (*take)(void *context, uint64_t address, char type, const char *name),
                   void *context, struct xf_error *error)
{
	enum {
		NAME_BYTES = 512
	};
	struct platform_op *op = xencall_alloc_buffer(xen->call, sizeof(*op));
	char *name = xencall_alloc_buffer(xen->call, NAME_BYTES);
	uint32_t number = 0;
	uint32_t asked;
	int result = -ENOMEM;

	if (!op || !name) {
		xf_fail(error, -ENOMEM, "out of memory");
		goto out;
	}
	do {
		asked = number;
		memset(op, 0, sizeof(*op));
		memset(name, 0, NAME_BYTES);
		op->command = PLATFORM_GET_SYMBOL;
		op->symbol.name_size = NAME_BYTES - 1;
		op->symbol.number = asked;
		op->symbol.name = (uint64_t)name;
		result = platform_raw(xen, op);
		if (result < 0) {
			explain_symbols(result, error);
			goto out;
		}
		number = op->symbol.number;
		if (number != asked) {
			result = take(context, op->symbol.address, op->symbol.type, name);
			if (result) {
				xf_fail(error, result, "reading Xen's symbols: %s",
				        strerror(result < 0 ? -result : result));
				goto out;
			}
		}
	} while (number > asked);
	result = 0;
out:
	xencall_free_buffer(xen->call, name);
	xencall_free_buffer(xen->call, op);
	return result < 0 && error ? error->code : result;
}

static int trace_op(struct xf_xen *xen, struct sysctl *sysctl, uint32_t command, const char *what,
                    struct xf_error *error)
{
	int result;

	sysctl->command = SYSCTL_TBUF_OP;
	sysctl->tbuf.command = command;
	result = sysctl_raw(xen, sysctl);
	if (result < 0)
		return explain_sysctl(result, what, error);
	return 0;
}

int xf_xen_trace_info(struct xf_xen *xen, struct xf_xen_trace_info *info, struct xf_error *error)
{
	struct sysctl sysctl = {0};
	int result = trace_op(xen, &sysctl, TBUF_GET_INFO, "asking for Xen's trace buffers", error);

	if (result)
		return result;
	info->info_mfn = sysctl.tbuf.buffer_mfn;
	info->info_bytes = sysctl.tbuf.size;
	info->event_mask = sysctl.tbuf.event_mask;
	return 0;
}

int xf_xen_trace_allocate(struct xf_xen *xen, uint32_t pages_per_pcpu, struct xf_error *error)
{
	struct sysctl sysctl = {.tbuf.size = pages_per_pcpu};

	return trace_op(xen, &sysctl, TBUF_SET_SIZE, "allocating Xen's trace buffers", error);
}

int xf_xen_trace_mask(struct xf_xen *xen, uint32_t event_mask, struct xf_error *error)
{
	struct sysctl sysctl = {.tbuf.event_mask = event_mask};

	return trace_op(xen, &sysctl, TBUF_SET_EVENT_MASK, "setting Xen's trace event mask", error);
}

int xf_xen_trace_all_pcpus(struct xf_xen *xen, unsigned int max_pcpu, struct xf_error *error)
{
	size_t bytes = (max_pcpu + 8) / 8;
	uint8_t *bitmap = xencall_alloc_buffer(xen->call, bytes);
	struct sysctl sysctl = {.tbuf.cpu_bitmap = (uint64_t)bitmap, .tbuf.cpu_bits = max_pcpu + 1};
	int result;

	if (!bitmap)
		return xf_fail(error, -ENOMEM, "out of memory");
	memset(bitmap, 0xff, bytes);
	result = trace_op(xen, &sysctl, TBUF_SET_CPU_MASK, "tracing all pCPUs", error);
	xencall_free_buffer(xen->call, bitmap);
	return result;
}

int xf_xen_trace_enable(struct xf_xen *xen, bool enable, struct xf_error *error)
{
	struct sysctl sysctl = {0};

	return trace_op(xen, &sysctl, enable ? TBUF_ENABLE : TBUF_DISABLE,
	                enable ? "enabling Xen's trace buffers" : "disabling Xen's trace buffers",
	                error);
}

static int livepatch_op(struct xf_xen *xen, struct sysctl *sysctl, uint32_t command)
{
	sysctl->command = SYSCTL_LIVEPATCH_OP;
	sysctl->livepatch.command = command;
	return sysctl_raw(xen, sysctl);
}

int xf_xen_livepatch_probe(struct xf_xen *xen, struct xf_error *error)
{
	struct sysctl sysctl = {0};
	int result = livepatch_op(xen, &sysctl, LIVEPATCH_LIST);

	if (result == -ENOSYS || result == -EOPNOTSUPP)
		return xf_fail(error, -EOPNOTSUPP,
		               "this Xen was built without live patching (CONFIG_LIVEPATCH), the "
		               "only way to load the sampling agent");
	if (result < 0)
		return explain_sysctl(result, "listing live patches", error);
	return 0;
}

/* Puts @name into memory that Xen can reach. Return: that memory, NULL without any. */
static char *name_buffer(struct xf_xen *xen, const char *name, struct livepatch_name *out)
{
	char *buffer = xencall_alloc_buffer(xen->call, LIVEPATCH_NAME_BYTES);

	if (!buffer)
		return NULL;
	memset(buffer, 0, LIVEPATCH_NAME_BYTES);
	snprintf(buffer, LIVEPATCH_NAME_BYTES, "%s", name);
	out->name = (uint64_t)buffer;
	out->size = strlen(buffer) + 1;
	return buffer;
}

static int get_status(struct xf_xen *xen, const char *name, struct livepatch_status *status)
{
	struct sysctl sysctl = {0};
	char *buffer = name_buffer(xen, name, &sysctl.livepatch.get.name);
	int result;

	if (!buffer)
		return -ENOMEM;
	result = livepatch_op(xen, &sysctl, LIVEPATCH_GET);
	*status = sysctl.livepatch.get.status;
	xencall_free_buffer(xen->call, buffer);
	return result;
}

int xf_xen_livepatch_state(struct xf_xen *xen, const char *name, enum xf_livepatch_state *state,
                           struct xf_error *error)
{
	struct livepatch_status status = {0};
	int result = get_status(xen, name, &status);

	*state = XF_LIVEPATCH_ABSENT;
	if (result == -ENOENT)
		return 0;
	if (result < 0)
		return explain_sysctl(result, "asking for a live patch's state", error);
	*state = status.state;
	return 0;
}

/* The arrays that Xen fills with a list of payloads. */
struct list_buffers {
	struct livepatch_status *status;
	char *name;
	uint32_t *length;
	char *metadata;
	uint32_t *metadata_length;
};

static void free_list_buffers(struct xf_xen *xen, struct list_buffers *buffers)
{
	xencall_free_buffer(xen->call, buffers->status);
	xencall_free_buffer(xen->call, buffers->name);
	xencall_free_buffer(xen->call, buffers->length);
	xencall_free_buffer(xen->call, buffers->metadata);
	xencall_free_buffer(xen->call, buffers->metadata_length);
}

static bool allocate_list_buffers(struct xf_xen *xen, struct list_buffers *buffers, uint32_t nr)
{
	buffers->status = xencall_alloc_buffer(xen->call, nr * sizeof(*buffers->status));
	buffers->name = xencall_alloc_buffer(xen->call, nr * LIVEPATCH_NAME_BYTES);
	buffers->length = xencall_alloc_buffer(xen->call, nr * sizeof(*buffers->length));
	buffers->metadata = xencall_alloc_buffer(xen->call, nr * LIVEPATCH_METADATA_BYTES);
	buffers->metadata_length =
	        xencall_alloc_buffer(xen->call, nr * sizeof(*buffers->metadata_length));
	return buffers->status && buffers->name && buffers->length && buffers->metadata &&
	       buffers->metadata_length;
}

static struct xf_livepatch *copy_list(const struct list_buffers *buffers, uint32_t nr)
{
	struct xf_livepatch *list = calloc(nr ? nr : 1, sizeof(*list));
	size_t position = 0;
	uint32_t i;

	for (i = 0; list && i < nr; i++) {
		uint32_t length = buffers->length[i];

		if (length > LIVEPATCH_NAME_BYTES ||
		    position + length > (size_t)nr * LIVEPATCH_NAME_BYTES)
			length = 0;
		snprintf(list[i].name, sizeof(list[i].name), "%.*s", (int)length,
		         buffers->name + position);
		list[i].state = buffers->status[i].state;
		position += length;
	}
	return list;
}

int xf_xen_livepatch_list(struct xf_xen *xen, struct xf_livepatch **list, size_t *nr,
                          struct xf_error *error)
{
	struct list_buffers buffers = {0};
	struct sysctl sysctl = {0};
	uint32_t count;
	int result = livepatch_op(xen, &sysctl, LIVEPATCH_LIST);

	if (result < 0)
		return explain_sysctl(result, "listing live patches", error);
	count = sysctl.livepatch.list.nr;
	if (count > 1024)
		count = 1024;
	if (count && !allocate_list_buffers(xen, &buffers, count)) {
		result = xf_fail(error, -ENOMEM, "out of memory");
		goto out;
	}
	memset(&sysctl, 0, sizeof(sysctl));
	sysctl.livepatch.list.nr = count;
	sysctl.livepatch.list.name_bytes = count * LIVEPATCH_NAME_BYTES;
	sysctl.livepatch.list.metadata_bytes = count * LIVEPATCH_METADATA_BYTES;
	sysctl.livepatch.list.status = (uint64_t)buffers.status;
	sysctl.livepatch.list.name = (uint64_t)buffers.name;
	sysctl.livepatch.list.length = (uint64_t)buffers.length;
	sysctl.livepatch.list.metadata = (uint64_t)buffers.metadata;
	sysctl.livepatch.list.metadata_length = (uint64_t)buffers.metadata_length;
	result = count ? livepatch_op(xen, &sysctl, LIVEPATCH_LIST) : 0;
	if (result < 0) {
		result = explain_sysctl(result, "listing live patches", error);
		goto out;
	}
	*nr = (uint32_t)result < count ? (uint32_t)result : count;
	*list = copy_list(&buffers, *nr);
	result = *list ? 0 : xf_fail(error, -ENOMEM, "out of memory");
out:
	free_list_buffers(xen, &buffers);
	return result;
}

static int explain_upload(int code, const char *name, struct xf_error *error)
{
	switch (code) {
	case -EEXIST:
		return xf_fail(error, -EBUSY,
		               "uploading %s: a live patch with this name or with a symbol of this "
		               "name is there already; `xenflame detach` removes one of ours",
		               name);
	case -ENOBUFS:
		return xf_fail(error, code, "uploading %s: Xen has no memory for it", name);
	case -ENOMEM:
		return xf_fail(error, code, "uploading %s: out of memory", name);
	case -ENOENT:
		return xf_fail(error, -EOPNOTSUPP,
		               "uploading %s: Xen lacks a symbol that the agent needs; `xl dmesg` "
		               "names it",
		               name);
	default:
		return xf_fail(error, code, "uploading %s: Xen refuses it: %s; `xl dmesg` says why",
		               name, strerror(-code));
	}
}

int xf_xen_livepatch_upload(struct xf_xen *xen, const char *name, const void *payload, size_t size,
                            struct xf_error *error)
{
	struct sysctl sysctl = {0};
	char *name_copy = name_buffer(xen, name, &sysctl.livepatch.upload.name);
	void *copy = xencall_alloc_buffer(xen->call, size);
	int result = -ENOMEM;

	if (name_copy && copy) {
		memcpy(copy, payload, size);
		sysctl.livepatch.upload.size = size;
		sysctl.livepatch.upload.payload = (uint64_t)copy;
		result = livepatch_op(xen, &sysctl, LIVEPATCH_UPLOAD);
	}
	xencall_free_buffer(xen->call, copy);
	xencall_free_buffer(xen->call, name_copy);
	return result < 0 ? explain_upload(result, name, error) : 0;
}

static const char *action_word(enum xf_livepatch_action action)
{
	switch (action) {
	case XF_LIVEPATCH_UNLOAD:
		return "unloading";
	case XF_LIVEPATCH_REVERT:
		return "reverting";
	default:
		return "applying";
	}
}

static int explain_action(int code, const char *name, enum xf_livepatch_action action,
                          struct xf_error *error)
{
	const char *word = action_word(action);

	if (code == -EBUSY && action == XF_LIVEPATCH_REVERT)
		return xf_fail(
		        error, -EBUSY,
		        "%s %s: Xen says busy: another live patch has been applied on top of "
		        "it (see `xen-livepatch list`; revert that one first), or CPUs are "
		        "being taken on- or offline",
		        word, name);
	if (code == -EBUSY || code == -EAGAIN)
		return xf_fail(error, -EBUSY,
		               "%s %s: Xen says busy: another live patch action is under way, CPUs "
		               "are being taken on- or offline, or they did not all meet in time; "
		               "try again, `xl dmesg` tells which",
		               word, name);
	if (code == -EINVAL && action == XF_LIVEPATCH_APPLY)
		return xf_fail(
		        error, -EOPNOTSUPP,
		        "%s %s: Xen's build-id or state does not fit (EINVAL); `xl dmesg` says "
		        "more",
		        word, name);
	return xf_fail(error, code, "%s %s: %s; `xl dmesg` may say more", word, name,
	               code == -ENOBUFS ? "Xen has no memory for it" : strerror(-code));
}

/* Waits until the action has ended, for at most ten seconds. Return: Xen's result. */
static int wait_for_action(struct xf_xen *xen, const char *name, enum xf_livepatch_action action)
{
	struct livepatch_status status = {0};
	unsigned int turns;

	for (turns = 0; turns < 1000; turns++) {
		int result = get_status(xen, name, &status);

		if (result == -ENOENT && action == XF_LIVEPATCH_UNLOAD)
			return 0;
		if (result < 0)
			return result;
		if (status.rc != -EAGAIN)
			return code_of_xen(status.rc);
		usleep(10000);
	}
	return -EAGAIN;
}

int xf_xen_livepatch_act(struct xf_xen *xen, const char *name, enum xf_livepatch_action action,
                         struct xf_error *error)
{
	struct sysctl sysctl = {0};
	char *name_copy = name_buffer(xen, name, &sysctl.livepatch.action.name);
	unsigned int attempt;
	int result = -EBUSY;

	if (!name_copy)
		return xf_fail(error, -ENOMEM, "out of memory");
	sysctl.livepatch.action.action = action;
	if (action == XF_LIVEPATCH_APPLY)
		sysctl.livepatch.action.flags = LIVEPATCH_APPLY_NODEPS;
	/* All CPUs must meet within the time; Xen's default is tried first, many CPUs need more. */
	for (attempt = 0; attempt < LIVEPATCH_ATTEMPTS; attempt++) {
		sysctl.livepatch.action.timeout = LIVEPATCH_RENDEZVOUS_NS << attempt;
		result = livepatch_op(xen, &sysctl, LIVEPATCH_ACTION);
		if (result >= 0)
			result = wait_for_action(xen, name, action);
		if (result != -EBUSY && result != -EAGAIN)
			break;
		usleep(50000);
	}
	xencall_free_buffer(xen->call, name_copy);
	return result < 0 ? explain_action(result, name, action, error) : 0;
}
