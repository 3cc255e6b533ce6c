#include "axis.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count_of.h"

static int add(struct nvt_axis *axis, const char *option, int64_t value, struct nvt_error *err)
{
    for (size_t i = 0; i < axis->count; i++)
        if (axis->values[i] == value)
            return nvt_fail(err, "%s names a value twice", option);
    if (axis->count == NVT_AXIS_MOST)
        return nvt_fail(err, "%s has more than %d values", option, NVT_AXIS_MOST);
    axis->values[axis->count++] = value;
    return 0;
}

int nvt_axis_numbers(struct nvt_axis *axis, const char *option, const char *text, int64_t least,
                     int64_t most, struct nvt_error *err)
{
    axis->count = 0;
    for (const char *at = text;; at++) {
        char *end;
        errno = 0;
        long long value = strtoll(at, &end, 10);
        int is_number = *at >= '0' && *at <= '9' && !errno && (*end == ',' || !*end);
        if (!is_number || value < least || value > most)
            return nvt_fail(err, "%s %s: must be a list of numbers from %" PRId64 " to %" PRId64,
                            option, text, least, most);
        if (add(axis, option, value, err))
            return -1;
        at = end;
        if (!*at)
            return 0;
    }
}

/* The number at *at, in 1/scale, which it moves behind the number. -1: none, or too many digits. */
static int64_t read_decimal(const char **at, int64_t scale)
{
    char *end;
    errno = 0;
    if (**at < '0' || **at > '9')
        return -1;
    long long value = strtoll(*at, &end, 10);
    if (errno || value > INT64_MAX / scale - 1)
        return -1;
    value *= scale;
    if (*end == '.' && end[1] >= '0' && end[1] <= '9')
        for (end++; *end >= '0' && *end <= '9'; end++) {
            scale /= 10;
            if (!scale)
                return -1;
            value += (*end - '0') * scale;
        }
    *at = end;
    return value;
}

int nvt_axis_decimals(struct nvt_axis *axis, const char *option, const char *text, int64_t scale,
                      int64_t least, int64_t most, struct nvt_error *err)
{
    char low[32], high[32];
    nvt_axis_decimal_text(least, scale, low, sizeof(low));
    nvt_axis_decimal_text(most, scale, high, sizeof(high));
    axis->count = 0;
    for (const char *at = text;; at++) {
        int64_t value = read_decimal(&at, scale);
        if (value < least || value > most || (*at && *at != ','))
            return nvt_fail(
                err, "%s %s: must be a list of numbers from %s to %s, with at most %d decimals",
                option, text, low, high, (int)round(log10((double)scale)));
        if (add(axis, option, value, err))
            return -1;
        if (!*at)
            return 0;
    }
}

void nvt_axis_decimal_text(int64_t value, int64_t scale, char *out, size_t size)
{
    char digits[24];
    int64_t rest = value % scale, places = 0;
    for (int64_t left = scale; left > 1; left /= 10)
        places++;
    for (; rest && rest % 10 == 0; places--)
        rest /= 10;
    snprintf(digits, sizeof(digits), ".%0*" PRId64, (int)places, rest);
    snprintf(out, size, "%" PRId64 "%s", value / scale, rest ? digits : "");
}

static int64_t find(const char *at, size_t length, const char *const *words)
{
    for (int64_t i = 0; words[i]; i++)
        if (strlen(words[i]) == length && !strncmp(words[i], at, length))
            return i;
    return -1;
}

static int fail_words(const char *option, const char *text, const char *const *words,
                      struct nvt_error *err)
{
    char list[256] = "";
    for (size_t i = 0; words[i]; i++) {
        strncat(list, i ? ", " : "", sizeof(list) - strlen(list) - 1);
        strncat(list, words[i], sizeof(list) - strlen(list) - 1);
    }
    return nvt_fail(err, "%s %s: must be a list out of %s", option, text, list);
}

int nvt_axis_words(struct nvt_axis *axis, const char *option, const char *text,
                   const char *const *words, struct nvt_error *err)
{
    axis->count = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        int64_t value = find(at, length, words);
        if (value < 0)
            return fail_words(option, text, words, err);
        if (add(axis, option, value, err))
            return -1;
        at += length;
        if (!*at)
            return 0;
    }
}

int nvt_axis_bytes(const char *text, uint64_t most, uint64_t *bytes)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (shift)
        end++;
    /* strtoull takes signs and blanks. */
    if (errno || *text < '0' || *text > '9' || *end || !value || value > most >> shift)
        return -1;
    *bytes = (uint64_t)value << shift;
    return 0;
}

int nvt_axis_duration(const char *text, int64_t *ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}};
    char *end;
    /* strtod takes signs, blanks, hexadecimal numbers, infinity. */
    if (!*text || strspn(text, "0123456789.") == 0)
        return -1;
    double number = strtod(text, &end);
    if (strspn(text, "0123456789.") != (size_t)(end - text))
        return -1;
    for (size_t i = 0; i < NVT_COUNT_OF(units); i++) {
        double value = number * units[i].ns;
        if (!strcmp(end, units[i].name) && value >= 1 && value < 100 * 366 * 86400e9) {
            *ns = (int64_t)value;
            return 0;
        }
    }
    return -1;
}
