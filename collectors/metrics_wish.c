#include "metrics_wish.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_HZ 10
#define MOST_HZ  200000

static int parse_rate(struct nvt_metrics_wish *wish, const char *text, size_t length,
                      struct nvt_error *err)
{
    char copy[32], *end = copy;
    snprintf(copy, sizeof(copy), "%.*s", (int)length, text);
    double rate = isdigit((unsigned char)*copy) ? strtod(copy, &end) : 0;
    if (rate > 0 && (!strcmp(end, "kHz") || !strcmp(end, "k")))
        rate *= 1000;
    else if (rate > 0 && *end && strcmp(end, "Hz") != 0)
        rate = 0;
    if (!(rate >= LEAST_HZ && rate <= MOST_HZ) || length >= sizeof(copy))
        return nvt_fail(err, "--trace metrics@%.40s: must be a rate from 10Hz to 200kHz, as 20kHz",
                        copy);
    wish->hz = (uint32_t)(rate + 0.5);
    wish->is_open = 0;
    return 0;
}

static int add_name(struct nvt_metrics_wish *wish, const char *name, size_t length,
                    struct nvt_error *err)
{
    size_t used = strlen(wish->names);
    if (wish->count == NVT_GPU_METRICS_MOST)
        return nvt_fail(err, "--trace metrics: there may be %d names at most",
                        NVT_GPU_METRICS_MOST);
    snprintf(wish->names + used, sizeof(wish->names) - used, "%.*s\n", (int)length, name);
    wish->count++;
    return 0;
}

/* Counters of CUPTI are of a unit, two low lines and what it counts, and a roll-up is chosen. */
static int is_name(const char *text, size_t length)
{
    const char *units = memmem(text, length, "__", 2), *roll_up = memchr(text, '.', length);
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_' && text[i] != '.')
            return 0;
    return units && units > text && roll_up > units && length < NVT_GPU_METRIC_NAME_MOST;
}

static int add_names(struct nvt_metrics_wish *wish, const char *text, size_t length,
                     struct nvt_error *err)
{
    static const char set[] = "throughput";
    if (length == sizeof(set) - 1 && !strncmp(text, set, length)) {
        for (const struct nvt_gpu_metric_name *name = nvt_gpu_throughput; name->cupti; name++)
            if (add_name(wish, name->cupti, strlen(name->cupti), err))
                return -1;
        return 0;
    }
    char word[32];
    snprintf(word, sizeof(word), "%.*s", (int)length, text);
    const char *const *names = nvt_gpu_metric_set(word);
    for (size_t i = 0; names && names[i]; i++)
        if (add_name(wish, names[i], strlen(names[i]), err))
            return -1;
    if (names) {
        wish->is_of_ranges = 1;
        return 0;
    }
    if (!is_name(text, length))
        return nvt_fail(err,
                        "--trace metrics: there is no '%.*s'; there is throughput, or a name of "
                        "CUPTI's with its roll-up, as dram__bytes_read.sum.per_second",
                        (int)(length < 60 ? length : 60), text);
    return add_name(wish, text, length, err);
}

int nvt_metrics_wish_add(struct nvt_metrics_wish *wish, const char *text, size_t length,
                         struct nvt_error *err)
{
    const char *at = memchr(text, '@', length);
    const size_t name = at ? (size_t)(at - text) : length;
    if (add_names(wish, text, name, err))
        return -1;
    return at ? parse_rate(wish, at + 1, length - name - 1, err) : 0;
}

int nvt_metrics_wish_begin(struct nvt_metrics_wish *wish, const char *text, size_t length,
                           struct nvt_error *err)
{
    wish->is_open = length && *text == '=';
    if (wish->is_open)
        return nvt_metrics_wish_add(wish, text + 1, length - 1, err);
    return length ? parse_rate(wish, text + 1, length - 1, err) : 0;
}

void nvt_metrics_wish_end(struct nvt_metrics_wish *wish)
{
    struct nvt_error err = NVT_ERROR_INIT;
    wish->is_open = 0;
    if (!wish->count)
        (void)add_names(wish, "throughput", strlen("throughput"), &err);
    if (!wish->hz)
        wish->hz = NVT_METRICS_HZ;
}
