#include "print.h"

#include "../../lib/render.h"
#include "../../lib/shorten.h"
#include "../../lib/text.h"

size_t nvt_print_start(const struct nvt_print *print, const char *text, size_t room)
{
    const size_t width = nvt_text_width(text);
    if (width <= room) {
        nvt_render_visible(text, print->out);
        return width;
    }
    const char *end = nvt_text_skip(text, room ? room - 1 : 0);
    while (text < end)
        nvt_utf8_write(nvt_char_visible(nvt_utf8_next(&text)), print->out);
    fputs(room ? "…" : "", print->out);
    return room;
}

void nvt_print_part(const struct nvt_print *print, const char *text, const char *end)
{
    while (text < end)
        nvt_utf8_write(nvt_char_visible(nvt_utf8_next(&text)), print->out);
}

size_t nvt_print_ends(const struct nvt_print *print, const char *text, size_t room)
{
    static const struct nvt_shorten none = {0};
    const size_t width = nvt_text_width(text);
    if (width <= room || room < 4) {
        nvt_render_visible(text, print->out);
        return width;
    }
    return nvt_shorten_put(&none, text, room, print->out);
}

void nvt_print_painted(const struct nvt_print *print, enum nvt_paint paint, const char *text)
{
    nvt_paint(print->screen, paint, print->out);
    nvt_render_visible(text, print->out);
    nvt_paint(print->screen, NVT_PAINT_NONE, print->out);
}

void nvt_print_line(const struct nvt_print *print, enum nvt_paint paint, const char *text)
{
    nvt_paint(print->screen, paint, print->out);
    (void)nvt_print_start(print, text, print->width);
    nvt_paint(print->screen, NVT_PAINT_NONE, print->out);
    putc('\n', print->out);
}

void nvt_print_blanks(const struct nvt_print *print, size_t count)
{
    fprintf(print->out, "%*s", (int)count, "");
}
