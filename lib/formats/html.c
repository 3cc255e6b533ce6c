/* HTML: the characters that mean something as entities, controls made visible. */
#include "../render.h"
#include "../text.h"

void nvt_render_html_beginning(const char *text, size_t most, FILE *out)
{
    for (uint32_t character; most && (character = nvt_utf8_next(&text)) != 0; most--) {
        const char *entity = character == '&'    ? "&amp;"
                             : character == '<'  ? "&lt;"
                             : character == '>'  ? "&gt;"
                             : character == '"'  ? "&quot;"
                             : character == '\'' ? "&#39;"
                                                 : NULL;
        if (entity)
            fputs(entity, out);
        else
            nvt_utf8_write(nvt_char_visible(character), out);
    }
}

void nvt_render_html_text(const char *text, FILE *out)
{
    nvt_render_html_beginning(text, SIZE_MAX, out);
}
