/*
 * The command `top`.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "../lib/clock.h"
#include "../lib/commands.h"
#include "../lib/count_of.h"
#include "../lib/text.h"
#include "../lib/wrap.h"
#include "command.h"
#include "input/ranks.h"
#include "input/rows.h"
#include "overview/top.h"

static const char usage_text[] =
    "usage: nvtally top TRACE… [OPTIONS]\n\n"
    "Shows where the time goes in a terminal: how long an iteration takes, its ranges\n"
    "as a tree whose rows open and close, and the findings. A trace that is still\n"
    "being recorded is read again as its file grows.\n\n"
    "  up, down, page, home, end    choose a row\n"
    "  right, left, enter           open and close it\n"
    "  + -                          open and close all\n"
    "  s                            sort by the next column\n"
    "  f                            findings, with evidence and remedies\n"
    "  n                            the next recording, where several were given\n"
    "  ?                            what keys do\n"
    "  q, Ctrl-C                    end\n\n" NVT_WINDOW_HELP NVT_ITERATION_HELP
    "      --help           this text\n\n"
    "Exit status: 0 once it is ended, 2 without a terminal or if nothing can be read.\n"
    "Example:  nvtally top t.nvt\n";

/* How often files are looked at; and so many times what reading took nothing is read again. */
enum { LOOKS_MS = 500, PAUSE = 9 };

struct request {
    char *const *given;
    size_t count;
    struct nvt_window window;
    const char *iteration;
};

/* What is shown, and of which state of the files. Traces of one job are shown together, other recordings one at a time. */
struct edition {
    struct nvt_input input;
    struct nvt_input_trace *traces; /* recording by recording: those of the input, which it keeps */
    size_t *first;                  /* of each recording, and behind the last */
    size_t count, at;               /* recordings; the one that is shown, */
    struct nvt_input part;          /* its traces, */
    struct nvt_top top;             /* and what is shown of it */
};

/* 0 to go on, 1 for --help, -1 with err. */
static int parse(int argc, char **argv, struct request *request, struct nvt_error *err)
{
    const struct nvt_option options[] = {{NVT_TIME_OPTION(&request->window)},
                                         {NVT_RANGE_OPTION(&request->window)},
                                         {NVT_ITERATION_OPTION(&request->iteration)},
                                         {0}};
    const int status = nvt_command_options(argc, argv, options, usage_text, err);
    request->given = argv + optind;
    request->count = (size_t)(argc - optind);
    return status || request->count
               ? status
               : nvt_fail(err, "top: no trace was given; see nvtally top --help");
}

/* --- what is shown ----------------------------------------------------------------------------- */

static void drop(struct edition *edition)
{
    nvt_top_free(&edition->top);
    nvt_buffer_free(&edition->part.notes);
    free(edition->traces);
    free(edition->first);
    nvt_input_free(&edition->input);
}

static struct nvt_input part_of(const struct nvt_input *input, struct nvt_input_trace *traces,
                                size_t count)
{
    return (struct nvt_input){.traces = traces,
                              .trace_count = count,
                              .plain_names = 1,
                              .window = input->window,
                              .iteration = input->iteration};
}

/* Put the traces of each recording that has something to show next to each other. 0, or -1 with err. */
static int divide(struct edition *edition, struct nvt_error *err)
{
    const struct nvt_input *input = &edition->input;
    size_t runs, taken = 0, *run = nvt_input_run_numbers(input, &runs);
    edition->traces = calloc(input->trace_count + 1, sizeof(*edition->traces));
    edition->first = calloc(input->trace_count + 2, sizeof(*edition->first));
    const int failed = !run || !edition->traces || !edition->first;
    for (size_t r = 0; !failed && r < runs; r++) {
        const size_t begin = taken;
        for (size_t i = 0; i < input->trace_count; i++)
            if (run[i] == r)
                edition->traces[taken++] = input->traces[i];
        const struct nvt_input part = part_of(input, edition->traces + begin, taken - begin);
        if (nvt_overview_fits(&part))
            edition->first[++edition->count] = taken;
        else
            taken = begin;
    }
    free(run);
    return failed ? nvt_fail(err, "out of memory") : 0;
}

/* Show a recording. 0, or -1 with err. */
static int show(struct edition *edition, size_t at, struct nvt_error *err)
{
    const size_t first = edition->first[at];
    nvt_top_free(&edition->top);
    nvt_buffer_free(&edition->part.notes);
    edition->at = at;
    edition->part =
        part_of(&edition->input, edition->traces + first, edition->first[at + 1] - first);
    if (nvt_top_make(&edition->top, &edition->part, err))
        return -1;
    edition->top.has_others = edition->count > 1;
    return 0;
}

