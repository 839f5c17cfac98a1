// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/options.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/perf_names.h"
#include "profile/perf_input.h"
#include "profile/text_input.h"

#define FIRST_ROOM (1u << 20)

/* ---- Recordings ------------------------------------------------------------------------------ */

/* Return: 0 or a negative errno value: of what has been read, nothing more is wanted. */
static int check_input(const struct xf_input *input, xf_input_recognize_t *recognize, size_t most,
                       struct xf_error *error)
{
	if (input->size > most)
		return xf_fail(error, -EFBIG, "it has more than %zu MiB: not what is wanted here",
		               most >> 20);
	return recognize(input->bytes, input->size, error);
}

/* Makes room for more; @whole is how much there seems to be, which is believed of what has been
 * recognized. Return: 0 or a negative errno value. */
static int grow_input(struct xf_input *input, size_t whole, size_t *allocated)
{
	size_t wanted = *allocated ? *allocated * 2 : FIRST_ROOM;
	void *grown;

	if (*allocated && wanted < whole + 1)
		wanted = whole + 1; /* the end is seen without more room */
	grown = realloc(input->bytes, wanted);
	if (!grown)
		return -ENOMEM;
	input->bytes = grown;
	*allocated = wanted;
	return 0;
}

struct source {
	int file;
	size_t whole; /* bytes that there seem to be; 0: nobody knows */
	xf_input_recognize_t *recognize;
	size_t most;
};

/* A copy of what is there: a mapped file that somebody cuts meanwhile would be our end. Return: 0;
 * or a negative errno value, and @error where it is not about reading. */
static int read_all(const struct source *source, struct xf_input *input, struct xf_error *error)
{
	size_t allocated = 0;
	bool recognized = false;
	ssize_t got;
	int code = 0;

	do {
		if (input->size == allocated)
			code = grow_input(input, source->whole, &allocated);
		if (code)
			return code;
		got = read(source->file, (char *)input->bytes + input->size,
		           allocated - input->size);
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got > 0)
			input->size += (size_t)got;
		if ((!recognized && input->size >= XF_INPUT_HEAD) || !got ||
		    input->size > source->most) {
			code = check_input(input, source->recognize, source->most, error);
			recognized = true;
		}
	} while (got && !code);
	return code;
}

/* Return: as read_all. */
static int take_bytes(struct source *source, struct xf_input *input, struct xf_error *error)
{
	struct stat stat;

	if (fstat(source->file, &stat))
		return -errno;
	if (S_ISDIR(stat.st_mode))
		return -EISDIR;
	input->regular = S_ISREG(stat.st_mode);
	input->device = stat.st_dev;
	input->inode = stat.st_ino;
	if (input->regular && (uint64_t)stat.st_size < source->most)
		source->whole = (size_t)stat.st_size;
	return read_all(source, input, error);
}

static int refuse_path(const char *path, int code)
{
	if (code == ENOENT && strcmp(path, XF_DEFAULT_RECORDING) == 0)
		return xf_complain(XF_EXIT_INPUT,
		                   "there is no %s here: make one with 'xenflame record', or name"
		                   " another with -i FILE",
		                   path);
	return xf_complain(XF_EXIT_INPUT, "cannot open %s: %s", path, strerror(code));
}

int xf_input_read(const char *path, xf_input_recognize_t *recognize, size_t most,
                  struct xf_input *input)
{
	bool is_stdin = strcmp(path, "-") == 0;
	struct source source = {.recognize = recognize, .most = most};
	struct xf_error error = {0};
	int code;

	*input = (struct xf_input){.path = is_stdin ? "standard input" : path};
	source.file = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (source.file < 0)
		return refuse_path(path, errno);
	code = take_bytes(&source, input, &error);
	if (!is_stdin)
		close(source.file);
	if (error.code)
		return xf_input_complain(input, &error);
	if (code)
		return xf_complain(code == -ENOMEM ? XF_EXIT_FAILURE : XF_EXIT_INPUT,
		                   "cannot read %s: %s", input->path, strerror(-code));
	return XF_EXIT_OK;
}

