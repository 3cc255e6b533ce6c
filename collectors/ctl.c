/*
 * The command `ctl`: what recordings are going on here, and what they are to do.
 */
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/axis.h"
#include "../lib/buffer.h"
#include "../lib/commands.h"
#include "../lib/count_of.h"
#include "../lib/create_file.h"
#include "../lib/options.h"
#include "../lib/render.h"
#include "../lib/suggest.h"
#include "../lib/table.h"
#include "../lib/terminal.h"
#include "../lib/wrap.h"
#include "attached.h"
#include "ctl_choose.h"
#include "ctl_dump.h"
#include "ctl_far.h"
#include "ctl_standing.h"
#include "ctl_steps.h"
#include "ring.h"

#define SESSIONS_MOST    1024
#define DIED_MOST        16 /* that are named */
#define PATIENCE_NS      INT64_C(10000000000)
#define FAR_PATIENCE_NS  INT64_C(30000000000)
#define DUMP_PATIENCE_NS INT64_C(600000000000) /* of a dump that is made elsewhere */

static const char usage_text[] =
    "usage: nvtally ctl [OPTIONS] ps|status|start|stop|steps N|mark TEXT|dump\n\n"
    "Lists your running recordings on this machine; starts, stops, marks and copies\n"
    "them.\n\n"
    "  ps      list the recordings: their recorder's process, state, for how long,\n"
    "          the time recorded so far, their trace and command\n"
    "  status  all that is known of one: a name and a value per line\n"
    "  start   begin to record, in a recording that is dormant (see nvtally record)\n"
    "  stop    stop recording, until the next start\n"
    "  steps   record the next N iterations, the same ones in every process, and wait\n"
    "          until they are recorded (iterations: see nvtally record)\n"
    "  mark    put a mark with the text TEXT into every process that is recorded\n"
    "  dump    copy the trace as it is now; the recording goes on\n\n"
    "  -s, --session WHICH  the recording, where there are several: the recorder's\n"
    "                       process as ps lists it, its folder, or all (default:\n"
    "                       the one that ctl itself runs in)\n"
    "      --watch FILE     all recordings that watch this file, on any host (nvtally\n"
    "                       record --watch); --session HOST chooses those of one\n"
    "      --to HOST:PORT   the recording that listens there (nvtally record\n"
    "                       --listen); several with commas between\n"
    "      --key FILE       the key of --to\n"
    "  -o, --output FILE    for dump: the copy (default: next to the trace, its name\n"
    "                       with -dump1, -dump2, …); for start and steps in a session\n"
    "                       of nvtally env: the trace (default: trace.nvt)\n"
    "      --force-overwrite\n"
    "                       for these: replace an existing trace\n"
    "      --last TIME      for dump: only what ended within this time before the\n"
    "                       request, such as 500ms, 2s, 5min\n"
    "  -f, --format NAME    for ps: table, csv, json, … (default: table)\n"
    "      --help           this text\n\n"
    "Example:  nvtally ctl ps\n";

struct ctl {
    const char *which;  /* --session, or NULL */
    const char *output; /* --output, or NULL */
    int overwrite;      /* --force-overwrite */
    int64_t last_ns;    /* --last, or 0 */
    const struct nvt_format *format;
    struct nvt_ctl_far_wish wish; /* --watch, --to, --key */
    struct nvt_ctl_far far;
    const char *verb, *text; /* what is asked for; of a mark, its text; of steps, how many */
    struct nvt_ctl_session sessions[SESSIONS_MOST];
    size_t count;
};

/* --- which recordings ------------------------------------------------------------------------- */

static int is_far(const struct ctl *ctl)
{
    return ctl->wish.watch || ctl->wish.to;
}

static int choose_far(struct ctl *ctl, struct nvt_error *err)
{
    ctl->wish.session = ctl->which;
    const int count = nvt_ctl_far_choose(&ctl->far, &ctl->wish, ctl->sessions, SESSIONS_MOST, err);
    ctl->count = count > 0 ? (size_t)count : 0;
    return count < 0 ? -1 : 0;
}

