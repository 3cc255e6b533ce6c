/* Options of `record`: see record_options.h. */
#include "record_options.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../lib/axis.h"
#include "../lib/count_of.h"
#include "../lib/options.h"
#include "budget_follow.h"
#include "capture_wish.h"
#include "levels.h"
#include "nsys_options.h"
#include "output_name.h"

/* What is recorded unless --trace says otherwise: CUPTI is loaded by processes that use CUDA alone. */
#define TRACE_DEFAULT (NVT_TRACE_NVTX | NVT_TRACE_KERNEL)

enum {
    OSRT_THRESHOLD = 256,
    PRESET,
    PYTHON,
    CPU_RATE,
    CAPTURE,
    COUNTERS_OF,
    DORMANT,
    BUDGET,
    ITERATION,
    WATCH,
    LISTEN,
    KEY,
    ON,
    ON_SLOW,
    ON_EXIT_STATUS,
    DUMP_LAST,
    KILL,
    MAX_AGE,
    MAX_SIZE,
    PYTORCH,
    RING_SIZE,
    ON_FULL,
    WAIT,
    LEVEL,
    CAPTURE_RANGE,
    NSYS /* and on: by their numbers */
};

static const struct option own[] = {{"output", required_argument, NULL, 'o'},
                                    {"force-overwrite", optional_argument, NULL, 'f'},
                                    {"trace", required_argument, NULL, 't'},
                                    {"preset", required_argument, NULL, PRESET},
                                    {"python", no_argument, NULL, PYTHON},
                                    {"osrt-threshold", required_argument, NULL, OSRT_THRESHOLD},
                                    {"cpu-rate", required_argument, NULL, CPU_RATE},
                                    {"capture", required_argument, NULL, CAPTURE},
                                    {"nvtx-capture", required_argument, NULL, CAPTURE},
                                    {"counters-of", required_argument, NULL, COUNTERS_OF},
                                    {"capture-range", required_argument, NULL, CAPTURE_RANGE},
                                    {"delay", required_argument, NULL, 'y'},
                                    {"duration", required_argument, NULL, 'd'},
                                    {"dormant", no_argument, NULL, DORMANT},
                                    {"budget", required_argument, NULL, BUDGET},
                                    {"iteration", required_argument, NULL, ITERATION},
                                    {"watch", required_argument, NULL, WATCH},
                                    {"listen", required_argument, NULL, LISTEN},
                                    {"key", required_argument, NULL, KEY},
                                    {"on", required_argument, NULL, ON},
                                    {"on-slow", required_argument, NULL, ON_SLOW},
                                    {"on-exit-status", no_argument, NULL, ON_EXIT_STATUS},
                                    {"dump-last", required_argument, NULL, DUMP_LAST},
                                    {"kill", required_argument, NULL, KILL},
                                    {"max-age", required_argument, NULL, MAX_AGE},
                                    {"max-size", required_argument, NULL, MAX_SIZE},
                                    {"pytorch", optional_argument, NULL, PYTORCH},
                                    {"ring-size", required_argument, NULL, RING_SIZE},
                                    {"on-full", required_argument, NULL, ON_FULL},
                                    {"wait", required_argument, NULL, WAIT},
                                    {"level", required_argument, NULL, LEVEL},
                                    {"help", optional_argument, NULL, 'h'}};

enum { OPTIONS_MOST = 192 };

/* getopt's tables: ours, then those of nsys. */
struct tables {
    struct option longs[OPTIONS_MOST];
    char letters[OPTIONS_MOST];
};