/* The file of what is shown, and which recording it is. */
static void name_shown(const struct edition *edition, char *out, size_t size)
{
    char which[64] = "", more[32] = "";
    if (edition->part.trace_count > 1)
        snprintf(more, sizeof(more), " and %zu more", edition->part.trace_count - 1);
    if (edition->count > 1)
        snprintf(which, sizeof(which), " · %zu of %zu", edition->at + 1, edition->count);
    snprintf(out, size, "%.200s%s%s", nvt_file_name(edition->part.traces[0].trace->path), more,
             which);
}

/* `at`: the recording to show, if there are as many. */
static int read_edition(const struct request *request, struct edition *edition, size_t at,
                        struct nvt_error *err)
{
    edition->input = (struct nvt_input){.plain_names = 1,
                                        .leaves_out = 1,
                                        .window = &request->window,
                                        .iteration = request->iteration};
    if (nvt_input_add_all(&edition->input, request->given, request->count, err) ||
        nvt_input_rows(&edition->input, err) || nvt_input_traces(&edition->input, err))
        return -1;
    if (divide(edition, err))
        return -1;
    if (!edition->count)
        return nvt_fail(err, "top: there are no ranges and no kernels in what was given");
    return show(edition, at < edition->count ? at : 0, err);
}

/* Read again what has changed; what cannot be read now, such as a file that is just being replaced, stays as it was. */
static void renew(const struct request *request, struct edition *edition)
{
    struct edition next = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    if (read_edition(request, &next, edition->at, &err) || nvt_top_keep(&next.top, &edition->top)) {
        drop(&next);
        return;
    }
    drop(edition);
    *edition = next;
}

/* --- the terminal ------------------------------------------------------------------------------ */

static volatile sig_atomic_t ends, resized;

static void on_signal(int which)
{
    if (which == SIGWINCH)
        resized = 1;
    else
        ends = 1;
}

/* Signals only come while it waits (ppoll with the old mask). */
static void catch_signals(sigset_t *while_waiting)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH};
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t blocked;
    sigemptyset(&blocked);
    for (size_t i = 0; i < NVT_COUNT_OF(signals); i++) {
        sigaction(signals[i], &action, NULL);
        sigaddset(&blocked, signals[i]);
    }
    pthread_sigmask(SIG_BLOCK, &blocked, while_waiting);
}

/* Keys come one by one and are not shown; the screen is another one, so that what was there comes back. */
static int enter(struct termios *before, struct nvt_error *err)
{
    if (tcgetattr(STDIN_FILENO, before))
        return nvt_fail(err, "top: the terminal cannot be used: %s", strerror(errno));
    struct termios raw = *before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    raw.c_cc[VSUSP] = _POSIX_VDISABLE;
    if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw))
        return nvt_fail(err, "top: the terminal cannot be used: %s", strerror(errno));
    fputs("\033[?1049h\033[?25l", stdout);
    return 0;
}

static void leave(const struct termios *before)
{
    fputs("\033[?25h\033[?1049l", stdout);
    (void)fflush(stdout);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, before);
}

static void draw_edition(struct edition *edition)
{
    const struct nvt_screen screen = nvt_screen_of(stdout, NVT_COLOR_AUTO);
    char what[300], *text = NULL, *rest;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    name_shown(edition, what, sizeof(what));
    nvt_top_draw(&edition->top, &screen, what, out);
    if (!fclose(out)) {
        fputs("\033[H", stdout);
        rest = text;
        /* Cleared before it is written: behind a full line the cursor is still on the last character of it. */
        for (const char *line; (line = strsep(&rest, "\n"));)
            printf("\033[%c%s%s", rest ? 'K' : 'J', line, rest ? "\r\n" : "");
        (void)fflush(stdout);
    }
    free(text);
}

/* What keys send; the longer texts come before those that they begin with. */
static const struct {
    const char *sends;
    enum nvt_top_key key;
} keys[] = {
    {"\033[A", NVT_TOP_UP},
    {"\033OA", NVT_TOP_UP},
    {"k", NVT_TOP_UP},
    {"\033[B", NVT_TOP_DOWN},
    {"\033OB", NVT_TOP_DOWN},
    {"j", NVT_TOP_DOWN},
    {"\033[C", NVT_TOP_OPEN},
    {"\033OC", NVT_TOP_OPEN},
    {"l", NVT_TOP_OPEN},
    {"\033[D", NVT_TOP_CLOSE},
    {"\033OD", NVT_TOP_CLOSE},
    {"h", NVT_TOP_CLOSE},
    {"\033[5~", NVT_TOP_PAGE_UP},
    {"\033[6~", NVT_TOP_PAGE_DOWN},
    {"\033[H", NVT_TOP_FIRST},
    {"\033[1~", NVT_TOP_FIRST},
    {"\033[F", NVT_TOP_LAST},
    {"\033[4~", NVT_TOP_LAST},
    {"\r", NVT_TOP_TOGGLE},
    {"\n", NVT_TOP_TOGGLE},
    {" ", NVT_TOP_TOGGLE},
    {"+", NVT_TOP_OPEN_ALL},
    {"-", NVT_TOP_CLOSE_ALL},
    {"s", NVT_TOP_SORT},
    {"f", NVT_TOP_FINDINGS},
    {"?", NVT_TOP_KEYS},
};

