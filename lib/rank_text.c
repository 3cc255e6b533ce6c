#include "rank_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

uint32_t nvt_rank_in_text(const char *text)
{
    for (const char *at = text; *at; at++) {
        if (strncasecmp(at, "rank", 4) || (at > text && isalpha((unsigned char)at[-1])))
            continue;
        const char *digits = at + 4 + (at[4] && strchr("-_=.: ", at[4]));
        digits += *digits == ' ' && digits[-1] != ' ';
        const size_t length = strspn(digits, "0123456789");
        if (length && length < 9)
            return (uint32_t)strtoul(digits, NULL, 10);
    }
    return UINT32_MAX;
}
