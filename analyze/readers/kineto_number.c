#include "kineto.h"

#define LIMIT (UINT64_C(1) << 62)

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits without the point into *mantissa, and how many of them stood behind it (or, beyond 19
 * digits, were left out in front of it) into *scale. */
static const char *digits(const char *at, const char *end, uint64_t *mantissa, int *scale)
{
    int behind = 0, any = 0;
    for (; at < end && (is_digit(*at) || (*at == '.' && !behind)); at++) {
        if (*at == '.') {
            behind = 1;
            continue;
        }
        any = 1;
        if (*mantissa < UINT64_C(1000000000000000000)) {
            *mantissa = *mantissa * 10 + (uint64_t)(*at - '0');
            *scale -= behind;
        } else
            *scale += !behind;
        if (*scale < -100000 || *scale > 100000)
            return NULL;
    }
    return any ? at : NULL;
}

static const char *exponent(const char *at, const char *end, int *scale)
{
    int value = 0, minus = 0;
    if (at == end || (*at != 'e' && *at != 'E'))
        return at;
    at++;
    if (at < end && (*at == '-' || *at == '+'))
        minus = *at++ == '-';
    if (at == end)
        return NULL;
    for (; at < end && is_digit(*at); at++)
        if ((value = value * 10 + (*at - '0')) > 100000)
            return NULL;
    *scale += minus ? -value : value;
    return at;
}

/* Numbers as profiles have them, which need no rounding: a few digits, and as many of them behind a point as the power takes. */
static int parse_short(const char *at, size_t size, int power, int64_t *out)
{
    static const int64_t scales[] = {1, 10, 100, 1000};
    int64_t value = 0;
    if (!size || size > 17 || power > 3)
        return -1;
    const char *const end = at + size;
    const int minus = *at == '-';
    at += minus;
    const char *const first = at;
    for (; at < end && is_digit(*at); at++)
        value = value * 10 + (*at - '0');
    if (at == first)
        return -1;
    if (at < end) {
        if (*at++ != '.' || end - at > power || at == end)
            return -1;
        for (; at < end && is_digit(*at); at++, power--)
            value = value * 10 + (*at - '0');
        if (at < end)
            return -1;
    }
    if (value > (int64_t)LIMIT / 1000)
        return -1;
    value *= scales[power];
    *out = minus ? -value : value;
    return 0;
}

int nvt_parse_scaled(const char *text, size_t size, int power, int64_t *out)
{
    if (!parse_short(text, size, power, out))
        return 0;
    const char *at = text, *end = text + size;
    uint64_t mantissa = 0;
    int scale = power, minus = 0;
    if (at < end && (*at == '-' || *at == '+'))
        minus = *at++ == '-';
    at = digits(at, end, &mantissa, &scale);
    if (at)
        at = exponent(at, end, &scale);
    if (at != end || !at)
        return -1;
    for (; scale > 0 && mantissa; scale--) {
        if (mantissa > LIMIT / 10)
            return -1;
        mantissa *= 10;
    }
    for (; scale < -1 && mantissa; scale++)
        mantissa /= 10;
    if (scale == -1)
        mantissa = mantissa / 10 + (mantissa % 10 >= 5);
    if (mantissa >= LIMIT)
        return -1;
    *out = minus ? -(int64_t)mantissa : (int64_t)mantissa;
    return 0;
}