/* Bytes that a key has sent which is none of `keys`: Esc alone, a sequence that begins with it up to its last byte, or a byte. */
static size_t length_of_other(const char *text)
{
    if (text[0] != '\033' || (text[1] != '[' && text[1] != 'O'))
        return 1;
    size_t length = 2;
    while (text[length] && (text[length] < '@' || text[length] > '~'))
        length++;
    return text[length] ? length + 1 : length;
}

static enum nvt_top_key key_of(const char *text, size_t *length)
{
    for (size_t i = 0; i < NVT_COUNT_OF(keys); i++)
        if (!strncmp(text, keys[i].sends, strlen(keys[i].sends))) {
            *length = strlen(keys[i].sends);
            return keys[i].key;
        }
    *length = length_of_other(text);
    return *text == '\033' && *length == 1 ? NVT_TOP_BACK : NVT_TOP_OTHER;
}

/* Press the keys of a text. 0; 1: one of them ends it, or -1 with err: the next recording cannot be shown. */
static int press(struct edition *edition, const char *text, struct nvt_error *err)
{
    const struct nvt_screen screen = nvt_screen_of(stdout, NVT_COLOR_AUTO);
    for (size_t length; *text; text += length) {
        const enum nvt_top_key key = key_of(text, &length);
        const int shows_keys = edition->top.shows_keys;
        if (*text == 'q')
            return 1;
        if (*text == 'n' && !shows_keys && edition->count > 1) {
            if (show(edition, (edition->at + 1) % edition->count, err))
                return -1;
        } else
            nvt_top_press(&edition->top, key, nvt_top_lines(&edition->top, &screen));
    }
    return 0;
}

/* Whether any of what was given is being recorded. */
static int goes_on(const struct edition *edition)
{
    for (size_t i = 0; i < edition->input.trace_count; i++)
        if (edition->input.traces[i].trace->goes_on)
            return 1;
    return 0;
}

/* Until a key or a signal ends it. 0, or -1 with err. */
static int run(const struct request *request, struct edition *edition,
               const sigset_t *while_waiting, struct nvt_error *err)
{
    uint64_t signature = goes_on(edition) ? 0 : nvt_input_signature(&edition->input);
    const int64_t looks = LOOKS_MS * INT64_C(1000000);
    int64_t next = nvt_monotonic_ns() + looks;
    draw_edition(edition);
    while (!ends) {
        char text[64];
        struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
        const struct timespec wait = {.tv_nsec = LOOKS_MS * 1000000L};
        const int ready = ppoll(&in, 1, &wait, while_waiting);
        if (ready > 0) {
            const ssize_t got = read(STDIN_FILENO, text, sizeof(text) - 1);
            text[got > 0 ? got : 0] = 0;
            /* 1: the terminal is gone */
            const int status = got <= 0 ? 1 : press(edition, text, err);
            if (status)
                return status < 0 ? -1 : 0;
        }
        const int64_t begin = nvt_monotonic_ns();
        const uint64_t now = begin < next ? signature : nvt_input_signature(&edition->input);
        const int has_changed = now != signature;
        if (has_changed)
            renew(request, edition);
        if (begin >= next)
            next = nvt_monotonic_ns() + looks + PAUSE * (nvt_monotonic_ns() - begin);
        signature = now;
        if (ready > 0 || resized || has_changed)
            draw_edition(edition);
        resized = 0;
    }
    return 0;
}

int nvt_cmd_top(int argc, char **argv)
{
    struct request request = {0};
    struct edition edition = {0};
    struct nvt_error err = NVT_ERROR_INIT;
    struct termios before;
    sigset_t while_waiting;
    int status = parse(argc, argv, &request, &err);
    if (status > 0)
        return 0;
    if (!status)
        status = read_edition(&request, &edition, 0, &err);
    if (!status && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
        status = nvt_fail(&err, "top needs a terminal; nvtally stats prints the same once");
    if (!status) {
        catch_signals(&while_waiting);
        status = enter(&before, &err);
    }
    if (!status) {
        status = run(&request, &edition, &while_waiting, &err);
        leave(&before);
        nvt_command_notes(&edition.input);
    }
    drop(&edition);
    return status ? nvt_command_fail(&err) : 0;
}
