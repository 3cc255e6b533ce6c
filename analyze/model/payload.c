#include "payload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What stands behind "key":, NULL where there is no such key. */
static const char *value_of(const char *payload, const char *key)
{
    const char *at = strstr(payload, key);
    return at && at[strlen(key)] == ':' ? at + strlen(key) + 1 : NULL;
}

double nvt_member_number(const char *payload, const char *key)
{
    const char *value = value_of(payload, key);
    return value ? strtod(value, NULL) : NAN;
}

int64_t nvt_member_time(const char *payload, const char *key)
{
    const char *value = value_of(payload, key);
    long long time = value ? strtoll(value, NULL, 10) : 0;
    return time > -NVT_PAYLOAD_TIME_MOST && time < NVT_PAYLOAD_TIME_MOST ? time : 0;
}

/* What an escape stands for: of characters that are not ASCII "?". *at stands on what follows the backslash, then on its end. */
static char unescaped(const char **at)
{
    static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
    const char *letter = strchr(letters, **at);
    char digits[5] = "";
    if (**at != 'u')
        return letter && **at ? meant[letter - letters] : **at;
    for (int i = 0; i < 4 && (*at)[1]; i++)
        digits[i] = *++*at;
    const unsigned long code = strtoul(digits, NULL, 16);
    return code && code < 0x80 ? (char)code : '?';
}

const char *nvt_member_text(const char *payload, const char *key, char *out, size_t size)
{
    const char *at = value_of(payload, key);
    size_t length = 0;
    at = at ? at + strspn(at, " ") : "";
    for (at += *at == '"'; *at && *at != '"' && length + 1 < size; at++) {
        if (*at == '\\' && at[1]) {
            at++;
            out[length++] = unescaped(&at);
        } else
            out[length++] = *at;
    }
    out[length] = 0;
    return out;
}