static void make_tables(struct tables *tables)
{
    size_t count, used = NVT_COUNT_OF(own);
    const struct nvt_nsys_option *nsys = nvt_nsys_options(&count);
    *tables = (struct tables){.letters = "+:o:ft:p:c:y:d:h"};
    memcpy(tables->longs, own, sizeof(own));
    for (size_t i = 0; i < count && used + 1 < OPTIONS_MOST; i++) {
        tables->longs[used++] =
            (struct option){nsys[i].name, required_argument, NULL, NSYS + (int)i};
        size_t length = strlen(tables->letters);
        if (nsys[i].letter)
            snprintf(tables->letters + length, sizeof(tables->letters) - length,
                     "%c:", nsys[i].letter);
    }
}

/* --- values ----------------------------------------------------------------------------------- */

static int parse_number(const char *text, int64_t least, int64_t most, int64_t *number)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < least || value > most)
        return -1;
    *number = value;
    return 0;
}

/* Rounded down to a power of two. 0 or -1. */
static int parse_ring(const char *text, uint64_t *bytes)
{
    if (nvt_axis_bytes(text, 1u << 30, bytes) || *bytes < 65536)
        return -1;
    while (*bytes & (*bytes - 1))
        *bytes &= *bytes - 1;
    return 0;
}

/* "5", in seconds, or a time with its unit. 0, or -1 with err. */
static int take_seconds(const char *name, const char *text, int64_t *ns, struct nvt_error *err)
{
    char with_unit[40];
    *ns = 0;
    if (!strcmp(text, "0")) /* nsys's default of both: none */
        return 0;
    const size_t digits = strspn(text, "0123456789.");
    snprintf(with_unit, sizeof(with_unit), "%.32s%s", text, text[digits] ? "" : "s");
    return nvt_axis_duration(with_unit, ns)
               ? nvt_fail(err,
                          "--%s %s: must be a number of seconds, or a time such as 500ms or 5min",
                          name, text)
               : 0;
}

/* In nsys's words. 0, or -1 with err. */
static int take_kill(const char *text, int *number, struct nvt_error *err)
{
    static const struct {
        const char *name;
        int number;
    } names[] = {{"none", 0}, {"sigterm", SIGTERM}, {"sigkill", SIGKILL}};
    int64_t value;
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++)
        if (!strcasecmp(text, names[i].name)) {
            *number = names[i].number;
            return 0;
        }
    if (parse_number(text, 1, SIGRTMAX, &value))
        return nvt_fail(err, "--kill %s: must be none, sigterm, sigkill or the number of a signal",
                        text);
    *number = (int)value;
    return 0;
}

/* --delay, --duration, --kill. 0, or -1 with err; 1: it is none of them. */
static int take_window(int option, const char *text, struct nvt_record_options *options,
                       struct nvt_error *err)
{
    if (option == 'y')
        return take_seconds("delay", text, &options->delay_ns, err);
    if (option == 'd')
        return take_seconds("duration", text, &options->duration_ns, err);
    return option == KILL ? take_kill(text, &options->kill, err) : 1;
}

/* Options whose value is a number with a unit or without. 0, or -1 with err; 1: it is none of them. */
static int take_number(int option, const char *text, struct nvt_record_options *options,
                       struct nvt_error *err)
{
    int64_t number;
    switch (option) {
    case CPU_RATE:
        if (parse_number(text, 1, 1000, &number))
            return nvt_fail(err, "--cpu-rate %s: must be a number of samples a second, 1 to 1000",
                            text);
        options->cpu_period_ns = 1000000000 / number;
        return 0;
    case OSRT_THRESHOLD:
        return parse_number(text, 0, 1000000000000, &options->os_threshold_ns)
                   ? nvt_fail(err, "--osrt-threshold %s: must be a number of ns, at most 10^12",
                              text)
                   : 0;
    case MAX_AGE:
        return nvt_axis_duration(text, &options->keep.age_ns)
                   ? nvt_fail(err, "--max-age %s: must be a time such as 500ms, 30s, 5min or 2h",
                              text)
                   : 0;
    case MAX_SIZE:
        return nvt_axis_bytes(text, UINT64_C(1) << 50, &options->keep.bytes) ||
                       options->keep.bytes < 65536
                   ? nvt_fail(err, "--max-size %s: must be a size from 64K on, such as 200M or 2G",
                              text)
                   : 0;
    case RING_SIZE:
        return parse_ring(text, &options->ring_bytes)
                   ? nvt_fail(err, "--ring-size %s: must be from 64K to 1G", text)
                   : 0;
    case LEVEL:
        if (parse_number(text, 0, 19, &number))
            return nvt_fail(err, "--level %s: must be from 0 to 19", text);
        options->level = (int)number;
        return 0;
    default:
        return 1;
    }
}

