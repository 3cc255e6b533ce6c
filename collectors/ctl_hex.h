/* Bytes as hexadecimal digits (ctl_net.h). */
#ifndef NVT_CTL_HEX_H
#define NVT_CTL_HEX_H

#include <stddef.h>

/* 2 * count digits and a NUL. */
static inline void nvt_ctl_hex(const unsigned char *bytes, size_t count, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * count] = 0;
}

static inline int nvt_ctl_digit(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* 0, or -1: these are no such digits. Reads no further than the first that is none. */
static inline int nvt_ctl_unhex(const char *text, unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const int high = nvt_ctl_digit(text[2 * i]);
        const int low = high < 0 ? -1 : nvt_ctl_digit(text[2 * i + 1]);
        if (low < 0)
            return -1;
        bytes[i] = (unsigned char)(high << 4 | low);
    }
    return 0;
}

#endif
