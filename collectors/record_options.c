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

/* What a setter returns at a word of the command. */
enum { COMMAND_BEGINS = 2 };

/* What was given so far. */
struct given {
    struct nvt_record_request *request;
    char **argv;
    /* levels of --trace, of a preset, and what options of nsys add; 0: none */
    uint64_t trace, preset, nsys;
};

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

/* Rounded down to a power of two. */
static int set_ring(const struct nvt_option *option, const char *text, struct nvt_error *err)
{
    uint64_t *bytes = option->to;
    if (nvt_axis_bytes(text, 1u << 30, bytes) || *bytes < 65536)
        return nvt_fail(err, "--ring-size %s: must be from 64K to 1G", text);
    while (*bytes & (*bytes - 1))
        *bytes &= *bytes - 1;
    return 0;
}

/* "5", in seconds, or a time with its unit. */
static int set_seconds(const struct nvt_option *option, const char *text, struct nvt_error *err)
{
    char with_unit[40];
    int64_t *ns = option->to;
    *ns = 0;
    if (!strcmp(text, "0")) /* nsys's default of both: none */
        return 0;
    const size_t digits = strspn(text, "0123456789.");
    snprintf(with_unit, sizeof(with_unit), "%.32s%s", text, text[digits] ? "" : "s");
    return nvt_axis_duration(with_unit, ns)
               ? nvt_fail(err,
                          "--%s %s: must be a number of seconds, or a time such as 500ms or 5min",
                          option->name, text)
               : 0;
}

/* In nsys's words. */
static int set_kill(const struct nvt_option *option, const char *text, struct nvt_error *err)
{
    static const struct {
        const char *name;
        int number;
    } names[] = {{"none", 0}, {"sigterm", SIGTERM}, {"sigkill", SIGKILL}};
    int64_t value;
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++)
        if (!strcasecmp(text, names[i].name)) {
            *(int *)option->to = names[i].number;
            return 0;
        }
    if (parse_number(text, 1, SIGRTMAX, &value))
        return nvt_fail(err, "--kill %s: must be none, sigterm, sigkill or the number of a signal",
                        text);
    *(int *)option->to = (int)value;
    return 0;
}

static int set_cpu_rate(const struct nvt_option *option, const char *text, struct nvt_error *err)
{
    int64_t rate;
    if (parse_number(text, 1, 1000, &rate))
        return nvt_fail(err, "--cpu-rate %s: must be a number of samples a second, 1 to 1000",
                        text);
    *(int64_t *)option->to = 1000000000 / rate;
    return 0;
}

static int set_threshold(const struct nvt_option *option, const char *text, struct nvt_error *err)
{
    return parse_number(text, 0, 1000000000000, option->to)
               ? nvt_fail(err, "--osrt-threshold %s: must be a number of ns, at most 10^12", text)
               : 0;
}

static int set_max_size(const struct nvt_option *option, const char *text, struct nvt_error *err)
{
    uint64_t *bytes = option->to;
    return nvt_axis_bytes(text, UINT64_C(1) << 50, bytes) || *bytes < 65536
               ? nvt_fail(err, "--max-size %s: must be a size from 64K on, such as 200M or 2G",
                          text)
               : 0;
}

static int set_level(const struct nvt_option *option, const char *text, struct nvt_error *err)
{
    int64_t level;
    if (parse_number(text, 0, 19, &level))
        return nvt_fail(err, "--level %s: must be from 0 to 19", text);
    *(int *)option->to = (int)level;
    return 0;
}

/* Which of two words, "wait or drop": 0 or 1. */
static int set_word(const struct nvt_option *option, const char *text, struct nvt_error *err)
{
    const char *words = option->hint, *second = strstr(words, " or ") + strlen(" or ");
    const size_t length = strlen(text);
    const int is_first = length == strcspn(words, " ") && !strncmp(text, words, length);
    if (!is_first && strcmp(text, second) != 0)
        return nvt_fail(err, "--%s %s: must be %s", option->name, text, words);
    *(int *)option->to = !is_first;
    return 0;
}