/* Those whose value is one of two words. */
static int take_word(int option, const char *text, struct nvt_record_options *options,
                     struct nvt_error *err)
{
    static const struct {
        int option;
        const char *name, *first, *second;
    } words[] = {{ON_FULL, "on-full", "wait", "drop"},
                 {WAIT, "wait", "primary", "all"},
                 {'f', "force-overwrite", "false", "true"}};
    size_t i = 0;
    while (i < NVT_COUNT_OF(words) && words[i].option != option)
        i++;
    if (i == NVT_COUNT_OF(words))
        return 1;
    int is_second = !strcmp(text, words[i].second);
    if (!is_second && strcmp(text, words[i].first) != 0)
        return nvt_fail(err, "--%s %s: must be %s or %s", words[i].name, text, words[i].first,
                        words[i].second);
    if (option == ON_FULL)
        options->on_full = is_second ? NVT_ON_FULL_DROP : NVT_ON_FULL_WAIT;
    else if (option == WAIT)
        options->wait_for_all = is_second;
    else
        options->overwrite = is_second;
    return 0;
}

/* "-f true", "--force-overwrite true", as nsys has it, where a command follows. */
static const char *word_behind(int argc, char **argv)
{
    const char *next = optind + 1 < argc ? argv[optind] : "";
    if (strcmp(next, "true") != 0 && strcmp(next, "false") != 0)
        return "true";
    optind++;
    return next;
}

/* --on and the like, and "dump" behind them, which is all that they do. 0, or -1 with err; 1: it is none of them. */
static int take_trigger(int option, const char *text, char **argv, struct nvt_trigger_wish *wish,
                        struct nvt_error *err)
{
    int status = 0;
    if (option == DUMP_LAST)
        return nvt_axis_duration(text, &wish->last_ns)
                   ? nvt_fail(err, "--dump-last %s: must be a time such as 500ms, 2s or 5min", text)
                   : 0;
    if (option == ON)
        status = nvt_trigger_parse_signal(text, wish, err);
    else if (option == ON_SLOW)
        status = nvt_trigger_parse_slow(text, wish, err);
    else if (option == ON_EXIT_STATUS)
        wish->on_exit_status = 1;
    else
        return 1;
    optind += argv[optind] && !strcmp(argv[optind], "dump");
    return status;
}

/* --watch and the like. 0, or 1: it is none of them. */
static int take_attend(int option, const char *text, struct nvt_attend_wish *wish)
{
    if (option == WATCH)
        wish->watch = text;
    else if (option == LISTEN)
        wish->listen = text;
    else if (option == KEY)
        wish->key = text;
    else
        return 1;
    return 0;
}

static int check_attend(const struct nvt_attend_wish *wish, struct nvt_error *err)
{
    if (wish->listen && !wish->key)
        return nvt_fail(err, "--listen needs --key FILE: who has it may ask");
    return wish->key && !wish->listen ? nvt_fail(err, "--key needs --listen") : 0;
}

/* --- what is recorded ---------------------------------------------------------------------------- */

/* --capture-range of nsys: a range is named by another option there. */
static int is_capture_range(const char *text)
{
    return !strcmp(text, "cudaProfilerApi") || !strcmp(text, "nvtx") || !strcmp(text, "none");
}

