#include "wrap.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "terminal.h"
#include "text.h"

/* Lines have room for this much of a text at least, however deep they are indented. */
enum { LEAST = 8 };

struct writer {
    FILE *out; /* NULL: lines are only counted */
    size_t hang, width;
    size_t column, lines;
    int is_fresh; /* nothing of the text is on this line yet */
};

static void put(const struct writer *writer, const char *text, const char *end)
{
    while (writer->out && text < end)
        nvt_utf8_write(nvt_char_visible(nvt_utf8_next(&text)), writer->out);
}

static void new_line(struct writer *writer)
{
    if (writer->out)
        fprintf(writer->out, "\n%*s", (int)writer->hang, "");
    writer->column = writer->hang;
    writer->lines++;
    writer->is_fresh = 1;
}

static size_t width_of(const char *text, const char *end)
{
    size_t width = 0;
    while (text < end)
        width += (size_t)nvt_char_width(nvt_char_visible(nvt_utf8_next(&text)));
    return width;
}

/* Behind the last comma or slash in front of `end`, or there. */
static const char *behind_mark(const char *word, const char *end)
{
    for (const char *at = end; at > word; at--)
        if (strchr(",/", at[-1]))
            return at;
    return end;
}

/* A word of which no line has room for all. */
static void put_long(struct writer *writer, const char *word, const char *end)
{
    while (word < end) {
        if (writer->column >= writer->width)
            new_line(writer);
        const char *next = nvt_text_skip(word, writer->width - writer->column);
        if (next == word) /* a wide character, and one column */
            (void)nvt_utf8_next(&next);
        next = next < end ? behind_mark(word, next) : end;
        put(writer, word, next);
        writer->column += width_of(word, next);
        word = next;
    }
    writer->is_fresh = 0;
}

static void put_word(struct writer *writer, const char *word, const char *end)
{
    const size_t width = width_of(word, end), blank = !writer->is_fresh;
    const int has_begun = !writer->is_fresh || writer->column > writer->hang;
    if (writer->column + blank + width > writer->width && has_begun)
        new_line(writer);
    else if (blank) {
        if (writer->out)
            putc(' ', writer->out);
        writer->column++;
    }
    if (writer->column + width > writer->width) {
        put_long(writer, word, end);
        return;
    }
    put(writer, word, end);
    writer->column += width;
    writer->is_fresh = 0;
}

static size_t wrap(const char *text, size_t first, size_t hang, size_t width, FILE *out)
{
    struct writer writer = {out, hang, width, first, 1, 1};
    if (!width)
        put(&writer, text, text + strlen(text));
    if (width < hang + LEAST)
        writer.width = hang + LEAST;
    for (text += strspn(text, " "); width && *text; text += strspn(text, " ")) {
        const char *end = text + strcspn(text, " ");
        put_word(&writer, text, end);
        text = end;
    }
    return writer.lines;
}

size_t nvt_wrap(const char *text, size_t first, size_t hang, size_t width, FILE *out)
{
    return wrap(text, first, hang, width, out);
}

size_t nvt_wrap_lines(const char *text, size_t first, size_t hang, size_t width)
{
    return wrap(text, first, hang, width, NULL);
}

void nvt_put_item(const char *name, size_t column, const char *text, size_t width, FILE *out)
{
    const size_t taken = nvt_text_width(name) + 2;
    fprintf(out, "  %s", name);
    if (taken >= column)
        fprintf(out, "\n%*s", (int)column, "");
    else
        fprintf(out, "%*s", (int)(column - taken), "");
    (void)nvt_wrap(text, column, column, width, out);
    putc('\n', out);
}

/* In one write: other processes may have the same stderr. */
void nvt_message(FILE *err, const char *format, ...)
{
    static const char name[] = "nvtally: ";
    const size_t width = nvt_terminal_width(err), hang = sizeof(name) - 1;
    char *text, *lines = NULL;
    size_t size;
    va_list arguments;
    va_start(arguments, format);
    const int failed = vasprintf(&text, format, arguments) < 0;
    va_end(arguments);
    FILE *wrapped = failed ? NULL : open_memstream(&lines, &size);
    if (wrapped) {
        fputs(name, wrapped);
        (void)nvt_wrap(text, hang, hang, width, wrapped);
        putc('\n', wrapped);
        if (!fclose(wrapped))
            (void)fwrite(lines, 1, size, err);
        free(lines);
    } else
        fprintf(err, "%s%s\n", name, failed ? "out of memory" : text);
    if (!failed)
        free(text);
}

int nvt_message_error(FILE *out, const struct nvt_error *err)
{
    char text[1200];
    nvt_message(out, "%s", nvt_error_text(err, text, sizeof(text)));
    return 2;
}