/* Those whose recorder was killed are none any more; who asks for all that there are has to know. */
static void say_died(const struct ctl *ctl)
{
    struct nvt_ctl_session died[DIED_MOST];
    const size_t all =
        !ctl->which || !strcmp(ctl->which, "all") ? nvt_ctl_died(died, DIED_MOST) : 0;
    for (size_t i = 0; i < all && i < DIED_MOST; i++) {
        const size_t left = nvt_attached(died[i].folder, NULL, 0);
        nvt_message(
            stderr,
            "recorder %d has died: its trace ends there, and %zu process%s that it recorded "
            "%s on without",
            died[i].recorder, left, left == 1 ? "" : "es", left == 1 ? "goes" : "go");
    }
}

/* 0, or -1 with err. */
static int choose(struct ctl *ctl, struct nvt_error *err)
{
    if (is_far(ctl))
        return choose_far(ctl, err) ? -1
               : ctl->count         ? 0
                                    : nvt_fail(err, "no recording watches %.200s", ctl->wish.watch);
    say_died(ctl);
    return nvt_ctl_choose(ctl->which, ctl->sessions, SESSIONS_MOST, &ctl->count, err);
}

/* --- ps --------------------------------------------------------------------------------------- */

static int64_t number_of(const char *text, const char *name)
{
    char value[40];
    return strtoll(nvt_ctl_value(text, name, value, sizeof(value)), NULL, 10);
}

static double seconds_of(const char *text, const char *name)
{
    return (double)number_of(text, name) / 1e9;
}

/* A recorder's answer. */
static void put_status(struct nvt_table *table, const struct nvt_ctl_session *session,
                       const char *text)
{
    char state[40], trace[4096], command[1024], folder[300];
    nvt_ctl_value(text, "state", state, sizeof(state));
    nvt_ctl_value(text, "command", command, sizeof(command));
    nvt_ctl_value(text, "folder", folder, sizeof(folder));
    nvt_table_put(table, NVT_IF(!session->way && session->recorder, session->recorder), state);
    if (*folder) /* it has none, and is called by its folder */
        nvt_table_more(table, NVT_NULL, NVT_NULL, NVT_NULL, number_of(text, "processes"), NVT_NULL,
                       command, NVT_NULL, folder);
    else
        nvt_table_more(table, seconds_of(text, "for"), seconds_of(text, "recorded"),
                       number_of(text, "parts"), number_of(text, "processes"),
                       (double)number_of(text, "bytes") / NVT_MEBIBYTE, command,
                       nvt_ctl_value(text, "trace", trace, sizeof(trace)), NVT_NULL);
    if (session->way)
        nvt_table_more(table, session->name);
}

static void put_no_answer(struct nvt_table *table, const struct nvt_ctl_session *session)
{
    nvt_table_put(table, NVT_IF(!session->way, session->recorder), "no answer");
    if (session->way)
        nvt_table_more(table, NVT_NULL, NVT_NULL, NVT_NULL, NVT_NULL, NVT_NULL, NVT_NULL, NVT_NULL,
                       NVT_NULL, session->name);
}

static void put_session(struct nvt_table *table, const struct nvt_ctl_session *session)
{
    char text[NVT_CTL_ANSWER_MOST];
    if (!session->recorder)
        nvt_ctl_standing_status(session, text, sizeof(text));
    else if (nvt_ctl_ask(session, "status", PATIENCE_NS, text, sizeof(text), NULL)) {
        put_no_answer(table, session);
        return;
    }
    put_status(table, session, text);
}

/* 0, or -1 with err. */
static int put_far(const struct ctl *ctl, struct nvt_table *table, struct nvt_error *err)
{
    struct nvt_ctl_reply *replies = calloc(ctl->count + 1, sizeof(*replies));
    if (!replies)
        return nvt_fail(err, "out of memory");
    nvt_ctl_ask_all(ctl->sessions, ctl->count, "status", PATIENCE_NS, replies);
    for (size_t i = 0; i < ctl->count; i++) {
        if (replies[i].status)
            put_no_answer(table, &ctl->sessions[i]);
        else
            put_status(table, &ctl->sessions[i], replies[i].text);
        if (replies[i].status < 0)
            nvt_message_error(stderr, &replies[i].err);
    }
    free(replies);
    return 0;
}

static int find_all(struct ctl *ctl, struct nvt_error *err)
{
    if (is_far(ctl))
        return choose_far(ctl, err);
    say_died(ctl);
    ctl->count = nvt_ctl_sessions(ctl->sessions, SESSIONS_MOST);
    ctl->count = ctl->count < SESSIONS_MOST ? ctl->count : SESSIONS_MOST;
    return 0;
}