static int take_capture_range(const char *text, struct nvt_record_options *options,
                              struct nvt_error *err)
{
    if (!is_capture_range(text))
        return nvt_fail(
            err, "--capture-range %s: must be cudaProfilerApi, or nvtx with --capture RANGE", text);
    options->capture = *text == 'c' ? text : options->capture;
    return 0;
}

/* As far as there is room. */
static void note(struct nvt_record_request *request, const char *line)
{
    size_t used = strlen(request->notes);
    if (used + strlen(line) < sizeof(request->notes))
        memcpy(request->notes + used, line, strlen(line) + 1);
}

static int take_levels(const char *text, struct nvt_record_request *request, uint64_t *trace,
                       struct nvt_error *err)
{
    struct nvt_levels levels;
    size_t used = strlen(request->notes);
    if (nvt_levels_parse(text, &levels, err))
        return -1;
    *trace = levels.trace;
    request->is_none = levels.is_none;
    request->asked = levels.asked;
    request->options.metrics = levels.metrics;
    request->options.has_counters = levels.has_counters;
    request->options.counters = levels.counters;
    if (*levels.unrecorded)
        snprintf(request->notes + used, sizeof(request->notes) - used,
                 "--trace: calls of %s are not recorded\n", levels.unrecorded);
    return 0;
}

/* The range is captured; what is counted is that of one pass. */
static int check_counters_of(struct nvt_record_options *options, struct nvt_error *err)
{
    const char *range = options->counters_of;
    if (!range)
        return options->metrics.is_of_ranges
                   ? nvt_fail(err, "--trace metrics: bf16, tf32, fp8, fp32 and bytes are counted "
                                   "over ranges: they need --counters-of RANGE")
                   : 0;
    if (options->capture)
        return nvt_fail(
            err, "--counters-of %.40s and --capture exclude each other: each captures ranges",
            range);
    if (!*range || !strcmp(range, "cudaProfilerApi"))
        return nvt_fail(err, "--counters-of %.40s: must be the name of a range", range);
    options->capture = range;
    options->trace |= NVT_TRACE_METRICS;
    if (!options->metrics.count &&
        nvt_metrics_wish_begin(&options->metrics, "=bf16", strlen("=bf16"), err))
        return -1;
    nvt_metrics_wish_end(&options->metrics);
    return 0;
}

/* A range is seen by its NVTX calls, the profiler's calls by CUPTI. */
static int check_capture(struct nvt_record_options *options, struct nvt_error *err)
{
    const char *capture = options->capture;
    struct nvt_capture_wish wish;
    if (!capture)
        return 0;
    if (nvt_capture_wish_parse(capture, &wish, err))
        return -1;
    if (strcmp(wish.range, "cudaProfilerApi") != 0)
        options->trace |= NVT_TRACE_NVTX;
    else if (wish.to != UINT64_MAX)
        return nvt_fail(err, "--capture %s: only ranges can be selected by number", capture);
    else if (!(options->trace & NVT_TRACE_DEVICE))
        return nvt_fail(err, "--capture %s needs --trace kernel or another level of CUDA", capture);
    return 0;
}

/* What --pytorch adds has iterations. */
static int check_iteration(struct nvt_record_options *options, struct nvt_error *err)
{
    const struct nvt_control *page = NULL;
    const char *range = options->iteration;
    if (!range && options->pytorch && options->trace & NVT_TRACE_NVTX)
        options->iteration = "iteration@PyTorch";
    if (!range)
        return 0;
    if (!*range || strlen(range) + 2 >= sizeof(page->capture))
        return nvt_fail(err, "--iteration %.40s: must be the name of a range", range);
    return options->trace & NVT_TRACE_NVTX ? 0 : nvt_fail(err, "--iteration needs --trace nvtx");
}

