#include "input.h"

#include <stdarg.h>
#include <stdio.h>

#include "../../lib/text.h"

__attribute__((format(printf, 2, 0))) static void note(struct nvt_buffer *notes, const char *format,
                                                       va_list arguments)
{
    char text[1024];
    vsnprintf(text, sizeof(text), format, arguments);
    /* A '?' for what could steer a terminal, or turn the text around: names are a program's. */
    char *end = text;
    for (const char *at = text, *from = text; *at; from = at) {
        uint32_t character = nvt_utf8_next(&at);
        if (nvt_char_visible(character) != character)
            *end++ = '?';
        else
            while (from < at)
                *end++ = *from++;
    }
    *end = 0;
    (void)nvt_buffer_printf(notes, "%s\n", text);
}

void nvt_note(struct nvt_input *input, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    note(&input->notes, format, arguments);
    va_end(arguments);
}

void nvt_note_in(struct nvt_buffer *notes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    note(notes, format, arguments);
    va_end(arguments);
}
