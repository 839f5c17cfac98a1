// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "cmd/perf_objects.h"
#include "cmd/view.h"
#include "output/callgrind.h"
#include "output/chrome.h"
#include "output/firefox.h"
#include "output/folded.h"
#include "output/perf.h"
#include "output/pprof.h"
#include "output/speedscope.h"

struct format {
	const char *name;
	const char *file; /* written where no other is named */
	int (*write)(FILE *out, const struct xf_profile *profile);
	enum xf_timeline_wish timeline; /* whether it shows each sample's time ... */
	bool addresses;                 /* ... or addresses */
	bool by_none; /* domains are not frames but something of the format's own */
};

static const struct format formats[] = {
        {.name = "pprof",
         .file = "xenflame.pb.gz",
         .write = xf_pprof_write,
         .timeline = XF_TIMELINE_IF_KNOWN,
         .addresses = true},
        {.name = "speedscope",
         .file = "xenflame.speedscope.json",
         .write = xf_speedscope_write,
         .timeline = XF_TIMELINE_IF_KNOWN},
        {.name = "firefox",
         .file = "xenflame.firefox.json",
         .write = xf_firefox_write,
         .timeline = XF_TIMELINE_NEEDED,
         .by_none = true},
        {.name = "chrome",
         .file = "xenflame.trace.json",
         .write = xf_chrome_write,
         .timeline = XF_TIMELINE_NEEDED},
        {.name = "callgrind", .file = "callgrind.out.xenflame", .write = xf_callgrind_write},
        {.name = "perf",
         .file = "xenflame.perf.data",
         .write = xf_perf_write,
         .timeline = XF_TIMELINE_NEEDED,
         .addresses = true,
         .by_none = true},
        {.name = "folded", .file = "xenflame.folded", .write = xf_folded_write},
};

struct request {
	struct xf_view view;
	const struct format *format;
	const char *objects; /* a directory for perf; NULL: none is asked for */
	bool by;             /* the lowest frames are asked for */
};

static bool take_format(void *request, const char *value)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (strcmp(formats[i].name, value) == 0) {
			((struct request *)request)->format = &formats[i];
			return true;
		}
	}
	xf_complain(0,
	            "--format wants pprof, speedscope, firefox, chrome, callgrind, perf or folded;"
	            " not '%s'",
	            value);
	return false;
}

static bool take_by(void *request, const char *value)
{
	((struct request *)request)->by = true;
	return xf_view_take_by(request, value);
}

static bool take_objects(void *request, const char *value)
{
	((struct request *)request)->objects = value;
	return true;
}

static const struct xf_option options[] = {
        {"format", 'f', "FORMAT", "pprof, speedscope, firefox, chrome, callgrind, perf or folded",
         take_format},
        XF_VIEW_INPUT,
        XF_VIEW_OUTPUT("where to write (default: as below; -: standard output)"),
        {"by", 0, "LIST", "lowest frames: domain,vcpu,pcpu,process or none (default: domain)",
         take_by},
        XF_VIEW_DOMAIN,
        XF_VIEW_PCPU,
        {"objects", 0, "DIR", "of perf: files with names and code, for perf --buildid-dir DIR",
         take_objects},
        {0},
};

static bool settle(struct xf_view *view)
{
	struct request *request = (struct request *)view;
	const struct format *format = request->format;

	if (!format) {
		xf_complain(0, "export wants --format FORMAT; see xenflame help export");
		return false;
	}
	if (request->objects && format->write != xf_perf_write) {
		xf_complain(0, "--objects is for the format perf; %s has its names itself",
		            format->name);
		return false;
	}
	if (!view->output)
		view->output = format->file;
	view->profile.timeline = format->timeline;
	view->profile.addresses = format->addresses;
	view->profile.guest_addresses = request->objects != NULL;
	if (format->by_none && !request->by)
		view->profile.by_domain = false;
	return true;
}

static int write_objects(const struct request *request, const struct xf_input *input,
                         const struct xf_profile *profile, FILE *out)
{
	struct xf_perf_images images;
	int status;

	if (!input->recording)
		return xf_complain(XF_EXIT_INPUT,
		                   "%s: --objects is about Xen, and wants a recording of"
		                   " xenflame's",
		                   input->path);
	if (xf_perf_images_make(input->recording, profile, &images) ||
	    xf_perf_write_images(out, profile, &images))
		status = xf_complain(XF_EXIT_FAILURE, "no memory for the format perf");
	else
		status = xf_perf_objects_write(request->objects, &images);
	xf_perf_images_free(&images);
	return status;
}

static int write_export(const struct xf_view *view, const struct xf_input *input,
                        const struct xf_profile *profile, FILE *out)
{
	const struct request *request = (const struct request *)view;
	const struct format *format = request->format;

	if (request->objects)
		return write_objects(request, input, profile, out);
	if (format->write(out, profile))
		return xf_complain(XF_EXIT_FAILURE, "no memory for the format %s", format->name);
	return XF_EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct request request = {.view = {.input = XF_DEFAULT_RECORDING,
	                                   .profile = XF_PROFILE_DEFAULTS,
	                                   .wants_profile = true,
	                                   .takes_text = true,
	                                   .settle = settle}};

	return xf_view_run(&xf_command_export, argc, argv, &request.view, write_export);
}

const struct xf_command xf_command_export = {
        .name = "export",
        .synopsis = "-f FORMAT [-i FILE] [-o FILE] [--by LIST] [--domain NAME] [--pcpu N]"
                    " [--objects DIR]",
        .summary = "writes a recording in the format of another viewer",
        .options = options,
        .help =
                (const char *const[]){
                        "pprof       xenflame.pb.gz: go tool pprof, Pyroscope, Parca",
                        "speedscope  xenflame.speedscope.json: speedscope, a view per pCPU",
                        "firefox     xenflame.firefox.json: Firefox Profiler, a thread per vCPU",
                        "chrome      xenflame.trace.json: Perfetto, about:tracing, a track per"
                        " pCPU",
                        "callgrind   callgrind.out.xenflame: KCachegrind, callgrind_annotate",
                        "perf        xenflame.perf.data: perf report, perf script, hotspot",
                        "folded      xenflame.folded: as xenflame folded",
                        "With firefox and perf the lowest frame is no domain unless asked for:"
                        " processes are.",
                        NULL},
        .run = run,
};
