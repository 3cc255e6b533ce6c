/*
 * The command `view`.
 */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../lib/commands.h"
#include "../lib/wrap.h"
#include "command.h"
#include "input/rows.h"
#include "view/server.h"

static const char usage_text[] =
    "usage: nvtally view TRACE… [OPTIONS]\n"
    "       nvtally view A… vs B… [OPTIONS]\n\n"
    "Shows traces as a timeline in a browser: threads with their ranges, calls and\n"
    "samples, streams with their kernels, idle devices by cause, the critical path,\n"
    "memory, counters and findings. Prints a local address with an access token;\n"
    "from another machine, forward it with ssh -L. Ctrl-C ends it. Nothing is\n"
    "fetched from the internet. With 'vs', two recordings are shown lane by lane,\n"
    "with their loops aligned.\n\n"
    "      --port N         serve on this port (default: a free one)\n"
    "      --no-open        print the address, and open no browser\n" NVT_WINDOW_HELP
        NVT_ITERATION_HELP "      --help           this text\n\n"
    "Exit status: 0 once it is ended, 2 if nothing can be read or served.\n"
    "Example:  nvtally view t.nvt\n";

/* So long a page waits before it opens with the progress of reading. */
enum { PATIENCE_MS = 500 };
/* Sent by the thread that reads. */
#define NOTHING_IS_READ SIGUSR1

struct request {
    int port, opens;
    char *const *given;
    struct nvt_window window;
    const char *iteration;
};

static int set_port(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    char *end;
    errno = 0;
    const long port = strtol(value, &end, 10);
    if (errno || end == value || *end || port < 1 || port > 65535)
        return nvt_fail(err, "view --port %s: not a port, 1 to 65535", value);
    *(int *)option->to = (int)port;
    return 0;
}

/* 0 to go on, 1 for --help, -1 with err. */
static int parse(int argc, char **argv, struct request *request, struct nvt_error *err)
{
    const struct nvt_option options[] = {{"port", .set = set_port, .to = &request->port},
                                         {"no-open", .choice = &request->opens, .number = 0},
                                         {NVT_TIME_OPTION(&request->window)},
                                         {NVT_RANGE_OPTION(&request->window)},
                                         {NVT_ITERATION_OPTION(&request->iteration)},
                                         {0}};
    const int status = nvt_command_options(argc, argv, options, usage_text, err);
    request->given = argv + optind;
    return status || optind < argc
               ? status
               : nvt_fail(err, "view: no trace was given; see nvtally view --help");
}

/*
 * A file that only its owner can read, which sends a browser to an address: on a command line everybody would see the
 * token. NULL where there is none; else the caller frees it, and removes the file.
 */
static char *make_way(const char *address)
{
    const char *folder = getenv("XDG_RUNTIME_DIR"), *other = getenv("TMPDIR");
    char *path = NULL;
    if (!folder || !*folder)
        folder = other && *other ? other : "/tmp";
    if (asprintf(&path, "%s/nvtally-view-XXXXXX.html", folder) < 0)
        return NULL;
    const int file = mkstemps(path, 5);
    if (file < 0) {
        free(path);
        return NULL;
    }
    dprintf(file,
            "<!doctype html><meta charset=utf-8><title>nvtally view</title>"
            "<meta http-equiv=refresh content=\"0;url=%s\">\n",
            address);
    close(file);
    return path;
}

/* As the desktop does it; without one nothing happens. */
static void open_browser(const char *path)
{
    char *const argv[] = {(char *)(intptr_t) "xdg-open", (char *)(intptr_t)path, NULL};
    const int has_desktop = getenv("DISPLAY") || getenv("WAYLAND_DISPLAY");
    pid_t child;
    if (path && has_desktop)
        (void)posix_spawnp(&child, argv[0], NULL, NULL, argv, environ);
}

/* Until Ctrl-C, or the terminal is closed. 0, or -1: there is nothing to show, which the page has had the time to ask for. */
static int wait_for_end(const sigset_t *ends, struct nvt_editions *editions)
{
    enum { ASKS_MS = 1000 }; /* the page asks each 200 ms */
    int which = 0;
    for (;;) {
        if (sigwait(ends, &which))
            continue;
        if (which != NOTHING_IS_READ)
            return 0;
        struct nvt_edition *edition = nvt_edition_take(editions);
        const int is_nothing = !edition->number;
        nvt_edition_release(editions, edition);
        if (is_nothing) {
            const struct timespec wait = {ASKS_MS / 1000, 0};
            nanosleep(&wait, NULL);
            return -1;
        }
    }
}

/* Bytes of what was given; 0: something of it is no file. */
static int64_t bytes_of(char *const *given)
{
    int64_t bytes = 0;
    struct stat status;
    for (; *given; given++) {
        if (!strcmp(*given, "vs"))
            continue;
        if (stat(*given, &status) || !S_ISREG(status.st_mode))
            return 0;
        bytes += status.st_size;
    }
    return bytes;
}

/* A trace, and its place among those that were given; of traces of one record, ranks, that of the first. */
struct placed {
    struct nvt_input_trace item;
    size_t place, at, record_first;
};

static int by_trace(const void *left, const void *right)
{
    const uintptr_t a = (uintptr_t)((const struct placed *)left)->item.trace;
    const uintptr_t b = (uintptr_t)((const struct placed *)right)->item.trace;
    return a < b ? -1 : a > b;
}