int xf_input_open(const char *path, struct xf_input *input)
{
	struct xf_error error = {0};
	int status = xf_input_read(path, xf_recording_recognize, SIZE_MAX, input);

	if (!status && xf_recording_open(input->bytes, input->size, &input->recording, &error))
		status = xf_input_complain(input, &error);
	return status;
}

/* What begins as a recording does is one, and is told as such where it is damaged. */
static bool begins_as_recording(const void *bytes, size_t size)
{
	size_t magic = strlen(XF_FILE_MAGIC);

	return !bytes || memcmp(bytes, XF_FILE_MAGIC, size < magic ? size : magic) == 0;
}

static int recognize_any(const void *bytes, size_t size, struct xf_error *error)
{
	if (xf_perf_begins(bytes, size))
		return 0;
	if (begins_as_recording(bytes, size) || xf_text_recognize(bytes, size, error))
		return xf_recording_recognize(bytes, size, error);
	return 0;
}

int xf_input_open_any(const char *path, struct xf_input *input)
{
	struct xf_error error = {0};
	int status = xf_input_read(path, recognize_any, SIZE_MAX, input);

	if (!status && begins_as_recording(input->bytes, input->size) &&
	    xf_recording_open(input->bytes, input->size, &input->recording, &error))
		status = xf_input_complain(input, &error);
	return status;
}

static int make_perf_profile(const struct xf_input *input, const struct xf_profile_options *options,
                             struct xf_profile **profile, struct xf_error *error)
{
	struct xf_perf_names names;
	struct xf_known_files *files = xf_known_files_new(&names);
	int code;

	if (!files)
		return xf_fail(error, -ENOMEM, "no memory for names");
	code = xf_perf_profile(input->bytes, input->size, options, &names, profile, error);
	xf_known_files_free(files);
	return code;
}

int xf_input_profile(const struct xf_input *input, const struct xf_profile_options *options,
                     struct xf_profile **profile, struct xf_error *error)
{
	if (input->recording)
		return xf_profile_build(input->recording, options, profile, error);
	if (xf_perf_begins(input->bytes, input->size))
		return make_perf_profile(input, options, profile, error);
	return xf_text_profile(input->bytes, input->size, options, profile, error);
}

/* Samples in functions that have no name. */
static uint64_t count_unnamed(const struct xf_calltree *tree)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < xf_calltree_nr_nodes(tree); i++) {
		const struct xf_node *node = xf_calltree_node(tree, (struct xf_node_id){i});

		if (xf_calltree_kind(tree, node->frame) == XF_FRAME_UNKNOWN)
			sum += node->self;
	}
	return sum;
}

void xf_input_remark(const struct xf_input *input, const struct xf_profile *profile)
{
	if (!input->recording && xf_perf_begins(input->bytes, input->size) &&
	    count_unnamed(profile->tree) > profile->samples / 2)
		xf_complain(
		        0,
		        "%s: most of its samples are in functions without names: their files are"
		        " not here with the build-ids that it tells, or it tells none; 'perf"
		        " script | xenflame ... -i -' may know them",
		        input->path);
}

bool xf_input_is(const struct xf_input *input, const char *path)
{
	struct stat output;
	bool found = strcmp(path, "-") == 0 ? fstat(STDOUT_FILENO, &output) == 0
	                                    : stat(path, &output) == 0;

	return found && input->regular && S_ISREG(output.st_mode) &&
	       output.st_dev == input->device && output.st_ino == input->inode;
}

void xf_input_close(struct xf_input *input)
{
	xf_recording_free(input->recording);
	free(input->bytes);
	*input = (struct xf_input){0};
}

int xf_input_complain(const struct xf_input *input, const struct xf_error *error)
{
	return xf_complain(error->code == -ENOMEM ? XF_EXIT_FAILURE : XF_EXIT_INPUT, "%s: %s",
	                   input->path, error->text);
}

/* ---- Outputs --------------------------------------------------------------------------------- */

