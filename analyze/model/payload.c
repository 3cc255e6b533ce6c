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