static int by_place(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Put traces, which are in the order of their rows, into the order in which they were given: `given`, sorted by trace. */
static void order_as_given(struct nvt_input *input, const struct placed *given,
                           struct placed *order)
{
    size_t first = 0; /* of the record */
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_input_trace *item = &input->traces[i];
        order[i] = (struct placed){.item = *item, .at = i};
        const struct placed *found =
            bsearch(&order[i], given, input->trace_count, sizeof(*given), by_trace);
        order[i].place = found ? found->place : i;
        const int is_of_last = i && item->runs && item->runs == order[i - 1].item.runs &&
                               item->record == order[i - 1].item.record;
        first = is_of_last ? first : i;
        if (order[i].place < order[first].place)
            order[first].place = order[i].place;
        order[i].record_first = first;
    }
    for (size_t i = 0; i < input->trace_count; i++)
        order[i].place = order[order[i].record_first].place;
    qsort(order, input->trace_count, sizeof(*order), by_place);
    for (size_t i = 0; i < input->trace_count; i++)
        input->traces[i] = order[i].item;
}

/* nvt_input_rows, which puts traces that have rows in front of the others, but in the order in which they were given. */
static int add_rows(struct nvt_input *input, struct nvt_error *err)
{
    struct placed *given = calloc(input->trace_count + 1, sizeof(*given));
    struct placed *order = calloc(input->trace_count + 1, sizeof(*order));
    for (size_t i = 0; given && i < input->trace_count; i++)
        given[i] = (struct placed){.item = input->traces[i], .place = i};
    int status = given && order ? nvt_input_rows(input, err) : nvt_fail(err, "out of memory");
    if (!status) {
        qsort(given, input->trace_count, sizeof(*given), by_trace);
        order_as_given(input, given, order);
    }
    free(given);
    free(order);
    return status;
}

/* Read what was given, up to a "vs", into the first of `inputs`, what follows it into the second. How many, or -1 with err. */
static int read_sides(void *context, int64_t beginning, struct nvt_input inputs[NVT_VIEW_SIDES],
                      struct nvt_error *err)
{
    const struct request *request = context;
    char *const *from = request->given;
    for (int side = 0;; side++) {
        size_t count = 0;
        while (from[count] && strcmp(from[count], "vs") != 0)
            count++;
        if (!count)
            return nvt_fail(err, "view needs a trace on each side of 'vs': nvtally view A vs B");
        if (side == NVT_VIEW_SIDES)
            return nvt_fail(err, "view: more than %d sides", NVT_VIEW_SIDES);
        inputs[side] = (struct nvt_input){.plain_names = 1,
                                          .leaves_out = !beginning,
                                          .window = &request->window,
                                          .iteration = request->iteration,
                                          .beginning = beginning};
        if (nvt_input_add_all(&inputs[side], from, count, err) || add_rows(&inputs[side], err) ||
            nvt_input_traces(&inputs[side], err))
            return -1;
        if (!from[count])
            return side + 1;
        from += count + 1;
    }
}

/* What is known of the files, once; or why they cannot be read. */
static void show_notes(void *context, const struct nvt_edition *edition,
                       const struct nvt_error *err)
{
    (void)context;
    if (!edition) {
        nvt_command_fail(err);
        kill(getpid(), NOTHING_IS_READ);
    }
    for (size_t i = 0; edition && i < NVT_VIEW_SIDES; i++)
        nvt_command_notes(&edition->inputs[i]);
}

/* Until it is ended. 0, or 1: nothing could be read, which was said. */
static int show(const struct request *request, struct nvt_editions *editions,
                const struct nvt_view_server *server, const sigset_t *ends)
{
    printf("%s\n", nvt_view_address(server));
    (void)fflush(stdout);
    if (isatty(STDERR_FILENO))
        nvt_message(stderr, "Ctrl-C ends it");
    char *way = request->opens ? make_way(nvt_view_address(server)) : NULL;
    open_browser(way);
    const int status = wait_for_end(ends, editions) ? 1 : 0;
    if (way)
        unlink(way);
    free(way);
    return status;
}

/* 0; 1: what was wrong was said, or -1 with err. */
static int serve(struct request *request, struct nvt_error *err)
{
    const struct nvt_edition_source source = {.read = read_sides,
                                              .is_whole = show_notes,
                                              .context = request,
                                              .bytes = bytes_of(request->given),
                                              .patience_ms = PATIENCE_MS};
    struct nvt_view_server *server = NULL;
    int status = -1;
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, NOTHING_IS_READ);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    struct nvt_editions *editions = nvt_editions_read(&source, err);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    /* Once there is something to show; threads of the server have the same mask. */
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    if (editions)
        server = nvt_view_serve(editions, (uint16_t)request->port, err);
    if (server) {
        status = show(request, editions, server, &ends);
        nvt_view_stop(server);
    }
    if (editions && nvt_editions_are_reading(editions)) /* which is not waited for */
        _exit(status < 0 ? nvt_command_fail(err) : 0);
    nvt_editions_free(editions);
    return status;
}

int nvt_cmd_view(int argc, char **argv)
{
    struct request request = {.opens = 1};
    struct nvt_error err = NVT_ERROR_INIT;
    int status = parse(argc, argv, &request, &err);
    if (status > 0)
        return 0;
    if (!status)
        status = nvt_view_can_serve(&err) ? -1 : serve(&request, &err);
    return status < 0 ? nvt_command_fail(&err) : status ? 2 : 0;
}