/* "-f true", "--force-overwrite true", as nsys has it, where a command follows. */
static int set_overwrite(const struct nvt_option *option, const char *text, struct nvt_error *err)
{
    const struct given *given = option->to;
    struct nvt_option word = *option;
    const char *const *next = (const char *const *)given->argv + optind;
    word.to = &given->request->options.overwrite;
    if (!text && next[0] && next[1] && (!strcmp(next[0], "true") || !strcmp(next[0], "false"))) {
        optind++;
        text = next[0];
    }
    return set_word(&word, text ? text : "true", err);
}

/* "dump" behind --on and the like is all that they do. */
static int pass_dump(const struct given *given, int status)
{
    const char *next = given->argv[optind];
    optind += next && !strcmp(next, "dump");
    return status;
}

static int set_on(const struct nvt_option *option, const char *text, struct nvt_error *err)
{
    const struct given *given = option->to;
    return pass_dump(
        given, nvt_trigger_parse_signal(text, &given->request->options.trigger, err) ? -1 : 0);
}

static int set_on_slow(const struct nvt_option *option, const char *text, struct nvt_error *err)
{
    const struct given *given = option->to;
    return pass_dump(given,
                     nvt_trigger_parse_slow(text, &given->request->options.trigger, err) ? -1 : 0);
}

