// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "cmd/host_exit.h"
#include "cmd/options.h"
#include "output/text.h"
#include "xen/host.h"
#include "xen/kernel.h"

static const struct xf_option options[] = {{0}};

static const char *const help[] = {
        "Goes through what a recording needs, one line each: what was found, or what to do about",
        "it. Later requirements build upon earlier ones, so it ends at the first that is not met.",
        "Then what is recognised of the hardware, which a report of a fault should have; and what",
        "the kernel of this domain tells of itself, by which its stacks are walked and named.",
        "Loads nothing and changes nothing.",
        NULL,
};

/* Of the machine, whether or not it can be profiled. */
static void print_hardware(const struct xf_host *host)
{
	const struct xf_hardware_fact *fact;
	char detail[XF_HARDWARE_DETAIL];

	if (!host->hardware_known)
		return;
	printf("\nThe hardware, as far as it is recognised:\n");
	for (fact = xf_hardware_facts; fact->name; fact++) {
		fact->tell(&host->hardware, detail);
		printf("     %-18s  ", fact->name);
		xf_text_write(stdout, detail, "");
		putchar('\n');
	}
}

/* What dom0's own stacks are walked and named by: a recording can do without. */
static void print_kernel(void)
{
	struct xf_kernel kernel = {0};
	struct xf_error error = {0};
	char detail[256] = "";

	if (xf_kernel_read(&(struct xf_kernel_paths){0}, &kernel, &error) == 0)
		xf_kernel_tell(&kernel, detail);
	printf("\nThe kernel of this domain, for the stacks of its own:\n     %-18s  ", "kernel");
	xf_text_write(stdout, error.code ? error.text : detail, "");
	putchar('\n');
	if (!error.code && kernel.notice.code) {
		printf("     %-18s  ", "");
		xf_text_write(stdout, kernel.notice.text, "");
		putchar('\n');
	}
	if (!error.code)
		xf_kernel_free(&kernel);
}

/* Return: XF_EXIT_OK where all requirements are met. */
static int print_requirements(struct xf_host *host)
{
	const struct xf_requirement *requirement;
	struct xf_error error = {0};
	char detail[256];

	for (requirement = xf_requirements; requirement->name; requirement++) {
		detail[0] = '\0';
		if (requirement->probe(host, detail, &error) != 0) {
			printf("no   %-18s  ", requirement->name);
			xf_text_write(stdout, error.text, "");
			putchar('\n');
			print_hardware(host);
			printf("\nThis host cannot be profiled as it is.\n");
			return xf_host_exit(&error);
		}
		printf("yes  %-18s  %s\n", requirement->name, detail);
	}
	print_hardware(host);
	print_kernel();
	printf("\nThis host can be profiled: xenflame record -t 30 && xenflame flamegraph\n");
	return XF_EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct xf_host host = {0};
	int status;

	if (!xf_options_read(&xf_command_check, argc, argv, NULL, &status))
		return status;
	status = print_requirements(&host);
	xf_host_close(&host);
	if (fflush(stdout) != 0)
		return XF_EXIT_OUTPUT;
	return status;
}

const struct xf_command xf_command_check = {
        .name = "check",
        .synopsis = "",
        .summary = "tells whether this host can be profiled, and what is missing",
        .help = help,
        .options = options,
        .run = run,
};
