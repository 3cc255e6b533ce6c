#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../lib/axis.h"
#include "../lib/count_of.h"
#include "session.h"
#include "trigger.h"

#define PERCENT_MOST 100000.0

static const struct {
    const char *name;
    int number;
} signals[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP},       {"QUIT", SIGQUIT},
               {"ALRM", SIGALRM}, {"PROF", SIGPROF}, {"VTALRM", SIGVTALRM}, {"IO", SIGIO},
               {"PWR", SIGPWR},   {"XCPU", SIGXCPU}};

int nvt_trigger_parse_signal(const char *text, struct nvt_trigger_wish *wish, struct nvt_error *err)
{
    const char *name = strncasecmp(text, "SIG", 3) ? text : text + 3;
    char *end;
    const long number = strtol(text, &end, 10);
    for (size_t i = 0; i < NVT_COUNT_OF(signals); i++)
        if (!strcasecmp(name, signals[i].name) ||
            (end != text && !*end && number == signals[i].number)) {
            wish->signals |= UINT64_C(1) << (signals[i].number - 1);
            return 0;
        }
    return nvt_fail(err,
                    "--on %.40s: must be SIGUSR1, SIGUSR2, SIGHUP, SIGQUIT, SIGALRM, SIGPROF, "
                    "SIGVTALRM, SIGIO, SIGPWR or SIGXCPU",
                    text);
}

/* Behind white space. */
static const char *skip(const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

/* "1.5 x median". 0, or -1: it is no such text. */
static int parse_median(const char *text, uint32_t *percent)
{
    static const char *const times[] = {"x", "X", "*", "×"};
    char *end;
    const double factor = strtod(text, &end);
    const char *at = skip(end);
    size_t i = 0;
    while (i < NVT_COUNT_OF(times) && strncmp(at, times[i], strlen(times[i])) != 0)
        i++;
    if (end == text || i == NVT_COUNT_OF(times) ||
        strcmp(skip(at + strlen(times[i])), "median") != 0 ||
        !(factor >= 1 && factor * 100 <= PERCENT_MOST))
        return -1;
    *percent = (uint32_t)(factor * 100 + 0.5);
    return 0;
}

/* "200 ms", too. */
static int parse_time(const char *text, int64_t *ns)
{
    char packed[32];
    size_t size = 0;
    for (; *text && size < sizeof(packed) - 1; text++)
        if (!isspace((unsigned char)*text))
            packed[size++] = *text;
    packed[size] = 0;
    return nvt_axis_duration(packed, ns);
}

int nvt_trigger_parse_slow(const char *text, struct nvt_trigger_wish *wish, struct nvt_error *err)
{
    const char *than = strrchr(text, '>');
    const char *begin = skip(text), *end = than;
    while (end > begin && isspace((unsigned char)end[-1]))
        end--;
    if (*wish->range)
        return nvt_fail(err, "--on-slow %.80s: one condition only, and %.80s has one", text,
                        wish->range);
    if (!than || end <= begin || (size_t)(end - begin) >= sizeof(wish->range))
        return nvt_fail(err, "--on-slow %.80s: must be 'RANGE > 1.5 x median' or 'RANGE > 200ms'",
                        text);
    memcpy(wish->range, begin, (size_t)(end - begin));
    wish->range[end - begin] = 0;
    wish->slow_percent = 0;
    wish->slow_ns = 0;
    than = skip(than + 1);
    if (parse_median(than, &wish->slow_percent) && parse_time(than, &wish->slow_ns))
        return nvt_fail(err,
                        "--on-slow %.80s: '%.40s' must be a factor, from 1 to 1000, of the median, "
                        "such as 1.5 x median, or a time, such as 200ms",
                        text, than);
    return 0;
}

int nvt_trigger_check(struct nvt_record_options *options, struct nvt_error *err)
{
    const struct nvt_trigger_wish *wish = &options->trigger;
    const int is_wished = wish->signals || wish->on_exit_status || *wish->range;
    if (wish->last_ns && !is_wished)
        return nvt_fail(err, "--dump-last needs --on, --on-slow or --on-exit-status");
    if (!*wish->range)
        return 0;
    if (options->iteration && strcmp(options->iteration, wish->range) != 0)
        return nvt_fail(err, "--on-slow and --iteration name different ranges: %.80s and %.80s",
                        wish->range, options->iteration);
    if (!(options->trace & NVT_TRACE_NVTX))
        return nvt_fail(err, "--on-slow needs --trace nvtx");
    options->iteration = wish->range;
    return 0;
}