/* --dormant says when to record, as others do, and not by which samples: those have timers that go off in any case. */
static int check_dormant(struct nvt_record_request *request, struct nvt_error *err)
{
    struct nvt_record_options *options = &request->options;
    const char *name = options->budget > 0 ? "--budget" : "--dormant";
    const char *other = options->capture                             ? "--capture"
                        : options->delay_ns                          ? "--delay"
                        : options->duration_ns                       ? "--duration"
                        : options->budget > 0 && options->is_dormant ? "--dormant"
                                                                     : NULL;
    if (!options->is_dormant && !(options->budget > 0))
        return options->iteration ? nvt_fail(err, "--iteration needs --dormant or --budget") : 0;
    if (other)
        return nvt_fail(err, "%s and %s exclude each other: each says when to record", name, other);
    options->is_dormant = 1;
    if (options->trace & NVT_TRACE_CPU)
        note(request, options->budget > 0 ? "--budget: CPU samples are not recorded\n"
                                          : "--dormant: CPU samples are not recorded\n");
    if (check_iteration(options, err))
        return -1;
    if (options->budget > 0 && !options->iteration)
        return nvt_fail(err, "--budget needs iterations: --iteration RANGE, or --pytorch");
    options->trace &= ~(uint64_t)NVT_TRACE_CPU;
    request->asked &= ~(uint64_t)NVT_TRACE_CPU;
    return options->trace ? 0 : nvt_fail(err, "--dormant leaves nothing to record of --trace cpu");
}

/* Of the options that go with a level of --trace; those that were not given get their defaults. */
static int check_levels(struct nvt_record_request *request, struct nvt_error *err)
{
    const struct nvt_record_options defaults = NVT_RECORD_OPTIONS_INIT;
    struct nvt_record_options *options = &request->options;
    if (request->wants_pytorch && !(options->trace & NVT_TRACE_NVTX))
        return nvt_fail(err, "--pytorch makes NVTX ranges: --trace must include nvtx");
    if (options->cpu_period_ns && !(options->trace & NVT_TRACE_CPU))
        return nvt_fail(err, "--cpu-rate needs --trace cpu");
    if (options->os_threshold_ns >= 0 && !(options->trace & NVT_TRACE_OSRT))
        return nvt_fail(err, "--osrt-threshold needs --trace osrt");
    if (!options->cpu_period_ns)
        options->cpu_period_ns = defaults.cpu_period_ns;
    if (options->os_threshold_ns < 0)
        options->os_threshold_ns = defaults.os_threshold_ns;
    return 0;
}

/* --- the command line ---------------------------------------------------------------------------- */

/* What was given so far. */
struct given {
    uint64_t trace, preset,
        nsys; /* levels of --trace, of a preset, and what options of nsys add; 0: none */
};

static int take_nsys(int option, const char *text, struct nvt_record_request *request,
                     struct given *given, struct nvt_error *err)
{
    size_t count, i = 0;
    const struct nvt_nsys_option *nsys = nvt_nsys_options(&count);
    while (i < count && option != NSYS + (int)i && option != nsys[i].letter)
        i++;
    return i < count ? nvt_nsys_take(&nsys[i], text, &given->nsys, request->notes,
                                     sizeof(request->notes), err)
                     : -1;
}

static int take_preset(const char *name, struct nvt_record_request *request, struct given *given,
                       struct nvt_error *err)
{
    request->is_python = 1;
    request->options.pytorch = 1;
    return nvt_levels_preset(name, &given->preset, err);
}