/* What a signal has to remove; one output is open at a time. */
static const char *volatile unfinished;

static void remove_unfinished(int signal)
{
	const char *path = unfinished;

	if (path)
		unlink(path);
	raise(signal); /* SA_RESETHAND: now it ends us */
}

static void guard_unfinished(const char *path)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ};
	struct sigaction action = {.sa_handler = remove_unfinished, .sa_flags = SA_RESETHAND};
	struct sigaction before;

	unfinished = path;
	for (size_t i = 0; path && i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (!sigaction(signals[i], NULL, &before) && before.sa_handler == SIG_DFL)
			sigaction(signals[i], &action, NULL);
	}
}

static int open_temporary(struct xf_output *output, mode_t mode)
{
	int file;

	/* A link that leads nowhere has nothing to keep. */
	output->target = realpath(output->path, NULL) ?: strdup(output->path);
	if (!output->target || asprintf(&output->temporary, "%s.XXXXXX", output->target) < 0) {
		output->temporary = NULL;
		return -1;
	}
	file = mkostemp(output->temporary, O_CLOEXEC);
	if (file < 0) {
		free(output->temporary);
		output->temporary = NULL;
		return -1;
	}
	guard_unfinished(output->temporary);
	fchmod(file, mode);
	return file;
}

/* /dev/stdout leads to whatever standard output is: a file's place there is not ours to take. */
static bool is_standard_output(const char *path, const struct stat *status)
{
	struct stat own;

	return strcmp(path, "-") == 0 ||
	       (S_ISREG(status->st_mode) && fstat(STDOUT_FILENO, &own) == 0 &&
	        own.st_dev == status->st_dev && own.st_ino == status->st_ino);
}

int xf_output_open(const char *path, struct xf_output *output)
{
	mode_t mask = umask(0);
	struct stat stat_now = {0};
	bool exists = stat(path, &stat_now) == 0;
	int file;

	umask(mask);
	*output = (struct xf_output){.path = path};
	if (is_standard_output(path, &stat_now)) {
		output->path = "standard output";
		output->stream = stdout;
		return XF_EXIT_OK;
	}
	if (!exists)
		file = open_temporary(output, 0666 & ~mask);
	else if (S_ISREG(stat_now.st_mode) && access(path, W_OK) == 0)
		file = open_temporary(output, stat_now.st_mode & 0777);
	else /* a device or a pipe, or what may not be written */
		file = open(path, O_WRONLY | O_CLOEXEC);
	output->stream = file < 0 ? NULL : fdopen(file, "w");
	if (output->stream)
		return XF_EXIT_OK;
	xf_complain(0, "cannot write %s: %s", path, strerror(errno));
	if (file >= 0)
		close(file);
	xf_output_abandon(output);
	return XF_EXIT_OUTPUT;
}

static void free_names(struct xf_output *output)
{
	free(output->temporary);
	free(output->target);
	output->temporary = output->target = NULL;
}

static int finish(struct xf_output *output)
{
	int code = fflush(output->stream) || ferror(output->stream) ? errno : 0;

	if (ferror(output->stream) && !code)
		code = EIO;
	if (output->stream != stdout) {
		if (fclose(output->stream) && !code)
			code = errno;
		output->stream = NULL;
	}
	if (!code && output->temporary && rename(output->temporary, output->target))
		code = errno;
	return code;
}

int xf_output_close(struct xf_output *output)
{
	int code = finish(output);

	if (code) {
		xf_complain(0, "cannot write %s: %s", output->path, strerror(code));
		xf_output_abandon(output);
		return XF_EXIT_OUTPUT;
	}
	guard_unfinished(NULL);
	free_names(output);
	return XF_EXIT_OK;
}

void xf_output_abandon(struct xf_output *output)
{
	if (output->stream && output->stream != stdout)
		fclose(output->stream);
	output->stream = NULL;
	if (output->temporary)
		unlink(output->temporary);
	guard_unfinished(NULL);
	free_names(output);
}