static int print_sessions(struct ctl *ctl)
{
    static const struct nvt_column columns[] = {
        {"Recorder", NVT_SPARE_IDS},    {"State", NVT_NAMES},
        {"For (s)", NVT_REALS("s", 1)}, {"Recorded (s)", NVT_REALS("s", 1)},
        {"Parts", NVT_SPARE_COUNTS},    {"Processes", NVT_SPARE_COUNTS},
        {"Size (MiB)", NVT_MIB},        {"Command", NVT_NAMES},
        {"Trace", NVT_SPARE_NAMES},     {"Folder", NVT_SPARE_NAMES},
        {"Host", NVT_SPARE_NAMES}};
    struct nvt_tables tables = {.terminal = nvt_terminal_width(stdout)};
    struct nvt_error err = NVT_ERROR_INIT;
    if (find_all(ctl, &err))
        return nvt_message_error(stderr, &err);
    struct nvt_table *table = nvt_table_new("ctl_ps", "Recordings", columns, NVT_COUNT_OF(columns));
    int status = table ? 0 : nvt_fail(&err, "out of memory");
    for (size_t i = 0; table && i < ctl->count && !is_far(ctl); i++)
        put_session(table, &ctl->sessions[i]);
    if (table && ctl->count && is_far(ctl))
        status = put_far(ctl, table, &err);
    if (nvt_tables_add(&tables, table) || ctl->format->render(&tables, stdout))
        status = nvt_fail(&err, "out of memory");
    nvt_tables_free(&tables);
    if (status)
        return nvt_message_error(stderr, &err);
    if (!ctl->count)
        nvt_message(stderr,
                    is_far(ctl) ? "no recording watches that file" : "no recording is going on");
    return 0;
}

/* --- the others ------------------------------------------------------------------------------- */

static int check_one_output(const struct ctl *ctl, struct nvt_error *err)
{
    return ctl->output && ctl->count > 1
               ? nvt_fail(err, "--output names one file, and there are %zu recordings", ctl->count)
               : 0;
}

/* Of a standing session that has no recorder: make it one where one is needed, `opens`: which records. 1: it has one; 0 with the answer
 * to the request; or -1 with err. */
static int see_to_recorder(struct ctl *ctl, struct nvt_ctl_session *session, const char *request,
                           char *text, size_t size, struct nvt_error *err)
{
    char trace[PATH_MAX];
    const int is_start = !strcmp(request, "start");
    if (session->recorder && ctl->output)
        return nvt_fail(err, "recorder %d writes its trace already: --output is for a new one",
                        session->recorder);
    if (session->recorder)
        return 1;
    if (!strcmp(request, "status"))
        nvt_ctl_standing_status(session, text, size);
    else if (!strcmp(request, "stop"))
        snprintf(text, size, "not recording");
    else {
        const int begins = is_start || !strcmp(request, "steps");
        if (begins && nvt_ctl_standing_start(session, ctl->output, ctl->overwrite, is_start, trace,
                                             sizeof(trace), err))
            return -1;
        if (!is_start)
            return 1;
        snprintf(text, size, "recording to %s", trace);
    }
    return 0;
}

/* What one has answered, as nvt_ctl_ask returns it. Whether it failed. */
static int print_answer(const struct ctl *ctl, const struct nvt_ctl_session *session, int status,
                        const char *text, const struct nvt_error *err)
{
    char title[200];
    const size_t length = strlen(text);
    nvt_ctl_title(session, title, sizeof(title));
    if (status < 0)
        nvt_message_error(stderr, err);
    else if (status)
        nvt_message(stderr, "%s: %s", title, text);
    else if (length && text[length - 1] == '\n' && ctl->count > 1)
        printf("%s\n%s", title, text);
    else if (length && text[length - 1] == '\n')
        fputs(text, stdout);
    else if (ctl->count > 1)
        printf("%s: %s\n", title, text);
    else
        puts(text);
    return status != 0;
}

/* Ask all that are elsewhere. Returns the exit status. */
static int command_far(struct ctl *ctl, const char *request, int64_t patience_ns)
{
    int failed = 0;
    struct nvt_ctl_reply *replies = calloc(ctl->count, sizeof(*replies));
    if (!replies)
        return nvt_message_error(stderr, &(struct nvt_error){.message = "out of memory"});
    nvt_ctl_ask_all(ctl->sessions, ctl->count, request, patience_ns, replies);
    for (size_t i = 0; i < ctl->count; i++)
        failed |= print_answer(ctl, &ctl->sessions[i], replies[i].status, replies[i].text,
                               &replies[i].err);
    free(replies);
    return failed ? 2 : 0;
}