/* One option with its value. 0, or -1 with err. */
static int take(int option, const char *text, struct nvt_record_request *request,
                struct given *given, struct nvt_error *err)
{
    struct nvt_record_options *options = &request->options;
    int status = take_number(option, text, options, err);
    if (status == 1)
        status = take_word(option, text, options, err);
    if (status == 1)
        status = take_window(option, text, options, err);
    if (status == 1)
        status = take_attend(option, text, &options->attend);
    if (status != 1)
        return status;
    switch (option) {
    case 'o':
        options->output = text;
        return 0;
    case 't':
        return take_levels(text, request, &given->trace, err);
    case PRESET:
        return take_preset(text, request, given, err);
    case PYTHON:
        return take_preset("python", request, given, err);
    case CAPTURE:
    case 'p':
        options->capture = text;
        return 0;
    case COUNTERS_OF:
        options->counters_of = text;
        return 0;
    case DORMANT:
        options->is_dormant = 1;
        return 0;
    case BUDGET:
        return nvt_budget_parse(text, &options->budget, err);
    case ITERATION:
        options->iteration = text;
        return 0;
    case CAPTURE_RANGE:
    case 'c':
        return take_capture_range(text, options, err);
    case PYTORCH:
        request->wants_pytorch = options->pytorch = !text || strcmp(text, "none") != 0;
        return 0;
    default:
        return take_nsys(option, text, request, given, err);
    }
}

/* With --python, an option that only Python has begins the command: "-m module"; "-c 'code'" does, too, unless it is what -c of nsys takes.
 * Returns how many words of it were read as ours, 0: it is ours. */
static int words_of_python(int option, char **argv, const struct nvt_record_request *request)
{
    const char *typed = argv[optind - 1];
    if (option == '?')
        return request->is_python && strlen(typed) == 2 && strchr("BEIOWXmu", typed[1]);
    const int is_code =
        optind > 1 && !strcmp(argv[optind - 2], "-c") && *typed != '-' && !is_capture_range(typed);
    return request->is_python && is_code ? 2 : 0;
}

static void set_defaults(struct nvt_record_request *request)
{
    *request = (struct nvt_record_request){.options = NVT_RECORD_OPTIONS_INIT};
    request->options.output = nvt_output_default();
    request->options.cpu_period_ns = 0;
    request->options.os_threshold_ns = -1;
}

int nvt_record_options_parse(int argc, char **argv, struct nvt_record_request *request,
                             struct nvt_error *err)
{
    struct tables tables;
    struct given given = {0};
    make_tables(&tables);
    set_defaults(request);
    opterr = 0;
    optind = 0;
    for (int option;
         (option = getopt_long(argc, argv, tables.letters, tables.longs, NULL)) != -1;) {
        int is_list = option == 't' && optarg && !strcmp(optarg, "list");
        if (is_list)
            nvt_levels_list(stdout);
        else if (option == 'h')
            fputs(nvt_record_usage, stdout);
        if (is_list || option == 'h')
            return 1;
        const int words = words_of_python(option, argv, request);
        if (words) {
            optind -= words;
            break;
        }
        if (option == '?' || option == ':')
            return nvt_refused_option(option, argv[optind - 1], "record", err);
        const char *text = option == 'f' && !optarg ? word_behind(argc, argv) : optarg;
        const int trigger = take_trigger(option, text, argv, &request->options.trigger, err);
        if (trigger < 0 || (trigger && take(option, text, request, &given, err)))
            return -1;
    }
    request->command = argv + optind;
    if (optind == argc)
        return nvt_fail(err, "record needs a command: nvtally record -- COMMAND …");
    uint64_t trace = given.trace | given.preset;
    request->options.trace = (trace || request->is_none ? trace : TRACE_DEFAULT) | given.nsys;
    if (!request->options.trace)
        return nvt_fail(err,
                        "--trace none leaves nothing to record; --trace list prints what there is");
    /* A training loop that leaks is known by it, and the program takes no part. */
    if (request->options.pytorch)
        request->options.trace |= NVT_TRACE_PROCESS;
    if (request->options.kill && !request->options.duration_ns)
        note(request, "--kill: the command goes on, as there is no --duration\n");
    return check_counters_of(&request->options, err) || check_capture(&request->options, err) ||
                   check_levels(request, err) || check_dormant(request, err) ||
                   nvt_trigger_check(&request->options, err) ||
                   check_attend(&request->options.attend, err)
               ? -1
               : 0;
}
