#include "error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A message is shown on a terminal: nothing in it may be an escape sequence or a second line. */
static void make_printable(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

static void set(struct nvt_error *err, const char *file, const char *format, va_list arguments)
{
    if (!err)
        return;
    err->offset = -1;
    err->line = 0;
    vsnprintf(err->message, sizeof(err->message), format, arguments);
    snprintf(err->file, sizeof(err->file), "%s", !file ? "" : *file ? file : "''");
    make_printable(err->message);
    make_printable(err->file);
}

void nvt_error_set(struct nvt_error *err, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set(err, NULL, format, arguments);
    va_end(arguments);
}

void nvt_error_set_at(struct nvt_error *err, const char *file, int64_t offset, const char *format,
                      ...)
{
    va_list arguments;
    va_start(arguments, format);
    set(err, file, format, arguments);
    va_end(arguments);
    if (err)
        err->offset = offset;
}

void nvt_error_set_line(struct nvt_error *err, const char *file, int64_t line, const char *format,
                        ...)
{
    va_list arguments;
    va_start(arguments, format);
    set(err, file, format, arguments);
    va_end(arguments);
    if (err)
        err->line = line;
}

int nvt_error_in(struct nvt_error *err, const char *file)
{
    if (err && !err->file[0]) {
        snprintf(err->file, sizeof(err->file), "%s", *file ? file : "''");
        make_printable(err->file);
    }
    return -1;
}

const char *nvt_error_text(const struct nvt_error *err, char *buffer, size_t size)
{
    const char *separator = err->file[0] ? ": " : "";
    if (err->offset >= 0)
        snprintf(buffer, size, "%s%s%s (at byte %" PRId64 ")", err->file, separator, err->message,
                 err->offset);
    else if (err->line > 0)
        snprintf(buffer, size, "%s%s%s (at line %" PRId64 ")", err->file, separator, err->message,
                 err->line);
    else
        snprintf(buffer, size, "%s%s%s", err->file, separator, err->message);
    return buffer;
}
