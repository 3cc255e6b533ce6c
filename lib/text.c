#include "text.h"

#include <string.h>

#include "count_of.h"
#include "width_table.h"

struct lead {
    int more;          /* bytes that follow */
    uint32_t bits;     /* of the lead byte */
    uint8_t low, high; /* what the second byte may be */
};

/* Unicode 15, table 3-7: well-formed UTF-8 byte sequences. */
static struct lead classify(uint8_t byte)
{
    if (byte >= 0xC2 && byte <= 0xDF)
        return (struct lead){1, byte & 0x1Fu, 0x80, 0xBF};
    if (byte >= 0xE0 && byte <= 0xEF)
        return (struct lead){2, byte & 0x0Fu, byte == 0xE0 ? 0xA0 : 0x80,
                             byte == 0xED ? 0x9F : 0xBF};
    if (byte >= 0xF0 && byte <= 0xF4)
        return (struct lead){3, byte & 0x07u, byte == 0xF0 ? 0x90 : 0x80,
                             byte == 0xF4 ? 0x8F : 0xBF};
    return (struct lead){0, NVT_REPLACEMENT, 0, 0};
}

uint32_t nvt_utf8_next(const char **at)
{
    const uint8_t *bytes = (const uint8_t *)*at;
    if (bytes[0] < 0x80) {
        *at += bytes[0] != 0;
        return bytes[0];
    }
    struct lead lead = classify(bytes[0]);
    uint32_t character = lead.bits;
    int taken = 1;
    for (; taken <= lead.more; taken++) {
        uint8_t low = taken == 1 ? lead.low : 0x80, high = taken == 1 ? lead.high : 0xBF;
        if (bytes[taken] < low || bytes[taken] > high) {
            character = NVT_REPLACEMENT;
            break;
        }
        character = character << 6 | (bytes[taken] & 0x3Fu);
    }
    *at += taken;
    return character;
}

size_t nvt_utf8_put(uint32_t character, char out[NVT_UTF8_MAX])
{
    if (character < 0x80) {
        out[0] = (char)character;
        return 1;
    }
    size_t more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    static const uint8_t marks[] = {0, 0xC0, 0xE0, 0xF0};
    for (size_t i = more; i > 0; i--) {
        out[i] = (char)(0x80 | (character & 0x3F));
        character >>= 6;
    }
    out[0] = (char)(marks[more] | character);
    return more + 1;
}

void nvt_utf8_write(uint32_t character, FILE *out)
{
    char bytes[NVT_UTF8_MAX];
    size_t count = nvt_utf8_put(character, bytes);
    fwrite(bytes, 1, count, out);
}

static int in_table(const struct character_range *table, size_t count, uint32_t character)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (character > table[middle].last)
            low = middle + 1;
        else if (character < table[middle].first)
            high = middle;
        else
            return 1;
    }
    return 0;
}

int nvt_char_width(uint32_t character)
{
    if (character < 0x300)
        return 1;
    if (in_table(zero_width, NVT_COUNT_OF(zero_width), character))
        return 0;
    return in_table(double_width, NVT_COUNT_OF(double_width), character) ? 2 : 1;
}

uint32_t nvt_char_visible(uint32_t character)
{
    if (character < 0x20)
        return 0x2400 + character;
    if (character == 0x7F)
        return 0x2421;
    int control = (character >= 0x80 && character < 0xA0) ||
                  (character >= 0x2028 && character <= 0x202E) || character == 0x200E ||
                  character == 0x200F || character == 0x61C ||
                  (character >= 0x2066 && character <= 0x2069) ||
                  (character >= 0xFFF9 && character <= 0xFFFB) || (character & 0xFFFE) == 0xFFFE;
    return control ? NVT_REPLACEMENT : character;
}

size_t nvt_text_width(const char *text)
{
    size_t width = 0;
    for (uint32_t character; (character = nvt_utf8_next(&text)) != 0;)
        width += (size_t)nvt_char_width(nvt_char_visible(character));
    return width;
}

const char *nvt_text_skip(const char *text, size_t columns)
{
    for (const char *next = text; *text; text = next) {
        size_t width = (size_t)nvt_char_width(nvt_char_visible(nvt_utf8_next(&next)));
        if (width > columns)
            break;
        columns -= width;
    }
    return text;
}

const char *nvt_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
