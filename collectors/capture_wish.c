#include "capture_wish.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Digits alone. Where they end, or NULL: there are none, or too many. */
static const char *read_number(const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return *text < '0' || *text > '9' || errno ? NULL : end;
}

/* "N" or "FROM-TO" to the end of the text. Whether it is that. */
static int read_numbers(const char *text, struct nvt_capture_wish *wish)
{
    const char *at = read_number(text, &wish->from);
    wish->to = wish->from;
    if (at && *at == '-')
        at = read_number(at + 1, &wish->to);
    return at && !*at;
}

int nvt_capture_wish_parse(const char *text, struct nvt_capture_wish *wish, struct nvt_error *err)
{
    const char *slash = strrchr(text, '/');
    size_t length = strlen(text);
    if (slash && slash > text && read_numbers(slash + 1, wish))
        length = (size_t)(slash - text);
    else
        *wish = (struct nvt_capture_wish){.to = UINT64_MAX};
    if (!length || *text == '@' || length >= sizeof(wish->range))
        return nvt_fail(err,
                        "--capture %s: must be RANGE, RANGE@DOMAIN, RANGE@* or cudaProfilerApi; /4 "
                        "selects the 5th such range, /4-6 several",
                        text);
    if (wish->to < wish->from)
        return nvt_fail(err, "--capture %s: ends before it begins", text);
    memcpy(wish->range, text, length);
    wish->range[length] = 0;
    return 0;
}