static int start_far(struct ctl *ctl)
{
    char request[NVT_CTL_REQUEST_MOST];
    snprintf(request, sizeof(request), "start%s%.4000s", ctl->output ? " " : "",
             ctl->output ? ctl->output : "");
    return command_far(ctl, request, FAR_PATIENCE_NS);
}

static int command(struct ctl *ctl, const char *request)
{
    int failed = 0;
    struct nvt_error err = NVT_ERROR_INIT;
    if (choose(ctl, &err))
        return nvt_message_error(stderr, &err);
    if (is_far(ctl))
        return !strcmp(request, "start") ? start_far(ctl)
                                         : command_far(ctl, request, FAR_PATIENCE_NS);
    if (check_one_output(ctl, &err))
        return nvt_message_error(stderr, &err);
    for (size_t i = 0; i < ctl->count; i++) {
        char text[NVT_CTL_ANSWER_MOST] = "";
        struct nvt_ctl_session *session = &ctl->sessions[i];
        int status = see_to_recorder(ctl, session, request, text, sizeof(text), &err);
        if (status > 0)
            status = nvt_ctl_ask(session, request, PATIENCE_NS, text, sizeof(text), &err);
        failed |= print_answer(ctl, session, status, text, &err);
    }
    return failed ? 2 : 0;
}

static int dump(struct ctl *ctl)
{
    struct nvt_error err = NVT_ERROR_INIT;
    char name[PATH_MAX];
    int failed = 0;
    if (choose(ctl, &err))
        return nvt_message_error(stderr, &err);
    if (is_far(ctl)) {
        char request[40];
        snprintf(request, sizeof(request), "dump %" PRId64, ctl->last_ns);
        return command_far(ctl, request, DUMP_PATIENCE_NS);
    }
    if (check_one_output(ctl, &err))
        return nvt_message_error(stderr, &err);
    /* A size limit is an error of write(), which leaves no half of a copy. */
    (void)signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < ctl->count; i++) {
        if (nvt_ctl_dump(&ctl->sessions[i], ctl->output, ctl->last_ns, PATIENCE_NS, name,
                         sizeof(name), &err))
            failed = nvt_message_error(stderr, &err);
        else
            puts(name);
    }
    return failed;
}

/* The text is one of the user's: what is too long for a request is too long for a mark. */
static int mark(struct ctl *ctl)
{
    char request[NVT_CTL_REQUEST_MOST];
    if (snprintf(request, sizeof(request), "mark %s", ctl->text) < (int)sizeof(request) - 2)
        return command(ctl, request);
    nvt_message(stderr, "ctl mark: the text is too long: at most %d bytes",
                NVT_CTL_REQUEST_MOST - 8);
    return 2;
}

static int steps(struct ctl *ctl)
{
    struct nvt_error err = NVT_ERROR_INIT;
    char text[NVT_CTL_ANSWER_MOST];
    if (choose(ctl, &err) || check_one_output(ctl, &err))
        return nvt_message_error(stderr, &err);
    for (size_t i = 0; i < ctl->count && !is_far(ctl); i++)
        if (see_to_recorder(ctl, &ctl->sessions[i], "steps", text, sizeof(text), &err) < 0)
            return nvt_message_error(stderr, &err);
    if (nvt_ctl_steps(ctl->sessions, ctl->count, ctl->text,
                      is_far(ctl) ? FAR_PATIENCE_NS : PATIENCE_NS, &err))
        return nvt_message_error(stderr, &err);
    return 0;
}

static const char *const verbs[] = {"ps", "status", "start", "stop", "steps", "mark", "dump"};

static int fail_verb(const char *verb)
{
    struct nvt_suggestion suggestion = {.name = verb};
    char hint[64];
    for (size_t i = 0; i < NVT_COUNT_OF(verbs); i++)
        nvt_suggest(&suggestion, verbs[i]);
    nvt_message(stderr, "ctl %s: no such request%s; see nvtally ctl --help", verb,
                nvt_suggestion_text(&suggestion, hint, sizeof(hint)));
    return 2;
}