static int set_on_exit_status(const struct nvt_option *option, const char *text,
                              struct nvt_error *err)
{
    const struct given *given = option->to;
    (void)text;
    (void)err;
    given->request->options.trigger.on_exit_status = 1;
    return pass_dump(given, 0);
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

/* With --python, "-c 'code'" begins the command, unless it is what -c of nsys takes. */
static int set_capture_range(const struct nvt_option *option, const char *text,
                             struct nvt_error *err)
{
    const struct given *given = option->to;
    const int is_known = is_capture_range(text);
    if (given->request->is_python && !is_known && *text != '-' &&
        !strcmp(given->argv[optind - 2], "-c")) {
        optind -= 2;
        return COMMAND_BEGINS;
    }
    if (!is_known)
        return nvt_fail(
            err, "--capture-range %s: must be cudaProfilerApi, or nvtx with --capture RANGE", text);
    if (*text == 'c')
        given->request->options.capture = text;
    return 0;
}

/* As far as there is room. */
static void note(struct nvt_record_request *request, const char *line)
{
    size_t used = strlen(request->notes);
    if (used + strlen(line) < sizeof(request->notes))
        memcpy(request->notes + used, line, strlen(line) + 1);
}

static int set_trace(const struct nvt_option *option, const char *text, struct nvt_error *err)
{
    struct given *given = option->to;
    struct nvt_record_request *request = given->request;
    struct nvt_levels levels;
    size_t used = strlen(request->notes);
    if (!strcmp(text, "list")) {
        nvt_levels_list(stdout);
        return 1;
    }
    if (nvt_levels_parse(text, &levels, err))
        return -1;
    given->trace = levels.trace;
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

static int set_nsys(const struct nvt_option *option, const char *text, struct nvt_error *err)
{
    size_t count;
    struct given *given = option->to;
    char *notes = given->request->notes;
    return nvt_nsys_take(&nvt_nsys_options(&count)[option->number], text, &given->nsys, notes,
                         sizeof(given->request->notes), err);
}

static int set_preset(const struct nvt_option *option, const char *name, struct nvt_error *err)
{
    struct given *given = option->to;
    given->request->is_python = 1;
    given->request->options.pytorch = 1;
    return nvt_levels_preset(name ? name : "python", &given->preset, err);
}

static int set_pytorch(const struct nvt_option *option, const char *text, struct nvt_error *err)
{
    struct nvt_record_request *request = option->to;
    (void)err;
    request->wants_pytorch = request->options.pytorch = !text || strcmp(text, "none") != 0;
    return 0;
}

static int set_budget(const struct nvt_option *option, const char *text, struct nvt_error *err)
{
    return nvt_budget_parse(text, option->to, err);
}

static int print_help(const struct nvt_option *option, const char *text, struct nvt_error *err)
{
    (void)option;
    (void)text;
    (void)err;
    fputs(nvt_record_usage, stdout);
    return 1;
}

/* Ours, then those of nsys. */
static void make_options(struct given *given, struct nvt_option table[NVT_OPTIONS_MOST + 1])
{
    struct nvt_record_options *options = &given->request->options;
    const struct nvt_option own[] = {
        {"output", 'o', .text = &options->output},
        {"force-overwrite", 'f', .set = set_overwrite, .takes = NVT_MAYBE_VALUE, .to = given,
         .hint = "false or true"},
        {"trace", 't', .set = set_trace, .to = given},
        {"preset", .set = set_preset, .to = given},
        {"python", .set = set_preset, .takes = NVT_NO_VALUE, .to = given},
        {"osrt-threshold", .set = set_threshold, .to = &options->os_threshold_ns},
        {"cpu-rate", .set = set_cpu_rate, .to = &options->cpu_period_ns},
        {"capture", 'p', .text = &options->capture},
        {"nvtx-capture", .text = &options->capture},
        {"counters-of", .text = &options->counters_of},
        {"capture-range", 'c', .set = set_capture_range, .to = given},
        {"delay", 'y', .set = set_seconds, .to = &options->delay_ns},
        {"duration", 'd', .set = set_seconds, .to = &options->duration_ns},
        {"dormant", .flag = &options->is_dormant},
        {"budget", .set = set_budget, .to = &options->budget},
        {"iteration", .text = &options->iteration},
        {"watch", .text = &options->attend.watch},
        {"listen", .text = &options->attend.listen},
        {"key", .text = &options->attend.key},
        {"on", .set = set_on, .to = given},
        {"on-slow", .set = set_on_slow, .to = given},
        {"on-exit-status", .set = set_on_exit_status, .takes = NVT_NO_VALUE, .to = given},
        {"dump-last", .set = nvt_set_duration, .to = &options->trigger.last_ns,
         .hint = "500ms, 2s or 5min"},
        {"kill", .set = set_kill, .to = &options->kill},
        {"max-age", .set = nvt_set_duration, .to = &options->keep.age_ns,
         .hint = "500ms, 30s, 5min or 2h"},
        {"max-size", .set = set_max_size, .to = &options->keep.bytes},
        {"pytorch", .set = set_pytorch, .takes = NVT_MAYBE_VALUE, .to = given->request},
        {"ring-size", .set = set_ring, .to = &options->ring_bytes},
        {"on-full", .set = set_word, .to = &options->on_full, .hint = "wait or drop"},
        {"wait", .set = set_word, .to = &options->wait_for_all, .hint = "primary or all"},
        {"level", .set = set_level, .to = &options->level},
        {"help", 'h', .set = print_help, .takes = NVT_MAYBE_VALUE}};
    size_t count, used = NVT_COUNT_OF(own);
    const struct nvt_nsys_option *nsys = nvt_nsys_options(&count);
    memcpy(table, own, sizeof(own));
    for (size_t i = 0; i < count && used < NVT_OPTIONS_MOST; i++)
        table[used++] = (struct nvt_option){nsys[i].name, nsys[i].letter,   .set = set_nsys,
                                            .to = given,  .number = (int)i, .is_hidden = 1};
    table[used] = (struct nvt_option){0};
}

/* With --python, an option that only Python has begins the command: "-m module". */
static int is_of_python(const char *typed, const struct nvt_record_request *request)
{
    return request->is_python && strlen(typed) == 2 && strchr("BEIOWXmu", typed[1]);
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
    struct nvt_option options[NVT_OPTIONS_MOST + 1];
    struct given given = {.request = request, .argv = argv};
    make_options(&given, options);
    set_defaults(request);
    const int status = nvt_options_parse(argc, argv, "+:", options, err);
    if (status == 1 || status < 0)
        return status;
    if (status == '?' && is_of_python(argv[optind - 1], request))
        optind--;
    else if (status && status != COMMAND_BEGINS)
        return nvt_refused_option(status, argv, options, err);
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