static int run(struct ctl *ctl)
{
    size_t i = 0;
    while (i < NVT_COUNT_OF(verbs) && strcmp(ctl->verb, verbs[i]) != 0)
        i++;
    if (i == NVT_COUNT_OF(verbs))
        return fail_verb(ctl->verb);
    const int is_dump = !strcmp(ctl->verb, "dump");
    const int begins = !strcmp(ctl->verb, "start") || !strcmp(ctl->verb, "steps");
    if (ctl->last_ns && !is_dump) {
        nvt_message(stderr, "--last is an option of ctl dump");
        return 2;
    }
    if (is_far(ctl) && (ctl->overwrite || (ctl->output && strcmp(ctl->verb, "start") != 0))) {
        nvt_message(stderr, ctl->overwrite
                                ? "--force-overwrite is for recordings on this machine"
                                : "--output is for recordings on this machine: elsewhere a copy "
                                  "has its place next to the trace");
        return 2;
    }
    if ((ctl->output && !is_dump && !begins) || (ctl->overwrite && !begins)) {
        nvt_message(stderr, ctl->overwrite ? "--force-overwrite is an option of ctl start and steps"
                                           : "--output is an option of ctl dump, start and steps");
        return 2;
    }
    if (!i)
        return print_sessions(ctl);
    if (ctl->text)
        return !strcmp(ctl->verb, "mark") ? mark(ctl) : steps(ctl);
    return strcmp(ctl->verb, "dump") != 0 ? command(ctl, ctl->verb) : dump(ctl);
}

/* What stands behind the options. 0, or -1 with err. */
static int take_words(struct ctl *ctl, int count, char **words, struct nvt_error *err)
{
    if (!count)
        return nvt_fail(err, "ctl needs a request: ps, status, start, stop, steps, mark or dump");
    ctl->verb = words[0];
    const int is_mark = !strcmp(ctl->verb, "mark"), is_steps = !strcmp(ctl->verb, "steps");
    const int own = 1 + (is_mark || is_steps);
    if (own > 1 && (count == 1 || !*words[1]))
        return nvt_fail(err, is_mark ? "ctl mark needs a text"
                                     : "ctl steps needs a number: how many iterations to record");
    if (count > own)
        return nvt_fail(err, "ctl %s: '%s' is one word too many%s", ctl->verb, words[own],
                        is_mark ? ": a text of several words needs quotes" : "");
    ctl->text = own > 1 ? words[1] : NULL;
    if (is_steps && (words[1][strspn(words[1], "0123456789")] || !strtol(words[1], NULL, 10)))
        return nvt_fail(err, "ctl steps %s: must be a number of iterations", words[1]);
    return 0;
}

static int set_format(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    const struct nvt_format **format = option->to;
    char hint[64];
    *format = nvt_format_find(value);
    return *format ? 0
                   : nvt_fail(err, "--format %s: no such format%s", value,
                              nvt_format_hint(value, hint, sizeof(hint)));
}

/* 0 to go on, 1: --help was answered, -1 with err. */
static int parse(int argc, char **argv, struct ctl *ctl, struct nvt_error *err)
{
    const struct nvt_option options[] = {
        {"session", 's', .text = &ctl->which},
        {"format", 'f', .set = set_format, .to = &ctl->format},
        {"output", 'o', .set = nvt_set_file, .to = &ctl->output, .hint = "a trace"},
        {"last", .set = nvt_set_duration, .to = &ctl->last_ns, .hint = "500ms, 2s or 5min"},
        {"force-overwrite", .flag = &ctl->overwrite},
        {"watch", .text = &ctl->wish.watch},
        {"to", .text = &ctl->wish.to},
        {"key", .text = &ctl->wish.key},
        {0}};
    ctl->format = nvt_format_find("table");
    const int status = nvt_options_read(argc, argv, ":", options, err);
    if (status == 1)
        fputs(usage_text, stdout);
    if (status)
        return status;
    return nvt_ctl_far_check(&ctl->wish, err) ? -1
                                              : take_words(ctl, argc - optind, argv + optind, err);
}

int nvt_cmd_ctl(int argc, char **argv)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct ctl *ctl = calloc(1, sizeof(*ctl));
    int status = ctl ? parse(argc, argv, ctl, &err) : nvt_fail(&err, "out of memory");
    if (!status)
        status = run(ctl);
    else
        status = status == 1 ? 0 : nvt_message_error(stderr, &err);
    if (ctl)
        nvt_ctl_far_free(&ctl->far);
    free(ctl);
    return status;
}
